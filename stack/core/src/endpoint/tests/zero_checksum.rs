//! Checksums of zero (RFC 9653): who offers them, which packets have one, and which are taken.

use tresse_wire::{Chunk, ErrorDetectionMethod, Packet, Parameter, ParameterType};

use super::*;
use crate::event::AddressChange;
use script::{init_packet, packet, peer_fields};

fn config(zero_checksum: bool) -> AssociationConfig {
    AssociationConfig { extensions: Extensions { zero_checksum, ..Extensions::NONE }, ..standard() }
}

fn parameters() -> Vec<u8> {
    ParameterWriter::new().zero_checksum_acceptable(ErrorDetectionMethod::DTLS).finish()
}

/// How often INIT or INIT ACK has the parameter.
fn offers(sent: &Sent) -> usize {
    let dtls = Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod::DTLS);
    sent.init().1.iter().filter(|parameter| **parameter == dtls).count()
}

fn is_zero(sent: &Sent) -> bool {
    let zero = sent.bytes[8..12] == [0; 4];
    assert!(zero || Packet::parse(&sent.bytes).is_ok());
    zero
}

/// An association that the peer opened, which offers what `theirs` has.
fn joined(ours: bool, theirs: &[u8]) -> Script {
    let mut script = Script::listening(&config(ours));
    script.join(&peer_fields(), theirs);
    script
}

/// The packet with a checksum of zero.
fn zeroed(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8..12].fill(0);
    packet
}

/// A HEARTBEAT that the peer sends in `script`.
fn heartbeat(script: &Script) -> Vec<u8> {
    packet(script.tag, |w| w.heartbeat(&[0, 1, 0, 8, 1, 2, 3, 4]))
}

//= RFC 9653 4-1 4-2 4-3 5.1-1 5.2-1 5.2-2 5.2-4 5.2-7
#[test]
fn both_ends_leave_the_checksum_out() {
    let mut pair = Pair::new(&config(true), 1);
    let (a, z) = pair.connect(&config(true));
    pair.send(Side::A, a, 0, vec![1; 5000]);
    pair.send(Side::Z, z, 0, vec![2; 3000]);
    pair.run(ms(2000));
    assert_eq!(pair.recv_all(Side::Z, z).len() + pair.recv_all(Side::A, a).len(), 2);
    pair.shutdown(Side::A, a);
    pair.run(ms(2000));
    for kind in [ChunkType::INIT, ChunkType::COOKIE_ECHO] {
        let sent = pair.sent(Side::A, kind);
        assert!(!sent.is_empty() && sent.iter().all(|packet| !is_zero(packet)), "{kind}");
    }
    assert_eq!(offers(pair.sent(Side::A, ChunkType::INIT)[0]), 1);
    for (side, kind) in [
        (Side::Z, ChunkType::INIT_ACK),
        (Side::Z, ChunkType::COOKIE_ACK),
        (Side::A, ChunkType::DATA),
        (Side::Z, ChunkType::SACK),
        (Side::A, ChunkType::SHUTDOWN),
        (Side::Z, ChunkType::SHUTDOWN_ACK),
        (Side::A, ChunkType::SHUTDOWN_COMPLETE),
    ] {
        let sent = pair.sent(side, kind);
        let rest = sent.iter().filter(|packet| !packet.carries(ChunkType::COOKIE_ECHO));
        assert!(!sent.is_empty() && rest.into_iter().all(|packet| is_zero(packet)), "{kind}");
    }
    assert_eq!(offers(pair.sent(Side::Z, ChunkType::INIT_ACK)[0]), 1);
}

//= RFC 9653 4-4 5.1-1 5.2-1
#[test]
fn it_is_off_unless_both_offer_it() {
    assert!(!Extensions::default().zero_checksum);
    let other = ParameterWriter::new().zero_checksum_acceptable(ErrorDetectionMethod(2)).finish();
    let none = ParameterWriter::new().zero_checksum_acceptable(ErrorDetectionMethod::NONE).finish();
    let mut long = ParameterWriter::new();
    let long = long.raw(ParameterType::ZERO_CHECKSUM_ACCEPTABLE, &[0, 0, 0, 1, 0]).finish();
    for (ours, theirs, agreed) in [
        (true, &parameters()[..], true),
        (true, &[], false),
        (false, &parameters(), false),
        (true, &other, false),
        (true, &none, false),
        (true, &long, false),
    ] {
        let mut script = Script::listening(&config(ours));
        let ack = script.give_bytes(init_packet(&peer_fields(), theirs));
        assert_eq!((offers(&ack[0]), is_zero(&ack[0])), (usize::from(ours), agreed));
        let mut script = joined(ours, theirs);
        assert_eq!(script.end.info(script.id).unwrap().extensions.zero_checksum, agreed);
        let sent = script.send(100);
        assert!(!sent.is_empty() && sent.iter().all(|packet| is_zero(packet) == agreed));
        assert_eq!(script.stats().zero_checksums_sent > 0, agreed);
    }
}

//= RFC 9653 5.3-1 5.3-2
#[test]
fn zero_is_taken_from_whom_it_was_offered() {
    // Whether the peer offers it, too, does not matter.
    for theirs in [&[][..], &parameters()] {
        let mut script = joined(true, theirs);
        let beat = heartbeat(&script);
        assert_eq!(script.give_bytes(zeroed(beat.clone())).len(), 1);
        assert_eq!(script.stats().zero_checksums_received, 1);
        assert_eq!(script.give_bytes(beat.clone()).len(), 1);
        let mut wrong = beat;
        wrong[8] ^= 1;
        assert_eq!(script.give_bytes(wrong).len(), 0);
        assert_eq!(script.end.endpoint_stats().zero_checksums_refused, 0);
    }
    let mut script = joined(false, &parameters());
    let beat = heartbeat(&script);
    assert_eq!(script.give_bytes(zeroed(beat)).len(), 0);
    let stats = script.end.endpoint_stats();
    assert_eq!((stats.invalid_packets, stats.zero_checksums_refused), (1, 1));
    assert_eq!(script.stats().packets_received, 1); // The COOKIE ECHO.
}

/// An INIT ACK for an INIT that offers it may have a checksum of zero.
#[test]
fn the_answer_to_an_init_may_be_zero() {
    let mut list = ParameterWriter::new();
    let list = list.state_cookie(b"cookie").raw(ParameterType(0x8001), &[0, 0, 0, 1]).finish();
    for ours in [true, false] {
        let mut script = Script::connecting(&config(ours));
        let ack = zeroed(packet(script.tag, |w| w.init_ack(&peer_fields(), &list)));
        let sent = script.give_bytes(ack);
        assert_eq!(sent.len(), usize::from(ours));
        if ours {
            assert!(sent[0].carries(ChunkType::COOKIE_ECHO) && !is_zero(&sent[0]));
            // Nor when it is sent again.
            assert!(script.wait(ms(3500)).iter().all(|packet| !is_zero(packet)));
        }
    }
}

//= RFC 9653 5.2-3 5.3-2
#[test]
fn what_belongs_to_no_association_has_a_checksum() {
    let mut script = joined(true, &parameters());
    // Nobody's tag, from another port: out of the blue.
    let stray = |port| script::packet_from(port, VerificationTag(99), |w| w.shutdown_ack());
    for bytes in [stray(PORT + 1), zeroed(stray(PORT + 1))] {
        let sent = script.give_bytes(bytes);
        assert!(sent[0].carries(ChunkType::SHUTDOWN_COMPLETE) && !is_zero(&sent[0]));
    }
    let mut other = Script::listening(&config(false));
    assert_eq!(other.give_bytes(zeroed(stray(PORT + 1))).len(), 0);
    assert_eq!(other.end.endpoint_stats().zero_checksums_refused, 1);
    // What sets up another association is not taken, although the peer is known.
    assert_eq!(script.give_bytes(zeroed(init_packet(&peer_fields(), &parameters()))).len(), 0);
    let echo = packet(script.tag, |w| w.cookie_echo(b"cookie"));
    assert_eq!(script.give_bytes(zeroed(echo)).len(), 0);
    assert_eq!(script.end.endpoint_stats().bad_cookies, 0);
    assert_eq!(script.end.endpoint_stats().zero_checksums_refused, 2);
}

/// The peer begins again without it: nothing is left of what was agreed on.
#[test]
fn a_peer_that_restarts_offers_again() {
    for again in [true, false] {
        let mut script = joined(true, &[]);
        assert!(!is_zero(&script.send(10)[0]));
        let mut fields = peer_fields();
        fields.initiate_tag = VerificationTag(77);
        let list = if again { parameters() } else { Vec::new() };
        script.join(&fields, &list);
        let info = script.end.info(script.id).unwrap();
        assert_eq!(info.extensions.zero_checksum, again);
        let sent = script.send(10);
        assert!(sent.iter().any(|packet| packet.carries(ChunkType::DATA)));
        assert!(sent.iter().all(|packet| is_zero(packet) == again));
    }
    let mut script = joined(true, &parameters());
    assert!(is_zero(&script.send(10)[0]));
    let mut fields = peer_fields();
    fields.initiate_tag = VerificationTag(77);
    script.join(&fields, &[]);
    let sent = script.send(10);
    assert!(!sent.is_empty() && sent.iter().all(|packet| !is_zero(packet)));
}

//= RFC 9653 5.2-5
#[test]
fn asconf_has_a_checksum() {
    let extensions = Extensions {
        authentication: true,
        address_reconfiguration: true,
        ..config(true).extensions
    };
    let (mut pair, id, _) = Pair::connected(&AssociationConfig { extensions, ..standard() }, 1);
    let now = pair.now;
    let added = [10, 0, 1, 1].into();
    pair.end(Side::A).change_address(now, id, AddressChange::Add, added).unwrap();
    pair.run(ms(2000));
    assert!(pair.sent(Side::A, ChunkType::ASCONF).iter().all(|packet| !is_zero(packet)));
    // The RFC names no other.
    let answers = pair.sent(Side::Z, ChunkType::ASCONF_ACK);
    assert!(!answers.is_empty() && answers.iter().all(|packet| is_zero(packet)));
}

/// With authenticated chunks an AUTH chunk may stand in front of the COOKIE ECHO.
#[test]
fn a_cookie_echo_behind_auth_has_a_checksum() {
    let mut bytes = packet(VerificationTag(5), |w| {
        w.raw(&[15, 0, 0, 8, 0, 0, 0, 9]);
        w.cookie_echo(b"cookie");
    });
    assert!(crate::association::sets_up(&bytes));
    bytes[20] = ChunkType::HEARTBEAT.0;
    assert!(!crate::association::sets_up(&bytes));
    assert!(crate::association::sets_up(&bytes[..11]));
}

#[test]
fn an_abort_of_ours_is_zero_too() {
    let mut script = joined(true, &parameters());
    script.end.abort(script.now, script.id, b"over").unwrap();
    let sent = script.poll();
    assert!(sent[0].chunks().any(|chunk| matches!(chunk, Chunk::Abort(_))) && is_zero(&sent[0]));
}
