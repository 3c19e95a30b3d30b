//! `tresse lab` as a user meets it: output, exit codes, and nothing written when it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tresse"))
        .arg("lab")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line on standard error of a refused request.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let before = fs::read_dir(folder).unwrap().count();
    let output = lab(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("tresse: "), "{error}");
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read_dir(folder).unwrap().count(), before, "{arguments:?} wrote something");
    error
}

#[test]
fn list_names_every_experiment() {
    let temp = tempfile::tempdir().unwrap();
    let output = lab(temp.path(), &["list"]);
    assert!(output.status.success());
    let text = stdout(&output);
    for id in tresse_lab::experiment::ids() {
        assert!(text.contains(id), "{id} is missing in:\n{text}");
    }
    assert!(text.contains("published numbers"));
}

#[cfg(not(feature = "playground"))]
#[test]
fn the_playground_is_built_in_a_checkout_only() {
    let temp = tempfile::tempdir().unwrap();
    let line = refusal(temp.path(), &["playground"]);
    assert!(line.contains("inside a checkout of Tresse"), "{line}");
}

#[test]
fn a_figure_is_run_shown_and_resumed() {
    let temp = tempfile::tempdir().unwrap();
    let hint = refusal(temp.path(), &["show", "hurtig/fig2"]);
    assert!(hint.contains("tresse lab run hurtig/fig2"), "{hint}");

    let output = lab(temp.path(), &["run", "hurtig/fig2"]);
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let page = "results/hurtig/fig2/index.html";
    for expected in ["Ours beside the paper", "41.0 %", "64.0 %", "246 runs in ", page] {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
    assert!(temp.path().join(page).is_file());
    // The README shows one of the plots: what this command makes of it now.
    let plot = fs::read_to_string(temp.path().join("results/hurtig/fig2/fig2.svg")).unwrap();
    let shown = include_str!("../../../docs/fig2.svg");
    assert!(plot == shown, "copy results/hurtig/fig2/fig2.svg to docs/ and look at it");
    let list = stdout(&lab(temp.path(), &["list"]));
    let took =
        |id: &str| list.lines().find(|line| line.starts_with(id)).unwrap().contains(", took ");
    assert!(took("hurtig/fig2 ") && !took("hurtig/fig3 "), "{list}");

    let shown = stdout(&lab(temp.path(), &["show", "hurtig/fig2"]));
    let tables = text.split("\n246 runs").next().unwrap();
    assert!(shown.starts_with(tables), "{shown}\n---\n{tables}");

    let again = stdout(&lab(temp.path(), &["run", "hurtig/fig2", "--jobs", "1"]));
    assert!(again.contains("\nno run made: 246 were stored already\n"), "{again}");
}

#[test]
fn a_group_is_run_and_summed_up() {
    let temp = tempfile::tempdir().unwrap();
    let ids = tresse_lab::experiment::ids_of("mechanisms");
    let output = lab(temp.path(), &["run", "mechanisms", "mechanisms/prr"]);
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    // Named twice, run once.
    assert!(text.contains(&format!("\n{} experiments: ", ids.len())), "{text}");
    assert!(text.contains("What it changes") && text.contains("packets/s"), "{text}");
    assert!(!text.contains("in agreement: "), "{text}");
    for id in ids {
        assert!(text.contains(&format!("{id}: ")), "{id} is missing in:\n{text}");
        assert!(temp.path().join("results").join(id).join("with.svg").is_file(), "{id}");
    }
    let again = stdout(&lab(temp.path(), &["run", "mechanisms"]));
    assert!(
        again.contains("experiments: no run made: ") && again.contains("were stored already"),
        "{again}"
    );
}

#[test]
fn all_stands_for_every_experiment() {
    let temp = tempfile::tempdir().unwrap();
    let dry = |more: &[&str]| {
        let arguments = ["run", "--all", "--dry-run", "--set", "replications.count=1"];
        let output = lab(temp.path(), &[&arguments, more].concat());
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let text = dry(&["--slow"]);
    let ids: Vec<&str> = tresse_lab::experiment::ids().collect();
    let listed: Vec<&str> = text.lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(listed[..ids.len()], ids, "{text}");
    assert!(text.contains(&format!("\n{} experiments, ", ids.len())), "{text}");
    // Without being told so, it leaves out what takes minutes, and says that it does.
    let text = dry(&[]);
    let slow: Vec<&str> =
        ids.iter().copied().filter(|id| !text.contains(&format!("{id} "))).collect();
    assert!(slow.contains(&"sarnow/fig1.1") && !slow.contains(&"tresse/failover"), "{text}");
    let note = format!("{} slow experiments were left out; --all --slow runs", slow.len());
    assert!(text.contains(&note), "{text}");
    assert_eq!(lab(temp.path(), &["run", "--slow"]).status.code(), Some(2));
    assert!(!temp.path().join("results").exists(), "nothing was run");
    let error = refusal(temp.path(), &["run", "--all", "--only", "ab"]);
    assert!(error.contains("name just one"), "{error}");
    assert_eq!(lab(temp.path(), &["run", "--all", "hurtig"]).status.code(), Some(2));
}

#[test]
fn an_interrupted_experiment_carries_on() {
    let temp = tempfile::tempdir().unwrap();
    assert!(lab(temp.path(), &["run", "hurtig/fig2"]).status.success());
    let folder = temp.path().join("results/hurtig/fig2");
    let whole = fs::read(folder.join("summary.json")).unwrap();
    // As if the power had failed in the middle of a line, before anything else was written.
    let runs = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    let hundred: usize = runs.split_inclusive('\n').take(100).map(str::len).sum();
    fs::write(folder.join("runs.jsonl"), &runs[..hundred + 20]).unwrap();
    fs::remove_file(folder.join("summary.json")).unwrap();
    let error = refusal(temp.path(), &["show", "hurtig/fig2"]);
    assert!(error.contains("no result"), "{error}");

    let text = stdout(&lab(temp.path(), &["run", "hurtig/fig2"]));
    assert!(text.contains("146 runs in ") && text.contains("100 were stored already"), "{text}");
    assert_eq!(fs::read(folder.join("summary.json")).unwrap(), whole);
}

/// Ctrl-C tells what is stored and how to go on.
#[cfg(unix)]
#[test]
fn whoever_interrupts_a_run_is_told_what_is_stored() {
    let temp = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.args(["lab", "run", "hurtig", "--jobs", "1"]).current_dir(temp.path());
    let running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = temp.path().join("results/hurtig/fig2/runs.jsonl");
    let stored = || fs::read_to_string(&runs).map_or(0, |text| text.matches('\n').count());
    while stored() < 3 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let interrupt = format!("kill -INT {}", running.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    let last = error.lines().last().unwrap();
    // Another experiment may have begun before the signal came.
    let (number, rest) =
        last.strip_prefix("tresse: interrupted: ").unwrap().split_once(" of ").unwrap();
    let id = rest.split(' ').nth(3).unwrap();
    assert!(
        id.starts_with("hurtig/") && last.ends_with("the same command makes the rest"),
        "{last}"
    );
    assert!(last.contains(&format!("are stored in results/{id};")), "{last}");
    let own = fs::read_to_string(temp.path().join(format!("results/{id}/runs.jsonl"))).unwrap();
    assert_eq!(own.lines().count(), number.parse::<usize>().unwrap(), "{last}");
    let again = stdout(&lab(temp.path(), &["run", id]));
    assert!(again.contains(&format!("({number} were stored already)")), "{last}: {again}");
}

#[test]
fn one_experiment_is_no_plural() {
    let temp = tempfile::tempdir().unwrap();
    let dry = |names: &[&str]| stdout(&lab(temp.path(), &[&["run", "--dry-run"], names].concat()));
    assert!(dry(&["hurtig/fig2"]).contains("\n1 experiment, 246 runs\n"));
    assert!(dry(&["hurtig/fig2", "hurtig/fig3"]).contains("\n2 experiments, "));
}

#[test]
fn pages_of_a_campaign_are_of_what_is_there() {
    let temp = tempfile::tempdir().unwrap();
    let error = refusal(temp.path(), &["report"]);
    assert!(error.contains("no result of any experiment in results"), "{error}");
    assert!(error.contains("tresse lab run --all"), "{error}");

    assert!(lab(temp.path(), &["run", "hurtig/fig2", "--out", "out"]).status.success());
    // What is there is shown, but says nothing about the whole campaign.
    let said = stdout(&lab(temp.path(), &["report", "--out", "out"]));
    assert!(said.contains("out/hurtig/index.html"), "{said}");
    assert!(
        said.contains("experiments have no results") && !temp.path().join("docs").exists(),
        "{said}"
    );
    let gallery = fs::read_to_string(temp.path().join("out/index.html")).unwrap();
    for expected in ["hurtig/fig2/index.html", "src=\"hurtig/fig2/fig2.svg\"", ">printed values: "]
    {
        assert!(gallery.contains(expected), "{expected} is missing in:\n{gallery}");
    }
    let paper = fs::read_to_string(temp.path().join("out/hurtig/index.html")).unwrap();
    assert!(paper.contains("href=\"../hurtig/fig2/index.html\""), "{paper}");
    assert!(paper.contains("no more than"), "verdicts have reasons: {paper}");

    // A campaign takes minutes: the same result stands in for all the others.
    let own = temp.path().join("out/hurtig/fig2/summary.json");
    let summary = fs::read_to_string(&own).unwrap();
    for id in tresse_lab::experiment::ids().filter(|id| !id.starts_with("mechanisms/")) {
        let folder = temp.path().join("out").join(id);
        fs::create_dir_all(&folder).unwrap();
        let text = summary.replacen("\"id\": \"hurtig/fig2\"", &format!("\"id\": \"{id}\""), 1);
        fs::write(folder.join("summary.json"), text).unwrap();
    }
    let output = lab(temp.path(), &["report", "--out", "out", "--docs", "pages/of/it"]);
    assert!(output.status.success(), "{output:?}");
    let page = |name: &str| fs::read_to_string(temp.path().join("pages/of/it").join(name)).unwrap();
    let reproduction = page("reproduction.md");
    for expected in ["# Reproduction", "[hurtig](deviations.md#hurtig)", "ns-2 validation"] {
        assert!(reproduction.contains(expected), "{expected} is missing in:\n{reproduction}");
    }
    assert!(page("deviations.md").starts_with("# What is not within"));
    // Rows within are folded away, with their number.
    for (paper, expected) in [
        ("hurtig", "`hurtig/fig2`"),
        ("ladha", "`ladha/fig2`"),
        ("hurtig", "<details><summary>6 within, 1 repeated, which do not count</summary>"),
    ] {
        let rows = temp.path().join(format!("out/reproduction/{paper}.md"));
        let rows = fs::read_to_string(rows).unwrap();
        assert!(rows.contains(expected) && !rows.contains("| within |"), "{expected}:\n{rows}");
    }
    assert!(!reproduction.contains("mechanisms"), "no paper has numbers for them");
    assert!(page("default-profile.md").starts_with("# The default profile"));
    let all = fs::read_to_string(temp.path().join("out/default-profile.md")).unwrap();
    assert!(all.starts_with("# Every workload"), "{all}");
    assert!(stdout(&output).contains("reproduction.md"));

    // Slow ones may be left out, if that is said.
    fs::remove_file(temp.path().join("out/tresse/rule1/summary.json")).unwrap();
    let said = stdout(&lab(temp.path(), &["report", "--out", "out"]));
    assert!(
        said.contains("1 experiment has no results") && !said.contains("reproduction.md"),
        "{said}"
    );
    let arguments = ["report", "--without-slow", "--out", "out", "--docs", "pages/of/it"];
    assert!(lab(temp.path(), &arguments).status.success());
    assert!(page("reproduction.md").contains("Not run for this page: tresse/rule1."));

    fs::write(own, "{}").unwrap();
    let error = refusal(temp.path(), &["report", "--out", "out"]);
    assert!(error.contains("is not a result of this version"), "{error}");
    fs::write(temp.path().join("file"), "").unwrap();
    fs::write(temp.path().join("out/hurtig/fig2/summary.json"), summary).unwrap();
    let arguments = ["report", "--without-slow", "--out", "out", "--docs", "file"];
    let error = refusal(temp.path(), &arguments);
    assert!(error.contains("cannot write file"), "{error}");
}

#[test]
fn options_change_what_is_run() {
    let temp = tempfile::tempdir().unwrap();
    let arguments = [
        "run",
        "hurtig/fig2",
        "--out",
        "elsewhere",
        "--profile",
        "rfc9260+limited-transmit",
        "--set",
        "rto.min_ms=150",
        "--set",
        "workload.bursts.count=4",
        "--seed",
        "7",
        "--capture",
        "packets",
    ];
    let output = lab(temp.path(), &arguments);
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    for expected in [
        "rfc9260+limited-transmit",
        "changed: --set rto.min_ms=150",
        "changed: --seed 7",
        "elsewhere/hurtig/fig2/index.html",
    ] {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
    assert!(!temp.path().join("results").exists());
    // Two measured bursts of four and a run without loss for seven senders, as both ends see them.
    assert_eq!(fs::read_dir(temp.path().join("packets")).unwrap().count(), 7 * 9 * 2);

    // Keys in rows.csv replay single runs.
    let rows = fs::read_to_string(temp.path().join("elsewhere/hurtig/fig2/rows.csv")).unwrap();
    let head: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    let key = head.iter().position(|name| *name == "run").unwrap();
    let row: Vec<&str> = rows.lines().last().unwrap().split(',').collect();
    let mut replay = arguments[..10].to_vec();
    replay.extend(["--seed", "7", "--only", row[key]]);
    let replayed = lab(temp.path(), &replay);
    assert!(replayed.status.success(), "{replayed:?}");
    assert!(stdout(&replayed).contains(row[key]));
}

#[test]
fn a_users_own_file_is_run() {
    let temp = tempfile::tempdir().unwrap();
    let text = include_str!("../../../lab/lab/experiments/hurtig/fig2.toml")
        .replace("id = \"hurtig/fig2\"", "id = \"own/first\"")
        .replace("count = 12", "count = 3");
    fs::write(temp.path().join("own.toml"), text).unwrap();
    let output = lab(temp.path(), &["run", "./own.toml"]);
    assert!(output.status.success(), "{output:?}");
    assert!(temp.path().join("results/own/first/summary.json").is_file());
    assert!(stdout(&lab(temp.path(), &["show", "own.toml"])).starts_with("own/first: "));
}

#[test]
fn a_new_experiment_is_ready_to_run() {
    let temp = tempfile::tempdir().unwrap();
    let said = stdout(&lab(temp.path(), &["new", "mine"]));
    assert!(said.contains("tresse lab run ./mine.toml"), "{said}");
    let short = ["run", "./mine.toml", "--set", "workload.periodic.duration_s=20"];
    let output = lab(temp.path(), &short);
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    for expected in ["own/mine: ", "At the receiver", "transfer", "45 runs in ", "What it changes"]
    {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
    let plot = temp.path().join("results/own/mine/transfer.svg");
    assert!(fs::read_to_string(plot).unwrap().contains("with RACK and TLP"));
    // It is of no paper, and the page does not say that it is.
    let page = fs::read_to_string(temp.path().join("results/own/mine/index.html")).unwrap();
    assert!(page.contains("<code>own/mine</code></p>") && !page.contains("<cite>"), "{page}");
    let error = refusal(temp.path(), &["new", "mine"]);
    assert!(error.contains("mine.toml is there already"), "{error}");
    assert_eq!(lab(temp.path(), &["new", "../mine"]).status.code(), Some(2));
}

#[test]
fn two_files_with_one_id_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    lab(folder.path(), &["new", "mine"]);
    fs::copy(folder.path().join("mine.toml"), folder.path().join("copy.toml")).unwrap();
    let line = refusal(folder.path(), &["run", "./mine.toml", "./copy.toml"]);
    assert!(line.contains("./mine.toml and ./copy.toml have the same id \"own/mine\""), "{line}");
    assert!(!folder.path().join("results").exists(), "nothing was written");
}

#[test]
fn wrong_requests_are_refused_in_one_line() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    fs::write(folder.join("file"), "").unwrap();
    fs::write(folder.join("bad.toml"), "id = \"x/y\"\ntitel = \"?\"\n").unwrap();
    for (arguments, words) in [
        (vec!["run", "hurtig/fig22"], vec!["hurtig/fig22", "did you mean", "tresse lab list"]),
        (vec!["run", "hurtig/fig2", "nothing"], vec!["unknown experiment \"nothing\""]),
        (vec!["show", "nothing"], vec!["unknown experiment \"nothing\""]),
        (vec!["run", "./missing.toml"], vec!["cannot read ./missing.toml"]),
        (
            vec!["run", "bad.toml"],
            vec!["bad.toml:2: ", "there is no key titel here; did you mean title?", "(key titel)"],
        ),
        (
            vec!["run", "hurtig/fig2", "--profile", "warp"],
            vec!["unknown profile \"warp\"", "`tresse lab profiles`"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "rto.min=1"],
            vec!["--set rto.min=1: ", "did you mean rto.min_ms?"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "nonsense=1"],
            vec![
                "--set nonsense=1: there is no parameter nonsense;",
                "topology, association, workload, loss, metric, replications",
                "`tresse lab profiles tresse`",
            ],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "message_bytes=9"],
            vec!["did you mean workload.bursts.message_bytes?"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "topology.delay=[9]"],
            vec!["there is no topology.delay; did you mean topology.delay_ms?"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "topology.delay_ms=[-9]"],
            vec!["-9 is out of range: 0 to 1000000"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "topology.forward.loss=1.5"],
            vec!["a probability between 0 and 1 is needed, not 1.5"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "topology.forward.bandwidth_kbps=0"],
            vec!["kbit/s between 0.001 and 1e12 are needed, not 0"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "topology.forward.loss=1.5"],
            vec!["the axis loss decides topology.forward.loss", "--set 'axis.loss=[0,1]'"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "workload.periodic.every_ms=3"],
            vec![
                "the axis load decides",
                "--set 'axis.load=[\"30 %\",\"59 %\",\"80 %\",\"95 %\"]'",
            ],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "axis.loss=[150]"],
            vec!["a probability between 0 and 1 is needed, not 1.5"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "axis.load=3"],
            vec!["3 is not a value of the axis load: 30 %, 59 %, 80 %, 95 %"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "axis.lost=3"],
            vec!["there is no axis lost; there are load, loss"],
        ),
        (
            vec!["run", "hurtig/fig2", "--set", "axis.loss=3"],
            vec!["varies topology.bandwidth_kbps and topology.delay_ms"],
        ),
        (
            vec!["run", "tresse/harm-8", "--set", "workload.bulk.duration_s=3"],
            vec!["the workload of this experiment is workload.periodic"],
        ),
        (vec!["run", "hurtig/fig2", "--set", "rto"], vec!["key=value"]),
        (vec!["run", "hurtig/fig2", "--out", "file"], vec!["cannot write file"]),
        (vec!["run", "hurtig/fig2", "--only", "zz"], vec!["no run of hurtig/fig2"]),
        (vec!["show", "hurtig/fig2"], vec!["no result", "tresse lab run hurtig/fig2"]),
    ] {
        refused(folder, &arguments, &words);
    }
}

/// What clap refuses is no other.
#[test]
fn wrong_words_are_refused_in_one_line() {
    let temp = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (vec!["run"], vec!["not provided: <EXPERIMENT>...;", "`tresse lab run --help`"]),
        (vec!["run", "hurtig/fig2", "--jobs", "0"], vec!["'--jobs <N>': 0 is not in 1..=1024"]),
        (vec!["run", "hurtig/fig2", "--jobs", "-3"], vec!["'--jobs <N>': -3 is not in 1..=1024"]),
        (
            vec!["run", "hurtig/fig2", "--seed", "-1"],
            vec!["'-1' for '--seed <N>'", "takes digits only"],
        ),
        (vec!["run", "hurtig/fig2", "--set"], vec!["'--set <KEY=VALUE>'"]),
        (vec!["run", "hurtig/fig2", "--sed", "1"], vec!["'--sed'", "'--seed'"]),
        (vec!["walk"], vec!["'walk'", "`tresse lab --help`"]),
        (
            vec![],
            vec![
                "list, profiles, metrics, new, run, show, compare, extensions, report, playground;",
            ],
        ),
    ] {
        refused(temp.path(), &arguments, &words);
    }
}

#[test]
fn extensions_have_names_and_the_default_is_ranked() {
    let temp = tempfile::tempdir().unwrap();
    let unknown = ["\"ech\" is no extension", "there are: all, partial-reliability, "];
    refused(temp.path(), &["extensions", "hurtig/fig2", "--with", "ech"], &unknown);
    refused(temp.path(), &["extensions", "pedersen/fig3.9"], &["not ranked in pedersen/fig3.9"]);
    let arguments = ["extensions", "hurtig/fig2", "--with", "ecn", "--replications", "1"];
    let output = lab(temp.path(), &arguments);
    assert!(output.status.success(), "{output:?}");
    let page = temp.path().join("results/extensions/extensions-on.md");
    let page = fs::read_to_string(page).unwrap();
    // Nothing marks there, so nothing is different.
    assert!(
        page.contains("| itself without, in the metric of the paper | 1 of 1 compared"),
        "{page}"
    );
    let command = "`tresse lab extensions hurtig/fig2 --with ecn --replications 1`";
    assert!(page.contains(command), "{page}");
}

/// The refusal of these arguments has all of these words.
fn refused(folder: &Path, arguments: &[&str], words: &[&str]) {
    let error = refusal(folder, arguments);
    for word in words {
        assert!(error.contains(word), "{arguments:?}: {error}");
    }
}

#[test]
fn values_of_an_axis_are_chosen() {
    let temp = tempfile::tempdir().unwrap();
    let arguments = ["run", "tresse/harm-8", "--set", "replications.count=1"];
    let whole = stdout(&lab(temp.path(), &arguments));
    assert!(whole.contains("\n16 runs in "), "{whole}");
    let chosen = ["--set", "axis.load=[\"80 %\",\"95 %\"]", "--set", "axis.loss=0"];
    let output = lab(temp.path(), &[&arguments[..], &chosen].concat());
    assert!(output.status.success(), "{output:?}");
    // They are runs of the whole experiment.
    let text = stdout(&output);
    assert!(text.contains("\nno run made: 4 were stored already\n"), "{text}");
    assert!(text.contains("80 %") && !text.contains("30 %"), "{text}");
    // Its plot is of another loss.
    let page = fs::read_to_string(temp.path().join("results/tresse/harm-8/index.html")).unwrap();
    assert!(!page.contains("99th percentile of the transfer time, 1 % loss"), "{page}");
    let other = ["--set", "axis.loss=3", "--set", "axis.load=95 %", "--dry-run"];
    let text = stdout(&lab(temp.path(), &[&arguments[..], &other].concat()));
    assert!(text.contains("1 experiment, 2 runs"), "{text}");
}

#[test]
fn profiles_are_listed_and_shown() {
    let temp = tempfile::tempdir().unwrap();
    let list = stdout(&lab(temp.path(), &["profiles"]));
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let known: Vec<&str> = tresse_core::Profile::names().collect();
    assert_eq!(names[..known.len()], known, "{list}");
    let shown = stdout(&lab(temp.path(), &["profiles", "rfc9260+f-rto"]));
    let profile = tresse_core::Profile::named("rfc9260+f-rto").unwrap();
    let read: tresse_core::Profile =
        tresse_core::Profile::standard().with_overrides(&shown).unwrap();
    assert_eq!(read, profile);
    let error = refusal(temp.path(), &["profiles", "warp"]);
    assert!(error.contains("unknown profile \"warp\""), "{error}");
}

#[test]
fn a_capture_folder_that_cannot_be_made_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let error = refusal(temp.path(), &["run", "hurtig/fig2", "--capture", "file/in/it"]);
    assert!(error.contains("cannot write file/in/it"), "{error}");
}

#[test]
fn failed_runs_give_exit_code_1_and_a_command_to_repeat_them() {
    let temp = tempfile::tempdir().unwrap();
    let text = include_str!("../../../lab/lab/experiments/hurtig/fig2.toml")
        .replace("forward.queue_packets = 50", "forward.queue_packets = 1")
        .replace("id = \"hurtig/fig2\"", "id = \"own/tight\"");
    fs::write(temp.path().join("tight.toml"), text).unwrap();
    let output = lab(temp.path(), &["run", "tight.toml"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("246 of 246 runs failed"), "{text}");
    let replay = text.lines().find_map(|l| l.split("again with: tresse lab ").nth(1)).unwrap();
    let arguments: Vec<&str> = replay.split(' ').collect();
    let again = lab(temp.path(), &arguments);
    assert_eq!(again.status.code(), Some(1));
    assert!(stdout(&again).contains("premise of one loss"));
}

#[test]
fn a_changed_copy_of_a_built_in_experiment_needs_an_id_of_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let text = include_str!("../../../lab/lab/experiments/mechanisms/prr.toml");
    fs::write(temp.path().join("same.toml"), text).unwrap();
    assert!(lab(temp.path(), &["run", "same.toml", "--dry-run"]).status.success());
    let title = text.lines().find(|line| line.starts_with("title = ")).unwrap();
    fs::write(temp.path().join("other.toml"), text.replace(title, "title = \"Mine\"")).unwrap();
    let error = refusal(temp.path(), &["run", "other.toml", "--dry-run"]);
    assert!(
        error.contains("other.toml: mechanisms/prr is a built-in") && error.contains("own/prr"),
        "{error}"
    );
}

#[test]
fn help_shows_examples() {
    let temp = tempfile::tempdir().unwrap();
    let help = stdout(&lab(temp.path(), &["run", "--help"]));
    for word in ["Examples:", "--capture", "--set", "tresse lab run hurtig/fig2"] {
        assert!(help.contains(word), "{help}");
    }
}

#[test]
fn worlds_of_the_gauntlet_are_played_resumed_and_told() {
    let temp = tempfile::tempdir().unwrap();
    let gauntlet = |arguments: &[&str]| {
        let output = lab(temp.path(), &[&["run", "tresse/gauntlet"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let text = gauntlet(&["--worlds", "16..18", "--docs", "docs"]);
    assert!(text.contains("1 no harm to us") && text.contains("2 worlds in "), "{text}");
    let page = fs::read_to_string(temp.path().join("results/tresse/gauntlet/gauntlet.md")).unwrap();
    assert_eq!(fs::read_to_string(temp.path().join("docs/gauntlet.md")).unwrap(), page);
    for expected in ["tresse lab run tresse/gauntlet --worlds 16..18", "## Laws", "| 5 alive |"] {
        assert!(page.contains(expected), "{expected} is missing in:\n{page}");
    }
    assert!(temp.path().join("docs/gauntlet-least.svg").is_file());
    let again = gauntlet(&["--worlds", "16..18"]);
    assert!(again.contains("0 worlds in ") && again.contains("(2 were stored already)"), "{again}");
    // Another profile leaves those alone.
    gauntlet(&["--worlds", "17..18", "--profile", "rfc9260", "--set", "rto.min_ms=300"]);
    assert!(gauntlet(&["--worlds", "16..18"]).contains("(2 were stored already)"));
    let told = gauntlet(&["--world", "16"]);
    for expected in ["world 16, dying: ", "path 1 alone: ", "law 5 alive: "] {
        assert!(told.contains(expected), "{expected} is missing in:\n{told}");
    }
}

#[test]
fn what_the_gauntlet_cannot_do_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["hurtig/fig2", "--worlds", "0..3"][..], "for tresse/gauntlet"),
        (&["tresse/gauntlet", "hurtig/fig2"], "run alone"),
        (&["tresse/gauntlet", "--seed", "3"], "takes no"),
        (&["tresse/gauntlet", "--profile", "reno"], "--profile reno"),
        (&["tresse/gauntlet", "--set", "rto.min_ms"], "key=value"),
        (&["tresse/gauntlet", "--set", "rto.least=3"], "--set rto.least=3"),
    ] {
        let error = refusal(temp.path(), &[&["run"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
