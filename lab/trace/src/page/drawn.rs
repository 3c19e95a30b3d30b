//! What is drawn of one direction.

use std::collections::BTreeMap;

use super::plot::{Mark, Plot, Series};
use super::rate::{Rate, interval};
use crate::event::Event;
use crate::sender::SenderState;
use crate::statistics::Class;
use crate::terms::{Side, Until};

/// After this many marks of a direction no more are drawn.
const MOST_MARKS: usize = 40_000;

/// Transfer times of no more messages are drawn.
const MOST_MESSAGES: usize = 1_000_000;

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
    /// User data that was sent, or acknowledged for the first time; of the whole time.
    bytes_sent: Rate,
    pub(super) bytes_acked: Rate,
    /// Of each message, in milliseconds; of the whole time, up to [`MOST_MESSAGES`].
    pub(super) transfer: Vec<f64>,
    /// What ends it.
    pub(super) until: Option<Until>,
    /// What the sender says of its first path.
    cwnd: Vec<(f64, f64)>,
    sender_rto: Vec<(f64, f64)>,
    pub(super) marks: usize,
    /// Until when something is drawn, in seconds.
    pub(super) end: f64,
    /// From this time on no marks are drawn.
    full: Option<f64>,
}

impl Drawn {
    /// Draws something.
    pub(super) fn add(&mut self, at: f64, event: &Event<'_>) {
        self.count_in(at, event);
        if self.marks >= MOST_MARKS {
            self.full.get_or_insert(at);
            return;
        }
        let marks = self.draw(at, event);
        if marks > 0 {
            self.marks += marks;
            self.end = self.end.max(at);
        }
    }

    /// Counts what is drawn in sums, which have room for the whole time.
    fn count_in(&mut self, at: f64, event: &Event<'_>) {
        match event {
            Event::Data { bytes, .. } => self.bytes_sent.add(at, f64::from(*bytes)),
            Event::Sack { newly, .. } => self.bytes_acked.add(at, *newly as f64),
            Event::Message { transfer_ms, until, .. } if self.transfer.len() < MOST_MESSAGES => {
                self.transfer.extend(*transfer_ms);
                self.until = Some(*until);
                return;
            }
            _ => return,
        }
        self.end = self.end.max(at);
    }

    /// What is not drawn, if that is so.
    pub(super) fn left_out(&self) -> Option<String> {
        let at = self.full?;
        Some(format!(
            "Marks are drawn of the first {at:.3} s only, {MOST_MARKS} of them; throughput and transfer times are of the \
             whole time."
        ))
    }

    /// Draws something; how many marks that takes.
    fn draw(&mut self, at: f64, event: &Event<'_>) -> usize {
        let mark = |from: i64, to: i64| Mark { x: at, from: from as f64, to: to as f64 };
        match event {
            Event::Data { number, end, again, flight, .. } => {
                self.flight.push((at, *flight as f64));
                let marks = match again {
                    Some(again) => self.again.entry(again.class).or_default(),
                    None => &mut self.sent,
                };
                marks.push(mark(*number, *end));
                2
            }
            Event::Sack { cumulative, gaps, flight, rtt_ms, rto_ms, .. } => {
                self.cumulative.push((at, (cumulative + 1) as f64));
                self.gaps.extend(gaps.iter().map(|(first, last)| mark(*first, last + 1)));
                self.flight.push((at, *flight as f64));
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
            Event::Sender { .. } | Event::Control { .. } | Event::Message { .. } => 0,
        }
    }

    /// How many chunks or segments with user data were sent this way, as far as they are drawn.
    pub(super) fn chunks(&self) -> usize {
        self.sent.len() + self.again.values().map(Vec::len).sum::<usize>()
    }

    /// A state that holds until it changes: until `end` at last.
    fn held(line: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
        let last = line.last().map(|(at, value)| (end.max(*at), *value));
        line.iter().copied().chain(last).collect()
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

    /// The share of the values, in percent, that are no larger than each of them, from nothing on.
    pub(super) fn shares(mut sorted: Vec<f64>) -> Vec<(f64, f64)> {
        sorted.sort_by(f64::total_cmp);
        // Several hundred points tell as much as all of them.
        let all = sorted.len();
        let every = all.div_ceil(400).max(1);
        let shown = (0..all).filter(|n| (n + 1) % every == 0 || n + 1 == all || *n == 0);
        let begin = (all > 0).then_some((0.0, 0.0));
        let shares = shown.map(|n| (sorted[n], 100.0 * (n + 1) as f64 / all as f64));
        begin.into_iter().chain(shares).collect()
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
        let count = |marks: &[Mark]| Drawn::count(marks.iter(), end);
        let held = |line: &[(f64, f64)]| Drawn::held(line, end);
        let step = interval(end);
        let again = Drawn::count(self.again.values().flatten(), end);
        vec![
            over_time("time and sequence", "", false, self.sequence()),
            over_time(
                "throughput, Mbit/s",
                "Mbit/s",
                false,
                vec![
                    Series::line("sent", "sent", self.bytes_sent.mbps(step)),
                    Series::line(
                        "acknowledged for the first time",
                        "acked",
                        self.bytes_acked.mbps(step),
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
                    Series::line("RTO by the standard", "timeout", held(&self.rto)),
                    Series::line("RTO of the sender", "probe", held(&self.sender_rto)),
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
                        held(&self.cwnd),
                    ),
                    Series::line("in flight", "sent", held(&self.flight)),
                ],
            ),
            Plot {
                title: format!(
                    "{from} to {to}: transfer times{}, % of the messages that took no longer",
                    self.until.map_or("", Until::words)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_messages_end_at_all_of_them() {
        let drawn = Drawn { transfer: vec![30.0, 10.0, 20.0, 20.0], ..Drawn::default() };
        assert_eq!(
            drawn.transfer_times(),
            [(0.0, 0.0), (10.0, 25.0), (20.0, 50.0), (20.0, 75.0), (30.0, 100.0)]
        );
        let many = Drawn { transfer: (0..5000).map(f64::from).collect(), ..Drawn::default() };
        let shares = many.transfer_times();
        assert!(shares.len() <= 403);
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
