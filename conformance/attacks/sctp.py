"""SCTP in UDP datagrams (RFC 9260, RFC 6951), as much as an attacker needs: packets are made by hand, and
nothing that arrives is answered unless the attack says so."""
import itertools
import random
import socket
import struct
import time

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT = range(7)
SHUTDOWN, SHUTDOWN_ACK, ERROR, COOKIE_ECHO, COOKIE_ACK = range(7, 12)
SHUTDOWN_COMPLETE = 14
AUTH, I_DATA, FORWARD_TSN, I_FORWARD_TSN = 15, 0x40, 0xC0, 0xC2
# Parameters of INIT and INIT ACK.
FORWARD_TSN_SUPPORTED, SUPPORTED_EXTENSIONS = 0xC000, 0x8008
# Error causes.
UNKNOWN_CHUNK, PROTOCOL_VIOLATION = 6, 13
UDP_PORT = 9899
SCTP_PORT = 5001


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def chunk(kind, body=b"", flags=0):
    return struct.pack(">BBH", kind, flags, 4 + len(body)) + body + bytes(-len(body) % 4)


def parameter(kind, body):
    return struct.pack(">HH", kind, 4 + len(body)) + body + bytes(-len(body) % 4)


def data(tsn, payload, stream=0, ssn=0, flags=3):
    """Flags: 1 ends the message, 2 begins it, 4 is unordered."""
    return chunk(DATA, struct.pack(">IHHI", tsn & 0xFFFFFFFF, stream, ssn, 0) + payload, flags)


def i_data(tsn, payload, stream=0, mid=0, fsn=0, flags=3):
    """A piece of a message, or all of it (RFC 8260 section 2.1)."""
    body = struct.pack(">IHHII", tsn & 0xFFFFFFFF, stream, 0, mid, 0 if flags & 2 else fsn)
    return chunk(I_DATA, body + payload, flags)


def sack(cumulative, window=65536, gaps=(), duplicates=()):
    body = struct.pack(">IIHH", cumulative & 0xFFFFFFFF, window, len(gaps), len(duplicates))
    body += b"".join(struct.pack(">HH", *gap) for gap in gaps)
    return chunk(SACK, body + b"".join(struct.pack(">I", tsn) for tsn in duplicates))


def packet(source_port, tag, chunks, port=SCTP_PORT):
    body = b"".join(chunks)
    head = struct.pack(">HHI", source_port, port, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + body)) + body


def chunks_of(datagram):
    """(type, flags, body) of each chunk."""
    at = 12
    while at + 4 <= len(datagram):
        kind, flags, length = struct.unpack_from(">BBH", datagram, at)
        if length < 4:
            return
        yield kind, flags, datagram[at + 4:at + length]
        at += (length + 3) // 4 * 4


def parameters_of(body):
    """(type, value) of each parameter or error cause."""
    at = 0
    while at + 4 <= len(body):
        kind, length = struct.unpack_from(">HH", body, at)
        yield kind, body[at + 4:at + length]
        at += max(4, (length + 3) // 4 * 4)


# Twice the same one from one address would begin the first association again (RFC 9260 section 5.2.2).
PORTS = itertools.cycle(random.sample(range(1024, 65536), 64512))


class Peer:
    """One end of an association; the other end is the victim."""

    def __init__(self, server="127.0.0.1", own="127.0.0.1", port=None, udp_port=0, window=1 << 20,
                 sctp_port=SCTP_PORT):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((own, udp_port))
        self.socket.connect((server, UDP_PORT))
        self.port = port or next(PORTS)
        self.sctp_port = sctp_port
        self.tag = random.randrange(1, 1 << 32)
        self.tsn = self.first = random.randrange(1 << 32)
        self.window = window
        # Of the victim: its tag, its first TSN.
        self.their_tag = self.their_tsn = self.beats = 0
        # The parameters of its INIT ACK.
        self.offered = b""
        self.sent = self.received = 0

    def become(self, n):
        """From now on this is peer number `n`, which has sent nothing yet."""
        self.port, self.tag = 1024 + n, 1 + n
        self.tsn = self.first

    def send(self, *chunks, tag=None):
        tag = self.their_tag if tag is None else tag
        self.send_raw(packet(self.port, tag, chunks, self.sctp_port))

    def send_raw(self, datagram):
        try:
            self.socket.send(datagram)
        except ConnectionRefusedError:
            self.socket.send(datagram)  # What the one before was refused with.
        self.sent += len(datagram) + 28

    def tell(self, *chunks):
        """Sends what is to be believed."""
        self.send(*chunks)

    def receive(self, timeout=5.0):
        """The next packet; `None` if none comes."""
        self.socket.settimeout(max(timeout, 1e-4))
        try:
            datagram = self.socket.recv(65536)
        except (TimeoutError, ConnectionRefusedError, BlockingIOError):
            return None
        self.received += len(datagram) + 28
        return datagram

    def expect(self, kind, timeout=5.0):
        """The body of the first chunk of a kind that comes."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            for found, _, body in chunks_of(self.receive(left) or b""):
                if found == kind:
                    return body
        raise AssertionError(f"no chunk of type {kind} within {timeout} s")

    def answers(self, *chunks, raw=()):
        """What comes for a packet with these chunks, or for packets that are `raw`: (type, flags, body) of each chunk
        until a heartbeat behind them is answered, or the association is aborted."""
        for datagram in raw or [packet(self.port, self.their_tag, chunks, self.sctp_port)] * bool(chunks):
            self.send_raw(datagram)
        self.beats += 1
        beat = parameter(1, struct.pack(">Q", self.beats))
        found = []
        for _ in range(10):
            self.send(chunk(HEARTBEAT, beat))
            end = time.monotonic() + 1
            while (left := end - time.monotonic()) > 0:
                came = list(chunks_of(self.receive(left) or b""))
                found += [one for one in came if one[::2] != (HEARTBEAT_ACK, beat)]
                if any(one[0] == ABORT or one[::2] == (HEARTBEAT_ACK, beat) for one in came):
                    return found
        raise AssertionError("no answer to a heartbeat")

    def flood(self, datagrams, count, beat):
        """Sends `count` of them in turn, and after each twenty a heartbeat, whose answer says that all were looked at. What
        came meanwhile but those answers, by kind."""
        drawn = []
        for n in range(count):
            self.send_raw(datagrams[n % len(datagrams)])
            if n % 20 == 19:
                self.send(beat)
                while HEARTBEAT_ACK not in (kinds := [kind for kind, _, _ in chunks_of(self.receive(5) or b"")]):
                    assert kinds, f"no answer after {drawn[-20:]}"
                    drawn += kinds
        return drawn

    def drain(self, timeout=0.0):
        """All chunks that are there, or come until nothing comes for a while."""
        found = []
        while (datagram := self.receive(timeout)) is not None:
            found.extend(chunks_of(datagram))
        return found

    def init(self, parameters=b"", streams=10):
        body = struct.pack(">IIHHI", self.tag, self.window, streams, streams, self.first)
        return chunk(INIT, body + parameters)

    def connect(self, parameters=b"", streams=10, timeout=5.0):
        cookie = None
        for _ in range(5):
            self.send(self.init(parameters, streams), tag=0)
            try:
                ack = self.expect(INIT_ACK, timeout / 5)
            except AssertionError:
                continue
            self.their_tag, _, _, _, self.their_tsn = struct.unpack_from(">IIHHI", ack)
            self.offered = ack[16:]
            cookie = self.find(self.offered, 7)
            break
        assert cookie, "no INIT ACK"
        self.send_cookie(cookie)
        self.expect(COOKIE_ACK, timeout)
        return self

    def send_cookie(self, cookie):
        self.send(chunk(COOKIE_ECHO, cookie))

    @staticmethod
    def find(parameters, wanted):
        return next((value for kind, value in parameters_of(parameters) if kind == wanted), None)

    def message(self, payload, stream=0, ssn=0):
        self.send(data(self.tsn, payload, stream, ssn))
        self.tsn += 1

    def close(self):
        self.socket.close()
