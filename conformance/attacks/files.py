"""Captures and logs that cost their reader a thousand times what they weigh."""
import gzip
import os
import resource
import struct
import subprocess
import sys
import tempfile

from attack import TRESSE, check
from sctp import INIT, chunk, data, packet

HEAD = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)


def record(n, made):
    ip = struct.pack(">BBHIBBH", 0x45, 0, 20 + len(made), 0, 64, 132, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    return struct.pack("<IIII", n // 1000, n % 1000, 20 + len(made), 20 + len(made)) + ip + made


def capture(packets):
    return HEAD + b"".join(record(n, made) for n, made in enumerate(packets))


def init(tag):
    return chunk(INIT, struct.pack(">IIHHI", tag, 65536, 1, 1, 1))


def log(record):
    head = '\x1e{"trace":{"common_fields":{"local_port":1,"remote_port":2}}}\n'
    return gzip.compress((head + record).encode())


FILES = {
    "far.pcap": lambda: capture(packet(5, 7 + n // 50, [data(n * ((1 << 17) - 1), b"x")]) for n in range(200)),
    "flood.pcap": lambda: capture(packet(5, 0, [init(1 + n)]) for n in range(100_000)),
    "loose.pcap": lambda: capture(packet(5, 7, [data(n, b"x", flags=0)]) for n in range(60_000, 0, -1)),
    "deep.sqlog.gz": lambda: log("\x1e[" + '{"":0},' * 2_000_000 + "0]\n"),
    "long.sqlog.gz": lambda: log('\x1e{"a":"' + "x" * 50_000_000 + '"}\n'),
}


def write(path, made):
    """In a process of its own, whose memory would count as the reader's otherwise."""
    child = os.fork()
    if child == 0:
        with open(path, "wb") as file:
            file.write(made())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


# Megabytes and seconds of the processor.
MEMORY, CPU = 256, 8
good = True
with tempfile.TemporaryDirectory() as folder:
    for name, made in FILES.items():
        path = os.path.join(folder, name)
        write(path, made)
        print(f"  {name}, {os.path.getsize(path) / 1000:.1f} kB", flush=True)
        child = subprocess.Popen([TRESSE, "trace", path], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, f"{name}: {status}"
        good &= check("memory at the most", used.ru_maxrss / 1024, MEMORY, "MB")
        good &= check("processor", used.ru_utime + used.ru_stime, CPU, "s")
sys.exit(0 if good else 1)
