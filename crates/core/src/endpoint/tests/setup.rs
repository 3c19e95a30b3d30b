//! Setting up and shutting down.

use super::*;
use crate::event::CloseReason;

fn config() -> AssociationConfig {
    profile("rfc9260", "")
}

#[test]
fn four_way_handshake_and_graceful_shutdown() {
    let config = config();
    let mut pair = Pair::new(&config, 1);
    let (a, z) = pair.connect(&config);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { accepted: false, .. })));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Connected { accepted: true, .. })));
    pair.send(Side::A, a, 1, b"hello".to_vec());
    pair.send(Side::Z, z, 2, b"world".to_vec());
    pair.run(Duration::from_millis(50));
    assert_eq!(&pair.recv_all(Side::Z, z)[0].message.payload[..], b"hello");
    assert_eq!(&pair.recv_all(Side::A, a)[0].message.payload[..], b"world");
    let now = pair.now;
    pair.end(Side::A).shutdown(now, a).unwrap();
    pair.run(Duration::from_secs(1));
    for side in [Side::A, Side::Z] {
        assert!(pair.saw(side, |e| *e == Event::Closed(CloseReason::Shutdown)), "{side:?}");
    }
    pair.run(Duration::from_secs(1));
    assert!(pair.end(Side::A).associations().is_empty());
    assert!(pair.end(Side::Z).associations().is_empty());
    assert_eq!(pair.end(Side::A).poll_timeout(), None);
}

#[test]
fn every_setup_packet_may_be_lost_once() {
    for lost in 1..=2 {
        for side in [Side::A, Side::Z] {
            let config = config();
            let mut pair = Pair::new(&config, 1);
            pair.drop = Box::new(move |p| p.from == side && p.number == lost);
            let now = pair.now;
            let remote = addresses(Side::Z, 1);
            let a = pair.end(Side::A).connect(now, &remote, 5000, config.clone()).unwrap();
            pair.send(Side::A, a, 0, b"early".to_vec());
            pair.run(Duration::from_secs(10));
            let z = pair.end(Side::Z).associations()[0];
            let got = pair.recv_all(Side::Z, z);
            assert_eq!(got.len(), 1, "lost packet {lost} of {side:?}");
            assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { .. })));
        }
    }
}

#[test]
fn both_sides_open_at_once() {
    let config = config();
    let mut pair = Pair::new(&config, 1);
    let now = pair.now;
    let a = pair.end(Side::A).connect(now, &addresses(Side::Z, 1), 5000, config.clone()).unwrap();
    let z = pair.end(Side::Z).connect(now, &addresses(Side::A, 1), 5000, config.clone()).unwrap();
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.end(Side::A).associations(), [a]);
    assert_eq!(pair.end(Side::Z).associations(), [z]);
    pair.send(Side::A, a, 0, b"one".to_vec());
    pair.send(Side::Z, z, 0, b"two".to_vec());
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(pair.recv_all(Side::A, a).len(), 1);
}

#[test]
fn nobody_answers() {
    let config = profile("rfc9260", "[limits]\nmax_init_retransmits = 3");
    let mut pair = Pair::new(&config, 1);
    pair.drop = Box::new(|_| true);
    let now = pair.now;
    pair.end(Side::A).connect(now, &addresses(Side::Z, 1), 5000, config.clone()).unwrap();
    // 1 + 2 + 4 + 8 seconds.
    pair.run(Duration::from_secs(14));
    assert!(!pair.saw(Side::A, |e| matches!(e, Event::Closed(_))));
    pair.run(Duration::from_secs(2));
    assert!(pair.saw(Side::A, |e| *e == Event::Closed(CloseReason::SetupFailed)));
    assert_eq!(pair.log.len(), 4);
}
