"""Folders of engines among the temporary files, which all users and containers may share: that of a live
engine stays although its process cannot be seen, and what others put there costs nothing."""
import os
import resource
import subprocess
import sys
import tempfile
import time

from attack import TRESSE

NOBODY = 65534


def folders(place):
    return {name for name in os.listdir(place) if name.startswith("tresse-run-")}


with tempfile.TemporaryDirectory() as place:
    os.chmod(place, 0o1777)
    environment = dict(os.environ, TMPDIR=place)
    run = [TRESSE, "run", "--udp-port", "0", "--"]
    live = subprocess.Popen([*run, "sleep", "60"], env=environment)
    try:
        end = time.monotonic() + 30
        while not any(os.path.exists(f"{place}/{name}/engine") for name in folders(place)):
            assert time.monotonic() < end, "no engine"
            time.sleep(0.01)
        before = folders(place)
        other = ["unshare", "--pid", "--fork", "--mount-proc", *run, "true"]
        subprocess.run(other, env=environment, check=True, timeout=30)
        assert folders(place) == before, "the folder of a live engine was removed"
        # Nobody's folders, and a link.
        for name, target in [("zero", "/dev/zero"), ("full", "/dev/full")]:
            os.mkdir(f"{place}/tresse-run-1-{name}")
            os.symlink(target, f"{place}/tresse-run-1-{name}/metrics")
            os.chown(f"{place}/tresse-run-1-{name}", NOBODY, NOBODY)
        os.mkfifo(f"{place}/tresse-run-1-zero/fifo")
        os.symlink(f"{place}/tresse-run-1-zero", f"{place}/tresse-run-1-link")
        top = subprocess.run([TRESSE, "top", "--once"], env=environment, timeout=30,
                             capture_output=True, text=True)
        assert top.returncode == 1 and "nobody serves metrics" in top.stderr, top
    finally:
        live.kill()
        live.wait()
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
assert most < 200, f"{most} MB"
print(f"  a live engine's folder stays, foreign ones are not read; {most:.0f} MB at the most")
