//! What DATA (RFC 9260 §3.3.1) and I-DATA chunks (RFC 8260 §2.1) have in common, and what abandons
//! them: FORWARD TSN (RFC 3758 §3.2) and I-FORWARD-TSN (RFC 8260 §2.3.1).

use tresse_wire::{Data, DataFlags, ForwardTsn, RawChunk, SkippedStream, Tsn};

/// Length of an I-DATA chunk in front of its user data.
const I_DATA_HEADER: usize = 20;

/// Where a chunk stands in a message, and the message in its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) stream: u16,
    /// SSN, or MID of I-DATA.
    pub(super) sequence: u32,
    pub(super) unordered: bool,
    pub(super) beginning: bool,
    pub(super) ending: bool,
    /// I-DATA: its position in the message. Fragments of DATA have consecutive TSNs instead.
    pub(super) index: Option<u32>,
}

/// A chunk with user data.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserData {
    pub(super) tsn: Tsn,
    /// User data in bytes.
    pub(super) bytes: u32,
    /// The R bit (draft-proshin-tsvwg-sctp-rtx-bit).
    pub(super) retransmission: bool,
    pub(super) fragment: Fragment,
}

impl From<&Data<'_>> for UserData {
    fn from(data: &Data<'_>) -> UserData {
        UserData {
            tsn: data.tsn,
            bytes: u32::try_from(data.payload.len()).unwrap_or(u32::MAX),
            retransmission: data.flags.retransmission,
            fragment: Fragment {
                stream: data.stream.0,
                sequence: data.ssn.0.into(),
                unordered: data.flags.unordered,
                beginning: data.flags.beginning,
                ending: data.flags.ending,
                index: None,
            },
        }
    }
}

impl UserData {
    /// Reads an I-DATA chunk; `None` if it is too short.
    pub(super) fn interleaved(raw: &RawChunk<'_>) -> Option<UserData> {
        let flags = DataFlags::from_bits(raw.flags);
        let bytes = raw.bytes.len().checked_sub(I_DATA_HEADER)?;
        // RFC 8260 §2.1: in the first fragment, this field is the PPID and the FSN is 0.
        let fsn = if flags.beginning { 0 } else { word(raw.value, 12)? };
        Some(UserData {
            tsn: Tsn(word(raw.value, 0)?),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            retransmission: false,
            fragment: Fragment {
                stream: half(raw.value, 4)?,
                sequence: word(raw.value, 8)?,
                unordered: flags.unordered,
                beginning: flags.beginning,
                ending: flags.ending,
                index: Some(fsn),
            },
        })
    }
}

/// What a sender abandons.
#[derive(Clone, Debug, Default)]
pub(super) struct Forward {
    /// The last message of each ordered stream that is skipped, as the last fragment of it would be.
    pub(super) streams: Vec<Fragment>,
}

impl Forward {
    /// What a FORWARD TSN says.
    pub(super) fn of(chunk: &ForwardTsn<'_>) -> Forward {
        let skipped = |skipped: SkippedStream| {
            let (stream, sequence) = (skipped.stream.0, skipped.ssn.0.into());
            Fragment { stream, sequence, ..Fragment::default() }
        };
        Forward { streams: chunk.skipped().map(skipped).collect() }
    }

    /// Reads an I-FORWARD-TSN; `None` if it is too short.
    pub(super) fn parse(value: &[u8]) -> Option<Forward> {
        // Behind the new cumulative TSN.
        let rest = value.get(4..)?;
        let skipped = |entry: &[u8]| {
            // RFC 8260 §2.3.1: stream, reserved bits and U, MID.
            let (sequence, unordered) = (word(entry, 4)?, half(entry, 2)? & 1 != 0);
            let (stream, index) = (half(entry, 0)?, Some(0));
            Some(Fragment { stream, sequence, unordered, index, ..Fragment::default() })
        };
        let entries = rest.chunks_exact(8);
        Some(Forward { streams: entries.filter_map(skipped).filter(|f| !f.unordered).collect() })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
