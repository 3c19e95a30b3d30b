//! What DATA (RFC 9260 §3.3.1) and I-DATA chunks (RFC 8260 §2.1) have in common, and what abandons
//! them: FORWARD TSN (RFC 3758 §3.2) and I-FORWARD-TSN (RFC 8260 §2.3.1).

use tresse_wire::{Data, ForwardTsn, IData, IForwardTsn, SkippedMessages, SkippedStream, Tsn};

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
    /// Payload protocol identifier; of I-DATA only in the first fragment.
    pub(super) ppid: u32,
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
                ppid: data.ppid.0,
            },
        }
    }
}

impl From<&IData<'_>> for UserData {
    fn from(data: &IData<'_>) -> UserData {
        UserData {
            tsn: data.tsn,
            bytes: u32::try_from(data.payload.len()).unwrap_or(u32::MAX),
            retransmission: data.flags.retransmission,
            fragment: Fragment {
                stream: data.stream.0,
                sequence: data.mid.0,
                unordered: data.flags.unordered,
                beginning: data.flags.beginning,
                ending: data.flags.ending,
                index: Some(data.fsn.0),
                ppid: data.ppid.0,
            },
        }
    }
}

/// What a sender abandons.
#[derive(Clone, Debug)]
pub(super) struct Forward {
    /// The New Cumulative TSN.
    pub(super) point: Tsn,
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
        let point = chunk.new_cumulative_tsn;
        Forward { point, streams: chunk.skipped().map(skipped).collect() }
    }

    /// What an I-FORWARD-TSN says.
    pub(super) fn interleaved(chunk: &IForwardTsn<'_>) -> Forward {
        let skipped = |skipped: SkippedMessages| {
            let SkippedMessages { stream, unordered, mid } = skipped;
            let (stream, sequence, index) = (stream.0, mid.0, Some(0));
            Fragment { stream, sequence, unordered, index, ..Fragment::default() }
        };
        let ordered = chunk.skipped().filter(|skipped| !skipped.unordered);
        let point = chunk.new_cumulative_tsn;
        Forward { point, streams: ordered.map(skipped).collect() }
    }
}
