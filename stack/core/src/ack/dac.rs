//! Delayed Acknowledgement for CMT (Iyengar, Amer & Stewart, "Concurrent
//! Multipath Transfer Using SCTP Multihoming Over Independent End-to-End Paths", 2006, §V).
//!
//! Idea: packets that take different paths overtake each other all the time. RFC 9260 §6.7 would
//! answer each of them at once because of the gap; here a gap alone is no reason, and SACKs stay as
//! rare as without. So that the sender can still count three packets, each SACK says how many it
//! answers: a chunk that one SACK for two packets reports missing was missed twice.
//!
//! It differs from the paper in that a gap delays nothing until data has come over two paths.

use crate::ids::PathId;
use crate::profile::MultipathParameters;

/// What the receiver has seen.
#[derive(Debug, Default)]
pub(crate) struct AnsweredPackets {
    /// Bit set of the paths that DATA has come over.
    paths: u32,
    /// Packets with DATA since the last SACK.
    packets: u8,
}

impl AnsweredPackets {
    /// If a profile asks for it.
    pub(crate) fn new(multipath: &MultipathParameters) -> Option<AnsweredPackets> {
        multipath.dac.then(AnsweredPackets::default)
    }

    /// A packet with DATA came over `path`.
    pub(crate) fn on_packet(&mut self, path: PathId) {
        self.paths |= path.bit();
        self.packets = self.packets.saturating_add(1);
    }

    /// Whether a gap is no reason to acknowledge at once.
    pub(crate) fn ignores_gaps(&self) -> bool {
        self.paths.count_ones() > 1
    }

    /// A SACK leaves: how many packets it answers. Its two bits hold up to 3.
    pub(crate) fn take(&mut self) -> u8 {
        std::mem::take(&mut self.packets).min(3)
    }

    /// The sender's part: how many packets a SACK answers by what it says, as far as that counts; 0 if it does not say.
    pub(crate) const fn counted(multipath: &MultipathParameters, packets: u8) -> u8 {
        if multipath.dac { packets } else { 0 }
    }

    /// The sender's part, too: two packets of one path arrived, so that what both of them overtook was missed twice; what
    /// lies between them was missed once. `paths` is how many the SACK acknowledges something on.
    pub(crate) const fn strike_twice(packets: u8, paths: usize) -> bool {
        packets >= 2 && paths == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_matter_until_a_second_path_is_used() {
        let mut dac = AnsweredPackets::default();
        assert!(!dac.ignores_gaps());
        dac.on_packet(PathId(1));
        dac.on_packet(PathId(1));
        assert!(!dac.ignores_gaps());
        dac.on_packet(PathId(15));
        assert!(dac.ignores_gaps());
        dac.take();
        assert!(dac.ignores_gaps());
    }

    #[test]
    fn a_sack_for_two_packets_of_one_path_strikes_twice() {
        let twice = AnsweredPackets::strike_twice;
        assert!(twice(2, 1) && twice(3, 1) && !twice(1, 1));
        assert!(!twice(2, 2), "it may be one of each");
        assert!(!twice(2, 0) && !twice(0, 1), "it does not say");
    }

    #[test]
    fn packets_are_counted_up_to_three() {
        let mut dac = AnsweredPackets::default();
        for count in 0..6 {
            for _ in 0..count {
                dac.on_packet(PathId(0));
            }
            assert_eq!(dac.take(), count.min(3));
        }
    }
}
