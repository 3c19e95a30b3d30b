//! Whole experiments: results, resumption, failures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tresse_lab::report::{PAGE, Report, SUMMARY};
use tresse_lab::runner::{Execution, ProgressMode, RUNS};
use tresse_lab::{LabError, Overrides, Session};

/// Few positions, two cells, two senders, random gaps, two replications.
const SMALL: &str = r#"
id = "test/small"
title = "A <small> experiment"
summary = "For tests."
notes = ["A & B"]

[paper]
authors = "Nobody"
title = "Nothing"
section = "§0"

[topology]
bandwidth_kbps = [1000, 2000]
delay_ms = [10]
forward.queue_packets = 50
backward.queue_packets = 50

[parameters]
rto = { initial_ms = 200, min_ms = 100, max_ms = 400 }
sack = { delay_ms = 40 }

[[profile]]
name = "lksctp-2.6.15"
label = "Standard"

[[profile]]
name = "lksctp-2.6.15+early-retransmit-packets"
label = "Early Retransmit"

[workload.bursts]
count = 4
ignore = 2
size = 3
gap_ms = { exponential = 300 }
message_bytes = 200

[loss]
drop = "each-data-packet"

[replications]
count = 2
seed = 5

[metric]
kind = "mtt"

[[plot]]
file = "by-message"
title = "By message"
kind = "mtt-by-message"
series = ["Standard", "Early Retransmit"]
no_loss = true

[[plot]]
file = "by-delay"
title = "By delay"
kind = "reduction-by-delay"
series = ["Early Retransmit"]

[[published]]
what = "nothing in particular"
where = "nowhere"
value = 50
unit = "%"
tolerance = 100
measure = { reduction = { series = "Early Retransmit", statistic = "average", bandwidth_kbps = 2000 } }
"#;

const RUNS_OF_SMALL: usize = 2 * 2 * 2 * (1 + 6);

fn quiet() -> Execution {
    Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() }
}

fn session(folder: &Path, text: &str) -> Session {
    let file = folder.join("small.toml");
    fs::write(&file, text).unwrap();
    Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap()
}

/// Name and content of every file that is not hidden.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()))
        .filter(|(name, _)| !name.starts_with('.'))
        .collect()
}

#[test]
fn results_are_complete_and_repeat_byte_for_byte() {
    let temp = tempfile::tempdir().unwrap();
    let session = session(temp.path(), SMALL);
    let (first, second) = (temp.path().join("first"), temp.path().join("second"));
    let finished = session.run(&first, quiet()).unwrap();
    assert_eq!((finished.executed, finished.reused), (RUNS_OF_SMALL, 0));
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    session.run(&second, Execution { jobs: Some(1), ..quiet() }).unwrap();
    let files = contents(&first.join("test/small"));
    assert_eq!(files, contents(&second.join("test/small")));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "by-delay.svg",
        "by-message.svg",
        PAGE,
        "profiles.csv",
        "reductions.csv",
        "reductions.parquet",
        "rows.csv",
        "rows.parquet",
        RUNS,
        SUMMARY,
    ];
    assert_eq!(names, expected);

    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    assert_eq!(&files["rows.parquet"][..4], b"PAR1");
    // Each lost message once, and every measured one of the runs without loss.
    let rows = text("rows.csv");
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * 2 * (6 + 6));
    assert!(text("profiles.csv").lines().next().unwrap().contains("rto.min_ms"));
    let page = text(PAGE);
    assert!(page.contains("A &lt;small&gt; experiment") && page.contains("A &amp; B"));
    // Nothing is loaded from elsewhere: the one address is the name of a namespace.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"));
    // Each plot is drawn twice, wide and narrow.
    assert_eq!(page.matches("<svg").count(), 4);
    assert!(page.trim_end().ends_with("</html>"));

    let report = Report::load(&first.join("test/small"), "test/small", "tresse lab run x").unwrap();
    assert_eq!(report.runs, RUNS_OF_SMALL);
    let counts: Vec<_> = report.tally().kinds().map(|(_, count)| count).collect();
    assert!(counts.len() == 1 && counts[0].is_whole() && counts[0].all == 1, "{counts:?}");
    assert!(report.packets > 1000);
    let reductions = report.analysis["reductions"].as_array().unwrap();
    assert_eq!(reductions.len(), 2);
    for row in reductions {
        let mean = &row["of_means"];
        assert!(mean["value"].as_f64().unwrap() > 10.0 && mean["ci95"].is_f64(), "{row:?}");
    }
}

#[test]
fn an_interrupted_run_carries_on() {
    let temp = tempfile::tempdir().unwrap();
    let session = session(temp.path(), SMALL);
    let whole = session.run(temp.path(), quiet()).unwrap();
    let folder = temp.path().join("test/small");
    let before = contents(&folder);

    // As a killed process leaves it: some runs, the last line torn, no report.
    let runs = String::from_utf8(before[RUNS].clone()).unwrap();
    let lines: Vec<&str> = runs.lines().collect();
    let torn = format!("{}\n{}", lines[..20].join("\n"), &lines[20][..30]);
    fs::write(folder.join(RUNS), torn).unwrap();
    fs::remove_file(folder.join(SUMMARY)).unwrap();
    let finished = session.run(temp.path(), quiet()).unwrap();
    assert_eq!((finished.executed, finished.reused), (whole.executed - 20, 20));
    assert_eq!(contents(&folder), before);

    let again = session.run(temp.path(), quiet()).unwrap();
    assert_eq!((again.executed, again.reused), (0, RUNS_OF_SMALL));
    assert_eq!(contents(&folder), before);

    let fresh = session.run(temp.path(), Execution { fresh: true, ..quiet() }).unwrap();
    assert_eq!((fresh.executed, fresh.reused), (RUNS_OF_SMALL, 0));
    assert_eq!(contents(&folder), before);
}

#[test]
fn runs_that_were_made_elsewhere_are_the_same() {
    let temp = tempfile::tempdir().unwrap();
    let session = session(temp.path(), SMALL);
    session.run(&temp.path().join("here"), quiet()).unwrap();
    let out = temp.path().join("elsewhere");
    let mut collection = session.collect(&out).unwrap();
    let missing = collection.missing().to_vec();
    assert_eq!(missing.len(), RUNS_OF_SMALL);
    // In any order, one of them twice; what was brought before an interruption stays.
    let (late, early) = missing.split_at(20);
    for keys in [early, &early[..1]] {
        for brought in session.make(keys).unwrap() {
            collection.store(&brought.result.unwrap()).unwrap();
        }
    }
    drop(collection);
    let mut collection = session.collect(&out).unwrap();
    assert_eq!(collection.missing(), late);
    assert!(matches!(session.collect(&out), Err(LabError::Busy { .. })));
    let of_early = session.make(&early[..1]).unwrap().remove(0).result.unwrap();
    let unasked = collection.store(&of_early).unwrap_err().to_string();
    assert!(unasked.starts_with("nobody asked for the run"), "{unasked}");
    assert!(collection.store("{}").is_err());
    for brought in session.make(late).unwrap() {
        collection.store(&brought.result.unwrap()).unwrap();
    }
    drop(collection);
    let finished = session.run(&out, quiet()).unwrap();
    assert_eq!((finished.executed, finished.reused), (0, RUNS_OF_SMALL));
    assert_eq!(contents(&out.join("test/small")), contents(&temp.path().join("here/test/small")));

    let error = session.make(&["0000".into()]).unwrap_err().to_string();
    assert!(error.starts_with("1 of 1 runs are unknown here"), "{error}");
}

#[test]
fn other_parameters_do_not_reuse_old_runs() {
    let temp = tempfile::tempdir().unwrap();
    session(temp.path(), SMALL).run(temp.path(), quiet()).unwrap();
    let changed = session(temp.path(), &SMALL.replace("delay_ms = 40", "delay_ms = 0"));
    assert_eq!(changed.run(temp.path(), quiet()).unwrap().reused, 0);
    // A cell more leaves the runs of the others valid.
    let wider = SMALL
        .replace("bandwidth_kbps = [1000, 2000]", "bandwidth_kbps = [1000, 2000, 500]")
        .replace("delay_ms = 40", "delay_ms = 0");
    let finished = session(temp.path(), &wider).run(temp.path(), quiet()).unwrap();
    assert_eq!(finished.reused, RUNS_OF_SMALL);
    assert_eq!(finished.executed, RUNS_OF_SMALL / 2);
}

#[test]
fn a_failed_run_is_reported_and_the_others_complete() {
    let temp = tempfile::tempdir().unwrap();
    // A slow link with a queue for one packet loses more than the one packet of the plan, a
    // fast one does not.
    let text = SMALL
        .replace("bandwidth_kbps = [1000, 2000]", "bandwidth_kbps = [100, 1000000]")
        .replace("bandwidth_kbps = 2000 }", "bandwidth_kbps = 1000000 }")
        .replace("forward.queue_packets = 50", "forward.queue_packets = 2")
        .replace("message_bytes = 200", "message_bytes = 200\nspacing_ms = 1");
    let session = session(temp.path(), &text);
    let finished = session.run(temp.path(), quiet()).unwrap();
    let failures = &finished.report.failures;
    assert!(!failures.is_empty() && failures.len() <= RUNS_OF_SMALL / 2, "{}", failures.len());
    assert!(failures.iter().all(|f| f.run.contains("_100kbps_")), "{failures:?}");
    let failure = &failures[0];
    assert_eq!(failure.seed, 5);
    assert!(failure.message.contains("premise of one loss"), "{failure:?}");
    let key = failure.replay.split("--only ").nth(1).unwrap();
    let replayed = session.replay(key, quiet()).unwrap();
    assert_eq!(replayed.failures, failures[..1]);
    assert!(session.replay("0000000000000000", quiet()).is_err());
    // Failed runs are not stored: they are made again.
    let again = session.run(temp.path(), quiet()).unwrap();
    assert_eq!(again.executed, failures.len());
    let page = fs::read_to_string(finished.page).unwrap();
    assert!(page.contains("Failed runs") && page.contains(&failure.replay));
}

#[test]
fn captures_of_both_hosts_are_written_for_every_run() {
    let temp = tempfile::tempdir().unwrap();
    let session = session(temp.path(), SMALL);
    let captures = temp.path().join("captures");
    let execution = Execution { capture: Some(captures.clone()), ..quiet() };
    session.run(temp.path(), execution).unwrap();
    let files: Vec<_> = fs::read_dir(&captures).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 2 * RUNS_OF_SMALL);
    for file in files {
        // Section header block of pcapng.
        assert_eq!(fs::read(&file).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a], "{}", file.display());
    }
}

#[test]
fn the_right_packet_is_dropped_after_needless_retransmissions() {
    let temp = tempfile::tempdir().unwrap();
    // SACKs come later than the retransmission timer ever waits.
    let text = SMALL
        .replace("max_ms = 400", "max_ms = 100")
        .replace("delay_ms = 40", "delay_ms = 250")
        .replace("size = 3", "size = 1");
    let finished = session(temp.path(), &text).run(temp.path(), quiet()).unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let runs = fs::read_to_string(temp.path().join("test/small").join(RUNS)).unwrap();
    let no_loss = runs.lines().next().unwrap();
    assert!(no_loss.contains("\"dropped\":null") && no_loss.contains("\"timeouts\":"), "{no_loss}");
}
