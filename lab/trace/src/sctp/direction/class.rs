//! Why a chunk is sent again, as far as packets show it (Pedersen, appendix B).

use tresse_wire::{Chunk as Parsed, Tsn};

use super::{Chunk, Direction, Packet};
use crate::flow::ms;
use crate::sctp::user_data::UserData;
use crate::statistics::Class;

/// What leaves before this share of the RTO that is estimated here is no timeout: its sender knows more round-trip times,
/// and the times of a capture are late by themselves.
const WELL_BEFORE: f64 = 0.9;

impl Direction {
    /// The class of a chunk with this index, which is sent again now. sctp_trace: the first retransmission of a packet
    /// tells what caused it. What else is in a packet after a timeout was bundled; what else is in a fast retransmit was
    /// one itself, unless no SACK had reported it.
    pub(super) fn class(
        &mut self,
        at: u64,
        index: usize,
        tsn: Tsn,
        packet: &mut Packet<'_>,
    ) -> Class {
        let chunk = self.chunks[index];
        let told = packet.told.and_then(|told| told.class(tsn, chunk.again + 1));
        let class = match (packet.cause, told) {
            // Whoever sent it knows best.
            (_, Some(Class::InFlight)) if chunk.missing > 0 => Class::ReportedMissing,
            (_, Some(class)) => class,
            (None, None) => self.cause(at, index, packet),
            (Some(_), None) if chunk.missing == 0 => Class::InFlight,
            (Some(Class::Early), None) => Class::Early,
            (Some(Class::Fast), None) => Class::Fast,
            (Some(_), None) => Class::ReportedMissing,
        };
        // Whatever else speaks for it, a timer may have expired as well.
        let first = packet.cause.is_none() && self.may_have_expired(at, &chunk);
        if (class == Class::Timeout || first) && !self.is_left_by_timeout(&chunk) {
            self.timed_out.insert(chunk.path, at);
        }
        // What rides along causes no packet.
        if !matches!(class, Class::InFlight | Class::ReportedMissing) {
            packet.cause.get_or_insert(class);
        }
        class
    }

    /// The class of what caused its packet, or rides along before that.
    fn cause(&self, at: u64, index: usize, packet: &Packet<'_>) -> Class {
        let chunk = self.chunks[index];
        let newest = index + 1 == self.chunks.len();
        if chunk.missing >= self.missing_reports {
            Class::Fast
        } else if newest && self.older_is_outstanding(index) {
            Class::Probe
        } else if !self.early || self.may_have_expired(at, &chunk) {
            Class::Timeout
        } else if chunk.missing > 0 {
            Class::Early
        } else if self.is_left_by_timeout(&chunk) {
            Class::Timeout
        } else if self.leaves_anyway(packet) {
            Class::InFlight
        } else {
            Class::Unknown
        }
    }

    /// Whether a timer of the standard, which starts no earlier than what it is for was sent, may have expired for it.
    fn may_have_expired(&self, at: u64, chunk: &Chunk) -> bool {
        ms(chunk.last, at) >= WELL_BEFORE * self.flow.rto.least_ms()
    }

    /// Whether a timer has expired since it was sent, for its path: all that was outstanding is sent again then, as fast
    /// as the congestion window allows (RFC 9260 §6.3.3 E3).
    fn is_left_by_timeout(&self, chunk: &Chunk) -> bool {
        self.timed_out.get(&chunk.path).is_some_and(|expired| chunk.last < *expired)
    }

    /// Whether an older chunk is outstanding that was sent to the same address, which a timer that
    /// expires would send first (RFC 9260 §6.3.3 E3).
    fn older_is_outstanding(&self, index: usize) -> bool {
        let path = self.chunks[index].path;
        let older = self.chunks.range(..index).rev();
        older.filter(|chunk| !chunk.gap_acked && chunk.seen).any(|chunk| chunk.path == path)
    }

    /// Whether a packet has something else to carry: new data, or what was reported missing.
    fn leaves_anyway(&self, packet: &Packet<'_>) -> bool {
        let chunks = packet.sctp.into_iter().flat_map(|sctp| sctp.chunks());
        let tsns = chunks.filter_map(|raw| match Parsed::parse(raw.ok()?).ok()? {
            Parsed::Data(data) => Some(UserData::from(&data).tsn),
            Parsed::IData(data) => Some(UserData::from(&data).tsn),
            _ => None,
        });
        let mut numbers = tsns.filter_map(|tsn| Some(self.number_from(self.first_tsn?, tsn)));
        packet.fresh
            || numbers.any(|number| {
                let index = number.checked_sub(self.base).map(|index| index as usize);
                let known = index.map(|index| self.chunks.get(index));
                known.is_some_and(|chunk| chunk.is_none_or(|chunk| chunk.missing > 0))
            })
    }
}
