"""Text of strangers with sequences that a terminal obeys: in an ABORT, in a log file, in metrics."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from attack import TRESSE
from sctp import ABORT, COOKIE_ACK, COOKIE_ECHO, INIT, INIT_ACK, chunk, chunks_of, packet, parameter

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b6n\rgone\u202e"


def harmless(what, *command):
    done = subprocess.run([TRESSE, *command], capture_output=True, timeout=30)
    text = done.stdout.decode() + done.stderr.decode()
    for character in "\x1b\x07\x9b\r\u202e":
        assert character not in text, f"{what}: {text!r}"
    return text


def aborter(server):
    """Opens an association with whoever calls, and aborts it with a text."""
    while True:
        datagram, sender = server.recvfrom(65536)
        source, own = struct.unpack_from(">HH", datagram)
        for kind, _, body in chunks_of(datagram):
            if kind == INIT:
                tag = struct.unpack_from(">I", body)[0]
                back = struct.pack(">IIHHI", 9, 65536, 10, 10, 1) + parameter(7, b"cookie")
                server.sendto(packet(own, tag, [chunk(INIT_ACK, back)], source), sender)
            elif kind == COOKIE_ECHO:
                reason = parameter(12, EVIL.encode())
                answers = [chunk(COOKIE_ACK), chunk(ABORT, reason)]
                server.sendto(packet(own, tag, answers, source), sender)


def metrics(listener):
    while True:
        conn, _ = listener.accept()
        conn.recv(65536)
        counts = {EVIL: 1}
        body = json.dumps({"tresse": EVIL, "process": 1, "uptime_s": 1, "local": [], "associations": [],
                           "endpoint": counts, "totals": counts, "retransmitted_chunks": counts,
                           "lost_chunks": counts, "carrier": counts, "observers": counts, "omitted": 0})
        conn.sendall(f"HTTP/1.1 200 OK\r\n\r\n{body}".encode())
        conn.close()


def threaded(function, argument):
    threading.Thread(target=function, args=[argument], daemon=True).start()


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 9899))
threaded(aborter, server)
text = harmless("an ABORT", "perf", "client", "127.0.0.1", "--bytes", "1k")
assert "abort" in text.lower(), text
harmless("an ABORT in the log", "perf", "client", "127.0.0.1", "--bytes", "1k", "--log", "debug")
listener = socket.create_server(("127.0.0.1", 9464))
threaded(metrics, listener)
harmless("metrics", "top", "--once", "9464", "--interval", "50ms")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "log.sqlog")
    sent = {"remote": "192.0.2.1:5", "verification_tag": 7, "chunks": []}
    sent["chunks"].append({"chunk_type": "DATA", "tsn": 1, "stream_id": 0, "stream_sequence_number": 0,
                           "ppid": 0, "unordered": False, "beginning": True, "ending": True,
                           "user_data_length": 4, "length": 20})
    records = [{"trace": {"common_fields": {"local_port": 1, "remote_port": 2}}},
               {"time": 1, "name": "sctp:packet_sent", "data": sent},
               {"time": 2, "name": "sctp:chunk_lost", "data": {"tsn": 1, "trigger": EVIL}}]
    with open(path, "w") as file:
        file.writelines("\x1e" + json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    assert "gone" in harmless("a log", "trace", "--list", path)
    harmless("a log", "trace", path)
    harmless("the name of a file", "trace", os.path.join(folder, EVIL))
print("  nothing that a terminal obeys was printed")
