//! Tests of parameters.

use super::*;
use crate::{ChunkType, ErrorDetectionMethod, HmacIdentifier};

/// Validates the first parameter of a list.
fn parse(bytes: &[u8]) -> Result<Parameter<'_>, ChunkError> {
    Parameters::new(bytes).parsed().next().expect("a parameter")
}

#[test]
fn every_parameter_reads_its_bytes() {
    assert_eq!(parse(&[0, 1, 0, 6, 1, 2]), Ok(Parameter::HeartbeatInfo(&[1, 2])));
    let v4 = Ipv4Addr::new(192, 0, 2, 1);
    assert_eq!(parse(&[0, 5, 0, 8, 192, 0, 2, 1]), Ok(Parameter::Ipv4Address(v4)));
    let v6: Ipv6Addr = "2001:db8::7".parse().unwrap();
    let bytes = [&[0, 6, 0, 20][..], &v6.octets()].concat();
    assert_eq!(parse(&bytes), Ok(Parameter::Ipv6Address(v6)));
    assert_eq!(parse(&[0, 7, 0, 5, 9]), Ok(Parameter::StateCookie(&[9])));
    let increment = Parameter::CookiePreservative { increment_ms: 258 };
    assert_eq!(parse(&[0, 9, 0, 8, 0, 0, 1, 2]), Ok(increment));
    assert_eq!(parse(&[0, 11, 0, 6, b'x', 0]), Ok(Parameter::HostName(b"x\0")));
    assert_eq!(parse(&[0x80, 0, 0, 4]), Ok(Parameter::EcnCapable));
    assert_eq!(parse(&[0xc0, 0, 0, 4]), Ok(Parameter::ForwardTsnSupported));
    assert_eq!(parse(&[0x80, 8, 0, 6, 1, 2]), Ok(Parameter::SupportedExtensions(&[1, 2])));
    assert_eq!(parse(&[0x81, 0, 0, 4]), Ok(Parameter::RetransmitBitSupported));
    assert_eq!(parse(&[0x81, 0, 0, 6, 1, 2]), Ok(Parameter::RetransmitBitSupported));
}

//= RFC 9653 4-1
#[test]
fn zero_checksum_acceptable_reads_and_writes_its_bytes() {
    let dtls = ErrorDetectionMethod::DTLS;
    let bytes = [0x80, 1, 0, 8, 0, 0, 0, 1];
    assert_eq!(ParameterWriter::new().zero_checksum_acceptable(dtls).finish(), bytes);
    assert_eq!(parse(&bytes), Ok(Parameter::ZeroChecksumAcceptable(dtls)));
    let other = ErrorDetectionMethod(0x0102_0304);
    assert_eq!(parse(&[0x80, 1, 0, 8, 1, 2, 3, 4]), Ok(Parameter::ZeroChecksumAcceptable(other)));
    assert_eq!(
        (dtls.to_string(), other.to_string()),
        ("SCTP over DTLS".into(), "method 16909060".into())
    );
    for bad in
        [&[0x80, 1, 0, 4][..], &[0x80, 1, 0, 7, 0, 0, 1], &[0x80, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0]]
    {
        let parameter_type = ParameterType::ZERO_CHECKSUM_ACCEPTABLE;
        let length = usize::from(bad[3]);
        assert_eq!(parse(bad), Err(ChunkError::InvalidParameter { parameter_type, length }));
    }
}

//= RFC 4895 3.1-1 3.1-2 3.1-3 3.2-1 3.2-2 3.2-3 3.3-2 3.3-3 3.3-4
#[test]
fn parameters_of_authentication_read_and_write_their_bytes() {
    let algorithms = [HmacIdentifier::SHA_256];
    let list = ParameterWriter::new()
        .random(&[1; 5])
        .chunk_list(&[0, 0xc1])
        .hmac_algo(&algorithms)
        .hmac_algo(&[])
        .finish();
    let mut bytes = vec![0x80, 2, 0, 9, 1, 1, 1, 1, 1, 0, 0, 0];
    bytes.extend([0x80, 3, 0, 6, 0, 0xc1, 0, 0, 0x80, 4, 0, 6, 0, 3, 0, 0, 0x80, 4, 0, 4]);
    assert_eq!(list, bytes);
    // The padding is ignored.
    bytes[9..12].fill(7);
    bytes[18..20].fill(7);
    let parsed: Vec<_> = Parameters::new(&bytes).parsed().map(Result::unwrap).collect();
    assert_eq!(parsed[..2], [Parameter::Random(&[1; 5]), Parameter::ChunkList(&[0, 0xc1])]);
    let Parameter::HmacAlgo(list) = parsed[2] else { panic!("HMAC-ALGO") };
    assert_eq!(list.iter().collect::<Vec<_>>(), algorithms);
    assert!(parse(&[0x80, 4, 0, 7, 0, 1, 0]).is_err());
    assert!(matches!(parsed[3], Parameter::HmacAlgo(none) if none.is_empty()));
}

#[test]
fn supported_address_types_are_iterable() {
    let Ok(Parameter::SupportedAddressTypes(types)) = parse(&[0, 12, 0, 8, 0, 5, 0, 6]) else {
        panic!("supported address types");
    };
    assert_eq!(types.iter().collect::<Vec<_>>(), [5, 6]);
    assert_eq!((types.len(), types.is_empty()), (2, false));
    assert!(types.contains(&ParameterType::IPV4_ADDRESS.0));
    assert!(!types.contains(&ParameterType::HOST_NAME_ADDRESS.0));
    assert_eq!(
        parse(&[0, 12, 0, 4]),
        Ok(Parameter::SupportedAddressTypes(ParameterTypes::default()))
    );
}

#[test]
fn unrecognized_parameters_hold_a_parameter() {
    for length in [10, 12] {
        let bytes = [0, 8, 0, length, 0xc0, 7, 0, 6, 1, 2, 0, 0];
        let Ok(Parameter::UnrecognizedParameter(quoted)) = parse(&bytes) else {
            panic!("an unrecognized parameter");
        };
        assert_eq!(quoted.parameter_type, ParameterType(0xc007));
        assert_eq!((quoted.value, quoted.bytes), (&bytes[8..10], &bytes[4..10]));
    }
    for bad in [&[0, 8, 0, 4][..], &[0, 8, 0, 6, 1, 2], &[0, 8, 0, 8, 0xc0, 7, 0, 5]] {
        let parameter_type = ParameterType::UNRECOGNIZED_PARAMETER;
        let error = ChunkError::InvalidParameter { parameter_type, length: bad.len() };
        assert_eq!(parse(bad), Err(error));
    }
}

#[test]
fn unknown_parameters_are_kept_whole() {
    let bytes = [0xff, 0xff, 0, 5, 7];
    let Ok(Parameter::Unknown(raw)) = parse(&bytes) else { panic!("an unknown parameter") };
    assert_eq!((raw.parameter_type, raw.value), (ParameterType(0xffff), &[7][..]));
    assert_eq!(raw.bytes, bytes);
}

#[test]
fn contents_must_suit_the_type() {
    let bad: [&[u8]; 6] = [
        &[0, 5, 0, 7, 192, 0, 2],
        &[0, 5, 0, 9, 192, 0, 2, 1, 0],
        &[0, 6, 0, 8, 0, 0, 0, 0],
        &[0, 9, 0, 4],
        &[0, 9, 0, 6, 0, 0],
        &[0, 12, 0, 7, 0, 5, 0],
    ];
    for bytes in bad {
        let parameter_type = ParameterType(u16::from(bytes[1]));
        let error = ChunkError::InvalidParameter { parameter_type, length: bytes.len() };
        assert_eq!(parse(bytes), Err(error), "{bytes:?}");
        assert_eq!(Parameters::new(bytes).check(), Ok(()));
    }
}

#[test]
fn bad_lengths_end_the_walk() {
    for length in [0, 1, 2, 3, 9, 0xff] {
        let list = [0, 9, 0, 8, 0, 0, 0, 1, 0, 5, 0, length, 1, 2, 3, 4];
        let walked: Vec<_> = Parameters::new(&list).into_iter().collect();
        assert_eq!(walked.len(), 2);
        let parameter_type = ParameterType::IPV4_ADDRESS;
        let length = u16::from(length);
        let error = ChunkError::ParameterLength { parameter_type, length, available: 8 };
        assert_eq!(walked[1], Err(error));
        assert_eq!(Parameters::new(&list).check(), Err(error));
    }
    for rest in 1..4 {
        let list = [0x80, 0, 0, 4, 0, 5, 0];
        let walked: Vec<_> = Parameters::new(&list[..4 + rest]).iter().collect();
        assert_eq!(walked[1..], [Err(ChunkError::PartialParameter { available: rest })]);
    }
}

//= RFC 9260 3.2.1-3
#[test]
fn the_last_padding_may_be_partial() {
    for length in 5..=8 {
        let list = [0x80, 9, 0, 5, 1, 0, 0, 0];
        let walked: Vec<_> = Parameters::new(&list[..length]).iter().collect();
        assert_eq!(walked.len(), 1);
        assert_eq!(walked[0].unwrap().value, [1]);
    }
}

#[test]
fn the_writer_writes_what_is_read() {
    let mut writer = ParameterWriter::new();
    writer.cookie_preservative(258).ecn_capable().raw(ParameterType::HOST_NAME_ADDRESS, b"x\0");
    assert_eq!((writer.len(), writer.is_empty(), writer.left_out()), (20, false, 0));
    let list = writer.finish();
    assert!(writer.is_empty());
    let parsed: Result<Vec<_>, _> = Parameters::new(&list).parsed().collect();
    let expected = vec![
        Parameter::CookiePreservative { increment_ms: 258 },
        Parameter::EcnCapable,
        Parameter::HostName(b"x\0"),
    ];
    assert_eq!(parsed, Ok(expected));
}

//= RFC 9260 3.2.1-1 3.2.1-2
#[test]
fn extensions_are_announced() {
    let timestamp = ChunkType::TIMESTAMP.0;
    let list = ParameterWriter::new()
        .supported_extensions(&[timestamp])
        .retransmit_bit_supported()
        .finish();
    assert_eq!(list, [0x80, 8, 0, 5, 160, 0, 0, 0, 0x81, 0, 0, 4]);
    let parsed: Result<Vec<_>, _> = Parameters::new(&list).parsed().collect();
    let extensions = Parameter::SupportedExtensions(&[160]);
    assert_eq!(parsed, Ok(vec![extensions, Parameter::RetransmitBitSupported]));
}

//= RFC 9260 3.3.2.1.2-1
#[test]
fn a_mapped_address_is_written_as_ipv4() {
    let v4 = Ipv4Addr::new(192, 0, 2, 1);
    let list = ParameterWriter::new().ipv6(v4.to_ipv6_mapped()).finish();
    assert_eq!(parse(&list), Ok(Parameter::Ipv4Address(v4)));
}

#[test]
fn what_does_not_fit_is_left_out() {
    let mut writer = ParameterWriter::new();
    writer.state_cookie(&vec![7; 65_511]);
    assert_eq!((writer.len(), writer.left_out()), (65_516, 0));
    writer.ecn_capable().unrecognized(&[0xc0, 7, 0, 4]);
    assert_eq!((writer.len(), writer.left_out()), (65_516, 2));
    let list = writer.finish();
    assert_eq!(writer.left_out(), 0);
    let parsed: Vec<_> = Parameters::new(&list[..65_515]).parsed().collect();
    assert!(matches!(parsed[..], [Ok(Parameter::StateCookie(cookie))] if cookie.len() == 65_511));
    assert_eq!(ParameterWriter::new().state_cookie(&vec![7; 65_512]).left_out(), 1);
}
