"""`python -m tresse`: a campaign from the command line."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from ._native import TresseError, version
from .campaigns import bring, campaign
from .lab import Experiment


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tresse", description="Runs experiments.")
    parser.add_argument("experiments", nargs="+", metavar="EXPERIMENT", help="ids, or paths of TOML files")
    parser.add_argument("--on", metavar="URL", help="a Dask scheduler, such as dask://host:8786; default: this machine")
    parser.add_argument("--out", default="results", metavar="DIR", help="folder of all results")
    parser.add_argument("--profile", action="append", default=[], metavar="NAME", help="run this one, too")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a parameter")
    parser.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    parser.add_argument("--for-command", metavar="VERSION", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    try:
        changes = tuple(given.profile), tuple(given.set), given.seed
        if given.for_command not in (None, version()):
            _say(f"tresse: the Python package is {version()}, the command {given.for_command}: they have to be the same")
            return 2
        experiments = [Experiment(name, *changes) for name in given.experiments]
        if given.for_command is not None:
            bring(experiments, given.on, given.out, progress=True)
            return 0
        failed = False
        for result in campaign(experiments, on=given.on, out=given.out, progress=True):
            print(result)
            failed = failed or bool(result.failures)
        return 1 if failed else 0
    except TresseError as error:
        _say(f"tresse: {error}")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(_main())
