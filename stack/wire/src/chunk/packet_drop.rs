//! Packet Drop Report (PKTDROP, 129), draft-stewart-sctp-pktdrprep; as FreeBSD and usrsctp write it.
//!
//! Who gets a damaged packet sends back what arrived of it, so that its sender need not wait for SACKs or a timer. To be sent
//! only to a peer that listed the type in its Supported Extensions (RFC 5061 §4.2.7).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 129   | Reserved|T|B|M|         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Bandwidth of the link, or receive buffer          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |              Bytes in the queue, or in the buffer             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Truncated Length       |           Reserved            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \          The packet, from its common header on                \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::{ChunkError, ChunkType, RawChunk};

/// Length of a PKTDROP chunk in front of the packet that it quotes, in bytes.
pub const PACKET_DROP_HEADER_LEN: usize = 16;

/// The M bit.
const FROM_MIDDLE_BOX: u8 = 1;
/// The B bit.
const BAD_CHECKSUM: u8 = 2;
/// The T bit.
const TRUNCATED: u8 = 4;

/// A PKTDROP chunk: a packet arrived and was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketDrop<'a> {
    /// M bit: a middle box dropped it, and not the peer. The verification tag of the report is then that of the packet.
    pub from_middle_box: bool,
    /// B bit: for its checksum was wrong.
    pub bad_checksum: bool,
    /// T bit and Truncated Length: the bytes of the packet, of which only some are quoted. `None`: all are.
    pub truncated_from: Option<u16>,
    /// Of a peer: the size of its receive buffer in bytes. Of a middle box: the bandwidth of its link.
    pub bandwidth: u32,
    /// Of a peer: bytes in its receive buffer. Of a middle box: bytes in its queue.
    pub queued: u32,
    /// The packet, as far as it is quoted; [`Quote`](crate::Quote) reads it.
    pub packet: &'a [u8],
}

impl<'a> PacketDrop<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let mut fields = || {
            let (bandwidth, queued) = (reader.u32()?, reader.u32()?);
            let (length, _reserved) = (reader.u16()?, reader.u16()?);
            Some((bandwidth, queued, length))
        };
        let (bandwidth, queued, length) = fields().ok_or(raw.invalid_length())?;
        Ok(Self {
            from_middle_box: raw.flags & FROM_MIDDLE_BOX != 0,
            bad_checksum: raw.flags & BAD_CHECKSUM != 0,
            truncated_from: (raw.flags & TRUNCATED != 0).then_some(length),
            bandwidth,
            queued,
            packet: reader.rest(),
        })
    }

    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = bit(self.from_middle_box, FROM_MIDDLE_BOX)
            | bit(self.bad_checksum, BAD_CHECKSUM)
            | bit(self.truncated_from.is_some(), TRUNCATED);
        let mut fixed = [0; PACKET_DROP_HEADER_LEN - crate::CHUNK_HEADER_LEN];
        fixed[..4].copy_from_slice(&self.bandwidth.to_be_bytes());
        fixed[4..8].copy_from_slice(&self.queued.to_be_bytes());
        fixed[8..10].copy_from_slice(&self.truncated_from.unwrap_or(0).to_be_bytes());
        super::emit(buffer, ChunkType::PACKET_DROP, flags, &fixed, self.packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, UnknownAction};

    const BYTES: [u8; 32] = [
        0x81, 0x06, 0x00, 0x1e, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x05, 0xdc, 0x00,
        0x00, 0x13, 0x88, 0x17, 0x70, 0x00, 0x00, 0x00, 0x07, 0xde, 0xad, 0xbe, 0xef, 0x00, 0x03,
        0x00, 0x00,
    ];

    fn report() -> PacketDrop<'static> {
        PacketDrop {
            from_middle_box: false,
            bad_checksum: true,
            truncated_from: Some(1500),
            bandwidth: 65_536,
            queued: 512,
            packet: &BYTES[16..30],
        }
    }

    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::PacketDrop(report())));
        assert_eq!(emitted(|w| w.packet_drop(&report())), BYTES);
    }

    #[test]
    fn each_flag_is_its_own() {
        for flags in 0..8 {
            let mut bytes = BYTES;
            bytes[1] = flags;
            if flags & TRUNCATED == 0 {
                bytes[12..14].fill(0);
            }
            let Ok(Chunk::PacketDrop(read)) = parse(&bytes) else { panic!("a report") };
            assert_eq!(read.from_middle_box, flags & 1 != 0);
            assert_eq!(read.bad_checksum, flags & 2 != 0);
            assert_eq!(read.truncated_from.is_some(), flags & 4 != 0);
            assert_eq!(emitted(|w| w.packet_drop(&read)), bytes);
        }
    }

    #[test]
    fn it_has_a_fixed_part_and_need_not_quote_anything() {
        for length in 4..16 {
            let mut bytes = BYTES;
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::PACKET_DROP, length };
            assert_eq!(parse(&bytes), Err(error));
        }
        let mut bytes = BYTES;
        bytes[3] = 16;
        let Ok(Chunk::PacketDrop(empty)) = parse(&bytes) else { panic!("a report") };
        assert_eq!(empty, PacketDrop { packet: &[], ..report() });
    }

    #[test]
    fn who_does_not_know_it_skips_it() {
        assert_eq!(ChunkType::PACKET_DROP.unknown_action(), UnknownAction::Skip);
    }
}
