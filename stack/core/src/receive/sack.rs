//! SACKs and NR-SACKs that leave (RFC 9260 §6.2, §6.7).

use tresse_wire::PacketWriter;

use super::Receiver;
use crate::ack::report::NonRenegable;
use crate::ids::PathId;
use crate::profile::NrSackMode;

/// Duplicate TSNs reported in one SACK at most.
const MAX_DUPLICATES: usize = 64;

/// What a SACK may look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackForm {
    /// Bytes of the packet at most.
    max: usize,
    /// How many TSNs beyond the Cumulative TSN Ack it reports on, 0 for all.
    window: u32,
    /// The R bit was agreed on.
    retransmit_bit: bool,
}

impl SackForm {
    /// In a packet of `max` bytes at most; reporting on `window` TSNs beyond the Cumulative TSN Ack, 0 for all;
    /// `retransmit_bit` was agreed on.
    pub(crate) const fn new(max: usize, window: u32, retransmit_bit: bool) -> SackForm {
        SackForm { max, window, retransmit_bit }
    }
}

impl Receiver {
    /// A SACK may leave, and goes to `path`.
    #[inline]
    pub(crate) fn owes_sack(&self, path: PathId) -> bool {
        self.next_sack.path() == path && (self.delayed.pending() || self.delayed.due())
    }

    /// Bytes of a SACK or NR-SACK without blocks, and of the ECNE chunks before it.
    fn sack_header(&self) -> usize {
        self.marks.len() + if self.nr_sack == NrSackMode::Off { 16 } else { 20 }
    }

    /// An upper bound of the bytes of the next SACK, should it have room.
    pub(crate) fn sack_bound(&self) -> usize {
        let duplicates = self.received.duplicates(MAX_DUPLICATES).len();
        // A delivered run can split a block into three.
        let splits = self.inbound.delivered().map_or(0, |runs| 2 * runs.range_count());
        self.sack_header() + 4 * (self.received.gap_count() + splits + duplicates)
    }

    /// Takes up to `limit` blocks for a SACK into `report`.
    fn fill_report(&mut self, window: u32, limit: usize) {
        let kept = match (self.nr_sack, self.inbound.delivered()) {
            (NrSackMode::All, _) => NonRenegable::Everything,
            (_, Some(delivered)) => NonRenegable::These(delivered),
            (_, None) => NonRenegable::Nothing,
        };
        self.report.fill(&self.received, kept, window, limit);
    }

    /// Adds a SACK to a packet; `false` if it has no room.
    pub(crate) fn write_sack(&mut self, writer: &mut PacketWriter<'_>, form: SackForm) -> bool {
        let SackForm { max, window, retransmit_bit } = form;
        let Some(room) = max.checked_sub(writer.len() + self.sack_header()) else { return false };
        // In front, while what was marked may still be outstanding at the peer.
        self.marks.write(writer);
        //= RFC 9260 6.2-17 6.7-6 6.7-7
        self.fill_report(window, room / 4);
        let a_rwnd = self.advertised();
        let room = room / 4 - self.report.len();
        let duplicates = self.received.duplicates(room.min(MAX_DUPLICATES));
        //= RFC 9260 6.2-15 6.2-16
        let cumulative = self.received.cumulative();
        let flags = self.next_sack.take_flags(retransmit_bit);
        let gaps = self.report.gaps.iter().copied();
        if self.nr_sack == NrSackMode::Off {
            writer.sack_with_flags(flags, cumulative, a_rwnd, gaps, duplicates);
        } else {
            let nr_gaps = self.report.nr_gaps.iter().copied();
            writer.nr_sack(flags, cumulative, a_rwnd, gaps, nr_gaps, duplicates);
        }
        self.timestamps.on_sack_sent(self.received.cumulative_seq());
        self.note_advertised(a_rwnd);
        self.received.clear_duplicates();
        self.delayed.on_sent();
        true
    }
}
