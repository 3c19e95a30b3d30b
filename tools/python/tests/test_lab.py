"""Experiments, profiles, links and captures."""

import json
import signal
import subprocess
import sys
import time

import pytest
import tresse


def test_an_experiment_runs_and_its_tables_have_units(tmp_path):
    experiment = tresse.Experiment("hurtig/fig2")
    result = experiment.run(tmp_path)
    assert (result.made, result.stored, result.failures) == (experiment.runs, 0, [])
    rows = result.table()
    assert tresse.units(rows)["mtt_ms"] == "ms"
    frame = result.to_pandas()
    assert len(frame) == rows.num_rows > 0 and frame.attrs["units"]["bandwidth_kbps"] == "kbit/s"
    # The claim of §4.1, from the data itself.
    lost = frame[frame.dropped_tsn.notna()].groupby("series").mtt_ms.mean()
    reduction = 100 * (1 - lost["Early Retransmit"] / lost["Standard"])
    published = {row["what"]: row for row in result.published.to_pylist()}
    claim = published["Average reduction of MTT by Early Retransmit"]
    assert claim["published"] == 41 and claim["verdict"] == "agrees"
    assert claim["ours"] == pytest.approx(reduction, abs=1e-6)
    assert result.page.read_text().startswith("<!") and all(p.exists() for p in result.plots)
    assert "hurtig/fig2" in str(result)
    again = experiment.run(tmp_path)
    assert (again.made, again.stored) == (0, experiment.runs)
    with pytest.raises(tresse.LabError, match="there is no table nothing .*reductions, rows"):
        result.table("nothing")


def test_files_texts_and_dictionaries_are_one(tmp_path, small):
    file = tmp_path / "small.toml"
    file.write_text(small)
    one = tresse.Experiment(str(file))
    two = tresse.Experiment.from_toml(small)
    three = tresse.Experiment.from_dict(two.definition)
    tables = [e.run(tmp_path / str(n)).table().to_pylist() for n, e in enumerate([one, two, three])]
    assert tables[0] == tables[1] == tables[2] != []


def test_changes_make_another_experiment(small):
    experiment = tresse.Experiment.from_toml(small)
    runs = experiment.runs
    changed = experiment.with_profile("tresse").set({"topology.delay_ms": [5, 10, 20]}).with_seed(3)
    assert (experiment.runs, changed.runs) == (runs, 2 * 3 * runs)
    assert experiment.parameters == () and changed.seed == 3
    numpy = pytest.importorskip("numpy")
    assert experiment.set({"topology.delay_ms": [numpy.float64(5)]}).runs == runs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tresse.Experiment("hurtig/fig22"), "did you mean hurtig/fig2"),
        (lambda: tresse.Experiment("hurtig/fig2").set({"rto.mim_ms": 1}), "rto.mim_ms"),
        (lambda: tresse.Experiment("hurtig/fig2").with_profile("tress"), "tress"),
        (lambda: tresse.Experiment("hurtig/fig2").set({"rto.min_ms": object()}), "no value"),
        (lambda: tresse.Experiment.from_toml("id = 3"), "id"),
        (lambda: tresse.Experiment.from_dict({"id": "a/b", "colour": 1}), "colour"),
        (lambda: tresse.Profile("rfc926"), "rfc926"),
        (lambda: tresse.Link(bandwith_kbps=1), "bandwith_kbps"),
        (lambda: tresse.Link(loss=2), "loss"),
        (lambda: tresse.Link().carry([(5.0, 10), (1.0, 10)]), "ascending"),
    ],
)
def test_what_is_wrong_is_one_line(make, message):
    with pytest.raises(tresse.LabError) as error:
        make()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_sweep_is_one_table(tmp_path, small):
    experiment = tresse.Experiment.from_toml(small)
    table = tresse.sweep(experiment, {"rto.min_ms": [200, 1000], "sack.delay_ms": [0]}, out=tmp_path)
    assert table.column_names[:2] == ["rto.min_ms", "sack.delay_ms"]
    assert tresse.units(table)["rto.min_ms"] == "ms"
    frame = table.to_pandas()
    slowest = frame.groupby("rto.min_ms").mtt_ms.max()
    assert slowest[200] < slowest[1000]


def test_profiles_tell_their_parameters():
    assert {"rfc9260", "tresse"} <= tresse.profiles().keys()
    standard = tresse.Profile("rfc9260")
    assert standard.parameters["rto"]["min_ms"] == 1000
    quick = standard.set({"rto.min_ms": 300})
    assert quick.differs_from(standard) == {"rto.min_ms": (300.0, 1000.0)}
    later = quick.set({"rto.min_ms": 200}).set({"rto": {"max_ms": 9000}})
    assert later.differs_from(standard).keys() == {"rto.min_ms", "rto.max_ms"}
    assert later.parameters["rto"]["min_ms"] == 200
    with pytest.raises(tresse.LabError):
        standard.set({"rto.min_ms = 5\nrto.max_ms": 9000})
    assert "rack.enabled" in standard.differs_from(tresse.Profile("tresse"))


def test_a_link_drops_delays_and_counts():
    link = tresse.Link(bandwidth_kbps=1000, delay_ms=10, queue_packets=2)
    carried = link.carry((0.0, 1250) for _ in range(5))
    assert carried.arrivals["arrived_ms"].to_pylist() == [20, 30, 40]
    assert carried.counts["dropped_queue"] == 2
    assert tresse.units(carried.arrivals)["arrived_ms"] == "ms"
    lossy = [tresse.Link(loss=0.5, seed=seed).carry((t, 100) for t in range(100)) for seed in (1, 1, 2)]
    numbers = [link.arrivals["packet"].to_pylist() for link in lossy]
    assert numbers[0] == numbers[1] != numbers[2] and 30 < len(numbers[0]) < 70


def test_what_is_no_experiment_is_one_line(tmp_path, small):
    path = tmp_path / "small.toml"
    path.write_text(small)
    assert tresse.Experiment(path).runs == tresse.Experiment.from_toml(small).runs
    result = tresse.Experiment(path).run(tmp_path / "out")
    definition = tresse.Experiment.from_toml(small).definition
    with pytest.raises(tresse.LabError, match="not what TOML can say"):
        tresse.Experiment.from_dict({**definition, "seed": float("nan")})
    with pytest.raises(tresse.LabError, match="over a list of values, not over 'abc'"):
        tresse.sweep(tresse.Experiment(path), {"rto.min_ms": "abc"}, out=tmp_path)
    (result.folder / "rows.parquet").write_bytes(b"PAR1")
    (result.folder / "summary.json").write_text("{")
    for read in (result.table, lambda: result.summary):
        with pytest.raises(tresse.LabError, match="is damaged .*: run the experiment again"):
            read()
    nothing = tresse.Link(loss=1.0).carry([(0.0, 100)]).arrivals
    assert nothing.num_rows == 0 and str(nothing.schema.field("arrived_ms").type) == "double"


def test_captures_are_data_frames(tmp_path, small):
    folder = tmp_path / "captures"
    tresse.Experiment.from_toml(small).run(tmp_path, capture=folder)
    sender, receiver = (sorted(folder.rglob(f"*{end}*.pcapng")) for end in ("sender", "receiver"))
    capture = tresse.read_capture(sender[0], receiver=receiver[0])
    again = capture.to_pandas("retransmissions")
    assert len(again) == 1 and again.attrs["units"]["delay_ms"] == "ms"
    directions = capture.directions.to_pandas()
    assert directions.retransmitted.sum() == 1 and capture.totals["associations"] == 1
    with pytest.raises(tresse.TresseError, match="there is no table x; there are: .*sacks"):
        capture.table("x")
    with pytest.raises(tresse.TresseError, match="nowhere.pcap"):
        tresse.read_capture("nowhere.pcap")


def test_ctrl_c_stores_what_is_finished(tmp_path):
    program = (
        "import tresse; e = tresse.Experiment('pedersen/table3.1');"
        "print(e.runs, flush=True); e.run('out', jobs=1)"
    )
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    runs = int(child.stdout.readline())
    stored = tmp_path / "out/pedersen/table3.1/runs.jsonl"
    while not (stored.exists() and stored.stat().st_size > 0):
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    # The run that is under way ends first.
    _, errors = child.communicate(timeout=300)
    if child.returncode == 0:
        pytest.skip("the machine was too quick")
    assert errors.rstrip().endswith("KeyboardInterrupt")
    lines = [json.loads(line) for line in stored.read_text().splitlines()]
    assert 0 < len(lines) < runs


def test_a_process_that_ends_while_it_waits_ends_in_peace():
    program = """
import asyncio, tresse
async def main():
    server = tresse.Endpoint.bind("127.0.0.1:0", port=5001)
    client = tresse.Endpoint.bind("127.0.0.1:0")
    association = await client.connect(f"127.0.0.1:{server.addresses[0][1]}", 5001)
    other = await server.accept()
    waiting = [asyncio.ensure_future(f) for f in (server.accept(), other.recv(), association.closed())]
    for n in range(50):
        await association.send(bytes(1000))
    await asyncio.sleep(0)
asyncio.run(main())
"""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
