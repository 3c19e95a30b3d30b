//! Selective Acknowledgement (SACK, 3), RFC 9260 §3.3.4; R bit from
//! draft-proshin-tsvwg-sctp-rtx-bit-03 §3.3.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 3    |  Reserved   |R|         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Cumulative TSN Ack                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Advertised Receiver Window Credit (a_rwnd)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Number of Gap Ack Blocks = N  |  Number of Duplicate TSNs = M |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Gap Ack Block #1 Start     |     Gap Ack Block #1 End      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Gap Ack Block #N Start     |     Gap Ack Block #N End      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Duplicate TSN 1                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Duplicate TSN M                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::{ChunkError, ChunkType, MAX_CHUNK_LEN, RawChunk, Tsn};

/// Length of the chunk in front of the first Gap Ack Block, in bytes.
const FIXED_LEN: usize = 16;

/// Length of a Gap Ack Block and of a Duplicate TSN, in bytes.
const ENTRY_LEN: usize = 4;

/// How many entries, Gap Ack Blocks and Duplicate TSNs together, a Chunk Length can describe.
const MAX_ENTRIES: usize = (MAX_CHUNK_LEN - FIXED_LEN) / ENTRY_LEN;

/// A run of TSNs received beyond a gap, as offsets from the Cumulative TSN Ack.
///
/// From the network it may be anything: a start of 0, a start beyond the end, overlapping blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GapAckBlock {
    /// Offset of the first TSN of the run, at least 2 in a sensible block.
    pub start: u16,
    /// Offset of the last TSN of the run.
    pub end: u16,
}

/// Flags of a SACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SackFlags {
    /// R bit: the chunk answers DATA chunks with the R bit, retransmissions
    /// (draft-proshin-tsvwg-sctp-rtx-bit-03 §3.3; Ladha et al., Figure 6, "Retransmit Bit Rules").
    /// To be set only if both peers have announced
    /// [`RETRANSMIT_BIT_SUPPORTED`](crate::ParameterType::RETRANSMIT_BIT_SUPPORTED).
    pub retransmission: bool,
}

impl SackFlags {
    /// Reads the Chunk Flags; the reserved bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self { retransmission: bits & 1 != 0 }
    }

    /// The Chunk Flags with the reserved bits 0.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.retransmission as u8
    }
}

/// A SACK chunk whose counts agree with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sack<'a> {
    /// Flags.
    pub flags: SackFlags,
    /// All TSNs up to and including this one have been received.
    pub cumulative_tsn_ack: Tsn,
    /// Advertised Receiver Window Credit: buffer space left at the receiver, in bytes.
    pub a_rwnd: u32,
    gap_ack_blocks: &'a [[u8; ENTRY_LEN]],
    duplicates: &'a [[u8; ENTRY_LEN]],
}

impl<'a> Sack<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let mut fixed = || Some((reader.u32()?, reader.u32()?, reader.u16()?, reader.u16()?));
        let (cumulative_tsn_ack, a_rwnd, gaps, dups) = fixed().ok_or(raw.invalid_length())?;
        let counts = ChunkError::SackCounts {
            length: raw.bytes.len(),
            gap_ack_blocks: gaps,
            duplicates: dups,
        };
        let (entries, remainder) = reader.rest().as_chunks::<ENTRY_LEN>();
        let (gap_ack_blocks, duplicates) =
            entries.split_at_checked(usize::from(gaps)).ok_or(counts)?;
        if duplicates.len() != usize::from(dups) || !remainder.is_empty() {
            return Err(counts);
        }
        Ok(Self {
            flags: SackFlags::from_bits(raw.flags),
            cumulative_tsn_ack: Tsn(cumulative_tsn_ack),
            a_rwnd,
            gap_ack_blocks,
            duplicates,
        })
    }

    /// The Gap Ack Blocks in the order of the chunk, unjudged.
    #[must_use]
    pub fn gap_blocks(&self) -> GapAckBlocks<'a> {
        GapAckBlocks(self.gap_ack_blocks.iter())
    }

    /// The Duplicate TSNs in the order of the chunk; one that arrived in duplicate several times is
    /// listed several times.
    #[must_use]
    pub fn duplicates(&self) -> DuplicateTsns<'a> {
        DuplicateTsns(self.duplicates.iter())
    }
}

/// Iterator over Gap Ack Blocks, made by [`Sack::gap_blocks`].
#[derive(Clone, Debug)]
pub struct GapAckBlocks<'a>(std::slice::Iter<'a, [u8; ENTRY_LEN]>);

impl Iterator for GapAckBlocks<'_> {
    type Item = GapAckBlock;

    fn next(&mut self) -> Option<GapAckBlock> {
        let &[s0, s1, e0, e1] = self.0.next()?;
        Some(GapAckBlock { start: u16::from_be_bytes([s0, s1]), end: u16::from_be_bytes([e0, e1]) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for GapAckBlocks<'_> {}

/// Iterator over Duplicate TSNs, made by [`Sack::duplicates`].
#[derive(Clone, Debug)]
pub struct DuplicateTsns<'a>(std::slice::Iter<'a, [u8; ENTRY_LEN]>);

impl Iterator for DuplicateTsns<'_> {
    type Item = Tsn;

    fn next(&mut self) -> Option<Tsn> {
        self.0.next().map(|bytes| Tsn(u32::from_be_bytes(*bytes)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for DuplicateTsns<'_> {}

/// Writes a SACK chunk. Entries beyond the [`MAX_ENTRIES`] a chunk can hold are left out, Duplicate
/// TSNs first: they are optional knowledge, and a shorter list of blocks is still true.
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    flags: SackFlags,
    cumulative_tsn_ack: Tsn,
    a_rwnd: u32,
    gaps: impl ExactSizeIterator<Item = GapAckBlock>,
    duplicates: impl ExactSizeIterator<Item = Tsn>,
) {
    let start = buffer.len();
    buffer.reserve(
        FIXED_LEN + ENTRY_LEN * gaps.len().saturating_add(duplicates.len()).min(MAX_ENTRIES),
    );
    buffer.extend_from_slice(&[ChunkType::SACK.0, flags.bits(), 0, 0]);
    buffer.extend_from_slice(&cumulative_tsn_ack.0.to_be_bytes());
    buffer.extend_from_slice(&a_rwnd.to_be_bytes());
    buffer.extend_from_slice(&[0; 4]);
    let entries = buffer.len();
    for block in gaps.take(MAX_ENTRIES) {
        let ([s0, s1], [e0, e1]) = (block.start.to_be_bytes(), block.end.to_be_bytes());
        buffer.extend_from_slice(&[s0, s1, e0, e1]);
    }
    let gap_count = (buffer.len() - entries) / ENTRY_LEN;
    for tsn in duplicates.take(MAX_ENTRIES - gap_count) {
        buffer.extend_from_slice(&tsn.0.to_be_bytes());
    }
    let duplicate_count = (buffer.len() - entries) / ENTRY_LEN - gap_count;
    // The counts are of what was written: an iterator with a wrong length cannot break the chunk.
    let length = buffer.len() - start;
    put_u16(buffer, start + 2, length);
    put_u16(buffer, start + 12, gap_count);
    put_u16(buffer, start + 14, duplicate_count);
}

/// Overwrites a 16-bit field with a number that [`MAX_ENTRIES`] keeps within its range.
fn put_u16(buffer: &mut [u8], at: usize, number: usize) {
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    if let Some(field) = buffer.get_mut(at..at + 2) {
        field.copy_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    /// The example of RFC 9260 §3.3.4 with TSN 19 listed twice as duplicate.
    const BYTES: [u8; 32] = [
        0x03, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x12, 0x34, 0x00, 0x02, 0x00,
        0x02, 0x00, 0x02, 0x00, 0x03, 0x00, 0x05, 0x00, 0x05, 0x00, 0x00, 0x00, 0x13, 0x00, 0x00,
        0x00, 0x13,
    ];

    const GAPS: [GapAckBlock; 2] =
        [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }];

    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::Sack(sack)) = parse(&BYTES) else { panic!("a SACK chunk") };
        assert_eq!((sack.cumulative_tsn_ack, sack.a_rwnd), (Tsn(12), 4660));
        assert_eq!(sack.gap_blocks().len(), 2);
        assert_eq!(sack.gap_blocks().collect::<Vec<_>>(), GAPS);
        assert_eq!(sack.duplicates().len(), 2);
        assert_eq!(sack.duplicates().collect::<Vec<_>>(), [Tsn(19), Tsn(19)]);
        let written =
            emitted(|writer| writer.sack(Tsn(12), 4660, sack.gap_blocks(), sack.duplicates()));
        assert_eq!(written, BYTES);
    }

    #[test]
    fn flags_keep_their_bits() {
        for bits in 0..=255 {
            let mut bytes = BYTES;
            bytes[1] = bits;
            let Ok(Chunk::Sack(sack)) = parse(&bytes) else { panic!("a SACK chunk") };
            assert_eq!(sack.flags.retransmission, bits & 1 != 0);
            let (gaps, duplicates) = (sack.gap_blocks(), sack.duplicates());
            let written = emitted(|writer| {
                writer.sack_with_flags(sack.flags, Tsn(12), 4660, gaps, duplicates);
            });
            assert_eq!(written[1], bits & 1);
            assert_eq!(written[2..], BYTES[2..]);
        }
        assert_eq!(SackFlags::default().bits(), 0);
    }

    #[test]
    fn counts_must_agree_with_the_length() {
        for (gaps, duplicates) in [(2, 1), (1, 2), (2, 3), (5, 0), (65_535, 65_535), (0, 3)] {
            let mut bytes = BYTES;
            bytes[12..14].copy_from_slice(&u16::to_be_bytes(gaps));
            bytes[14..16].copy_from_slice(&u16::to_be_bytes(duplicates));
            let error = ChunkError::SackCounts { length: 32, gap_ack_blocks: gaps, duplicates };
            assert_eq!(parse(&bytes), Err(error));
        }
        for length in 4..16 {
            let mut bytes = BYTES;
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::SACK, length };
            assert_eq!(parse(&bytes), Err(error));
        }
        for length in 16..32 {
            let mut bytes = BYTES;
            bytes[3] = length;
            assert!(matches!(parse(&bytes), Err(ChunkError::SackCounts { .. })), "{length}");
        }
        // Nothing may follow the lists either.
        let mut bytes = [0; 36];
        bytes[..32].copy_from_slice(&BYTES);
        for length in 33..=36 {
            bytes[3] = length;
            assert!(matches!(parse(&bytes), Err(ChunkError::SackCounts { .. })), "{length}");
        }
    }

    #[test]
    fn senseless_blocks_are_passed_on() {
        let mut bytes = BYTES;
        bytes[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 9, 0, 3]);
        let Ok(Chunk::Sack(sack)) = parse(&bytes) else { panic!("a SACK chunk") };
        let blocks = [GapAckBlock { start: 0, end: 65_535 }, GapAckBlock { start: 9, end: 3 }];
        assert_eq!(sack.gap_blocks().collect::<Vec<_>>(), blocks);
    }

    #[test]
    fn lists_beyond_the_chunk_length_are_shortened() {
        let gaps = vec![GAPS[0]; 16_000];
        let duplicates = vec![Tsn(7); 1000];
        let written = emitted(|writer| {
            writer.sack(Tsn(1), 0, gaps.iter().copied(), duplicates.iter().copied());
        });
        let Ok(Chunk::Sack(sack)) = parse(&written) else { panic!("a SACK chunk") };
        assert_eq!((sack.gap_blocks().len(), sack.duplicates().len()), (16_000, 379));

        let gaps = vec![GAPS[0]; 70_000];
        let written = emitted(|writer| {
            writer.sack(Tsn(1), 0, gaps.iter().copied(), duplicates.iter().copied());
        });
        let Ok(Chunk::Sack(sack)) = parse(&written) else { panic!("a SACK chunk") };
        assert_eq!((sack.gap_blocks().len(), sack.duplicates().len()), (16_379, 0));
    }
}
