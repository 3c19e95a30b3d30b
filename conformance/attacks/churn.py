"""Associations that are opened, send data and are aborted or just left, again and again: nothing may be
left of those that have ended."""
from attack import main
from sctp import ABORT, SHUTDOWN, Peer, chunk

COUNT = 800


def play(victim):
    peer = Peer()
    for n in range(COUNT):
        peer.become(n)
        peer.connect()
        for ssn in range(4):
            peer.message(b"x" * 1000, ssn=ssn)
        if n % 2:
            peer.send(chunk(SHUTDOWN, (peer.their_tsn - 1).to_bytes(4, "big")))
        peer.send(chunk(ABORT))
        peer.drain()
    return COUNT * 7


main(play, memory=16, most=32, cpu=5)
