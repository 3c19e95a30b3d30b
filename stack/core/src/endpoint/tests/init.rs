//! What INIT and INIT ACK may say (RFC 9260 §3.3.2, §3.3.3), and unknown parameters (§3.2.1,
//! §3.2.2).

use tresse_wire::{Parameter, ParameterType};

use super::*;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::{only, types};

/// Unknown parameter types, one for each pair of highest bits.
const STOP: ParameterType = ParameterType(0x3ff0);
const STOP_AND_REPORT: ParameterType = ParameterType(0x7ff0);
const SKIP: ParameterType = ParameterType(0xbff0);
const SKIP_AND_REPORT: ParameterType = ParameterType(0xfff0);

fn zero_tag() -> InitFields {
    InitFields { initiate_tag: VerificationTag(0), ..peer_fields() }
}

fn small_window() -> InitFields {
    InitFields { a_rwnd: 1499, ..peer_fields() }
}

fn no_streams() -> [InitFields; 2] {
    let (outbound, inbound) = (0, 0);
    [
        InitFields { outbound_streams: outbound, ..peer_fields() },
        InitFields { inbound_streams: inbound, ..peer_fields() },
    ]
}

/// The single packet is an ABORT with the peer's tag, T bit clear, and this cause.
#[track_caller]
fn assert_abort(sent: &[Sent], cause: CauseCode) {
    let abort = only(sent);
    assert_eq!(abort.types(), [ChunkType::ABORT]);
    assert_eq!((abort.tag(), abort.reflected()), (PEER_TAG, false));
    assert_eq!(abort.cause_codes(), [cause]);
}

//= RFC 9260 3.3.2-7
#[test]
fn an_init_with_tag_zero_is_discarded_silently() {
    // RFC 9260 §3.3.2: "the receiver MUST silently discard the packet".
    let mut script = Script::listening(&standard());
    assert!(script.give_bytes(init_packet(&zero_tag(), &[])).is_empty());
}

//= RFC 9260 3.3.2-4 3.3.2-9 3.3.2-12 3.3.2-14 5.1-15 5.1-16 5.1-17
#[test]
fn an_init_without_streams_or_window_is_aborted() {
    // RFC 9260 §3.3.2: "SHOULD send a packet in response containing an ABORT chunk and using the
    // Initiate Tag as the Verification Tag, and MUST NOT change the state of any existing
    // association".
    for fields in no_streams().into_iter().chain([small_window()]) {
        for state in [State::Closed].into_iter().chain(Script::STATES) {
            let mut script = Script::in_state(state);
            let sent = script.give_bytes(init_packet(&fields, &[]));
            assert_abort(&sent, CauseCode::INVALID_MANDATORY_PARAMETER);
            assert_eq!(script.state(), state);
        }
    }
    let mut script = Script::listening(&standard());
    let least = InitFields { a_rwnd: 1500, ..peer_fields() };
    assert_eq!(types(&script.give_bytes(init_packet(&least, &[]))), [[ChunkType::INIT_ACK]]);
}

//= RFC 9260 3.3.3-6
#[test]
fn an_init_ack_with_tag_zero_destroys_the_association() {
    // RFC 9260 §3.3.3: "it MUST destroy the TCB and SHOULD send an ABORT chunk with the T bit set".
    let mut script = Script::connecting(&standard());
    let sent = script.init_ack_with(&zero_tag(), ParameterWriter::new().state_cookie(b"c"));
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
    assert_eq!(only(&sent).types(), [ChunkType::ABORT]);
    assert_eq!((only(&sent).tag(), only(&sent).reflected()), (script.tag, true));
}

//= RFC 9260 3.3.3-12 3.3.3-15
#[test]
fn an_init_ack_without_streams_destroys_the_association() {
    // RFC 9260 §3.3.3: OS or MIS of 0.
    for fields in no_streams() {
        let mut script = Script::connecting(&standard());
        let sent = script.init_ack_with(&fields, ParameterWriter::new().state_cookie(b"c"));
        assert_abort(&sent, CauseCode::INVALID_MANDATORY_PARAMETER);
        assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
    }
}

//= RFC 9260 3.3.3-9
#[test]
fn an_init_ack_with_a_small_window_is_discarded() {
    // RFC 9260 §3.3.3: "MUST discard the packet, SHOULD send a packet in response containing an
    // ABORT chunk ..., and MUST NOT change the state of any existing association".
    let mut script = Script::connecting(&standard());
    let sent = script.init_ack_with(&small_window(), ParameterWriter::new().state_cookie(b"c"));
    assert_abort(&sent, CauseCode::INVALID_MANDATORY_PARAMETER);
    assert_eq!(script.state(), State::CookieWait);
    assert_eq!(types(&script.wait(secs(1))), [[ChunkType::INIT]], "T1-init goes on");
    script.init_ack();
    assert_eq!(script.state(), State::CookieEchoed);
}

//= RFC 9260 5.1-15 5.1-16 5.1-17
#[test]
fn an_init_ack_without_a_cookie_is_aborted() {
    // RFC 9260 §5.1, §3.3.10.2.
    let mut script = Script::connecting(&standard());
    let sent = script.init_ack_with(&peer_fields(), &mut ParameterWriter::new());
    assert_abort(&sent, CauseCode::MISSING_MANDATORY_PARAMETER);
    assert_eq!(only(&sent).causes()[0].1, [0, 0, 0, 1, 0, 7]);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

//= RFC 9260 3.3.2-3 3.3.2.1.4-2 3.3.3-2 5.1.2-2 5.1.2-3 12.2.4.1-1
#[test]
fn host_names_are_aborted() {
    // RFC 9260 §5.1.2 B: "the endpoint MUST immediately send an ABORT chunk and MAY include an
    // 'Unresolvable Address' error cause".
    let mut parameters = ParameterWriter::new();
    parameters.raw(ParameterType::HOST_NAME_ADDRESS, b"a.example\0").state_cookie(b"c");
    let mut script = Script::listening(&standard());
    let sent = script.give_bytes(init_packet(&peer_fields(), &parameters.finish()));
    assert_abort(&sent, CauseCode::UNRESOLVABLE_ADDRESS);

    let mut script = Script::connecting(&standard());
    let mut parameters = ParameterWriter::new();
    parameters.raw(ParameterType::HOST_NAME_ADDRESS, b"a.example\0").state_cookie(b"c");
    let sent = script.init_ack_with(&peer_fields(), &mut parameters);
    assert_abort(&sent, CauseCode::UNRESOLVABLE_ADDRESS);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

/// The reports of unrecognised parameters in an INIT ACK, and whether the address behind the
/// unknown parameter was read.
fn reports(unknown: &[ParameterType]) -> (Vec<ParameterType>, bool) {
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    for kind in unknown {
        parameters.raw(*kind, b"xyz");
    }
    let sent = script
        .give_bytes(init_packet(&peer_fields(), &parameters.ipv4([10, 1, 1, 1].into()).finish()));
    let ack = only(&sent);
    let reported = ack.init().1.into_iter().filter_map(|p| match p {
        Parameter::UnrecognizedParameter(raw) => Some(raw),
        _ => None,
    });
    let reported = reported.inspect(|raw| assert_eq!(raw.value, b"xyz"));
    let reported = reported.map(|raw| raw.parameter_type).collect();
    let (tag, cookie) = (ack.init().0.initiate_tag, ack.cookie());
    script.give_bytes(packet(tag, |w| w.cookie_echo(&cookie)));
    script.id = script.end.associations()[0];
    (reported, script.end.path_stats(script.id).len() == 2)
}

//= RFC 9260 3.2.2-1 3.3.3.1.2-1
#[test]
fn unknown_parameters_of_an_init_are_treated_as_their_high_bits_say() {
    // RFC 9260 §3.2.1, Table 3; §3.2.2: reported in the INIT ACK.
    assert_eq!(reports(&[STOP]), (vec![], false));
    assert_eq!(reports(&[STOP_AND_REPORT]), (vec![STOP_AND_REPORT], false));
    assert_eq!(reports(&[SKIP]), (vec![], true));
    assert_eq!(reports(&[SKIP_AND_REPORT]), (vec![SKIP_AND_REPORT], true));
    let all = [SKIP_AND_REPORT, SKIP, ParameterType(0xfff1), STOP, SKIP_AND_REPORT];
    assert_eq!(reports(&all), (vec![SKIP_AND_REPORT, ParameterType(0xfff1)], false));
    // 8 bytes each, of which 256 are reported.
    assert_eq!(reports(&[SKIP_AND_REPORT; 64]).0.len(), 32);
}

//= RFC 9260 3.2.2-2 3.2.2-3 3.3.11-1 5.1-7
#[test]
fn unknown_parameters_of_an_init_ack_are_reported_behind_the_cookie_echo() {
    // RFC 9260 §3.2.2: "SHOULD bundle the ERROR chunk containing the 'Unrecognized Parameters'
    // error cause with the chunk sent in response"; the COOKIE ECHO stays the first chunk.
    let report = |kind: ParameterType| {
        let mut script = Script::connecting(&standard());
        script.send(10);
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"c").raw(kind, b"xyz").ipv4([10, 1, 1, 1].into());
        let sent = script.init_ack_with(&peer_fields(), &mut parameters);
        let behind = script.end.path_stats(script.id).len() == 2;
        (only(&sent).types(), only(&sent).causes(), behind)
    };
    let (echo, error, data) = (ChunkType::COOKIE_ECHO, ChunkType::ERROR, ChunkType::DATA);
    let cause = |kind: ParameterType| {
        // Its padding is that of the cause.
        let value = [&kind.0.to_be_bytes(), &[0, 7], &b"xyz"[..]].concat();
        vec![(CauseCode::UNRECOGNIZED_PARAMETERS, value)]
    };
    assert_eq!(report(STOP), (vec![echo, data], vec![], false));
    assert_eq!(report(SKIP), (vec![echo, data], vec![], true));
    for (kind, behind) in [(STOP_AND_REPORT, false), (SKIP_AND_REPORT, true)] {
        assert_eq!(report(kind), (vec![echo, error, data], cause(kind), behind));
    }
}

//= RFC 9260 8.5.1-2 8.5.1-3 12.3-2
#[test]
fn nothing_may_be_bundled_with_init_init_ack_or_shutdown_complete() {
    // RFC 9260 §6.10, §8.5.1 A: a packet with tag 0 "contains only an INIT chunk. Otherwise, the
    // receiver MUST silently discard the packet".
    let mut script = Script::listening(&standard());
    for before in [false, true] {
        let packet = packet(VerificationTag(0), |w| {
            if before {
                w.cookie_ack();
            }
            w.init(&peer_fields(), &[]);
            w.cookie_ack();
        });
        assert!(script.give_bytes(packet).is_empty());
    }
    // With a tag that is not 0, an INIT is wrong for whoever it is.
    let tagged = packet(VerificationTag(77), |w| w.init(&peer_fields(), &[]));
    assert!(script.give_bytes(tagged).is_empty());

    let mut script = Script::connecting(&standard());
    let parameters = ParameterWriter::new().state_cookie(b"c").finish();
    let sent = script.give(|w| {
        w.init_ack(&peer_fields(), &parameters);
        w.cookie_ack();
    });
    assert!(sent.is_empty());
    assert_eq!(script.state(), State::CookieWait);

    let mut script = Script::in_state(State::ShutdownAckSent);
    script.give(|w| {
        w.shutdown_complete(false);
        w.cookie_ack();
    });
    assert_eq!(script.state(), State::ShutdownAckSent);
}

//= RFC 9260 5.1.2-4
#[test]
fn useless_addresses_are_not_taken_and_their_number_is_bounded() {
    // RFC 9260 §5.1.2; RFC 5062 §3: each address costs heartbeats to hosts that may not be the
    // peer's.
    let useless: [IpAddr; 6] = [
        [0, 0, 0, 0].into(),
        [255, 255, 255, 255].into(),
        [224, 0, 0, 1].into(),
        [127, 0, 0, 1].into(),
        "ff02::1".parse().unwrap(),
        "::".parse().unwrap(),
    ];
    let mut parameters = ParameterWriter::new();
    for address in useless {
        match address {
            IpAddr::V4(a) => parameters.ipv4(a),
            IpAddr::V6(a) => parameters.ipv6(a),
        };
    }
    let mut script = Script::listening(&standard());
    script.join(&peer_fields(), &parameters.finish());
    assert_eq!(script.end.path_stats(script.id).len(), 1);

    let mut parameters = ParameterWriter::new();
    for i in 0..8000u16 {
        let [high, low] = i.to_be_bytes();
        parameters.ipv4([11, 0, high, low].into());
    }
    let mut script = Script::listening(&standard());
    script.join(&peer_fields(), &parameters.finish());
    assert_eq!(script.end.path_stats(script.id).len(), crate::path::MAX_PATHS);
}

#[test]
fn malformed_parameters_are_answered_once_and_keep_nothing() {
    // RFC 9260 §3.2.1: lengths 0 to 3, beyond the chunk, and a last parameter cut short.
    for list in [
        &[0x00, 0x05, 0, 0][..],
        &[0x00, 0x05, 0, 3],
        &[0x00, 0x05, 0, 9, 1, 2, 3, 4],
        &[0x00, 0x05, 0, 7, 1, 2, 3, 0],
        &[0x80, 0x08, 0, 5, 1, 0, 0, 0, 0x00],
        &[0xff, 0xff, 0xff, 0xff],
    ] {
        let mut script = Script::listening(&standard());
        let chunk_len = (20 + list.len()) as u16;
        let packet = packet(VerificationTag(0), |w| {
            let mut chunk = vec![ChunkType::INIT.0, 0];
            chunk.extend(chunk_len.to_be_bytes());
            chunk.extend(PEER_TAG.0.to_be_bytes());
            chunk.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
            chunk.extend(list);
            w.raw(&chunk);
        });
        let sent = script.give_bytes(packet.clone());
        assert_abort(&sent, CauseCode::PROTOCOL_VIOLATION);
        assert!(only(&sent).bytes.len() <= packet.len() + 24);
        assert!(script.end.associations().is_empty());
    }
}
