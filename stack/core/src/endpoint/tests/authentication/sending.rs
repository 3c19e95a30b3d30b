//! What leaves (RFC 4895 §6.2).

use super::*;
use script::{FULL, PMDCS};
use sent::{only, types};

const AUTH_SHA_256: usize = 40;

//= RFC 4895 6.2-3 6.2-4
#[test]
fn cookie_echo_stays_in_front_unless_it_is_to_be_authenticated() {
    use ChunkType as C;
    let cases: [(&[C], &[C]); 3] = [
        (&[], &[C::COOKIE_ECHO, C::DATA]),
        (&[C::DATA], &[C::COOKIE_ECHO, C::AUTH, C::DATA]),
        (&[C::DATA, C::COOKIE_ECHO], &[C::AUTH, C::COOKIE_ECHO, C::DATA]),
    ];
    for (wanted, expected) in cases {
        let (mut peer, sent) = Peer::answering(&asking(&[]), wanted, |script| {
            script.try_send(0, 10, SendOptions::default()).unwrap();
        });
        assert_eq!(only(&sent).types(), expected);
        if !wanted.is_empty() {
            assert_eq!(peer.judge(&sent[0]).0, AuthVerdict::Authentic);
        }
        // Lost, they come again in the same order.
        let again = peer.script.wait(secs(5));
        assert_eq!(again[0].types(), expected);
    }
}

//= RFC 4895 6.2-1 6.2-3 6.2-6 6.2-7
#[test]
fn what_the_peer_wants_is_authenticated_and_nothing_else() {
    let mut peer = Peer::connected(&asking(&[]), &[ChunkType::DATA]);
    // 5 bytes of user data have padding, which counts.
    let sent = peer.script.send(5);
    assert_eq!(types(&sent), [[ChunkType::AUTH, ChunkType::DATA]]);
    assert_eq!(peer.judge(&sent[0]), (AuthVerdict::Authentic, vec![ChunkType::DATA]));
    assert_eq!(peer.script.stats().auth_chunks_sent, 1);
    let sent = peer.data(10);
    assert!(sent.iter().all(|p| !p.carries(ChunkType::AUTH)), "a SACK is not asked for");
    let sent = peer.give(|w| w.heartbeat(b"hello"));
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]]);
}

//= RFC 4895 6.2-5
#[test]
fn without_a_shared_key_number_0_is_used() {
    let mut peer = Peer::connected(&asking(&[]), &[ChunkType::DATA]);
    let sent = peer.script.send(5);
    let Some(Chunk::Auth(auth)) = sent[0].chunks().next() else { panic!("AUTH") };
    assert_eq!((auth.key, auth.algorithm), (0, HmacIdentifier::SHA_256));
}

#[test]
fn control_chunks_are_authenticated_too() {
    let all = [
        ChunkType::SACK,
        ChunkType::HEARTBEAT,
        ChunkType::HEARTBEAT_ACK,
        ChunkType::ABORT,
        ChunkType::SHUTDOWN,
        ChunkType::SHUTDOWN_ACK,
        ChunkType::ERROR,
    ];
    let mut peer = Peer::connected(&asking(&[]), &all);
    let mut sent = peer.data(10);
    sent.extend(peer.data(10));
    assert_eq!(peer.judge(only(&sent)), (AuthVerdict::Authentic, vec![ChunkType::SACK]));
    // A SACK that is owed rides along.
    let check = |peer: &mut Peer, sent: &[Sent], kind| {
        let (verdict, kinds) = peer.judge(only(sent));
        assert_eq!((verdict, kinds.first()), (AuthVerdict::Authentic, Some(&kind)));
    };
    let sent = peer.give(|w| w.heartbeat(b"hello"));
    check(&mut peer, &sent, ChunkType::HEARTBEAT_ACK);
    let sent = peer.give(|w| w.raw(&[0x7e, 0, 0, 4]));
    check(&mut peer, &sent, ChunkType::ERROR);
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.request_heartbeat(now, id, PathId(0)).unwrap();
    let sent = peer.script.poll();
    check(&mut peer, &sent, ChunkType::HEARTBEAT);
    let sent = peer.script.shutdown();
    assert_eq!(peer.judge(only(&sent)).0, AuthVerdict::Authentic);
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.abort(now, id, b"bye").unwrap();
    let sent = peer.script.poll();
    assert_eq!(peer.judge(only(&sent)), (AuthVerdict::Authentic, vec![ChunkType::ABORT]));
}

#[test]
fn packets_are_as_large_as_without_it() {
    let mut peer = Peer::connected(&asking(&[]), &[ChunkType::DATA]);
    let id = peer.script.id;
    let point = peer.script.end.info(id).unwrap().fragmentation_point;
    assert_eq!(point, FULL - AUTH_SHA_256);
    let sent = peer.script.send(2 * point);
    assert_eq!(types(&sent), [[ChunkType::AUTH, ChunkType::DATA]; 2]);
    assert!(sent.iter().all(|p| p.bytes.len() == 12 + PMDCS && !p.to.fragments.are_allowed()));
    // Where only what is not sent beside data is to be authenticated, nothing is kept free.
    let peer = Peer::connected(&asking(&[]), &[ChunkType::ASCONF, ChunkType::ASCONF_ACK]);
    let id = peer.script.id;
    assert_eq!(peer.script.end.info(id).unwrap().fragmentation_point, FULL);
}

#[test]
fn a_path_mtu_that_shrinks_keeps_room() {
    let mut peer = Peer::connected(&asking(&[]), &[ChunkType::DATA]);
    let now = peer.script.now;
    let path = PathId(0);
    let a = peer.script.end.roll.get_mut(peer.script.id).unwrap();
    a.on_icmp(now, addresses(Side::Z, 1)[0], crate::datagram::IcmpKind::TooBig { mtu: 700 }, false);
    assert_eq!(a.paths()[path].pmdcs(), 700 - 20 - 12 - AUTH_SHA_256);
    let sent = peer.script.send(2000);
    assert!(
        sent.iter().all(|p| p.bytes.len() <= 680 && !p.to.fragments.are_allowed()),
        "{:?}",
        types(&sent)
    );
    assert!(sent.iter().any(|p| p.bytes.len() == 680));
}

#[test]
fn a_probe_of_the_path_mtu_has_its_size_all_the_same() {
    let config = AssociationConfig {
        mtu_discovery: crate::mtu_discovery::MtuDiscovery::probes(9000),
        ..asking(&[])
    };
    for wanted in [&[][..], &[ChunkType::HEARTBEAT], &[ChunkType::DATA]] {
        let mut peer = Peer::connected(&config, wanted);
        let options = SendOptions::default();
        peer.script.try_send(0, 20_000, options).unwrap();
        let sent = peer.script.wait(secs(60));
        let probes: Vec<&Sent> = sent.iter().filter(|p| p.carries(ChunkType::PAD)).collect();
        // The base, of 1280 bytes with the IP header.
        assert_eq!(probes[0].bytes.len(), 1260, "{:?}", probes[0].types());
        for probe in probes {
            assert_eq!(probe.carries(ChunkType::AUTH), wanted.contains(&ChunkType::HEARTBEAT));
            if probe.carries(ChunkType::AUTH) {
                assert_eq!(peer.judge(probe).0, AuthVerdict::Authentic);
            }
        }
    }
}

//= RFC 4895 6.2-1
#[test]
fn what_recovery_sends_is_authenticated() {
    // Fast retransmissions, expirations, probes, what rides along: whatever leaves.
    for (name, lose) in [("rfc9260", 7), ("tresse", 7), ("tresse", 3)] {
        let named = profile(name, "");
        let config = AssociationConfig { profile: named.profile, ..asking(&[ChunkType::DATA]) };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        pair.drop = Box::new(move |sent| sent.number % lose == 0);
        for i in 0..60 {
            pair.send(Side::A, a, 0, vec![i; 50 * usize::from(i) + 1]);
            pair.send(Side::Z, z, 0, vec![i; 900]);
            pair.run(ms(40));
        }
        pair.run(secs(300));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 60);
        assert_eq!(pair.recv_all(Side::A, a).len(), 60);
        for side in [Side::A, Side::Z] {
            assert!(all_authenticated(&pair.log, side, ChunkType::DATA) > 60);
        }
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert!(stats.retransmissions() > 0);
        assert_eq!((stats.auth_chunks_forged, stats.unauthenticated_chunks), (0, 0));
    }
}

#[test]
fn several_paths_keep_room_each() {
    let config = AssociationConfig {
        concurrent_transfer: true,
        profile: profile("tresse", "").profile,
        ..asking(&[ChunkType::DATA, ChunkType::SACK])
    };
    let (mut pair, a, z) = Pair::connected(&config, 3);
    pair.drop = Box::new(|sent| sent.number % 11 == 0);
    for _ in 0..20 {
        pair.send(Side::A, a, 0, vec![9; 20_000]);
    }
    pair.run(secs(120));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 20);
    all_authenticated(&pair.log, Side::A, ChunkType::DATA);
    all_authenticated(&pair.log, Side::Z, ChunkType::SACK);
}
