//! Flow experiments from their files to their results.

use std::fs;
use std::path::Path;

use tresse_lab::comparison::{Comparison, Relation, Rule, Scan, Verdict};
use tresse_lab::experiment;
use tresse_lab::report::{Report, agreement, campaign};
use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{LabError, Overrides, Session};
use tresse_report::Estimate;

/// Two losses, two senders, two replications of a short thin stream.
const SMALL: &str = r#"
kind = "flow"
id = "test/flow"
title = "A small flow"
summary = "For tests."
notes = ["Nothing | but a test"]

[paper]
authors = "Nobody"
title = "Nothing"
section = "§0"

[topology]
forward = { bandwidth_kbps = 10000, delay_ms = 50 }
backward = { bandwidth_kbps = 10000, delay_ms = 50 }

[association]
bundling = true

[[profile]]
name = "rfc2960"
label = "old"
parameters = { rto = { min_ms = 900 } }

[[profile]]
name = "rfc9260"
label = "RFC 9260"
extra = true

[[axis]]
name = "loss"
label = "Loss (%)"
keys = ["topology.forward.loss", "topology.backward.loss"]
values = [0, 10]
scale = 0.01

[workload.periodic]
message_bytes = 100
every_ms = 256
duration_s = 120

[observe]
retransmissions = true
series = true
sequence = true

[replications]
count = 2
seed = 3

[matrix]
metric = "transfer_ms.mean"

[[table]]
title = "Delays"
kind = "retransmissions"

[[table]]
title = "Values"
metrics = ["transfer_ms.p99", "rto_ms.median"]

[[plot]]
file = "by-axis"
title = "By loss"
kind = "by-axis"
metric = "transfer_ms.mean"
axis = "loss"
series = ["old", "RFC 9260"]

[[plot]]
file = "sequence"
title = "Sequence"
kind = "sequence"
at = { loss = 10 }
series = ["old"]

[[published]]
what = "without loss half a round trip"
where = "here"
value = 50
unit = "ms"
measure = { metric = "transfer_ms.mean", series = "old", at = { loss = 0 } }

[[published]]
what = "loss makes it longer"
where = "here"
value = 0
unit = "%"
relation = "above"
measure = { metric = "transfer_ms.mean", series = "old", at = { loss = 10 }, relative_at = { loss = 0 } }

[[published]]
what = "no timeout comes before RTO.Min of this sender"
where = "here"
value = 900
unit = "ms"
tolerance = 0
relation = "at-least"
measure = { metric = "retransmission.1.timeout.min_ms", series = "old", at = { loss = 10 } }
"#;

fn quiet() -> Execution {
    Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() }
}

fn session(folder: &Path, text: &str, overrides: &Overrides) -> Session {
    let file = folder.join("flow.toml");
    fs::write(&file, text).unwrap();
    Session::new(file.to_str().unwrap(), overrides).unwrap()
}

#[test]
fn a_flow_is_measured_reported_resumed_and_repeated() {
    let temp = tempfile::tempdir().unwrap();
    let session = session(temp.path(), SMALL, &Overrides::default());
    assert_eq!(session.runs(), 2 * 2 * 2);
    let finished = session.run(&temp.path().join("a"), quiet()).unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let counts: Vec<_> = finished.report.tally().kinds().map(|(_, count)| count).collect();
    let agree: usize = counts.iter().map(|count| count.agree).sum();
    let all: usize = counts.iter().map(|count| count.all).sum();
    assert_eq!((agree, all), (2, 3), "{:#?}", finished.report.comparisons);
    assert!(finished.packets > 8 * 900 && finished.packets == finished.report.packets);
    let folder = temp.path().join("a/test/flow");
    for file in
        ["by-axis.svg", "sequence.svg", "rows.csv", "rows.parquet", "series.csv", "sequence.csv"]
    {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let rows = fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 8);
    assert!(rows.starts_with("experiment,series,profile,loss,replication,"), "{rows}");

    // Nothing is left to do, and a new start gives the same bytes.
    let again = session.run(&temp.path().join("a"), quiet()).unwrap();
    assert_eq!((again.executed, again.reused, again.packets), (0, 8, 0));
    let other = temp.path().join("b");
    session.run(&other, Execution { jobs: Some(1), ..quiet() }).unwrap();
    for file in ["runs.jsonl", "summary.json", "rows.parquet", "index.html"] {
        let read = |folder: &Path| fs::read(folder.join("test/flow").join(file)).unwrap();
        assert_eq!(read(&temp.path().join("a")), read(&other), "{file}");
    }

    // Another figure of the same runs makes none of its own.
    let twin = SMALL.replace("id = \"test/flow\"", "id = \"test/twin\"");
    fs::write(temp.path().join("twin.toml"), twin).unwrap();
    let path = temp.path().join("twin.toml");
    let twin = Session::new(path.to_str().unwrap(), &Overrides::default()).unwrap();
    let finished = twin.run(&temp.path().join("a"), quiet()).unwrap();
    assert_eq!((finished.executed, finished.reused), (0, 8));
}

#[test]
fn the_pages_of_a_campaign_are_made_from_results() {
    let temp = tempfile::tempdir().unwrap();
    let text = SMALL.replace(
        "[[axis]]",
        "[[profile]]\nname = \"rfc9260+limited-transmit\"\nlabel = \"tresse\"\nextra = true\n\n[[axis]]",
    );
    let session = session(temp.path(), &text, &Overrides::default());
    let report = session.run(temp.path(), quiet()).unwrap().report;
    let stored = Report::load(&temp.path().join("test/flow"), "test/flow", "again").unwrap();
    let short = campaign::reproduction(std::slice::from_ref(&stored), &[]);
    let reports = [report];
    let profile = campaign::default_profile(&reports, &["tresse/x"]);
    let all = campaign::all_profiles(&reports, &["tresse/x"]);
    // One value, a bound, and an effect that two runs are too few for; none of ns-2, no aim.
    let counts = "| 1 of 1 (100 %) | 1 of 2 (50 %) | – | – | 0 | 0 | 1 |";
    assert!(short.contains(&format!("| [test](deviations.md#test) {counts}")), "{short}");
    assert!(short.contains(&format!("| each count over all {counts}")), "{short}");
    let papers = campaign::papers(&[stored]);
    let [(name, rows)] = papers.as_slice() else { panic!("{papers:?}") };
    assert_eq!(name, "reproduction/test.md");
    assert!(rows.contains("## `test/flow`: A small flow"), "{rows}");
    assert!(rows.contains("<details><summary>2 within</summary>"), "{rows}");
    assert!(rows.contains("| 5.0 ms: 10 %, the default |"), "{rows}");
    assert!(rows.contains("| – | all of the interval | **outside** |"), "{rows}");
    assert!(profile.contains("Not run for this page: tresse/x.") && !short.contains("Not run"));
    assert!(
        profile.contains("Of 2 workloads compared `tresse` is as good")
            && profile.contains("| `test/flow` | "),
        "{profile}"
    );
    assert!(profile.contains("| test | old | "), "{profile}");
    assert!(all.contains("Not run for this page: tresse/x.") && all.contains("loss 10"), "{all}");
}

/// A result whose rows are all outside, and one of an experiment that has the same rows within.
fn outside_and_reason() -> (Report, Report) {
    let temp = tempfile::tempdir().unwrap();
    let report = session(temp.path(), SMALL, &Overrides::default())
        .run(temp.path(), quiet())
        .unwrap()
        .report;
    let mut outside = report.clone();
    outside.comparisons.retain(|c| c.verdict == Verdict::Agrees);
    let mut reason = outside.clone();
    reason.about.id = "test/reason".into();
    for c in &mut outside.comparisons {
        c.verdict = Verdict::Differs;
        c.difference = Some(1e3);
        c.claim.why = Some("Slow hosts.".into());
    }
    // Of all its rows none is outside, and it counts nowhere.
    reason.comparisons.iter_mut().for_each(|c| c.claim.repeats = Some("test/flow".into()));
    (outside, reason)
}

/// The short pages, in one, and that of the paper.
fn pages(outside: &Report, reason: &Report) -> (String, String) {
    let reports = [outside.clone(), reason.clone()];
    let rows = campaign::papers(&reports).remove(0).1;
    (campaign::reproduction(&reports, &[]) + &campaign::deviations(&reports, &[]), rows)
}

#[test]
fn a_reason_counts_if_its_experiment_removes_the_difference() {
    let (mut outside, mut reason) = outside_and_reason();
    let n = outside.comparisons.len();
    let guessed = pages(&outside, &reason);
    assert!(guessed.0.contains(&format!("| 0 | 0 | {n} |")), "{}", guessed.0);
    assert!(guessed.0.contains("- Slow hosts.\n  - *Thought, not shown.* "), "{}", guessed.0);
    assert!(guessed.1.contains("| unexplained; thought, not shown: (1) |"), "{}", guessed.1);
    outside.comparisons.iter_mut().for_each(|c| c.claim.tested = Some("test/reason".into()));
    let tested = pages(&outside, &reason);
    assert!(tested.0.contains(&format!("| {n} | 0 | 0 |")), "{}", tested.0);
    let said = tested.0.split_once("- Slow hosts.\n  - *Tested by `test/reason`.* ").unwrap().1;
    for rows in outside.comparisons.chunk_by(|a, b| a.claim.place == b.claim.place) {
        let [first, others @ ..] = rows else { unreachable!("chunks are never empty") };
        let text = |c: &Comparison| format!("{} {} → ", c.claim.what, c.claim.text());
        assert!(said.contains(&format!("{}: {}", first.claim.place, text(first))), "{said}");
        assert!(others.iter().all(|c| !said.contains(&text(c))), "{said}");
        let more = format!("; and {} more", others.len());
        assert_eq!(said.contains(&more), !others.is_empty(), "{said}");
    }
    assert!(
        tested.1.contains("| (1) tested by `test/reason` (it has ")
            && tested.1.matches("Slow hosts.").count() == 1
            && tested.1.contains("\n1. Slow hosts.\n"),
        "{}",
        tested.1
    );
    assert!(tested.1.contains(", 2 runs) |"), "{}", tested.1);
    // A difference that is smaller than the interval of the test is not explained by it.
    let mut small = outside.clone();
    small.comparisons.iter_mut().for_each(|c| c.difference = Some(0.0));
    let blind = pages(&small, &reason);
    assert!(blind.0.contains(&format!("| 0 | 0 | {n} |")), "{}", blind.0);
    assert!(blind.1.contains(", 2 runs) cannot tell; thought, not shown: (1) |"), "{}", blind.1);
    // But an effect may be missed by nothing: there it is enough that the test lies apart from ours.
    let mut effect = small.clone();
    effect.comparisons.iter_mut().for_each(|c| c.rule = Some(Rule::Side));
    assert!(pages(&effect, &reason).0.contains(&format!("| 0 | 0 | {n} |")), "both are the same");
    for c in &mut effect.comparisons {
        let far = |o: Estimate| Estimate::of(&[o.value - 1e6, o.value - 1e6 - 1.0]).unwrap();
        c.ours = c.ours.map(far);
    }
    let apart = pages(&effect, &reason);
    assert!(apart.0.contains(&format!("| {n} | 0 | 0 |")), "{}", apart.0);
    let not_run = [outside.clone()];
    let not_run = campaign::papers(&not_run).remove(0).1;
    assert!(not_run.contains("unexplained: `test/reason` was not run"), "{not_run}");
    reason.comparisons.iter_mut().for_each(|c| c.verdict = Verdict::Differs);
    let refuted = pages(&outside, &reason);
    assert!(refuted.0.contains(&format!("| 0 | 0 | {n} |")), "{}", refuted.0);
    assert!(refuted.1.contains("unexplained: `test/reason` (it has "), "{}", refuted.1);
    assert!(refuted.1.contains(", 2 runs) does not remove it"), "{}", refuted.1);
}

#[test]
fn a_scan_rules_out_what_all_of_its_settings_exclude() {
    let (mut outside, mut reason) = outside_and_reason();
    let n = outside.comparisons.len();
    outside.comparisons.iter_mut().for_each(|c| c.claim.tested = Some("test/reason".into()));
    reason.comparisons.iter_mut().for_each(|c| c.verdict = Verdict::Differs);
    // Of one setting it says nothing, of several that none agrees.
    for c in &mut outside.comparisons {
        c.claim.not_reproducible = c.claim.tested.take();
    }
    assert!(pages(&outside, &reason).0.contains(&format!("| 0 | 0 | {n} |")));
    // In three runs that chose the nearest it is far away, and in three others, too, so all six are excluded.
    let far = Estimate {
        value: -1e9,
        ci95: Some(0.0),
        range: [-1e9; 2],
        runs: 3,
        deviation: Some(0.0),
        limits: None,
    };
    let scan = Scan { settings: 6, holding: 0, possible: 0, chosen: Some(far) };
    for c in &mut reason.comparisons {
        (c.scan, c.ours) = (Some(scan), Some(far));
        c.claim.relation = Relation::Equal;
    }
    let scanned = pages(&outside, &reason);
    assert!(scanned.0.contains(&format!("| 0 | {n} | 0 |")), "{}", scanned.0);
    assert!(
        scanned.0.contains("- Slow hosts.\n  - *Not reproducible, `test/reason`.* "),
        "{}",
        scanned.0
    );
    let text = "| (1) not reproducible: each of 6 settings in `test/reason` is excluded (95 %); the nearest, chosen by 3 runs, has -1000000000";
    assert!(scanned.1.contains(text) && scanned.1.contains(" in 3 others |"), "{}", scanned.1);
    // One that is not excluded, but does not hold either: more runs would be needed to tell.
    let with = |reason: &mut Report, scan| {
        reason.comparisons.iter_mut().for_each(|c| c.scan = Some(scan));
    };
    with(&mut reason, Scan { possible: 2, ..scan });
    let open = pages(&outside, &reason);
    assert!(open.0.contains(&format!("| 0 | 0 | {n} |")), "{}", open.0);
    let text =
        "unexplained: 2 of 6 settings in `test/reason` are not excluded; the nearest, chosen by";
    assert!(open.1.contains(text), "{}", open.1);
    // As a reason: the nearest of six holds in other runs, or it does not.
    for c in &mut outside.comparisons {
        c.claim.tested = c.claim.not_reproducible.take();
    }
    let at = |c: &Comparison| Some(Estimate { value: c.claim.value, ..far });
    for c in &mut reason.comparisons {
        let chosen = at(c);
        c.scan = Some(Scan { holding: 1, possible: 1, chosen, ..scan });
        (c.verdict, c.ours) = (Verdict::Agrees, chosen);
    }
    let held = pages(&outside, &reason);
    assert!(held.0.contains(&format!("| {n} | 0 | 0 |")), "{}", held.0);
    let text =
        "| (1) tested by one of 6 settings in `test/reason`: the nearest, chosen by 3 runs, has ";
    assert!(held.1.contains(text), "{}", held.1);
    // It does not, but another one does: that was not chosen, so it is no reason, and nothing is ruled out.
    for c in &mut reason.comparisons {
        (c.verdict, c.ours) = (Verdict::Differs, Some(far));
    }
    let other = pages(&outside, &reason);
    assert!(other.0.contains(&format!("| 0 | 0 | {n} |")), "{}", other.0);
    let text = "unexplained: a setting of `test/reason` is within that was not the nearest";
    assert!(other.1.contains(text), "{}", other.1);
    // Neither does another, and by all of their runs all are excluded: what chose the nearest was chance.
    with(&mut reason, scan);
    let lucky = pages(&outside, &reason);
    assert!(lucky.0.contains(&format!("| 0 | {n} | 0 |")), "{}", lucky.0);
    assert!(lucky.1.contains("not reproducible: each of 6 settings"), "{}", lucky.1);
}

#[test]
fn results_are_compared_also_if_nothing_is_ranked_or_published() {
    let temp = tempfile::tempdir().unwrap();
    let end = SMALL.find("[[published]]").unwrap();
    let text = SMALL[..end].replace("[matrix]\nmetric = \"transfer_ms.mean\"\n", "");
    let run = |seed| {
        let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
        let folder = temp.path().join(seed.to_string());
        fs::create_dir_all(&folder).unwrap();
        session(&folder, &text, &overrides).run(&folder, quiet()).unwrap().report
    };
    let (first, second) = (run(1), run(2));
    assert!(first.matrix.is_empty() && first.comparisons.is_empty());
    let pairs = agreement::pairs(&first, &second);
    // Two senders, two cells and the two metrics of the table of values.
    assert_eq!(pairs.len(), 8, "{pairs:?}");
    assert!(pairs.iter().any(|p| p.what.starts_with("RFC 9260, ") && p.what.ends_with("loss 10")));
}

#[test]
fn a_bundled_chunk_can_keep_its_reports() {
    // Two messages are lost, and the timeout's packet with both. The fast retransmit that follows does not
    // stop the timer, which sends both once more before any SACK of that can come.
    let head = SMALL.split("[[profile]]").next().unwrap();
    let head = head
        .replace(
            "forward = { bandwidth_kbps = 10000, delay_ms = 50 }",
            "forward = { delay_ms = 102, drop_data = [8, 9, 13] }",
        )
        .replace(
            "backward = { bandwidth_kbps = 10000, delay_ms = 50 }",
            "backward = { delay_ms = 104 }",
        )
        .replace("bundling = true", "bundling = true\nno_delay = true");
    let text = format!(
        "{head}\n[[profile]]\nname = \"lksctp-2.6.15\"\nlabel = \"Linux\"\n\n\
         [workload.periodic]\nmessage_bytes = 100\nevery_ms = 256\nduration_s = 5\n\n\
         [observe]\nretransmissions = true\n\n[replications]\ncount = 1\n\n\
         [[table]]\ntitle = \"T\"\nmetrics = [\"retransmission.3.in-flight.count\", \
         \"retransmission.3.reported-missing.count\"]\n"
    );
    let counts = |text: &str| {
        let temp = tempfile::tempdir().unwrap();
        let session = session(temp.path(), text, &Overrides::default());
        session.run(temp.path(), quiet()).unwrap().report.tables[0].rows[0][1..].to_vec()
    };
    assert_eq!(counts(&text), ["1", "0"]);
    let kept = text
        .replace("retransmissions = true", "retransmissions = true\nbundled_keep_reports = true");
    assert_eq!(counts(&kept), ["0", "1"]);
}

#[test]
fn bulk_transfers_two_paths_and_changes_of_the_network() {
    let temp = tempfile::tempdir().unwrap();
    let head = SMALL.split("[[axis]]").next().unwrap();
    let head = head.replace(
        "[association]",
        "second = { forward = { bandwidth_kbps = 10000, delay_ms = 50 }, backward = { bandwidth_kbps = 10000, delay_ms = 50 } }\n[association]",
    );
    let text = format!(
        "{head}\n[[change]]\nat_s = 1.0\nkey = \"forward.up\"\nvalue = false\n\n\
         [[change]]\nat_s = 8.0\nkey = \"forward.up\"\nvalue = true\n\n\
         [workload.bulk]\nmessage_bytes = 1000\ntotal_bytes = 3000000\n\n\
         [observe]\nseries = true\n\n\
         [[table]]\ntitle = \"T\"\nmetrics = [\"completion_s\", \"timeouts\", \"cwnd.2.max\"]\n"
    );
    let report = session(temp.path(), &text, &Overrides::default())
        .run(temp.path(), quiet())
        .unwrap()
        .report;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let value =
        |row: usize, column: usize| -> f64 { report.tables[0].rows[row][column].parse().unwrap() };
    // The first path is dead for seven seconds, and what timed out takes the second one.
    assert!(value(0, 1) > 2.0 && value(0, 2) >= 1.0 && value(0, 3) > 4000.0, "{:?}", report.tables);

    // For a time instead of an amount, the run ends in time.
    let text = text
        .replace("total_bytes = 3000000", "duration_s = 2")
        .replace("completion_s", "goodput_kbps");
    let report = session(temp.path(), &text, &Overrides::default())
        .run(temp.path(), quiet())
        .unwrap()
        .report;
    assert!(report.failures.is_empty() && report.tables[0].rows.len() == 2);
}

#[test]
fn mistakes_name_their_key() {
    for (from, to, key) in [
        ("values = [0, 10]", "values = [0, 200]", "topology.forward.loss"),
        ("values = [0, 10]", "values = []", "axis[0].values"),
        ("\"topology.forward.loss\", ", "\"loss\", ", "axis[0].keys"),
        ("\"topology.forward.loss\", ", "\"topology.forward.lost\", ", "topology.forward.lost"),
        ("every_ms = 256", "every_ms = 0", "workload.periodic.every_ms"),
        ("series = true", "series = false", "table[1].metrics[1]"),
        (
            "metric = \"transfer_ms.mean\"\n\n[[table]]",
            "metric = \"speed\"\n\n[[table]]",
            "matrix.metric",
        ),
        ("axis = \"loss\"", "axis = \"delay\"", "plot[0].axis"),
        ("at = { loss = 10 }\nseries", "at = { loss = 5 }\nseries", "plot[1].at"),
        ("at = { loss = 0 } }", "at = {} }", "published[0].measure.at"),
        ("rto = { min_ms = 900 }", "rto = { min = 900 }", "profile[0].parameters"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let error = experiment::parse("my.toml", &SMALL.replacen(from, to, 1)).unwrap_err();
        assert!(matches!(error, LabError::Experiment { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("(key {key}")) && !text.contains('\n'), "{to}: {text}");
    }
}

#[test]
fn flows_can_be_changed_from_the_command_line() {
    let temp = tempfile::tempdir().unwrap();
    let overrides = Overrides {
        profiles: vec!["rfc9260+limited-transmit".into()],
        parameters: vec!["workload.periodic.duration_s=10".into(), "rto.max_ms=2000".into()],
        seed: Some(9),
    };
    let session = session(temp.path(), SMALL, &overrides);
    assert_eq!(session.runs(), 3 * 2 * 2);
    let report = session.run(temp.path(), quiet()).unwrap().report;
    assert!(report.failures.is_empty() && report.about.replications.seed == 9);
    assert!(report.profiles.iter().all(|p| p.parameters.contains("max_ms = 2000.0")));
    // Published numbers that do not fit a changed sweep are left out.
    let overrides = Overrides {
        parameters: vec!["topology.forward.delay_ms=1".into()],
        ..Overrides::default()
    };
    let file = temp.path().join("flow.toml");
    let mut changed = experiment::load_file(&file).unwrap();
    overrides.apply(&mut changed).unwrap();
    assert_eq!(changed.claims().len(), 3);
}
