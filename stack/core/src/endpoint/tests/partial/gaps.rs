//! Several messages are lost within a round trip: what the peer has between them is passed over, too.

use super::*;

/// Nine messages, on two streams in turn, of which the first and the fourth are lost and all others arrive. `third` is the policy of the
/// third one.
fn two_lost(third: SendOptions) -> (Script, Vec<Sent>) {
    let (mut script, mut sent) = partly_lost(third);
    for end in 7..=9 {
        sent.extend(script.sack(0, &[(2, 3), (5, end)]));
    }
    (script, sent)
}

/// The same, before three chunks behind the fourth one have arrived.
fn partly_lost(third: SendOptions) -> (Script, Vec<Sent>) {
    let mut script = agreed(&AssociationConfig { bundling: false, ..unlimited() });
    grow(&mut script, 10);
    for n in 0..9 {
        let options = if n == 2 { third } else { ONCE };
        script.send_on(n % 2, 100, options);
    }
    let mut sent = script.sack(0, &[(2, 2)]);
    for end in 5..=6 {
        sent.extend(script.sack(0, &[(2, 3), (5, end)]));
    }
    (script, sent)
}

//= RFC 3758 3.5-6 3.5-7 3.5-9 3.5-10
#[test]
fn both_are_told_at_once() {
    let (mut script, sent) = two_lost(ONCE);
    // The first alone is known to be lost sooner.
    let (first, second) = ((0, vec![(0, 0)]), (3, vec![(0, 1), (1, 1)]));
    assert_eq!(types(&sent), [vec![ChunkType::FORWARD_TSN], vec![ChunkType::FORWARD_TSN; 2]]);
    // What lies between them is listed with the second one, if the peer should have dropped it.
    assert_eq!(script.forwards(&sent), [first.clone(), first, second]);
    assert_eq!(script.stats().forward_tsns_sent, 3);
    assert_eq!(script.given_up(), [(100, true); 2], "nothing of what lies between");
    // A peer that looks at one chunk of a packet hears of the other one in the next packet.
    script.sack(3, &[(2, 6)]);
    let sent = script.wait(secs(2));
    assert_eq!(script.forwards(&sent)[0], (3, vec![(1, 1)]));
    assert_eq!(script.sack(9, &[]).len(), 0);
    assert_eq!((script.stats().send_buffered, script.path(0).flight), (0, 0));
}

#[test]
fn what_would_be_sent_again_stands_between_them() {
    for third in [policy(Reliability::Full), policy(Reliability::Retransmissions(1)), timed(10_000)]
    {
        let (script, sent) = two_lost(third);
        assert_eq!(script.given_up().len(), 2);
        assert_eq!(script.forwards(&sent), [(0, vec![(0, 0)])], "{third:?}");
    }
}

/// Chunks 1 and 2 are dropped by the peer (RFC 9260 §6.2), before or after FORWARD TSN has passed over them.
#[test]
fn what_the_peer_drops_is_given_up() {
    for told_before in [false, true] {
        let (mut script, begun) = partly_lost(ONCE);
        let mut sent = if told_before { script.sack(0, &[(2, 3), (5, 7)]) } else { begun };
        assert_eq!(script.forwards(&sent).last().is_some_and(|f| f.0 == 3), told_before);
        sent.extend(script.sack(0, &[(5, 9)]));
        sent.extend(script.wait(ms(500)));
        assert_eq!(script.given_up(), [(100, true); 4], "two are lost, two dropped");
        assert_eq!(script.forwards(&sent).pop(), Some((3, vec![(0, 1), (1, 1)])), "{told_before}");
        script.sack(9, &[]);
        assert_eq!((script.stats().send_buffered, script.path(0).flight), (0, 0));
    }
}

/// What fits a packet no longer is told of again, as far as it does.
#[test]
fn packets_may_become_smaller() {
    let mut script = agreed(&AssociationConfig { bundling: false, ..unlimited() });
    grow(&mut script, 200);
    for n in 0..400 {
        script.send_on(n % 2, 50, ONCE);
    }
    // Every second one arrives.
    let gaps: Vec<(u16, u16)> = (1..=200).map(|n| (2 * n, 2 * n)).collect();
    let mut sent = Vec::new();
    for most in [198, 199, 200] {
        sent.extend(script.sack(0, &gaps[..most]));
        sent.extend(script.wait(ms(250)));
    }
    let longest = |sent: &[Sent]| {
        let of = |p: &&Sent| p.carries(ChunkType::FORWARD_TSN);
        sent.iter().filter(of).map(|p| p.bytes.len()).max()
    };
    assert!(longest(&sent).unwrap() > 1000, "{:?}", longest(&sent));
    let now = script.now;
    let settings = crate::PathSettings { mtu: 600, ..script.path(0).settings };
    script.end.configure_path(now, script.id, PathId(0), settings).unwrap();
    let sent = [script.sack(0, &gaps), script.wait(secs(3))].concat();
    let forwards = longest(&sent).unwrap();
    assert!((300..=580).contains(&forwards), "{forwards}");
}

/// Every second state of a thin stream is lost: what has arrived is delivered all the same, and soon.
#[test]
fn a_receiver_delivers_what_lies_between_them() {
    for interleaving in [false, true] {
        let extensions = Extensions { partial_reliability: true, interleaving, ..Extensions::NONE };
        let config = AssociationConfig { extensions, no_delay: true, ..profile("rfc9260", "") };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        pair.delay = ms(75);
        pair.run(secs(1));
        let kind = if interleaving { ChunkType::I_DATA } else { ChunkType::DATA };
        let mut count = 0;
        pair.drop = Box::new(move |p| {
            count += usize::from(p.carries(kind));
            p.carries(kind) && count % 2 == 0
        });
        let mut read = Vec::new();
        for n in 0..60u8 {
            let now = pair.now;
            pair.end(Side::A).send(now, a, StreamId(0), vec![n; 100].into(), ONCE).unwrap();
            pair.run(ms(20));
            for message in pair.recv_all(Side::Z, z) {
                read.push((message.payload[0], u64::from(n)));
            }
        }
        pair.run(secs(5));
        let late = pair.recv_all(Side::Z, z).into_iter().map(|m| (m.payload[0], 60));
        read.extend(late);
        let numbers: Vec<u8> = read.iter().map(|(n, _)| *n).collect();
        assert_eq!(numbers, (0..60).step_by(2).collect::<Vec<u8>>());
        // An age of two round trips and the time until three chunks behind it have arrived, of which every second one is lost.
        let oldest = read[5..].iter().map(|(n, at)| (at - u64::from(*n)) * 20).max().unwrap();
        assert!(oldest <= 75 * 3 + 7 * 20, "{oldest} ms: {read:?}");
    }
}
