#!/usr/bin/env python3
"""Runs the shell blocks of pages, as a reader would type them.

    blocks.py [--in FOLDER] [--root ROOT] [--installed] [--limit SECONDS] [--leave-out WORDS]... PAGE...

Each block of ```sh is one script. A line that ends with `# in one terminal` (or `# in another`, before one that is
`# in a third`) goes on in the background until the block ends; the others must succeed. --root plays in another root,
in a network of its own; --installed has `tresse` where the page has `cargo run --release --`, `cargo lab` or a path into target/.
Lines with WORDS are left out, and said. A block that takes longer than --limit has failed.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

# Who has a page open as root types no password.
PRELUDE = 'set -euo pipefail\ntype sudo >/dev/null 2>&1 || sudo() { "$@"; }\n'


def blocks(text):
    """The shell blocks of a page, each with the number of its first line."""
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, match[1]


def as_installed(script):
    script = re.sub(r"cargo (?:run --release -- |(?=lab ))", "tresse ", script)
    return script.replace("target/release/tresse", "tresse")


def commands(script):
    """Lines, each joined with those that belong to it: those after a backslash, and what is between quotes."""
    whole = ""
    for line in script.splitlines():
        whole += line
        code = re.sub(r"(^|\s)#.*", "", whole)
        here = re.search(r"<<'?(\S+?)'?(\s|$)", whole)
        unfinished = line.endswith("\\") or code.count("'") % 2 or code.count('"') % 2
        if unfinished or (here and line.strip() != here[1]):
            whole += "\n"
            continue
        if whole.strip():
            yield whole
        whole = ""


def play(script, arguments, environment):
    """Runs a block; its lines are one shell's, so that variables stay. None if all of them are left out."""
    lines, left_out = [], []
    background = "one terminal|another" if re.search(r"# in a third$", script, re.M) else "one terminal"
    for command in commands(script):
        if any(words in command for words in arguments.leave_out):
            left_out.append(command.strip())
        elif re.search(rf"#\s*in ({background})(:.*)?$", command):
            body = re.sub(r"\s*#[^#]*$", "", command)
            lines.append(f"({body}) >/tmp/.terminal 2>&1 </dev/null &\nsleep 1\n")
        else:
            lines.append(command + "\n")
    for command in left_out:
        print(f"   left out: {command}")
    if not lines:
        return None
    shell = ["bash", "-c", PRELUDE + "".join(lines)]
    if arguments.root:
        inside = f'cd "{arguments.folder}"\n' + shell[2]
        # With an end of this process, everything in the new namespaces ends.
        shell = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c",
                 'ip link set lo up; mount -t proc proc "$0/proc"; exec chroot "$0" bash -c "$1"',
                 arguments.root, inside]
    process = subprocess.Popen(shell, cwd=None if arguments.root else arguments.folder, env=environment,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        status = process.wait(arguments.limit)
    except subprocess.TimeoutExpired:
        status = f"none within {arguments.limit} s"
    # What is in the background.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    if status != 0:
        print(f"   FAILED, status {status}")
    return status == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--in", dest="folder", default=".", help="where it is played")
    parser.add_argument("--root", help="another root; the folder is one in it")
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--leave-out", action="append", default=[], metavar="WORDS")
    arguments = parser.parse_args()
    environment = dict(os.environ)
    if arguments.root:
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    played = failed = 0
    for page in arguments.pages:
        for line, script in blocks(page.read_text()):
            print(f"-- {page}:{line}", flush=True)
            start = time.monotonic()
            script = as_installed(script) if arguments.installed else script
            good = play(script, arguments, environment)
            if good is None:
                continue
            played, failed = played + 1, failed + (not good)
            print(f"   {time.monotonic() - start:.1f} s", flush=True)
    if not played:
        print("there is no block to play")
        return 1
    print(f"{played - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
