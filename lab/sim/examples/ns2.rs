//! All scenarios for which there are reference values of ns-2.35, with the reference beside ours:
//! `cargo run --release -p tresse-sim --example ns2`. What they are and why they differ is said in
//! `tests/ns2/main.rs`.

#[path = "../tests/ns2/scenario.rs"]
mod scenario;

use std::thread;

use scenario::{Mean, Outcome, Scenario, finished, highest};
use tresse_netem::SpikePlace;

/// As many as the reference has.
const SEEDS: u64 = 60;

/// One row: what it is, the scenario, what is measured, and the reference with its
/// margin, if it is known.
type Row = (String, Scenario, fn(&Outcome) -> f64, Option<(f64, Option<f64>)>);

const PLACES: [SpikePlace; 3] = [SpikePlace::Sender, SpikePlace::Link, SpikePlace::Receiver];

fn spikes(rows: &mut Vec<Row>) {
    let reference = [
        ([10.0, 20.0], [(11_474.0, 98.0), (11_255.0, 97.0), (11_252.0, 99.0)], (12_143.0, 100.0)),
        ([30.0, 40.0], [(14_294.0, 94.0), (14_177.0, 94.0), (14_202.0, 94.0)], (14_618.0, 93.0)),
        ([50.0, 60.0], [(15_007.0, 83.0), (14_928.0, 83.0), (14_947.0, 83.0)], (15_247.0, 82.0)),
        ([70.0, 80.0], [(15_633.0, 64.0), (15_580.0, 64.0), (15_593.0, 63.0)], (15_790.0, 63.0)),
    ];
    for (interval, plain, patient) in reference {
        let [low, high] = interval;
        for (place, reference) in PLACES.into_iter().zip(plain) {
            let what = format!("spikes every {low}-{high} s at the {place:?}");
            let scenario = Scenario::new().spikes(interval, place);
            let (value, margin) = reference;
            rows.push((what, scenario, highest, Some((value, Some(margin)))));
        }
        let what = format!("spikes every {low}-{high} s, the timer never fires");
        let scenario = Scenario::new().spikes(interval, SpikePlace::Sender).patient();
        let (value, margin) = patient;
        rows.push((what, scenario, highest, Some((value, Some(margin)))));
    }
}

fn downloads(rows: &mut Vec<Row>) {
    let plain = Scenario::new().download();
    rows.push(("4 MiB at 250 kbit/s, s".into(), plain.clone(), finished, Some((139.6, None))));
    for (place, reference) in
        PLACES.into_iter().zip([(197.3, Some(2.0)), (213.6, None), (197.6, None)])
    {
        let what = format!("4 MiB, spikes at the {place:?}, s");
        rows.push((what, plain.clone().spikes([10.0, 20.0], place), finished, Some(reference)));
    }
    let patient = plain.spikes([10.0, 20.0], SpikePlace::Sender).patient();
    rows.push((
        "4 MiB, the timer never fires, s".into(),
        patient,
        finished,
        Some((176.1, Some(1.5))),
    ));
}

fn reordering(rows: &mut Vec<Row>) {
    for (percent, value, margin) in [
        (0.5, 14_399.0, 101.0),
        (1.0, 11_456.0, 113.0),
        (2.0, 8_597.0, 82.0),
        (5.0, 6_101.0, 37.0),
        (10.0, 4_934.0, 31.0),
        (15.0, 4_312.0, 39.0),
    ] {
        let plain = Scenario::new().reorder(percent);
        let literal = plain.clone().without_fast_recovery();
        let ignoring = plain.clone().without_fast_retransmit();
        rows.push((format!("{percent} % reordered"), plain, highest, Some((value, Some(margin)))));
        rows.push((format!("{percent} % reordered, no Fast Recovery"), literal, highest, None));
        rows.push((format!("{percent} % reordered, no fast retransmit"), ignoring, highest, None));
    }
}

fn main() {
    let mut rows = Vec::new();
    rows.push((
        "undisturbed".into(),
        Scenario::new(),
        highest as fn(&_) -> _,
        Some((16_826.0, None)),
    ));
    spikes(&mut rows);
    downloads(&mut rows);
    reordering(&mut rows);
    println!("{:44} {:>16} {:>16} {:>8}", "scenario", "ours", "ns-2.35", "");
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for batch in rows.chunks(threads) {
        let means: Vec<Mean> = thread::scope(|scope| {
            let run = |row: &Row| {
                let (scenario, measure) = (row.1.clone(), row.2);
                scope.spawn(move || scenario.mean(SEEDS, measure))
            };
            let started: Vec<_> = batch.iter().map(run).collect();
            started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for ((what, _, _, reference), Mean { value, margin }) in batch.iter().zip(means) {
            let ours = format!("{value:.1} ± {margin:.1}");
            let theirs = match reference {
                Some((there, Some(margin))) => format!("{there} ± {margin}"),
                Some((there, None)) => format!("{there}"),
                None => String::new(),
            };
            let share =
                reference.map(|(there, _)| format!("{:+.1} %", 100.0 * (value / there - 1.0)));
            let share = share.unwrap_or_default();
            println!("{what:44} {ours:>16} {theirs:>16} {share:>8}");
        }
    }
}
