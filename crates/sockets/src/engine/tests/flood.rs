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
        while !ended {
            let (header, body) = server.receive();
            match (header.kind, u16::from_ne_bytes([body[0], body[1]])) {
                (kind::DATA, _) => messages.push(body),
                // SCTP_REMOTE_ERROR, and SCTP_ASSOC_CHANGE with SCTP_SHUTDOWN_COMP.
                (_, 0x8004) => errors += 1,
                (_, 0x8001) => ended = body[8] == 3,
                _ => {}
            }
        }
        assert_eq!(messages, [b"before".to_vec(), b"behind".to_vec()]);
        assert!(errors > 10, "{errors}");
    });
}
