"""A peer that authenticates its chunks (RFC 4895) with SHA-1 and the empty key."""
import hashlib
import hmac
import os
import struct

from sctp import AUTH, COOKIE_ECHO, SUPPORTED_EXTENSIONS, Peer, chunk, packet, parameter

RANDOM, CHUNKS, HMAC_ALGO = 0x8002, 0x8003, 0x8004


def auth(mac, algorithm=1, key=0):
    return chunk(AUTH, struct.pack(">HH", key, algorithm) + mac)


def significant(vector):
    return vector.lstrip(b"\0")


class Signed(Peer):
    def __init__(self, *extensions, wanted=(), **how):
        """With these extensions, which are types of chunks; what it wants to be authenticated."""
        super().__init__(**how)
        self.extensions = bytes([*extensions, AUTH])
        self.vectors = [(RANDOM, os.urandom(32)), *[(CHUNKS, bytes(wanted))] * bool(wanted),
                        (HMAC_ALGO, struct.pack(">H", 1))]
        self.key = b""

    def parameters(self, without=()):
        """RANDOM, CHUNKS, HMAC-ALGO, Supported Extensions."""
        kept = [parameter(kind, value) for kind, value in self.vectors if kind not in without]
        return b"".join(kept) + parameter(SUPPORTED_EXTENSIONS, self.extensions)

    def call(self):
        return self.connect(self.parameters())

    def take_offer(self):
        """The association key (section 6.1)."""
        theirs = [(kind, value) for kind in (RANDOM, CHUNKS, HMAC_ALGO)
                  if (value := self.find(self.offered, kind)) is not None]
        vectors = [b"".join(struct.pack(">HH", kind, 4 + len(value)) + value for kind, value in vector)
                   for vector in (self.vectors, theirs)]
        self.key = b"".join(sorted(vectors, key=lambda v: (len(significant(v)), significant(v), len(v))))

    def send_cookie(self, cookie):
        self.take_offer()
        echo = chunk(COOKIE_ECHO, cookie)
        wanted = COOKIE_ECHO in (self.find(self.offered, CHUNKS) or b"")
        self.tell(echo) if wanted else self.send(echo)

    def sealed(self, *chunks, tag=None, key=None, port=None, head=()):
        """A packet whose chunks are authenticated, but for those at its head."""
        body = b"".join(chunks)
        key = self.key if key is None else key
        mac = hmac.new(key, auth(bytes(20)) + body, hashlib.sha1).digest()
        return packet(port or self.port, self.their_tag if tag is None else tag, [*head, auth(mac), body],
                      self.sctp_port)

    def tell(self, *chunks):
        self.send_raw(self.sealed(*chunks))
