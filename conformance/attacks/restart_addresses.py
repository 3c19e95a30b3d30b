"""An attacker lists the address of somebody else in its INIT, with the same port. When that one calls, it
looks as if the attacker had restarted; what is meant for the caller must not go to the attacker."""
import socket

from attack import main
from sctp import DATA, HEARTBEAT, INIT_ACK, ABORT, Peer, chunk, parameter

PORT = 7777


def play(victim):
    address = lambda text: parameter(5, socket.inet_aton(text))
    attacker = Peer(own="127.0.0.66", port=PORT, udp_port=4000)
    attacker.connect(address("127.0.0.66") + address("127.0.0.77"))
    caller = Peer(own="127.0.0.77", port=PORT, udp_port=4000)
    caller.connect()
    attacker.drain(0.2)
    for ssn in range(20):
        caller.message(b"a secret", ssn=ssn)
    if victim.answers:
        caller.expect(DATA)
    for kind, _, body in attacker.drain(0.5):
        assert kind not in (DATA, INIT_ACK), f"the attacker got a chunk of type {kind}: {body}"
        assert b"secret" not in body
    # (What `perf` does not understand it aborts.)
    aborted = any(kind == ABORT for kind, _, _ in caller.drain(0.1))
    assert not (aborted and victim.answers), "the caller was aborted"
    caller.send(chunk(ABORT))


main(play)
