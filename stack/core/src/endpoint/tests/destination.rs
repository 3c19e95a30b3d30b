//! Messages that name the address of the peer that they go to (RFC 9260 §11.1.5, RFC 6458 §5.3.2).

use super::*;
use crate::PathState;
use crate::error::SendError;

fn config(overrides: &str) -> AssociationConfig {
    let overrides = format!("[heartbeat]\nenabled = false\n{overrides}");
    AssociationConfig { no_delay: true, ..profile("rfc9260", &overrides) }
}

fn to(net: u8) -> SendOptions {
    let destination = Some(addresses(Side::Z, net + 1)[usize::from(net)]);
    SendOptions { destination, ..SendOptions::default() }
}

fn send(script: &mut Script, len: usize, options: SendOptions) -> Vec<u8> {
    script.try_send(0, len, options).unwrap();
    let sent = script.poll();
    sent.iter().map(|p| p.to.path.unwrap().0).collect()
}

#[test]
fn a_message_goes_where_it_is_to_go() {
    let mut script = Script::multihomed(&config("[limits]\nmax_burst = 0"), 3);
    assert_eq!(send(&mut script, 10, SendOptions::default()), [0]);
    assert_eq!(send(&mut script, 10, to(2)), [2]);
    assert_eq!(send(&mut script, 10, to(0)), [0]);
    // All of its fragments.
    assert_eq!(send(&mut script, 4000, to(1)), [1, 1, 1]);
    // The next one, that names none, is free again.
    assert_eq!(send(&mut script, 10, SendOptions::default()), [0]);
    assert!(script.path(0).primary);
}

#[test]
fn messages_to_different_addresses_do_not_share_a_packet() {
    let mut script = Script::multihomed(&config(""), 2);
    for net in [0, 1, 1, 0] {
        script.try_send(0, 10, to(net)).unwrap();
    }
    let sent = script.poll();
    let paths: Vec<u8> = sent.iter().map(|p| p.to.path.unwrap().0).collect();
    assert_eq!((paths, script.numbers(&sent)), (vec![0, 1, 0], vec![vec![0], vec![1, 2], vec![3]]));
}

#[test]
fn a_foreign_address_is_refused() {
    let mut script = Script::multihomed(&config(""), 2);
    let address: IpAddr = [10, 0, 7, 7].into();
    let options = SendOptions { destination: Some(address), ..SendOptions::default() };
    assert_eq!(script.try_send(0, 10, options), Err(SendError::NoAddress { address }));
    assert!(script.poll().is_empty());
}

/// A full window there holds up what is behind it, as messages leave in their order.
#[test]
fn it_waits_for_the_window_of_its_path() {
    let mut script = Script::multihomed(&config("[limits]\nmax_burst = 0"), 2);
    for _ in 0..6 {
        script.try_send(0, script::FULL, to(1)).unwrap();
    }
    script.try_send(0, 10, SendOptions::default()).unwrap();
    let sent = script.poll();
    assert!(sent.iter().all(|p| p.to.path == Some(PathId(1))) && sent.len() < 6, "{}", sent.len());
    let first = sent.len() as u32;
    let mut seen = sent;
    for acked in 1..=first {
        seen.extend(script.sack(acked, &[]));
    }
    assert_eq!(seen.len(), 7);
    assert_eq!(seen[6].to.path, Some(PathId(0)));
}

//= RFC 9260 6.4.1-1
#[test]
fn an_inactive_address_is_not_waited_for() {
    let mut script = Script::multihomed(&config("[limits]\npath_max_retrans = 0"), 2);
    assert_eq!(send(&mut script, 10, to(1)), [1]);
    // What is lost goes where it always does.
    let again = script.wait(secs(1));
    assert_eq!(again[0].to.path, Some(PathId(0)));
    assert_eq!(script.path(1).state, PathState::Inactive);
    script.sack(1, &[]);
    assert_eq!(send(&mut script, 10, to(1)), [0]);
}

/// Whatever is lost, however packets are filled, and with one path at a time or several.
#[test]
fn all_arrive_wherever_they_were_sent() {
    for concurrent_transfer in [false, true] {
        for name in ["tresse", "rfc9260+thin-bundle-fast-retransmit+thin-bundle-new", "tresse+bbr"]
        {
            let config =
                AssociationConfig { concurrent_transfer, no_delay: true, ..profile(name, "") };
            let (mut pair, a, z) = Pair::connected(&config, 3);
            pair.run(secs(2));
            pair.drop = Box::new(|sent| sent.number % 5 == 0);
            let mut left = 0u16;
            for round in 0..100 {
                for _ in 0..3 {
                    let named = (left % 4) as u8;
                    let options = if named == 3 { SendOptions::default() } else { to(named) };
                    let size = 1 + usize::from(left) * 37 % 4000;
                    let payload = Bytes::from(vec![left as u8; size]);
                    let now = pair.now;
                    pair.end(Side::A).send(now, a, StreamId(left % 3), payload, options).unwrap();
                    left += 1;
                }
                pair.run(ms(round));
            }
            pair.run(secs(100));
            assert_eq!(pair.recv_all(Side::Z, z).len(), 300, "{name} {concurrent_transfer}");
            for path in 0..3 {
                let there = addresses(Side::Z, 3)[path];
                let sent = pair.sent(Side::A, ChunkType::DATA);
                let sent = sent.iter().filter(|p| p.to.destination == there).count();
                assert!(sent > 30, "{sent} on {path} with {name}");
            }
        }
    }
}
