"""What attacks share: victims, what they may use, and whether they still serve others.

An attack is a file with a text that says what it does, and `main(play, LIMITS, ...)` at its end. `run`
plays it in a network namespace of its own, against each of its victims: `perf` (`tresse perf server`), `run`
(an echo server in Python under `tresse run`; the engine is measured) and `lib` (one in C with libtresse).

Limits are what the victim may use because of the attack: megabytes of resident memory more than before,
at the end and at the most, and seconds of its processor's time. They hold on a busy machine, on which
everything takes longer but costs the same.
"""
import os
import signal
import subprocess
import sys
import time

import sctp

TRESSE = os.environ["TRESSE"]
PERF, RUN, LIB = "perf", "run", "lib"
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
# The same for peers whose addresses change (SCTP_AUTH_SUPPORTED, SCTP_ASCONF_SUPPORTED).
MOVED = ECHO.replace("s.bind", """
for option in (129, 128):
    s.setsockopt(132, option, bytes(4) + b"\\1\\0\\0\\0")
s.bind""")
# With SCTP_ECN_SUPPORTED, with SCTP_FRAGMENT_INTERLEAVE and SCTP_INTERLEAVING_SUPPORTED, with SCTP_PLPMTUD_PROBE_INTERVAL.
ECN = ECHO.replace("s.bind", """
s.setsockopt(132, 130, bytes(4) + b"\\1\\0\\0\\0")
s.bind""")
INTERLEAVING = ECHO.replace("s.bind", """
import struct
s.setsockopt(132, 18, struct.pack("=i", 1))
s.setsockopt(132, 125, struct.pack("=iI", 0, 1))
s.setsockopt(132, 2, struct.pack("=HHHH", 10, 65535, 0, 0))
s.bind""")
SEARCHING = ECHO.replace("s.bind", """
import struct
s.setsockopt(132, 133, struct.pack("=i4x128sI4x", 0, b"\\2", 5000))
s.bind""")
# Reads nothing, and has asked to be told of everything (SCTP_EVENT).
ASLEEP = f"""
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, 132)
for kind in range(0x8001, 0x8005):
    s.setsockopt(132, 127, struct.pack("=iHBx", 0, kind, 1))
s.bind(("0.0.0.0", {sctp.SCTP_PORT})); s.listen(100)
time.sleep(1000)
"""


class Victim:
    """A process that is attacked."""

    def __init__(self, kind, program=ECHO, options=()):
        self.kind, self.answers = kind, kind != PERF and program != ASLEEP
        port = str(sctp.UDP_PORT)
        command = {
            PERF: [TRESSE, "perf", "server", "--listen", f"0.0.0.0:{port}", *options],
            RUN: [TRESSE, "run", "--udp-port", port, *options, "--", sys.executable, "-c", program],
            LIB: [os.environ.get("ECHO_SERVER", ""), str(sctp.SCTP_PORT), port],
        }[kind]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.serves(30)
        self.cpu_before = self.cpu()
        self.memory_before = self.memory()

    def serves(self, patience=10):
        """Whether it does what it is there for, for a peer with good manners."""
        end = time.monotonic() + patience
        while True:
            peer = sctp.Peer()
            try:
                peer.connect(patience=2)
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


def check(name, value, limit, unit):
    word = "" if value <= limit else "  TOO MUCH"
    print(f"    {name}: {value:.2f} {unit} of {limit}{word}", flush=True)
    return value <= limit


def main(play, victims=(PERF, RUN, LIB), memory=32, most=64, cpu=5.0, **more):
    """Plays an attack against each victim; `play` may return how many packets it sent."""
    good = True
    for kind in victims:
        victim = Victim(kind, **more)
        try:
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
