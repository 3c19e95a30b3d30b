"""Another user puts a socket where the engine's was, in a folder that anybody may write to, and answers
with frames of odd lengths. Root's program must not talk to it; and whoever answers, no length is believed."""
import os
import socket
import struct
import subprocess
import sys
import tempfile

from attack import TRESSE

NOBODY = 65534
CLIENT = """
import errno, socket, sys
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
    s.setblocking(False)
    # The first frames may be there already.
    print(errno.errorcode.get(s.connect_ex(("127.0.0.1", 5001))))
    for _ in range(300):
        try:
            got = s.recv_into(bytearray(10), 10)
            assert 0 <= got <= 10, got
        except OSError as error:
            print(errno.errorcode[error.errno])
except OSError as error:
    print("refused", errno.errorcode[error.errno])
"""


def serve(listener, frames):
    """An engine that agrees to everything and then sends these frames to the socket."""
    keep = []
    while True:
        conn, _ = listener.accept()
        try:
            request = conn.recv(65536)
            conn.send(struct.pack("<iq", 0, 1) + b"\0" * 4)
            if request[4:6] == b"\1\0":
                # A new socket.
                for frame in frames:
                    conn.send(frame)
                keep.append(conn)
        except OSError:
            pass  # It was not trusted.


def client(folder, owner):
    """What a program of root says whose engine is another process's of this user."""
    path = f"{folder}/engine"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    os.chmod(path, 0o777)
    frames = [b"\1" * length for length in range(1, 65)]
    frames += [struct.pack("<BB", 1, 1) + bytes(18) + struct.pack("<I", length) + bytes(40) + b"x" * 20
               for length in (0, 1, 19, 21, 1 << 31, (1 << 32) - 1)]
    child = os.fork()
    if child == 0:
        try:
            os.setuid(owner)
            listener.listen(64)
            serve(listener, frames)
        finally:
            os._exit(0)
    listener.close()
    library = os.path.join(os.path.dirname(TRESSE), "libtresse_preload.so")
    environment = dict(os.environ, LD_PRELOAD=library, TRESSE_ENGINE=path)
    try:
        done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, timeout=30,
                              capture_output=True, text=True)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.unlink(path)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o777)
    said = client(folder, NOBODY)
    assert said[0] == "refused EACCES", said
    said = client(folder, 0)
    assert "EPROTO" in said, said
    # The folder of a real engine, whatever the umask.
    script = 'umask 0; exec "$0" run --udp-port 0 -- sh -c \'stat -c %a "$(dirname "$TRESSE_ENGINE")"\''
    mode = subprocess.run(["sh", "-c", script, TRESSE], capture_output=True, text=True, timeout=30,
                          env=dict(os.environ, TMPDIR=folder))
    assert mode.stdout.strip() == "700", mode
print("  another user's engine is refused, odd frames are errors, the folder is private")
