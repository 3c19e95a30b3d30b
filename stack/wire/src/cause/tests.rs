//! Tests of error causes.

use super::*;
use crate::ParameterType;

/// Validates the first cause of a list.
fn parse(bytes: &[u8]) -> Result<Cause<'_>, ChunkError> {
    Causes::new(bytes).parsed().next().expect("a cause")
}

fn written(write: fn(&mut CauseWriter) -> &mut CauseWriter) -> Vec<u8> {
    let list = write(&mut CauseWriter::new()).finish();
    assert!(!list.is_empty() && list.len().is_multiple_of(4));
    list
}

//= RFC 4895 4.1-1 4.1-2 4.1-3 4.1-4
#[test]
fn every_cause_reads_and_writes_its_bytes() {
    const ADDRESS: [u8; 8] = [0, 5, 0, 8, 192, 0, 2, 1];
    let cases: Vec<(Vec<u8>, Vec<u8>, Cause<'_>)> = vec![
        (
            vec![0, 1, 0, 8, 1, 2, 0, 0],
            written(|w| w.invalid_stream_identifier(StreamId(0x0102))),
            Cause::InvalidStreamIdentifier { stream: StreamId(0x0102) },
        ),
        (
            vec![0, 2, 0, 10, 0, 0, 0, 1, 0, 7, 0, 0],
            written(|w| w.missing_mandatory_parameter(&[ParameterType::STATE_COOKIE])),
            Cause::MissingMandatoryParameter {
                types: ParameterTypes::from_bytes(&[0, 7]).unwrap(),
            },
        ),
        (
            vec![0, 3, 0, 8, 0, 0, 3, 232],
            written(|w| w.stale_cookie(1000)),
            Cause::StaleCookie { measure_us: 1000 },
        ),
        (vec![0, 4, 0, 4], written(|w| w.out_of_resource()), Cause::OutOfResource),
        (
            [&[0, 5, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.unresolvable_address(&ADDRESS)),
            Cause::UnresolvableAddress(&ADDRESS),
        ),
        (
            vec![0, 6, 0, 9, 0x7e, 0, 0, 5, 1, 0, 0, 0],
            written(|w| w.unrecognized_chunk_type(&[0x7e, 0, 0, 5, 1])),
            Cause::UnrecognizedChunkType(&[0x7e, 0, 0, 5, 1]),
        ),
        (
            vec![0, 7, 0, 4],
            written(|w| w.invalid_mandatory_parameter()),
            Cause::InvalidMandatoryParameter,
        ),
        (
            vec![0, 8, 0, 8, 0xc0, 9, 0, 4],
            written(|w| w.unrecognized_parameters(&[0xc0, 9, 0, 4])),
            Cause::UnrecognizedParameters(&[0xc0, 9, 0, 4]),
        ),
        (
            vec![0, 9, 0, 8, 0, 0, 0, 5],
            written(|w| w.no_user_data(Tsn(5))),
            Cause::NoUserData { tsn: Tsn(5) },
        ),
        (
            vec![0, 10, 0, 4],
            written(|w| w.cookie_received_while_shutting_down()),
            Cause::CookieReceivedWhileShuttingDown,
        ),
        (
            [&[0, 11, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.restart_with_new_addresses(&ADDRESS)),
            Cause::RestartWithNewAddresses(Parameters::new(&ADDRESS)),
        ),
        (
            vec![0, 12, 0, 5, 33, 0, 0, 0],
            written(|w| w.user_initiated_abort(b"!")),
            Cause::UserInitiatedAbort(b"!"),
        ),
        (
            vec![0, 13, 0, 6, 79, 75, 0, 0],
            written(|w| w.protocol_violation(b"OK")),
            Cause::ProtocolViolation(b"OK"),
        ),
        (
            [&[0, 0xa0, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.request_to_delete_last_address(&ADDRESS)),
            Cause::RequestToDeleteLastAddress(&ADDRESS),
        ),
        (
            [&[0, 0xa1, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.resource_shortage(&ADDRESS)),
            Cause::ResourceShortage(&ADDRESS),
        ),
        (
            [&[0, 0xa2, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.request_to_delete_source_address(&ADDRESS)),
            Cause::RequestToDeleteSourceAddress(&ADDRESS),
        ),
        (vec![0, 0xa3, 0, 4], written(|w| w.illegal_asconf_ack()), Cause::IllegalAsconfAck),
        (
            [&[0, 0xa4, 0, 12][..], &ADDRESS].concat(),
            written(|w| w.no_authorization(&ADDRESS)),
            Cause::NoAuthorization(&ADDRESS),
        ),
        (
            vec![1, 5, 0, 6, 0, 2, 0, 0],
            written(|w| w.unsupported_hmac_identifier(HmacIdentifier(2))),
            Cause::UnsupportedHmacIdentifier { algorithm: HmacIdentifier(2) },
        ),
    ];
    for (bytes, written, cause) in &cases {
        assert_eq!(written, bytes);
        assert_eq!(parse(bytes), Ok(*cause));
    }
    let all: Vec<u8> = cases.iter().flat_map(|(bytes, ..)| bytes.clone()).collect();
    let parsed: Result<Vec<_>, _> = Causes::new(&all).parsed().collect();
    assert_eq!(parsed.unwrap().len(), 19);
}

#[test]
fn an_hmac_identifier_has_its_length() {
    let algorithm = HmacIdentifier::SHA_256;
    let padded = parse(&[1, 5, 0, 8, 0, 3, 9, 9]);
    assert_eq!(padded, Ok(Cause::UnsupportedHmacIdentifier { algorithm }));
    for bad in [&[1, 5, 0, 4][..], &[1, 5, 0, 5, 0], &[1, 5, 0, 7, 0, 3, 0]] {
        let error = ChunkError::InvalidCause { code: CauseCode(0x105), length: bad.len() };
        assert_eq!(parse(bad), Err(error));
    }
}

#[test]
fn unknown_causes_are_kept_whole() {
    let bytes = written(|w| w.raw(CauseCode(0x00b0), &[1]));
    let Ok(Cause::Unknown(raw)) = parse(&bytes) else { panic!("an unknown cause") };
    assert_eq!((raw.code, raw.value, raw.bytes), (CauseCode(0xb0), &[1][..], &bytes[..5]));
    assert_eq!(raw.code.to_string(), "code 176");
    assert_eq!(CauseCode::STALE_COOKIE.to_string(), "Stale Cookie");
}

#[test]
fn contents_must_suit_the_code() {
    let bad: [&[u8]; 12] = [
        &[0, 1, 0, 6, 0, 1],
        &[0, 1, 0, 9, 0, 1, 0, 0, 0],
        &[0, 2, 0, 6, 0, 0],
        &[0, 2, 0, 8, 0, 0, 0, 1],
        &[0, 2, 0, 10, 0, 0, 0, 0, 0, 7],
        &[0, 2, 0, 10, 0, 0, 0, 2, 0, 7],
        &[0, 2, 0, 11, 0, 0, 0, 1, 0, 7, 0],
        &[0, 2, 0, 8, 0xff, 0xff, 0xff, 0xff],
        &[0, 3, 0, 4],
        &[0, 4, 0, 5, 0],
        &[0, 7, 0, 8, 0, 0, 0, 0],
        &[0, 10, 0, 6, 0, 0],
    ];
    for bytes in bad {
        let code = CauseCode(u16::from(bytes[1]));
        let error = ChunkError::InvalidCause { code, length: bytes.len() };
        assert_eq!(parse(bytes), Err(error), "{bytes:?}");
        assert_eq!(Causes::new(bytes).check(), Ok(()));
    }
}

#[test]
fn bad_framing_ends_the_walk_and_bad_content_does_not() {
    let list = [0, 4, 0, 5, 9, 0, 0, 0, 0, 4, 0, 4, 0, 4, 0, 3, 0, 4, 0, 4];
    let walked: Vec<_> = Causes::new(&list).parsed().collect();
    let code = CauseCode::OUT_OF_RESOURCE;
    assert_eq!(
        walked,
        [
            Err(ChunkError::InvalidCause { code, length: 5 }),
            Ok(Cause::OutOfResource),
            Err(ChunkError::CauseLength { code, length: 3, available: 8 }),
        ]
    );
    assert_eq!(Causes::new(&list).into_iter().count(), 3);
}

#[test]
fn quotations_never_outgrow_a_chunk() {
    let huge = vec![1; 70_000];
    let list = CauseWriter::new()
        .out_of_resource()
        .unrecognized_chunk_type(&huge)
        .stale_cookie(1)
        .user_initiated_abort(&huge)
        .finish();
    assert_eq!(list.len(), 65_532);
    let causes: Vec<_> = Causes::new(&list[..65_531]).parsed().map(Result::unwrap).collect();
    let [Cause::OutOfResource, Cause::UnrecognizedChunkType(cut)] = causes[..] else {
        panic!("{} causes", causes.len());
    };
    assert_eq!(cut.len(), 65_531 - 8);

    let list = CauseWriter::new().protocol_violation(&huge).finish();
    assert_eq!(list.len(), 65_532);
    assert!(CauseWriter::new().unresolvable_address(&huge).finish().is_empty());
    let types = vec![ParameterType::STATE_COOKIE; 40_000];
    assert!(CauseWriter::new().missing_mandatory_parameter(&types).finish().is_empty());
}
