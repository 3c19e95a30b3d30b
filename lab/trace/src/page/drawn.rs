//! What is drawn of one direction.

use std::collections::BTreeMap;

use super::plot::{Mark, Plot, Series};
use crate::event::Event;
use crate::sender::SenderState;
use crate::statistics::Class;
use crate::terms::Side;

/// This many intervals at most divide the time for throughput.
const INTERVALS: f64 = 150.0;

/// What is drawn of one direction.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// Time in seconds and numbers of what was sent.
    sent: Vec<Mark>,
    again: BTreeMap<Option<Class>, Vec<Mark>>,
    spurious: Vec<Mark>,
    /// When it was sent, where captures of both ends show that it never came.
    lost: Vec<Mark>,
    cumulative: Vec<(f64, f64)>,
    gaps: Vec<Mark>,
    rtt: Vec<Mark>,
    rto: Vec<(f64, f64)>,
    flight: Vec<(f64, f64)>,
    /// Time, and bytes of user data that were sent, or acknowledged for the first time.
    bytes_sent: Vec<(f64, f64)>,
    pub(super) bytes_acked: Vec<(f64, f64)>,
    /// Of each message, in milliseconds.
    pub(super) transfer: Vec<f64>,
    /// What the sender says of its first path.
    cwnd: Vec<(f64, f64)>,
    sender_rto: Vec<(f64, f64)>,
    pub(super) marks: usize,
    /// Until when something is drawn, in seconds.
    pub(super) end: f64,
    /// From this time on nothing is drawn.
    pub(super) full: Option<f64>,
}

impl Drawn {
    /// Draws something.
    pub(super) fn add(&mut self, at: f64, event: &Event<'_>) {
        let marks = self.draw(at, event);
        if marks > 0 {
            self.marks += marks;
            self.end = self.end.max(at);
        }
    }

    /// Draws something; how many marks that takes.
    fn draw(&mut self, at: f64, event: &Event<'_>) -> usize {
        let mark = |from: i64, to: i64| Mark { x: at, from: from as f64, to: to as f64 };
        match event {
            Event::Data { number, end, again, bytes, .. } => {
                let marks = match again {
                    Some(again) => self.again.entry(again.class).or_default(),
                    None => &mut self.sent,
                };
                marks.push(mark(*number, *end));
                self.bytes_sent.push((at, f64::from(*bytes)));
                1
            }
            Event::Sack { cumulative, gaps, flight, newly, rtt_ms, rto_ms, .. } => {
                self.cumulative.push((at, (cumulative + 1) as f64));
                self.gaps.extend(gaps.iter().map(|(first, last)| mark(*first, last + 1)));
                self.flight.push((at, *flight as f64));
                self.bytes_acked.push((at, *newly as f64));
                if let Some(ms) = rtt_ms {
                    self.rtt.push(Mark { x: at, from: *ms, to: *ms });
                }
                if let Some(ms) = rto_ms {
                    self.rto.push((at, *ms));
                }
                2 + gaps.len()
            }
            Event::Spurious { number, .. } => {
                self.spurious.push(mark(*number, number + 1));
                1
            }
            Event::Lost { number, .. } => {
                self.lost.push(mark(*number, number + 1));
                1
            }
            Event::Message { transfer_ms, .. } => {
                self.transfer.extend(*transfer_ms);
                0
            }
            Event::Sender { state: SenderState::Window { cwnd, .. }, path: 0, .. } => {
                self.cwnd.push((at, *cwnd as f64));
                1
            }
            Event::Sender {
                state: SenderState::Rtt { rto_ms, .. } | SenderState::Expired { rto_ms },
                path: 0,
                ..
            } => {
                self.sender_rto.push((at, *rto_ms));
                1
            }
            Event::Sender { .. } | Event::Control { .. } => 0,
        }
    }

    /// Whether no user data was sent this way.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.again.is_empty()
    }

    /// Mbit/s of user data in each interval, as steps.
    pub(super) fn throughput(bytes: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
        let step = interval(end);
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for (at, bytes) in bytes {
            *sums.entry((at / step) as u64).or_default() += bytes;
        }
        let Some(last) = sums.last_key_value().map(|(n, _)| *n) else { return Vec::new() };
        let mbps = |n| sums.get(&n).map_or(0.0, |bytes| bytes * 8.0 / step / 1e6);
        (0..=last + 1).map(|n| (n as f64 * step, mbps(n))).collect()
    }

    /// How many there were until each time.
    fn count<'a>(marks: impl Iterator<Item = &'a Mark>, end: f64) -> Vec<(f64, f64)> {
        let mut times: Vec<f64> = marks.map(|mark| mark.x).collect();
        if times.is_empty() {
            return Vec::new();
        }
        times.sort_by(f64::total_cmp);
        let counted = (1..).zip(times).map(|(n, at)| (at, f64::from(n)));
        let mut steps: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(counted).collect();
        steps.extend(steps.last().map(|(_, n)| (end, *n)));
        steps
    }

    /// The share of messages, in percent, that took no more than each transfer time.
    fn transfer_times(&self) -> Vec<(f64, f64)> {
        Drawn::shares(self.transfer.clone())
    }

    /// The share of the values, in percent, that are no larger than each of them.
    pub(super) fn shares(mut sorted: Vec<f64>) -> Vec<(f64, f64)> {
        sorted.sort_by(f64::total_cmp);
        // Several hundred points tell as much as all of them.
        let all = sorted.len();
        let every = all.div_ceil(400).max(1);
        let shown = (0..all).filter(|n| (n + 1) % every == 0 || n + 1 == all || *n == 0);
        shown.map(|n| (sorted[n], 100.0 * (n + 1) as f64 / all as f64)).collect()
    }

    /// All plots of the direction; those over time are of the group of their association, and end when it does.
    pub(super) fn plots(&self, side: Side, group: u64, end: f64) -> Vec<Plot<'_>> {
        let (from, to) = (side.name(), side.other().name());
        let over_time = |what: &str, y_label, may_be_log, series| Plot {
            title: format!("{from} to {to}: {what}"),
            x_label: "s",
            y_label,
            time: Some((group, end)),
            may_be_log,
            series,
        };
        let of = Drawn::throughput;
        let count = |marks: &[Mark]| Drawn::count(marks.iter(), end);
        let again = Drawn::count(self.again.values().flatten(), end);
        vec![
            over_time("time and sequence", "", false, self.sequence()),
            over_time(
                "throughput, Mbit/s",
                "Mbit/s",
                false,
                vec![
                    Series::line("sent", "sent", of(&self.bytes_sent, end)),
                    Series::line(
                        "acknowledged for the first time",
                        "acked",
                        of(&self.bytes_acked, end),
                    ),
                ],
            ),
            over_time(
                "lost and sent again so far, chunks or segments",
                "",
                false,
                vec![
                    Series::line("sent again", "fast", again),
                    Series::line("lost on the way", "timeout", count(&self.lost)),
                    Series::line("proven spurious", "spurious", count(&self.spurious)),
                ],
            ),
            over_time(
                "round-trip time and RTO, ms",
                "ms",
                true,
                vec![
                    Series::line("RTO by the standard", "timeout", self.rto.clone()),
                    Series::line("RTO of the sender", "probe", self.sender_rto.clone()),
                    Series::marks("RTT", "sent", &self.rtt),
                ],
            ),
            over_time(
                "in flight, bytes",
                "bytes",
                true,
                vec![
                    Series::line(
                        "congestion window of the first path",
                        "timeout",
                        self.cwnd.clone(),
                    ),
                    Series::line("in flight", "sent", self.flight.clone()),
                ],
            ),
            Plot {
                title: format!(
                    "{from} to {to}: transfer times, % of the messages that took no longer"
                ),
                x_label: "ms",
                y_label: "%",
                time: None,
                may_be_log: false,
                series: vec![Series::line("messages", "acked", self.transfer_times())],
            },
        ]
    }

    fn sequence(&self) -> Vec<Series<'_>> {
        let class = |class: Option<Class>| match class {
            None => ("acknowledged already", "late"),
            Some(class) => (class.words(), class.name()),
        };
        let mut sequence = vec![
            Series::line("acknowledged", "acked", self.cumulative.clone()),
            Series::marks("in gap blocks", "gaps", &self.gaps),
            Series::marks("sent", "sent", &self.sent),
        ];
        sequence.extend(self.again.iter().map(|(kind, marks)| {
            let (label, style) = class(*kind);
            Series::marks(label, style, marks)
        }));
        sequence.push(Series::marks("lost on the way", "lost", &self.lost));
        sequence.push(Series::marks(
            "proven spurious (when it is known)",
            "spurious",
            &self.spurious,
        ));
        sequence
    }
}

/// A round interval of which no more than [`INTERVALS`] are in this many seconds.
fn interval(end: f64) -> f64 {
    let rough = (end / INTERVALS).max(1e-4);
    let unit = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit);
    steps.into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(rough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_of_intervals_of_round_length() {
        // 15 s: intervals of 100 ms.
        let steps = Drawn::throughput(&[(0.01, 1000.0), (0.06, 250.0), (0.31, 5000.0)], 15.0);
        let near = [(0.0, 0.1), (0.1, 0.0), (0.2, 0.0), (0.3, 0.4), (0.4, 0.0)];
        assert_eq!(steps.len(), near.len());
        for ((at, mbps), (when, expected)) in steps.into_iter().zip(near) {
            assert!((at - when).abs() < 1e-9 && (mbps - expected).abs() < 1e-9, "{at} {mbps}");
        }
    }

    #[test]
    fn shares_of_messages_end_at_all_of_them() {
        let drawn = Drawn { transfer: vec![30.0, 10.0, 20.0, 20.0], ..Drawn::default() };
        assert_eq!(
            drawn.transfer_times(),
            [(10.0, 25.0), (20.0, 50.0), (20.0, 75.0), (30.0, 100.0)]
        );
        let many = Drawn { transfer: (0..5000).map(f64::from).collect(), ..Drawn::default() };
        let shares = many.transfer_times();
        assert!(shares.len() <= 402);
        assert_eq!(shares.last(), Some(&(4999.0, 100.0)));
    }

    #[test]
    fn what_is_counted_begins_at_nothing_and_holds_until_the_end() {
        let marks = [2.0, 1.0].map(|x| Mark { x, from: 0.0, to: 1.0 });
        let steps = Drawn::count(marks.iter(), 3.0);
        assert_eq!(steps, [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 2.0)]);
        assert!(Drawn::count([].iter(), 3.0).is_empty());
    }
}
