//! Packets out of the blue (RFC 9260 §8.4).

use super::*;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::{only, types};

const STRANGE: VerificationTag = VerificationTag(0xdead_beef);

fn stranger(write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<Sent> {
    Script::listening(&standard()).give_bytes(packet(STRANGE, write))
}

//= RFC 9260 8.4-1
#[test]
fn rule_1_non_unicast_addresses() {
    // "If the OOTB packet is to or from a non-unicast address, a receiver SHOULD silently discard
    // the packet."
    let many: [IpAddr; 4] = [
        [224, 0, 0, 1].into(),
        [255, 255, 255, 255].into(),
        [0, 0, 0, 0].into(),
        "ff02::1".parse().unwrap(),
    ];
    let one = IpAddr::from([10, 0, 0, 2]);
    let init = init_packet(&peer_fields(), &[]);
    for bytes in [packet(STRANGE, |w| w.heartbeat(b"x")), init] {
        for many in many {
            for (source, destination) in [(many, one), (one, many)] {
                let mut script = Script::listening(&standard());
                let packet = bytes.clone().into();
                let datagram =
                    Datagram { source, destination, encapsulation: None, ecn: Ecn::NotEct, packet };
                let sent = script.give_datagram(datagram);
                assert!(sent.is_empty(), "{source} to {destination}: {:?}", types(&sent));
            }
        }
    }
}

//= RFC 9260 3.3.7-3 3.3.7-4 8.4-2 9.1-4
#[test]
fn rule_2_abort() {
    // "the receiver MUST silently discard the OOTB packet and take no further action", wherever
    // in the packet the ABORT stands, and before all other rules.
    for reflected in [false, true] {
        assert!(stranger(|w| w.abort(reflected, &[])).is_empty());
        let behind = stranger(|w| {
            w.shutdown_ack();
            w.abort(reflected, &[]);
        });
        assert!(behind.is_empty(), "{:?}", types(&behind));
    }
    let mut script = Script::listening(&standard());
    let ack = script.give_bytes(init_packet(&peer_fields(), &[]));
    let (tag, cookie) = (only(&ack).init().0.initiate_tag, only(&ack).cookie());
    let sent = script.give_bytes(packet(tag, |w| {
        w.cookie_echo(&cookie);
        w.abort(false, &[]);
    }));
    assert!(sent.is_empty() && script.end.associations().is_empty(), "rule 4 comes after rule 2");
    assert_eq!(script.events, []);
}

//= RFC 9260 8.4-3 8.4-4
#[test]
fn rule_3_init() {
    // "the Verification Tag of the packet containing the ABORT chunk MUST be the Initiate Tag of
    // the received INIT chunk, and the T bit of the ABORT chunk has to be set to 0".
    let config = EndpointConfig::default();
    let mut script = Script::listening(&standard());
    script.end = Endpoint::new(config, [1; 32]);
    let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
    assert_eq!(only(&sent).types(), [ChunkType::ABORT]);
    assert_eq!((only(&sent).tag(), only(&sent).reflected()), (PEER_TAG, false));
    // Only with a Verification Tag of 0.
    assert!(stranger(|w| w.init(&peer_fields(), &[])).is_empty());
}

//= RFC 9260 4-1 5.1.5-2 8.4-5
#[test]
fn a_cookie_echo_to_a_port_that_nobody_has_gets_no_answer() {
    // §8.4 rule 4 comes before rule 8: no cookie of ours is for such a port.
    let mut script = Script::listening(&standard());
    script.encapsulation = Some(9899);
    let to_nobody = |write: fn(&mut PacketWriter<'_>)| {
        let header = CommonHeader {
            source_port: PORT,
            destination_port: PORT + 7,
            verification_tag: STRANGE,
        };
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, header);
        write(&mut writer);
        writer.finish();
        bytes
    };
    assert!(script.give_bytes(to_nobody(|w| w.cookie_echo(b"forged"))).is_empty());
    assert_eq!(script.end.endpoint_stats().bad_cookies, 1);
    let sent = script.give_bytes(to_nobody(|w| w.heartbeat(b"x")));
    assert_eq!(types(&sent), [[ChunkType::ABORT]], "rule 8");
}

//= RFC 9260 8.4-5
#[test]
fn rule_4_cookie_echo_as_the_first_chunk() {
    // Processed as described in Section 5.1; not in another place, where rule 8 has it.
    assert!(stranger(|w| w.cookie_echo(b"forged")).is_empty());
    let sent = stranger(|w| {
        w.heartbeat(b"x");
        w.cookie_echo(b"forged");
    });
    assert_eq!(types(&sent), [[ChunkType::ABORT]]);
}

//= RFC 9260 3.1-5 3.3.13-2 8.4-6 8.4-7 8.5.1-9
#[test]
fn rule_5_shutdown_ack() {
    // "the receiver SHOULD respond to the sender of the OOTB packet with a SHUTDOWN COMPLETE
    // chunk": the tag received, and the T bit.
    let alone = stranger(|w| w.shutdown_ack());
    let before_rule_7 = stranger(|w| {
        w.cookie_ack();
        w.shutdown_ack();
    });
    for sent in [alone, before_rule_7] {
        assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN_COMPLETE]);
        assert_eq!((only(&sent).tag(), only(&sent).reflected()), (STRANGE, true));
    }
}

//= RFC 9260 8.4-8
#[test]
fn rule_6_shutdown_complete() {
    for reflected in [false, true] {
        assert!(stranger(|w| w.shutdown_complete(reflected)).is_empty());
    }
}

//= RFC 9260 8.4-9
#[test]
fn rule_7_stale_cookie_and_cookie_ack() {
    assert!(stranger(|w| w.cookie_ack()).is_empty());
    let causes = CauseWriter::new().out_of_resource().stale_cookie(1).finish();
    assert!(stranger(|w| w.error(&causes)).is_empty());
    let other = CauseWriter::new().out_of_resource().finish();
    assert_eq!(types(&stranger(|w| w.error(&other))), [[ChunkType::ABORT]], "rule 8");
}

//= RFC 9260 3.3.7-5 6-3 6-6 8.4-10 8.4-11 8.5.1-5
#[test]
fn rule_8_everything_else() {
    // "fill in the Verification Tag field of the outbound packet with the value found in the
    // Verification Tag field of the OOTB packet and set the T bit".
    let fields = peer_fields();
    let all: [Vec<Sent>; 8] = [
        stranger(|w| script::write_data(w, Tsn(1), 1)),
        stranger(|w| script::write_sack(w, Tsn(1), &[], 1)),
        stranger(|w| w.init_ack(&fields, &[])),
        stranger(|w| w.heartbeat(b"x")),
        stranger(|w| w.heartbeat_ack(&[0, 1, 0, 4])),
        stranger(|w| w.shutdown(Tsn(1))),
        stranger(|w| w.raw(&[0x3f, 0, 0, 4])),
        stranger(|w| w.raw(&[0xc1, 0, 0, 4])),
    ];
    for sent in all {
        let abort = only(&sent);
        assert_eq!(abort.types(), [ChunkType::ABORT]);
        assert_eq!((abort.tag(), abort.reflected()), (STRANGE, true));
        assert_eq!(abort.bytes.len(), 16, "no larger than it must be");
        assert_eq!(abort.to.destination, addresses(Side::Z, 1)[0]);
    }
}

//= RFC 9260 8.4-12
#[test]
fn after_an_abort_nothing_else_comes_of_a_packet_out_of_the_blue() {
    let mut script = Script::listening(&standard());
    let ack = script.give_bytes(init_packet(&peer_fields(), &[]));
    let (tag, cookie) = (only(&ack).init().0.initiate_tag, only(&ack).cookie());
    // A cookie that would open an association, and chunks that ask for answers.
    let sent = script.give_bytes(packet(tag, |w| {
        w.heartbeat(b"x");
        w.cookie_echo(&cookie);
        script::write_data(w, Tsn(1), 1);
        w.shutdown(Tsn(1));
    }));
    assert_eq!(types(&sent), [[ChunkType::ABORT]]);
    assert!(script.end.associations().is_empty() && script.events.is_empty());
    assert_eq!(script.end.poll_timeout(), None);
}

//= RFC 9260 6.8-3 6.8-4
#[test]
fn what_is_no_packet_gets_no_answer() {
    // RFC 9260 §6.8: "The default procedure for handling invalid SCTP packets is to silently
    // discard them"; §8.5.1 A: a tag of 0 without an INIT alike.
    let mut script = Script::listening(&standard());
    let good = packet(STRANGE, |w| w.heartbeat(b"x"));
    let mut corrupt = good.clone();
    corrupt[13] ^= 1;
    let zero = packet(VerificationTag(0), |w| w.heartbeat(b"x"));
    let no_chunk = packet(STRANGE, |_| {});
    let broken_chunk = packet(STRANGE, |w| w.raw(&[4, 0, 0, 3]));
    for bytes in [vec![], good[..11].to_vec(), corrupt, zero, no_chunk, broken_chunk] {
        assert!(script.give_bytes(bytes).is_empty());
    }
    assert_eq!(script.end.endpoint_stats().invalid_packets, 6);
}

//= RFC 9260 5.1-3 5.1-11 5.1.2-7 6.4-2
#[test]
fn the_reply_goes_back_the_way_the_packet_came() {
    let mut script = Script::listening(&standard());
    let (source, destination) = ([10, 7, 7, 7].into(), [10, 0, 0, 1].into());
    let packet = packet(STRANGE, |w| w.heartbeat(b"x")).into();
    let sent = script.give_datagram(Datagram {
        source,
        destination,
        encapsulation: Some(9),
        ecn: Ecn::NotEct,
        packet,
    });
    let expected = Transmit {
        destination: source,
        source: Some(destination),
        encapsulation: Some(9),
        path: None,
        ecn: Ecn::NotEct,
        labels: IpLabels::default(),
        fragments: IpFragments::Forbidden,
    };
    assert_eq!(only(&sent).to, expected);
}

//= RFC 9260 3.3.7-3 3.3.7-4
#[test]
fn a_malformed_abort_is_no_reason_for_an_abort() {
    // §3.3.7: "If an endpoint receives an ABORT chunk with a format error or no TCB is found, it MUST
    // silently discard it", and "under any circumstances" MUST NOT answer it by an ABORT.
    let aborts: [&[u8]; 5] = [
        &[6, 0, 0, 8, 0, 12, 0, 99], // A cause that is longer than the chunk,
        &[6, 1, 0, 6, 0, 12, 0, 0],  // half a cause, reflected,
        &[6, 0, 0, 3],               // a chunk shorter than its header,
        &[6, 1, 0, 200],             // and longer than the packet.
        &[11, 0, 0, 4, 6, 0, 0, 2],  // Behind another chunk.
    ];
    let mut listening = Script::listening(&standard());
    for bytes in aborts {
        assert!(listening.give_bytes(packet(STRANGE, |w| w.raw(bytes))).is_empty(), "{bytes:?}");
        for state in Script::STATES {
            let mut script = Script::in_state(state);
            for tag in [script.tag, PEER_TAG, STRANGE] {
                let sent = script.give_bytes(packet(tag, |w| w.raw(bytes)));
                assert!(!sent.iter().any(|p| p.carries(ChunkType::ABORT)), "{state:?} {bytes:?}");
            }
            assert_ne!(script.state(), State::Closed, "{state:?} {bytes:?}");
        }
    }
}
