//! Moving data.

use super::*;

fn message(i: usize, len: usize) -> Vec<u8> {
    (0..len).map(|j| (i * 31 + j) as u8).collect()
}

fn transfer(
    config: &AssociationConfig,
    count: usize,
    len: usize,
    drop: Filter,
) -> (Pair, AssociationId, usize) {
    let (mut pair, a, z) = Pair::connected(config, 1);
    pair.drop = drop;
    let mut next = 0;
    let mut got = 0;
    for _ in 0..3000 {
        let now = pair.now;
        while next < count {
            let payload = Bytes::from(message(next, len));
            let sent = pair.end(Side::A).send(now, a, StreamId(0), payload, SendOptions::default());
            if sent.is_err() {
                break;
            }
            next += 1;
        }
        pair.run(ms(100));
        for m in pair.recv_all(Side::Z, z) {
            assert_eq!(m.payload, message(got, len), "message {got}");
            got += 1;
        }
        if got == count {
            break;
        }
    }
    assert_eq!(got, count);
    (pair, a, got)
}

#[test]
fn messages_of_all_sizes_arrive_in_order() {
    let config = standard();
    for len in [1, 3, 1452, 1453, 10_000, 100_000] {
        transfer(&config, 40, len, Box::new(|_| false));
    }
}

#[test]
fn a_lossless_transfer_retransmits_nothing() {
    let config = standard();
    let (mut pair, a, _) = transfer(&config, 2000, 1000, Box::new(|_| false));
    let stats = pair.end(Side::A).stats(a).unwrap();
    assert_eq!(stats.retransmissions(), 0);
    assert_eq!(stats.duplicates_reported, 0);
}

#[test]
fn periodic_loss_is_recovered_by_every_profile() {
    for name in [
        "rfc9260",
        "rfc2960",
        "lksctp-2.6.15",
        "early-retransmit-bytes",
        "early-retransmit-packets",
        "lksctp-2.6.15+early-retransmit-packets",
        "limited-transmit",
    ] {
        let config = profile(name, "");
        let (mut pair, a, _) = transfer(&config, 500, 1400, Box::new(|p| p.number % 17 == 3));
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert!(stats.retransmissions() > 0, "{name}");
    }
}
