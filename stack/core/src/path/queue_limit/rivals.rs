//! Whether somebody else fills the queue of a path.
//!
//! Idea: who keeps the queue short yields to a flow that fills it, as loss-based ones do, and starves. Our own packets
//! wait no longer than what [`queue_limit`](super) lets into the queue. If all wait longer, round for round, the
//! path drains; if even what left after that comes late, the queue is not ours, and the congestion window alone
//! rules until a round sees the queue empty (the mode switching of Copa, Arun & Balakrishnan 2018 §2.2, with
//! our own limit as the measure).

use std::time::Duration;

/// Rounds in a row in which all waited longer.
const ROUNDS: u32 = 16;

/// What is known of other flows.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    late_rounds: u32,
    /// The queue drains to see whose it is.
    asked: bool,
    here: bool,
}

impl Rivals {
    /// Others fill the queue.
    pub(super) const fn are_here(&self) -> bool {
        self.here
    }

    /// A round is over: its smallest RTT, the largest that our own packets explain, and whether its queue was
    /// empty. Returns whether the queue should drain.
    pub(super) fn on_round(&mut self, rtt: Option<Duration>, ours: Duration, empty: bool) -> bool {
        if empty {
            *self = Rivals::default();
        } else if let Some(rtt) = rtt {
            self.late_rounds = if rtt > ours { self.late_rounds.saturating_add(1) } else { 0 };
        }
        let asks = self.late_rounds >= ROUNDS && !self.here && !self.asked;
        self.asked |= asks;
        asks
    }

    /// What left when the queue had drained was acknowledged after `rtt`.
    pub(super) fn on_drained(&mut self, rtt: Option<Duration>, ours: Duration) {
        if std::mem::take(&mut self.asked) {
            self.late_rounds = 0;
            self.here = rtt.is_some_and(|rtt| rtt > ours);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Duration = Duration::from_millis(20);
    const LATE: Option<Duration> = Some(Duration::from_millis(50));
    const SOON: Option<Duration> = Some(Duration::from_millis(10));

    #[test]
    fn a_queue_that_does_not_drain_is_not_ours() {
        let mut rivals = Rivals::default();
        for _ in 0..ROUNDS - 1 {
            assert!(!rivals.on_round(LATE, OURS, false));
        }
        assert!(rivals.on_round(LATE, OURS, false));
        assert!(!rivals.on_round(LATE, OURS, false), "it is asked once");
        rivals.on_drained(LATE, OURS);
        assert!(rivals.are_here());
        rivals.on_round(SOON, OURS, true);
        assert!(!rivals.are_here());
    }

    #[test]
    fn one_that_drains_is() {
        let mut rivals = Rivals::default();
        let asked = (0..ROUNDS).filter(|_| rivals.on_round(LATE, OURS, false)).count();
        assert_eq!(asked, 1);
        rivals.on_drained(SOON, OURS);
        assert!(!rivals.are_here());
        assert!(!rivals.on_round(LATE, OURS, false), "and the count begins again");
    }

    #[test]
    fn an_ordinary_drain_asks_nothing() {
        let mut rivals = Rivals::default();
        rivals.on_round(LATE, OURS, false);
        rivals.on_drained(LATE, OURS);
        assert!(!rivals.are_here());
    }
}
