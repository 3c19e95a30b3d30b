//! The tables of Pedersen's thesis, out of captures of the laboratory's runs: the same numbers as
//! the laboratory's own, which it computes while it simulates.

use std::path::Path;

use tresse_lab::runner::Execution;
use tresse_lab::{Overrides, Session};
use tresse_trace::{DirectionSummary, Observer, Options, Summary, Trace};

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
    let mut trace = Trace::new(Options { missing_reports, ..Options::default() });
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
                    .all(|(axis, value)| name.contains(&format!("_{axis}-{}_", text(value))))
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
