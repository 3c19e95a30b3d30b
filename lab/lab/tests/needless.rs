//! What the default profile sends twice on the workloads of Hurtig & Brunstrom (2007), whose bursts fill the link and
//! lose one packet in each run, and whether a lost message is the sooner for it.

use tresse_lab::report::{MatrixEntry, MatrixRow};
use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{Overrides, Session};

/// Bursts of seven at fixed distances, and random ones: three bandwidths and five delays each.
const EXPERIMENTS: [&str; 3] = ["fig5", "fig10", "fig11"];

fn rows(figure: &str, parameters: &[&str]) -> Vec<MatrixRow> {
    let folder = tempfile::tempdir().unwrap();
    let parameters = parameters.iter().map(ToString::to_string).collect();
    let overrides = Overrides { parameters, ..Overrides::default() };
    let session = Session::new(&format!("hurtig/{figure}"), &overrides).unwrap();
    let quiet = Execution { progress: ProgressMode::Silent, ..Execution::default() };
    let report = session.run(folder.path(), quiet).unwrap().report;
    assert!(report.failures.is_empty(), "{figure}: {:?}", report.failures);
    report.matrix
}

fn of<'a>(row: &'a MatrixRow, profile: &str) -> &'a MatrixEntry {
    row.entries.iter().find(|e| e.profile == profile).expect("a profile of the experiment")
}

/// Chunks of one cell and one replication that may be needless without harm: less than one percent of its packets, of which a cell
/// has 6000 at least.
const FEW: f64 = 10.0;

/// The timers had not allowed for the peer's delay of the last SACK of a burst: up to 0.6 % of the packets were in
/// vain.
#[test]
fn no_more_is_repeated_in_vain_than_by_rfc_9260() {
    for figure in EXPERIMENTS {
        let rows = rows(figure, &["replications.count=1"]);
        assert_eq!(rows.len(), 15, "{figure}");
        let mut all = (0.0, 0.0);
        for row in rows {
            let duplicates = |profile| {
                let runs = &of(&row, profile).duplicates;
                assert!(!runs.is_empty(), "counted");
                // Of the only replication, without the rounding of a mean.
                (runs.values().sum::<f64>() / runs.len() as f64).round()
            };
            let (ours, theirs) = (duplicates("tresse"), duplicates("rfc9260"));
            println!("{figure}, {}: {ours} against {theirs}", row.workload);
            assert!(ours <= FEW.max(2.0 * theirs), "{figure}, {}", row.workload);
            all = (all.0 + ours, all.1 + theirs);
        }
        assert!(all.0 <= all.1, "{figure}: {all:?}");
    }
}

/// At 500 kbit/s a burst of seven takes nearly the whole pause: what is not repaired before the next one waits behind it.
#[test]
fn a_lost_message_is_no_later_than_with_the_best_published_variant() {
    let slow = ["topology.bandwidth_kbps=[500]", "topology.delay_ms=[20,25]"];
    for row in rows("fig5", &slow) {
        let mean = |e: &MatrixEntry| e.value.value;
        let published = row.entries.iter().filter(|e| !e.extra);
        let best = published.min_by(|a, b| mean(a).total_cmp(&mean(b))).expect("a variant");
        let ours = mean(of(&row, "tresse"));
        println!("{}: {ours:.1} ms, {} {:.1} ms", row.workload, best.series, mean(best));
        assert!(!row.higher_is_better && ours <= mean(best), "{}", row.workload);
    }
}
