//! Checksums of zero (RFC 9653): which packets of an association leave or come without a CRC32c.

use tresse_wire::{ChunkType, Packet, write_checksum};

use super::Association;

impl Association {
    //= RFC 9653 5.2-1 5.2-2 5.2-4 5.2-5 5.2-7
    /// Writes the checksum into a packet that leaves, if it is to have one.
    #[inline]
    pub(super) fn seal(&mut self, packet: &mut [u8]) {
        // Both ends: the peer takes it, and our application has told that it is fine.
        let agreed = self.sender.data().capabilities().chosen.zero_checksum;
        if agreed && !needs_checksum(packet) {
            self.journal.stats.zero_checksums_sent += 1;
        } else {
            write_checksum(packet);
        }
    }
}

/// RFC 9653 §5.2: of packets that leave also those with ASCONF.
fn needs_checksum(packet: &[u8]) -> bool {
    sets_up(packet) || begins_with(packet, &[ChunkType::ASCONF])
}

/// Whether a packet has INIT or COOKIE ECHO: it has a checksum in any case (RFC 9653 §5.2). So has what cannot be read.
pub(crate) fn sets_up(packet: &[u8]) -> bool {
    begins_with(packet, &[ChunkType::INIT, ChunkType::COOKIE_ECHO])
}

/// Whether one of these chunks is first, but for an AUTH chunk: nothing else stands in front of INIT, COOKIE ECHO and ASCONF.
fn begins_with(packet: &[u8], kinds: &[ChunkType]) -> bool {
    let Ok(packet) = Packet::parse_unverified(packet) else { return true };
    packet.chunks().map_while(Result::ok).take(2).any(|raw| kinds.contains(&raw.chunk_type))
}
