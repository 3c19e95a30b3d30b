//! Cumulative retransmission delays by number and type (Pedersen §3.2).

use std::collections::BTreeMap;

use tresse_sim::tcp::Delays as Resends;

use crate::flow::metric::RETRANSMISSION_TYPES;

/// What made a chunk be sent again, as an observer on the wire concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// First of its packet, with too few missing reports for a fast retransmit.
    Timeout,
    /// Enough missing reports.
    Fast,
    /// Added to a packet of the above, with at least one missing report.
    ReportedMissing,
    /// Added to a packet of the above without any missing report.
    InFlight,
    /// Timeouts and fast retransmits as a whole.
    Whole,
}

impl Kind {
    fn name(self) -> &'static str {
        RETRANSMISSION_TYPES[self as usize]
    }
}

#[derive(Clone, Copy, Debug)]
struct Delays {
    count: u64,
    min: f64,
    max: f64,
    sum: f64,
}

/// The delays of all retransmissions so far.
#[derive(Debug, Default)]
pub(super) struct Retransmissions {
    /// By number of the retransmission (0: all together) and type.
    delays: BTreeMap<(u32, Kind), Delays>,
}

impl Retransmissions {
    /// Notes that a chunk was sent again for the `number`-th time, `ms` after its first
    /// transmission.
    pub(super) fn note(&mut self, number: u32, kind: Kind, ms: f64) {
        for number in [number, 0] {
            self.add(number, kind, ms);
            if matches!(kind, Kind::Timeout | Kind::Fast) {
                self.add(number, Kind::Whole, ms);
            }
        }
    }

    fn add(&mut self, number: u32, kind: Kind, ms: f64) {
        let empty = Delays { count: 0, min: f64::INFINITY, max: 0.0, sum: 0.0 };
        let delays = self.delays.entry((number, kind)).or_insert(empty);
        delays.count += 1;
        delays.min = delays.min.min(ms);
        delays.max = delays.max.max(ms);
        delays.sum += ms;
    }

    /// Writes the metrics. Counts are 0 where nothing occurred, delays are left out; so are
    /// retransmissions beyond the twelfth, which make hundreds of numbers and no statistics.
    pub(super) fn finish(&self, values: &mut BTreeMap<String, f64>) {
        let last = self.delays.keys().map(|(n, _)| *n).max().unwrap_or(0).clamp(3, 12);
        for number in 0..=last {
            let text = if number == 0 { "all".to_owned() } else { number.to_string() };
            let kinds =
                [Kind::Timeout, Kind::Fast, Kind::ReportedMissing, Kind::InFlight, Kind::Whole];
            for kind in kinds {
                let name = format!("retransmission.{text}.{}", kind.name());
                let delays = self.delays.get(&(number, kind));
                let count = delays.map_or(0.0, |d| d.count as f64);
                values.insert(format!("{name}.count"), count);
                if let Some(d) = delays {
                    values.insert(format!("{name}.min_ms"), d.min);
                    values.insert(format!("{name}.max_ms"), d.max);
                    values.insert(format!("{name}.avg_ms"), d.sum / d.count as f64);
                }
            }
        }
    }
}

/// Writes how long after the transmission before the same data was sent again.
pub(super) fn put_resends(resends: &Resends, values: &mut BTreeMap<String, f64>) {
    values.insert("resend.count".into(), resends.count() as f64);
    let names = ["min", "max", "avg", "sd"].into_iter();
    for (name, value) in names.zip(resends.summary().into_iter().flatten()) {
        values.insert(format!("resend_ms.{name}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_and_fast_retransmits_count_as_a_whole_too() {
        let mut all = Retransmissions::default();
        all.note(1, Kind::Timeout, 1000.0);
        all.note(1, Kind::Fast, 500.0);
        all.note(1, Kind::InFlight, 10.0);
        all.note(2, Kind::Timeout, 3000.0);
        let mut values = BTreeMap::new();
        all.finish(&mut values);
        assert_eq!(values["retransmission.1.timeout-or-fast.avg_ms"], 750.0);
        assert_eq!(values["retransmission.1.timeout-or-fast.min_ms"], 500.0);
        assert_eq!(values["retransmission.all.timeout.count"], 2.0);
        assert_eq!(values["retransmission.1.in-flight.count"], 1.0);
        assert_eq!(values["retransmission.3.fast.count"], 0.0);
        assert!(!values.contains_key("retransmission.3.fast.avg_ms"));
    }
}
