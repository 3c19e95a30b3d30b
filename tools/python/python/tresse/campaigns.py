"""Campaigns: several experiments, on this machine or on the workers of a Dask cluster.

A run is decided by its key, a hash of everything that decides its outcome, the source code included. So workers are told
an experiment and keys, and bring results; each is stored as it comes. What is lost with a worker is made by another one,
and what is lost with this process is made when it is started again. Results are the same, byte by byte, as those of
threads on this machine.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Sequence

from . import _native
from ._native import LabError, TresseError
from .lab import Experiment, Result

if TYPE_CHECKING:
    from distributed import Client

#: The most runs of a task: what is lost with a worker.
MOST_RUNS = 200
#: Tasks for each thread of the cluster, if there are as many runs: a quick worker gets more of them.
TASKS_A_THREAD = 8
#: How long a scheduler may be without any worker, in seconds.
TIMEOUT = 30
#: A task whose worker is lost is given to another one this many times: after that it is the task that kills workers.
RETRIES = 5


def campaign(
    experiments: str | Experiment | Iterable[str | Experiment],
    *,
    on: "str | Client | None" = None,
    out: str | Path = "results",
    jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Runs experiments, one after the other, and writes their reports into the folder `out`.

    `on`: a Dask scheduler (`dask://host:8786` or `tcp://host:8786`) or a `distributed.Client`, whose workers have this
    version of the package; its dashboard shows the tasks by experiment. `None`: this machine, with `jobs` threads, one for
    each core by default. `progress` writes lines to standard error.

    Raises `LabError` if a request is wrong, a worker has another version, or runs were lost with one worker after the
    other. What was finished is stored, and another call goes on from there.
    """
    if isinstance(experiments, (str, Experiment)):
        experiments = [experiments]
    plans = [e if isinstance(e, Experiment) else Experiment(e) for e in experiments]
    if on is None:
        return [plan.run(out, jobs=jobs, progress=progress) for plan in plans]
    results = []
    with _client(on) as client:
        _check_versions(client)
        for plan in plans:
            made = _bring(client, plan, Path(out), progress)
            # All that could be made is stored: this writes the report, and makes again what went wrong, to say so.
            result = plan.run(out, jobs=jobs)
            results.append(replace(result, made=made, stored=result.stored - made))
    return results


class _client:
    """A client that is closed in the end only if it was opened here."""

    def __init__(self, on: "str | Client") -> None:
        self._on = on
        self._own: Any = None

    def __enter__(self) -> "Client":
        if not isinstance(self._on, str):
            return self._on
        try:
            from distributed import Client
        except ImportError as missing:
            raise TresseError("a cluster needs Dask: pip install 'tresse[dask]'") from missing
        address = self._on.replace("dask://", "tcp://", 1)
        try:
            self._own = Client(address, timeout="5s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise LabError(f"there is no Dask scheduler at {self._on}: {error}") from error
        return self._own

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.close()


def _version_here() -> str:
    return _native.version()


def _check_versions(client: "Client") -> None:
    ours = _version_here()
    if not client.nthreads():
        _say("the scheduler has no worker yet")
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except Exception as error:  # Of a kind that depends on the version of Dask.
            address = client.scheduler.address if client.scheduler else "ADDRESS"
            raise LabError(f"the scheduler has no worker: start one with `dask worker {address}`") from error
    for worker, theirs in client.run(_version_here, on_error="return").items():
        if isinstance(theirs, BaseException):
            raise LabError(f"the worker {worker} has no package tresse: {theirs}")
        if theirs != ours:
            raise LabError(f"the worker {worker} has {theirs}, this is {ours}: runs would differ")


def bring(
    experiments: Iterable[Experiment],
    on: "str | Client",
    out: str | Path,
    *,
    progress: bool = False,
) -> None:
    """As `campaign` on a cluster, but for the reports: results are only stored. `tresse lab run --on` writes them."""
    with _client(on) as client:
        _check_versions(client)
        for experiment in experiments:
            _bring(client, experiment, Path(out), progress)


def _bring(client: "Client", experiment: Experiment, out: Path, progress: bool) -> int:
    """Has what is missing made, and returns how many runs that were."""
    plan = experiment.plan
    collection = plan.collect(out)
    try:
        missing = collection.missing()
        done, wrong = 0, 0
        for made in _made(client, experiment, missing):
            for _, result, _ in made:
                if result is None:
                    wrong += 1
                else:
                    collection.store(result)
            done += len(made)
            if progress:
                _say(f"{plan.id}: {done} of {len(missing)} runs, {wrong} went wrong")
        return done - wrong
    finally:
        collection.close()


def _made(
    client: "Client", experiment: Experiment, keys: Sequence[str]
) -> Iterator[list[tuple[str, str | None, str | None]]]:
    id = experiment.id
    threads = sum(client.nthreads().values()) or 1
    size = max(1, min(MOST_RUNS, len(keys) // (threads * TASKS_A_THREAD)))
    parts = [list(keys[n : n + size]) for n in range(0, len(keys), size)]
    futures = [
        client.submit(_make, experiment, part, _version_here(), key=_name(id, part), pure=False, retries=RETRIES)
        for part in parts
    ]
    try:
        for future, made in _as_completed(client, futures):
            if future.status != "finished":
                # What it raised, or that worker after worker was lost with it; nothing if the scheduler has gone.
                error = future.exception() if future.status == "error" else None
                lost = "the scheduler was lost: what was finished is stored, and another call goes on from there"
                raise LabError(f"{id}: {lost if error is None else _line(error)}")
            yield made
            future.release()
    finally:
        client.cancel(futures)


def _as_completed(client: "Client", futures: list[Any]) -> Iterator[tuple[Any, Any]]:
    from distributed import as_completed

    # Not every client is the default one, which it would ask for its loop.
    return iter(as_completed(futures, loop=client.loop, with_results=True, raise_errors=False))


def _name(id: str, keys: Sequence[str]) -> str:
    """The name of a task: what stands before the hash is how the dashboard groups them."""
    return f"{id.replace('-', '_')}-{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:32]}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _make(
    experiment: Experiment, keys: list[str], version: str
) -> list[tuple[str, str | None, str | None]]:
    """What a worker does. It does not need the experiment's file."""
    if _native.version() != version:  # It came later than the others, which were asked.
        raise LabError(f"a worker has {_native.version()}, this is {version}: runs would differ")
    return experiment.plan.make(keys)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
