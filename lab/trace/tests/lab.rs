//! The tables of Pedersen's thesis, out of captures of the laboratory's runs: the same numbers as
//! the laboratory's own, which it computes while it simulates.

use std::path::Path;

use tresse_lab::runner::Execution;
use tresse_lab::{Overrides, Session};
use tresse_trace::{DirectionSummary, Observer, Options, Summary, Trace, measure};

/// Keeps the summaries.
#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

/// What the sender of the only association of a capture sent.
fn sent(capture: &Path, missing_reports: u32) -> DirectionSummary {
    let mut ended = Ended::default();
    // The thesis knows no early retransmission, and its timers expire sooner than the standard's.
    let options = Options { missing_reports, early: false, ..Options::default() };
    let mut trace = Trace::new(options);
    trace.run(&[capture], &mut ended).expect("a capture");
    assert_eq!(ended.0.len(), 1, "{}", capture.display());
    let [a, b] = ended.0.remove(0).directions;
    assert_eq!(b.data, 0);
    a
}

/// Compares the tables of all runs of an experiment, made shorter; how many numbers there were.
fn compare(experiment: &str) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let overrides = Overrides {
        parameters: vec!["workload.periodic.duration_s=300".into(), "replications.count=2".into()],
        ..Overrides::default()
    };
    let session = Session::new(experiment, &overrides).expect("an experiment");
    let captures = folder.path().join("captures");
    let execution = Execution { capture: Some(captures.clone()), ..Execution::default() };
    session.run(folder.path(), execution).expect("runs");
    let runs = std::fs::read_to_string(folder.path().join(experiment).join("runs.jsonl"));
    let mut compared = 0;
    for run in runs.expect("results").lines() {
        let run: serde_json::Value = serde_json::from_str(run).expect("JSON");
        let (profile, missing_reports) = profile(run["series"].as_str().expect("a series"));
        let name = capture_of(&captures, profile, &run);
        let ours = sent(&name, missing_reports);
        compared += rows(&run["values"], &ours);
    }
    compared
}

/// The profile with a label, and how many reports it waits for (RFC 2960 §7.2.4, RFC 9260 §7.2.4,
/// Pedersen §4.2).
fn profile(label: &str) -> (&'static str, u32) {
    match label {
        "original" | "lksctp 2.6.15" => ("pedersen-original", 4),
        "+ reduced RTO & FR" => ("pedersen-rto-fr", 1),
        "+ modified timer restart" => ("pedersen-restart", 1),
        "+ no SACK delay" => ("pedersen-nodelay", 1),
        "RFC 9260" => ("rfc9260", 3),
        // It has the fast retransmit for thin streams.
        "tresse" => ("tresse", 1),
        other => panic!("profile {other}"),
    }
}

/// The sender's capture of a run.
fn capture_of(folder: &Path, profile: &str, run: &serde_json::Value) -> std::path::PathBuf {
    let replication = format!("replication-{}.sender.pcapng", run["replication"]);
    let cell = run["cell"].as_object().expect("a cell");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("captures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let text =
                |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
            name.starts_with(&format!("{profile}_"))
                && name.ends_with(&replication)
                && cell
                    .iter()
                    .map(|(axis, value)| format!("_{axis}-{}_", text(value)).replace(' ', "-"))
                    .all(|part| name.contains(&part))
        })
        .collect();
    assert_eq!(files.len(), 1, "{files:?} for {run}");
    files.remove(0)
}

/// Compares all metrics `retransmission.NUMBER.CLASS.STATISTIC` of a run.
fn rows(values: &serde_json::Value, ours: &DirectionSummary) -> usize {
    let mut compared = 0;
    for (metric, theirs) in values.as_object().expect("values") {
        let parts: Vec<&str> = metric.split('.').collect();
        let ["retransmission", number, class, statistic] = parts[..] else { continue };
        let number = if number == "all" { 0 } else { number.parse().expect("a number") };
        let row =
            ours.retransmissions.iter().find(|row| (row.number, row.class) == (number, class));
        let own = row.map(|row| match statistic {
            "count" => row.delays.count as f64,
            "min_ms" => row.delays.min_ms,
            "max_ms" => row.delays.max_ms,
            _ => row.delays.avg_ms,
        });
        let theirs = theirs.as_f64().expect("a number");
        // The laboratory writes twelve digits.
        let own = own.unwrap_or(0.0);
        assert!((own - theirs).abs() <= 1e-11 * theirs.abs(), "{metric}: {own}, not {theirs}");
        compared += 1;
    }
    assert!(compared > 0);
    compared
}

#[test]
fn tables_3_2_to_3_5_come_out_of_captures() {
    for table in
        ["pedersen/table3.2", "pedersen/table3.3", "pedersen/table3.4", "pedersen/table3.5"]
    {
        assert!(compare(table) > 20, "{table}");
    }
}

#[test]
fn table_5_1_comes_out_of_captures() {
    assert!(compare("pedersen/table5.1") > 80);
}

/// Numbers that captures of both ends give as the laboratory has them, which counts inside of the
/// receiver: transfer times of all messages, pauses, unnecessary retransmissions.
fn compare_both_ends(capture: &Path, run: &serde_json::Value) {
    let receiver = capture.to_string_lossy().replace(".sender.", ".receiver.");
    let name = capture.display();
    let options = Options { missing_reports: 1, ..Options::default() };
    let (measured, totals) =
        measure::both_ends(&[capture], &[receiver.as_ref()], options).expect("captures");
    assert_eq!((measured.len(), totals.clock_ahead_ms), (1, Some(0.0)), "{name}");
    assert_eq!(totals.skipped.iter().collect::<Vec<_>>(), [], "{name}");
    let (sent, detail) = (&measured[0].summary.directions[0], &measured[0].directions[0]);
    let theirs = |metric: &str| run["values"][metric].as_f64().expect("a number");
    let same = |metric: &str, own: f64| {
        let theirs = theirs(metric);
        assert!(
            (own - theirs).abs() <= 1e-9 * theirs.abs(),
            "{name}: {metric} {own}, not {theirs}"
        );
    };
    let transfer = sent.transfer.expect("messages");
    same("delivery_ms.mean", transfer.avg_ms);
    same("delivery_ms.max", transfer.max_ms);
    same("retransmitted_chunks", sent.retransmitted as f64);
    same("delivered_bytes", detail.progress.iter().map(|(_, bytes)| *bytes as f64).sum());
    let arrivals = sent.arrivals.as_ref().expect("both ends");
    let chunks = arrivals.sent - arrivals.retransmitted;
    same("highest_tsn", chunks as f64);
    assert_eq!((arrivals.never_arrived, arrivals.copies), (0, 0), "{name}");
    // Some may be on their way when the captures end.
    let fates = arrivals.lost + arrivals.arrived + arrivals.under_way;
    assert_eq!(fates, arrivals.sent, "{name}");
    same("duplicates", (arrivals.arrived - chunks) as f64);
    assert!(arrivals.unnecessary >= arrivals.arrived - chunks, "{name}");
    let proven = detail.retransmissions.iter().filter(|r| r.spurious.is_some()).count() as u64;
    assert_eq!(
        (proven, detail.losses.len() as u64),
        (arrivals.unnecessary, arrivals.lost),
        "{name}"
    );
    assert!(proven <= sent.retransmitted, "{name}: {proven}");
    let steps = detail.progress.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e6);
    same("stall_ms", steps.reduce(f64::max).expect("deliveries"));
    // A pause does not count before what ends it was sent.
    let gap = detail.longest_gap().expect("deliveries").seconds() * 1e3;
    assert!(gap > 0.0 && gap <= theirs("stall_ms") + 1e-6, "{name}: {gap}");
    assert!((arrivals.longest_gap_ms - gap).abs() < 1e-6, "{name}");
    // Nothing waits where order is not lost.
    let blocked = sent.streams[0].blocked.expect("chunks");
    assert_eq!((sent.streams.len(), sent.streams[0].messages), (1, sent.messages), "{name}");
    assert!(blocked.max_ms <= transfer.max_ms && blocked.min_ms == 0.0, "{name}: {blocked:?}");
}

#[test]
fn captures_of_both_ends_tell_what_the_receiver_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = ["forward", "backward", "second.forward", "second.backward"];
    let mut parameters: Vec<String> =
        slow.iter().map(|link| format!("topology.{link}.bandwidth_kbps=2000")).collect();
    parameters.extend(["workload.bulk.total_bytes=4000000".into(), "replications.count=1".into()]);
    let overrides = Overrides { parameters, ..Overrides::default() };
    let session = Session::new("tresse/failover", &overrides).expect("an experiment");
    let captures = folder.path().join("captures");
    let execution = Execution { capture: Some(captures.clone()), ..Execution::default() };
    session.run(folder.path(), execution).expect("runs");
    let runs = std::fs::read_to_string(folder.path().join("tresse/failover/runs.jsonl"));
    let mut compared = 0;
    for run in runs.expect("results").lines() {
        let run: serde_json::Value = serde_json::from_str(run).expect("JSON");
        let profile = if run["series"] == "tresse" { "tresse" } else { "freebsd-cmt" };
        compare_both_ends(&capture_of(&captures, profile, &run), &run);
        compared += 1;
    }
    assert_eq!(compared, 12);
}
