//! `tresse arena` as a user meets it: what it says, what it keeps, and real cells.

#![cfg(target_os = "linux")]

mod lack;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn arena(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tresse"))
        .arg("arena")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("it was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it prints text")
}

/// The one line on standard error of a refused request.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = arena(folder, arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(error.starts_with("tresse: ") && error.lines().count() == 1, "{error}");
    assert!(!folder.join("results").exists(), "{arguments:?} wrote something");
    error
}

/// 20 messages of which the second is lost.
const LOST: &str = "
    id = 'lost'
    title = 'One loss'
    summary = 'The second packet with user data is lost.'
    judged_by = 'repair'
    repetitions = 1
    [links]
    forward = { delay_ms = 5, drop_data = [2] }
    backward = { delay_ms = 5 }
    [traffic]
    message_bytes = 100
    interval_ms = 50
    messages = 20
    seconds = 4
";

#[test]
fn bad_requests_are_refused_in_one_line() {
    let temp = tempfile::tempdir().expect("a folder");
    let folder = temp.path();
    assert!(refusal(folder, &["thin-strean"]).contains("thin-stream"));
    assert!(refusal(folder, &["./none.toml"]).contains("none.toml"));
    fs::write(folder.join("bad.toml"), LOST.replace("delay_ms = 5,", "delay = 5,")).unwrap();
    let error = refusal(folder, &["./bad.toml"]);
    assert!(error.contains("bad.toml") && error.contains("delay"), "{error}");
    assert!(refusal(folder, &["report", "nowhere"]).contains("no results"));
    let output = arena(folder, &["--stack", "bsd"]);
    assert_eq!(output.status.code(), Some(2));
    let list = text(&arena(folder, &["list"]).stdout);
    for id in ["thin-stream", "signalling", "delay-spikes", "reordering", "bulk-loss", "two-paths"]
    {
        assert!(list.contains(id), "{list}");
    }
}

#[test]
fn a_cell_is_played_measured_from_captures_and_kept() {
    let temp = tempfile::tempdir().expect("a folder");
    let folder = temp.path();
    fs::write(folder.join("lost.toml"), LOST).unwrap();
    let arguments = ["./lost.toml", "--stack", "tresse", "--stack", "usrsctp", "--captures", "c"];
    let output = arena(folder, &arguments);
    let said = text(&output.stderr);
    let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|value| value == "1");
    if lack::skipped(&said) {
        return;
    }
    assert!(output.status.success(), "{said}");
    let results = folder.join("results/arena");
    let lines = fs::read_to_string(results.join("results.jsonl")).unwrap();
    for stack in ["tresse", "usrsctp"] {
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let record = records.into_iter().find(|record| record["stack"] == stack).unwrap();
        if record["outcome"]["missing"].is_string() && !required {
            let _ = std::io::stderr()
                .write_all(format!("skipped: {}\n", record["outcome"]["missing"]).as_bytes());
            continue;
        }
        let measured = &record["outcome"]["measured"];
        let numbers = ["associations", "offered", "delivered"].map(|key| measured[key].as_u64());
        assert_eq!(numbers, [Some(1), Some(20), Some(20)], "{record}");
        assert!(measured["retransmissions"].as_u64() >= Some(1), "{record}");
        // The way there takes 5 ms; what is lost comes later than that, by the least a round trip.
        let repairs = measured["repair_ms"].as_array().unwrap();
        assert!(repairs.len() == 1 && repairs[0].as_f64() >= Some(15.0), "{record}");
        let slowest = measured["transfer_ms"].as_array().unwrap().iter().filter_map(Value::as_f64);
        assert!(slowest.fold(0.0, f64::max) + 0.1 >= repairs[0].as_f64().unwrap(), "{record}");
        assert!(folder.join(format!("c/lost-{stack}-0/link0-left.pcapng")).exists());
    }
    let page = fs::read_to_string(results.join("index.html")).unwrap();
    assert!(page.contains("One loss") && page.contains("<svg"));

    // What is there is not played again.
    fs::remove_dir_all(folder.join("c")).unwrap();
    let output = arena(folder, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!folder.join("c/lost-tresse-0").exists());
    let printed = text(&arena(folder, &["report", "results/arena"]).stdout);
    assert!(printed.contains("lost (ms)") && printed.contains("tresse"), "{printed}");
}

#[test]
fn what_a_stack_cannot_do_is_named_and_the_others_go_on() {
    let temp = tempfile::tempdir().expect("a folder");
    let folder = temp.path();
    // Two paths, which dcsctp has not got.
    let two = "[links.second]\nforward = {}\nbackward = {}\n[traffic]";
    fs::write(folder.join("two.toml"), LOST.replace("[traffic]", two)).unwrap();
    let output = arena(folder, &["./two.toml", "--stack", "dcsctp", "--stack", "tresse-cmt"]);
    let said = text(&output.stderr);
    let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|value| value == "1");
    if lack::skipped(&said) {
        return;
    }
    assert!(output.status.success(), "{said}");
    let printed = text(&output.stdout);
    if printed.contains("dcsctp has one path") || required {
        assert!(
            printed.contains("impossible") && printed.contains("dcsctp has one path"),
            "{printed}"
        );
    }
    assert!(printed.contains("tresse-cmt"), "{printed}");
}
