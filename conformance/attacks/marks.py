"""ECNE and CWR chunks without end, with numbers that were never sent, with all that a packet holds and without an agreement
on ECN. They draw no more than they are, and the program is served as before."""
import random
import struct

from attack import ECN, RUN, main
from sctp import DATA, Peer, chunk, packet, parameter, sack

ECNE, CWR = 12, 13
ECN_CAPABLE = 0x8000
COUNT = 5_000


def lies(peer):
    """Packets full of them, made in advance: about what was sent, and about anything."""
    made = []
    for _ in range(100):
        near = lambda: (peer.their_tsn + random.randrange(-5, 50)) & 0xFFFFFFFF
        far = lambda: random.randrange(1 << 32)
        tsn = random.choice([near, far])
        echo = lambda: chunk(ECNE, struct.pack(">II", tsn(), random.randrange(1 << 32))[:random.choice([4, 8])])
        answer = lambda: chunk(CWR, struct.pack(">I", tsn()), random.randrange(4))
        made.append(packet(peer.port, peer.their_tag,
                           [random.choice([echo, answer])() for _ in range(random.choice([1, 120]))]))
    return made


def play(victim):
    sent = 0
    for parameters in (parameter(ECN_CAPABLE, b""), b""):
        peer = Peer().connect(parameters)
        for ssn in range(20):
            peer.message(b"x" * 1000, ssn=ssn)
        peer.drain(0.2)
        made = lies(peer)
        peer.sent = peer.received = 0
        for n in range(COUNT):
            peer.send_raw(made[n % len(made)])
            if n % 50 == 0:
                peer.drain()
        peer.drain(0.5)
        assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
        sent += COUNT
        # What it had in flight leaves again, and nothing is in its way.
        peer.message(b"still there?", ssn=20)
        for _ in range(100):
            body = peer.expect(DATA, 10)
            peer.send(sack(struct.unpack_from(">I", body)[0]))
            if body[12:] == b"still there?":
                break
        else:
            raise AssertionError("no answer behind the flood")
        peer.close()
    return sent


main(play, victims=(RUN,), memory=8, most=16, cpu=6, program=ECN)
