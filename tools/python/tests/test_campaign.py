"""Campaigns on a real Dask scheduler with real worker processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import tresse

distributed = pytest.importorskip("distributed")


def contents(folder):
    """Files of a result, byte by byte; what begins with a dot tells of time."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers with a thread each, all processes of their own."""
    file, children = tmp_path / "scheduler.json", []

    def start(module, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        children.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL))
        return children[-1]

    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    worker = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    workers = [start("dask_worker", *worker) for _ in range(2)]
    client = distributed.Client(scheduler_file=str(file), set_as_default=False)
    client.wait_for_workers(2, timeout=60)
    yield client, workers
    client.close()
    for child in children:
        child.kill()
        child.wait()


def test_results_are_those_of_this_machine_though_a_worker_dies(tmp_path, cluster, small):
    client, workers = cluster
    here, there = tmp_path / "here", tmp_path / "there"
    # Some dozens of tasks.
    many = {"replications.count": 200, "workload.bursts.gap_ms": {"exponential": 300}}
    experiment = tresse.Experiment.from_toml(small).set(many)
    tresse.campaign(experiment, out=here)
    stored = there / experiment.id / "runs.jsonl"

    # A worker of two is killed as soon as something is stored.
    def kill():
        while not (stored.exists() and stored.stat().st_size > 0):
            time.sleep(0.005)
        workers[0].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    (result,) = tresse.campaign(experiment, on=client, out=there)
    killer.join(60)
    assert workers[0].wait(30) == -signal.SIGKILL
    assert (result.made, result.stored, result.failures) == (experiment.runs, 0, [])
    assert contents(there) == contents(here)

    # All of it is stored: nothing is sent to anybody.
    (again,) = tresse.campaign(experiment, on=client, out=there)
    assert (again.made, again.stored) == (0, experiment.runs)


def test_a_campaign_goes_on_where_it_stopped(tmp_path, cluster, small):
    client, _ = cluster
    experiment = tresse.Experiment.from_toml(small).with_profile("tresse").set({"rto.min_ms": 300})
    whole = experiment.run(tmp_path / "whole")
    runs = tmp_path / "part/test/small/runs.jsonl"
    runs.parent.mkdir(parents=True)
    lines = (whole.folder / "runs.jsonl").read_text().splitlines(keepends=True)
    runs.write_text("".join(lines[:5]) + lines[5][:20])
    (result,) = tresse.campaign(experiment, on=client, out=tmp_path / "part")
    assert (result.made, result.stored) == (experiment.runs - 5, 5)
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")


def test_what_is_wrong_is_one_line(tmp_path, monkeypatch, cluster):
    client, _ = cluster
    monkeypatch.setattr(tresse.campaigns, "_version_here", lambda: "tresse 0.0.1 (source 0)")
    # The function goes to the workers by its name: there it is the true one.
    with pytest.raises(tresse.LabError, match="has tresse .*, this is tresse 0.0.1"):
        theirs = client.run(tresse.version)
        monkeypatch.setattr(client, "run", lambda *_, **__: theirs)
        tresse.campaign("hurtig/fig2", on=client, out=tmp_path)
    with pytest.raises(tresse.LabError, match="no Dask scheduler at dask://127.0.0.1:9"):
        tresse.campaign("hurtig/fig2", on="dask://127.0.0.1:9", out=tmp_path)


def test_no_worker_and_no_scheduler_any_more(tmp_path, monkeypatch, cluster, small):
    client, workers = cluster
    for worker in workers:
        worker.kill()
    while client.nthreads():
        time.sleep(0.05)
    monkeypatch.setattr(tresse.campaigns, "TIMEOUT", 1)
    with pytest.raises(tresse.LabError, match="the scheduler has no worker: start one with `dask worker tcp://"):
        tresse.campaign("hurtig/fig2", on=client, out=tmp_path)


def test_the_scheduler_is_lost(tmp_path, cluster, small):
    client, _ = cluster
    experiment = tresse.Experiment.from_toml(small).set({"replications.count": 400})
    stored = tmp_path / experiment.id / "runs.jsonl"

    def kill():
        while not (stored.exists() and stored.stat().st_size > 0):
            time.sleep(0.005)
        with contextlib.suppress(OSError):  # Its answer never comes.
            client.run_on_scheduler(lambda: os._exit(1))

    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(tresse.LabError, match="the scheduler was lost"):
        tresse.campaign(experiment, on=client, out=tmp_path)
    assert stored.stat().st_size > 0


def test_who_comes_later_has_the_same_version(small):
    experiment = tresse.Experiment.from_toml(small)
    with pytest.raises(tresse.LabError, match="a worker has tresse .*, this is tresse 0.0.1"):
        tresse.campaigns._make(experiment, [], "tresse 0.0.1")


def test_the_module_is_a_command(tmp_path, cluster):
    client, _ = cluster
    address = client.scheduler.address.replace("tcp://", "dask://")

    def command(*arguments):
        words = [sys.executable, "-m", "tresse", *arguments]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    done = command("hurtig/fig2", "--on", address, "--set", "rto.min_ms=300", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "hurtig/fig2" in done.stdout and "246 of 246 runs, 0 went wrong" in done.stderr
    assert (tmp_path / "results/hurtig/fig2/index.html").exists()
    for arguments, message in [
        (["hurtig/fig22", "--on", address], "did you mean"),
        (["hurtig/fig2", "--on", address, "--for-command", "tresse 9"], "they have to be the same"),
    ]:
        done = command(*arguments)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_the_command_runs_on_a_cluster(tmp_path, cluster):
    tresse_command = os.environ.get("TRESSE")
    if tresse_command is None:
        pytest.skip("TRESSE names no command of the same version")
    client, _ = cluster
    address = client.scheduler.address.replace("tcp://", "dask://")

    def command(*arguments, **environment):
        words = [tresse_command, "lab", "run", *arguments, "--out", str(tmp_path / "there")]
        env = {**os.environ, "TRESSE_PYTHON": sys.executable, **environment}
        return subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)

    done = command("hurtig/fig2", "hurtig/fig3", "--on", address, "--set", "rto.min_ms=300")
    assert done.returncode == 0, done.stderr
    changed = [tresse.Experiment(name).set({"rto.min_ms": 300}) for name in ("hurtig/fig2", "hurtig/fig3")]
    runs = sum(experiment.runs for experiment in changed)
    assert f"2 experiments: {runs} runs, made elsewhere or stored before" in done.stdout, done.stdout[-400:]
    tresse.campaign(changed, out=tmp_path / "here")
    assert contents(tmp_path / "there").keys() == contents(tmp_path / "here").keys()
    for environment, on, message in [
        ({"TRESSE_PYTHON": "/nowhere/python"}, address, "there is no Python (/nowhere/python)"),
        ({"TRESSE_PYTHON": "/bin/false"}, address, "pip install 'tresse[dask]'"),
        ({}, "dask://127.0.0.1:9", "no Dask scheduler at dask://127.0.0.1:9"),
    ]:
        done = command("hurtig/fig2", "--on", on, **environment)
        assert done.returncode == 2 and message in done.stderr, done.stderr
