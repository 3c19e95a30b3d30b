//! Packets in UDP and on raw IP (RFC 6951 §5).

use super::*;
use script::{init_packet, packet, peer_fields};
use sent::only;

/// Two paths of an association in UDP.
fn script() -> Script {
    let config = AssociationConfig { encapsulation: Some(9899), ..standard() };
    Script::multihomed(&config, 2)
}

/// A HEARTBEAT of the peer from its address number `n`, and what answers it.
fn heartbeat(script: &mut Script, n: u8, encapsulation: Option<u16>) -> Transmit {
    let sent = script.give_datagram(Datagram {
        source: addresses(Side::Z, 2)[usize::from(n)],
        destination: addresses(Side::A, 1)[0],
        encapsulation,
        ecn: Ecn::NotEct,
        packet: packet(script.tag, |w| w.heartbeat(b"info")).into(),
    });
    assert_eq!(only(&sent).types(), [ChunkType::HEARTBEAT_ACK]);
    only(&sent).to
}

//= RFC 6951 5.1-1
#[test]
fn each_address_has_its_own_udp_port() {
    // §5.1: "MUST maintain a remote UDP encapsulation port number per destination address".
    let mut script = script();
    assert_eq!(heartbeat(&mut script, 0, Some(1111)).encapsulation, Some(1111));
    assert_eq!(heartbeat(&mut script, 1, Some(2222)).encapsulation, Some(2222));
    for (path, port) in [(0, 1111), (1, 2222)] {
        script.end.set_primary(script.now, script.id, PathId(path)).unwrap();
        assert_eq!(only(&script.send(10)).to.encapsulation, Some(port));
    }
}

//= RFC 6951 5.4-2 5.6-1 5.6-2
#[test]
fn a_raw_packet_ends_encapsulation_and_a_udp_datagram_begins_it() {
    // §5.4: "the encapsulation of outgoing packets belonging to the same association and the
    // corresponding destination address MUST be disabled"; §5.6: the Path MTU changes by the size
    // of the UDP header, 8 bytes.
    let mut script = script();
    for n in [0, 1] {
        heartbeat(&mut script, n, Some(9899));
    }
    assert_eq!(only(&script.send(script::FULL - 8)).bytes.len(), 1472);
    assert_eq!(heartbeat(&mut script, 0, None).encapsulation, None);
    assert_eq!(heartbeat(&mut script, 1, Some(9899)).encapsulation, Some(9899), "the other path");
    heartbeat(&mut script, 1, None);
    let sent = script.send(script::FULL);
    assert_eq!((only(&sent).bytes.len(), only(&sent).to.encapsulation), (1480, None));
    for n in [0, 1] {
        assert_eq!(heartbeat(&mut script, n, Some(4500)).encapsulation, Some(4500));
    }
    let sent = script.send(2 * script::FULL);
    assert!(sent.iter().all(|p| p.bytes.len() <= 1472 && p.to.encapsulation == Some(4500)));
}

#[test]
fn the_application_names_the_udp_port_of_an_address() {
    // §6.1: "used as the destination port number for UDP encapsulation".
    let mut script = script();
    let name = |s: &mut Script, path, port| s.end.encapsulate_path(s.now, s.id, PathId(path), port);
    name(&mut script, 0, Some(4500)).unwrap();
    assert_eq!(only(&script.send(10)).to.encapsulation, Some(4500));
    let ports =
        script.end.path_stats(script.id).iter().map(|p| p.encapsulation).collect::<Vec<_>>();
    assert_eq!(ports, [Some(4500), Some(9899)], "the other address has its own");
    // §5.4: what a packet comes from counts.
    heartbeat(&mut script, 0, Some(1111));
    assert_eq!(only(&script.send(10)).to.encapsulation, Some(1111));
    let nowhere = name(&mut script, 9, Some(4500));
    assert_eq!(nowhere, Err(crate::AssociationError::NoPath));
}

/// What the peer says after a restart; or another host behind its NAT.
fn other_life() -> InitFields {
    InitFields { initiate_tag: VerificationTag(0x0ddba11), initial_tsn: Tsn(1000), ..peer_fields() }
}

/// An INIT from the UDP port 4500, where the association has 9899.
fn init_from_elsewhere(script: &mut Script) -> Vec<Sent> {
    script.encapsulation = Some(4500);
    let sent = script.give_bytes(init_packet(&other_life(), &[]));
    script.encapsulation = Some(9899);
    sent
}

/// The INIT is sent again as a client does, until the endpoint is sure that the known peer is gone.
fn init_ack_after_silence(script: &mut Script) -> Sent {
    let mut heartbeats = 0;
    for wait in [1, 2, 4, 8] {
        let sent = init_from_elsewhere(script);
        if let Some(ack) = sent.iter().find(|p| p.carries(ChunkType::INIT_ACK)) {
            assert!(heartbeats >= 2, "{heartbeats}");
            return ack.clone();
        }
        for packet in sent.iter().chain(&script.wait(secs(wait))) {
            assert_eq!(packet.to.encapsulation, Some(9899));
            heartbeats += usize::from(packet.carries(ChunkType::HEARTBEAT));
        }
    }
    panic!("no INIT ACK");
}

/// COOKIE ECHO from the UDP port 4500.
fn echo_from_elsewhere(script: &mut Script, ack: &Sent) -> Vec<Sent> {
    assert_eq!(ack.to.encapsulation, Some(4500));
    script.encapsulation = Some(4500);
    let echo = packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    let sent = script.give_bytes(echo);
    script.encapsulation = Some(9899);
    sent
}

fn one_path() -> Script {
    Script::connected(&AssociationConfig { encapsulation: Some(9899), ..standard() })
}

#[test]
fn a_restart_from_another_udp_port_is_a_restart() {
    let mut script = one_path();
    let ack = init_ack_after_silence(&mut script);
    let sent = echo_from_elsewhere(&mut script, &ack);
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK]);
    assert_eq!(only(&sent).to.encapsulation, Some(4500));
    assert!(script.events.contains(&Event::Restarted));
    assert_eq!(script.end.associations(), [script.id], "the same association");
    assert_eq!(only(&script.send(10)).to.encapsulation, Some(4500));
}

#[test]
fn another_host_behind_the_same_nat_is_no_restart() {
    let mut script = one_path();
    let beat = init_from_elsewhere(&mut script);
    assert_eq!(only(&beat).to.encapsulation, Some(9899));
    let info = only(&beat).find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    script.wait(ms(50));
    script.give(|w| w.heartbeat_ack(&info));
    script.wait(ms(950));
    let ack = only(&init_from_elsewhere(&mut script)).clone();
    echo_from_elsewhere(&mut script, &ack);
    assert_eq!(script.end.associations().len(), 2);
    assert!(!script.events.contains(&Event::Restarted));
    assert_eq!(only(&script.send(10)).to.encapsulation, Some(9899));
}

#[test]
fn a_peer_that_answers_after_all_is_not_replaced() {
    let mut script = one_path();
    let ack = init_ack_after_silence(&mut script);
    script.wait(ms(10));
    script.give(|w| w.heartbeat(b"still here"));
    echo_from_elsewhere(&mut script, &ack);
    assert_eq!(script.end.associations().len(), 2);
    assert!(!script.events.contains(&Event::Restarted));
}

/// The association of a host with the peer's SCTP port behind UDP port `port`: our tag. The `others` say
/// that they are still there when they are asked.
fn one_more(script: &mut Script, port: u16, others: &[(u16, VerificationTag)]) -> VerificationTag {
    let fields = InitFields { initiate_tag: VerificationTag(u32::from(port)), ..peer_fields() };
    for _ in 0..3 {
        script.encapsulation = Some(port);
        for answer in script.give_bytes(init_packet(&fields, &[])) {
            script.encapsulation = answer.to.encapsulation;
            if let Some(beat) = answer.find(ChunkType::HEARTBEAT) {
                let at = others.iter().find(|other| Some(other.0) == answer.to.encapsulation);
                let info = beat.value.to_vec();
                script.now += ms(1);
                script.give_bytes(packet(at.unwrap().1, |w| w.heartbeat_ack(&info)));
            } else {
                let tag = answer.init().0.initiate_tag;
                script.give_bytes(packet(tag, |w| w.cookie_echo(&answer.cookie())));
                return tag;
            }
        }
    }
    panic!("no INIT ACK");
}

#[test]
fn an_init_asks_few_of_those_that_it_could_be_from() {
    // As all that has no valid cookie (RFC 9000 §8.1): not three times its bytes, IP and UDP counted.
    let mut script = Script::listening(&profile("rfc9260", "[heartbeat]\nenabled = false"));
    let mut hosts = Vec::new();
    for port in 1001..=1004 {
        let tag = one_more(&mut script, port, &hosts);
        hosts.push((port, tag));
    }
    assert_eq!(script.end.associations().len(), 4);
    // It is long ago that they were asked.
    script.wait(secs(120));
    script.encapsulation = Some(4500);
    let init = init_packet(&other_life(), &[]);
    let received = init.len() + 28;
    let sent = script.give_bytes(init);
    assert!(sent.iter().all(|p| p.types() == [ChunkType::HEARTBEAT]));
    let drawn: usize = sent.iter().map(|p| p.bytes.len() + 28).sum();
    assert!(0 < drawn && drawn < 3 * received, "{drawn} bytes for {received}");
}
