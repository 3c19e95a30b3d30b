"""RE-CONFIG chunks (RFC 6525) without end: streams are reset and added, up to 65 535 and beyond, all TSNs begin again,
with the same numbers, with those of others, and across requests of the victim that are never answered; requests for
streams that are not there, for a reset that can never be, in combinations that may not be, damaged, and without any
agreement."""
import random
import struct
import time

from attack import RESETTING, PERF, RUN, beside, main
from sctp import (ABORT, DATA, ERROR, HEARTBEAT, I_DATA, PROTOCOL_VIOLATION, SUPPORTED_EXTENSIONS, Peer, chunk, chunks_of,
                  data, i_data, packet, parameter, parameters_of, sack)

RE_CONFIG = 0x82
OUTGOING, INCOMING, ASSOCIATION, RESPONSE, ADD_OUTGOING, ADD_INCOMING = range(13, 19)
# Results (RFC 6525 section 4.4).
NOTHING, PERFORMED, DENIED, WRONG_SSN, ALREADY, BAD_NUMBER, IN_PROGRESS = range(7)
FLOOD, DAMAGED, KEPT = 4_000, 2_000, 300
draw = random.Random(6525)


class Resetter(Peer):
    def call(self, others=()):
        self.connect(parameter(SUPPORTED_EXTENSIONS, bytes([RE_CONFIG, *others])))
        # The first number is that of the first TSN (section 4.1); SSNs by stream.
        self.number, self.ssns = self.first, {}
        return self

    def request(self, kind, *fields, streams=(), number=None):
        """A parameter with the next number, or this one."""
        if number is None:
            number, self.number = self.number, self.number + 1
        body = struct.pack(f">{1 + len(fields)}I", *(field & 0xFFFFFFFF for field in (number, *fields)))
        return parameter(kind, body + struct.pack(f">{len(streams)}H", *streams))

    def reset_outgoing(self, streams=(), last=None, **how):
        return self.request(OUTGOING, 0, self.tsn - 1 if last is None else last, streams=streams, **how)

    def add(self, count, kind=ADD_OUTGOING, **how):
        return self.request(kind, count << 16, **how)

    def asks(self, *parameters):
        """The results that are answered."""
        return list(results(self.answers(chunk(RE_CONFIG, b"".join(parameters)))))

    def echoes(self, words, stream=0):
        """A message, whose echo is looked at."""
        ssn = self.ssns.get(stream, 0)
        self.ssns[stream] = ssn + 1
        self.send(data(self.tsn, words, stream, ssn))
        self.tsn += 1
        body = self.expect(DATA)
        self.send(sack(struct.unpack_from(">I", body)[0]))
        assert body[12:] == words, (words, body)
        return body


def results(found):
    for kind, _, body in found:
        for one, value in parameters_of(body) if kind == RE_CONFIG else ():
            if one == RESPONSE:
                yield struct.unpack_from(">I", value, 4)[0]


def adding(peer):
    """Up to 65 535, and not one more (section 5.2.5); the same request again adds nothing (section 5.2.1)."""
    refused = [kind for kind, _, _ in peer.answers(data(peer.tsn, b"nowhere", 10))]
    peer.tsn += 1
    assert ERROR in refused, "RFC 9260 section 6.5: Invalid Stream Identifier"
    for most in (0xFFFF, 65_526):
        assert peer.asks(peer.add(most)) == [DENIED]
    again = peer.add(65_524)
    for _ in range(20):
        assert peer.asks(again) == [PERFORMED]
    assert peer.asks(peer.add(1)) == [PERFORMED]
    for n in range(20):
        assert peer.asks(peer.add(1)) == [DENIED]
    peer.echoes(b"on the last stream", 65_534)


def numbers(peer):
    """Section 5.2.1: neither the next one nor the last one."""
    for far in (1, 2, 1000, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, -10, -1000):
        for make in (peer.reset_outgoing, lambda **how: peer.add(1, **how), lambda **how: peer.request(ASSOCIATION, **how)):
            assert peer.asks(make(number=peer.number + far)) == [BAD_NUMBER], far
    assert peer.asks(peer.reset_outgoing([0])) == [PERFORMED]
    peer.ssns[0] = 0
    peer.echoes(b"from the beginning")


def no_such_stream(peer):
    """Section 5.2.2 E3 and 5.2.3; the other way the victim has ten."""
    for streams in ([65_535], list(range(10)) + [65_535]):
        assert peer.asks(peer.reset_outgoing(streams)) == [WRONG_SSN]
    assert peer.asks(peer.request(INCOMING, streams=[10])) == [WRONG_SSN]


def in_combination(peer):
    """Section 3.1: "the receiver SHOULD send an ERROR chunk with a Protocol Violation cause", and nothing is done."""
    next_one = lambda n: peer.number + n
    wrong = [[peer.reset_outgoing(number=next_one(0)), peer.add(1, number=next_one(1))],
             [peer.request(ASSOCIATION, number=next_one(n)) for n in range(2)],
             [peer.reset_outgoing(number=next_one(n)) for n in range(3)],
             [peer.add(0, number=next_one(n)) for n in range(3000)]]
    for parameters in wrong:
        found = peer.answers(chunk(RE_CONFIG, b"".join(parameters)))
        causes = [cause for kind, _, body in found if kind == ERROR for cause, _ in parameters_of(body)]
        assert causes == [PROTOCOL_VIOLATION] and not list(results(found)), found


def across_a_reset(interleaves):
    """A stream begins again in the middle of a message. What comes then of a message with the same number is another one:
    it is not put together with the first piece, which no honest peer leaves behind."""
    peer = Resetter().call([I_DATA] * interleaves)
    make = i_data if interleaves else data
    peer.send(make(peer.tsn, b"begun before, ", 6, 0, flags=2))
    assert peer.asks(peer.reset_outgoing([6], last=peer.tsn)) == [PERFORMED]
    if interleaves:
        found = peer.answers(i_data(peer.tsn + 1, b"ended after", 6, 0, fsn=1, flags=1)) + peer.drain(0.3)
        assert I_DATA not in [kind for kind, _, _ in found], found
    else:
        # RFC 9260 section 6.9: fragments follow one another.
        found = peer.answers(data(peer.tsn + 1, b"whole", 6, 0))
        causes = [cause for kind, _, body in found if kind == ABORT for cause, _ in parameters_of(body)]
        assert causes == [PROTOCOL_VIOLATION], found
    peer.send(chunk(ABORT))
    peer.close()


def never(peer):
    """A reset that waits for what will never be sent holds up its stream alone, and no other reset waits behind it."""
    assert peer.asks(peer.reset_outgoing([1], last=peer.tsn + (1 << 30))) == [IN_PROGRESS]
    for _ in range(100):
        assert peer.asks(peer.reset_outgoing([2], last=peer.tsn + (1 << 30))) == [ALREADY]
    for n in range(50):
        peer.echoes(b"meanwhile %d" % n, 3)


def kept(peer):
    """A reset that waits for one chunk, while all that comes is behind it: the window bounds it, and nothing is lost."""
    last = peer.tsn
    assert peer.asks(peer.reset_outgoing([1], last=last)) == [IN_PROGRESS]
    for n in range(1, KEPT + 1):
        peer.send(data(last + n, b"kept %4d, " % n + bytes(990), 1, n - 1))
        if n % 50 == 0:
            peer.drain()
    found = peer.answers(data(last, b"the one that was missing", 2, 0)) + peer.drain(0.2)
    assert PERFORMED in results(found), found
    peer.tsn = last + KEPT + 1
    echoes = set()
    end = time.monotonic() + 20
    while len(echoes) < KEPT + 1 and time.monotonic() < end:
        for kind, _, body in found:
            if kind == DATA:
                echoes.add(body[12:22])
                peer.send(sack(peer.their_tsn + len(echoes) - 1))
        found = list(chunks_of(peer.receive(1.0) or b""))
    assert len(echoes) == KEPT + 1, f"{len(echoes)} of {KEPT + 1}"


def crossing(peer):
    """Each is answered by a request of the victim, which is not answered: it is one at a time, sent again with the
    timeout of data (section 5.1.1), whatever is asked meanwhile."""
    peer.echoes(b"so that there is something to reset")
    assert peer.asks(peer.request(INCOMING, streams=list(range(10)) * 2000)) in ([], [IN_PROGRESS])
    peer.sent = peer.received = 0
    for n in range(300):
        kind = (INCOMING, ADD_INCOMING)[n % 2]
        made = peer.request(INCOMING, streams=[0]) if n % 2 else peer.add(1, ADD_INCOMING)
        found = peer.asks(made)
        assert len(found) <= 1 and set(found) <= {NOTHING, ALREADY, IN_PROGRESS, DENIED}, found
    assert peer.received < 2 * peer.sent, f"{peer.received} bytes for {peer.sent}"


def answers_unasked(peer):
    """To what the victim has not asked, and again and again that what it has asked for is in progress (section 5.2.7
    H2)."""
    answer = lambda number, *more: parameter(RESPONSE, struct.pack(f">{1 + len(more)}I", number & 0xFFFFFFFF, *more))
    for number in (-1, 0, 1, 1 << 31, (1 << 31) - 1):
        for result in (*range(8), 0xFFFFFFFF):
            for tsns in ((), (peer.tsn + 1000 & 0xFFFFFFFF, 5), (7,)):
                found = peer.answers(chunk(RE_CONFIG, answer(peer.their_tsn + number, result, *tsns)))
                assert not {RE_CONFIG, ABORT} & {kind for kind, _, _ in found}, found
    peer.echoes(b"so that there is something to reset")
    assert peer.asks(peer.request(INCOMING, streams=[0])) in ([], [IN_PROGRESS])
    for n in range(300):
        peer.answers(chunk(RE_CONFIG, answer(peer.their_tsn, IN_PROGRESS)))
    peer.answers(chunk(RE_CONFIG, answer(peer.their_tsn, PERFORMED, peer.tsn + 1000 & 0xFFFFFFFF, 5)))
    body = peer.echoes(b"with the first SSN again")
    assert struct.unpack_from(">H", body, 6)[0] == 0, body


def beginning_again(peer):
    """All streams and TSNs, again and again (section 5.2.4)."""
    for n in range(50):
        found = peer.answers(chunk(RE_CONFIG, peer.request(ASSOCIATION))) + peer.drain(0.01)
        body = [body for kind, _, body in found if kind == RE_CONFIG][-1]
        result, theirs, ours = struct.unpack_from(">III", body, 8)
        assert result == PERFORMED, (n, found)
        peer.tsn, peer.ssns = ours, {}
        body = peer.echoes(b"from its beginning, %d" % n)
        assert struct.unpack_from(">I", body)[0] == theirs, "section 5.2.4 G2"


def flood(peer):
    """Requests in turn, as fast as they go, of which nobody waits for the answers."""
    made = []
    for n in range(FLOOD):
        some = [peer.reset_outgoing(list(range(10)) * 60), peer.add(0), peer.request(INCOMING, streams=[9]),
                peer.request(ASSOCIATION)]
        made.append(packet(peer.port, peer.their_tag, [chunk(RE_CONFIG, one) for one in some]))
    peer.sent = peer.received = 0
    drawn = peer.flood(made, FLOOD, chunk(HEARTBEAT, parameter(1, b"in a flood......")))
    assert drawn.count(RE_CONFIG) > FLOOD // 2, "it is not answered"
    assert peer.received < 2 * peer.sent, f"{peer.received} bytes for {peer.sent}"
    return FLOOD


def damaged(peer):
    sound = peer.reset_outgoing([1, 2, 3], number=peer.number) + peer.request(INCOMING, streams=[1], number=peer.number + 1)
    made = []
    for _ in range(DAMAGED):
        body = bytearray(sound)
        for _ in range(draw.randrange(1, 5)):
            body[draw.randrange(len(body))] = draw.choice((0, 1, 3, 4, 13, 14, 15, 16, 17, 18, 0x7F, 0x80, 0xFF))
        made.append(packet(peer.port, peer.their_tag, [chunk(RE_CONFIG, bytes(body[:draw.randrange(len(body) + 1)]))]))
    peer.flood(made, DAMAGED, chunk(HEARTBEAT, parameter(1, b"in a flood......")))


def not_agreed():
    """As if the type were not known, which is skipped (RFC 9260 section 3.2)."""
    peer = Peer().connect()
    peer.number = peer.first
    wanted = Resetter.request(peer, ASSOCIATION)
    found = peer.answers(*[chunk(RE_CONFIG, wanted)] * 100)
    assert not [kind for kind, _, _ in found if kind in (ERROR, ABORT, RE_CONFIG)], found
    peer.send(chunk(ABORT))
    peer.close()


def play(victim):
    not_agreed()
    careful = ((adding, numbers, no_such_stream, in_combination, never), (beginning_again,), (kept,), (crossing,),
               (answers_unasked,))
    # `perf` lets peers reset and add streams, and has nothing to say.
    for steps in (*(careful if victim.answers else ()), (flood,), (damaged,)):
        peer = Resetter().call()
        for step in steps:
            step(peer)
        peer.send(chunk(ABORT))
        peer.close()
        print("    " + ", ".join(step.__name__ for step in steps))
    for interleaves in (False, True) if victim.answers else ():
        across_a_reset(interleaves)
    return FLOOD + DAMAGED


main(play, victims=(RUN, PERF), memory=8, most=16, cpu=4, honest=beside, program=RESETTING)
