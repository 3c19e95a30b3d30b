//! Payload Data supporting Interleaving (I-DATA, 64), RFC 8260 §2.1; R bit as in DATA.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 64   | Res |R|I|U|B|E|       Length = Variable       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                              TSN                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Stream Identifier      |           Reserved            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Message Identifier                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Payload Protocol Identifier / Fragment Sequence Number     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                           User Data                           /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::{ChunkError, ChunkType, DataFlags, Fsn, Mid, Ppid, RawChunk, StreamId, Tsn};

/// Length of an I-DATA chunk in front of its user data, in bytes (RFC 8260 §2.1): 4 more than that of DATA.
pub const I_DATA_HEADER_LEN: usize = 20;

/// An I-DATA chunk: a user message or a fragment of one, between fragments of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IData<'a> {
    /// Transmission Sequence Number.
    pub tsn: Tsn,
    /// Stream the message belongs to.
    pub stream: StreamId,
    /// Which message of the stream, ordered and unordered ones counted apart.
    pub mid: Mid,
    /// Payload Protocol Identifier, for the application: 0 unless the chunk is a first fragment, which alone carries it.
    pub ppid: Ppid,
    /// Which fragment of the message: 0 if the chunk is a first one, which does not carry it.
    pub fsn: Fsn,
    /// Flags.
    pub flags: DataFlags,
    /// User data, never empty when parsed.
    pub payload: &'a [u8],
}

impl<'a> IData<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let data = Self::fields(raw).ok_or(raw.invalid_length())?;
        // As DATA (RFC 9260 §3.3.1): L "MUST be greater than 0".
        if data.payload.is_empty() {
            return Err(ChunkError::NoUserData { tsn: data.tsn });
        }
        Ok(data)
    }

    //= RFC 8260 2.1-2 2.1-5
    fn fields(raw: RawChunk<'a>) -> Option<Self> {
        let mut reader = Reader::new(raw.value);
        let flags = DataFlags::from_bits(raw.flags);
        let (tsn, stream) = (Tsn(reader.u32()?), StreamId(reader.u16()?));
        let _reserved = reader.u16()?;
        let (mid, number) = (Mid(reader.u32()?), reader.u32()?);
        let (ppid, fsn) =
            if flags.beginning { (Ppid(number), Fsn(0)) } else { (Ppid(0), Fsn(number)) };
        Some(Self { tsn, stream, mid, ppid, fsn, flags, payload: reader.rest() })
    }

    //= RFC 8260 2.1-1 2.1-4
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let number = if self.flags.beginning { self.ppid.0 } else { self.fsn.0 };
        let mut fixed = [0; I_DATA_HEADER_LEN - crate::CHUNK_HEADER_LEN];
        fixed[..4].copy_from_slice(&self.tsn.0.to_be_bytes());
        fixed[4..6].copy_from_slice(&self.stream.0.to_be_bytes());
        fixed[8..12].copy_from_slice(&self.mid.0.to_be_bytes());
        fixed[12..].copy_from_slice(&number.to_be_bytes());
        super::emit(buffer, ChunkType::I_DATA, self.flags.bits(), &fixed, self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    /// The third fragment of an unordered message, five bytes, padded by three.
    const BYTES: [u8; 28] = [
        0x40, 0x04, 0x00, 0x19, 0x8d, 0x1c, 0x22, 0x04, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x02, 0x00, 0x00, 0x00, 0x02, b'h', b'e', b'l', b'l', b'o', 0x00, 0x00, 0x00,
    ];

    const DATA: IData<'static> = IData {
        tsn: Tsn(0x8d1c_2204),
        stream: StreamId(3),
        mid: Mid(0x1_0002),
        ppid: Ppid(0),
        fsn: Fsn(2),
        flags: DataFlags {
            retransmission: false,
            immediate: false,
            unordered: true,
            beginning: false,
            ending: false,
        },
        payload: b"hello",
    };

    //= RFC 8260 2.1-1 2.1-4
    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::IData(DATA)));
        assert_eq!(emitted(|writer| writer.i_data(&DATA)), BYTES);
    }

    #[test]
    fn the_first_fragment_has_the_ppid_and_no_fsn() {
        let mut bytes = BYTES;
        bytes[1] = 0x06;
        let flags = DataFlags { beginning: true, ..DATA.flags };
        let first = IData { ppid: Ppid(2), fsn: Fsn(0), flags, ..DATA };
        assert_eq!(parse(&bytes), Ok(Chunk::IData(first)));
        // What belongs to the other kind of fragment is not written.
        assert_eq!(emitted(|writer| writer.i_data(&IData { fsn: Fsn(9), ..first })), bytes);
        assert_eq!(emitted(|writer| writer.i_data(&IData { ppid: Ppid(9), ..DATA })), BYTES);
    }

    //= RFC 8260 2.1-2 2.1-5
    #[test]
    fn what_is_reserved_and_padding_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] |= 0xe0;
        bytes[10..12].fill(0xff);
        bytes[25..].fill(0xff);
        assert_eq!(parse(&bytes), Ok(Chunk::IData(DATA)));
        assert_eq!(parse(&bytes[..25]), Ok(Chunk::IData(DATA)));
    }

    #[test]
    fn user_data_is_mandatory() {
        let mut bytes = BYTES;
        bytes[3] = 20;
        assert_eq!(parse(&bytes), Err(ChunkError::NoUserData { tsn: DATA.tsn }));
        bytes[3] = 21;
        assert!(matches!(parse(&bytes), Ok(Chunk::IData(IData { payload: b"h", .. }))));
        for length in 4..20 {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::I_DATA, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }
}
