"""Changes of addresses (RFC 5061) by strangers, and by a peer that authenticates them: without a key, with a wrong one, with
a wrong tag; storms of additions and deletions, numbers in disorder, the last address deleted, chunks that are cut off or
full of what nobody knows; the address of an honest client; answers that are to flood others. Whoever has no such
extension says so."""
import random
import socket
import struct
import time

from attack import MOVED, RUN, PERF, main
from sctp import (ABORT, DATA, ERROR, HEARTBEAT, HEARTBEAT_ACK, Peer, chunk, chunks_of, data, packet, parameter)
from signed import Signed, auth

ASCONF, ASCONF_ACK = 0xC1, 0x80
ADD, DELETE, FAILURE, PRIMARY = 0xC001, 0xC002, 0xC003, 0xC004
LAST, SHORTAGE, SOURCE, UNKNOWN = 0xA0, 0xA1, 0xA2, 8
NOWHERE = "0.0.0.0"
UDP = 4100
random.seed(5061)


def address(text):
    return parameter(5, socket.inet_aton(text))


def request(kind, n, text):
    return parameter(kind, struct.pack(">I", n) + address(text))


class Mobile(Signed):
    """A peer that authenticates its changes of addresses."""

    def __init__(self, own, port=None, udp_port=UDP):
        super().__init__(ASCONF, ASCONF_ACK, wanted=[ASCONF, ASCONF_ACK], own=own, port=port, udp_port=udp_port)
        self.own, self.elsewhere = own, {}

    def call(self):
        super().call()
        self.number = self.first
        return self

    def asconf(self, *requests, number=None, lookup=None):
        number = self.number if number is None else number
        body = struct.pack(">I", number & 0xFFFFFFFF) + address(lookup or self.own)
        return chunk(ASCONF, body + b"".join(requests))

    def change(self, *requests, **how):
        """The next change, and what is refused: (correlation, cause)."""
        sent = self.asconf(*requests, **how)
        self.send_raw(self.sealed(sent))
        self.number += 1
        return self.refused()

    def refused(self, timeout=5.0):
        number, *refused = self.answer(timeout)
        assert number == (self.number - 1) & 0xFFFFFFFF, (number, self.number)
        return refused

    def answer(self, timeout=5.0):
        """Its number and what it refuses, of the next ASCONF-ACK chunk. Heartbeats are answered meanwhile."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            for kind, _, body in chunks_of(self.receive(left) or b""):
                if kind == HEARTBEAT:
                    self.send(chunk(HEARTBEAT_ACK, body))
                if kind == ASCONF_ACK:
                    return struct.unpack_from(">I", body)[0], *refusals(body[4:])
        raise AssertionError("no ASCONF-ACK")

    def at(self, text):
        """A socket elsewhere, with the same UDP port."""
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other.bind((text, self.socket.getsockname()[1]))
        other.connect(self.socket.getpeername())
        other.setblocking(False)
        return other

    def echoes(self, words=b"still there?"):
        """A message goes there and comes back."""
        self.send(data(self.tsn, words, flags=7))
        self.tsn += 1
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for kind, _, body in chunks_of(self.receive(1.0) or b""):
                if kind == HEARTBEAT:
                    self.send(chunk(HEARTBEAT_ACK, body))
                if kind == DATA and words in body:
                    tsn = struct.unpack_from(">I", body)[0]
                    return self.send(chunk(3, struct.pack(">IIHH", tsn, 1 << 20, 0, 0)))
        raise AssertionError("no echo")


def refusals(responses):
    at = 0
    while at + 8 <= len(responses):
        kind, length, n = struct.unpack_from(">HHI", responses, at)
        if kind == FAILURE:
            yield n, struct.unpack_from(">H", responses, at + 8)[0]
        at += max(4, (length + 3) // 4 * 4)


def arrived(*sockets):
    """Bytes with IP and UDP headers, and the types of chunks."""
    total, kinds = 0, []
    for one in sockets:
        while True:
            try:
                datagram = one.recv(65536)
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                continue
            total += len(datagram) + 28
            kinds.extend(kind for kind, _, _ in chunks_of(datagram))
    return total, kinds


def nothing_comes_of(peer, what, *datagrams, of=None):
    """None of them is acknowledged, wherever it comes from."""
    peer.drain(0.1)
    for datagram in datagrams:
        (of or peer.socket).send(datagram)
    time.sleep(0.3)
    kinds = [kind for kind, _, _ in peer.drain()] + (arrived(of)[1] if of else [])
    assert ASCONF_ACK not in kinds and ABORT not in kinds, (what, kinds)
    assert of is None or not kinds, (what, kinds)
    print(f"    {what}: dropped")


def without_a_key(peer):
    elsewhere, added = peer.at("127.0.2.1"), peer.at("127.0.2.2")
    changes = [request(ADD, 1, "127.0.2.2"), request(DELETE, 2, peer.own), request(PRIMARY, 3, "127.0.2.2")]
    bare = [packet(peer.port, peer.their_tag, [peer.asconf(*changes, lookup=lookup), chunk(HEARTBEAT)])
            for lookup in (peer.own, NOWHERE, "127.0.2.1")]
    forged = [peer.sealed(peer.asconf(*changes), key=b"guessed") for _ in range(100)]
    strange = [peer.sealed(peer.asconf(*changes), tag=peer.their_tag ^ 1 << n) for n in range(32)]
    unknown = [packet(peer.port, peer.their_tag, [auth(bytes(20), key=key), peer.asconf(*changes)])
               for key in (1, 65535)]
    for source in (None, elsewhere):
        where = "from elsewhere" if source else "from where it is"
        nothing_comes_of(peer, f"not authenticated, {where}", *bare, of=source)
        nothing_comes_of(peer, f"with a wrong key, {where}", *forged, *unknown, of=source)
    nothing_comes_of(peer, "with a wrong tag", *strange)
    # D3: there it is out of the blue, for which ABORT is the answer (RFC 9260 section 8.4).
    for datagram in strange:
        elsewhere.send(datagram)
    time.sleep(0.3)
    assert set(arrived(elsewhere)[1]) <= {ABORT}
    assert arrived(added) == (0, []), "it was added"
    for one in (elsewhere, added):
        one.close()


def refused_as_it_should(peer):
    assert peer.change(request(DELETE, 7, peer.own)) == [(7, LAST)]
    assert peer.change(request(ADD, 1, "127.0.2.3"), request(DELETE, 2, peer.own)) == [(2, SOURCE)]
    assert peer.change(request(DELETE, 3, "127.0.9.9"), request(DELETE, 4, "127.0.2.3")) == [(3, 5), (4, SHORTAGE)]
    many = [request(ADD, n, f"127.0.3.{n}") for n in range(1, 60)]
    refused = peer.change(*many)
    assert refused == [(n, SHORTAGE) for n in range(15, 15 + len(refused))], refused
    # Nothing is at any of them, and the host says so.
    peer.echoes()
    assert peer.change(request(DELETE, 1, NOWHERE)) == []
    unknown = [parameter(kind, struct.pack(">I", n)) for n, kind in enumerate((0xC0FF, 0x80FF, 0xC0FE))]
    assert peer.change(*unknown, request(ADD, 9, "224.0.0.1")) == [(0, UNKNOWN), (2, UNKNOWN), (9, 5)]
    # What stops is not gone on behind, whether it is reported or not; and a name is no address.
    for stops, said in ((0x40FF, [(0, UNKNOWN)]), (0x00FE, [])):
        assert peer.change(parameter(stops, bytes(4)), request(ADD, 9, "127.0.2.3")) == [*said, (9, SHORTAGE)]
    name = parameter(ADD, struct.pack(">I", 8) + parameter(11, b"localhost\0"))
    assert peer.change(name, request(ADD, 9, "127.0.2.3")) == [(8, 5), (9, SHORTAGE)]
    assert peer.change(request(DELETE, 1, "127.0.2.3")) == [(1, 5)], "it was not reached"
    print("    the last, the source, too many, unknown ones: refused")


def in_disorder(peer):
    """Only the next number counts."""
    numbers = [peer.number + n for n in (1, 2, 1000, 1 << 30, (1 << 31) - 1, 1 << 31, -9, -1000)]
    random.shuffle(numbers)
    storm = [peer.sealed(peer.asconf(request(ADD, n, "127.0.2.4"), number=n)) for n in numbers for n in [n & 0xFFFFFFFF]]
    nothing_comes_of(peer, "numbers in disorder", *storm)
    # Again, and only once is it done.
    again = peer.sealed(peer.asconf(request(ADD, 1, "127.0.2.4")))
    for _ in range(50):
        peer.send_raw(again)
    peer.number += 1
    assert peer.refused() == []
    peer.drain(0.3)
    assert peer.change(request(DELETE, 1, "127.0.2.4")) == []


def malformed(peer):
    sound = peer.asconf(request(ADD, 1, "127.0.2.5"), request(DELETE, 2, "127.0.2.5"))
    cut = [peer.sealed(struct.pack(">BBH", ASCONF, 0, n) + sound[4:n] + bytes(-n % 4)) for n in range(4, 16)]
    nothing_comes_of(peer, "cut off", *cut)
    for _ in range(2000):
        body = bytearray(sound)
        for _ in range(random.randrange(1, 6)):
            body[random.randrange(8, len(body))] = random.choice((0, 1, 4, 5, 8, 16, 0x7F, 0xC0, 0xFF))
        peer.send_raw(peer.sealed(bytes(body)))
        peer.drain()
        if random.random() < 0.05:
            # Some were sound.
            peer.number = catch_up(peer)
    peer.number = catch_up(peer)
    print("    2000 damaged ones: survived")


def catch_up(peer):
    """The next number, which is asked for by chunks without requests."""
    peer.drain(0.05)
    for number in range(peer.number, peer.number + 400):
        peer.send_raw(peer.sealed(peer.asconf(number=number)))
        try:
            answered = peer.answer(0.2)[0]
        except AssertionError:
            continue
        if answered == number & 0xFFFFFFFF:
            return number + 1
    raise AssertionError("its numbers are lost")


def all_of(peer, batch):
    """Sends them until the last one is acknowledged."""
    for _ in range(20):
        for datagram in batch:
            peer.send_raw(datagram)
        end = time.monotonic() + 2
        try:
            while time.monotonic() < end:
                if peer.answer(0.5)[0] == (peer.number - 1) & 0xFFFFFFFF:
                    return
        except AssertionError:
            pass
    raise AssertionError("a storm that is not acknowledged")


def storm(peer, rounds):
    """As many changes as packets can hold, sixteen packets at a time."""
    peer.drain()
    before = peer.sent, peer.received
    for n in range(0, rounds, 16):
        batch = []
        for k in range(n, n + 16):
            changes = []
            for m in range(40):
                text = f"127.{1 + m}.{k >> 8 & 255}.{k & 255}"
                changes += [request(ADD, 2 * m, text), request(DELETE, 2 * m + 1, text)]
            batch.append(peer.sealed(peer.asconf(*changes)))
            peer.number += 1
        all_of(peer, batch)
    factor = (peer.received - before[1]) / (peer.sent - before[0])
    print(f"    {rounds} chunks with 80 changes each: x{factor:.2f}")
    return rounds


def flooding_others(peer):
    """What goes to an address that has not answered, for what the peer has sent from there and elsewhere."""
    other = peer.at("127.0.2.6")
    # A long answer, and short questions for it, which say that they come from somebody else.
    unknown = [parameter(0xC0FF, struct.pack(">I", n)) for n in range(60)]
    assert len(peer.change(*unknown)) > 50
    tiny = peer.asconf(number=peer.number - 1, lookup=NOWHERE)
    sent = 0
    for _ in range(50):
        datagram = peer.sealed(*[tiny] * 40)
        sent += other.send(datagram) + 28
        datagram = peer.sealed(tiny)
        sent += other.send(datagram) + 28
    time.sleep(0.5)
    drawn, _ = arrived(other)
    print(f"    answers to others: x{drawn / sent:.2f}")
    assert drawn <= 3 * sent, "others are flooded"
    other.close()


def somebody_elses(peer, honest):
    """The address of an honest client that is there, and of one that comes later: that one is taken for the attacker, who
    has restarted, and what was the attacker's is its."""
    peer.change(request(ADD, 1, honest.own), request(PRIMARY, 2, honest.own))
    late = "127.0.2.8"
    peer.change(request(ADD, 1, late), request(PRIMARY, 2, late))
    honest.echoes(b"a secret")
    caller = Mobile(late, port=peer.port, udp_port=UDP).call()
    caller.echoes(b"another secret")
    for kind, _, body in peer.drain(0.3):
        assert b"secret" not in body, "the attacker got it"
    assert caller.change(request(DELETE, 1, late)) == [(1, LAST)]
    caller.send(chunk(ABORT))
    caller.close()


def moves(honest):
    """An honest client that has another address from now on, as a mobile has."""
    before, new = honest.socket, "127.0.2.9"
    honest.socket = honest.at(new)
    refused = honest.change(request(ADD, 1, NOWHERE), request(DELETE, 2, honest.own))
    assert refused == [], refused
    before.close()
    honest.own = new
    honest.echoes(b"from another address")
    print("    an honest client moves, and goes on")


def not_supported(victim):
    peer = Peer()
    peer.connect()
    asconf = chunk(ASCONF, bytes(4) + address("127.0.0.1"))
    peer.send(asconf)
    cause = peer.expect(ERROR)
    assert struct.unpack_from(">H", cause)[0] == 6, cause
    for _ in range(5000):
        peer.send(asconf, chunk(ASCONF_ACK, bytes(4)))
        peer.drain()
    peer.send(chunk(ABORT))
    peer.close()
    return 5000


def play(victim):
    if victim.kind == PERF:
        return not_supported(victim)
    # With changes of addresses, and without authentication.
    naked = Peer(own="127.0.0.1")
    naked.send(naked.init(parameter(0x8008, bytes([ASCONF, ASCONF_ACK]))), tag=0)
    naked.expect(ABORT)
    naked.close()
    honest = Mobile("127.0.2.7", port=7777).call()
    attacker = Mobile("127.0.0.66", port=7777).call()
    without_a_key(attacker)
    honest.echoes()
    refused_as_it_should(attacker)
    in_disorder(attacker)
    malformed(attacker)
    flooding_others(attacker)
    honest.echoes()
    packets = storm(attacker, 4000)
    somebody_elses(attacker, honest)
    moves(honest)
    for one in (attacker, honest):
        one.send(chunk(ABORT))
        one.close()
    return packets


main(play, victims=[RUN, PERF], memory=12, most=24, cpu=15, program=MOVED)
