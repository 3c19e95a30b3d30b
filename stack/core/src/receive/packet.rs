//! The packet whose chunks are being taken: what of the peer's data it has.

use tresse_wire::DataFlags;

use crate::ack::delayed::PacketFacts;
use crate::ack::received::Advance;

/// What its DATA and FORWARD TSN chunks have shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketData {
    facts: PacketFacts,
    /// It has such chunks, taken or not.
    any: bool,
    /// DATA of it had the R bit.
    retransmission: bool,
    /// The lowest TSN of its DATA chunks, unwrapped; 0 for one received before.
    lowest: Option<u64>,
}

impl PacketData {
    /// A packet begins; TSNs are missing before it or not.
    pub(super) fn begin(had_gap: bool) -> PacketData {
        PacketData { facts: PacketFacts { had_gap, ..PacketFacts::default() }, ..Self::default() }
    }

    /// It has DATA or FORWARD TSN chunks.
    pub(crate) const fn is_any(&self) -> bool {
        self.any
    }

    /// Some of that was new.
    pub(crate) const fn has_new(&self) -> bool {
        self.facts.new_data
    }

    /// DATA of it had the R bit.
    pub(super) const fn has_retransmission(&self) -> bool {
        self.retransmission
    }

    /// The lowest TSN of its DATA chunks, unwrapped; 0 for one received before.
    pub(super) const fn lowest(&self) -> Option<u64> {
        self.lowest
    }

    /// What that means for acknowledging; TSNs are missing now or not, and gaps ask for a SACK or not.
    pub(super) fn facts(&self, gap: bool, heeds_gaps: bool) -> PacketFacts {
        let had_gap = self.facts.had_gap && heeds_gaps;
        PacketFacts { gap: gap && heeds_gaps, had_gap, ..self.facts }
    }

    //= RFC 9260 6.2-19
    //= RFC 8260 2.1-3
    /// A DATA chunk with these flags.
    pub(super) fn on_chunk(&mut self, flags: DataFlags) {
        self.any = true;
        self.facts.ends_in_duplicate = false;
        self.facts.immediate |= flags.immediate;
        self.retransmission |= flags.retransmission;
    }

    /// That chunk came before.
    pub(super) fn on_duplicate(&mut self) {
        self.note(0);
        self.facts.duplicates = true;
        self.facts.ends_in_duplicate = true;
    }

    /// It was dropped; its TSN, unwrapped, unless it is out of all range.
    pub(super) fn on_dropped(&mut self, seq: Option<u64>) {
        seq.into_iter().for_each(|seq| self.note(seq));
        self.facts.dropped = true;
    }

    /// It was taken.
    pub(super) fn on_new(&mut self, seq: u64) {
        self.note(seq);
        self.facts.new_data = true;
    }

    fn note(&mut self, seq: u64) {
        self.lowest = Some(self.lowest.map_or(seq, |lowest| lowest.min(seq)));
    }

    //= RFC 3758 3.6-6
    /// A FORWARD TSN chunk. RFC 3758 §3.6: "for the purposes of sending a SACK, the receiver MUST follow the same rules as if a
    /// DATA chunk had been received".
    pub(super) fn on_forward_tsn(&mut self, advance: Advance) {
        self.any = true;
        match advance {
            Advance::To(_) => self.facts.new_data = true,
            //= RFC 3758 3.6-4 3.6-5
            Advance::Stale => self.facts.duplicates = true,
            Advance::OutOfRange => self.facts.dropped = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(immediate: bool, retransmission: bool) -> DataFlags {
        DataFlags { immediate, retransmission, ..DataFlags::default() }
    }

    #[test]
    fn the_last_chunk_may_be_a_duplicate_and_the_lowest_tsn_counts() {
        let mut packet = PacketData::begin(false);
        assert!(!packet.is_any() && !packet.has_new() && packet.lowest().is_none());
        packet.on_chunk(flags(false, false));
        packet.on_new(9);
        assert!(packet.is_any() && packet.has_new() && !packet.has_retransmission());
        packet.on_chunk(flags(true, true));
        packet.on_dropped(Some(7));
        packet.on_chunk(flags(false, false));
        packet.on_dropped(None);
        assert_eq!(packet.lowest(), Some(7));
        assert!(packet.has_retransmission());
        let facts = packet.facts(false, true);
        assert!(facts.dropped && facts.immediate && !facts.ends_in_duplicate && !facts.duplicates);
        packet.on_chunk(flags(false, false));
        packet.on_duplicate();
        assert_eq!(packet.lowest(), Some(0), "one received before");
        assert!(packet.facts(false, true).ends_in_duplicate);
        packet.on_chunk(flags(false, false));
        packet.on_new(10);
        let facts = packet.facts(false, true);
        assert!(!facts.ends_in_duplicate && facts.duplicates);
    }

    #[test]
    fn gaps_before_and_after_count_unless_they_are_not_heeded() {
        for (before, after) in [(false, false), (true, false), (false, true), (true, true)] {
            let packet = PacketData::begin(before);
            let facts = packet.facts(after, true);
            assert_eq!((facts.had_gap, facts.gap), (before, after));
            let facts = packet.facts(after, false);
            assert_eq!((facts.had_gap, facts.gap), (false, false));
        }
    }

    #[test]
    fn a_forward_tsn_counts_as_data_but_for_its_tsn() {
        for (advance, new) in
            [(Advance::To(4), true), (Advance::Stale, false), (Advance::OutOfRange, false)]
        {
            let mut packet = PacketData::begin(false);
            packet.on_forward_tsn(advance);
            assert!(packet.is_any() && packet.lowest().is_none());
            assert_eq!(packet.has_new(), new, "{advance:?}");
            let facts = packet.facts(false, true);
            assert_eq!(facts.duplicates, advance == Advance::Stale);
            assert_eq!(facts.dropped, advance == Advance::OutOfRange);
        }
    }
}
