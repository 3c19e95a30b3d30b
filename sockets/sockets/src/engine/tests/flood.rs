//! What a peer can send without end fills no memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tresse::Event;

use super::*;

/// ERROR chunks that have come so far.
const PACKETS: usize = 25_000;

#[test]
fn a_flood_of_errors_that_nobody_reads_fills_no_memory_and_hides_no_message() {
    let (flooded, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (came, waited) = (Arc::clone(&flooded), Arc::clone(&most));
    let flood = move |engine: &mut Engine| {
        let waits = |engine: &Engine| asleep::burden(engine).1;
        if came.load(Ordering::Relaxed) < PACKETS && engine.associations.len() == 2 {
            let all: Vec<_> = engine.by_core.keys().copied().collect();
            for core in all {
                for _ in 0..1000 {
                    let value = vec![7; 1400].into();
                    engine.on_event(core, Event::PeerError { cause: 13, value });
                }
            }
            came.fetch_add(1000, Ordering::Relaxed);
            waited.fetch_max(waits(engine), Ordering::Relaxed);
        }
    };
    with_driven_engine(flood, move |path| {
        let (server, client) = one_to_many(path);
        // SCTP_EVENT: SCTP_NOTIFICATIONS_STOPPED_EVENT of all associations.
        let stopped = [&2_u32.to_ne_bytes()[..], &0x83f3_u16.to_ne_bytes(), &[1, 0]].concat();
        server.set((SCTP, 127), &stopped).unwrap();
        let of_those_to_come = [&[0; 4], &stopped[4..]].concat();
        assert_eq!(server.get((SCTP, 127), &of_those_to_come), Ok(of_those_to_come));
        let address = Some("127.0.0.1:7000".parse().unwrap());
        let header = TxHeader { address, ..TxHeader::default() };
        client.send(header, b"before");
        while flooded.load(Ordering::Relaxed) < PACKETS {
            std::thread::sleep(Duration::from_millis(5));
        }
        let waiting = most.load(Ordering::Relaxed);
        // A message that came with the first of them may wait as well.
        assert!(waiting > 0 && waiting <= 70, "{waiting}");
        client.send(header, b"behind");
        client.send(TxHeader { sinfo_flags: 0x200, ..header }, b"");
        let (mut errors, mut messages, mut ended) = (0, Vec::new(), false);
        let mut told_at = Vec::new();
        while !ended {
            let (header, body) = server.receive();
            match (header.kind, u16::from_ne_bytes([body[0], body[1]])) {
                (kind::DATA, _) => messages.push(body),
                // SCTP_REMOTE_ERROR, and SCTP_ASSOC_CHANGE with SCTP_SHUTDOWN_COMP.
                (_, 0x8004) => errors += 1,
                // RFC 6458 §6.1.10: "only the sctp_tlv structure is used".
                (_, 0x83f3) => {
                    assert_eq!(body[2..], [0, 0, 8, 0, 0, 0]);
                    told_at.push(errors);
                }
                (_, 0x8001) => ended = body[8] == 3,
                _ => {}
            }
        }
        assert_eq!(messages, [b"before".to_vec(), b"behind".to_vec()]);
        assert!(errors > 10, "{errors}");
        assert_eq!(told_at, [errors], "behind all that was not left out");
    });
}

/// Peers with a message for a program that does not read.
const PEERS: usize = 80;

/// What is told of each, as often as the program says.
fn tell_all(engine: &mut Engine, server: u64) {
    let numbers = engine.sockets[&server].associations.clone();
    for indication in [1, 2] {
        for number in &numbers {
            let core = engine.associations[number].core;
            engine.on_event(core, Event::PeerAdaptation(indication));
            engine.on_event(core, Event::PeerError { cause: 13, value: vec![7].into() });
        }
    }
}

/// Messages of many peers hide nothing, and notifications of 64 hide only what peers can cause at will.
#[test]
fn what_waits_beside_the_messages_of_many_is_told() {
    let (told, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (was_told, in_line) = (Arc::clone(&told), Arc::clone(&most));
    let drive = move |engine: &mut Engine| {
        let server = engine.sockets.iter().find(|(_, socket)| socket.many);
        let Some((&id, socket)) = server else { return };
        in_line.store(socket.line.len(), Ordering::Relaxed);
        if socket.line.len() == PEERS && was_told.fetch_max(1, Ordering::Relaxed) == 0 {
            assert!(!engine.is_crowded(id, 0));
            tell_all(engine, id);
            assert!(engine.is_crowded(id, 0));
        }
        if engine.sockets[&id].line.is_empty() {
            assert!(!engine.is_crowded(id, 0));
        }
    };
    with_driven_engine(drive, move |path| {
        let server = Client::socket(path, SOCK_SEQPACKET);
        server.bind("127.0.0.1:7000").unwrap();
        server.call(Op::Listen, 5, 0, &[]).unwrap();
        // All but association changes, send failures and shutdowns.
        server.set((SCTP, 11), &[1, 0, 1, 0, 1, 0, 0, 1]).unwrap();
        let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
        let clients: Vec<_> = (0..PEERS)
            .map(|_| {
                let client = Client::socket(path, SOCK_STREAM);
                client.call(Op::Connect, 1, 0, &to).unwrap();
                client
            })
            .collect();
        // The connection is full, and all wait behind it.
        let mut messages = 0;
        while most.load(Ordering::Relaxed) < PEERS {
            assert!(messages < 10_000, "nothing is ever full");
            for client in &clients {
                client.send(TxHeader::default(), &[9; 10_000]);
                messages += 1;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        while told.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (mut errors, mut indications) = (0, Vec::new());
        while messages > 0 {
            let (header, body) = server.receive();
            match (header.kind, u16::from_ne_bytes([body[0], body[1]])) {
                (kind::DATA, _) => messages -= 1,
                (_, 0x8004) => errors += 1,
                (_, 0x8007) => indications.push(body[8..12].to_vec()),
                (_, other) => panic!("{other:x}"),
            }
        }
        assert_eq!(indications, vec![2_u32.to_ne_bytes().to_vec(); PEERS]);
        // Two of each of 64.
        assert_eq!(errors, 128);
    });
}
