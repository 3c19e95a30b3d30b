//! ICMP messages (RFC 9260 §10), and the UDP port of the peer (RFC 6951 §5.4).

use super::*;
use crate::datagram::{Icmp, IcmpKind};
use script::{PEER_TAG, PMDCS, packet};
use sent::only;

fn icmp(kind: IcmpKind, quoted: &[u8]) -> Icmp {
    let quoted = Some(Bytes::copy_from_slice(quoted));
    Icmp { destination: addresses(Side::Z, 1)[0], kind, quoted }
}

fn give(script: &mut Script, message: &Icmp) -> Vec<Sent> {
    script.end.handle_icmp(script.now, message);
    script.poll()
}

const TOO_BIG: IcmpKind = IcmpKind::TooBig { mtu: 1000 };

//= RFC 9260 6.9-6 7.3-1 7.3-2 10-6
#[test]
fn a_smaller_path_mtu_holds_for_new_data_and_ip_fragments_the_old() {
    let mut script = Script::flying(&bursty(), 3);
    let quoted = packet(PEER_TAG, |w| w.cookie_ack());
    // ICMP7: 1000 less IP and common header.
    let again = give(&mut script, &icmp(TOO_BIG, &quoted[..8]));
    assert_eq!(script.path(0).mtu, 1000);
    // RFC 9260 §6.9: IP fragmentation MUST be used for what has its TSN already.
    assert_eq!(script.numbers(&again), [[0], [1], [2]]);
    let is_needed = |p: &Sent| p.to.fragments == IpFragments::Needed;
    assert!(again.iter().all(|p| is_needed(p) && p.bytes.len() == 12 + PMDCS));
    script.sack(3, &[]);
    let sent = script.send(3_000);
    assert!(sent.len() >= 3, "{sent:?}");
    assert!(sent.iter().all(|p| !p.to.fragments.are_allowed() && p.bytes.len() <= 980), "{sent:?}");
    assert_eq!(script.end.endpoint_stats().icmp_accepted, 1);
    // No message raises it, or lowers it to what no link has.
    for mtu in [1400, 67] {
        give(&mut script, &icmp(IcmpKind::TooBig { mtu }, &quoted));
        assert_eq!(script.path(0).mtu, 1000, "{mtu}");
    }
    // RFC 1191 §5: a router that says nothing.
    give(&mut script, &icmp(IcmpKind::TooBig { mtu: 0 }, &quoted));
    assert_eq!(script.path(0).mtu, 576);
}

/// Neither chunk is too large, but the packet of both.
#[test]
fn a_bundle_that_is_too_large_leaves_again_at_once() {
    let mut script = Script::connecting(&bursty());
    script.send(600);
    script.send(600);
    let sent = script.init_ack();
    assert_eq!(script.numbers(&sent), [[0, 1]]);
    assert!(script.cookie_ack().is_empty());
    let again = give(&mut script, &icmp(TOO_BIG, &packet(PEER_TAG, |w| w.cookie_ack())));
    assert_eq!(script.numbers(&again), [[0], [1]]);
    assert!(again.iter().all(|p| !p.to.fragments.are_allowed()), "{again:?}");
}

/// What is sent of `bytes`, and whether routers may fragment it.
fn sizes(script: &mut Script, bytes: usize) -> Vec<(usize, IpFragments)> {
    script.send(bytes).iter().map(|p| (p.bytes.len(), p.to.fragments)).collect()
}

#[test]
fn routers_fragment_where_the_path_mtu_is_below_512() {
    for reported in [400, 68] {
        let mut script = Script::flying(&bursty(), 1);
        let quoted = packet(PEER_TAG, |w| w.cookie_ack());
        let again = give(&mut script, &icmp(IcmpKind::TooBig { mtu: reported }, &quoted));
        assert_eq!((script.numbers(&again), script.path(0).mtu), (vec![vec![0]], 512));
        assert_eq!(again[0].to.fragments, IpFragments::Needed);
        script.sack(1, &[]);
        // 512 less IP.
        let sent = sizes(&mut script, 800);
        assert_eq!(sent.len(), 2, "{sent:?}");
        let is_allowed = |fragments| fragments == IpFragments::Allowed;
        assert!(sent.iter().all(|(len, how)| *len <= 492 && is_allowed(*how)), "{sent:?}");
        // It is told once.
        assert!(give(&mut script, &icmp(IcmpKind::TooBig { mtu: 300 }, &quoted)).is_empty());
    }
}

#[test]
fn congestion_control_counts_in_packets_of_the_new_size() {
    let mut script = Script::flying(&bursty(), 3);
    let quoted = packet(PEER_TAG, |w| w.cookie_ack());
    give(&mut script, &icmp(TOO_BIG, &quoted));
    script.wait(secs(5));
    // RFC 9260 §7.2.3: after T3-rtx cwnd is one PMDCS, 1000 less IP and common header.
    assert_eq!(script.path(0).cwnd, 968);
}

#[test]
fn the_configured_mtu_is_tried_again_without_heartbeats() {
    let mut script = Script::connected(&profile("rfc9260", "heartbeat.enabled = false"));
    let sent = script.send(100);
    give(&mut script, &icmp(IcmpKind::TooBig { mtu: 400 }, &sent[0].bytes));
    script.sack(1, &[]);
    script.wait(secs(599));
    assert_eq!(script.path(0).mtu, 512);
    script.wait(secs(2));
    assert_eq!(script.path(0).mtu, 1500);
    assert!(!script.send(100)[0].to.fragments.are_allowed());
}

#[test]
fn the_configured_mtu_is_tried_again_after_ten_minutes() {
    let mut script = Script::connected(&profile("rfc9260", ""));
    let sent = script.send(100);
    give(&mut script, &icmp(TOO_BIG, &sent[0].bytes));
    script.sack(1, &[]);
    let answer_heartbeats = |script: &mut Script, span| {
        for packet in script.wait(span) {
            if let Some(beat) = packet.find(ChunkType::HEARTBEAT) {
                script.give(|w| w.heartbeat_ack(beat.value));
            }
        }
    };
    for _ in 0..118 {
        answer_heartbeats(&mut script, secs(5));
    }
    assert_eq!(script.path(0).mtu, 1000);
    for _ in 0..20 {
        answer_heartbeats(&mut script, secs(5));
    }
    assert_eq!(script.path(0).mtu, 1500);
}

#[test]
fn this_host_needs_no_proof() {
    let mut script = Script::connected(&standard());
    give(&mut script, &Icmp { quoted: None, ..icmp(TOO_BIG, &[]) });
    assert_eq!(script.path(0).mtu, 1000);
}

//= RFC 9260 10-1 10-3 10-4 10-5 12.4-1
//= RFC 6951 5.5-1
#[test]
fn nothing_is_believed_without_the_tag() {
    let mut script = Script::connected(&standard());
    let sent = script.send(100);
    let genuine = sent[0].bytes.to_vec();
    let mut wrong_tag = genuine.clone();
    wrong_tag[5] ^= 1;
    let mut wrong_port = genuine.clone();
    wrong_port[1] ^= 1;
    let mut no_tag = genuine.clone();
    no_tag[4..8].fill(0);
    // Our own tag is what a peer would put into its packets.
    let ours = packet(script.tag, |w| w.cookie_ack());
    for kind in [TOO_BIG, IcmpKind::NoSctp, IcmpKind::Unreachable] {
        for quoted in [&wrong_tag[..], &wrong_port, &no_tag, &ours, &genuine[..7], &[]] {
            give(&mut script, &icmp(kind, quoted));
        }
        let elsewhere = IpAddr::from([192, 0, 2, 1]);
        give(&mut script, &Icmp { destination: elsewhere, ..icmp(kind, &genuine) });
    }
    let path = script.path(0);
    assert_eq!((path.mtu, path.errors, script.closed()), (1500, 0, None));
    let stats = script.end.endpoint_stats();
    assert_eq!((stats.icmp_accepted, stats.icmp_ignored), (0, 21));
}

//= RFC 9260 10-1 10-7 12.4-1
#[test]
fn a_host_without_sctp_ends_the_association() {
    // ICMP8, with the INIT: only in COOKIE-WAIT.
    let mut script = Script::listening(&standard());
    let sent = script.connect(&standard(), &addresses(Side::Z, 1));
    let init = only(&sent).bytes.clone();
    // ICMP6: too short to show the Initiate Tag.
    give(&mut script, &icmp(IcmpKind::NoSctp, &init[..16]));
    assert_eq!(script.state(), State::CookieWait);
    give(&mut script, &icmp(IcmpKind::NoSctp, &init[..20]));
    assert_eq!(script.closed(), Some(&CloseReason::NoSctp));

    let mut script = Script::listening(&standard());
    let sent = script.connect(&standard(), &addresses(Side::Z, 1));
    let init = only(&sent).bytes.clone();
    script.init_ack();
    give(&mut script, &icmp(IcmpKind::NoSctp, &init));
    assert_eq!(script.closed(), None);
    // Without it: in any state.
    let echo = packet(PEER_TAG, |w| w.cookie_ack());
    give(&mut script, &icmp(IcmpKind::NoSctp, &echo));
    assert_eq!(script.closed(), Some(&CloseReason::NoSctp));
}

//= RFC 9260 10-7
#[test]
fn a_peer_that_has_left_after_our_shutdown_ack_has_shut_down() {
    // ICMP8: "an abort with the T bit set": in SHUTDOWN-ACK-SENT that means that the peer has it, and that
    // its SHUTDOWN COMPLETE is lost, or late. Everything was acknowledged, both ways.
    let quoted = packet(PEER_TAG, |w| w.shutdown_ack());
    for (state, reason) in [
        (State::ShutdownAckSent, CloseReason::Shutdown),
        (State::ShutdownSent, CloseReason::NoSctp),
        (State::ShutdownReceived, CloseReason::NoSctp),
        (State::ShutdownPending, CloseReason::NoSctp),
    ] {
        let mut script = Script::in_state(state);
        give(&mut script, &icmp(IcmpKind::NoSctp, &quoted));
        assert_eq!(script.closed(), Some(&reason), "{state:?}");
    }
    // Without our tag for the peer it is nobody's word.
    let mut script = Script::in_state(State::ShutdownAckSent);
    let forged = packet(VerificationTag(1), |w| w.shutdown_ack());
    give(&mut script, &icmp(IcmpKind::NoSctp, &forged));
    assert_eq!(script.closed(), None);
}

#[test]
fn an_unreachable_destination_counts_one_error_per_rto() {
    let mut script = Script::multihomed(&standard(), 2);
    let sent = script.send(100);
    for _ in 0..10 {
        give(&mut script, &icmp(IcmpKind::Unreachable, &sent[0].bytes));
    }
    assert_eq!(script.path(0).errors, 1);
    assert_eq!((script.path(1).errors, script.closed()), (0, None));
    script.sack(1, &[]);
    assert_eq!(script.path(0).errors, 0);
}

//= RFC 6951 5.4-1
/// "The UDP source port MUST be stored as the encapsulation port ... after finding the SCTP
/// association (which includes checking the verification tag)" (RFC 6951 §5.4).
#[test]
fn the_udp_port_of_the_peer_follows_only_a_valid_tag() {
    let config = AssociationConfig { encapsulation: Some(9899), ..standard() };
    let mut script = Script::connected(&config);
    assert_eq!(script.send(10)[0].to.encapsulation, Some(9899));
    let from = |port, bytes: Vec<u8>| Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: addresses(Side::A, 1)[0],
        encapsulation: Some(port),
        ecn: Ecn::NotEct,
        packet: bytes.into(),
    };
    let wrong = VerificationTag(script.tag.0 ^ 1);
    script.give_datagram(from(666, packet(wrong, |w| w.heartbeat(b"info"))));
    // An INIT of a stranger has no tag to check: the answer goes there, nothing else.
    let init = script::init_packet(&script::peer_fields(), &[]);
    script.give_datagram(from(667, init));
    script.sack(1, &[]);
    assert_eq!(script.send(10)[0].to.encapsulation, Some(9899));
    let answer = script.give_datagram(from(4500, packet(script.tag, |w| w.heartbeat(b"info"))));
    assert_eq!(only(&answer).to.encapsulation, Some(4500));
    script.encapsulation = Some(4500);
    script.sack(2, &[]);
    assert_eq!(script.send(10)[0].to.encapsulation, Some(4500));
}

/// A path that says what fits through it works: what was too large leaves there again, in fragments.
#[test]
fn what_was_too_large_stays_on_its_path() {
    let mut script = Script::multihomed(&standard(), 3);
    let sent = script.send(1300);
    let again = give(&mut script, &icmp(TOO_BIG, &sent[0].bytes));
    assert_eq!(only(&again).to.path, sent[0].to.path);
    assert_eq!(again[0].to.fragments, IpFragments::Needed);
}
