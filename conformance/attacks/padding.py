"""PAD chunks and padding parameters (RFC 4820) without end: large ones, the smallest ones, as many as a packet holds, with
lengths that are not true, before and behind chunks that are answered. They draw no answer of their own, and no answer grows by
them."""
import struct

from attack import beside, main
from sctp import HEARTBEAT, HEARTBEAT_ACK, INIT_ACK, Peer, chunk, packet, parameter

PAD, PADDING = 0x84, 0x8005
COUNT = 6_000
LARGE = 60_000


def play(victim):
    # A padded INIT: what it is padded with does not come back.
    peer = Peer()
    peer.send(peer.init(parameter(PADDING, bytes(LARGE))), tag=0)
    body = peer.expect(INIT_ACK)
    assert len(body) < 1500, f"an INIT ACK of {len(body)} bytes"
    peer.close()

    peer = Peer().connect()
    beat = chunk(HEARTBEAT, parameter(1, b"0123456789abcdef"))
    lie = struct.pack(">BBH", PAD, 0, 60_000) + bytes(8)
    silent = [[chunk(PAD, bytes(1400))], [chunk(PAD)] * 350, [chunk(PAD, bytes(LARGE))],
              [chunk(PAD, bytes(4)), lie], [struct.pack(">BBH", PAD, 255, 3)]]
    made = [packet(peer.port, peer.their_tag, chunks) for chunks in silent]
    peer.drain(0.3)
    peer.sent = peer.received = 0
    drawn = peer.flood(made, COUNT, beat)
    # Its own heartbeats may come meanwhile.
    assert len(drawn) < 5, f"{len(drawn)} chunks as answers to PAD: {drawn[:10]}"

    answers = 0
    for chunks in ([chunk(PAD, bytes(1000)), beat], [beat, chunk(PAD, bytes(1000))], [beat]):
        for _ in range(50):
            peer.send(*chunks)
            body = peer.expect(HEARTBEAT_ACK, 2)
            assert len(body) == 20, f"a HEARTBEAT ACK of {len(body)} bytes"
            answers += 1
    assert answers == 150
    return COUNT + answers


main(play, memory=8, most=16, cpu=3, honest=beside)
