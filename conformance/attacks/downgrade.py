"""Authentication (RFC 4895) that is to be got round: chunks that must be authenticated and are not, wrong and old HMACs,
algorithms that were not asked for, keys that are not there, AUTH chunks twice and in the wrong place; and an INIT of an
honest peer that is played again without RANDOM, CHUNKS or HMAC-ALGO, so that its association is restarted without
authentication."""
import itertools
import os
import struct
import time

from attack import RUN, SIGNED, main
from sctp import (ABORT, COOKIE_ACK, COOKIE_ECHO, DATA, ERROR, HEARTBEAT, INIT_ACK, PROTOCOL_VIOLATION, SACK, SHUTDOWN,
                  Peer, chunk, data, packet, parameter, parameters_of, sack)
from signed import CHUNKS, HMAC_ALGO, RANDOM, Signed, auth

UNSUPPORTED_HMAC = 0x0105
FLOOD = 4_000


def plain(peer, *chunks):
    return packet(peer.port, peer.their_tag, chunks)


def taken(peer, *datagrams):
    """What comes back for them, each once."""
    found, came, end = {}, peer.answers(raw=datagrams), time.monotonic() + 10
    while came or not found and time.monotonic() < end:
        for kind, _, body in came:
            if kind == DATA:
                found[body[:4]] = body[12:]
                peer.send(sack(struct.unpack_from(">I", body)[0]))
        came = peer.drain(0.2)
    return list(found.values())


def echoes(peer, words=b"authenticated"):
    """Which is what shows that nothing else had its TSN."""
    peer.tell(data(peer.tsn, words, flags=7))
    peer.tsn += 1
    body = peer.expect(DATA)
    peer.send(sack(struct.unpack_from(">I", body)[0]))
    assert body[12:] == words, body


def silent(peer, what, *datagrams):
    """They are discarded silently, and all that is behind them."""
    found = [kind for kind, _, _ in peer.answers(raw=datagrams) if kind != HEARTBEAT]
    assert not found, (what, found)
    echoes(peer)
    print(f"    {what}: discarded")


def closing(peer):
    """What must be authenticated, and harms."""
    acknowledged = struct.pack(">I", peer.their_tsn - 1 & 0xFFFFFFFF)
    return data(peer.tsn, b"forged", flags=7), chunk(ABORT), chunk(SHUTDOWN, acknowledged)


def unauthenticated(peer):
    made = closing(peer)
    sound = peer.sealed()
    # Section 6.3: "if they are not placed after an AUTH chunk in the packet". At the end is a sound one that covers nothing.
    last = [packet(peer.port, peer.their_tag, [one, sound[12:]]) for one in made]
    silent(peer, "without AUTH", *[plain(peer, one) for one in made], plain(peer, *made))
    silent(peer, "in front of AUTH", *last)
    # What is behind it is taken.
    in_front = data(peer.tsn + 1, b"in front", flags=7)
    assert taken(peer, peer.sealed(data(peer.tsn, b"behind", flags=7), head=[in_front])) == [b"behind"]
    peer.tsn += 1


def forged(peer):
    made = closing(peer)
    other = Signed().call()
    wrong = [peer.sealed(one, key=key) for one in made for key in (b"", b"guessed", other.key, peer.key + b"\0")]
    bits = []
    for n in range(0, 160, 7):
        whole = bytearray(peer.sealed(made[0]))
        whole[20 + n // 8] ^= 1 << n % 8
        bits.append(plain(peer, bytes(whole[12:])))
    lengths = [plain(peer, auth(os.urandom(n)), *made) for n in (0, 4, 16, 19, 21, 24, 32, 64, 1000)]
    silent(peer, "with a wrong HMAC", *wrong, *bits, *lengths)
    assert taken(peer, *[peer.sealed(data(peer.tsn, b"once", flags=7))] * 100) == [b"once"]
    peer.tsn += 1
    echoes(peer)
    other.tell(chunk(ABORT))
    other.close()


def other_keys(peer):
    """Section 6.3: "an endpoint with no shared key [...] MUST silently discard all authenticated chunks"."""
    made = [plain(peer, auth(os.urandom(20), key=key), *closing(peer)) for key in (*range(1, 65_536, 1009), 65_535)]
    silent(peer, "with keys that are not there", *made)


def other_algorithms(peer):
    """Section 6.3: "an ERROR chunk SHOULD be sent with the error cause defined in Section 4.1"."""
    for algorithm, length in ((0, 20), (2, 16), (3, 32), (65_535, 20)):
        found = peer.answers(raw=[plain(peer, auth(os.urandom(length), algorithm), *closing(peer))])
        causes = [cause for kind, _, body in found if kind == ERROR for cause in parameters_of(body)]
        assert causes == [(UNSUPPORTED_HMAC, struct.pack(">H", algorithm))], (algorithm, found)
        assert not {SACK, ABORT} & {kind for kind, _, _ in found}, found
        echoes(peer)


def twice(peer):
    """Section 5.1: it "MUST NOT appear more than once". The first one counts."""
    bad, made = auth(os.urandom(20)), closing(peer)
    sound = peer.sealed(*made)[12:]
    silent(peer, "behind a wrong one", plain(peer, bad, sound), plain(peer, *[bad] * 40, sound))
    assert taken(peer, peer.sealed(bad, data(peer.tsn, b"behind two", flags=7))) == [b"behind two"]
    peer.tsn += 1


def restarted(peer):
    """Section 6.3: with COOKIE ECHO chunks that must be authenticated an attacker cannot restart an association, though
    he sees all its packets, also if he offers less than the peer did. (Who is on the way from the beginning can:
    docs/security.md.)"""
    kinds = (RANDOM, CHUNKS, HMAC_ALGO)
    for without in itertools.chain.from_iterable(itertools.combinations(kinds, n) for n in range(4)):
        for tag in (peer.tag, peer.tag ^ 1):
            own, peer.tag = peer.tag, tag
            peer.send(peer.init(peer.parameters(without)), tag=0)
            peer.tag = own
            ack = peer.expect(INIT_ACK)
            theirs, echo = struct.unpack_from(">I", ack)[0], chunk(COOKIE_ECHO, peer.find(ack[16:], 7))
            peer.send(echo, tag=theirs)
            peer.send(echo, data(peer.tsn, b"of the restarted", flags=7), tag=theirs)
            peer.send_raw(peer.sealed(echo, tag=theirs, key=b"guessed"))
            found = [kind for kind, _, _ in peer.answers()]
            assert not {COOKIE_ACK, DATA, ABORT} & set(found), (without, found)
            echoes(peer)
    print("    an INIT with less, and its cookie: no restart")


def half_offered():
    """Section 6.1: "the association MUST be aborted", with Protocol Violation; so are lists that none can be."""
    random, algorithms = parameter(RANDOM, os.urandom(32)), parameter(HMAC_ALGO, struct.pack(">H", 1))
    for wrong in (parameter(RANDOM, os.urandom(31)) + algorithms, parameter(RANDOM, b"") + algorithms,
                  random * 2 + algorithms, random + algorithms + parameter(CHUNKS, bytes(60_000)),
                  *[random + parameter(HMAC_ALGO, one) for one in (b"\0\3", b"", b"\0\1" * 30_000)]):
        stranger = Peer()
        stranger.send(stranger.init(wrong), tag=0)
        causes = [cause for cause, _ in parameters_of(stranger.expect(ABORT))]
        assert causes == [PROTOCOL_VIOLATION], causes
        stranger.close()


def without_agreement():
    """As if AUTH were not known: its type says that nothing behind it is processed, and nothing is reported (RFC 9260
    section 3.2)."""
    peer = Peer().connect()
    found = peer.answers(*[auth(os.urandom(20))] * 3, data(peer.tsn, b"behind", flags=7), chunk(ABORT))
    assert not [kind for kind, _, _ in found if kind != HEARTBEAT], found
    peer.message(b"without any")
    assert peer.expect(DATA)[12:] == b"without any"
    peer.send(chunk(ABORT))
    peer.close()


def flood(peer):
    """Each costs an HMAC, and no more."""
    payload = data(peer.tsn, bytes(1300), flags=7)
    made = [plain(peer, auth(os.urandom(20), key=n % 3 and n), payload) for n in range(100)]
    drawn = peer.flood(made, FLOOD, chunk(HEARTBEAT, parameter(1, b"in a flood......")))
    assert len(drawn) < 5, drawn[:10]
    echoes(peer)
    return FLOOD


def play(victim):
    peer = Signed().call()
    echoes(peer)
    for step in (unauthenticated, forged, other_keys, other_algorithms, twice, restarted):
        step(peer)
    half_offered()
    without_agreement()
    packets = flood(peer)
    peer.tell(chunk(ABORT))
    peer.close()
    return packets


main(play, victims=(RUN,), memory=8, most=16, cpu=4, honest=lambda: Signed(own="127.0.0.50").call(), program=SIGNED)
