//! Checksums of zero (RFC 9653): which packets of an association leave or come without a CRC32c.

use tresse_wire::{ChunkType, Packet, write_checksum};

use super::Association;

impl Association {
    //= RFC 9653 5.2-1 5.2-2 5.2-4 5.2-7
    /// Writes the checksum into a packet that leaves, if it is to have one.
    #[inline]
    pub(super) fn seal(&mut self, packet: &mut [u8]) {
        // Both ends: the peer takes it, and our application has told that it is fine.
        let agreed = self.sender.data().extensions().chosen.zero_checksum;
        if agreed && !needs_checksum(packet) {
            self.journal.stats.zero_checksums_sent += 1;
        } else {
            write_checksum(packet);
        }
    }
}

/// RFC 9653 §5.2: packets with INIT or COOKIE ECHO. Nothing stands in front of either but an AUTH chunk.
pub(crate) fn needs_checksum(packet: &[u8]) -> bool {
    let Ok(packet) = Packet::parse_unverified(packet) else { return true };
    let first = packet.chunks().map_while(Result::ok).take(2);
    first.into_iter().any(|raw| matches!(raw.chunk_type, ChunkType::INIT | ChunkType::COOKIE_ECHO))
}
