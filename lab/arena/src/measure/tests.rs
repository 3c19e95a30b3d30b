use std::sync::Arc;

use tresse_core::{AssociationConfig, EndpointConfig, Profile, Time};
use tresse_sim::apps::{Plan, Sender, Sink};
use tresse_sim::{CaptureBuffer, LinkConfig, Route, Simulation};
use tresse_trace::Proof;

use super::*;
use crate::scenario::Service;

const MS: u64 = 1_000_000;

fn paced(messages: u64) -> Traffic {
    Traffic {
        message_bytes: 100,
        interval_ms: Some(100),
        burst: 1,
        messages: Some(messages),
        seconds: 5.0,
        associations: 1,
        service: None,
        large: None,
        ecn: false,
    }
}

/// Messages 0, 1, 2, ... with the times at which they were sent and delivered, in milliseconds; seen
/// until 2 s.
fn sent(times: &[(u64, u64)]) -> Sent {
    let message = |(n, (sent, done)): (usize, &(u64, u64))| MessageTransfer {
        sent_at: Some(sent * MS),
        done_at: done * MS,
        until: Until::Delivery,
        number: n as i64,
        stream: 0,
        sequence: n as u32,
        unordered: false,
        ppid: 0x5452_0000 + n as u32,
        bytes: 100,
    };
    let messages: Vec<MessageTransfer> = times.iter().enumerate().map(message).collect();
    Sent {
        chunks: messages.len() as u64,
        messages,
        again: Vec::new(),
        losses: Vec::new(),
        until: 2000 * MS,
    }
}

/// Message `number` is sent again for the first time after this many milliseconds.
fn again(number: i64, delay_ms: f64, spurious: Option<Proof>) -> Retransmission {
    Retransmission {
        at: 0,
        number,
        bytes: 100,
        path: 0,
        count: 1,
        class: None,
        delay_ms,
        since_last_ms: delay_ms,
        spurious,
    }
}

/// The first packet of message `number` is lost.
fn loss(number: i64) -> Loss {
    Loss { sent_at: 0, number, count: 0, path: 0 }
}

/// What one association gives, on a schedule.
fn measured(sent: &Sent, traffic: &Traffic) -> Measures {
    let mut measures = Measures::default();
    let Single::Disturbance(lasted) = add(&mut measures, sent, traffic) else {
        panic!("a schedule")
    };
    Measures { disturbance_ms: Some(lasted), ..measures }
}

#[test]
fn a_lost_message_holds_up_those_behind_it() {
    // Message 1 is lost at 1100 and repaired at 1400 by what is sent again at 1390.
    let mut sent = sent(&[(1000, 1010), (1100, 1400), (1200, 1400), (1300, 1400)]);
    sent.again.push(again(1, 290.0, None));
    sent.losses.push(loss(1));
    let m = measured(&sent, &paced(4));
    assert_eq!(m.transfer_ms, [10.0, 300.0, 200.0, 100.0]);
    assert_eq!((&m.repair_ms, &m.retransmission_ms), (&vec![300.0], &vec![290.0]));
    assert_eq!((m.retransmissions, m.spurious, m.delivered), (1, 0, 4));
    assert_eq!(m.longest_silence_ms, 390.0);
    assert!(!m.unfinished);
    // Messages 1 and 2 took more than 120 ms: from the hand-over of the former, 1100, to 1400.
    assert_eq!(m.disturbance_ms, Some(300.0));
}

#[test]
fn what_was_not_lost_is_spurious_and_repairs_nothing() {
    let mut sent = sent(&[(0, 10), (100, 170)]);
    sent.again.push(again(1, 50.0, Some(Proof::Arrival)));
    // Lost is what was sent again, not what was sent first.
    sent.losses.push(Loss { count: 1, ..loss(1) });
    let m = measured(&sent, &paced(2));
    assert_eq!((m.retransmissions, m.spurious), (1, 1));
    assert!(m.repair_ms.is_empty());
}

#[test]
fn a_message_that_waited_in_the_sender_was_handed_over_on_time() {
    let m = measured(&sent(&[(0, 10), (600, 610), (600, 610), (600, 610)]), &paced(4));
    assert_eq!(m.transfer_ms, [10.0, 510.0, 410.0, 310.0]);
}

#[test]
fn a_failure_lasts_until_messages_are_on_time_again() {
    // Messages 2 to 5 are overdue: more than 120 ms. 5, handed over at 500, comes at 900.
    let times = [
        (0, 10),
        (100, 110),
        (200, 860),
        (300, 870),
        (400, 880),
        (500, 900),
        (600, 900),
        (700, 900),
        (800, 900),
    ];
    let m = measured(&sent(&times[..6]), &paced(6));
    assert_eq!(m.disturbance_ms, Some(900.0 - 200.0));
    let m = measured(&sent(&times), &paced(9));
    assert_eq!(m.disturbance_ms, Some(900.0 - 200.0));
    // Nothing comes any more: it lasts to the end of the capture.
    let m = measured(&sent(&times[..2]), &paced(9));
    assert!(m.unfinished);
    assert_eq!(m.delivered, 2);
    assert_eq!(m.disturbance_ms, Some(2000.0 - 200.0));
    // Not even the first message comes.
    let m = measured(&sent(&[]), &paced(9));
    assert!(m.unfinished && m.transfer_ms.is_empty());
    assert_eq!(m.disturbance_ms, Some(5000.0));
    // Two that are overdue alone count for themselves, not for the time between them.
    let alone = [(0, 130), (100, 130), (200, 210), (300, 310), (400, 530), (500, 530)];
    assert_eq!(measured(&sent(&alone), &paced(6)).disturbance_ms, Some(130.0 + 130.0));
}

#[test]
fn the_newest_message_ages_until_a_newer_one_comes() {
    let service = Some(Service { lifetime_ms: Some(50), retransmissions: None });
    let traffic = Traffic { service, ..paced(5) };
    // Message 1 is given up; those behind it come when it has been passed over.
    let mut some = sent(&[(0, 10), (100, 110), (200, 305), (300, 310), (400, 410)]);
    some.messages.remove(1);
    let m = measured(&some, &traffic);
    // From 10 to 400, when the last one is handed over.
    let ages: Vec<f32> = (1..=30u16).chain(1..=10).map(|n| f32::from(n) * 10.0).collect();
    assert_eq!(m.age_ms, ages);
    assert_eq!((m.delivered, m.unfinished, m.disturbance_ms), (4, false, Some(0.0)));
    // One that never comes up is as old as all of it.
    let m = measured(&sent(&[]), &traffic);
    assert_eq!((m.age_ms.len(), m.age_ms[0], m.value(Metric::Age)), (500, 5000.0, Some(5000.0)));
}

#[test]
fn what_is_behind_a_large_message_is_not_judged() {
    let large = Some(Large { bytes: 10_000, streams: 2 });
    let traffic = Traffic { large, ..paced(4) };
    let mut all = sent(&[(0, 900), (100, 110), (200, 900), (300, 315)]);
    for (n, message) in (0..).zip(&mut all.messages) {
        message.stream = n % 2;
        // It takes seven TSNs.
        message.number += if n == 0 { 0 } else { 6 };
    }
    let m = measured(&all, &traffic);
    assert_eq!((m.transfer_ms, m.delivered), (vec![10.0, 15.0], 4));
    assert_eq!(m.disturbance_ms, Some(0.0));
}

#[test]
fn goodput_counts_what_is_delivered_in_time() {
    let traffic = Traffic { interval_ms: None, messages: None, seconds: 1.0, ..paced(1) };
    let times: Vec<(u64, u64)> = (0..200).map(|n| (n * 10, n * 10 + 5)).collect();
    let mut m = Measures::default();
    // 100 messages of 100 bytes in a second.
    assert_eq!(add(&mut m, &sent(&times), &traffic), Single::Goodput(80.0));
    assert_eq!((m.delivered, m.unfinished), (100, false));
    assert!(m.timeline_kbps.iter().all(|kbps| (kbps - 80.0).abs() < 0.01), "{m:?}");
    // What is sent last is never delivered.
    let mut m = Measures::default();
    assert_eq!(add(&mut m, &sent(&times[..50]), &traffic), Single::Goodput(40.0));
    assert_eq!(m.longest_silence_ms, 505.0);
    assert!(m.transfer_ms.is_empty() && m.disturbance_ms.is_none());
}

#[test]
fn both_sides_of_a_capture_are_joined() {
    // Captured at one place: what is sent arrives at the same moment.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/captures/linux.pcap.gz");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("other-end.pcap.gz");
    std::fs::copy(file, &copy).unwrap();
    let (files, others) = ([PathBuf::from(file)], [copy]);
    let traffic = Traffic { interval_ms: None, messages: None, ..paced(1) };
    let m = measure(&files, &others, &[9899], &traffic).unwrap();
    assert!(m.associations >= 1 && m.delivered > 0, "{m:?}");
    assert!(m.goodput_kbps.is_some_and(|kbps| kbps > 0.0));
    assert!(measure(&["/nowhere".into()], &files, &[], &traffic).is_err());
}

/// A thin stream of 100 messages, of which exactly these DATA and SACK packets are lost.
fn simulated(drop_data: &[u64], drop_acks: &[u64]) -> Measures {
    let traffic = Traffic { interval_ms: Some(250), seconds: 40.0, ..paced(100) };
    simulated_of(&traffic, drop_data, drop_acks)
}

/// The same as one association of `traffic`; others never come up.
fn simulated_of(traffic: &Traffic, drop_data: &[u64], drop_acks: &[u64]) -> Measures {
    let [a, b] = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().unwrap());
    let profile = Arc::new(Profile::named("rfc9260").unwrap());
    let association = AssociationConfig { profile, no_delay: true, ..AssociationConfig::default() };
    let host = |address, accept| EndpointConfig {
        local_addresses: vec![address],
        accept,
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let message = |n: u64| (Time::from_millis(250 * n), 0, 100, false).into();
    let sender = Sender::new(Plan::Schedule((0..100).map(message).collect()))
        .connect(vec![b], 5000, association.clone())
        .from_connection();
    let mut sim = Simulation::new(1);
    let client = sim.add_host("client", host(a, false), Box::new(sender));
    let server = sim.add_host("server", host(b, true), Box::new(Sink::new()));
    let steady = LinkConfig { delay_ms: 100.0, ..LinkConfig::default() };
    let there = LinkConfig { drop_data: drop_data.to_vec(), ..steady.clone() };
    let back = LinkConfig { drop_acks: drop_acks.to_vec(), ..steady };
    let route = |to, from| Route::to(to).default_source(from);
    sim.add_link(client, server, route(b, a), there).unwrap();
    sim.add_link(server, client, route(a, b), back).unwrap();
    let captures = [client, server].map(|host| {
        let capture = CaptureBuffer::new();
        sim.capture(sim.view_of(host), capture.clone()).unwrap();
        capture
    });
    sim.run(Time::from_millis(40_000));
    let folder = tempfile::tempdir().unwrap();
    let files = ["left", "right"].map(|name| folder.path().join(name));
    for (file, capture) in files.iter().zip(&captures) {
        std::fs::write(file, capture.contents()).unwrap();
    }
    let [left, right] = files;
    measure(&[left], &[right], &[], traffic).unwrap()
}

#[test]
fn an_association_that_never_came_up_was_to_send_its_messages_all_the_same() {
    let all = Traffic { interval_ms: Some(250), seconds: 40.0, ..paced(100) };
    let m = simulated_of(&all, &[], &[]);
    assert_eq!((m.associations, m.delivered, m.offered, m.unfinished), (1, 100, 100, false));
    assert_eq!(m.disturbance_ms, Some(0.0));
    // Two of three cannot be seen: nothing of theirs is delivered, for all of the time.
    let m = simulated_of(&Traffic { associations: 3, ..all.clone() }, &[], &[]);
    assert_eq!((m.associations, m.delivered, m.offered, m.unfinished), (1, 100, 300, true));
    assert_eq!(m.disturbance_ms, Some(40_000.0 * 2.0 / 3.0));
    assert_eq!((m.longest_silence_ms, m.transfer_ms.len()), (40_000.0, 100));
    // Without a schedule they have no goodput, which counts in the mean.
    let bulk = Traffic { interval_ms: None, messages: None, ..all };
    let [one, two] = [1, 2].map(|associations| {
        let traffic = Traffic { associations, ..bulk.clone() };
        simulated_of(&traffic, &[], &[]).goodput_kbps.unwrap()
    });
    assert!((one - 2.0 * two).abs() < 1e-9, "{one}, {two}");
}

#[test]
fn what_was_never_lost_counts_as_no_loss() {
    // Six SACKs are lost in a row: what is sent again then was there.
    let m = simulated(&[], &(20..=25).collect::<Vec<_>>());
    assert_eq!((m.delivered, m.repair_ms.len()), (100, 0));
    assert!(m.spurious > 0 && m.spurious == m.retransmissions, "{m:?}");
    // Four are lost, far from each other, and nothing is sent in vain.
    let m = simulated(&[10, 30, 50, 70], &[]);
    assert_eq!((m.delivered, m.repair_ms.len()), (100, 4));
    assert_eq!((m.retransmissions, m.spurious), (4, 0));
    // Both.
    let m = simulated(&[10, 30], &(40..=45).collect::<Vec<_>>());
    assert_eq!((m.delivered, m.repair_ms.len()), (100, 2));
    assert_eq!(m.spurious, m.retransmissions - 2);
}
