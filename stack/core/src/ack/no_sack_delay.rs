//! SACKs without delay (Pedersen 2006 §4.3.2, §5.1.1): an option of the receiver.
//!
//! Idea: when messages come further apart than the delay, a delayed SACK waits for a second packet
//! in vain, and the sender measures the delay as part of the RTT; its RTO becomes 200 ms too long.
//!
//! - `always`: every packet is acknowledged at once, as in the paper;
//! - `sparse`: a packet is, if the one before it came longer ago than SACK.Delay, so that a bulk
//!   transfer keeps one SACK for two packets.

use std::time::Duration;

use crate::profile::{NoSackDelay, SackParameters};
use crate::time::Time;

/// Decides for each packet.
#[derive(Debug)]
pub(super) struct Promptness {
    mode: NoSackDelay,
    last: Option<Time>,
}

impl Promptness {
    /// As a profile says.
    pub(super) fn new(parameters: &SackParameters) -> Promptness {
        Promptness { mode: parameters.no_sack_delay, last: None }
    }

    /// Goes on as another profile says.
    pub(super) fn reconfigure(&mut self, parameters: &SackParameters) {
        self.mode = parameters.no_sack_delay;
    }

    /// Whether the packet that came at `now` is acknowledged at once.
    pub(super) fn applies(&mut self, now: Time, delay: Duration) -> bool {
        let last = self.last.replace(now);
        match self.mode {
            NoSackDelay::Never => false,
            NoSackDelay::Always => true,
            NoSackDelay::Sparse => last.is_none_or(|last| now.since(last) >= delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_packets_are_told_from_those_in_a_row() {
        let ms = Duration::from_millis;
        let answers = |mode, gaps: &[u64]| {
            let mut rule = Promptness { mode, last: None };
            let mut now = Time::ZERO;
            let mut answers = Vec::new();
            for gap in gaps {
                now += ms(*gap);
                answers.push(rule.applies(now, ms(200)));
            }
            answers
        };
        let gaps = [0, 250, 10, 199, 200];
        assert_eq!(answers(NoSackDelay::Never, &gaps), [false; 5]);
        assert_eq!(answers(NoSackDelay::Always, &gaps), [true; 5]);
        assert_eq!(answers(NoSackDelay::Sparse, &gaps), [true, true, false, false, true]);
    }
}
