//! Initiation Acknowledgement (INIT ACK, 2), RFC 9260 §3.3.3.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 2    |  Chunk Flags  |         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Initiate Tag                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               Advertised Receiver Window Credit               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Number of Outbound Streams   |   Number of Inbound Streams   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Initial TSN                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /              Optional/Variable-Length Parameters              /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::Init;

/// An INIT ACK chunk: the same fields as in INIT, of the one that answers.
///
/// The State Cookie is mandatory; whether it is there is seen by walking the parameters, and the
/// answer to its absence is up to the association (RFC 9260 §3.3.10.2).
pub type InitAck<'a> = Init<'a>;

#[cfg(test)]
mod tests {
    use crate::chunk::test_support::{emitted, parse};
    use crate::{
        Chunk, ChunkError, ChunkType, InitFields, Parameter, ParameterWriter, Tsn, VerificationTag,
    };

    /// An INIT ACK with two addresses, a cookie of six bytes and an unrecognized parameter.
    const BYTES: [u8; 72] = [
        0x02, 0x00, 0x00, 0x46, 0xb4, 0x1c, 0x07, 0x55, 0x00, 0x01, 0x00, 0x00, 0x00, 0x40, 0x00,
        0x20, 0xff, 0xff, 0xff, 0xff, // fixed fields
        0x00, 0x05, 0x00, 0x08, 0xc0, 0x00, 0x02, 0x01, // 192.0.2.1
        0x00, 0x06, 0x00, 0x14, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, // 2001:db8::1
        0x00, 0x07, 0x00, 0x0a, 0x63, 0x6f, 0x6f, 0x6b, 0x69, 0x65, 0x00, 0x00, // cookie
        0x00, 0x08, 0x00, 0x0a, 0xc0, 0x07, 0x00, 0x06, 0xab, 0xcd, 0x00,
        0x00, // unrecognized
    ];

    //= RFC 9260 3.3.2.1-1 3.3.3.1-2
    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::InitAck(ack)) = parse(&BYTES) else { panic!("an INIT ACK chunk") };
        let fields = InitFields {
            initiate_tag: VerificationTag(0xb41c_0755),
            a_rwnd: 65_536,
            outbound_streams: 64,
            inbound_streams: 32,
            initial_tsn: Tsn(u32::MAX),
        };
        assert_eq!(ack.fields(), fields);
        let (v4, v6) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        let parameters: Vec<_> = ack.parameters.parsed().map(Result::unwrap).collect();
        let [addresses @ .., Parameter::UnrecognizedParameter(unrecognized)] = &parameters[..]
        else {
            panic!("{parameters:?}");
        };
        let expected = [
            Parameter::Ipv4Address(v4),
            Parameter::Ipv6Address(v6),
            Parameter::StateCookie(b"cookie"),
        ];
        assert_eq!(addresses, expected);
        assert_eq!(unrecognized.bytes, [0xc0, 0x07, 0x00, 0x06, 0xab, 0xcd]);

        let list = ParameterWriter::new()
            .ipv4(v4)
            .ipv6(v6)
            .state_cookie(b"cookie")
            .unrecognized(unrecognized.bytes)
            .finish();
        assert_eq!(emitted(|writer| writer.init_ack(&fields, &list)), BYTES);
    }

    #[test]
    fn fixed_fields_are_mandatory() {
        let mut bytes = BYTES;
        for length in 4..20 {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::INIT_ACK, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }
}
