//! Two ends with interleaving, over wires that lose and reorder, with all that else there is.

use std::collections::BTreeMap;

use super::*;
use crate::config::ReconfigurationPolicy;
use crate::reliability::Reliability;
use crate::rng::Rng;

/// Everything that an application can choose.
fn everything() -> Extensions {
    Extensions { interleaving: true, ..Extensions::default() }
}

/// A message of a length with contents of its own.
fn text(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + seed * 31 + i / 251) as u8).collect()
}

/// Sends messages of several streams over a pair, and returns what arrived, by stream.
fn exchange(config: &AssociationConfig, seed: u64, addresses_each: u8, loss: u64) -> Pair {
    let (mut pair, a, z) = Pair::connected(config, addresses_each);
    let mut rng = Rng::from_seed([seed as u8; 32]);
    let mut more = Rng::from_seed([seed as u8 + 100; 32]);
    pair.drop = Box::new(move |_| rng.next_u64() % 1000 < loss);
    pair.detour = Box::new(move |_| ms(more.next_u64() % 12));
    let lens = [60_000, 10, 3000, 100, 20_000, 1500, 1, 7000];
    let mut sent: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 4];
    for round in 0..40 {
        let (stream, len) = ((round % 4) as u16, lens[round % lens.len()]);
        let payload = text(round, len);
        sent[usize::from(stream)].push(payload.clone());
        let now = pair.now;
        let options = SendOptions { unordered: stream == 3, ..SendOptions::default() };
        pair.end(Side::A).send(now, a, StreamId(stream), payload.into(), options).unwrap();
        pair.run(ms(20));
    }
    let mut got: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 4];
    for _ in 0..600 {
        pair.run(ms(500));
        for message in pair.recv_all(Side::Z, z) {
            got[usize::from(message.stream.0)].push(message.payload.to_vec());
        }
        if got.iter().map(Vec::len).sum::<usize>() == 40 {
            break;
        }
    }
    sent[3].sort();
    got[3].sort();
    for stream in 0..4 {
        assert!(got[stream] == sent[stream], "seed {seed}, stream {stream}");
    }
    assert!(pair.sent(Side::A, ChunkType::DATA).is_empty());
    assert!(!pair.sent(Side::A, ChunkType::I_DATA).is_empty());
    pair
}

#[test]
fn all_arrives_through_loss_with_every_profile() {
    let profiles = [
        "tresse",
        "rfc9260",
        "tresse+stream-round-robin",
        "tresse+stream-priority",
        "tresse+stream-weighted-fair-queueing",
        "tresse+stream-round-robin-per-packet",
        "rfc9260+stream-fair-capacity+nr-sack",
        "rfc9260+eifel-timestamp+stream-round-robin",
        "rfc9260+eifel-retransmit-bit+stream-round-robin",
        "rfc9260+rack-tlp+stream-round-robin",
        "lksctp-2.6.15+stream-round-robin",
    ];
    for (seed, name) in (0..).zip(profiles) {
        let config = AssociationConfig { extensions: everything(), ..profile(name, "") };
        exchange(&config, seed, 1, 50);
    }
}

#[test]
fn all_arrives_over_several_paths_at_once() {
    for seed in 0..4 {
        let config = AssociationConfig {
            extensions: everything(),
            concurrent_transfer: true,
            ..profile("tresse+stream-round-robin", "")
        };
        exchange(&config, seed, 2, 30);
    }
}

#[test]
fn a_small_receive_buffer_is_enough() {
    for seed in 0..4 {
        let config = AssociationConfig {
            extensions: everything(),
            receive_buffer: 8192,
            ..profile("tresse+stream-round-robin", "")
        };
        exchange(&config, seed, 1, 30);
    }
}

/// It is read whole, with small ones in between that are read a little later than they come.
#[test]
fn a_message_of_many_receive_buffers_arrives_beside_small_ones() {
    for lost in [0, 50, 20] {
        let config = AssociationConfig {
            extensions: everything(),
            receive_buffer: 64 << 10,
            send_buffer: 8 << 20,
            no_delay: true,
            ..profile("tresse", "")
        };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let mut count = 0;
        pair.drop = Box::new(move |sent| {
            count += u64::from(sent.from == Side::A);
            lost > 0 && sent.from == Side::A && count % lost == 0
        });
        let large = text(1, 1_000_000);
        pair.send(Side::A, a, 1, large.clone());
        let began = pair.now;
        let mut small = 0;
        let came = loop {
            pair.send(Side::A, a, 2, vec![2; 100]);
            pair.run(ms(5));
            let read = pair.recv_all(Side::Z, z);
            small += read.iter().filter(|message| message.stream == StreamId(2)).count();
            if let Some(message) = read.iter().find(|message| message.stream == StreamId(1)) {
                assert!(message.payload == large);
                break pair.now.since(began);
            }
            assert!(pair.now < began + secs(30), "one of {lost} lost: it never comes");
        };
        // A round trip takes 20 ms.
        assert!(came < secs(8), "one of {lost} lost: {came:?}");
        assert!(small > 20, "{small}");
        let stats = pair.end(Side::Z).stats(z).unwrap();
        // But for a probe of the closed window.
        assert!(stats.data_chunks_dropped <= 1, "{}", stats.data_chunks_dropped);
        assert_eq!(pair.end(Side::A).stats(a).unwrap().reneged, 0);
    }
}

/// Messages that are given up beside others that are not: what arrives is whole, in order, and nothing waits for ever.
#[test]
fn what_is_given_up_tears_nothing_else() {
    for seed in 0..6 {
        let mut config = AssociationConfig {
            extensions: everything(),
            ..profile("tresse+stream-round-robin", "")
        };
        config.no_delay = true;
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let mut rng = Rng::from_seed([seed; 32]);
        pair.drop = Box::new(move |_| rng.next_u64() % 100 < 10);
        let mut got: BTreeMap<(u16, bool), Vec<usize>> = BTreeMap::new();
        let mut read = |pair: &mut Pair| {
            for message in pair.recv_all(Side::Z, z) {
                let number =
                    usize::from(message.payload[0]) + 256 * usize::from(message.payload[1]);
                let mut expected = text(number, message.payload.len());
                (expected[0], expected[1]) = (number as u8, (number / 256) as u8);
                assert!(message.payload[..] == expected[..], "message {number} is whole");
                got.entry((message.stream.0, message.unordered)).or_default().push(number);
            }
        };
        let mut reliable = 0;
        for number in 0..400usize {
            let (stream, unordered) = ((number % 3) as u16, number % 5 == 0);
            let mut payload = text(number, 10 + (number * 137) % 9000);
            (payload[0], payload[1]) = (number as u8, (number / 256) as u8);
            let reliability = match number % 4 {
                0 => Reliability::Full,
                1 => Reliability::Timed(ms(60)),
                2 => Reliability::Retransmissions((number / 4 % 3) as u32),
                _ => Reliability::Priority(number as u32),
            };
            let options =
                SendOptions { unordered, reliability: Some(reliability), ..SendOptions::default() };
            let now = pair.now;
            let sent = pair.end(Side::A).send(now, a, StreamId(stream), payload.into(), options);
            reliable += usize::from(sent.is_ok() && reliability == Reliability::Full);
            pair.run(ms(5));
            read(&mut pair);
        }
        for _ in 0..200 {
            pair.run(ms(500));
            read(&mut pair);
        }
        let in_order = got.iter().filter(|((_, unordered), _)| !unordered);
        assert!(in_order.clone().all(|(_, numbers)| numbers.is_sorted()), "seed {seed}");
        let numbers = got.values().flatten();
        assert_eq!(numbers.clone().filter(|n| *n % 4 == 0).count(), reliable, "seed {seed}");
        assert!(numbers.count() < 400, "some were given up");
        assert!(!pair.sent(Side::A, ChunkType::I_FORWARD_TSN).is_empty());
        assert_eq!(pair.end(Side::A).send_space(a), config.send_buffer, "seed {seed}");
        assert_eq!(pair.end(Side::Z).stats(z).unwrap().receive_buffered, 0, "seed {seed}");
    }
}

//= RFC 8260 2-2 2.3.2-1
#[test]
fn streams_begin_again_with_mid_0() {
    let mut config =
        AssociationConfig { extensions: everything(), ..profile("tresse+stream-round-robin", "") };
    config.reconfiguration =
        ReconfigurationPolicy { reset_association: true, ..ReconfigurationPolicy::default() };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    let say = |pair: &mut Pair, unordered: bool| {
        let now = pair.now;
        for stream in [0, 1] {
            let options = SendOptions { unordered, ..SendOptions::default() };
            let payload = Bytes::from(vec![1; 3000]);
            pair.end(Side::A).send(now, a, StreamId(stream), payload, options).unwrap();
        }
    };
    let mids = |pair: &mut Pair| {
        let log = std::mem::take(&mut pair.log);
        let sent = log.iter().filter(|packet| packet.from == Side::A);
        let firsts = sent.flat_map(|packet| {
            let all = i_data(packet).into_iter().filter(|d| d.flags.beginning);
            all.map(|d| (d.stream.0, d.flags.unordered, d.mid.0)).collect::<Vec<_>>()
        });
        let mut firsts: Vec<_> = firsts.collect();
        firsts.sort_unstable();
        firsts
    };
    pair.log.clear();
    for unordered in [false, true] {
        say(&mut pair, unordered);
        say(&mut pair, unordered);
    }
    pair.run(secs(2));
    assert_eq!(mids(&mut pair).len(), 8);
    let now = pair.now;
    pair.end(Side::A)
        .reset_streams(now, a, crate::event::ResetDirection::Outgoing, &[StreamId(0)])
        .unwrap();
    say(&mut pair, false);
    say(&mut pair, true);
    pair.run(secs(2));
    assert_eq!(mids(&mut pair), [(0, false, 0), (0, true, 0), (1, false, 2), (1, true, 2)]);
    let now = pair.now;
    pair.end(Side::A).reset_association(now, a).unwrap();
    pair.run(secs(2));
    say(&mut pair, false);
    say(&mut pair, true);
    pair.run(secs(2));
    assert_eq!(mids(&mut pair), [(0, false, 0), (0, true, 0), (1, false, 0), (1, true, 0)]);
    let received = pair.recv_all(Side::Z, z);
    assert_eq!(received.len(), 16);
    assert!(received.iter().all(|message| message.payload.len() == 3000));
}

/// Each stream has a message of the largest size under way, and the receive buffer has room for just these.
#[test]
fn the_largest_messages_of_all_streams_come_through_side_by_side() {
    const LARGEST: usize = 64 << 10;
    for loss in [0, 30] {
        let config = AssociationConfig {
            max_message_size: LARGEST,
            send_buffer: 8 << 20,
            receive_buffer: 10 * LARGEST as u32,
            ..config("round-robin")
        };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let mut rng = Rng::from_seed([1; 32]);
        pair.drop = Box::new(move |_| rng.next_u64() % 1000 < loss);
        for stream in 0..40u16 {
            pair.send(Side::A, a, stream % 10, text(stream.into(), LARGEST));
        }
        let mut read = 0;
        for _ in 0..600 {
            pair.run(ms(500));
            read += pair.recv_all(Side::Z, z).len();
        }
        assert_eq!((read, pair.closed(Side::Z)), (40, None), "{loss}");
    }
}
