"""How much a packet draws from a victim that has seen no cookie of its sender: whoever forges an address
has it flooded. At most MOST times what was sent, IP and UDP headers counted as in RFC 9000 section 8.1, where
it is three times for QUIC. And what addresses draw that a peer with a valid cookie claims to have."""
import os
import socket
import time

from attack import main
from sctp import ABORT, COOKIE_ECHO, HEARTBEAT, SHUTDOWN_ACK, Peer, chunk, data, parameter

MOST = 3


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


def claimed():
    """An association of a peer that claims the addresses of fifteen others, and falls silent."""
    peer = Peer()
    udp_port = peer.socket.getsockname()[1]
    others = []
    for n in range(1, 16):
        others.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        others[-1].bind((f"127.0.1.{n}", udp_port))
        others[-1].setblocking(False)
    peer.connect(b"".join(parameter(5, bytes([127, 0, 1, n])) for n in range(1, 16)))
    time.sleep(12)
    peer.drain(0.1)
    probes = 0
    for other in others:
        while True:
            try:
                peer.received += len(other.recv(65536)) + 28
                probes += 1
            except BlockingIOError:
                break
        other.close()
    factor = peer.received / peer.sent
    print(f"    15 claimed addresses: {probes} probes, x{factor:.2f} in all")
    assert probes > 0, "none was probed"
    assert factor <= MOST, "claimed addresses"
    peer.send(chunk(ABORT))
    peer.close()


def play(victim):
    claimed()
    drawn("INIT", udp=b"")
    unknown = b"".join(parameter(0xC100 + n, b"") for n in range(64))
    drawn("INIT with 64 unknown parameters to be reported", udp=unknown)
    drawn("INIT with 20 addresses", udp=b"".join(parameter(5, bytes([127, 0, 1, n])) for n in range(20)))
    drawn("DATA of nobody", data(1, b"x"))
    drawn("SHUTDOWN ACK of nobody", chunk(SHUTDOWN_ACK))
    drawn("HEARTBEAT of nobody", chunk(HEARTBEAT, parameter(1, os.urandom(100))))
    drawn("COOKIE ECHO that nobody made", chunk(COOKIE_ECHO, os.urandom(200)))


main(play, memory=8, most=16, cpu=3)
