"""How much a packet draws from a victim that has seen no cookie of its sender: whoever forges an address
has it flooded. At most MOST times what was sent, IP and UDP headers counted as in RFC 9000 section 8.1, where
it is three times for QUIC."""
import os

from attack import main
from sctp import COOKIE_ECHO, HEARTBEAT, SHUTDOWN_ACK, Peer, chunk, data, parameter

MOST = 3.5


def drawn(what, *chunks, tag=1, udp=None):
    peer = Peer()
    made = [peer.init(udp)] if udp is not None else chunks
    for _ in range(10):
        peer.send(*made, tag=0 if udp is not None else tag)
    peer.drain(0.3)
    factor = peer.received / peer.sent
    print(f"    {what}: x{factor:.2f}")
    assert factor <= MOST, what
    peer.close()


def play(victim):
    drawn("INIT", udp=b"")
    unknown = b"".join(parameter(0xC000 + n, b"") for n in range(64))
    drawn("INIT with 64 unknown parameters to be reported", udp=unknown)
    drawn("INIT with 20 addresses", udp=b"".join(parameter(5, bytes([127, 0, 1, n])) for n in range(20)))
    drawn("DATA of nobody", data(1, b"x"))
    drawn("SHUTDOWN ACK of nobody", chunk(SHUTDOWN_ACK))
    drawn("HEARTBEAT of nobody", chunk(HEARTBEAT, parameter(1, os.urandom(100))))
    drawn("COOKIE ECHO that nobody made", chunk(COOKIE_ECHO, os.urandom(200)))


main(play, memory=8, most=16, cpu=3)
