//! Marks of congestion (ECN, RFC 3168 and draft-stewart-tsvwg-sctpecn) on one path: whether packets say that they may be
//! marked, and what the window was cut for.
//!
//! ```text
//! a mark of TSN t cuts the window    if t > the highest TSN outstanding at the last cut, whatever cut it: once per round trip
//! a loss of TSN t does not cut it    if t <= the highest TSN outstanding at the last cut by a mark
//! ```
//!
//! A way that drops packets which say so is found by what is sent without saying it: that alone arrives. After two
//! expirations of T3-rtx between which no packet that says so was acknowledged, the way may have become such a one.

use std::time::Duration;

use crate::time::Time;

/// SACKs in a row of nothing that left in ECT packets, before those are taken to vanish.
const VANISHED: u8 = 3;
/// Expirations of T3-rtx, in a row or without an ECT packet acknowledged between them, after which the way may be another
/// one.
const ANOTHER_WAY: u32 = 2;

/// The last mark that the peer told.
#[derive(Clone, Copy, Debug)]
struct Heard {
    seq: u64,
    packets: u32,
    /// When it was answered last.
    answered: Time,
}

/// What an ECNE chunk means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnEcho {
    packets: u32,
    answer: Option<u64>,
}

impl EcnEcho {
    /// Packets of which it tells for the first time.
    pub(crate) const fn packets(self) -> u32 {
        self.packets
    }

    /// A CWR chunk is due, with this sequence number.
    pub(crate) const fn answer(self) -> Option<u64> {
        self.answer
    }
}

/// ECN on one path.
#[derive(Debug, Default)]
pub(crate) struct PathMarks {
    /// Since this sequence number ECT packets leave of which it is not known whether they arrive, unless they are `proved`.
    from: Option<u64>,
    proved: bool,
    vanished: u8,
    /// Expirations of T3-rtx since an ECT packet was acknowledged.
    silent: u32,
    /// ECT packets vanish: no more leave.
    given_up: bool,
    /// The highest sequence number outstanding when the window was cut last, and when a mark last cut it.
    cut_until: u64,
    marked_until: u64,
    heard: Option<Heard>,
    /// How often the peer has told of marks.
    told: u64,
    /// The packet being taken has an ECNE chunk for the path.
    echoed: bool,
}

impl PathMarks {
    /// Packets do not vanish for being ECT.
    pub(crate) const fn may_leave(&self) -> bool {
        !self.given_up
    }

    /// An ECT packet leaves, whose lowest chunk is the new one `seq`.
    pub(crate) fn on_sent(&mut self, seq: u64) {
        self.from.get_or_insert(seq);
    }

    /// Of the chunks that a SACK acknowledged `seq` was sent last; one of them left in an `ect` packet, and not again.
    /// `true` if it shows that ECT packets vanish.
    pub(crate) fn on_ack(&mut self, seq: u64, ect: bool) -> bool {
        if ect {
            self.silent = 0;
        }
        if self.proved || self.given_up || self.from.is_none_or(|from| seq < from) {
            return false;
        }
        self.proved = ect;
        self.vanished = if self.proved { 0 } else { self.vanished + 1 };
        self.given_up = self.vanished >= VANISHED;
        self.given_up
    }

    /// T3-rtx has expired, so often in a row: perhaps the way is another one.
    pub(crate) fn on_timeout(&mut self, in_a_row: u32) {
        self.silent += 1;
        if in_a_row >= ANOTHER_WAY || (self.silent >= ANOTHER_WAY && self.proved) {
            self.start_over();
        }
    }

    /// Whether ECT packets arrive is unknown from now on.
    pub(super) fn start_over(&mut self) {
        (self.from, self.proved, self.vanished, self.silent) = (None, false, 0, 0);
    }

    /// A packet is being taken.
    pub(crate) fn begin_packet(&mut self) {
        self.echoed = false;
    }

    /// The packet being taken has an ECNE chunk for the path: its SACK does not let the window grow.
    pub(crate) const fn is_echoed(&self) -> bool {
        self.echoed
    }

    /// The peer tells that `packets` were marked since it heard of CWR, the last of them with `seq`; `None` if they may be
    /// those of another path. Told again, that is answered again after a `round_trip`: the answer may be lost.
    pub(crate) fn hear(
        &mut self,
        now: Time,
        seq: u64,
        packets: Option<u32>,
        round_trip: Duration,
    ) -> EcnEcho {
        self.echoed = true;
        self.told += 1;
        let last = self.heard;
        if let Some(last) = last.filter(|last| seq <= last.seq) {
            let answer = (now.since(last.answered) >= round_trip).then_some(last.seq);
            if answer.is_some() {
                self.heard = Some(Heard { answered: now, ..last });
            }
            return EcnEcho { packets: 0, answer };
        }
        // The count goes on, or began again with CWR.
        let told = last.map_or(0, |last| last.packets);
        let more = |packets: u32| if packets > told { packets - told } else { packets.max(1) };
        self.heard = Some(Heard { seq, packets: packets.unwrap_or(told), answered: now });
        EcnEcho { packets: packets.map_or(0, more), answer: Some(seq) }
    }

    /// The last mark that was told is that of `seq`.
    pub(crate) fn has_heard(&self, seq: u64) -> bool {
        self.heard.is_some_and(|last| last.seq == seq)
    }

    /// It is newer than what was told before.
    pub(crate) fn is_news(&self, seq: u64) -> bool {
        self.heard.is_none_or(|last| seq > last.seq) && !self.is_cut_for(seq)
    }

    /// The window was cut while `seq` was outstanding.
    pub(crate) const fn is_cut_for(&self, seq: u64) -> bool {
        seq <= self.cut_until
    }

    /// A mark cut the window while `seq` was outstanding: its loss is the same congestion.
    #[inline]
    pub(crate) const fn spares(&self, seq: u64) -> bool {
        seq <= self.marked_until
    }

    /// How often the peer has told of marks: since it has done so again, there is congestion, be a loss one or not.
    pub(crate) const fn told(&self) -> u64 {
        self.told
    }

    /// A mark cuts the window, while chunks up to `until` are outstanding.
    pub(crate) fn on_mark(&mut self, until: u64) {
        (self.cut_until, self.marked_until) = (until, until);
    }

    /// A loss does.
    pub(crate) fn on_loss(&mut self, until: u64) {
        self.cut_until = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_millis(1000 + ms)
    }

    #[test]
    fn a_mark_is_answered_once_per_round_trip_and_counted_once() {
        let mut marks = PathMarks::default();
        let first = marks.hear(at(0), 10, Some(2), RTT);
        assert_eq!(first, EcnEcho { packets: 2, answer: Some(10) });
        assert_eq!(marks.hear(at(50), 10, Some(2), RTT), EcnEcho { packets: 0, answer: None });
        assert_eq!(marks.hear(at(100), 10, Some(2), RTT), EcnEcho { packets: 0, answer: Some(10) });
        assert_eq!(marks.hear(at(150), 10, Some(2), RTT), EcnEcho { packets: 0, answer: None });
        // News is answered at once; an earlier one that comes late tells nothing.
        let news = marks.hear(at(151), 14, Some(5), RTT);
        assert_eq!(news, EcnEcho { packets: 3, answer: Some(14) });
        assert_eq!(marks.hear(at(152), 12, Some(3), RTT), EcnEcho { packets: 0, answer: None });
        // What may be another path's is not counted.
        assert_eq!(marks.hear(at(153), 16, None, RTT), EcnEcho { packets: 0, answer: Some(16) });
        // CWR arrived: the peer's count began again.
        let again = marks.hear(at(300), 20, Some(1), RTT);
        assert_eq!(again, EcnEcho { packets: 1, answer: Some(20) });
        assert_eq!(marks.hear(at(301), 21, Some(0), RTT).packets(), 1);
    }

    #[test]
    fn losses_and_marks_of_one_round_trip_are_one() {
        let mut marks = PathMarks::default();
        assert!(!marks.is_cut_for(1) && !marks.spares(1));
        marks.on_mark(20);
        assert!(marks.is_cut_for(20) && marks.spares(20));
        assert!(!marks.is_cut_for(21) && !marks.spares(21));
        marks.on_loss(30);
        assert!(marks.is_cut_for(30) && !marks.spares(21));
        assert_eq!(marks.told(), 0);
        marks.hear(at(0), 25, Some(1), RTT);
        assert!(marks.told() == 1 && marks.is_echoed());
        marks.begin_packet();
        assert!(!marks.is_echoed());
    }

    #[test]
    fn what_arrives_only_without_ect_gives_it_up() {
        let mut marks = PathMarks::default();
        assert!(!marks.on_ack(4, false), "sent before any ECT packet");
        marks.on_sent(5);
        assert!(!marks.on_ack(5, false) && !marks.on_ack(6, false));
        assert!(marks.may_leave());
        assert!(marks.on_ack(7, false));
        assert!(!marks.may_leave());
        assert!(!marks.on_ack(8, false), "told once");
    }

    #[test]
    fn one_that_arrives_proves_the_way_until_it_may_be_another_one() {
        let mut marks = PathMarks::default();
        marks.on_sent(5);
        assert!(!marks.on_ack(5, false) && !marks.on_ack(6, true));
        for seq in 7..20 {
            assert!(!marks.on_ack(seq, false));
        }
        marks.on_timeout(1);
        assert!(marks.proved);
        marks.on_ack(20, true);
        marks.on_timeout(1);
        assert!(marks.proved, "one arrived in between");
        marks.on_timeout(1);
        // What was sent on the old way says nothing of the new one.
        assert!(!marks.on_ack(20, false) && !marks.on_ack(21, false) && !marks.on_ack(22, false));
        marks.on_sent(30);
        assert!(!marks.on_ack(30, false) && !marks.on_ack(31, false));
        assert!(marks.on_ack(32, false));
    }
}
