//! Initiation (INIT, 1), RFC 9260 §3.3.2.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 1    |  Chunk Flags  |      Chunk Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Initiate Tag                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Advertised Receiver Window Credit (a_rwnd)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Number of Outbound Streams   |   Number of Inbound Streams   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Initial TSN                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /              Optional/Variable-Length Parameters              /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::tlv::without_final_padding;
use crate::{ChunkError, ChunkType, Parameters, RawChunk, Tsn, VerificationTag};

/// The fixed fields that INIT and INIT ACK chunks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InitFields {
    /// Tag the other end shall put into every packet of the association; 0 is not allowed.
    pub initiate_tag: VerificationTag,
    /// Advertised Receiver Window Credit in bytes; less than 1500 is not allowed.
    pub a_rwnd: u32,
    /// Number of streams the sender wishes to send on; 0 is not allowed.
    pub outbound_streams: u16,
    /// Largest number of streams the sender will receive on; 0 is not allowed.
    pub inbound_streams: u16,
    /// TSN of the first DATA chunk the sender will send.
    pub initial_tsn: Tsn,
}

impl InitFields {
    /// Reads the fields; a chunk too short for them is an error. Their values are not judged here,
    /// because what to answer depends on the state (RFC 9260 §3.3.2, §3.3.3).
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<(Self, Parameters<'_>), ChunkError> {
        Self::read(raw.value).ok_or(raw.invalid_length())
    }

    fn read(value: &[u8]) -> Option<(Self, Parameters<'_>)> {
        let mut reader = Reader::new(value);
        let fields = Self {
            initiate_tag: VerificationTag(reader.u32()?),
            a_rwnd: reader.u32()?,
            outbound_streams: reader.u16()?,
            inbound_streams: reader.u16()?,
            initial_tsn: Tsn(reader.u32()?),
        };
        Some((fields, Parameters::new(reader.rest())))
    }

    //= RFC 9260 3.3.2-5 3.3.2.1-1 3.3.3-3 3.3.3.1-2
    /// Writes an INIT or INIT ACK chunk; the padding of the last parameter is not counted in the
    /// Chunk Length.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>, chunk_type: ChunkType, parameters: &[u8]) {
        let [t0, t1, t2, t3] = self.initiate_tag.0.to_be_bytes();
        let [w0, w1, w2, w3] = self.a_rwnd.to_be_bytes();
        let [o0, o1] = self.outbound_streams.to_be_bytes();
        let [i0, i1] = self.inbound_streams.to_be_bytes();
        let [n0, n1, n2, n3] = self.initial_tsn.0.to_be_bytes();
        let fixed = [t0, t1, t2, t3, w0, w1, w2, w3, o0, o1, i0, i1, n0, n1, n2, n3];
        super::emit(buffer, chunk_type, 0, &fixed, without_final_padding(parameters));
    }
}

/// An INIT chunk, or by the name of [`InitAck`](crate::InitAck) an INIT ACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Init<'a> {
    /// Tag the receiver shall put into every packet of the association. May be 0 here, which the
    /// receiver of the chunk has to reject.
    pub initiate_tag: VerificationTag,
    /// Advertised Receiver Window Credit in bytes. May be below the 1500 the RFC demands.
    pub a_rwnd: u32,
    /// Number of streams the sender wishes to send on. May be 0, which is to be rejected.
    pub outbound_streams: u16,
    /// Largest number of streams the sender will receive on. May be 0, which is to be rejected.
    pub inbound_streams: u16,
    /// TSN of the first DATA chunk the sender will send.
    pub initial_tsn: Tsn,
    /// The parameters, not validated yet.
    pub parameters: Parameters<'a>,
}

impl<'a> Init<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (fields, parameters) = InitFields::parse(raw)?;
        let InitFields { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn } =
            fields;
        Ok(Self {
            initiate_tag,
            a_rwnd,
            outbound_streams,
            inbound_streams,
            initial_tsn,
            parameters,
        })
    }

    /// The fixed fields.
    #[must_use]
    pub const fn fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, Parameter, ParameterWriter};

    /// An INIT with Supported Address Types, Forward-TSN-Supported and Supported Extensions whose
    /// last parameter is one byte short of a multiple of four.
    const BYTES: [u8; 40] = [
        0x01, 0x00, 0x00, 0x27, 0x0e, 0xb0, 0x92, 0x11, 0x00, 0x02, 0x00, 0x00, 0x00, 0x0a, 0xff,
        0xff, 0x3a, 0x98, 0x01, 0x7f, 0x00, 0x0c, 0x00, 0x08, 0x00, 0x05, 0x00, 0x06, 0xc0, 0x00,
        0x00, 0x04, 0x80, 0x08, 0x00, 0x07, 0xc0, 0x82, 0x0f, 0x00,
    ];

    const FIELDS: InitFields = InitFields {
        initiate_tag: VerificationTag(0x0eb0_9211),
        a_rwnd: 131_072,
        outbound_streams: 10,
        inbound_streams: 65_535,
        initial_tsn: Tsn(0x3a98_017f),
    };

    //= RFC 9260 3-2 3.3.2-5 3.3.2.1-1 3.3.3-3 3.3.3.1-2
    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::Init(init)) = parse(&BYTES) else { panic!("an INIT chunk") };
        assert_eq!(init.fields(), FIELDS);
        let parameters: Vec<_> = init.parameters.parsed().map(Result::unwrap).collect();
        let [Parameter::SupportedAddressTypes(types), rest @ ..] = &parameters[..] else {
            panic!("{parameters:?}");
        };
        assert_eq!(types.iter().collect::<Vec<_>>(), [5, 6]);
        assert_eq!(
            rest,
            [Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(&[0xc0, 0x82, 0x0f])]
        );

        let list = ParameterWriter::new()
            .supported_address_types(&[5, 6])
            .forward_tsn_supported()
            .supported_extensions(&[0xc0, 0x82, 0x0f])
            .finish();
        assert_eq!(list.len(), 20);
        assert_eq!(emitted(|writer| writer.init(&FIELDS, &list)), BYTES);
    }

    #[test]
    fn final_padding_may_be_counted() {
        let mut bytes = BYTES;
        bytes[3] = 0x28;
        let Ok(Chunk::Init(init)) = parse(&bytes) else { panic!("an INIT chunk") };
        assert_eq!(init.parameters.parsed().filter(Result::is_ok).count(), 3);
        assert_eq!(init.parameters.check(), Ok(()));
    }

    #[test]
    fn fixed_fields_are_mandatory() {
        let mut bytes = BYTES;
        for length in 4..20 {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::INIT, length };
            assert_eq!(parse(&bytes), Err(error));
        }
        bytes[3] = 20;
        let Ok(Chunk::Init(init)) = parse(&bytes) else { panic!("an INIT chunk") };
        assert!(init.parameters.is_empty());
    }

    #[test]
    fn forbidden_values_are_left_to_the_association() {
        let mut bytes = BYTES;
        bytes[4..20].fill(0);
        let Ok(Chunk::Init(init)) = parse(&bytes) else { panic!("an INIT chunk") };
        assert_eq!(init.initiate_tag, VerificationTag(0));
        assert_eq!((init.outbound_streams, init.inbound_streams, init.a_rwnd), (0, 0, 0));
    }
}
