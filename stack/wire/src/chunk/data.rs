//! Payload Data (DATA, 0), RFC 9260 §3.3.1; I bit from RFC 7053, R bit from
//! draft-proshin-tsvwg-sctp-rtx-bit-03 §3.1.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 0    | Res |R|I|U|B|E|            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                              TSN                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Stream Identifier S      |   Stream Sequence Number n    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Payload Protocol Identifier                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                 User Data (seq n of Stream S)                 /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, ChunkType, Ppid, RawChunk, Ssn, StreamId, Tsn, padded};

/// Length of a DATA chunk in front of its user data, in bytes (RFC 9260 §3.3.1).
pub const DATA_HEADER_LEN: usize = 16;

/// Bytes that a DATA chunk with this much user data takes in a packet, padding included.
#[must_use]
pub const fn data_chunk_len(payload: usize) -> usize {
    DATA_HEADER_LEN.saturating_add(padded(payload))
}

/// Flags of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DataFlags {
    /// R bit: the chunk has been sent before (draft-proshin-tsvwg-sctp-rtx-bit-03 §3.1; Ladha et
    /// al., Figure 6, "Retransmit Bit Rules"). To be set only if both peers have announced
    /// [`RETRANSMIT_BIT_SUPPORTED`](crate::ParameterType::RETRANSMIT_BIT_SUPPORTED).
    pub retransmission: bool,
    /// I bit: the sender asks for a SACK without delay (RFC 7053).
    pub immediate: bool,
    /// U bit: unordered, the Stream Sequence Number means nothing.
    pub unordered: bool,
    /// B bit: first fragment of a user message.
    pub beginning: bool,
    /// E bit: last fragment of a user message.
    pub ending: bool,
}

impl DataFlags {
    /// An ordered user message in one piece: B and E set.
    pub const UNFRAGMENTED: Self = Self {
        retransmission: false,
        immediate: false,
        unordered: false,
        beginning: true,
        ending: true,
    };

    /// Reads the Chunk Flags; the reserved bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            retransmission: bits & 16 != 0,
            immediate: bits & 8 != 0,
            unordered: bits & 4 != 0,
            beginning: bits & 2 != 0,
            ending: bits & 1 != 0,
        }
    }

    /// The Chunk Flags with the reserved bits 0.
    #[must_use]
    pub const fn bits(self) -> u8 {
        (self.retransmission as u8) << 4
            | (self.immediate as u8) << 3
            | (self.unordered as u8) << 2
            | (self.beginning as u8) << 1
            | self.ending as u8
    }
}

/// A DATA chunk: a user message or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data<'a> {
    /// Transmission Sequence Number.
    pub tsn: Tsn,
    /// Stream the message belongs to.
    pub stream: StreamId,
    /// Position in the stream; meaningless when the unordered flag is set.
    pub ssn: Ssn,
    /// Payload Protocol Identifier, for the application.
    pub ppid: Ppid,
    /// Flags.
    pub flags: DataFlags,
    /// User data, never empty when parsed.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    #[inline]
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let data = Self::fields(raw).ok_or_else(|| raw.invalid_length())?;
        //= RFC 9260 3.3.1-5
        // RFC 9260 §3.3.1: L "MUST be greater than 0".
        if data.payload.is_empty() {
            return Err(ChunkError::NoUserData { tsn: data.tsn });
        }
        Ok(data)
    }

    #[inline]
    fn fields(raw: RawChunk<'a>) -> Option<Self> {
        let (fixed, payload) = raw.value.split_first_chunk()?;
        let [t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3] = *fixed;
        Some(Self {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
            ppid: Ppid(u32::from_be_bytes([p0, p1, p2, p3])),
            flags: DataFlags::from_bits(raw.flags),
            payload,
        })
    }

    //= RFC 9260 3-2 3.3.1-1
    #[inline]
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.0.to_be_bytes();
        let fixed = [t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3];
        super::emit(buffer, ChunkType::DATA, self.flags.bits(), &fixed, self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    /// An unordered whole message of five bytes with SACK-IMMEDIATELY, padded by three.
    const BYTES: [u8; 24] = [
        0x00, 0x0f, 0x00, 0x15, 0x8d, 0x1c, 0x22, 0x04, 0x00, 0x03, 0x01, 0x02, 0x00, 0x00, 0x00,
        0x33, b'h', b'e', b'l', b'l', b'o', 0x00, 0x00, 0x00,
    ];

    const DATA: Data<'static> = Data {
        tsn: Tsn(0x8d1c_2204),
        stream: StreamId(3),
        ssn: Ssn(0x0102),
        ppid: Ppid(51),
        flags: DataFlags { immediate: true, unordered: true, ..DataFlags::UNFRAGMENTED },
        payload: b"hello",
    };

    //= RFC 9260 3-2 3.2-1 3.2-2 3.2-3 3.3.1-1 3.3.1-8 3.3.1-9 3.3.1-10
    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::Data(DATA)));
        let Data { tsn, stream, ssn, ppid, flags, payload } = DATA;
        let written = emitted(|writer| writer.data(tsn, stream, ssn, ppid, flags, payload));
        assert_eq!(written, BYTES);
        assert_eq!(written.len(), data_chunk_len(payload.len()));
    }

    //= RFC 9260 3.2-4
    #[test]
    fn reserved_flags_and_padding_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] |= 0xe0;
        bytes[21..].fill(0xff);
        assert_eq!(parse(&bytes), Ok(Chunk::Data(DATA)));
        assert_eq!(parse(&bytes[..21]), Ok(Chunk::Data(DATA)));
    }

    //= RFC 9260 3.3.1-5
    #[test]
    fn user_data_is_mandatory() {
        let mut bytes = BYTES;
        bytes[3] = 16;
        assert_eq!(parse(&bytes), Err(ChunkError::NoUserData { tsn: DATA.tsn }));
        bytes[3] = 17;
        assert!(matches!(parse(&bytes), Ok(Chunk::Data(Data { payload: b"h", .. }))));
        for length in 4..16 {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::DATA, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }

    #[test]
    fn flags_keep_their_bits() {
        for bits in 0..=255 {
            assert_eq!(DataFlags::from_bits(bits).bits(), bits & 0x1f);
            assert_eq!(DataFlags::from_bits(bits).retransmission, bits & 0x10 != 0);
        }
        assert_eq!(DataFlags::UNFRAGMENTED.bits(), 0b0011);
        assert_eq!(DataFlags::default().bits(), 0);
    }
}
