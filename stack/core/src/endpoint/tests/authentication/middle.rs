//! Who is on the way changes what both ends say of authentication, or plays again what was said.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use tresse_wire::{COMMON_HEADER_LEN, ParameterType, Parameters};

/// Where the parameters of an INIT or INIT ACK begin.
const PARAMETERS: usize = COMMON_HEADER_LEN + 20;

/// What becomes of a parameter: its new value, or nothing.
type Change = fn(ParameterType, &[u8]) -> Option<Vec<u8>>;

/// An INIT or INIT ACK with other parameters.
fn altered(packet: &[u8], change: Change) -> Vec<u8> {
    let mut list = ParameterWriter::new();
    for raw in Parameters::new(&packet[PARAMETERS..]).iter().map(Result::unwrap) {
        if let Some(value) = change(raw.parameter_type, raw.value) {
            list.raw(raw.parameter_type, &value);
        }
    }
    let mut packet = [&packet[..PARAMETERS], &list.finish()].concat();
    let len = (packet.len() - COMMON_HEADER_LEN) as u16;
    packet[COMMON_HEADER_LEN + 2..][..2].copy_from_slice(&len.to_be_bytes());
    write_checksum(&mut packet);
    packet
}

/// Both ends want DATA authenticated, and have the same key.
fn secured(required: bool) -> AssociationConfig {
    let chunks = vec![ChunkType::DATA];
    with(Authentication { chunks, keys: one_key(b"secret"), required, ..Authentication::default() })
}

/// A and Z with somebody between them who changes INITs or INIT ACKs; messages that Z and A get.
fn played(config: &AssociationConfig, kinds: &[ChunkType], change: Change) -> (Pair, [usize; 2]) {
    let mut pair = Pair::new(config, 1);
    let held = Rc::new(RefCell::new(Vec::new()));
    let (kinds, taken) = (kinds.to_vec(), Rc::clone(&held));
    pair.drop = Box::new(move |sent| {
        let hit = kinds.iter().any(|kind| sent.carries(*kind));
        if hit {
            taken.borrow_mut().push((sent.from, altered(&sent.bytes, change)));
        }
        hit
    });
    let a = pair.open(Side::A, config);
    let now = pair.now;
    let message = || (StreamId(0), Bytes::from_static(b"message"), SendOptions::default());
    let (stream, payload, options) = message();
    pair.end(Side::A).send(now, a, stream, payload, options).unwrap();
    let mut got = [0; 2];
    let mut answered = false;
    for _ in 0..3000 {
        pair.run(ms(1));
        for (from, packet) in held.take() {
            pair.inject(from.other(), addresses(from, 1)[0], packet);
        }
        let now = pair.now;
        let z = pair.end(Side::Z).associations().first().copied();
        if let Some(z) = z {
            let (stream, payload, options) = message();
            answered = answered || pair.end(Side::Z).send(now, z, stream, payload, options).is_ok();
            got[0] += pair.recv_all(Side::Z, z).len();
        }
        got[1] += pair.recv_all(Side::A, a).len();
    }
    (pair, got)
}

const KINDS: [&[ChunkType]; 3] =
    [&[ChunkType::INIT], &[ChunkType::INIT_ACK], &[ChunkType::INIT, ChunkType::INIT_ACK]];

/// Takes all of it away.
fn stripped(kind: ParameterType, value: &[u8]) -> Option<Vec<u8>> {
    use ParameterType as P;
    (!matches!(kind, P::RANDOM | P::CHUNK_LIST | P::HMAC_ALGO)).then(|| value.to_vec())
}

fn same(_: ParameterType, value: &[u8]) -> Option<Vec<u8>> {
    Some(value.to_vec())
}

/// Alters one of them.
const ALTERATIONS: [Change; 9] = [
    stripped,
    |kind, value| (kind != ParameterType::RANDOM).then(|| value.to_vec()),
    |kind, value| (kind != ParameterType::CHUNK_LIST).then(|| value.to_vec()),
    |kind, value| (kind != ParameterType::HMAC_ALGO).then(|| value.to_vec()),
    |kind, value| Some(if kind == ParameterType::RANDOM { vec![7; 32] } else { value.to_vec() }),
    |kind, value| Some(if kind == ParameterType::RANDOM { vec![7; 31] } else { value.to_vec() }),
    |kind, value| Some(if kind == ParameterType::CHUNK_LIST { vec![3] } else { value.to_vec() }),
    |kind, value| Some(if kind == ParameterType::CHUNK_LIST { vec![] } else { value.to_vec() }),
    |kind, value| Some(if kind == ParameterType::HMAC_ALGO { vec![0, 1] } else { value.to_vec() }),
];

#[test]
fn what_is_altered_on_the_way_lets_nothing_through_where_it_is_required() {
    let (_, got) = played(&secured(true), KINDS[2], same);
    assert_eq!(got, [1, 1], "nothing was altered");
    for (n, change) in ALTERATIONS.into_iter().enumerate() {
        for kinds in KINDS {
            let (_, got) = played(&secured(true), kinds, change);
            assert_eq!(got, [0, 0], "alteration {n} of {kinds:?}");
        }
    }
}

/// What docs/security.md warns of: consent that is taken away in both directions is no error unless it is one.
#[test]
fn without_that_both_ends_may_be_made_to_go_on_without_and_are_told() {
    let (pair, got) = played(&secured(false), KINDS[2], stripped);
    assert_eq!(got, [1, 1]);
    for side in [Side::A, Side::Z] {
        let told = |e: &Event| *e == Event::Authentication(AuthenticationEvent::NotSupported);
        assert!(pair.saw(side, told), "{side:?}");
    }
    // Who can only alter gets nothing through.
    for (n, change) in ALTERATIONS.into_iter().enumerate().skip(4) {
        let (_, got) = played(&secured(false), KINDS[2], change);
        assert_eq!(got, [0, 0], "alteration {n}");
    }
}

/// RFC 4895 §6.1: the Random Numbers make other keys of the same secret each time.
#[test]
fn what_was_authenticated_in_one_association_is_not_in_the_next() {
    let config = secured(true);
    let (mut pair, a, z) = Pair::connected(&config, 1);
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.run(secs(1));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    let signed = |sent: &&Sent| sent.carries(ChunkType::AUTH) && sent.carries(ChunkType::DATA);
    let find = |pair: &Pair| {
        let mut of_a = pair.log.iter().filter(|sent| sent.from == Side::A).filter(signed);
        of_a.next_back().unwrap().bytes.to_vec()
    };
    let mut old = find(&pair);
    pair.shutdown(Side::A, a);
    pair.run(secs(5));
    let (a, z) = pair.connect(&config);
    pair.send(Side::A, a, 0, vec![2; 100]);
    pair.run(secs(1));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    let new = find(&pair);
    assert_ne!(old[4..8], new[4..8], "another verification tag");
    old[4..8].copy_from_slice(&new[4..8]);
    write_checksum(&mut old);
    pair.inject(Side::Z, addresses(Side::A, 1)[0], old);
    pair.run(ms(10));
    assert_eq!(pair.recv_all(Side::Z, z), []);
    let stats = pair.end(Side::Z).stats(z).unwrap();
    assert_eq!((stats.auth_chunks_forged, stats.auth_chunks_received), (1, 1));
}
