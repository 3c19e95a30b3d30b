//! Shared keys that come and go (RFC 4895 §6.1, RFC 6458 §8.3).

use super::*;
use crate::error::{KeyError, SendError};

fn keyed(secret: &[u8]) -> AssociationConfig {
    with(Authentication {
        chunks: vec![ChunkType::DATA, ChunkType::SACK],
        keys: one_key(secret),
        ..Authentication::default()
    })
}

//= RFC 4895 6.2-2 6.3-5
#[test]
fn keys_are_changed_while_data_is_in_flight() {
    let (mut pair, a, z) = Pair::connected(&keyed(b"first"), 1);
    pair.drop = Box::new(|sent| sent.number % 9 == 0);
    for round in 2..12u16 {
        let now = pair.now;
        let secret = round.to_be_bytes();
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            pair.end(side).set_shared_key(now, id, round, &secret).unwrap();
        }
        pair.send(Side::A, a, 0, vec![round as u8; 30_000]);
        pair.send(Side::Z, z, 0, vec![round as u8; 5_000]);
        pair.run(ms(15));
        let now = pair.now;
        pair.end(Side::A).activate_shared_key(now, a, round).unwrap();
        pair.run(ms(20));
        let now = pair.now;
        pair.end(Side::Z).activate_shared_key(now, z, round).unwrap();
        pair.run(secs(20));
        let now = pair.now;
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            pair.end(side).deactivate_shared_key(now, id, round - 1).unwrap();
            pair.end(side).delete_shared_key(now, id, round - 1).unwrap();
        }
    }
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 10);
    assert_eq!(pair.recv_all(Side::A, a).len(), 10);
    for (side, id) in [(Side::A, a), (Side::Z, z)] {
        let stats = pair.end(side).stats(id).unwrap();
        assert_eq!((stats.auth_chunks_forged, stats.auth_unknown_keys), (0, 0));
        let info = pair.end(side).authentication(id).unwrap();
        assert_eq!((info.active_key, info.keys), (11, vec![11]));
    }
    let of_z = pair.events.iter().filter(|(side, ..)| *side == Side::Z);
    let told = told(of_z.map(|(_, _, event)| event));
    let new = |key| AuthenticationEvent::NewKey { key, before: if key == 1 { 0 } else { key - 1 } };
    let free = |key| AuthenticationEvent::FreeKey { key };
    let expected: Vec<_> =
        std::iter::once(new(1)).chain((2..12).flat_map(|key| [new(key), free(key - 1)])).collect();
    assert_eq!(told, expected);
}

//= RFC 6458 5.3.8-1 8.1.18-3
/// RFC 6458 §5.3.8. Whatever is lost, and however packets are filled.
#[test]
fn messages_name_their_keys() {
    for name in ["tresse", "rfc9260+thin-bundle-fast-retransmit+thin-bundle-new"] {
        let profile = profile(name, "").profile;
        let config = AssociationConfig { profile, ..keyed(b"first") };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        pair.drop = Box::new(|sent| sent.number % 5 == 0);
        for key in 2..5u16 {
            for (side, id) in [(Side::A, a), (Side::Z, z)] {
                let now = pair.now;
                pair.end(side).set_shared_key(now, id, key, &key.to_be_bytes()).unwrap();
            }
        }
        let key_of = |n: u16| Some(n % 5).filter(|key| *key > 0);
        for n in 0..60 {
            let options = SendOptions { key: key_of(n), ..SendOptions::default() };
            let now = pair.now;
            let size = if n % 7 == 0 { 3000 } else { 50 };
            pair.end(Side::A)
                .send(now, a, StreamId(0), vec![n as u8; size].into(), options)
                .unwrap();
            if n % 10 == 0 {
                pair.run(ms(15));
            }
        }
        pair.run(secs(60));
        let got = pair.recv_all(Side::Z, z);
        let got: Vec<u8> = got.iter().map(|received| received.payload[0]).collect();
        assert_eq!(got, (0..60).collect::<Vec<u8>>());
        let stats = pair.end(Side::Z).stats(z).unwrap();
        assert_eq!((stats.auth_chunks_forged, stats.auth_unknown_keys), (0, 0));
        let of_z = pair.events.iter().filter(|(side, ..)| *side == Side::Z);
        let told = told(of_z.map(|(_, _, event)| event));
        for key in 1..5 {
            let is_it = |what: &AuthenticationEvent| matches!(what, AuthenticationEvent::NewKey { key: new, .. } if *new == key);
            assert!(told.iter().filter(|what| is_it(what)).count() > 1, "{key}: {told:?}");
        }
    }
}

#[test]
fn a_key_that_is_named_must_be_there() {
    let (mut pair, a, z) = Pair::connected(&keyed(b"secret"), 1);
    let options = SendOptions { key: Some(7), ..SendOptions::default() };
    let send = |pair: &mut Pair| {
        let now = pair.now;
        pair.end(Side::A).send(now, a, StreamId(0), vec![1; 10].into(), options)
    };
    assert_eq!(send(&mut pair), Err(SendError::NoKey { key: 7 }));
    let now = pair.now;
    for (side, id) in [(Side::A, a), (Side::Z, z)] {
        pair.end(side).set_shared_key(now, id, 7, b"seven").unwrap();
    }
    pair.drop = Box::new(|_| true);
    assert_eq!(send(&mut pair), Ok(()));
    pair.run(ms(100));
    // What is sent again once the key is gone has the active one.
    let now = pair.now;
    pair.end(Side::A).deactivate_shared_key(now, a, 7).unwrap();
    assert_eq!(send(&mut pair), Err(SendError::NoKey { key: 7 }));
    pair.end(Side::Z).delete_shared_key(now, z, 7).unwrap();
    pair.drop = Box::new(|_| false);
    pair.run(secs(10));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    // Where user data is not authenticated it is of no interest.
    let (mut pair, a, _) = Pair::connected(&AssociationConfig::default(), 1);
    let now = pair.now;
    assert_eq!(pair.end(Side::A).send(now, a, StreamId(0), vec![1; 10].into(), options), Ok(()));
}

#[test]
fn a_wrong_key_lets_nothing_through() {
    let mut pair = Pair::new(&keyed(b"right"), 1);
    let (a, z) = pair.connect(&keyed(b"wrong"));
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.run(secs(5));
    assert!(pair.recv_all(Side::Z, z).is_empty());
    assert!(pair.end(Side::Z).stats(z).unwrap().auth_chunks_forged > 0);
    // The peer learns the key, and what is sent again gets through.
    let now = pair.now;
    pair.end(Side::A).set_shared_key(now, a, 1, b"right").unwrap();
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
}

#[test]
fn the_empty_key_is_not_taken_once_it_is_deleted() {
    let config = AssociationConfig { ..keyed(b"secret") };
    let mut peer = Peer::connected(&config, &[]);
    peer.keys = SharedKeys::default();
    let tsn = peer.script.next;
    peer.give(|w| write_data(w, tsn, 10));
    assert_eq!(peer.script.recv(), None);
    assert_eq!(peer.script.stats().auth_unknown_keys, 1);
}

#[test]
fn errors_say_what_is_wrong() {
    let (mut pair, a, _) = Pair::connected(&keyed(b"secret"), 1);
    let now = pair.now;
    let end = pair.end(Side::A);
    assert_eq!(end.activate_shared_key(now, a, 7), Err(KeyError::Unknown { key: 7 }));
    assert_eq!(end.delete_shared_key(now, a, 1), Err(KeyError::Active { key: 1 }));
    assert_eq!(end.deactivate_shared_key(now, a, 1), Err(KeyError::Active { key: 1 }));
    end.set_shared_key(now, a, 7, b"new").unwrap();
    end.deactivate_shared_key(now, a, 7).unwrap();
    assert_eq!(end.activate_shared_key(now, a, 7), Err(KeyError::Deactivated { key: 7 }));
    end.delete_shared_key(now, a, 7).unwrap();
    end.abort(now, a, b"").unwrap();
    assert_eq!(end.set_shared_key(now, a, 7, b""), Err(KeyError::NoAssociation));
    let nobody = AssociationId::default();
    assert_eq!(end.delete_shared_key(now, nobody, 7), Err(KeyError::NoAssociation));
}

#[test]
fn keys_may_be_set_before_the_peer_is_known() {
    let config = asking(&[]);
    let (mut peer, _) = Peer::answering(&config, &[ChunkType::DATA], |script| {
        let (now, id) = (script.now, script.id);
        script.end.set_shared_key(now, id, 4, b"early").unwrap();
        script.end.activate_shared_key(now, id, 4).unwrap();
        script.try_send(0, 10, SendOptions::default()).unwrap();
    });
    peer.keys.set(4, b"early").unwrap();
    let again = peer.script.wait(secs(5));
    assert_eq!(peer.judge(&again[0]).0, AuthVerdict::Authentic);
}
