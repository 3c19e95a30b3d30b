//! Each mechanism shows itself: one experiment for every mechanism, and in each of them the two
//! senders differ as its text says.

use std::collections::BTreeSet;

use tresse_core::Profile;
use tresse_lab::experiment::{self, Kind};
use tresse_lab::report::flow::analysis::Analysis;
use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{Experiment, Overrides, Session};

fn parts(profile: &str) -> BTreeSet<&str> {
    profile.split('+').collect()
}

#[test]
fn every_mechanism_has_one_experiment_and_every_experiment_one_mechanism() {
    let mechanisms: BTreeSet<String> =
        Profile::mechanisms().map(|m| format!("{}/{m}", experiment::MECHANISMS)).collect();
    let experiments: BTreeSet<String> =
        experiment::ids_of(experiment::MECHANISMS).into_iter().map(str::to_owned).collect();
    assert_eq!(experiments, mechanisms);
}

#[test]
fn the_senders_differ_in_the_mechanism_alone() {
    for mechanism in Profile::mechanisms() {
        let id = format!("{}/{mechanism}", experiment::MECHANISMS);
        let Experiment { common, kind } = experiment::find(&id).unwrap();
        let Kind::Flow(flow) = kind else { panic!("{mechanism} is no flow") };
        let [without, with] = [0, 1].map(|i| &common.profiles[i]);
        assert!(without.parameters.is_empty() && with.parameters.is_empty(), "{mechanism}");
        let mut expected = parts(&without.name);
        assert!(expected.insert(mechanism), "{mechanism} is in both");
        assert_eq!(parts(&with.name), expected, "{mechanism}");
        let first = flow.effects.first().expect("it is for something");
        assert_eq!((&first.series, &first.against), (&with.label, &without.label), "{mechanism}");
        for plotted in [without, with] {
            let shown = flow.plots.iter().any(|p| p.series == [plotted.label.as_str()]);
            assert!(shown, "{mechanism}: no plot of {}", plotted.label);
        }
    }
}

#[test]
fn every_mechanism_does_what_its_text_says() {
    let temp = tempfile::tempdir().unwrap();
    let execution =
        Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() };
    for id in experiment::ids_of(experiment::MECHANISMS) {
        let session = Session::new(id, &Overrides::default()).unwrap();
        let finished = session.run(temp.path(), execution.clone()).unwrap();
        let report = finished.report;
        assert!(report.failures.is_empty(), "{id}: {:?}", report.failures);
        assert!(report.plots.len() >= 2, "{id}: {:?}", report.plots);
        assert_eq!(report.tables[0].title, "What it changes", "{id}");
        let analysis: Analysis = serde_json::from_value(report.analysis).unwrap();
        assert!(!analysis.effects.is_empty(), "{id}");
        for effect in &analysis.effects {
            assert_eq!(effect.verdict.word(), "agrees", "{id}: {effect:?}");
        }
        let svg = std::fs::read_to_string(temp.path().join(id).join("with.svg")).unwrap();
        for word in ["Time (s)", "TSN", "Data sent", "Acknowledged", "Message delivered"] {
            assert!(svg.contains(word), "{id}: {word}");
        }
    }
}

/// What was lost, from the trace of `id`: profile, TSN and time.
fn lost(id: &str) -> Vec<String> {
    let temp = tempfile::tempdir().unwrap();
    let session = Session::new(id, &Overrides::default()).unwrap();
    session.run(temp.path(), Execution::default()).unwrap();
    let csv = std::fs::read_to_string(temp.path().join(id).join("sequence.csv")).unwrap();
    let wanted = |line: &&str| line.ends_with(",lost");
    csv.lines().filter(wanted).map(|l| l.split(',').skip(1).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn the_trace_knows_which_transmissions_were_lost() {
    // Twice the same message, and the bytes of both packets are the same.
    let twice = ["2,5,1,lost", "3,5,1,lost"];
    let without = twice.map(|step| format!("rfc9260,rfc9260,1,{step}"));
    let lost_of_single = lost("mechanisms/thin-no-backoff");
    assert_eq!(lost_of_single[..2], without);
    assert_eq!(lost_of_single.len(), 4);
    // Late is not lost.
    assert_eq!(lost("mechanisms/early-retransmit-switch-off"), Vec::<String>::new());
    assert_eq!(lost("mechanisms/dup-tsn"), Vec::<String>::new());
}
