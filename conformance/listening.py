#!/usr/bin/env python3
"""Waits until somebody listens on a port. An INIT is sent until an INIT ACK answers it, which leaves
nothing behind at the listener (RFC 9260 section 5.1).
usage: listening.py ADDRESS PORT[/tcp] [UDP_PORT]     (as root if neither); status 1 after 60 s
"""
import socket
import struct
import sys
import time

INIT, INIT_ACK = 1, 2


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def init(port):
    chunk = struct.pack(">BBHIIHHI", INIT, 0, 20, 1, 65536, 1, 1, 1)
    ports_and_tag = struct.pack(">HHI", 5, port, 0)
    checksum = struct.pack("<I", crc32c(ports_and_tag + bytes(4) + chunk))
    return ports_and_tag + checksum + chunk


def answered(sender, port):
    """Whether an INIT ACK of that port comes within 0.2 s, among whatever else comes."""
    end = time.monotonic() + 0.2
    while (left := end - time.monotonic()) > 0:
        sender.settimeout(left)
        try:
            packet = sender.recv(65536)
        except OSError:
            continue
        if sender.type == socket.SOCK_RAW:
            packet = packet[(packet[0] & 15) * 4:]
        if packet[:2] == struct.pack(">H", port) and packet[12:13] == bytes([INIT_ACK]):
            return True
    return False


def tcp_listens(port):
    listening = [f":{port:04X}", "0A"]
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(table):
            fields = line.split()
            if [fields[1][-5:], fields[3]] == listening:
                return True
    return False


def connection(port, udp_port):
    """A function that tells whether it listens, after 0.2 s at most."""
    if port.endswith("/tcp"):
        return lambda: tcp_listens(int(port.removesuffix("/tcp"))) or time.sleep(0.1)
    if udp_port is None:
        sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)
    else:
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def ask():
        try:
            sender.sendto(init(int(port)), (sys.argv[1], udp_port or 0))
        except OSError:
            pass  # What the last one was refused with.
        return answered(sender, int(port))

    return ask


listens = connection(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
end = time.monotonic() + 60
while not listens():
    if time.monotonic() > end:
        sys.exit(1)
