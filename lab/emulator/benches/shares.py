#!/usr/bin/env python3
"""Shares of one bottleneck beside the kernel's TCP, in real time through `tresse emulate`.

Four TCP connections and the flow under test begin together and send as much as they can; the flow's share is its
goodput in percent of the mean of the four. A fifth TCP connection in its place shows what a share is on this
machine. Over two paths the flow has two addresses at each end, and both paths lead through the bottleneck.

    TRESSE=target/release/tresse lab/emulator/benches/shares.py [SECONDS [JOBS]]

Prints the table of docs/harm.md. Needs root, Python and iproute2.
"""
import concurrent.futures
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

COMPETITORS = 4
RIGHT, PORT = "10.77.0.2", 5000
RED = "red = { min_threshold = 20.0, max_threshold = 80.0, max_probability = 0.02, packet_bytes = 1500 }"
QUEUES = {"tail drop": "", "RED": ", " + RED}


def sink():
    """Takes what arrives, until it is ended."""
    listener = socket.create_server((RIGHT, PORT))
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=drain, args=(connection,), daemon=True).start()


def drain(connection):
    """Reads to the end and says how much there was."""
    total = 0
    while data := connection.recv(1 << 16):
        total += len(data)
    connection.sendall(str(total).encode())
    connection.close()


def sources(count, seconds, control):
    """Connections that send; prints what arrived of each, in bytes."""
    arrived = []

    def source():
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.connect((RIGHT, PORT))
        # Unsent data must not be sent for long after the end.
        connection.setsockopt(socket.IPPROTO_TCP, 25, 1 << 16)  # TCP_NOTSENT_LOWAT
        connection.settimeout(30)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.send(b"x" * 16384)
        connection.shutdown(socket.SHUT_WR)
        arrived.append(int(connection.recv(100)))

    threads = [threading.Thread(target=source) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"tcp": arrived}))


def play(case, seconds):
    """Mean goodput of the competitors and that of the flow, in Mbit/s."""
    tresse = os.environ.get("TRESSE", "tresse")
    flow, control, queue, bandwidth = case
    me = [sys.executable, os.path.abspath(__file__)]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as links:
        links.write(
            f"seed = 1\n"
            f"forward = {{ bandwidth_kbps = {bandwidth}000, delay_ms = 30, jitter_ms = 0.6,"
            f" queue_packets = 100{QUEUES[queue]} }}\n"
            f"backward = {{ bandwidth_kbps = {bandwidth}000, delay_ms = 30, queue_packets = 100 }}\n"
        )
        links.flush()
        count = COMPETITORS + (flow == "TCP")
        command = [tresse, "emulate", links.name, "--", "right:", *me, "sink"]
        command += ["--", "left:", *me, "sources", str(count), str(seconds), control]
        if flow != "TCP":
            serve = f"exec {tresse} perf server >/dev/null"
            send = f"exec {tresse} perf client {RIGHT} --duration {seconds}s --size 1440 --json"
            if flow == "tresse, two paths":
                address = "ip address add 10.77.0.{}/24 dev link0; "
                serve = address.format(12) + serve
                send = address.format(11) + send + " --paths all --bind 10.77.0.1 --bind 10.77.0.11"
            else:
                send += f" --profile {flow}"
            serve, send = ["sh", "-c", serve], ["sh", "-c", send]
            command += ["--", "right:", *serve, "--", "left:", *send]
        output = subprocess.run(command, check=True, text=True, capture_output=True).stdout
    found = {}
    for line in output.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    rates = [n * 8 / seconds / 1e6 for n in found["tcp"]]
    mean = sum(rates[:COMPETITORS]) / COMPETITORS
    return mean, (rates[COMPETITORS] if flow == "TCP" else found["received"]["goodput_bit_s"] / 1e6)


def main(seconds=60, jobs=4):
    """Plays all cases, and prints a row for each as soon as those before it are there."""
    flows = ["TCP", "rfc9260", "tresse", "tresse, two paths"]
    cases = list(itertools.product(["reno", "cubic"], QUEUES, [10, 50], flows))
    cases = [(flow, control, queue, rate) for control, queue, rate, flow in cases]
    print("| TCP | queue | bottleneck | flow | its goodput | one TCP's | share |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda case: play(case, seconds), cases)
        for (flow, control, queue, rate), (mean, own) in zip(cases, results):
            print(f"| {control} | {queue} | {rate} Mbit/s | {flow} | {own:.2f} Mbit/s | {mean:.2f} Mbit/s"
                  f" | {own / mean * 100:.0f} % |", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sink"]:
            sink()
        case ["sources", count, seconds, control]:
            sources(int(count), int(seconds), control)
        case numbers:
            main(*map(int, numbers))
