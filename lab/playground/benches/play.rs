//! How long a minute of each preset takes, with its story written as the page reads it.

use criterion::{Criterion, criterion_group, criterion_main};
use tresse_playground::{Scenario, Traffic, play, presets};

/// Traffic for the whole minute.
fn endless(traffic: &Traffic) -> Traffic {
    match *traffic {
        Traffic::Thin { size, interval_ms, .. } => {
            Traffic::Thin { size, interval_ms, messages: None }
        }
        Traffic::Bulk { size, .. } => Traffic::Bulk { size, messages: None },
        Traffic::Bursts { size, burst, interval_ms, .. } => {
            Traffic::Bursts { size, burst, interval_ms, bursts: None }
        }
    }
}

fn minutes(c: &mut Criterion) {
    let mut group = c.benchmark_group("a minute of each side");
    group.sample_size(10);
    for preset in presets() {
        let traffic = endless(&preset.scenario.traffic);
        let scenario = Scenario { seconds: 60.0, traffic, ..preset.scenario };
        group.bench_function(preset.name, |b| {
            b.iter(|| serde_json::to_string(&play(&scenario).expect("a preset")).map(|s| s.len()));
        });
    }
    group.finish();
}

criterion_group!(benches, minutes);
criterion_main!(benches);
