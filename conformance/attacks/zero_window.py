"""Peers that ask for data and never take any: their window stays closed, and what they are sent waits. It waits in
send buffers, which are bounded, and others are served meanwhile."""
from attack import LIB, RUN, main
from sctp import Peer, sack

COUNT, MESSAGES = 20, 300


def play(victim):
    peers = [Peer(window=1500) for _ in range(COUNT)]
    for peer in peers:
        peer.connect()
    for ssn in range(MESSAGES):
        for peer in peers:
            peer.message(b"x" * 1000, ssn=ssn)
            if ssn % 20 == 0:
                peer.send(sack(peer.their_tsn - 1, window=0))
                peer.drain()
    victim.serves()
    return COUNT * MESSAGES


main(play, victims=(RUN, LIB), memory=48, most=64, cpu=10)
