//! Concurrent transfer over two paths: what is measured, and what it is compared with.

use std::fs;
use std::path::Path;

use tresse_lab::report::Report;
use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{Overrides, Session};

/// 4 and 8 Mbit/s, with frames of which 1452 bytes in 1526 are user data.
const TWO_PATHS: &str = r#"
kind = "flow"
id = "test/two-paths"
title = "Two paths"
summary = "For tests."
notes = ["Nothing but a test"]
statistic = "median"

[paper]
authors = "Nobody"
title = "Nothing"
section = "§0"

[topology]
forward = { bandwidth_kbps = 4000, delay_ms = 5, overhead_bytes = 26, queue_packets = 50 }
backward = { bandwidth_kbps = 4000, delay_ms = 5, overhead_bytes = 26, queue_packets = 50 }
second.forward = { bandwidth_kbps = 8000, delay_ms = 5, overhead_bytes = 26, queue_packets = 50 }
second.backward = { bandwidth_kbps = 8000, delay_ms = 5, overhead_bytes = 26, queue_packets = 50 }

[[profile]]
name = "sarnow-no-fr+dac+buffer-splitting"
label = "both"

[[axis]]
name = "together"
keys = ["association.concurrent_transfer"]
values = [true, false]

[workload.bulk]
message_bytes = 1452
duration_s = 8
warmup_s = 3

[observe]
alone = true
transfer = true

[replications]
count = 3

[[plot]]
file = "goodput"
title = "Goodput"
kind = "by-axis"
metric = "goodput_mbps"
axis = "together"
series = ["both"]
curves = ["ideal_mbps", "best_path_mbps"]

[[plot]]
file = "classes"
title = "Classes"
kind = "by-metric"
metrics = ["gap_acked.0-100", "gap_acked.over-100"]
series = ["both"]

[[published]]
what = "smallest"
where = "here"
value = 4
unit = "Mbit/s"
measure = { metric = "goodput_mbps", series = "both", over = "smallest" }

[[published]]
what = "together against one"
where = "here"
value = 200
unit = "%"
measure = { metric = "goodput_mbps", series = "both", at = { together = true }, relative_at = { together = false } }
"#;

/// A link that is no bottleneck by itself, and one that two flows share.
const SHARED: &str = r#"
forward = { delay_ms = 5, jitter_ms = 0.1 }
backward = { delay_ms = 5, jitter_ms = 0.1 }
second.forward = { delay_ms = 5, jitter_ms = 0.1 }
second.backward = { delay_ms = 5, jitter_ms = 0.1 }
shared.competitor = "rfc9260"
shared.forward = { bandwidth_kbps = 6000, delay_ms = 5, queue_packets = 50 }
shared.backward = { bandwidth_kbps = 6000, delay_ms = 5, queue_packets = 50 }

[[profile]]
"#;

fn run(folder: &Path, text: &str) -> (Report, serde_json::Value) {
    let file = folder.join("my.toml");
    fs::write(&file, text).unwrap();
    let session = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap();
    let quiet = Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() };
    let finished = session.run(folder, quiet).unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let summary = fs::read_to_string(finished.page.with_file_name("summary.json")).unwrap();
    (finished.report, serde_json::from_str(&summary).unwrap())
}

/// A metric of the cell whose only axis has `value`.
fn metric(summary: &serde_json::Value, value: &str, name: &str) -> f64 {
    let rows = summary["analysis"]["estimates"].as_array().unwrap();
    let row = rows.iter().find(|r| r["cell"].as_object().unwrap().values().any(|v| v == value));
    row.unwrap()["metrics"][name]["value"].as_f64().unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn two_paths_bring_their_sum_and_each_alone_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (report, summary) = run(folder.path(), TWO_PATHS);
    let both = |name: &str| metric(&summary, "true", name);
    let first = |name: &str| metric(&summary, "false", name);
    let near = |value: f64, wanted: f64, share: f64| (value - wanted).abs() <= share * wanted;

    // The lines that a transfer is compared with: equation 4.1 of Sarnow (2017), and measured.
    let efficiency = 1452.0 / 1526.0;
    assert!(near(both("ideal_mbps"), 12.0 * efficiency, 1e-6), "{}", both("ideal_mbps"));
    assert!(near(both("ideal_path_mbps"), 8.0 * efficiency, 1e-6));
    assert!(near(both("path_mbps.1"), 4.0 * efficiency, 0.15), "{}", both("path_mbps.1"));
    assert!(near(both("path_mbps.2"), 8.0 * efficiency, 0.15), "{}", both("path_mbps.2"));
    assert_eq!(both("best_path_mbps"), both("path_mbps.2"));

    // Both paths at once, and without concurrent transfer the first one.
    assert!(both("of_ideal") > 90.0 && both("of_ideal") < 101.0, "{}", both("of_ideal"));
    // In the whole run nothing can exceed the sum. In a part of it what was blocked before does: slow start
    // ends with a timeout, and what it has held up for a second, 0.9 MB, is delivered in the third one. So
    // the warm-up is over after that.
    let whole = both("delivered_bytes") * 8.0 / 8e6; // Mbit in 8 s
    assert!(whole < both("ideal_mbps") && both("timeouts") <= 1.0, "{whole}");
    assert!(both("of_best_path") > 130.0, "{}", both("of_best_path"));
    assert!(near(both("path_share.2"), 100.0 * 8.0 / 12.0, 0.1), "{}", both("path_share.2"));
    assert!(near(first("goodput_mbps"), 4.0 * efficiency, 0.15), "{}", first("goodput_mbps"));
    assert!(first("of_best_path") < 60.0 && first("path_share.1") > 95.0);

    // Order is lost with two paths only.
    assert!(both("reorder_bytes.p95") > 1452.0, "{}", both("reorder_bytes.p95"));
    assert!(both("delivery_ms.p50") > 5.0 && both("delivery_ms.p50") < 1000.0);
    assert!(both("delivery_ms.max") >= both("delivery_ms.p99") && both("stall_ms") > 0.0);
    assert!(first("reorder_bytes.p50") < both("reorder_bytes.p50"));
    let classes = both("gap_acked.0-100") + both("gap_acked.over-100");
    assert!(near(classes, 100.0, 1e-6), "{classes}");

    let [smallest, ratio] = report.comparisons.as_slice() else { panic!("two numbers") };
    assert_eq!(smallest.ours.unwrap().value, first("goodput_mbps"));
    let ours = ratio.ours.unwrap();
    let ratio = 100.0 * (both("goodput_mbps") / first("goodput_mbps") - 1.0);
    assert!(near(ours.value, ratio, 0.01), "{} {ratio}", ours.value);
    assert_eq!(ours.ci95, None, "of a median there is none");
    let svg = fs::read_to_string(folder.path().join("test/two-paths/goodput.svg")).unwrap();
    assert!(svg.contains("Ideal") && svg.contains("Best path alone"), "{svg}");
    assert!(folder.path().join("test/two-paths/classes.svg").exists());
}

#[test]
fn hosts_take_time() {
    let host =
        "[processor]\npacket_us = 3000\nsack_us = 20\ncheck_ns = 1000\ncores = 2\n\n[[profile]]\n";
    let slow = TWO_PATHS
        .replace("[[profile]]\n", host)
        .replace("label = \"both\"\n", "label = \"both\"\nprocessor = { speed = 2 }\n")
        .replace("alone = true\n", "")
        .replace("curves = [\"ideal_mbps\", \"best_path_mbps\"]\n", "");
    let folder = tempfile::tempdir().unwrap();
    let (_, summary) = run(folder.path(), &slow);
    let both = |name: &str| metric(&summary, "true", name);
    // 1.5 ms for each packet, and one in two is answered by a SACK: 5.2 to 7.7 Mbit/s.
    let goodput = both("goodput_mbps");
    assert!((3.5..7.8).contains(&goodput), "{goodput}");
    assert!((45.0..50.1).contains(&both("cpu.all")), "{}", both("cpu.all"));
    assert!(both("cpu.sacks") > 0.0 && both("cpu.sacks") < 10.0, "{}", both("cpu.sacks"));
    assert!(both("sack_us.mean") >= 10.0 && both("cpu.lost") == 0.0);
    assert!(both("sack_us.to-1") == 0.0 && both("sack_us.8-16") > 0.0, "no SACK is free");

    for (wrong, key) in [
        (slow.replace("speed = 2", "speed = 0"), "processor.speed"),
        (slow.replace("speed = 2", "hertz = 2"), "profile.processor"),
        (slow.replace("cores = 2", "cores = 0"), "processor.cores"),
        (slow.replace(host, "[[profile]]\n"), "profile.processor"),
    ] {
        let file = folder.path().join("wrong.toml");
        fs::write(&file, wrong).unwrap();
        let error = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
    let unknown = TWO_PATHS.replace("\"gap_acked.0-100\"", "\"cpu.all\"");
    let file = folder.path().join("wrong.toml");
    fs::write(&file, unknown).unwrap();
    let error = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap_err();
    assert!(error.to_string().contains("needs [processor]"), "{error}");
}

#[test]
fn flows_share_a_bottleneck() {
    let (head, rest) = TWO_PATHS.split_once("forward = ").unwrap();
    let (_, rest) = rest.split_once("[[profile]]\n").unwrap();
    let text = format!("{head}{}{rest}", SHARED.trim_start()).replace("alone = true\n", "");
    let text = text.replace("curves = [\"ideal_mbps\", \"best_path_mbps\"]\n", "");
    let folder = tempfile::tempdir().unwrap();
    let (_, summary) = run(folder.path(), &text);
    for together in ["true", "false"] {
        let value = |name: &str| metric(&summary, together, name);
        let sum = value("goodput_mbps") + value("competitor_mbps");
        assert!((5.0..=6.0).contains(&sum), "{sum}");
        let ratio = value("goodput_mbps") / value("competitor_mbps");
        assert!((value("of_competitor") / 100.0 / ratio - 1.0).abs() < 0.3, "{ratio}");
        assert!((0.5..=1.0).contains(&value("fairness")), "{}", value("fairness"));
    }
    // Three competitors: what is counted is the mean of their rates.
    let text = text.replace("shared.competitor =", "shared.competitors = 3\nshared.competitor =");
    let folder = tempfile::tempdir().unwrap();
    let (_, crowded) = run(folder.path(), &text);
    let value = |name: &str| metric(&crowded, "false", name);
    let sum = value("goodput_mbps") + 3.0 * value("competitor_mbps");
    assert!((5.0..=6.0).contains(&sum), "{sum}");
    assert!((0.5..=1.0).contains(&value("fairness")), "{}", value("fairness"));
    // Two uncoupled windows take more than one.
    let share = |together| metric(&summary, together, "of_competitor");
    assert!(share("true") > share("false"), "{} {}", share("true"), share("false"));
}

#[test]
fn what_does_not_fit_is_refused_in_one_line() {
    for (from, to, key) in [
        ("warmup_s = 3", "warmup_s = 8", "workload.bulk.warmup_s"),
        ("warmup_s = 3", "warmup_s = nan", "workload.bulk.warmup_s"),
        ("alone = true", "alone = false", "plot[0].curves"),
        ("transfer = true", "transfer = false", "plot[1].metrics"),
        ("over = \"smallest\"", "at = {}", "published[0].measure.at"),
        ("over = \"smallest\"", "over = \"smallest\", at = { x = 1 }", "published[0].measure.at"),
        (
            "[[profile]]",
            "[association]\nbuffer_bdps = -1.0\n[[profile]]",
            "association.buffer_bdps",
        ),
    ] {
        assert!(TWO_PATHS.contains(from), "{from}");
        let text = TWO_PATHS.replacen(from, to, 1);
        let error = tresse_lab::experiment::parse("my.toml", &text).unwrap_err().to_string();
        assert!(!error.contains('\n') && error.contains(&format!("(key {key})")), "{to}: {error}");
    }
    let (head, rest) = TWO_PATHS.split_once("forward = ").unwrap();
    let (_, rest) = rest.split_once("[[profile]]\n").unwrap();
    let shared = format!("{head}{}{rest}", SHARED.trim_start());
    for (from, to, key) in [
        ("", "", "observe.alone"),
        ("competitor = \"rfc9260\"", "competitor = \"warp\"", "topology.shared.competitor"),
        (
            "shared.competitor",
            "shared.competitors = 0\nshared.competitor",
            "topology.shared.competitors",
        ),
        ("shared.competitor", "shared.paths = [3]\nshared.competitor", "topology.shared.paths"),
        ("duration_s = 8\nwarmup_s = 3", "total_bytes = 8", "topology.shared"),
    ] {
        let text = shared.replacen(from, to, 1);
        let error = tresse_lab::experiment::parse("my.toml", &text).unwrap_err().to_string();
        assert!(error.contains(&format!("(key {key})")) || error.contains(key), "{to}: {error}");
    }
}
