//! Several SCTP ports on one endpoint.

use super::*;
use crate::config::{Families, PortConfig};
use crate::state::State;

const OTHER: u16 = 5001;

#[test]
fn each_port_has_its_own_associations_with_the_same_peer() {
    let config = AssociationConfig::default();
    let mut pair = Pair::new(&config, 1);
    let port = PortConfig { accept: true, ..PortConfig::default() };
    pair.end(Side::A).open_port(OTHER, PortConfig::default()).unwrap();
    pair.end(Side::Z).open_port(OTHER, port).unwrap();
    let (now, z) = (pair.now, addresses(Side::Z, 1));
    let mut opened = Vec::new();
    for (from, to) in [(PORT, PORT), (PORT, OTHER), (OTHER, PORT), (OTHER, OTHER)] {
        let id = pair.end(Side::A).connect_from(now, from, &z, to, config.clone()).unwrap();
        opened.push((id, from, to));
    }
    pair.run(ms(200));
    for (id, from, to) in opened {
        let info = pair.end(Side::A).info(id).unwrap();
        assert_eq!(info.state, State::Established);
        assert_eq!((info.local_port, info.remote_port), (from, to));
        pair.send(Side::A, id, 0, vec![from as u8, to as u8]);
    }
    pair.run(ms(200));
    let end = pair.end(Side::Z);
    for id in end.associations() {
        let info = end.info(id).unwrap();
        let message = end.recv(now, id).unwrap();
        assert_eq!(message.payload[..], [info.remote_port as u8, info.local_port as u8]);
    }
}

#[test]
fn a_port_that_does_not_listen_answers_with_abort() {
    let config = AssociationConfig::default();
    let mut pair = Pair::new(&config, 1);
    let (now, z) = (pair.now, addresses(Side::Z, 1));
    pair.end(Side::Z).open_port(OTHER, PortConfig::default()).unwrap();
    let refused = pair.end(Side::A).connect(now, &z, OTHER, config.clone()).unwrap();
    pair.run(ms(100));
    assert!(pair.events.iter().any(|(_, id, event)| *id == refused
        && matches!(event, Event::Closed(CloseReason::PeerAborted { .. }))));
    let from = |end: &mut Endpoint| end.connect_from(now, OTHER, &z, PORT, config.clone()).is_ok();
    assert!(!from(pair.end(Side::A)));
    pair.end(Side::A).open_port(OTHER, PortConfig::default()).unwrap();
    assert!(from(pair.end(Side::A)));
    pair.end(Side::A).close_port(OTHER);
    assert!(!from(pair.end(Side::A)));
}

#[test]
fn a_port_may_be_for_one_family_only() {
    // The peer's addresses are of IPv4.
    let config = AssociationConfig::default();
    for (families, accepted) in [(Families::Both, 1), (Families::V4, 1), (Families::V6, 0)] {
        let mut pair = Pair::new(&config, 1);
        let (now, z) = (pair.now, addresses(Side::Z, 1));
        let port = PortConfig { accept: true, families, ..PortConfig::default() };
        pair.end(Side::Z).open_port(OTHER, port).unwrap();
        pair.end(Side::A).connect(now, &z, OTHER, config.clone()).unwrap();
        pair.run(ms(200));
        assert_eq!(pair.end(Side::Z).associations().len(), accepted, "{families:?}");
        let refused =
            pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::PeerAborted { .. })));
        let connected = pair.saw(Side::A, |e| matches!(e, Event::Connected { .. }));
        assert_eq!((connected, refused), (accepted == 1, accepted == 0), "{families:?}");
    }
}

#[test]
fn settings_of_a_running_association_can_change() {
    let config = AssociationConfig::default();
    let (mut pair, a, _) = Pair::connected(&config, 1);
    let now = pair.now;
    let strict = AssociationConfig { fragmentation: false, ..config.clone() };
    pair.end(Side::A).reconfigure(now, a, strict).unwrap();
    let limit = pair.end(Side::A).info(a).unwrap().fragmentation_point;
    let mut send = |size: usize| {
        let options = SendOptions::default();
        pair.end(Side::A).send(now, a, StreamId(0), vec![0; size].into(), options)
    };
    assert_eq!(send(limit), Ok(()));
    assert!(send(limit + 1).is_err());
    let wrong = AssociationConfig { mtu: 1, ..config };
    assert!(pair.end(Side::A).reconfigure(now, a, wrong).is_err());
}
