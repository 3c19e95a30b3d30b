#!/usr/bin/env python3
"""Plays the steps of a Dockerfile where there is no Docker: each stage in a root of its own, made by mmdebstrap.

    dockerfile.py packaging/Dockerfile [--build-arg NAME=VALUE]... [-- COMMAND...]

It knows the instructions that ours has: FROM debian:SUITE-slim, ARG, RUN, WORKDIR, COPY, USER, EXPOSE, ENTRYPOINT and
CMD. The context is what git has of this tree. COMMAND runs in the last stage, after its entry point. Needs root.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}


def instructions(text):
    """Each instruction and what follows it, lines joined, comments gone."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M)
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            word, rest = line.strip().split(None, 1)
            yield word, rest


def inside(root, command, cwd="/", user=None):
    """Runs `command` in `root` with /proc, the host's resolver and its certificates' authorities."""
    enter = 'mount -t proc proc "$0/proc"; exec chroot ' + (f"--userspec={user} " if user else "") + \
        '"$0" sh -c \'cd "$0" && exec "$@"\' "$@"'
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, root, cwd, *command],
                   env=ENVIRONMENT, check=True)


def make_root(folder, suite, packages=None):
    """A fresh Debian with apt, `packages` (a,b,c) and the host's resolver and authorities of certificates."""
    more = [f"--include={packages}"] if packages else []
    # A mirror may be one of some weeks ago.
    more += ['--aptopt=Acquire::Check-Valid-Until "false"']
    subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", *more, suite, folder], check=True)
    shutil.copy("/etc/resolv.conf", f"{folder}/etc/resolv.conf")
    # Authorities that this machine trusts besides.
    own = pathlib.Path("/usr/local/share/ca-certificates")
    if own.is_dir():
        shutil.copytree(own, folder + str(own), dirs_exist_ok=True)


class Builder:
    def __init__(self, scratch, values):
        self.scratch, self.given = scratch, values
        self.stages, self.root = {}, None
        self.values, self.cwd, self.user = {}, "/", None
        self.entry, self.default = [], []

    def expand(self, text):
        return re.sub(r"\$\{(\w+)\}", lambda m: self.values.get(m[1], m[0]), text)

    def step(self, word, rest):
        if word == "ARG":
            name, _, default = rest.partition("=")
            self.values[name] = self.given.get(name, default)
        elif word == "FROM":
            image, _, name = self.expand(rest).partition(" AS ")
            suite = re.fullmatch(r"debian:(\w+)-slim", image)[1]
            self.root, self.cwd, self.user = f"{self.scratch}/{len(self.stages)}", "/", None
            make_root(self.root, suite)
            self.stages[name or len(self.stages)] = self.root
        elif word == "WORKDIR":
            self.cwd = rest
            os.makedirs(self.root + rest, exist_ok=True)
        elif word == "RUN":
            inside(self.root, ["sh", "-ec", self.expand(rest)], self.cwd)
        elif word == "COPY":
            self.copy(rest.split())
        elif word == "USER":
            self.user = rest
        elif word in ("ENTRYPOINT", "CMD"):
            setattr(self, "entry" if word == "ENTRYPOINT" else "default", json.loads(rest))
        elif word != "EXPOSE":
            raise SystemExit(f"{word} is not an instruction that is known here")

    def copy(self, words):
        *options, source, target = words
        if options:
            stage = self.stages[options[0].removeprefix("--from=")]
            subprocess.run(["cp", "-a", f"{stage}{source}/.", self.root + target], check=True)
            return
        os.makedirs(self.root + target, exist_ok=True)
        archive = subprocess.Popen(["git", "archive", "HEAD"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", self.root + target], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            raise SystemExit("git archive failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    values = dict(text.split("=", 1) for text in arguments.build_arg)
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(scratch, values)
        for word, rest in instructions(arguments.file.read_text()):
            start = time.monotonic()
            print(f"-- {word} {rest}", flush=True)
            builder.step(word, rest)
            print(f"   {time.monotonic() - start:.1f} s", flush=True)
        command = builder.entry + (arguments.command or builder.default)
        print(f"-- {' '.join(command)}", flush=True)
        inside(builder.root, command, builder.cwd, builder.user)


if __name__ == "__main__":
    sys.exit(main())
