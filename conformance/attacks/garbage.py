"""Random bytes, and packets of an association with random chunks in them or cut anywhere."""
import os
import random

from attack import main
from sctp import DATA, Peer, chunk, packet

COUNT = 15_000


def play(victim):
    peer = Peer().connect()
    for n in range(COUNT):
        if n % 3 == 0:
            peer.send_raw(os.urandom(random.randrange(200)))
            continue
        body = os.urandom(random.randrange(100))
        made = chunk(random.choice([DATA, *range(256)]), body, random.randrange(256))
        made = made[:random.randrange(4, len(made) + 1)]
        # Not ABORT with its own tag: that would be the end of it.
        tag = peer.their_tag if made[0] != 6 else 1
        peer.send_raw(packet(peer.port, tag, [made]))
        if n % 64 == 0:
            peer.drain()
    return COUNT


main(play, memory=16, most=32, cpu=4)
