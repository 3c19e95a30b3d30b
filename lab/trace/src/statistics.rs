//! What is known of many delays, in memory that does not depend on how many they are.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;
use tresse_core::{LossCause, LossEvidence, LossPurpose};

/// Retransmissions of the same chunk beyond this one are counted together.
pub const MOST_NUMBERED: u32 = 12;

/// Percentiles know nothing beyond: a month, in microseconds.
const LARGEST: f64 = 2.6e12;
/// This many values are kept as they are. A capture may have a great many associations with a few
/// messages each, and a histogram takes more than ten kilobytes.
const FEW: usize = 64;

/// What percentiles are taken from: values in microseconds.
#[derive(Clone, Debug)]
enum Spread {
    /// Each of them.
    Few(Vec<u64>),
    /// To two digits.
    Many(Histogram<u64>),
}

impl Spread {
    fn add(&mut self, value: u64) {
        match self {
            Spread::Few(values) if values.len() < FEW => values.push(value),
            Spread::Few(_) => {
                let _ = self.many().record(value);
            }
            // It grows as far as it needs to.
            Spread::Many(histogram) => {
                let _ = histogram.record(value);
            }
        }
    }

    fn merge(&mut self, other: &Spread) {
        match other {
            Spread::Few(values) => values.iter().for_each(|value| self.add(*value)),
            // A histogram that grows by itself takes in every other.
            Spread::Many(histogram) => {
                let _ = self.many().add(histogram);
            }
        }
    }

    /// As a histogram from now on.
    fn many(&mut self) -> &mut Histogram<u64> {
        if let Spread::Few(values) = self {
            let mut histogram = Histogram::new(2).expect("two digits are allowed");
            for value in values {
                let _ = histogram.record(*value);
            }
            *self = Spread::Many(histogram);
        }
        let Spread::Many(histogram) = self else { unreachable!("it has just become one") };
        histogram
    }

    /// For each of them, the smallest value that this many per cent of all do not exceed.
    fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [u64; N] {
        match self {
            Spread::Few(values) => {
                let mut values = values.clone();
                values.sort_unstable();
                percents.map(|percent| {
                    let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
                    values.get(rank.max(1) - 1).copied().unwrap_or(0)
                })
            }
            Spread::Many(histogram) => {
                percents.map(|percent| histogram.value_at_percentile(percent))
            }
        }
    }
}

/// What made a chunk be sent again, as an observer on the wire concludes (Pedersen, appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// First of its packet, with too few missing reports for a fast retransmit.
    Timeout,
    /// Enough missing reports.
    Fast,
    /// Added to a packet that a timeout caused, with at least one missing report.
    ReportedMissing,
    /// Added to a packet that another retransmission caused, or new data, without any missing report.
    InFlight,
    /// The newest chunk although older ones of the same path are outstanding, which a timer that
    /// has expired would send first: a tail loss probe (RFC 8985 §7).
    Probe,
    /// Reported missing, but less often than a fast retransmit takes, and sent again sooner than a timer could
    /// expire: Early Retransmit (RFC 5827), RACK (RFC 8985), the fast retransmit of thin streams.
    Early,
    /// Sent again sooner than a timer of the standard could expire, in a packet of its own and without any missing report: a
    /// probe of all that is in flight, or a shorter timer. Packets do not show which.
    Unknown,
    /// None of these, as its sender's log says: its path failed, it leaves over another one as well, it was a probe of a closed
    /// window, or the peer has told that it came damaged.
    Other,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 8] = [
        Class::Timeout,
        Class::Fast,
        Class::ReportedMissing,
        Class::InFlight,
        Class::Probe,
        Class::Early,
        Class::Unknown,
        Class::Other,
    ];

    /// How many of those that were sent again are of it, in words.
    pub(crate) const fn among_retransmissions(self) -> &'static str {
        match self {
            Class::Timeout => "of them by timeout",
            Class::Fast => "of them by fast retransmit",
            Class::ReportedMissing => "of them reported missing, with a timeout",
            Class::InFlight => "of them still in flight, with another one or new data",
            Class::Probe => "of them tail loss probes",
            Class::Early => "of them early, by fewer reports",
            Class::Unknown => "of them too soon for a timer, for no reason that is seen",
            Class::Other => "of them for another reason",
        }
    }

    /// The class of what a sender of ours calls a cause (docs/qlog.md).
    pub(crate) fn of_cause(cause: &str) -> Class {
        use LossEvidence::{
            Counted, FewerCounted, InFlight, OneSack, Overtaken, Reported, TimedOut, Void,
        };
        use LossPurpose::{Copy, Detour, Filling, Repair, TailProbe, WindowProbe};
        let Some(cause) = LossCause::named(cause) else { return Class::Other };
        match (cause.evidence(), cause.purpose()) {
            (TimedOut, _) => Class::Timeout,
            (Counted, _) => Class::Fast,
            (FewerCounted | OneSack | Overtaken, _) => Class::Early,
            (InFlight | Void, TailProbe) => Class::Probe,
            (InFlight | Void, Filling) => Class::InFlight,
            (InFlight | Void, Repair | Detour | Copy | WindowProbe) | (Reported, _) => Class::Other,
        }
    }

    /// As it stands in tables of values; the same word as in the laboratory's metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::Timeout => "timeout",
            Class::Fast => "fast",
            Class::ReportedMissing => "reported-missing",
            Class::InFlight => "in-flight",
            Class::Probe => "probe",
            Class::Early => "early",
            Class::Unknown => "unknown",
            Class::Other => "other",
        }
    }

    /// As it stands in a listing (Pedersen, figures 3.9 and 3.10).
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Class::Timeout => "Timeout",
            Class::Fast => "Fast retransmit",
            Class::ReportedMissing => "Reported missing",
            Class::InFlight => "In flight",
            Class::Probe => "Probe",
            Class::Early => "Early retransmit",
            Class::Unknown => "Unknown, too soon for a timer",
            Class::Other => "Other cause",
        }
    }
}

/// Name of timeouts and fast retransmits as a whole.
pub const WHOLE: &str = "timeout-or-fast";

/// Summary of many values in milliseconds.
#[derive(Clone, Debug)]
pub struct Delays {
    count: u64,
    min: f64,
    max: f64,
    sum: f64,
    squares: f64,
    spread: Spread,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            count: 0,
            min: f64::INFINITY,
            max: 0.0,
            sum: 0.0,
            squares: 0.0,
            spread: Spread::Few(Vec::new()),
        }
    }
}

/// What tables say of [`Delays`]; all in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelaySummary {
    /// How many there are.
    pub count: u64,
    /// The smallest, exact.
    pub min_ms: f64,
    /// The largest, exact.
    pub max_ms: f64,
    /// Arithmetic mean, exact.
    pub avg_ms: f64,
    /// Sample standard deviation (n − 1); 0 of a single value.
    pub sd_ms: f64,
    /// Median, to 1 % of itself and a microsecond.
    pub p50_ms: f64,
    /// 95th percentile, likewise.
    pub p95_ms: f64,
    /// 99th percentile, likewise.
    pub p99_ms: f64,
}

impl Delays {
    /// Adds a value.
    pub fn note(&mut self, ms: f64) {
        self.count += 1;
        self.min = self.min.min(ms);
        self.max = self.max.max(ms);
        self.sum += ms;
        self.squares += ms * ms;
        self.spread.add((ms * 1e3).round().clamp(0.0, LARGEST) as u64);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Delays) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
        self.spread.merge(&other.spread);
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest in milliseconds, if there is one.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The summary; `None` of nothing.
    #[must_use]
    pub fn summary(&self) -> Option<DelaySummary> {
        if self.count == 0 {
            return None;
        }
        let n = self.count as f64;
        let variance = (self.squares - self.sum * self.sum / n) / (n - 1.0).max(1.0);
        let [p50_ms, p95_ms, p99_ms] = self
            .spread
            .percentiles([50.0, 95.0, 99.0])
            .map(|microseconds| (microseconds as f64 / 1e3).clamp(self.min, self.max));
        Some(DelaySummary {
            count: self.count,
            min_ms: self.min,
            max_ms: self.max,
            avg_ms: self.sum / n,
            sd_ms: variance.max(0.0).sqrt(),
            p50_ms,
            p95_ms,
            p99_ms,
        })
    }
}

/// Which row of the tables: the number of the retransmission (0: all of them, beyond
/// [`MOST_NUMBERED`]: the rest) and its class (`None`: timeouts and fast retransmits as a whole).
type Row = (u32, Option<Class>);

/// Cumulative retransmission delays by number and class (Pedersen, tables 3.2 to 3.5 and 5.1).
#[derive(Clone, Debug, Default)]
pub struct Retransmissions(BTreeMap<Row, Delays>);

/// A row of the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetransmissionRow {
    /// Which retransmission of the same chunk; 0 stands for all of them, and one more than
    /// [`MOST_NUMBERED`] for all that come later.
    pub number: u32,
    /// Name of the class, or [`WHOLE`].
    pub class: &'static str,
    /// The delays since the first transmission.
    #[serde(flatten)]
    pub delays: DelaySummary,
}

impl Retransmissions {
    /// Notes that a chunk was sent again for the `number`-th time, `ms` after its first
    /// transmission.
    pub fn note(&mut self, number: u32, class: Class, ms: f64) {
        for number in [number.min(MOST_NUMBERED + 1), 0] {
            self.0.entry((number, Some(class))).or_default().note(ms);
            if matches!(class, Class::Timeout | Class::Fast) {
                self.0.entry((number, None)).or_default().note(ms);
            }
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Retransmissions) {
        for (row, delays) in &other.0 {
            self.0.entry(*row).or_default().merge(delays);
        }
    }

    /// The rows that have something in them, by number and class; the whole comes last.
    #[must_use]
    pub fn rows(&self) -> Vec<RetransmissionRow> {
        let mut keys: Vec<Row> = self.0.keys().copied().collect();
        keys.sort_by_key(|(number, class)| (*number, class.is_none(), *class));
        let row = |(number, class): Row| {
            let delays = self.0.get(&(number, class))?.summary()?;
            Some(RetransmissionRow { number, class: class.map_or(WHOLE, Class::name), delays })
        };
        keys.into_iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_and_fast_retransmits_count_as_a_whole_too() {
        let mut all = Retransmissions::default();
        all.note(1, Class::Timeout, 1000.0);
        all.note(1, Class::Fast, 500.0);
        all.note(1, Class::InFlight, 10.0);
        all.note(40, Class::Timeout, 3000.0);
        let rows = all.rows();
        let row = |number, class| rows.iter().find(|r| (r.number, r.class) == (number, class));
        let whole = row(1, WHOLE).unwrap().delays;
        assert_eq!((whole.count, whole.min_ms, whole.avg_ms), (2, 500.0, 750.0));
        assert_eq!(row(0, "timeout").unwrap().delays.count, 2);
        assert_eq!(row(MOST_NUMBERED + 1, "timeout").unwrap().delays.max_ms, 3000.0);
        assert!(row(2, "timeout").is_none());
        assert_eq!(rows.iter().filter(|r| r.number == 1).map(|r| r.class).next_back(), Some(WHOLE));
    }

    #[test]
    fn every_cause_of_a_sender_has_a_class() {
        let other: Vec<LossCause> = LossCause::ALL
            .into_iter()
            .filter(|cause| Class::of_cause(cause.name()) == Class::Other)
            .collect();
        use LossCause::{PacketDropReport, PathFailure, Redundant, Rescheduled, ZeroWindowProbe};
        assert_eq!(other, [PathFailure, ZeroWindowProbe, Rescheduled, Redundant, PacketDropReport]);
        assert_eq!(Class::of_cause(LossCause::Timeout.name()), Class::Timeout);
        assert_eq!(Class::of_cause(LossCause::Rack.name()), Class::Early);
    }

    #[test]
    fn few_values_and_many_have_the_same_percentiles() {
        for count in [1, 2, FEW, FEW + 1, 1000] {
            let mut delays = Delays::default();
            (1..=count).rev().for_each(|ms| delays.note(ms as f64));
            let summary = delays.summary().unwrap();
            for (percent, ms) in [(50, summary.p50_ms), (95, summary.p95_ms), (99, summary.p99_ms)]
            {
                let exact = (count * percent).div_ceil(100) as f64;
                assert!((ms - exact).abs() <= exact * 0.01, "{count}: {percent} % are {ms}");
            }
        }
    }

    #[test]
    fn merging_is_noting_all() {
        let (mut a, mut b, mut both) = (Delays::default(), Delays::default(), Delays::default());
        for ms in [1.0, 2.5, 700.0] {
            a.note(ms);
            both.note(ms);
        }
        for ms in [0.0, 90_000.0] {
            b.note(ms);
            both.note(ms);
        }
        a.merge(&b);
        assert_eq!(a.summary(), both.summary());
        let s = both.summary().unwrap();
        assert_eq!((s.count, s.min_ms, s.max_ms), (5, 0.0, 90_000.0));
        assert!((s.p50_ms - 2.5).abs() < 0.03 && s.p99_ms > 89_000.0, "{s:?}");
        // However many either of them has.
        for (own, others) in [(FEW, 1), (1, 2 * FEW), (2 * FEW, 2 * FEW)] {
            let (mut a, mut b, mut both) =
                (Delays::default(), Delays::default(), Delays::default());
            (0..own).for_each(|ms| a.note(ms as f64));
            (0..others).for_each(|ms| b.note(ms as f64));
            (0..own).chain(0..others).for_each(|ms| both.note(ms as f64));
            a.merge(&b);
            assert_eq!(a.summary(), both.summary());
        }
        assert!(Delays::default().summary().is_none());
    }
}
