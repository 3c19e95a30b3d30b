"""INITs without end, each from another port with another tag, from twenty addresses (as many as one may
send are answered): an INIT costs its receiver no memory (RFC 9260 section 5.1.3: the cookie has all state).
Who has sent too many is answered again when he has stopped."""
from attack import main
from sctp import Peer

COUNT = 20_000


def play(victim):
    peers = [Peer(own=f"127.0.2.{n + 1}") for n in range(20)] + [Peer()]
    for n in range(COUNT):
        peer = peers[n % len(peers)]
        peer.port, peer.tag = 1024 + n % 60_000, 1 + n
        peer.send(peer.init(), tag=0)
        if n % 64 == 0:
            peer.drain()
    return COUNT


main(play, memory=8, most=16, cpu=4)
