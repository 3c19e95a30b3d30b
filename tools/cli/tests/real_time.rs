//! Runs of the laboratory in real time, and what `tresse lab compare` says of two results.

#![cfg(target_os = "linux")]

mod lack;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Bursts of two messages, of which each is lost in one run; and periodic ones with random losses.
const BURSTS: &str = r#"
id = "test/bursts"
title = "Bursts"
summary = "For tests."

[paper]
authors = "Nobody"
title = "Nothing"
section = "§0"

[topology]
bandwidth_kbps = [2000]
delay_ms = [15]

[[profile]]
name = "tresse"
label = "tresse"

[workload.bursts]
count = 3
ignore = 1
size = 2
gap_ms = 200
message_bytes = 200

[loss]
drop = "each-data-packet"

[replications]
count = 1
seed = 1

[metric]
kind = "mtt"
"#;
const PERIODIC: &str = r#"
kind = "flow"
id = "test/periodic"
title = "Periodic"
summary = "For tests."

[paper]
authors = "Nobody"
title = "Nothing"
section = "§0"

[topology]
forward = { delay_ms = 20, loss = 0.2 }
backward = { delay_ms = 20 }

[[profile]]
name = "tresse"
label = "tresse"

[workload.periodic]
message_bytes = 100
every_ms = 50
duration_s = 2

[observe]
retransmissions = true

[replications]
count = 4
seed = 1

[matrix]
metric = "delivered_bytes"
"#;

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.arg("lab").args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it in real time; `false` if the system does not permit that.
fn played(folder: &Path, experiment: &str) -> bool {
    let output = lab(folder, &["run", experiment, "--real-time", "--out", "real"]);
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    if output.status.code() == Some(2) && lack::skipped(&error) {
        assert_eq!(error.lines().count(), 1, "{error}");
        return false;
    }
    assert!(output.status.success(), "{said}{error}");
    true
}

/// The lines of a result's runs.
fn runs(folder: &Path, id: &str) -> Vec<serde_json::Value> {
    let lines = fs::read_to_string(folder.join(id).join("runs.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_loss_is_repaired_in_real_time() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("bursts.toml"), BURSTS).unwrap();
    if !played(temp.path(), "./bursts.toml") {
        return;
    }
    assert!(lab(temp.path(), &["run", "./bursts.toml", "--out", "simulated"]).status.success());
    let of = |out: &str| runs(&temp.path().join(out), "test/bursts");
    let (real, simulated) = (of("real"), of("simulated"));
    assert_eq!((real.len(), simulated.len()), (1 + 4, 1 + 4), "one without loss");
    for (real, simulated) in real.iter().zip(&simulated) {
        assert_eq!(real["dropped"], simulated["dropped"]);
        let key = real["key"].as_str().unwrap();
        assert_eq!(key.strip_prefix("real-time-"), simulated["key"].as_str());
        // Nothing is faster than light: 15 ms there.
        let times = real["samples"].as_array().unwrap();
        assert!(times.iter().all(|sample| sample[3].as_f64().unwrap() > 15.0), "{real}");
        if !real["dropped"].is_null() {
            let again = real["counters"]["retransmitted"].as_object().unwrap();
            assert!(again.values().filter_map(|n| n.as_u64()).sum::<u64>() >= 1, "{real}");
            assert!(real["recovered_by"].is_string(), "{real}");
        }
    }
    // What is stored is not played again, and is no result of the simulator.
    let again = lab(temp.path(), &["run", "./bursts.toml", "--real-time", "--out", "real"]);
    assert!(text(&again.stdout).contains("5 were stored already"), "{}", text(&again.stdout));
    let other = lab(temp.path(), &["run", "./bursts.toml", "--out", "real"]);
    assert!(!text(&other.stdout).contains("stored already"), "{}", text(&other.stdout));
}

#[test]
fn periodic_messages_all_arrive_in_real_time() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("periodic.toml"), PERIODIC).unwrap();
    if !played(temp.path(), "./periodic.toml") {
        return;
    }
    assert!(lab(temp.path(), &["run", "./periodic.toml", "--out", "simulated"]).status.success());
    for run in runs(&temp.path().join("real"), "test/periodic") {
        let value = |name: &str| run["values"][name].as_f64().unwrap_or_else(|| panic!("{run}"));
        assert_eq!(value("delivered_bytes"), 40.0 * 100.0);
        assert!(value("retransmission.all.timeout-or-fast.count") >= 1.0, "{run}");
        assert!(value("transfer_ms.mean") > 20.0, "{run}");
    }
    let compared = lab(temp.path(), &["compare", "./periodic.toml", "simulated", "real"]);
    let said = text(&compared.stdout);
    assert!(compared.status.success() && said.contains("within 5 %"), "{said}");
}

#[test]
fn results_are_compared_number_by_number() {
    let temp = tempfile::tempdir().unwrap();
    let far = ["--set=topology.delay_ms=[30]"];
    for (out, changes) in [("one", &[][..]), ("same", &[]), ("other", &far)] {
        let arguments = [&["run", "hurtig/fig2", "--out", out], changes].concat();
        assert!(lab(temp.path(), &arguments).status.success());
    }
    let same =
        lab(temp.path(), &["compare", "hurtig/fig2", "one", "same", "--page", "both/page.html"]);
    let page = fs::read_to_string(temp.path().join("both/page.html")).unwrap();
    assert!(page.contains("within 5 %</li>") && page.contains("same less one"), "{page}");
    assert_eq!(same.status.code(), Some(0));
    assert!(!text(&same.stdout).contains("apart"), "{}", text(&same.stdout));
    let other = lab(temp.path(), &["compare", "hurtig/fig2", "one", "other"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stdout).contains("apart"), "{}", text(&other.stdout));
    let none = lab(temp.path(), &["compare", "hurtig/fig2", "one", "nowhere"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("tresse lab run hurtig/fig2 --out nowhere"));
}

#[test]
fn what_cannot_be_played_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let output = lab(temp.path(), &["run", "ladha/fig2", "--real-time"]);
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("in real time") || lack::skipped(&error), "{error}");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}
