//! Thin-stream detection (Pedersen 2006 §4.1).
//!
//! Idea: fast retransmit needs four SACKs after the lost packet, so a stream with fewer than five
//! packets in flight cannot rely on it. The nature of a stream may change at any time.
//!
//! `thin <=> packets_in_flight < 5`, all paths together, counted in one of two ways:
//! - the paper's estimate: keep the highest TSN of every packet sent. A SACK with gap blocks means
//!   that one packet left the network: `in_flight -= 1`, `left += 1`. One without gap blocks
//!   drops every entry at or below the Cumulative TSN Ack, subtracts them, and then
//!   `in_flight += left`, `left = 0`, so that nothing is counted twice;
//! - exactly, from the scoreboard: packets with at least one chunk neither acknowledged nor
//!   declared lost.
//!
//! Difference: the paper keeps a list in the order of sending; a heap gives the same counts
//! without a walk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::profile::{Profile, ThinDetector, ThinStreamParameters};
use crate::recovery::Advisor;
use crate::scoreboard::Scoreboard;

/// Tells whether the stream is thin.
#[derive(Debug)]
pub(in crate::recovery) struct ThinStream {
    detector: ThinDetector,
    below: u32,
    /// Highest sequence number of every packet not yet passed by a SACK without gap blocks.
    sent: BinaryHeap<Reverse<u64>>,
    in_flight: i64,
    left: i64,
}

impl ThinStream {
    fn new(parameters: &ThinStreamParameters) -> ThinStream {
        ThinStream {
            detector: parameters.detector,
            below: parameters.below_packets,
            sent: BinaryHeap::new(),
            in_flight: 0,
            left: 0,
        }
    }
}

impl Advisor for ThinStream {
    fn of(profile: &Profile) -> ThinStream {
        ThinStream::new(&profile.thin_stream)
    }

    fn on_packet(&mut self, highest: u64) {
        if self.detector == ThinDetector::Estimate {
            self.sent.push(Reverse(highest));
            self.in_flight += 1;
        }
    }

    fn on_acked(&mut self, cumulative: u64, has_gaps: bool) {
        if self.detector != ThinDetector::Estimate {
            return;
        }
        if has_gaps {
            self.in_flight -= 1;
            self.left += 1;
            return;
        }
        while self.sent.peek().is_some_and(|Reverse(highest)| *highest <= cumulative) {
            self.sent.pop();
            self.in_flight -= 1;
        }
        self.in_flight += self.left;
        self.left = 0;
    }

    /// Fewer packets are in flight than fast retransmit needs.
    fn is_thin(&self, board: &Scoreboard) -> bool {
        match self.detector {
            ThinDetector::Estimate => self.in_flight < i64::from(self.below),
            ThinDetector::Exact => board.packets_in_flight() < self.below as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_wire::Tsn;

    fn estimate() -> (ThinStream, Scoreboard) {
        let parameters =
            ThinStreamParameters { detector: ThinDetector::Estimate, ..Default::default() };
        (ThinStream::new(&parameters), Scoreboard::new(Tsn(1)))
    }

    #[test]
    fn five_packets_are_thick_and_four_are_thin() {
        let (mut thin, board) = estimate();
        for highest in 1..=4 {
            thin.on_packet(highest);
        }
        assert!(thin.is_thin(&board));
        thin.on_packet(5);
        assert!(!thin.is_thin(&board));
        thin.on_acked(2, false);
        assert!(thin.is_thin(&board), "three are left");
    }

    #[test]
    fn a_sack_with_gaps_takes_one_packet_and_is_made_good_later() {
        let (mut thin, _) = estimate();
        for highest in 1..=6 {
            thin.on_packet(highest);
        }
        // Packet 1 is lost; 2 and 3 arrive and are reported one by one.
        thin.on_acked(0, true);
        thin.on_acked(0, true);
        assert_eq!((thin.in_flight, thin.left), (4, 2));
        thin.on_packet(1); // It is sent again,
        thin.on_acked(3, false); // arrives, and packets 1, 1, 2, 3 are gone from the list.
        assert_eq!((thin.in_flight, thin.left), (3, 0));
    }
}
