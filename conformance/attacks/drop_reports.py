"""Packet drop reports (draft-stewart-sctp-pktdrprep) that are not true: of data that was never sent, that was
acknowledged, that was given up, that was another; of middle boxes, with a wrong tag, hundreds in a packet, again and
again; and damaged packets without end, which are to be reported. With checksums and, where that was agreed on (RFC 9653),
without. A report brings out what is in flight and nothing else, once in a round trip and eight times in all."""
import struct
import time

from attack import RUST, beside, main
from sctp import (ABORT, DATA, FORWARD_TSN, FORWARD_TSN_SUPPORTED, HEARTBEAT, SUPPORTED_EXTENSIONS, Peer, chunk,
                  chunks_of, data, packet, parameter, parameters_of, sack)

REPORT, ZERO_CHECKSUM = 0x81, 0x8001
MIDDLE_BOX, BAD_CHECKSUM, TRUNCATED = 1, 2, 4
FLOOD = 4_000
# Times that a chunk is sent at most, because of reports.
MOST = 8


def report(packet, flags=BAD_CHECKSUM, truncated=0, bandwidth=0, queued=0):
    return chunk(REPORT, struct.pack(">IIHH", bandwidth, queued, truncated, 0) + packet, flags)


class Reporter(Peer):
    """A peer that says of what it gets that it came damaged."""

    def __init__(self, zero=False, gives_up=False):
        """With packets without a checksum; with an end that gives messages up."""
        super().__init__()
        self.gives_up, self.ssn = gives_up, 0
        # What came, by TSN.
        self.came = {}
        kinds = [REPORT, FORWARD_TSN] if gives_up else [REPORT]
        more = parameter(ZERO_CHECKSUM, struct.pack(">I", 1)) * zero + parameter(FORWARD_TSN_SUPPORTED, b"") * gives_up
        # INIT and COOKIE ECHO have one in any case.
        self.zero = False
        self.connect(parameter(SUPPORTED_EXTENSIONS, bytes(kinds)) + more)
        self.zero = zero

    def send_raw(self, datagram):
        super().send_raw(datagram[:8] + bytes(4) + datagram[12:] if self.zero else datagram)

    def look(self, found):
        """Counts data, and returns the TSNs."""
        tsns = []
        for kind, _, body in found:
            assert kind != ABORT, parameters_of(body)
            if kind == DATA:
                tsns.append(struct.unpack_from(">I", body)[0])
                self.came.setdefault(tsns[-1], []).append(body)
        return tsns

    def told(self, *chunks, raw=()):
        """The TSNs that a packet with these chunks brings out."""
        return self.look(self.answers(*chunks, raw=raw))

    def is_told(self, *chunks, raw=(), of=None):
        """Whether a packet brings out data each time, or what `of` sends. (Timers, which go on meanwhile, do that once.)"""
        for _ in range(3):
            if of:
                of()
            if not self.told(*chunks, raw=raw):
                return False
            time.sleep(0.02)
        return True

    def draws(self, words):
        """A message, whose echo stays in flight: its packet, as it came."""
        self.message(words, ssn=self.ssn)
        self.ssn += 1
        end = time.monotonic() + 5
        while time.monotonic() < end:
            datagram = self.receive(1.0) or b""
            found = list(chunks_of(datagram))
            self.look(found)
            if any(kind == DATA and body[12:] == words for kind, _, body in found):
                assert (datagram[8:12] == bytes(4)) == self.zero, "the checksum"
                return datagram
        raise AssertionError("no echo")

    def alone(self, body):
        """A packet of the victim with nothing but this DATA chunk."""
        return struct.pack(">HHII", self.sctp_port, self.port, self.tag, 0) + chunk(DATA, body, 3)

    def acknowledge(self):
        self.send(sack(max(self.came, key=lambda tsn: tsn - self.their_tsn & 0xFFFFFFFF)))


def body_of(datagram):
    return next(body for kind, _, body in chunks_of(datagram) if kind == DATA)


def lies(peer):
    """Of what was never sent, or not like that."""
    sound = peer.alone(body_of(peer.draws(b"in flight, and long enough to be told from others")))
    tsn = struct.unpack_from(">I", sound, 16)[0]
    other = lambda at, n=1: sound[:at] + bytes([sound[at] ^ n]) + sound[at + 1:]
    cases = {"a port": other(1), "the other port": other(3), "the tag": other(7), "a type": other(12, 0x40),
             "a length": other(15), "a stream": other(21), "an SSN": other(23), "a PPID": other(27), "data": other(30),
             "a header": sound[:12], "half a chunk": sound[:18], "nothing": b"", "itself": report(sound)}
    cases |= {far: sound[:16] + struct.pack(">I", tsn + far & 0xFFFFFFFF) + sound[20:]
              for far in (1, 2, 1000, (1 << 31) - 1, 1 << 31, -1, -1000)}
    for what, quoted in cases.items():
        assert not peer.is_told(report(quoted)), what
    for flags in (0, MIDDLE_BOX, MIDDLE_BOX | BAD_CHECKSUM):
        assert not peer.is_told(report(sound, flags)), flags
    assert not peer.is_told(report(sound, BAD_CHECKSUM | TRUNCATED, truncated=len(sound) - 1)), "longer than it was"
    wrong = [packet(peer.port, peer.their_tag ^ 1 << n, [report(sound)]) for n in range(32)]
    assert not peer.is_told(raw=wrong), "with a wrong tag"
    stranger = Peer(own="127.0.0.66", port=peer.port)
    assert not peer.is_told(of=lambda: stranger.send(report(sound), tag=peer.their_tag)), "from another address"
    assert DATA not in [kind for kind, _, _ in stranger.drain(0.1)], "to another address"
    stranger.close()
    # The truth.
    truth = report(sound, bandwidth=0xFFFFFFFF, queued=0xFFFFFFFF)
    assert peer.gives_up or any(peer.told(truth) for _ in range(5))
    # What was acknowledged is over.
    peer.acknowledge()
    assert peer.told(report(sound)) == []


def many(peer):
    """Hundreds of reports in a packet, and hundreds of chunks in a report: each brings out a chunk once in a round
    trip."""
    bodies = [body_of(peer.draws(b"one of twenty, %d" % n)) for n in range(20)]
    flying = [peer.alone(body) for body in bodies]
    peer.sent = peer.received = 0
    for quoted in (flying * 30, [flying[0] + b"".join(one[12:] for one in flying[1:]) * 30]):
        before = {tsn: len(copies) for tsn, copies in peer.came.items()}
        peer.told(*[report(one) for one in quoted])
        assert all(len(copies) <= before[tsn] + 2 for tsn, copies in peer.came.items()), "more than once"
    assert peer.received < peer.sent
    # What leaves is what was sent before, and nothing else.
    for copies in peer.came.values():
        assert len(set(copies)) == 1, copies
    peer.acknowledge()


def replayed(peer):
    # The shortest round trip is that of this answer.
    peer.draws(b"at once")
    peer.acknowledge()
    quoted = report(peer.alone(body_of(peer.draws(b"again and again"))))
    made = packet(peer.port, peer.their_tag, [quoted])
    peer.sent = peer.received = 0
    for n in range(FLOOD // 20):
        peer.told(raw=[made] * 20)
    times = max(map(len, peer.came.values()))
    # Timers go on meanwhile.
    assert 1 < times <= MOST + 4, f"{times} times"
    assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
    peer.acknowledge()
    print(f"    {FLOOD} reports of one chunk: sent {times} times")


def given_up(peer):
    """A message that was given up is not sent again, but passed over."""
    sound = peer.alone(body_of(peer.draws(b"given up soon")))
    # Its retransmission would be due, which it is not to have.
    end, found = time.monotonic() + 10, []
    while FORWARD_TSN not in found and time.monotonic() < end:
        found = [kind for kind, _, _ in chunks_of(peer.receive(1.0) or b"")]
    assert FORWARD_TSN in found, "it was not given up"
    for _ in range(100):
        assert peer.told(report(sound)) == []


def damaged(peer):
    """What is damaged is reported, 32 in a row and 500 in a second, and no report is longer than 28 bytes more. Of
    reports, and of what belongs to nobody, none is."""
    peer.zero, zero = False, peer.zero
    good = packet(peer.port, peer.their_tag, [data(peer.tsn, b"damaged on the way" * 20)])
    bad = good[:40] + b"!" + good[41:]
    own = packet(peer.port, peer.their_tag, [report(bad)])
    others = [own[:40] + b"!" + own[41:], packet(peer.port, peer.their_tag ^ 1, [report(bad)])]
    assert REPORT not in [kind for kind, _, _ in peer.answers(raw=others)], "a report of a report"
    begin, peer.sent, peer.received, reports = time.monotonic(), 0, 0, 0
    for n in range(FLOOD // 20):
        for kind, _, body in peer.answers(raw=[bad] * 20):
            reports += kind == REPORT
            assert kind != REPORT or len(body) + 4 <= len(bad) + 28, len(body)
    seconds = time.monotonic() - begin
    assert 20 < reports <= 32 + 500 * seconds + 20, f"{reports} reports in {seconds:.2f} s"
    assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
    print(f"    {FLOOD} damaged packets in {seconds:.2f} s: {reports} reports")
    peer.zero = zero
    # The TSN is still free.
    assert body_of(peer.draws(b"undamaged"))[12:] == b"undamaged"


def not_agreed():
    """As if the type were not known, which is skipped (RFC 9260 section 3.2)."""
    peer = Peer().connect()
    peer.message(b"in flight")
    body = peer.expect(DATA)
    sound = struct.pack(">HHII", peer.sctp_port, peer.port, peer.tag, 0) + chunk(DATA, body, 3)
    found = [kind for kind, _, _ in peer.answers(*[report(sound)] * 20)]
    assert not found or set(found) <= {HEARTBEAT, DATA} and found.count(DATA) < 2, found
    peer.send(chunk(ABORT))
    peer.close()


def play(victim):
    not_agreed()
    for zero in (False, True):
        peer = Reporter(zero)
        for step in (replayed, lies, many, damaged):
            step(peer)
        peer.send(chunk(ABORT))
        peer.close()
    peer = Reporter(gives_up=True)
    lies(peer)
    given_up(peer)
    peer.send(chunk(ABORT))
    peer.close()
    return 4 * FLOOD


main(play, victims=(RUST,), memory=4, most=8, cpu=4, honest=beside)
