//! The peer's window, and the send buffer's room, where messages are given up.

use super::*;
use crate::ids::LossCause;

fn priority(value: u32) -> SendOptions {
    policy(Reliability::Priority(value))
}

/// It still comes to the peer, and fills its window (RFC 9260 §6.1 A).
#[test]
fn giving_up_what_is_in_flight_opens_no_window() {
    let config = AssociationConfig { bundling: false, ..unlimited() };
    let mut script = agreed(&config);
    grow(&mut script, 10);
    let config = AssociationConfig { send_buffer: 4800, ..config };
    script.end.reconfigure(script.now, script.id, config).unwrap();
    script.send(1200);
    script.sack_with(1, &[], 4800);
    script.first = script.tsn(1);
    for _ in 0..4 {
        script.try_send(1, 1200, priority(9)).unwrap();
    }
    let sent = script.poll();
    assert_eq!(script.numbers(&sent).concat(), [0, 1, 2, 3], "all of the window");
    // What matters more makes room in the send buffer, and none at the peer.
    for _ in 0..4 {
        script.try_send(2, 1200, priority(1)).unwrap();
    }
    let sent = script.poll();
    assert_eq!(script.numbers(&sent).concat(), [0; 0]);
    assert_eq!(script.stats().chunks_abandoned, 4);
    // Passed over, it has come, or will not.
    let sent = script.sack_with(4, &[], 4800);
    assert_eq!(script.numbers(&sent).concat(), [4, 5, 6, 7]);
}

#[test]
fn one_that_is_larger_than_the_send_buffer_makes_room_too() {
    let config = AssociationConfig { send_buffer: 5000, ..offering() };
    let mut script = agreed(&config);
    script.send(100);
    script.sack_with(1, &[], 0);
    for _ in 0..4 {
        script.try_send(0, 1200, priority(9)).unwrap();
    }
    script.try_send(0, 6000, SendOptions::default()).unwrap();
    assert_eq!(script.stats().messages_abandoned_unsent, 4);
    // It matters more than another one of the kind.
    assert!(script.try_send(0, 1200, priority(9)).is_err());
}

/// Whether the peer has heard that it is to pass over the first chunk or not, what it had no room for leaves again once it has.
#[test]
fn a_probe_behind_a_given_up_chunk_leaves_when_the_window_opens() {
    for unheard in [false, true] {
        let (mut script, none) = closed_behind_a_given_up_chunk();
        let mut sent = script.send(200);
        sent.extend(script.give(|w| write_sack(w, none, &[], 0)));
        let mut waited = 0;
        while script.numbers(&sent).is_empty() && waited < 30 {
            sent.extend(script.wait(ms(100)));
            waited += 1;
        }
        assert_eq!(script.numbers(&sent), [[1]], "the probe");
        // The peer has dropped it.
        if unheard {
            script.give(|w| write_sack(w, none, &[], 0));
        }
        script.sack_with(1, &[], 0);
        script.now += ms(50);
        let sent = script.sack_with(1, &[], RWND);
        assert_eq!(script.numbers(&sent), [[1]], "unheard: {unheard}");
    }
}

/// No SACK comes that would say again that the window is closed.
#[test]
fn a_silent_peer_with_a_closed_window_is_probed_behind_a_given_up_chunk() {
    let (mut script, _) = closed_behind_a_given_up_chunk();
    let mut sent = script.send(200);
    for _ in 0..30 {
        sent.extend(script.wait(ms(100)));
    }
    assert_eq!(script.numbers(&sent).first(), Some(&vec![1]));
}

/// No packet is lost, and the reader is slow.
#[test]
fn what_matters_is_not_sent_in_vain() {
    let config = AssociationConfig {
        send_buffer: 1 << 20,
        receive_buffer: 48_000,
        bundling: false,
        ..unlimited()
    };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    // cwnd grows beyond the window.
    for _ in 0..40 {
        for _ in 0..36 {
            pair.send(Side::A, a, 0, vec![0; 1200]);
        }
        pair.run(ms(100));
        pair.recv_all(Side::Z, z);
    }
    pair.run(secs(1));
    for _ in 0..20 {
        pair.send(Side::A, a, 3, vec![3; 1200]);
    }
    pair.run(ms(300));
    let narrow = AssociationConfig { send_buffer: 24_000, ..config };
    let now = pair.now;
    pair.end(Side::A).reconfigure(now, a, narrow).unwrap();
    for (value, fill) in [(9, 9u8), (1, 1)] {
        for _ in 0..20 {
            let (now, stream) = (pair.now, StreamId(u16::from(fill)));
            let message = vec![fill; 1200].into();
            pair.end(Side::A).send(now, a, stream, message, priority(value)).unwrap();
        }
        pair.run(ms(3));
    }
    pair.run(secs(2));
    let mut important = 0;
    for _ in 0..600 {
        let read = pair.recv_all(Side::Z, z);
        important += read.iter().filter(|message| message.payload[0] == 1).count();
        pair.run(ms(100));
    }
    let stats = pair.end(Side::A).stats(a).unwrap();
    let repeated = stats.retransmitted_chunks[LossCause::Timeout.index()];
    assert_eq!((important, stats.timeouts, repeated), (20, 0, 0));
}

/// What answers a FORWARD TSN after the window has opened says nothing about data that left since.
#[test]
fn new_data_behind_a_given_up_probe_is_no_probe() {
    let mut script = agreed(&offering());
    script.send(100);
    script.sack_with(1, &[], 0);
    let mut sent = script.send_on(0, 100, ONCE);
    for _ in 0..100 {
        if !script.forwards(&sent).is_empty() {
            break;
        }
        sent.extend(script.wait(ms(100)));
    }
    assert_eq!((script.numbers(&sent), script.forwards(&sent).len()), (vec![vec![1]], 1));
    // A window update that crosses the FORWARD TSN.
    script.now += ms(10);
    let sent = script.sack_with(1, &[], RWND);
    assert_eq!(script.numbers(&sent).concat(), [0; 0]);
    let mut sent = script.send(200);
    sent.extend(script.send(200));
    let fresh = script.numbers(&sent).concat();
    assert!(!fresh.is_empty());
    script.now += ms(10);
    let sent = script.sack_with(2, &[], RWND);
    assert!(script.numbers(&sent).concat().iter().all(|number| !fresh.contains(number)));
    assert_eq!(script.stats().timeouts, 1, "that of the probe");
}

/// The peer has the chunk behind the one that was given up, and has not heard of that yet.
#[test]
fn a_probe_behind_what_the_peer_has_leaves_when_the_window_opens() {
    let (mut script, none) = closed_behind_a_given_up_chunk();
    for (number, gaps) in [(1, &[][..]), (2, &[(2, 2)][..])] {
        let mut sent = script.send(200);
        sent.extend(script.give(|w| write_sack(w, none, gaps, 0)));
        for _ in 0..100 {
            if !script.numbers(&sent).is_empty() {
                break;
            }
            sent.extend(script.wait(ms(100)));
        }
        assert_eq!(script.numbers(&sent), [[number]], "a probe");
        script.give(|w| write_sack(w, none, &[(2, 2)], 0));
    }
    script.now += ms(50);
    let sent = script.give(|w| write_sack(w, none, &[(2, 2)], RWND));
    assert_eq!(script.numbers(&sent), [[2]]);
}
