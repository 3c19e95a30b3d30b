"""NR-SACK chunks (draft-natarajan-tsvwg-sctp-nrsack) that lie about what is kept: of what was never sent, with blocks that
overlap, are empty or end before they begin, thousands of them, with counts that do not fit the chunk, behind a Cumulative
TSN Ack that falls or wraps; promises that are withdrawn; without end; without an agreement. What was not promised comes
again as it was, and nothing comes that was not sent."""
import random
import re
import select
import struct
import time

from attack import LIB, RUN, main, with_options
from sctp import (ABORT, DATA, ERROR, HEARTBEAT, HEARTBEAT_ACK, PROTOCOL_VIOLATION, SACK, SUPPORTED_EXTENSIONS, Peer,
                  chunk, chunks_of, data, packet, parameter, parameters_of, sack)

NR_SACK = 16
OFFER = parameter(SUPPORTED_EXTENSIONS, bytes([NR_SACK]))
WINDOW = 1 << 24
# Associations that lie, MANY at a time; one in LARGE has a thousand chunks outstanding.
SEEDS, MANY, LARGE = 180, 30, 45
# Seconds until all has come again: T3-rtx has backed off meanwhile, as long as it was lied to.
TIMEOUT = 100
# Bytes of a flood, and chunks that are kept but for the first one.
FLOOD, KEPT = 8_000_000, 30_000
# SCTP_NODELAY.
PROGRAM = with_options((3, struct.pack("=i", 1)))


def nr_sack(cumulative, gaps=(), kept=(), duplicates=(), window=WINDOW, counts=None, flags=0):
    """Blocks count from the Cumulative TSN Ack. `counts` that are not those of the lists are lies."""
    counts = counts or (len(gaps), len(kept), len(duplicates))
    body = struct.pack(">IIHHHH", cumulative & 0xFFFFFFFF, window, *counts, 0)
    body += b"".join(struct.pack(">HH", *block) for block in [*gaps, *kept])
    return chunk(NR_SACK, body + b"".join(struct.pack(">I", tsn & 0xFFFFFFFF) for tsn in duplicates), flags)


def blocks_of(numbers, base):
    """Those beyond `base`, as blocks."""
    found = []
    for n in sorted(n - base for n in numbers if n > base):
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return found


class Promiser(Peer):
    """A peer whose acknowledgements are NR-SACKs. It counts what the victim sends from 0."""

    def __init__(self, agreed=True, offers=True, seed=None):
        super().__init__(window=WINDOW)
        self.agreed, self.seed, self.asked = agreed, seed, 0
        # Texts of what came, and what has to come again.
        self.came, self.again = {}, set()
        # What was acknowledged for good, and how the association was ended.
        self.cumulative, self.kept, self.causes = -1, set(), None
        self.connect(OFFER * offers)
        listed = NR_SACK in (self.find(self.offered, SUPPORTED_EXTENSIONS) or b"")
        assert agreed == (offers and listed), "NR-SACKs are agreed on, or not"

    def look(self, found):
        """Nothing may come that was not asked for, nor twice as something else. Whether there was data."""
        arrived = False
        for kind, _, body in found:
            assert kind != (SACK if self.agreed else NR_SACK), f"a chunk of type {kind}"
            if kind == HEARTBEAT:
                self.send(chunk(HEARTBEAT_ACK, body))
            if kind == ABORT:
                self.causes = [cause for cause, _ in parameters_of(body)]
            if kind == DATA:
                n, text = struct.unpack_from(">I", body)[0] - self.their_tsn & 0xFFFFFFFF, body[12:]
                words = re.fullmatch(rb"(\d+) of (\d+)", text)
                assert words and int(words[1]) < self.asked and int(words[2]) == self.port, f"{text[:40]} came"
                assert self.came.setdefault(n, text) == text, f"{text} is {self.came[n]} now"
                self.again.discard(n)
                arrived = True
        return arrived

    def ask(self, count):
        """So many messages, each of which has an echo."""
        for first in range(self.asked, self.asked + count, 50):
            some = range(first, min(first + 50, self.asked + count))
            self.send(*[data(self.tsn + n - first, b"%d of %d" % (n, self.port), ssn=n & 0xFFFF) for n in some])
            self.tsn += len(some)
        self.asked += count

    def draw(self, count):
        """As many echoes as that are in flight, but for those beyond the first one that are reported."""
        end = time.monotonic() + TIMEOUT
        while len(self.came) < count:
            assert time.monotonic() < end, f"{len(self.came)} of {count} echoes"
            wanted = min(self.asked + 60, count)
            self.ask(wanted - self.asked)
            while len(self.came) < wanted and (datagram := self.receive(0.5)) is not None:
                self.look(chunks_of(datagram))
            if count > 60:
                self.send(self.nr_sack(-1, gaps=[[2, len(self.came)]]))
        return self

    def nr_sack(self, cumulative, *lists, **more):
        return nr_sack(self.their_tsn + cumulative, *lists, **more)

    def is_told(self, *chunks, raw=()):
        self.look(self.answers(*chunks, raw=raw))

    def hears(self, cumulative, gaps, kept):
        """What the victim has to make of it: whether that is the end. Otherwise, what is acknowledged for good."""
        sent = len(self.came)
        ahead = (cumulative - self.cumulative + (1 << 31)) % (1 << 32) - (1 << 31)
        # What is more than 2^30 ahead is from before.
        if ahead < 0 or self.cumulative + ahead > sent + (1 << 30):
            return False
        cumulative = self.cumulative + ahead
        if cumulative >= sent:
            return True
        for start, end in [*kept, *gaps]:
            if not 0 < start <= end:
                return False
            if cumulative + end >= sent:
                return True
        self.cumulative = cumulative
        for start, end in kept:
            self.kept.update(range(cumulative + start, cumulative + end + 1))
        return False

    def repent(self):
        """From now on it is honest: it has nothing but what it has promised."""
        has = set(range(self.cumulative + 1)) | self.kept
        self.again = set(self.came) - has
        self.acknowledge()

    def acknowledge(self, repeats=True):
        """What it has by now; beyond a gap only if it repeats its promises."""
        has = set(self.came) - self.again
        while self.cumulative + 1 in has:
            self.cumulative += 1
        kept = blocks_of(has, self.cumulative) if repeats else ()
        plain = sack(self.their_tsn + self.cumulative, WINDOW)
        self.send(self.nr_sack(self.cumulative, (), kept) if self.agreed else plain)

    def behind(self):
        return f"seed {self.seed}: {sorted(self.again)[:10]} of {len(self.came)}"

    def leave(self):
        self.send(chunk(ABORT))
        self.close()


def mend(peers):
    """All that was not promised comes again, and something new behind it. A promise need not be repeated, and is withdrawn
    by that."""
    draw = random.Random(len(peers))
    waiting, end = {}, time.monotonic() + TIMEOUT
    for peer in peers:
        peer.repent()
        waiting[peer.socket] = peer, goes_on(peer)
        next(waiting[peer.socket][1])
    while waiting:
        assert time.monotonic() < end, f"does not come again: {[peer.behind() for peer, _ in waiting.values()][:5]}"
        for one in select.select(list(waiting), [], [], 0.5)[0]:
            (peer, step), arrived = waiting[one], False
            while (datagram := peer.receive(0.0)) is not None:
                arrived |= peer.look(chunks_of(datagram))
            assert peer.causes is None, f"ended: {peer.causes}"
            if arrived:
                peer.acknowledge(repeats=draw.random() < 0.5)
            if next(step, "over"):
                del waiting[one]


def goes_on(peer):
    """Waits for what comes again, and for one message more."""
    while peer.again:
        yield
    peer.ask(1)
    count = len(peer.came) + 1
    while len(peer.came) < count:
        yield
    texts = [int(peer.came[n].split()[0]) for n in range(count)]
    assert texts == sorted(set(texts)), "in another order"


class Liar:
    """What one of them says, from a seed."""

    def __init__(self, seed):
        self.draw, self.ends = random.Random(seed), seed % 4 == 3
        self.peer = Promiser(seed=seed).draw(1_000 if seed % LARGE == 0 else self.draw.randrange(1, 60))
        self.sent = len(self.peer.came)

    def blocks(self, most):
        """Within what was sent after the Cumulative TSN Ack, in any order, over each other."""
        last = self.sent - 1 - self.peer.cumulative
        if last < 2:
            return []
        pairs = ((self.draw.randint(1, last), self.draw.randint(1, last)) for _ in range(self.draw.randrange(most + 1)))
        return [[min(pair), min(max(pair), min(pair) + self.draw.choice([0, 0, 3, last]))] for pair in pairs]

    def told(self, cumulative, gaps=(), kept=(), **more):
        return self.peer.nr_sack(cumulative, gaps, kept, **more), self.peer.hears(cumulative, gaps, kept)

    def sound(self):
        lists = self.blocks(self.draw.choice([1, 3, 400])), self.blocks(self.draw.choice([0, 0, 0, 1, 3]))
        step = self.draw.choice([0] * 20 + [1, 2])
        duplicates = [self.draw.randrange(1 << 32) for _ in range(self.draw.choice([0, 0, 2, 300]))]
        step = min(step, self.sent - 1 - self.peer.cumulative)
        gaps, kept = ([[start - step, end - step] for start, end in some if start > step] for some in lists)
        window = self.draw.choice([0, 1500, WINDOW, 0xFFFFFFFF])
        more = {"duplicates": duplicates, "window": window, "flags": self.draw.randrange(256)}
        return self.told(self.peer.cumulative + step, gaps, kept, **more)

    def withdrawn(self):
        """Nothing at all, or as a SACK."""
        here = self.peer.cumulative
        return self.told(here) if self.draw.random() < 0.5 else (sack(self.peer.their_tsn + here, WINDOW), False)

    def without_sense(self):
        gaps, kept = self.blocks(5), self.blocks(5)
        start, end = self.draw.choice([(0, 0), (0, 1), (0, 65_535), (2, 1), (65_535, 1), (65_535, 0)])
        self.draw.choice([gaps, kept]).insert(0, [start, end])
        return self.told(self.peer.cumulative, gaps, kept)

    def miscounted(self):
        """The counts, or the length, are those of another chunk."""
        gaps, kept = self.blocks(5), [[1, self.sent]]
        counts = [len(gaps), len(kept), 0]
        made = self.peer.nr_sack(self.peer.cumulative, gaps, kept)
        if self.draw.random() < 0.3:
            return chunk(NR_SACK, made[4:self.draw.randrange(4, len(made))]), False
        while sum(counts) == len(gaps) + len(kept):
            counts = [self.draw.choice([0, 1, 2, 7, 255, 32_768, 65_535]) for _ in counts]
        return self.peer.nr_sack(self.peer.cumulative, gaps, kept, counts=counts), False

    def fallen(self):
        """All is kept, from before what was acknowledged, or from the other half of the numbers."""
        back = self.draw.choice([1, 2, 1000, 65_535, 1 << 20, (1 << 30) - 70_000, (1 << 31) - 1, 1 << 31,
                                 (1 << 31) + 7, (3 << 30) - 70_000])
        last = min(self.sent + back, 65_535)
        return self.told(self.peer.cumulative - back, [], [[1, last], [2, last]])

    def never_sent(self):
        """It is the end, for whatever is said beside."""
        far = self.draw.choice([1, 2, 100, 60_000])
        here, left = self.peer.cumulative, self.sent - 1 - self.peer.cumulative
        gaps, kept = self.blocks(3), self.blocks(3)
        which = self.draw.randrange(3)
        if which == 2:
            return self.told(here + left + self.draw.choice([1, 2, 70_000, 1 << 29]), gaps, kept)
        [gaps, kept][which].append([self.draw.choice([1, left + 1]), left + far])
        return self.told(here, gaps, kept)

    def lies(self):
        """Packets of one to five of them."""
        kinds = [self.sound, self.sound, self.withdrawn, self.without_sense, self.miscounted, self.fallen]
        many = self.draw.randrange(1, 60)
        for n in range(many):
            chunks, over = [], False
            for _ in range(self.draw.choice([1, 1, 5])):
                last = self.ends and n == many - 1
                made, over = (self.never_sent if last else self.draw.choice(kinds))()
                chunks.append(made)
                if over:
                    break
            if self.draw.random() < 0.2:
                # It does not end before the packet does.
                made = self.peer.nr_sack(self.sent - 1)
                chunks.append(made[:2] + struct.pack(">H", self.draw.choice([len(made) + 1, 65_535])) + made[4:])
            self.peer.is_told(*chunks)
            if over or self.peer.causes is not None:
                return over
        return False


def seeded():
    """Each lies in its own way, many at a time; then each is honest, but for what it has promised."""
    ended = promised = asked = 0
    for first in range(0, SEEDS, MANY):
        mended = []
        for seed in range(first, first + MANY):
            liar = Liar(seed)
            over, causes = liar.lies(), liar.peer.causes
            promised += len(liar.peer.kept) + liar.peer.cumulative + 1
            asked += liar.sent
            assert causes == ([PROTOCOL_VIOLATION] if over else None), f"seed {seed}: {causes}, {over}"
            ended += over
            if not over:
                mended.append(liar.peer)
        mend(mended)
        for peer in mended:
            peer.leave()
    print(f"    {SEEDS} liars, of which {ended} were ended, with {promised} of {asked} chunks promised")


def beyond_what_is_heard():
    """Promises in an NR-SACK that takes back more than is heard of one (256 chunks): they are still in flight."""
    peers = []
    for promised in ([[950, 960]], [[2, 3], [950, 960]], [[600, 1000]], [[2, 1000]]):
        peers.append(peer := Promiser().draw(1_000))
        peer.is_told(peer.nr_sack(-1, [[2, 900]]))
        peer.is_told(peer.nr_sack(-1, [], promised))
        peer.hears(-1, [], promised)
        for _ in range(20):
            peer.is_told(peer.nr_sack(-1), peer.nr_sack(-1, [[2, 1000]]), peer.nr_sack(-1))
    mend(peers)
    for peer in peers:
        peer.leave()


def kept_for_ever():
    """All but the first one, while the program goes on: what was promised has left its send buffer."""
    peer = Promiser().draw(60)
    end = time.monotonic() + TIMEOUT
    while len(peer.came) < KEPT:
        assert time.monotonic() < end, f"{len(peer.came)} of {KEPT} echoes"
        peer.ask(60)
        peer.look(peer.drain(0.002))
        peer.send(peer.nr_sack(-1, [], [[2, len(peer.came)]] if len(peer.came) > 1 else []))
    print(f"    {len(peer.came)} chunks outstanding, kept but for the first one")
    peer.look(peer.drain(0.3))
    peer.hears(-1, [], [[2, len(peer.came)]])
    mend([peer])
    peer.leave()


def flood(promised):
    """Chunks full of blocks, and packets full of chunks, that promise and withdraw in turn. Who has promised all but the
    first one takes nothing back by that; others are ended when they have repeated themselves a thousand times."""
    peer, draw = Promiser().draw(1_000), random.Random(17)
    if promised:
        peer.is_told(peer.nr_sack(-1, [], [[2, 1000]]))
        peer.hears(-1, [], [[2, 1000]])
    some = lambda step: [[at, at + draw.randrange(step)] for at in range(2, 900, step)]
    thousands = [block for _ in range(33) for block in some(2)]
    draw.shuffle(thousands)
    kinds = [[peer.nr_sack(-1, [], thousands)], [peer.nr_sack(-1, thousands, [])], [peer.nr_sack(-1)],
             [peer.nr_sack(-1, some(3), some(5))], [peer.nr_sack(-1, [[2, 1000]]), peer.nr_sack(-1)] * 30,
             [peer.nr_sack(-1, [], some(40)), peer.nr_sack(-1, some(40), [])] * 6,
             [peer.nr_sack(-1, duplicates=range(14_000))]]
    made = [packet(peer.port, peer.their_tag, one) for one in kinds]
    peer.sent = peer.received = packets = 0
    while peer.sent < FLOOD and peer.causes is None:
        peer.is_told(raw=[made[packets % len(made)]])
        packets += 1
    assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
    assert peer.causes == (None if promised else [PROTOCOL_VIOLATION]), peer.causes
    print(f"    {packets} packets of {peer.sent / 1e6:.1f} MB drew {peer.received / 1e6:.2f} MB")
    if promised:
        mend([peer])
    peer.leave()
    return packets


def not_agreed(**offer):
    """As if the type were not known: the rest of the packet is not looked at (RFC 9260 section 3.2), nothing is answered
    and nothing acknowledged."""
    peer = Promiser(agreed=False, **offer).draw(1)
    lies = [peer.nr_sack(0), peer.nr_sack(-1, [], [[1, 1]]), peer.nr_sack(-1, [[2, 20]], [[2, 70]]), peer.nr_sack(9)]
    raw = [packet(peer.port, peer.their_tag, [lie, data(peer.tsn, b"behind it")]) for lie in lies]
    peer.sent = peer.received = 0
    for _ in range(50):
        found = peer.answers(raw=raw)
        peer.look(found)
        assert ERROR not in [kind for kind, _, _ in found] and peer.causes is None, found
    assert peer.received < peer.sent, f"{peer.received} bytes for {peer.sent}"
    mend([peer])
    peer.leave()
    return 50 * len(raw)


def play(victim):
    # Its profile has none.
    if victim.kind == LIB:
        return not_agreed(offers=True)
    not_agreed(offers=False)
    seeded()
    beyond_what_is_heard()
    kept_for_ever()
    return flood(promised=False) + flood(promised=True)


def keeps():
    """An honest peer that has agreed on NR-SACKs as well."""
    return Peer(own="127.0.0.50").connect(OFFER)


main(play, victims=(RUN, LIB), memory=8, most=16, cpu=12, honest=keeps, program=PROGRAM,
     options=("--profile", "tresse+nr-sack"))
