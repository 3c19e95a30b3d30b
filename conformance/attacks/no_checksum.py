"""Packets without a checksum (RFC 9653) from a peer that offers to take such packets itself, and from one that does not; the
victim has agreed on nothing of the kind. None is looked at: no data is taken, nothing is answered, and no association
begins, ends or changes."""
import struct

from attack import PERF, beside, main
from sctp import (ABORT, COOKIE_ECHO, HEARTBEAT, HEARTBEAT_ACK, Peer, chunk, data, packet, parameter)

ZERO_CHECKSUM = 0x8001
COUNT = 6_000


def zeroed(peer, *chunks, tag=None):
    made = packet(peer.port, peer.their_tag if tag is None else tag, chunks)
    return made[:8] + bytes(4) + made[12:]


def play(victim):
    beat = chunk(HEARTBEAT, parameter(1, b"0123456789abcdef"))
    for parameters in (parameter(ZERO_CHECKSUM, struct.pack(">I", 1)), b""):
        stranger = Peer()
        stranger.send_raw(zeroed(stranger, stranger.init(parameters), tag=0))
        stranger.send_raw(zeroed(stranger, chunk(COOKIE_ECHO, bytes(100))))
        assert stranger.receive(0.3) is None, "an answer to a packet of a stranger"
        stranger.close()

        peer = Peer().connect(parameters)
        peer.drain(0.3)
        made = [zeroed(peer, beat), zeroed(peer, data(peer.tsn, b"x" * 100)),
                zeroed(peer, data(peer.tsn, b"y" * 100), beat), zeroed(peer, chunk(ABORT)),
                zeroed(peer, chunk(ABORT), tag=peer.tag)]
        drawn = peer.flood(made, COUNT, beat)
        drawn += [kind for kind, _, _ in peer.drain(0.3)]
        # Its own heartbeats may come meanwhile.
        assert HEARTBEAT_ACK not in drawn and len(drawn) < 5, f"answers: {drawn[:10]}"
        # The TSN is still free, the association lives, and it is the one with a checksum that is taken.
        if victim.kind != PERF:
            peer.message(b"with a checksum")
            assert peer.expect(0)[12:] == b"with a checksum"
        peer.send(beat)
        peer.expect(HEARTBEAT_ACK)
        peer.close()
    return 2 * COUNT


main(play, memory=8, most=16, cpu=3, honest=beside)
