"""I-DATA chunks (RFC 8260) that begin a message on each of 65 535 streams, which never ends but for some of the first ones.
Those are read as they were sent, none put together with a piece of another one, and what stays open is bounded."""
import random
import struct

from attack import INTERLEAVING, RUN, beside, main
from sctp import ABORT, I_DATA, I_FORWARD_TSN, SUPPORTED_EXTENSIONS, Peer, chunks_of, i_data, parameter, sack

STREAMS = 65_535
# FEW have room together; of these ENDED are ended.
FEW = 1_500
ENDED = 200


def begin(peer, streams):
    """A message begins on each of the streams; what has no room is not sent again."""
    for first in range(0, len(streams), 40):
        some = streams[first:first + 40]
        peer.send(*[i_data(peer.tsn + n, b"begun %5d," % stream, stream, flags=2) for n, stream in enumerate(some)])
        peer.tsn += len(some)
        if first % 800 == 0 and ABORT in [kind for kind, _, _ in peer.drain(0.001)]:
            return


def play(victim):
    peer = Peer().connect(parameter(SUPPORTED_EXTENSIONS, bytes([I_DATA, I_FORWARD_TSN])), streams=STREAMS)
    order = list(range(STREAMS - FEW, STREAMS))
    random.Random(1).shuffle(order)
    begin(peer, order)
    # Ends, in another order, those of other streams in between.
    random.Random(2).shuffle(order)
    whole = set()
    for stream in order[:ENDED]:
        peer.send(i_data(peer.tsn, b" ended %5d" % stream, stream, fsn=1, flags=1))
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


main(play, victims=(RUN,), memory=32, most=48, cpu=5, honest=beside, program=INTERLEAVING)
