"""Associations that come and go, while a program that has asked to be told of everything reads nothing."""
from attack import ASLEEP, RUN, main
from sctp import ABORT, Peer, chunk

COUNT = 30_000


def play(victim):
    peer = Peer()
    for n in range(COUNT):
        peer.become(n)
        peer.connect()
        peer.send(chunk(ABORT))
    return COUNT * 5


# Nobody is to wait for the limit of one source.
main(play, victims=[RUN], memory=4, most=8, cpu=10, program=ASLEEP,
     options=["--set", "limits.inits_per_source=1000000"])
