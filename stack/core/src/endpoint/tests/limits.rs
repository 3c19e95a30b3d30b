//! What one source may ask of an endpoint.

use super::script::{init_packet, packet, packet_from, peer_fields};
use super::*;

/// This many of everything.
fn limited(limits: &str) -> Script {
    Script::listening(&AssociationConfig {
        no_delay: true,
        ..profile("rfc9260", &format!("[limits]\n{limits}"))
    })
}

/// A handshake from `address` and `port`; what the endpoint answers to COOKIE ECHO.
fn handshake(script: &mut Script, address: IpAddr, number: u16) -> Vec<Sent> {
    let mut from = |tag, write: &dyn Fn(&mut PacketWriter<'_>)| {
        script.give_from(address, packet_from(1000 + number, VerificationTag(tag), write))
    };
    let fields =
        InitFields { initiate_tag: VerificationTag(1 + u32::from(number)), ..peer_fields() };
    let ack = sent::only(&from(0, &|w| w.init(&fields, &[]))).clone();
    let cookie = ack.cookie();
    from(ack.init().0.initiate_tag.0, &|w| w.cookie_echo(&cookie))
}

#[test]
fn a_source_has_so_many_associations() {
    let mut script = limited("associations_per_source = 3");
    let [one, other] = [1, 2].map(|net| IpAddr::from([10, 0, net, 2]));
    for number in 0..3 {
        let sent = handshake(&mut script, one, number);
        assert!(sent::only(&sent).carries(ChunkType::COOKIE_ACK));
    }
    let refused = handshake(&mut script, one, 3);
    assert_eq!(sent::only(&refused).causes()[0].0, CauseCode::OUT_OF_RESOURCE);
    assert_eq!(script.end.endpoint_stats().refused, 1);
    // Others have their own, and what has ended counts no more.
    assert!(sent::only(&handshake(&mut script, other, 4)).carries(ChunkType::COOKIE_ACK));
    let first = script.end.associations()[0];
    script.end.abort(script.now, first, b"").unwrap();
    script.poll();
    assert!(sent::only(&handshake(&mut script, one, 5)).carries(ChunkType::COOKIE_ACK));
}

#[test]
fn a_network_of_ipv6_is_one_source() {
    let mut script = limited("associations_per_source = 1");
    let addresses = ["2001:db8::1", "2001:db8::2:0:0:1", "2001:db8:0:1::1"];
    let carries_ack: Vec<bool> = (0..)
        .zip(addresses)
        .map(|(number, a)| handshake(&mut script, a.parse().unwrap(), number))
        .map(|sent| sent::only(&sent).carries(ChunkType::COOKIE_ACK))
        .collect();
    assert_eq!(carries_ack, [true, false, true]);
}

#[test]
fn a_source_has_so_many_inits_answered_in_a_second() {
    let mut script = limited("inits_per_source = 10");
    let answered = |script: &mut Script| {
        let sent = (0..100).flat_map(|_| script.give_bytes(init_packet(&peer_fields(), &[])));
        sent.count()
    };
    // Those of the second before, and the one that begins now.
    let first = answered(&mut script);
    assert!((10..=11).contains(&first), "{first}");
    assert_eq!(script.end.endpoint_stats().inits_limited, 100 - first as u64);
    let other = script.give_from([10, 0, 7, 2].into(), init_packet(&peer_fields(), &[]));
    assert_eq!(other.len(), 1, "from elsewhere");
    script.wait(secs(1));
    let later = answered(&mut script);
    assert!((9..=11).contains(&later), "{later}");
}

#[test]
fn a_source_restarts_so_often_in_a_second() {
    let mut script = limited("restarts_per_source = 5");
    script.join(&peer_fields(), &[]);
    let mut restarts = 0;
    for n in 0..50 {
        let fields = InitFields { initiate_tag: VerificationTag(100 + n), ..peer_fields() };
        let ack = sent::only(&script.give_bytes(init_packet(&fields, &[]))).clone();
        let tag = ack.init().0.initiate_tag;
        let sent = script.give_bytes(packet(tag, |w| w.cookie_echo(&ack.cookie())));
        restarts += usize::from(!sent.is_empty());
    }
    assert!((5..=6).contains(&restarts), "{restarts}");
    assert_eq!(script.end.endpoint_stats().restarts_limited, 50 - restarts as u64);
    assert_eq!(script.end.associations().len(), 1);
}
