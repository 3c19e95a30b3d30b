//! Whoever forges a source address has its owner flooded by the answers: they have at most three times the
//! bytes of what they answer, IP and UDP headers counted, until a valid cookie shows that the sender is
//! there (as RFC 9000 §8.1 has it for QUIC).

use super::heartbeat::{beats, unconfirmed};
use super::script::{init_packet, packet, peer_fields, write_addresses};
use super::*;

/// Bytes of a packet with its IP header.
fn on_the_wire(address: IpAddr, packet: &[u8]) -> usize {
    packet.len() + if address.is_ipv4() { 20 } else { 40 }
}

/// Addresses of our host, of both families by turns.
fn many(n: u8) -> Vec<IpAddr> {
    let v6 = |n| IpAddr::from([0x2001, 0xdb8, n, 0, 0, 0, 0, 1]);
    (0..n).flat_map(|n| [addresses(Side::A, n + 1)[usize::from(n)], v6(u16::from(n))]).collect()
}

/// How many times its bytes an INIT draws from an endpoint with these addresses, and how many of them the
/// answer lists.
fn drawn(ours: &[IpAddr], source: IpAddr, parameters: &[u8]) -> (f64, usize) {
    let mut script = Script::listening_at(ours);
    let init = init_packet(&peer_fields(), parameters);
    let received = on_the_wire(source, &init);
    let destination = *ours.iter().find(|a| a.is_ipv4() == source.is_ipv4()).unwrap();
    let sent = script.give_datagram(Datagram {
        source,
        destination,
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: init.into(),
    });
    let ack = sent::only(&sent);
    assert_eq!(ack.types(), [ChunkType::INIT_ACK]);
    let answered = on_the_wire(ack.to.destination, &ack.bytes);
    (answered as f64 / received as f64, ack.init().1.len())
}

#[test]
fn an_init_ack_has_three_times_the_bytes_of_its_init_at_most() {
    let v4 = addresses(Side::Z, 1)[0];
    let v6: IpAddr = "2001:db8:99::1".parse().unwrap();
    for source in [v4, v6] {
        for ours in [many(1), many(8)] {
            let (factor, _) = drawn(&ours, source, &[]);
            assert!((1.0..=3.0).contains(&factor), "x{factor} from {source}");
            let unknown: Vec<u8> = (0..64).flat_map(|n| [0xc1, n, 0, 4]).collect();
            let (factor, _) = drawn(&ours, source, &unknown);
            assert!((1.0..=3.0).contains(&factor), "x{factor}, with 64 unknown parameters");
        }
    }
}

#[test]
fn who_wants_to_know_all_addresses_makes_his_init_as_long() {
    let source = addresses(Side::Z, 1)[0];
    let ours = many(7);
    let listed = |len: usize| {
        let padding = ParameterWriter::new().padding(len).finish();
        drawn(&ours, source, if len == 0 { &[] } else { &padding }).1
    };
    let (short, ours_to, long) = (listed(0), listed(48), listed(200));
    assert!(short < ours_to && ours_to < long, "{short}, {ours_to}, {long}");
    assert_eq!(long, listed(400), "all of them");
}

//= RFC 4820 4-3 4-4 4-5
#[test]
fn padding_is_no_part_of_the_cookie() {
    let cookie = |len| {
        let mut script = Script::listening(&standard());
        let padding = ParameterWriter::new().padding(len).finish();
        let sent = script.give_bytes(init_packet(&peer_fields(), &padding));
        let (_, list) = sent::only(&sent).init();
        let length = |p: &tresse_wire::Parameter<'_>| match p {
            tresse_wire::Parameter::StateCookie(cookie) => Some(cookie.len()),
            _ => None,
        };
        list.iter().find_map(length).expect("an INIT ACK has a cookie")
    };
    assert_eq!(cookie(4), cookie(400));
}

//= RFC 4820 4-1 4-2
#[test]
fn our_own_inits_are_as_long_as_asked() {
    for (init_size, bytes) in [(0, 32), (33, 36), (35, 36), (80, 80), (81, 84)] {
        let config = AssociationConfig { init_size, ..profile("rfc9260", "") };
        let mut script = Script::listening(&config);
        let sent = script.connect(&config, &addresses(Side::Z, 1));
        assert_eq!(sent[0].bytes.len(), bytes, "{init_size}");
    }
    let config = AssociationConfig { init_size: 513, ..standard() };
    assert!(config.check().is_err());
}

#[test]
fn addresses_that_a_peer_claims_draw_what_it_has_sent() {
    // The peer opens an association, lists fifteen addresses of others, and falls silent.
    let mut script = Script::listening(&standard());
    let mut claimed = ParameterWriter::new();
    write_addresses(&mut claimed, &addresses(Side::Z, 16)[1..]);
    let init = init_packet(&peer_fields(), &claimed.finish());
    let mut received = on_the_wire(addresses(Side::Z, 1)[0], &init);
    let ack = sent::only(&script.give_bytes(init)).clone();
    let tag = ack.init().0.initiate_tag;
    let echo = packet(tag, |w| w.cookie_echo(&ack.cookie()));
    received += on_the_wire(addresses(Side::Z, 1)[0], &echo);
    let mut sent = vec![ack];
    sent.extend(script.give_bytes(echo));
    sent.extend(script.wait(secs(60)));
    let bytes: usize = sent.iter().map(|p| on_the_wire(p.to.destination, &p.bytes)).sum();
    assert!(bytes <= 3 * received, "{bytes} for {received}");
    let asked = beats(&sent).iter().filter(|(path, _)| *path != 0).count();
    assert!((3..10).contains(&asked), "{asked}");
    // Later, one for each HB.interval.
    let later = beats(&script.wait(secs(120)));
    let later = later.iter().filter(|(path, _)| *path != 0).count();
    assert!((3..=4).contains(&later), "{later}");
}

#[test]
fn who_goes_on_sending_has_all_its_addresses_asked() {
    let (mut script, mut sent) = unconfirmed(&standard(), 16);
    for _ in 0..60 {
        sent.extend(script.data(100));
        sent.extend(script.wait(secs(1)));
    }
    let asked: std::collections::BTreeSet<u8> =
        beats(&sent).iter().map(|(path, _)| *path).collect();
    assert!((1..16).all(|path| asked.contains(&path)), "{asked:?}");
}
