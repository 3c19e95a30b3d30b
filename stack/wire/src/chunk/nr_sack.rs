//! Non-Renegable Selective Acknowledgement (NR-SACK, 16), draft-natarajan-tsvwg-sctp-nrsack and
//! draft-tuexen-tsvwg-sctp-multipath; as FreeBSD and usrsctp write it.
//!
//! A receiver may discard what it reported in Gap Ack Blocks ("renege", RFC 9260 §6.2); never what it
//! reported in Non-Renegable Gap Ack Blocks, which the sender may forget at once. Together the two
//! lists say what arrived; FreeBSD puts each TSN into one of them only. To be sent only to a peer
//! that listed the type in its Supported Extensions (RFC 5061 §4.2.7).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 16   |PC |Reserved |R|         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Cumulative TSN Ack                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Advertised Receiver Window Credit (a_rwnd)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Number of Gap Ack Blocks = N  |Number of NR Gap Ack Blocks = K|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Number of Duplicate TSNs = M |           Reserved            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Gap Ack Block #1 Start     |     Gap Ack Block #1 End      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   NR Gap Ack Block #1 Start   |    NR Gap Ack Block #1 End    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Duplicate TSN 1                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Duplicate TSN M                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::sack::{ENTRY_LEN, GapAckBlocks, ListWriter, lists};
use crate::reader::Reader;
use crate::{ChunkError, ChunkType, GapAckBlock, RawChunk, Sack, SackFlags, Tsn};

/// Length of the chunk in front of the first Gap Ack Block, in bytes.
const FIXED_LEN: usize = 20;

/// An NR-SACK chunk whose counts agree with its length: a SACK and one list more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NrSack<'a> {
    /// What a SACK has. Its Gap Ack Blocks need not include the non-renegable ones.
    pub sack: Sack<'a>,
    nr_gap_ack_blocks: &'a [[u8; ENTRY_LEN]],
}

impl<'a> NrSack<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let mut words = || Some((reader.u32()?, reader.u32()?));
        let (cumulative_tsn_ack, a_rwnd) = words().ok_or(raw.invalid_length())?;
        let mut counts = || Some([reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?]);
        let [gaps, nr_gaps, dups, _reserved] = counts().ok_or(raw.invalid_length())?;
        let [gap_ack_blocks, nr_gap_ack_blocks, duplicates] = lists(reader, [gaps, nr_gaps, dups])
            .ok_or(ChunkError::NrSackCounts {
                length: raw.bytes.len(),
                gap_ack_blocks: gaps,
                nr_gap_ack_blocks: nr_gaps,
                duplicates: dups,
            })?;
        let flags = SackFlags::from_bits(raw.flags);
        let cumulative_tsn_ack = Tsn(cumulative_tsn_ack);
        let sack = Sack::new(flags, cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicates);
        Ok(Self { sack, nr_gap_ack_blocks })
    }

    /// The Non-Renegable Gap Ack Blocks in the order of the chunk, unjudged.
    #[must_use]
    pub fn nr_gap_blocks(&self) -> GapAckBlocks<'a> {
        GapAckBlocks::new(self.nr_gap_ack_blocks)
    }
}

/// Writes an NR-SACK chunk; lists that are too long are shortened from the end.
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    flags: SackFlags,
    cumulative_tsn_ack: Tsn,
    a_rwnd: u32,
    gaps: impl ExactSizeIterator<Item = GapAckBlock>,
    nr_gaps: impl ExactSizeIterator<Item = GapAckBlock>,
    duplicates: impl ExactSizeIterator<Item = Tsn>,
) {
    let kind = ChunkType::NR_SACK;
    let mut list = ListWriter::new(buffer, kind, flags, cumulative_tsn_ack, a_rwnd, FIXED_LEN);
    list.blocks(12, gaps);
    list.blocks(14, nr_gaps);
    list.duplicates(16, duplicates);
    list.finish();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, UnknownAction};

    /// Cumulative TSN Ack 12; 14 and 15 held, 17 to 20 delivered; TSN 9 came twice.
    const BYTES: [u8; 32] = [
        0x10, 0x80, 0x00, 0x20, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x12, 0x34, 0x00, 0x01, 0x00,
        0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x03, 0x00, 0x05, 0x00, 0x08, 0x00, 0x00,
        0x00, 0x09,
    ];

    const HELD: GapAckBlock = GapAckBlock { start: 2, end: 3 };
    const DELIVERED: GapAckBlock = GapAckBlock { start: 5, end: 8 };

    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::NrSack(chunk)) = parse(&BYTES) else { panic!("an NR-SACK chunk") };
        let sack = chunk.sack;
        assert_eq!((sack.cumulative_tsn_ack, sack.a_rwnd), (Tsn(12), 4660));
        assert_eq!(sack.flags, SackFlags { retransmission: false, packets: 2 });
        assert_eq!(sack.gap_blocks().collect::<Vec<_>>(), [HELD]);
        assert_eq!(chunk.nr_gap_blocks().collect::<Vec<_>>(), [DELIVERED]);
        assert_eq!(sack.duplicates().collect::<Vec<_>>(), [Tsn(9)]);
        let lists = (sack.gap_blocks(), chunk.nr_gap_blocks(), sack.duplicates());
        let written = emitted(|writer| {
            writer.nr_sack(sack.flags, Tsn(12), 4660, lists.0, lists.1, lists.2);
        });
        assert_eq!(written, BYTES);
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] |= 0x3e;
        bytes[18..20].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(parse(&bytes), parse(&BYTES));
    }

    #[test]
    fn counts_must_agree_with_the_length() {
        for counts in [[1, 1, 2], [1, 2, 1], [0, 1, 1], [4, 0, 0], [65_535; 3], [0; 3]] {
            let mut bytes = BYTES;
            for (i, count) in counts.iter().enumerate() {
                bytes[12 + 2 * i..14 + 2 * i].copy_from_slice(&u16::to_be_bytes(*count));
            }
            let [gap_ack_blocks, nr_gap_ack_blocks, duplicates] = counts;
            let error = ChunkError::NrSackCounts {
                length: 32,
                gap_ack_blocks,
                nr_gap_ack_blocks,
                duplicates,
            };
            assert_eq!(parse(&bytes), Err(error));
        }
        for length in 4..32 {
            let mut bytes = BYTES;
            bytes[3] = length;
            let found = parse(&bytes);
            let length = usize::from(length);
            let short = ChunkError::InvalidLength { chunk_type: ChunkType::NR_SACK, length };
            match length {
                0..20 => assert_eq!(found, Err(short)),
                _ => assert!(matches!(found, Err(ChunkError::NrSackCounts { .. })), "{length}"),
            }
        }
    }

    #[test]
    fn lists_beyond_the_chunk_length_are_shortened() {
        let written = emitted(|writer| {
            let lists = [[HELD; 9000], [DELIVERED; 9000]];
            let duplicates = [Tsn(7); 100].into_iter();
            let [gaps, nr_gaps] = lists.map(IntoIterator::into_iter);
            writer.nr_sack(SackFlags::default(), Tsn(1), 0, gaps, nr_gaps, duplicates);
        });
        let Ok(Chunk::NrSack(chunk)) = parse(&written) else { panic!("an NR-SACK chunk") };
        assert_eq!(chunk.sack.gap_blocks().len(), 9000);
        assert_eq!(chunk.nr_gap_blocks().len(), 7378);
        assert_eq!(chunk.sack.duplicates().len(), 0);
    }

    #[test]
    fn who_does_not_know_it_drops_the_packet() {
        assert_eq!(ChunkType::NR_SACK.unknown_action(), UnknownAction::Stop);
    }
}
