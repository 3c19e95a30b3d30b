//! A packet that somebody quotes: cut off anywhere, and with any bits flipped.

use crate::chunk::{CHUNK_HEADER_LEN, ChunkType};
use crate::{CommonHeader, Packet, padded};

/// The beginning of a packet, which may be damaged: what a PKTDROP chunk has of it.
#[derive(Clone, Copy, Debug)]
pub struct Quote<'a> {
    /// Its common header.
    pub header: CommonHeader,
    body: &'a [u8],
}

/// A chunk of it. Nothing about it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedChunk<'a> {
    /// Chunk Type.
    pub chunk_type: ChunkType,
    /// Chunk Flags.
    pub flags: u8,
    /// Chunk Length, which may be more than is quoted.
    pub length: u16,
    /// What follows these, as far as it is quoted.
    pub value: &'a [u8],
}

impl<'a> Quote<'a> {
    /// Reads it; `None` if not even its header is there.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let packet = Packet::parse_unverified(bytes).ok()?;
        Some(Self { header: packet.header(), body: packet.chunks().rest() })
    }

    /// Its chunks, up to one that is cut off, or has no length.
    pub fn chunks(self) -> impl Iterator<Item = QuotedChunk<'a>> {
        let mut rest = self.body;
        std::iter::from_fn(move || {
            let (&[chunk_type, flags, l0, l1], behind) =
                rest.split_first_chunk::<CHUNK_HEADER_LEN>()?;
            let length = u16::from_be_bytes([l0, l1]);
            let len = usize::from(length).checked_sub(CHUNK_HEADER_LEN)?;
            rest = rest.get(padded(usize::from(length))..).unwrap_or_default();
            let value = behind.get(..len).unwrap_or(behind);
            Some(QuotedChunk { chunk_type: ChunkType(chunk_type), flags, length, value })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataFlags, PacketWriter, Ppid, Ssn, StreamId, Tsn, VerificationTag};

    const HEADER: CommonHeader =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };

    fn packet() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        writer.cookie_ack();
        let flags = DataFlags::UNFRAGMENTED;
        writer.data(Tsn(7), StreamId(1), Ssn(2), Ppid(3), flags, b"hello");
        writer.shutdown(Tsn(9));
        writer.finish();
        bytes
    }

    #[test]
    fn a_whole_packet_has_all_its_chunks() {
        let bytes = packet();
        let quote = Quote::parse(&bytes).unwrap();
        assert_eq!(quote.header, HEADER);
        let chunks: Vec<_> = quote.chunks().collect();
        let types: Vec<_> = chunks.iter().map(|chunk| chunk.chunk_type).collect();
        assert_eq!(types, [ChunkType::COOKIE_ACK, ChunkType::DATA, ChunkType::SHUTDOWN]);
        assert_eq!((chunks[1].length, &chunks[1].value[12..]), (21, &b"hello"[..]));
    }

    #[test]
    fn of_one_that_is_cut_off_there_is_what_is_quoted() {
        let bytes = packet();
        for len in 0..bytes.len() {
            let Some(quote) = Quote::parse(&bytes[..len]) else {
                assert!(len < 12);
                continue;
            };
            let left: Vec<_> = quote.chunks().collect();
            let whole: Vec<_> = Quote::parse(&bytes).unwrap().chunks().collect();
            assert!(left.len() <= whole.len());
            for (left, whole) in left.iter().zip(&whole) {
                assert_eq!((left.chunk_type, left.length), (whole.chunk_type, whole.length));
                assert!(whole.value.starts_with(left.value));
            }
        }
    }

    #[test]
    fn no_damage_makes_it_endless() {
        let bytes = packet();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Quote::parse(&damaged).unwrap().chunks().count() <= bytes.len() / 4);
        }
        let zeros = [0; 40];
        assert_eq!(Quote::parse(&zeros).unwrap().chunks().count(), 0);
    }
}
