//! Time series of the sender's state, from its trace events.

use std::collections::BTreeMap;

use tresse_core::{Time, TraceEvent};
use tresse_report::statistics::{mean, percentile};

use crate::flow::record::Traces;

/// The most points that are kept of one series for plots; metrics use all.
const MOST_POINTS: usize = 4000;

/// Records what the sender says of its timers and windows.
#[derive(Debug, Default)]
pub(super) struct SeriesObserver {
    series: BTreeMap<String, Vec<(Time, f64)>>,
    /// Losses that the sender found to have been none.
    spurious: u64,
}

impl SeriesObserver {
    pub(super) fn on_trace(&mut self, now: Time, event: &TraceEvent) {
        match event {
            TraceEvent::Rtt { path, sample, rto, .. } => {
                self.note("rtt_ms", path.0, now, sample.as_secs_f64() * 1e3);
                self.note("rto_ms", path.0, now, rto.as_secs_f64() * 1e3);
            }
            TraceEvent::RtoMin { rto_min } => {
                self.note("rto_min_ms", 0, now, rto_min.as_secs_f64() * 1e3);
            }
            TraceEvent::Spurious { .. } => self.spurious += 1,
            TraceEvent::Window { path, cwnd, .. } => self.note("cwnd", path.0, now, *cwnd as f64),
            _ => {}
        }
    }

    /// The association is up, with such a window on each path: one that never changes is one, too.
    pub(super) fn begin(&mut self, now: Time, windows: impl Iterator<Item = usize>) {
        for (path, cwnd) in (0u8..).zip(windows) {
            self.note("cwnd", path, now, cwnd as f64);
        }
    }

    fn note(&mut self, name: &str, path: u8, now: Time, value: f64) {
        if path == 0 {
            if let Some(points) = self.series.get_mut(name) {
                points.push((now, value));
                return;
            }
            self.series.insert(name.to_owned(), vec![(now, value)]);
        } else {
            let name = format!("{name}.{}", path + 1);
            self.series.entry(name).or_default().push((now, value));
        }
    }

    /// Metrics of each series into `values`, and the series themselves.
    pub(super) fn finish(
        self,
        origin: Time,
        values: &mut BTreeMap<String, f64>,
        traces: &mut Traces,
    ) {
        values.insert("spurious".to_owned(), self.spurious as f64);
        for (name, points) in self.series {
            let all: Vec<f64> = points.iter().map(|(_, v)| *v).collect();
            let mut put = |statistic: &str, value: Option<f64>| {
                if let Some(value) = value {
                    values.insert(format!("{name}.{statistic}"), value);
                }
            };
            put("mean", mean(&all));
            put("min", all.iter().copied().reduce(f64::min));
            put("max", all.iter().copied().reduce(f64::max));
            put("median", percentile(&all, 50.0));
            put("p95", percentile(&all, 95.0));
            put("p99", percentile(&all, 99.0));
            put("settled", settled(&points));
            let every = points.len().div_ceil(MOST_POINTS).max(1);
            let thin = points.iter().step_by(every);
            let seconds = |at: Time| (at.since(origin).as_secs_f64() * 1e6).round() / 1e6;
            let round = |v: f64| (v * 1e3).round() / 1e3;
            traces.series.insert(name, thin.map(|(at, v)| [seconds(*at), round(*v)]).collect());
        }
    }
}

/// Mean over the second half of the time that the series covers.
fn settled(points: &[(Time, f64)]) -> Option<f64> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let middle = first + last.since(first) / 2;
    mean(&points.iter().filter(|(at, _)| *at >= middle).map(|(_, v)| *v).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_become_metrics_and_stay_short() {
        let mut observer = SeriesObserver::default();
        for n in 0..10_000u64 {
            let value = if n < 5000 { 10.0 } else { 30.0 };
            observer.note("cwnd", 0, Time::from_millis(n), value);
            observer.note("cwnd", 1, Time::from_millis(n), 7.0);
        }
        let (mut values, mut traces) = (BTreeMap::new(), Traces::default());
        observer.finish(Time::ZERO, &mut values, &mut traces);
        assert_eq!(values["cwnd.mean"], 20.0);
        assert_eq!(values["cwnd.settled"], 30.0);
        assert_eq!((values["cwnd.min"], values["cwnd.2.max"]), (10.0, 7.0));
        assert!(traces.series["cwnd"].len() <= MOST_POINTS);
        assert_eq!(traces.series["cwnd.2"][1], [0.003, 7.0]);
    }
}
