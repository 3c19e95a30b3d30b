//! The averages of Pedersen (2006), Tables 3.6 and 3.7, by the TCP of Linux 2.6.15 in the simulator.
//!
//! `cargo run --release -p tresse-sim --example tcp`: for each cell the published average and that of ours, with the
//! smallest and the largest of ten runs.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use tresse_core::Time;
use tresse_netem::TicksConfig;
use tresse_sim::tcp::{Options, Sink, Source, Traffic};
use tresse_sim::{LinkConfig, Route, Simulation};

/// Plain, then with SACK (S), D-SACK (D) and FACK (F).
const VARIANTS: [(&str, [bool; 3]); 5] = [
    ("plain", [false, false, false]),
    ("S", [true, false, false]),
    ("S+D", [true, true, false]),
    ("S+D+F", [true, true, true]),
    ("S+F", [true, false, true]),
];

/// A round-trip time of a table, the delay each way, and the published averages of the variants.
type Row = (&'static str, f64, [f64; 5]);

const THICK: [Row; 3] = [
    ("0", 0.1, [46.6, 42.1, 40.1, 36.9, 34.6]),
    ("100", 50.0, [251.6, 227.6, 239.2, 214.6, 231.5]),
    ("200", 100.0, [443.4, 395.1, 400.1, 366.5, 375.1]),
];

const THIN: [Row; 4] = [
    ("0", 0.1, [231.7, 224.5, 233.4, 234.6, 225.2]),
    ("100", 50.0, [328.3, 348.5, 388.4, 360.3, 392.6]),
    ("200", 100.0, [481.6, 488.2, 461.1, 464.6, 487.3]),
    ("400", 200.0, [728.4, 692.5, 693.0, 708.7, 697.8]),
];

/// Smallest, largest and average delay and the deviation of one run.
fn play(
    options: Options,
    traffic: Traffic,
    delay_ms: f64,
    seconds: u64,
    seed: u64,
) -> Result<[f64; 4], Box<dyn Error>> {
    let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let mut simulation = Simulation::new(seed);
    let ahead = |n: u64| Duration::from_micros((seed * n) % 4000);
    let source = Source::new(options, traffic, a, b, ahead(1237));
    let source = simulation.add_node("source", Box::new(source));
    let sink = Sink::new(options, b, a, ahead(2711));
    let sink = simulation.add_node("sink", Box::new(sink));
    // netem's ticks, as in the laboratory's experiments of the same thesis.
    let ticks = (delay_ms > 1.0).then_some(TicksConfig { every_ms: 4.0, slow_ppm: 10.0 });
    let link = LinkConfig { loss: 0.05, ticks, ..LinkConfig::new(100_000.0, delay_ms) };
    simulation.add_link(source, sink, Route::to(b), link.clone())?;
    simulation.add_link(sink, source, Route::to(a), link)?;
    simulation.run(Time::from_millis(1000 * seconds));
    let summary = simulation.app::<Source>(source).delays().summary();
    summary.ok_or_else(|| "nothing was sent again".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let every = Duration::from_millis(256);
    let thin = Traffic::Periodic { bytes: 100, every, messages: 7031 };
    let tables = [("Table 3.6", Traffic::Bulk, 600, &THICK[..]), ("Table 3.7", thin, 1800, &THIN)];
    println!("table      RTT  variant  published  ours (smallest to largest); min, max, deviation");
    for (table, traffic, seconds, rows) in tables {
        for (rtt, delay_ms, published) in rows {
            for ((name, [sack, dsack, fack]), published) in VARIANTS.into_iter().zip(published) {
                let options = Options { sack, dsack, fack };
                let runs = (1..=10).map(|seed| play(options, traffic, *delay_ms, seconds, seed));
                let runs = runs.collect::<Result<Vec<_>, _>>()?;
                let of = |i: usize| runs.iter().map(move |run| run[i]);
                let mean = |i| of(i).sum::<f64>() / runs.len() as f64;
                let least = of(2).fold(f64::INFINITY, f64::min);
                let most = of(2).fold(0.0, f64::max);
                println!(
                    "{table} {rtt:>5}  {name:<7} {published:>10.1}  {:.1} ({least:.1} to {most:.1}); {:.1}, {:.1}, {:.1}",
                    mean(2),
                    mean(0),
                    mean(1),
                    mean(3)
                );
            }
        }
    }
    Ok(())
}
