#!/usr/bin/env python3
"""Plays a newcomer: a fresh Debian, Rust, a checkout, and what the pages say, each step with its time.

    newcomer.py [--in FOLDER] [--suite SUITE] [STEP...]

Debian's packages come from where this machine has its own. Rust and what cargo has fetched before are this machine's:
the registry is warm. Without STEP all are played but those that take longest (`tests`, `docker`), which are played by
name, or with `all`. With --in the root is made in FOLDER and stays there, and a second call goes on in it. Needs root
and mmdebstrap. CARGO_PROFILE_RELEASE_OPT_LEVEL=0 rehearses it with quick builds. It ends with a table; the status is 1
if a step failed.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import blocks
import dockerfile

# Seconds after which a step is ended.
LIMIT_S = 2400
HOME = "/root"
CHECKOUT = f"{HOME}/tresse"
# What README.md asks for, besides Rust.
NEEDED = "ca-certificates,gcc,git,libc6-dev"
# What pages name, and what makes packages.
NAMED = "dpkg-dev iperf3 iproute2 pkg-config python3-venv"
# A root of its own has the kernel's file systems, this machine's Rust, and the network if $3 says so.
ENTER = """
mount -t proc proc "$0/proc"
mount -t tmpfs tmpfs "$0/dev/shm"
[ "$3" = network ] || { mount -t sysfs sysfs "$0/sys"; ip link set lo up; }
mount --bind "$4" "$0/root/.rustup"
mount --bind "$5" "$0/root/.cargo/registry"
exec chroot "$0" bash -euo pipefail -c 'cd "$0"; eval "$1"' "$1" "$2"
"""


class Newcomer:
    """One root, and what is done in it."""

    def __init__(self, root, suite):
        self.root, self.suite = root, suite
        cargo = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
        self.cargo_bin, self.registry = cargo / "bin", cargo / "registry"
        self.rustup = os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))

    def inside(self, script, network=False, folder=CHECKOUT):
        """Runs a script in the root; without `network` in one of its own, so that no port is taken."""
        apart = [] if network else ["--net"]
        command = ["unshare", "--mount", "--pid", *apart, "--fork", "--kill-child", "sh", "-ec", ENTER, str(self.root),
                   folder, script, "network" if network else "", self.rustup, str(self.registry)]
        environment = dockerfile.ENVIRONMENT | {"PATH": f"{HOME}/.cargo/bin:{dockerfile.ENVIRONMENT['PATH']}",
                                                "HOME": HOME, "CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0",
                                                # pip has authorities of its own otherwise, and not those of this machine.
                                                "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt"}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("CARGO_PROFILE_")}
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=LIMIT_S)

    def play(self, *pages, before="", installed=False, leave_out=(), network=False):
        """Blocks of pages, by the script that is in the checkout, but for commands with these words."""
        options = [f"--limit {LIMIT_S}"] + ["--installed"] * installed + [f"--leave-out '{words}'" for words in leave_out]
        self.inside(f"{before}\nconformance/blocks.py {' '.join(options)} {' '.join(pages)}", network)

    def readme(self, line):
        """A command of README's first block."""
        _, script = next(blocks.blocks(pathlib.Path("README.md").read_text()))
        return re.sub(r"\s+#.*", "", list(blocks.commands(script))[line])

    # The steps, in their order.

    def debian(self):
        """a fresh Debian with gcc, git and libc6-dev"""
        dockerfile.make_root(str(self.root), self.suite, NEEDED)
        # As an installer, or whoever starts a container, leaves it.
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        for folder in (".rustup", ".cargo/bin", ".cargo/registry"):
            (self.root / f"root/{folder}").mkdir(parents=True)
        (self.root / "dev/net").mkdir(exist_ok=True)
        subprocess.run(["mknod", self.root / "dev/net/tun", "c", "10", "200"], check=True)
        # rustup's proxies, and no program that was installed since.
        for name in ("rustup", "cargo", "rustc", "rustdoc"):
            subprocess.run(["cp", "-L", self.cargo_bin / name, self.root / "root/.cargo/bin"], check=True)
        self.inside("update-ca-certificates >/dev/null; cargo --version", network=True, folder="/")

    def checkout(self):
        """a clone of this commit"""
        bundle = self.root / "tmp/tresse.bundle"
        subprocess.run(["git", "bundle", "create", "--quiet", bundle, "HEAD"], check=True)
        self.inside(f"git clone -q /tmp/tresse.bundle {CHECKOUT}; rm /tmp/tresse.bundle", folder=HOME)

    def figure(self):
        """README: from the checkout to the first figure, cold"""
        self.inside(f"{self.readme(0)}; ls results/hurtig/fig2/fig2.svg")

    def tests(self):
        """README: every test, cold"""
        self.inside(self.readme(1))

    def named(self):
        """what pages name besides: iperf3, pkg-config, ..., and cargo-deb"""
        self.inside(f"apt-get -qq update; apt-get -qq install -y --no-install-recommends {NAMED} >/dev/null", network=True, folder=HOME)
        self.inside("cargo install --locked --quiet cargo-deb", network=True, folder=HOME)

    def pages(self):
        """README, each block: the package is built, installed and used"""
        self.play("README.md", before="export PROFILE=release", leave_out=["cargo test"])

    def guides(self):
        """guides and references, each block, with the command that is installed"""
        self.play("docs/install.md", installed=True, leave_out=["packaging/deb"])
        self.inside(f"conformance/guides.sh --limit {LIMIT_S}")

    def commands(self):
        """docs/commands.md and the playground, each block, as written"""
        self.play("docs/commands.md", "docs/playground.md", leave_out=["arena --quick"])

    def wheel(self):
        """the wheel as its page says, its tests, four notebooks, Dask with a worker that is killed"""
        # There is no scheduler at that address.
        self.play("docs/python.md", leave_out=["192.0.2.1"], network=True)
        self.inside("packaging/python --test", network=True)

    def static(self):
        """the static command"""
        self.inside("export PROFILE=release; packaging/static; tar -xzf target/static/*.tar.gz -C /tmp\n"
                    "env -i /tmp/tresse-*-linux/tresse --version", network=True)

    def docker(self):
        """the steps of packaging/Dockerfile, in roots of their own"""
        subprocess.run([sys.executable, "conformance/dockerfile.py", "--build-arg", "PROFILE=release",
                        "packaging/Dockerfile", "--", "lab", "list"], check=True, timeout=LIMIT_S)


LONG = ("tests", "docker")
STEPS = ("debian", "checkout", "figure", "tests", "named", "pages", "guides", "commands", "wheel", "static", "docker")


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", choices=[*STEPS, "all", []],
                        help=", ".join(STEPS) + ", all")
    parser.add_argument("--in", dest="folder", type=pathlib.Path)
    parser.add_argument("--suite", default=platform_suite(), help="Debian's name of it")
    arguments = parser.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    if os.getuid() != 0:
        print("skipped: only root makes a root: run as root")
        return 0
    chosen = arguments.steps or [step for step in STEPS if step not in LONG]
    if "all" in chosen:
        chosen = STEPS
    with tempfile.TemporaryDirectory(prefix="newcomer-") as scratch:
        root = (arguments.folder or pathlib.Path(scratch) / "root").resolve()
        if (root / "etc/debian_version").exists():
            chosen = [step for step in chosen if step != "debian"]
        else:
            chosen = list(dict.fromkeys(["debian", "checkout", *chosen]))
        return play(Newcomer(root, arguments.suite), [step for step in STEPS if step in chosen])


def platform_suite():
    """The Debian of this machine."""
    text = pathlib.Path("/etc/os-release").read_text() if pathlib.Path("/etc/os-release").exists() else ""
    found = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.M)
    return found[1] if found and re.search(r"^ID=debian$", text, re.M) else "bookworm"


def play(newcomer, steps):
    table = []
    for name in steps:
        step = getattr(newcomer, name)
        print(f"== {name}: {step.__doc__}", flush=True)
        start, used = time.monotonic(), processor_s()
        try:
            step()
            result = "passed"
        except (OSError, subprocess.SubprocessError) as error:
            result = "FAILED"
            print(f"{name}: {str(error)[-200:]}", flush=True)
        table.append((name, result, time.monotonic() - start, processor_s() - used, step.__doc__))
        if result == "FAILED" and name in ("debian", "checkout"):
            break
    print(f"\n{'step':10} {'result':7} {'s':>7} {'CPU s':>7}")
    for name, result, real, used, words in table:
        print(f"{name:10} {result:7} {real:7.1f} {used:7.1f}  {words}")
    failed = sum(result == "FAILED" for _, result, *_ in table)
    print(f"{len(table) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
