"""FORWARD TSN chunks (RFC 3758) and I-FORWARD-TSN chunks (RFC 8260) that pass over what never was: far ahead and far
behind, for thousands of streams and for streams that are not there, in the middle of messages, without end, of the kind
that was not agreed on, or without any agreement. No message is put together from pieces of several."""
import random
import struct
import time

from attack import INTERLEAVING, LIB, RUN, beside, main
from sctp import (ABORT, DATA, ERROR, FORWARD_TSN, FORWARD_TSN_SUPPORTED, HEARTBEAT, I_DATA, I_FORWARD_TSN,
                  PROTOCOL_VIOLATION, SACK, SUPPORTED_EXTENSIONS, UNKNOWN_CHUNK, Peer, chunk, data, i_data, packet,
                  parameter, parameters_of, sack)

STREAMS = 65_535
FLOOD, MESSAGES = 2_000, 400
PARTIAL = parameter(FORWARD_TSN_SUPPORTED, b"")
# As far ahead as a SACK can report (RFC 9260 section 3.3.4).
FURTHEST = 65_535
draw = random.Random(3758)


class Skipper(Peer):
    """A peer that passes over what it has not sent; with I-DATA if it interleaves."""

    def __init__(self, interleaves):
        super().__init__()
        self.interleaves = interleaves
        # As many SSNs or MIDs as can be passed over at once.
        self.furthest = (1 << 31 if interleaves else 1 << 15) - 1

    def call(self, streams=STREAMS):
        kinds = [I_DATA, I_FORWARD_TSN] if self.interleaves else [FORWARD_TSN]
        return self.connect(PARTIAL + parameter(SUPPORTED_EXTENSIONS, bytes(kinds)), streams)

    def piece(self, payload, stream=0, number=0, fsn=0, flags=3):
        self.tsn += 1
        if self.interleaves:
            return i_data(self.tsn - 1, payload, stream, number, fsn, flags)
        return data(self.tsn - 1, payload, stream, number, flags)

    def forward(self, ahead=0, skipped=()):
        """Passes over everything to so far beyond what was sent; `skipped` has streams and SSNs or MIDs."""
        tsn = struct.pack(">I", self.tsn - 1 + ahead & 0xFFFFFFFF)
        form, kind = (">HxxI", I_FORWARD_TSN) if self.interleaves else (">HH", FORWARD_TSN)
        return chunk(kind, tsn + b"".join(struct.pack(form, *one) for one in skipped))

    def echoed(self, *chunks):
        """What comes back of a packet, and behind it."""
        found = []
        for kind, _, body in self.answers(*chunks) + self.drain(0.2):
            if kind in (DATA, I_DATA):
                self.send(sack(struct.unpack_from(">I", body)[0]))
                found.append(body[16 if kind == I_DATA else 12:])
        return found

    def goes_on(self, stream=0, number=0):
        words = b"still there, %d?" % self.tsn
        found, end = self.echoed(self.piece(words, stream, number)), time.monotonic() + 10
        while words not in found and time.monotonic() < end:
            found = self.echoed()
        assert words in found, "no echo"


def acknowledged(found):
    """The cumulative TSN of the last SACK."""
    return [struct.unpack_from(">I", body)[0] for kind, _, body in found if kind == SACK][-1]


def far(peer):
    """What is out of date is not obeyed, and answered at once (RFC 3758 section 3.6), nor is what is further away than
    that; of neither are streams passed over."""
    skipped = [(stream, 1000) for stream in range(10)]
    peer.goes_on()
    for ahead in (FURTHEST + 1, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, -1, -1000, -FURTHEST - 1):
        found = peer.answers(peer.forward(ahead, skipped))
        assert acknowledged(found) == peer.tsn - 1 & 0xFFFFFFFF, ahead
    peer.goes_on(number=1)
    # As far as may be.
    peer.send(furthest := peer.forward(FURTHEST, skipped))
    found = peer.answers(furthest)
    peer.tsn += FURTHEST
    assert acknowledged(found) == peer.tsn - 1 & 0xFFFFFFFF
    peer.goes_on(number=1001)


def many_streams(peer):
    """Streams that are not there, or are not used, as many as a chunk of 60 000 bytes has."""
    count = 60_000 // (8 if peer.interleaves else 4)
    for first in range(0, STREAMS, count):
        skipped = [(stream & 0xFFFF, peer.furthest) for stream in range(first, first + count)]
        peer.answers(peer.forward(1, skipped))
        peer.tsn += 1


def in_pieces(peer):
    """Messages of which pieces are left out, and passed over, with or without the name of their stream. Whatever comes
    back is one of those that were whole."""
    whole, found, mids = set(), [], {}
    for n in range(MESSAGES):
        stream, count = draw.randrange(10), draw.randrange(1, 5)
        number = mids[stream] = mids.get(stream, 2000) + 1
        texts = [b"<%d: %d of %d>" % (n, at + 1, count) for at in range(count)]
        lost = draw.randrange(count) if draw.random() < 0.6 else None
        chunks = []
        for at, text in enumerate(texts):
            flags = (2 if at == 0 else 0) | (1 if at == count - 1 else 0)
            made = peer.piece(text, stream, number, at, flags)
            if at != lost:
                chunks.append(made)
            elif draw.random() < 0.5:
                chunks.append(peer.forward(0, [(stream, number)] * draw.randrange(2)))
        if lost is None:
            whole.add(b"".join(texts))
        # In another order, and what was left out is passed over at last.
        draw.shuffle(chunks)
        chunks.append(peer.forward(0, [(stream, number)]))
        found += [body[16 if kind == I_DATA else 12:] for kind, _, body in peer.answers(*chunks) if kind in (DATA, I_DATA)]
    found += peer.echoed()
    strange = set(found) - whole
    assert not strange, f"put together from several messages: {list(strange)[:3]}"
    print(f"    {len(set(found))} of {len(whole)} whole messages of {MESSAGES} came back")
    assert len(set(found)) > len(whole) // 2, "not even those that were whole"


def flood(peer):
    """Each passes over one TSN more, in a hundred streams, while there are more and more gaps beyond."""
    made, first = [], peer.tsn
    for n in range(FLOOD):
        peer.tsn += 1
        skipped = [(stream, 30_000) for stream in range(n % 100 * 100, n % 100 * 100 + 100)]
        # The beginning of a message, which will not go on.
        beyond = [data, i_data][peer.interleaves](first + 2 * n, b"x", 11, n, flags=2)
        made.append(packet(peer.port, peer.their_tag, [peer.forward(0, skipped)] + [beyond] * (n % 10 == 0)))
    beat = chunk(HEARTBEAT, parameter(1, b"in a flood......"))
    peer.sent = peer.received = 0
    peer.flood(made, FLOOD, beat)
    assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
    return FLOOD


def refused(peer, made, reason):
    """It ends the association: RFC 8260 sections 2.3.1 and 2.2.3."""
    found = peer.answers(made)
    causes = [cause for kind, _, body in found if kind == ABORT for cause, _ in parameters_of(body)]
    assert causes == [PROTOCOL_VIOLATION], (reason, found)
    peer.close()


def not_agreed(interleaving):
    """Of the other kind, and of neither."""
    plain = Skipper(False).call()
    made = Skipper(True)
    made.tsn = plain.tsn
    refused(plain, made.forward(10), "an I-FORWARD-TSN chunk without I-DATA")
    if interleaving:
        refused(Skipper(True).call(), chunk(FORWARD_TSN, bytes(4)), "a FORWARD TSN chunk with I-DATA")
        half = Peer().connect(PARTIAL + parameter(SUPPORTED_EXTENSIONS, bytes([I_DATA])))
        refused(half, chunk(I_FORWARD_TSN, bytes(4)), "an I-FORWARD-TSN chunk that was not named")
    # RFC 3758 section 3.3.1: "act as if it does NOT support the FORWARD TSN chunk, returning an ERROR".
    peer = Skipper(False)
    peer.connect()
    errors = [body for kind, _, body in peer.answers(peer.forward(10)) if kind == ERROR]
    assert [cause for cause, _ in parameters_of(errors[0])] == [UNKNOWN_CHUNK], errors
    peer.goes_on()
    for one in (plain, peer):
        one.close()


def play(victim):
    packets = 0
    for interleaves in (False, True) if victim.kind == RUN else (False,):
        peer = Skipper(interleaves).call()
        far(peer)
        in_pieces(peer)
        packets += flood(peer)
        for streams in (STREAMS, 10):
            other = Skipper(interleaves).call(streams)
            many_streams(other)
            other.goes_on(number=other.furthest + 1)
            other.send(chunk(ABORT))
        peer.send(chunk(ABORT))
    not_agreed(victim.kind == RUN)
    return packets


main(play, victims=(RUN, LIB), memory=8, most=16, cpu=4, honest=beside, program=INTERLEAVING)
