"""A victim that searches the path MTU with probes (DPLPMTUD, RFC 8899) and is told lies: answers to probes that never arrived,
answers with other contents, old ones, many times over. Nobody makes its packets larger than what was answered for."""
import random
import struct

from attack import RUN, SEARCHING, main
from sctp import DATA, HEARTBEAT, HEARTBEAT_ACK, Peer, chunk, chunks_of, sack

PAD = 0x84
IP_AND_UDP = 28
# What a search begins with (RFC 8899 §5.1.2).
BASE = 1280
COUNT = 4_000


def play(victim):
    peer = Peer().connect()
    infos, largest, sent = [], 0, 0

    def look(timeout):
        nonlocal largest
        while (datagram := peer.receive(timeout)) is not None:
            kinds = {kind: body for kind, _, body in chunks_of(datagram)}
            if HEARTBEAT in kinds:
                # Small ones are answered honestly: the address is confirmed by them. Large ones never arrived.
                if len(datagram) + IP_AND_UDP <= BASE:
                    peer.send(chunk(HEARTBEAT_ACK, kinds[HEARTBEAT]))
                else:
                    assert PAD in kinds, "a large HEARTBEAT without PAD"
                infos.append((len(datagram), kinds[HEARTBEAT]))
            if DATA in kinds:
                largest = max(largest, len(datagram) + IP_AND_UDP)
                peer.send(sack(struct.unpack_from(">I", kinds[DATA])[0]))

    # Packets that are full make a search worth while.
    peer.message(b"z" * 60_000, ssn=0)
    for _ in range(8):
        look(0.5)
    assert any(length + IP_AND_UDP > BASE for length, _ in infos), "it does not search"
    small = [info for length, info in infos if length + IP_AND_UDP <= BASE]
    for n in range(COUNT):
        info = bytearray(random.choice(infos)[1])
        # The contents behind the header of the parameter: a path, a time, a nonce.
        for at in random.sample(range(4, len(info)), random.randrange(1, 5)):
            info[at] ^= random.randrange(1, 256)
        lie = random.choice([bytes(info), random.choice(small), bytes(info[:random.randrange(len(info))])])
        peer.send(chunk(HEARTBEAT_ACK, lie))
        sent += 1
        if n % 100 == 0:
            look(0.001)
    for ssn in range(1, 5):
        peer.message(b"x" * 1000 + bytes([ssn]), ssn=ssn)
    peer.message(b"y" * 60_000, ssn=5)
    for _ in range(10):
        look(0.3)
    assert 1000 < largest <= BASE, f"packets of {largest} bytes, and nothing above {BASE} was answered for"
    return sent


main(play, victims=(RUN,), memory=8, most=16, cpu=3, program=SEARCHING)
