//! Timestamp (TIMESTAMP, 160), for the Eifel algorithm.
//!
//! Ladha et al., "On Making SCTP Robust to Spurious Retransmissions" (§4, §5, Figure 6), lets each
//! packet carry the time it was sent and the latest time received from the peer, as the Timestamps
//! option of TCP does (RFC 7323 §3). No Chunk Type is assigned: 160 (0xA0) is this project's own
//! choice among the unassigned types whose highest bits are 10, which an endpoint that does not know
//! them skips without a report (RFC 9260 §3.2). It must not be sent to a peer that has not listed
//! the type in its Supported Extensions (RFC 5061 §4.2.7). Like any control chunk it stands before
//! the DATA chunks of its packet (RFC 9260 §6.10).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 160   |  Chunk Flags  |          Length = 12          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                   Timestamp Value (TSval)                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                 Timestamp Echo Reply (TSecr)                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::{ChunkError, ChunkType, RawChunk};

/// Length of a TIMESTAMP chunk in bytes: the overhead of each packet that carries one.
pub const TIMESTAMP_CHUNK_LEN: usize = 12;

/// A TIMESTAMP chunk (Ladha et al., §5): when the packet was sent, and what its sender had heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// Timestamp Value: the sender's clock when it sent the packet, in units of its own choice. It
    /// wraps around, so that two values are compared in serial number arithmetic (RFC 7323 §3.1).
    pub tsval: u32,
    /// Timestamp Echo Reply: the Timestamp Value received that this packet answers (RFC 7323 §4.3).
    pub tsecr: u32,
}

impl Timestamp {
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let mut fields = || Some(Self { tsval: reader.u32()?, tsecr: reader.u32()? });
        let timestamp = fields().ok_or(raw.invalid_length())?;
        if reader.rest().is_empty() { Ok(timestamp) } else { Err(raw.invalid_length()) }
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let [v0, v1, v2, v3] = self.tsval.to_be_bytes();
        let [e0, e1, e2, e3] = self.tsecr.to_be_bytes();
        super::emit(buffer, ChunkType::TIMESTAMP, 0, &[v0, v1, v2, v3, e0, e1, e2, e3], &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, UnknownAction};

    const BYTES: [u8; 12] =
        [0xa0, 0x00, 0x00, 0x0c, 0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe];

    const TIMESTAMP: Timestamp = Timestamp { tsval: 0x0102_0304, tsecr: u32::MAX - 1 };

    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::Timestamp(TIMESTAMP)));
        let written = emitted(|writer| writer.timestamp(TIMESTAMP.tsval, TIMESTAMP.tsecr));
        assert_eq!(written, BYTES);
        assert_eq!(written.len(), TIMESTAMP_CHUNK_LEN);
    }

    #[test]
    fn flags_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] = 0xff;
        assert_eq!(parse(&bytes), Ok(Chunk::Timestamp(TIMESTAMP)));
    }

    #[test]
    fn length_is_twelve() {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&BYTES);
        for length in (4..=16).filter(|length| *length != 12) {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::TIMESTAMP, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }

    #[test]
    fn who_does_not_know_it_skips_it_in_silence() {
        assert_eq!(ChunkType::TIMESTAMP.unknown_action(), UnknownAction::Skip);
    }
}
