"""I-DATA chunks (RFC 8260) that begin a message on each of 65 535 streams, which never ends but for some of the first ones.
Those are read as they were sent, none put together with a piece of another one, and what stays open is bounded."""
import random
import struct

from attack import INTERLEAVING, RUN, main
from sctp import ABORT, Peer, chunk, chunks_of, packet, parameter, sack

I_DATA = 0x40
SUPPORTED_EXTENSIONS = 0x8008
STREAMS = 65_535
# FEW have room together; of these ENDED are ended.
FEW = 1_500
ENDED = 200


def piece(tsn, stream, fsn, payload, flags, mid=0):
    body = struct.pack(">IHHII", tsn & 0xFFFFFFFF, stream, 0, mid, 0 if flags & 2 else fsn)
    return chunk(I_DATA, body + payload, flags)


def begin(peer, streams):
    """A message begins on each of the streams; what has no room is not sent again."""
    for first in range(0, len(streams), 40):
        some = streams[first:first + 40]
        peer.send(*[piece(peer.tsn + n, stream, 0, b"begun %5d," % stream, 2) for n, stream in enumerate(some)])
        peer.tsn += len(some)
        if first % 800 == 0 and ABORT in [kind for kind, _, _ in peer.drain(0.001)]:
            return


def play(victim):
    peer = Peer().connect(parameter(SUPPORTED_EXTENSIONS, bytes([I_DATA, 0xC2])), streams=STREAMS)
    order = list(range(STREAMS - FEW, STREAMS))
    random.Random(1).shuffle(order)
    begin(peer, order)
    # Ends, in another order, those of other streams in between.
    random.Random(2).shuffle(order)
    whole = set()
    for stream in order[:ENDED]:
        peer.send(piece(peer.tsn, stream, 1, b" ended %5d" % stream, 1))
        peer.tsn += 1
        whole.add(b"begun %5d, ended %5d" % (stream, stream))
    found = set()
    while (datagram := peer.receive(1.0)) is not None:
        for kind, _, body in chunks_of(datagram):
            if kind == I_DATA:
                found.add(body[16:])
                peer.send(sack(struct.unpack_from(">I", body)[0]))
    strange = found - whole
    assert not strange, f"put together from several messages: {list(strange)[:3]}"
    assert len(found) == ENDED, f"{len(found)} of {ENDED} whole messages came back"
    # All the others.
    begin(peer, list(range(STREAMS - FEW)))
    return peer.tsn - peer.first


main(play, victims=(RUN,), memory=32, most=48, cpu=5, program=INTERLEAVING)
