"""What attacks share: victims, what they may use, and whether they still serve others.

An attack is a file with a text that says what it does, and `main(play, LIMITS, ...)` at its end. `run`
plays it in a network namespace of its own, against each of its victims: `perf` (`tresse perf server`), `run`
(an echo server in Python under `tresse run`; the engine is measured), `lib` (one in C with libtresse) and `rust` (one with
the library of Rust, for what has no socket option).

Limits are what the victim may use because of the attack: megabytes of resident memory more than before,
at the end and at the most, and seconds of its processor's time. They hold on a busy machine, on which
everything takes longer but costs the same.

With `honest` an association goes on beside the attack: each of its messages must come back, and nothing else.
"""
import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time

import sctp

TRESSE = os.environ["TRESSE"]
PERF, RUN, LIB, RUST = "perf", "run", "lib", "rust"
HERE = os.path.dirname(os.path.abspath(__file__))

ECHO = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, 132)
s.bind(("0.0.0.0", {sctp.SCTP_PORT})); s.listen(100)
while True:
    try:
        message, sender = s.recvfrom(1 << 17)
        s.sendto(message, socket.MSG_DONTWAIT, sender)
    except OSError:
        pass
"""


def with_options(*options):
    """The same with socket options set, as (number, value)."""
    lines = "".join(f"s.setsockopt(132, {number}, {value!r})\n" for number, value in options)
    return ECHO.replace("s.bind", lines + "s.bind")


ON = bytes(4) + b"\1\0\0\0"
# For peers whose addresses change (SCTP_AUTH_SUPPORTED, SCTP_ASCONF_SUPPORTED).
MOVED = with_options((129, ON), (128, ON))
# With SCTP_ECN_SUPPORTED, with SCTP_FRAGMENT_INTERLEAVE and SCTP_INTERLEAVING_SUPPORTED, with SCTP_PLPMTUD_PROBE_INTERVAL.
ECN = with_options((130, ON))
INTERLEAVED = (18, struct.pack("=i", 1)), (125, ON), (2, struct.pack("=HHHH", 10, 65535, 0, 0))
INTERLEAVING = with_options(*INTERLEAVED)
SEARCHING = with_options((133, struct.pack("=i4x128sI4x", 0, b"\2", 5000)))
# The second of these with SCTP_RECONFIG_SUPPORTED and all of SCTP_ENABLE_STREAM_RESET.
RESETTING = with_options(*INTERLEAVED, (117, ON), (118, bytes(4) + b"\7\0\0\0"))
# With SCTP_AUTH_SUPPORTED, and SCTP_AUTH_CHUNK for these.
SIGNED = with_options((129, ON), *[(21, bytes([kind])) for kind in
                                   (sctp.DATA, sctp.ABORT, sctp.SHUTDOWN, sctp.COOKIE_ECHO)])
# Reads nothing, and has asked to be told of everything (SCTP_EVENT).
ASLEEP = f"""
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, 132)
for kind in range(0x8001, 0x8005):
    s.setsockopt(132, 127, struct.pack("=iHBx", 0, kind, 1))
s.bind(("0.0.0.0", {sctp.SCTP_PORT})); s.listen(100)
time.sleep(1000)
"""


def beside():
    """An honest peer, at an address of its own."""
    return sctp.Peer(own="127.0.0.50").connect()


class Victim:
    """A process that is attacked."""

    def __init__(self, kind, program=ECHO, options=()):
        self.kind, self.answers = kind, kind != PERF and program != ASLEEP
        port = str(sctp.UDP_PORT)
        command = {
            PERF: [TRESSE, "perf", "server", "--listen", f"0.0.0.0:{port}", *options],
            RUN: [TRESSE, "run", "--udp-port", port, *options, "--", sys.executable, "-c", program],
            LIB: [os.environ.get("ECHO_SERVER", ""), str(sctp.SCTP_PORT), port],
            RUST: [os.environ.get("RUST_ECHO_SERVER", ""), str(sctp.SCTP_PORT), port],
        }[kind]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.serves(30)
        self.cpu_before = self.cpu()
        self.memory_before = self.memory()

    def serves(self, timeout=10):
        """Whether it does what it is there for, for a peer with good manners."""
        end = time.monotonic() + timeout
        while True:
            peer = sctp.Peer()
            try:
                peer.connect(timeout=2)
                if self.answers:
                    peer.message(b"are you there?")
                    peer.expect(sctp.DATA, 2)
                peer.send(sctp.chunk(sctp.ABORT))
                return peer.close()
            except AssertionError:
                peer.close()
                assert self.process.poll() is None, f"{self.kind} has ended: {self.process.poll()}"
                assert time.monotonic() < end, f"{self.kind} does not serve others any more"

    def status(self, name):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
        raise AssertionError(f"no {name}: {self.kind} has ended")

    def memory(self):
        """Megabytes that it has."""
        return self.status("VmRSS")

    def most_memory(self):
        return self.status("VmHWM")

    def cpu(self):
        """Seconds of the processor."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cost(self):
        """What it has used since it was started: megabytes, at the most, and seconds."""
        before = self.memory_before
        return self.memory() - before, self.most_memory() - before, self.cpu() - self.cpu_before

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Honest:
    """An association that goes on while the victim is attacked, in a thread of its own: one message at a time, each of
    which has to come back as it was."""
    # Seconds until a message is sent again, and until it has failed.
    AGAIN, PATIENCE = 0.5, 20.0

    def __init__(self, call):
        self.peer, self.over, self.failed, self.echoes = call(), False, None, 0
        self.last = self.peer.their_tsn - 1
        self.thread = threading.Thread(target=self.talk, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.over = True
        self.thread.join(2 * self.PATIENCE)
        self.peer.tell(sctp.chunk(sctp.ABORT))
        self.peer.close()
        if kind is None:
            assert self.failed is None, f"the honest beside: {self.failed}"
            assert self.echoes > 5, f"the honest beside got {self.echoes} echoes"
            print(f"    {self.echoes} messages of the honest beside came back")

    def talk(self):
        try:
            while not self.over:
                self.echo(b"honest message %d" % self.echoes)
                self.echoes += 1
                time.sleep(0.002)
        except Exception as error:
            self.failed = error or "no echo"

    def echo(self, words):
        peer = self.peer
        message = sctp.data(peer.tsn, words, ssn=self.echoes & 0xFFFF)
        peer.tsn += 1
        end = time.monotonic() + self.PATIENCE
        while time.monotonic() < end:
            peer.tell(message)
            again = time.monotonic() + self.AGAIN
            while (left := again - time.monotonic()) > 0:
                for kind, _, body in sctp.chunks_of(peer.receive(left) or b""):
                    if self.is_echo(kind, body, words):
                        return
        raise AssertionError(f"no echo of message {self.echoes} in {self.PATIENCE} s")

    def is_echo(self, kind, body, words):
        """Whether this chunk is what is waited for. Nothing else may come that is new."""
        assert kind not in (sctp.ABORT, sctp.SHUTDOWN), "it was ended"
        if kind == sctp.HEARTBEAT:
            self.peer.tell(sctp.chunk(sctp.HEARTBEAT_ACK, body))
        if kind != sctp.DATA:
            return False
        tsn, text = struct.unpack_from(">I", body)[0], body[12:]
        new = tsn == self.last + 1 & 0xFFFFFFFF
        if new:
            assert text == words, f"{text[:40]} instead of {words}"
            self.last = tsn
        self.peer.tell(sctp.sack(self.last))
        return new


def check(name, value, limit, unit):
    word = "" if value <= limit else "  TOO MUCH"
    print(f"    {name}: {value:.2f} {unit} of {limit}{word}", flush=True)
    return value <= limit


def main(play, victims=(PERF, RUN, LIB), memory=32, most=64, cpu=5.0, honest=None, **more):
    """Plays an attack against each victim; `play` may return how many packets it sent. `honest` opens the association
    beside it, with those victims that answer."""
    good = True
    for kind in victims:
        victim = Victim(kind, **more)
        try:
            with Honest(honest) if honest and victim.answers else contextlib.nullcontext():
                packets = play(victim)
            victim.serves()
            now, peak, seconds = victim.cost()
            print(f"  {kind}" + (f", {packets} packets" if packets else ""))
            good &= check("memory left", now, memory, "MB")
            good &= check("memory at the most", peak, most, "MB")
            good &= check("processor", seconds, cpu, "s")
        finally:
            victim.end()
    sys.exit(0 if good else 1)
