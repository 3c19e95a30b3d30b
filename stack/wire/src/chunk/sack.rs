//! Selective Acknowledgement (SACK, 3), RFC 9260 §3.3.4; R bit from
//! draft-proshin-tsvwg-sctp-rtx-bit-03 §3.3, PC bits from Iyengar, Amer & Stewart, "Concurrent
//! Multipath Transfer Using SCTP Multihoming", 2006, where FreeBSD has them.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 3    |PC |Reserved |R|         Chunk Length          |
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
pub(super) const ENTRY_LEN: usize = 4;

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

impl GapAckBlock {
    /// Reads a block as it stands in the chunk.
    #[must_use]
    pub const fn from_bytes([s0, s1, e0, e1]: [u8; ENTRY_LEN]) -> Self {
        Self { start: u16::from_be_bytes([s0, s1]), end: u16::from_be_bytes([e0, e1]) }
    }

    /// The block as it stands in the chunk.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; ENTRY_LEN] {
        let ([s0, s1], [e0, e1]) = (self.start.to_be_bytes(), self.end.to_be_bytes());
        [s0, s1, e0, e1]
    }
}

/// Flags of a SACK or NR-SACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SackFlags {
    /// R bit: the chunk answers DATA chunks with the R bit, retransmissions
    /// (draft-proshin-tsvwg-sctp-rtx-bit-03 §3.3; Ladha et al., Figure 6, "Retransmit Bit Rules").
    /// To be set only if both peers have announced
    /// [`RETRANSMIT_BIT_SUPPORTED`](crate::ParameterType::RETRANSMIT_BIT_SUPPORTED).
    pub retransmission: bool,
    /// PC bits: how many packets with DATA the chunk answers, 0 to 3; 0 if the receiver does not
    /// say. More are written as 3.
    pub packets: u8,
}

impl SackFlags {
    /// Reads the Chunk Flags; the reserved bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self { retransmission: bits & 1 != 0, packets: bits >> 6 }
    }

    /// The Chunk Flags with the reserved bits 0.
    #[must_use]
    pub const fn bits(self) -> u8 {
        let packets = if self.packets > 3 { 3 } else { self.packets };
        self.retransmission as u8 | packets << 6
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
        let [gap_ack_blocks, duplicates] = lists(reader, [gaps, dups]).ok_or(counts)?;
        let flags = SackFlags::from_bits(raw.flags);
        Ok(Self::new(flags, Tsn(cumulative_tsn_ack), a_rwnd, gap_ack_blocks, duplicates))
    }

    pub(super) const fn new(
        flags: SackFlags,
        cumulative_tsn_ack: Tsn,
        a_rwnd: u32,
        gap_ack_blocks: &'a [[u8; ENTRY_LEN]],
        duplicates: &'a [[u8; ENTRY_LEN]],
    ) -> Self {
        Self { flags, cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicates }
    }

    /// The Gap Ack Blocks in the order of the chunk, unjudged.
    #[must_use]
    pub fn gap_blocks(&self) -> GapAckBlocks<'a> {
        GapAckBlocks::new(self.gap_ack_blocks)
    }

    /// The Duplicate TSNs in the order of the chunk; one that arrived in duplicate several times is
    /// listed several times.
    #[must_use]
    pub fn duplicates(&self) -> DuplicateTsns<'a> {
        DuplicateTsns(self.duplicates.iter())
    }
}

/// Lists of this many entries each, one behind the other; `None` if they do not fill the rest exactly.
pub(super) fn lists<'a, const N: usize>(
    reader: Reader<'a>,
    counts: [u16; N],
) -> Option<[&'a [[u8; ENTRY_LEN]]; N]> {
    let (mut entries, remainder) = reader.rest().as_chunks::<ENTRY_LEN>();
    let mut lists: [&[_]; N] = [&[]; N];
    for (list, count) in lists.iter_mut().zip(counts) {
        (*list, entries) = entries.split_at_checked(usize::from(count))?;
    }
    (entries.is_empty() && remainder.is_empty()).then_some(lists)
}

/// Iterator over Gap Ack Blocks, made by [`Sack::gap_blocks`] and
/// [`NrSack::nr_gap_blocks`](crate::NrSack::nr_gap_blocks). That of a SACK has no non-renegable
/// ones: `default` is empty.
#[derive(Clone, Debug, Default)]
pub struct GapAckBlocks<'a>(std::slice::Iter<'a, [u8; ENTRY_LEN]>);

impl<'a> GapAckBlocks<'a> {
    /// Those blocks, as they stand in a chunk.
    #[must_use]
    pub fn new(bytes: &'a [[u8; ENTRY_LEN]]) -> Self {
        Self(bytes.iter())
    }

    /// The blocks left, as they stand in the chunk: to be compared with others many at a time.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [[u8; ENTRY_LEN]] {
        self.0.as_slice()
    }
}

impl Iterator for GapAckBlocks<'_> {
    type Item = GapAckBlock;

    fn next(&mut self) -> Option<GapAckBlock> {
        self.0.next().map(|bytes| GapAckBlock::from_bytes(*bytes))
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

//= RFC 9260 3.3.4-1 3.3.4-3
/// Writes a SACK chunk. Entries beyond those that a chunk can hold are left out, Duplicate TSNs
/// first: they are optional knowledge, and a shorter list of blocks is still true.
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    flags: SackFlags,
    cumulative_tsn_ack: Tsn,
    a_rwnd: u32,
    gaps: impl ExactSizeIterator<Item = GapAckBlock>,
    duplicates: impl ExactSizeIterator<Item = Tsn>,
) {
    let kind = ChunkType::SACK;
    let mut list = ListWriter::new(buffer, kind, flags, cumulative_tsn_ack, a_rwnd, FIXED_LEN);
    list.blocks(12, gaps);
    list.duplicates(14, duplicates);
    list.finish();
}

/// Writes the chunks that consist of a fixed part with counts and of lists, SACK and NR-SACK. The
/// counts are of what was written: an iterator with a wrong length cannot break the chunk.
pub(super) struct ListWriter<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
    /// How many more entries a Chunk Length can describe.
    room: usize,
}

impl<'b> ListWriter<'b> {
    pub(super) fn new(
        buffer: &'b mut Vec<u8>,
        chunk_type: ChunkType,
        flags: SackFlags,
        cumulative_tsn_ack: Tsn,
        a_rwnd: u32,
        fixed_len: usize,
    ) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&[chunk_type.0, flags.bits(), 0, 0]);
        buffer.extend_from_slice(&cumulative_tsn_ack.0.to_be_bytes());
        buffer.extend_from_slice(&a_rwnd.to_be_bytes());
        buffer.resize(start + fixed_len, 0);
        Self { buffer, start, room: (MAX_CHUNK_LEN - fixed_len) / ENTRY_LEN }
    }

    /// Appends blocks, whose count stands `at` bytes into the chunk.
    pub(super) fn blocks(&mut self, at: usize, blocks: impl ExactSizeIterator<Item = GapAckBlock>) {
        self.list(at, blocks, GapAckBlock::to_bytes);
    }

    /// Appends Duplicate TSNs, whose count stands `at` bytes into the chunk.
    pub(super) fn duplicates(&mut self, at: usize, duplicates: impl ExactSizeIterator<Item = Tsn>) {
        self.list(at, duplicates, |tsn| tsn.0.to_be_bytes());
    }

    fn list<T>(
        &mut self,
        at: usize,
        entries: impl ExactSizeIterator<Item = T>,
        encode: impl Fn(T) -> [u8; ENTRY_LEN],
    ) {
        let before = self.buffer.len();
        self.buffer.reserve(ENTRY_LEN * entries.len().min(self.room));
        for entry in entries.take(self.room) {
            self.buffer.extend_from_slice(&encode(entry));
        }
        let count = (self.buffer.len() - before) / ENTRY_LEN;
        self.room -= count;
        self.put_u16(at, count);
    }

    pub(super) fn finish(mut self) {
        self.put_u16(2, self.buffer.len() - self.start);
    }

    /// Writes a number that the room left keeps within its range.
    fn put_u16(&mut self, at: usize, number: usize) {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        let at = self.start + at;
        if let Some(field) = self.buffer.get_mut(at..at + 2) {
            field.copy_from_slice(&number.to_be_bytes());
        }
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

    //= RFC 9260 3-2 3.3.4-1 3.3.4-3
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
            assert_eq!(written[1], bits & 0b1100_0001);
            assert_eq!(sack.flags.packets, bits / 64);
            assert_eq!(written[2..], BYTES[2..]);
        }
        assert_eq!(SackFlags::default().bits(), 0);
        assert_eq!(SackFlags { retransmission: false, packets: 9 }.bits(), 0b1100_0000);
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
