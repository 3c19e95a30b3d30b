//! Heartbeats and path verification (RFC 9260 §8.3, §5.4).

use super::*;
use crate::{PathSettings, PathState};
use sent::only;

/// Destination and time of the heartbeats among packets.
pub(super) fn beats(sent: &[Sent]) -> Vec<(u8, Time)> {
    let beats = sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT));
    beats.map(|p| (p.to.path.unwrap().0, p.at)).collect()
}

/// The parameters of the heartbeat in a packet.
pub(super) fn info(packet: &Sent) -> Vec<u8> {
    packet.find(ChunkType::HEARTBEAT).unwrap().value.to_vec()
}

/// An association that a peer with this many addresses opened: only the first is confirmed.
pub(super) fn unconfirmed(config: &AssociationConfig, addresses: u8) -> (Script, Vec<Sent>) {
    let mut script = Script::listening(config);
    let mut parameters = ParameterWriter::new();
    for net in 1..addresses {
        parameters.ipv4([10, 0, net, 2].into());
    }
    let sent = script.join(&script::peer_fields(), &parameters.finish());
    (script, sent)
}

//= RFC 9260 3.3.6-1 3.3.6-2 6.4-2 8.3-2 8.3-8
#[test]
fn a_heartbeat_is_returned_unchanged_to_where_it_came_from() {
    // §8.3: "that contains the Heartbeat Information TLV, together with any other received TLVs,
    // copied unchanged"; §5.4: also to an UNCONFIRMED address.
    let (mut script, _) = unconfirmed(&standard(), 2);
    let value = [0, 1, 0, 7, 1, 2, 3, 0, 0xc0, 9, 0, 5, 4];
    let chunk = [&[4, 0, 0, 17][..], &value].concat();
    let beat = script::packet(script.tag, |w| w.raw(&chunk));
    let sent = script.give_from([10, 0, 1, 2].into(), beat);
    let ack = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT_ACK)).unwrap();
    assert_eq!(ack.find(ChunkType::HEARTBEAT_ACK).unwrap().value, value);
    assert_eq!(ack.to.destination, IpAddr::from([10, 0, 1, 2]));
}

//= RFC 9260 3.3.5-1 8.3-1 8.3-13
#[test]
fn an_idle_path_is_asked_every_rto_and_interval_with_jitter() {
    // §8.3: "once per RTO of that destination address plus the protocol parameter 'HB.interval',
    // with jittering of +/- 50% of the RTO value".
    let mut script = Script::connected(&standard());
    let mut last = script.now;
    let mut gaps = Vec::new();
    for _ in 0..6500 {
        let sent = script.wait(ms(100));
        for packet in sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT)) {
            gaps.push(packet.at.since(last));
            last = packet.at;
            let info = info(packet);
            script.give(|w| w.heartbeat_ack(&info));
        }
    }
    assert!(gaps.len() > 15);
    // The test answers up to 100 ms late, when the next interval begins.
    assert!(gaps.iter().all(|g| (30_500..=31_600).contains(&g.as_millis())), "{gaps:?}");
    assert!(gaps.iter().any(|g| *g != gaps[0]));
    assert_eq!(script.path(0).errors, 0);
}

#[test]
fn data_makes_heartbeats_needless() {
    // §8.3: idle is a path over which no new chunk was sent that can measure the RTT.
    let mut script = Script::connected(&standard());
    for n in 1..50 {
        let mut sent = script.wait(secs(5));
        sent.extend(script.send(10));
        assert_eq!(beats(&sent), []);
        script.sack(n, &[]);
    }
}

#[test]
fn receiving_is_no_reason_not_to_ask() {
    // An endpoint that only acknowledges sends nothing that measures the RTT: its path is idle.
    let mut script = Script::connected(&standard());
    script.send(10);
    script.sack(1, &[]);
    let mut sent = Vec::new();
    for _ in 0..40 {
        sent.extend(script.data(10));
        sent.extend(script.wait(secs(1)));
    }
    assert_eq!(beats(&sent).len(), 1);
}

//= RFC 9260 8.3-3
#[test]
fn an_unanswered_heartbeat_counts_an_error_after_one_rto_and_waits_for_the_next_interval() {
    // §8.3: the error counter is incremented "each time a HEARTBEAT chunk is sent to that address
    // and not acknowledged within one RTO"; the next one leaves after RTO and HB.interval, "and
    // exponential backoff of the RTO if the previous HEARTBEAT chunk is unanswered".
    let mut script = Script::connected(&standard());
    let sent = script.wait(secs(33));
    let (_, first) = beats(&sent)[0];
    script.wait(first.since(script.now) + secs(1));
    script.wait(secs(2));
    assert_eq!((script.path(0).errors, script.path(0).rto), (1, secs(2)));
    let sent = script.wait(secs(60));
    let times = beats(&sent);
    let gap = times[0].1.since(first);
    assert!(gap >= secs(31) && gap <= secs(33), "HB.interval and 2 s +- 50 %: {gap:?}");
}

//= RFC 9260 8.3-7 8.3-9 8.3-12
//= RFC 7829 3.2-14
#[test]
fn an_answer_that_comes_after_the_rto_clears_the_counter_and_is_measured() {
    // §8.3: "Whenever a HEARTBEAT ACK chunk arrives", late as it may be.
    let mut script = Script::connected(&standard());
    let sent = script.wait(secs(33));
    let asked = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)).expect("a HEARTBEAT");
    let (info, at) = (info(asked), asked.at);
    script.wait(secs(3));
    assert_eq!(script.path(0).errors, 1);
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!((script.path(0).errors, script.stats().malformed_chunks), (0, 0));
    assert_eq!(script.path(0).last_rtt, Some(script.now.since(at)));
    // It counts once.
    script.now += ms(700);
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!(script.path(0).last_rtt, Some(script.now.since(at) - ms(700)));
    script.give(|w| w.heartbeat_ack(&[0, 1, 0, 4]));
    assert_eq!(script.stats().malformed_chunks, 1);
}

//= RFC 9260 8.3-7 8.3-9
#[test]
fn a_path_whose_answers_are_late_stays_active_and_is_measured() {
    let mut script = Script::multihomed(&standard(), 2);
    let mut under_way: Vec<(Time, PathId, Vec<u8>)> = Vec::new();
    for _ in 0..6000 {
        for packet in script.wait(ms(100)).iter().filter(|p| p.carries(ChunkType::HEARTBEAT)) {
            let path = packet.to.path.unwrap();
            // Path 1 answers 300 ms after RTO, whatever that is.
            let wait = if path.0 == 0 { ms(20) } else { script.path(1).rto + ms(300) };
            under_way.push((packet.at + wait, path, info(packet)));
        }
        let (due, rest): (Vec<_>, Vec<_>) =
            under_way.into_iter().partition(|(at, ..)| *at <= script.now);
        under_way = rest;
        for (_, path, info) in due {
            script.give(|w| w.heartbeat_ack(&info));
            assert_eq!(script.path(path.0).errors, 0);
        }
        assert!(script.path(1).errors <= 1);
    }
    assert_eq!(script.path(1).state, PathState::Active);
    assert!(script.path(1).srtt.is_some());
}

#[test]
fn the_answers_that_may_yet_come_are_few() {
    let mut script = Script::multihomed(&standard(), 2);
    let mut infos = Vec::new();
    for _ in 0..1000 {
        for packet in script.wait(secs(1)).iter().filter(|p| p.carries(ChunkType::HEARTBEAT)) {
            let info = info(packet);
            match packet.to.path {
                Some(PathId(0)) => drop(script.give(|w| w.heartbeat_ack(&info))),
                _ => infos.push(info),
            }
        }
    }
    assert_eq!(script.path(1).state, PathState::Inactive);
    script.give(|w| w.heartbeat_ack(&infos[0]));
    assert_eq!(script.path(1).state, PathState::Inactive, "forgotten");
    let recent = &infos[infos.len() - 2];
    script.give(|w| w.heartbeat_ack(recent));
    assert_eq!((script.path(1).state, script.path(1).errors), (PathState::Active, 0));
}

//= RFC 9260 8.1-2 8.2-2 8.3-4 8.3-5
#[test]
fn a_dead_idle_path_becomes_inactive_and_is_asked_on() {
    // §8.3: "After this, the endpoint SHOULD continue sending HEARTBEAT chunks on this destination
    // address but SHOULD stop increasing the counter"; §8.1: on a path that does not carry data
    // they do not count for the association.
    let mut script = Script::multihomed(&standard(), 2);
    let mut asked = 0;
    for _ in 0..1500 {
        for packet in script.wait(secs(1)) {
            if packet.carries(ChunkType::HEARTBEAT) && packet.to.path == Some(PathId(0)) {
                let info = info(&packet);
                script.give(|w| w.heartbeat_ack(&info));
            } else {
                asked += 1;
            }
        }
    }
    assert_eq!(script.state(), State::Established);
    assert_eq!((script.path(1).state, script.path(1).errors), (PathState::Inactive, 6));
    assert!((14..40).contains(&asked), "{asked}");
    assert_eq!(script.path(0).state, PathState::Active);
}

//= RFC 9260 8.1-1
#[test]
fn a_dead_idle_association_ends() {
    // §8.1: heartbeats on the path that is used for data count.
    let mut script = Script::connected(&standard());
    script.wait(secs(1000));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

//= RFC 9260 8.1-2 8.1-6
#[test]
fn heartbeats_without_an_answer_count_in_a_row() {
    // §8.1: the counter is of "consecutive retransmissions [...], including the number of unacknowledged
    // HEARTBEAT chunks". While data is outstanding an answer does not clear it, but of heartbeats in a row.
    let mut script = Script::connected(&standard());
    script.send(10);
    let ask = |script: &mut Script| {
        let (now, id) = (script.now, script.id);
        script.end.request_heartbeat(now, id, PathId(0)).unwrap();
        script.poll()
    };
    let timeouts = loop {
        let timeouts = script.stats().timeouts;
        ask(&mut script);
        script.wait(script.path(0).rto);
        if script.closed().is_some() {
            break timeouts;
        }
        let sent = ask(&mut script);
        let asked = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)).expect("a heartbeat");
        let info = info(asked);
        script.give(|w| w.heartbeat_ack(&info));
    };
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
    // Those before the last two errors, of which one may be a heartbeat.
    assert!(timeouts >= 9, "{timeouts}");
}

//= RFC 9260 5.4-2
#[test]
fn an_address_that_never_answers_stays_unconfirmed_and_costs_only_heartbeats() {
    // §5.4: "If during this probing the path becomes inactive, this rate is lowered to the normal
    // HEARTBEAT rate"; "the association overall error count is not incremented".
    let (mut script, _) = unconfirmed(&standard(), 2);
    let sent = script.wait(secs(600));
    let asked = beats(&sent).iter().filter(|b| b.0 == 1).count();
    assert!((10..20).contains(&asked), "{asked}");
    assert!(!script.end.roll[script.id].paths()[PathId(1)].is_confirmed());
    assert_eq!(script.path(1).state, PathState::Inactive);
    assert!(
        sent.iter().all(|p| p.to.path != Some(PathId(1)) || p.types() == [ChunkType::HEARTBEAT])
    );
}

//= RFC 9260 3.3.5-2 3.3.5-3 8.3-6 8.3-12
#[test]
fn the_right_nonce_confirms_an_address() {
    // §5.4: "a verification is made that the nonce included in the Heartbeat Info parameter is the
    // one sent to the address indicated inside the Heartbeat Info parameter".
    let (mut script, sent) = unconfirmed(&standard(), 3);
    let first =
        sent.iter().chain(&script.wait(ms(0))).find(|p| p.to.path == Some(PathId(1))).cloned();
    let good = info(&first.unwrap());
    let mut forgeries: Vec<Vec<u8>> = (4..good.len())
        .map(|i| {
            let mut bad = good.clone();
            bad[i] ^= 1;
            bad
        })
        .collect();
    forgeries.push(vec![0, 1, 0, 4]);
    forgeries.push(vec![0, 1, 0, 24, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for bad in forgeries {
        assert!(script.give(|w| w.heartbeat_ack(&bad)).is_empty());
        assert_eq!(script.path(1).state, PathState::Unconfirmed);
        assert_eq!(script.path(2).state, PathState::Unconfirmed);
    }
    script.now += ms(70);
    script.events.clear();
    script.give(|w| w.heartbeat_ack(&good));
    assert_eq!(script.path(1).state, PathState::Active);
    assert_eq!(script.path(1).last_rtt, Some(ms(70)), "§8.3: an RTT measurement");
    let told = |e: &Event| {
        matches!(e, Event::PathChanged { path: PathId(1), state: PathState::Active, .. })
    };
    assert!(script.events.iter().any(told));
    script.events.clear();
    script.now += ms(500);
    script.give(|w| w.heartbeat_ack(&good));
    assert_eq!(script.path(1).last_rtt, Some(ms(70)), "an answer counts once");
}

#[test]
fn a_heartbeat_can_be_asked_for() {
    // §8.3 D, §11.1.10.
    let mut script = Script::multihomed(&standard(), 2);
    script.end.request_heartbeat(script.now, script.id, PathId(1)).unwrap();
    let sent = script.poll();
    assert_eq!(only(&sent).to.path, Some(PathId(1)));
    assert_eq!(only(&sent).types(), [ChunkType::HEARTBEAT]);
    assert!(script.end.request_heartbeat(script.now, script.id, PathId(2)).is_err());
    let mut script = Script::connecting(&standard());
    assert!(script.end.request_heartbeat(script.now, script.id, PathId(0)).is_err());
}

#[test]
fn heartbeats_can_be_switched_off_but_unconfirmed_addresses_are_asked() {
    let config = profile("rfc9260", "[heartbeat]\nenabled = false");
    let mut script = Script::connected(&config);
    assert!(script.wait(secs(1000)).is_empty());
    let (mut script, _) = unconfirmed(&config, 2);
    let sent = script.wait(secs(10));
    assert!(beats(&sent).iter().all(|b| b.0 == 1) && !sent.is_empty());
}

/// Other settings for a path of a script.
pub(super) fn configure(script: &mut Script, path: u8, change: impl FnOnce(&mut PathSettings)) {
    let mut settings = script.path(path).settings;
    change(&mut settings);
    script.end.configure_path(script.now, script.id, PathId(path), settings).unwrap();
}

/// Answers the heartbeats that leave within `span`, and returns them.
fn answer(script: &mut Script, span: Duration) -> Vec<(u8, Time)> {
    let end = script.now + span;
    let mut all = Vec::new();
    while script.now < end {
        let sent = script.wait(ms(50));
        all.extend(beats(&sent));
        for info in sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT)).map(info) {
            script.give(|w| w.heartbeat_ack(&info));
        }
    }
    all
}

#[test]
fn another_interval_holds_at_once() {
    // §8.3 B: the period that runs ends with the new interval.
    let mut script = Script::connected(&standard());
    script.wait(secs(5));
    let change = script.now;
    configure(&mut script, 0, |s| s.heartbeat_interval = ms(500));
    let beats = answer(&mut script, secs(10));
    let first = beats[0].1.since(change).as_millis();
    assert!((1000..=2000).contains(&first), "500 ms and RTO +- 50 %: {first} ms");
    assert!((5..=10).contains(&beats.len()), "{}", beats.len());
    configure(&mut script, 0, |s| s.heartbeat_interval = secs(1000));
    assert_eq!(answer(&mut script, secs(900)), []);
    // What changes nothing does not put the next one off.
    let mut script = Script::connected(&standard());
    let mut beats = Vec::new();
    for _ in 0..40 {
        configure(&mut script, 0, |s| s.max_retrans = 7);
        beats.extend(answer(&mut script, secs(1)));
    }
    assert_eq!(beats.len(), 1);
}

#[test]
fn heartbeats_that_were_disabled_come_back_when_enabled() {
    // §8.3 C, also when the period in which they were disabled has passed.
    let mut script = Script::connected(&standard());
    configure(&mut script, 0, |s| s.heartbeats = false);
    assert_eq!(answer(&mut script, secs(100)), []);
    let change = script.now;
    configure(&mut script, 0, |s| s.heartbeats = true);
    let beats = answer(&mut script, secs(100));
    let first = beats[0].1.since(change);
    assert!(first >= ms(30_500) && first <= ms(31_500), "{first:?}");
    assert_eq!(beats.len(), 3);
    // The same for the whole association.
    let mut script = Script::connected(&standard());
    let off = profile("rfc9260", "[heartbeat]\nenabled = false");
    script.end.reconfigure(script.now, script.id, off).unwrap();
    assert_eq!(answer(&mut script, secs(100)), []);
    script.end.reconfigure(script.now, script.id, standard()).unwrap();
    assert_eq!(answer(&mut script, secs(100)).len(), 3);
}

#[test]
fn each_address_has_settings_of_its_own() {
    // §8.3: "on a specific destination transport address of a given association".
    let mut script = Script::multihomed(&standard(), 3);
    configure(&mut script, 0, |s| s.heartbeats = false);
    configure(&mut script, 1, |s| s.heartbeat_interval = secs(4));
    let beats = answer(&mut script, secs(60));
    let of = |path| beats.iter().filter(|b| b.0 == path).count();
    assert_eq!((of(0), of(2)), (0, 1));
    assert!((10..=15).contains(&of(1)), "{}", of(1));
    // A setting of the association that changes goes to all of them, the others stay.
    let all = profile("rfc9260", "[heartbeat]\ninterval_ms = 10000");
    script.end.reconfigure(script.now, script.id, all).unwrap();
    let settings = |path| script.path(path).settings;
    assert_eq!([0, 1, 2].map(|p| settings(p).heartbeat_interval), [secs(10); 3]);
    assert_eq!([0, 1, 2].map(|p| settings(p).heartbeats), [false, true, true]);
    let good = settings(0);
    let wrong = PathSettings { heartbeat_interval: secs(5_000_000), ..good };
    assert!(script.end.configure_path(script.now, script.id, PathId(0), wrong).is_err());
    assert!(script.end.configure_path(script.now, script.id, PathId(3), good).is_err());
}

#[test]
fn a_heartbeat_on_demand_is_one_alone_where_they_are_disabled() {
    // §8.3 D; the answer is waited for, and its lack is an error.
    let mut script = Script::multihomed(&standard(), 2);
    configure(&mut script, 1, |s| s.heartbeats = false);
    script.end.request_heartbeat(script.now, script.id, PathId(1)).unwrap();
    let sent = script.wait(secs(20));
    assert_eq!(beats(&sent).len(), 1);
    assert_eq!((script.path(1).errors, script.path(0).errors), (1, 0));
}

#[test]
fn settings_of_a_path_hold_through_the_setup() {
    let mut script = Script::connecting_to(&standard(), &addresses(Side::Z, 2));
    configure(&mut script, 1, |s| s.heartbeats = false);
    script.init_ack();
    script.cookie_ack();
    let beats = answer(&mut script, secs(60));
    assert_eq!(beats.iter().map(|b| b.0).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_heartbeat_for_which_there_is_no_room_is_not_unanswered() {
    let mut script = Script::connected(&standard());
    // More replies than are kept wait to be sent, and a heartbeat is asked for.
    for _ in 0..100 {
        let beat = script::packet(script.tag, |w| w.heartbeat(&[0, 1, 0, 4]));
        let datagram = Datagram {
            source: IpAddr::from([10, 0, 0, 2]),
            destination: IpAddr::from([10, 0, 0, 1]),
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: beat.into(),
        };
        script.end.handle_datagram(script.now, datagram);
    }
    script.end.request_heartbeat(script.now, script.id, PathId(0)).unwrap();
    let sent = script.wait(ms(1100));
    assert!(sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT_ACK)).count() > 0);
    assert_eq!(script.path(0).errors, 0);
}

/// §5.4 has no time limit for the nonce. RTO of a path that was never measured may be shorter than the round
/// trip: then every answer is late.
#[test]
fn an_answer_that_takes_longer_than_rto_confirms_an_address() {
    let (mut script, _) = unconfirmed(&standard(), 2);
    let sent = script.wait(ms(1));
    let first = info(sent.iter().find(|p| p.to.path == Some(PathId(1))).unwrap());
    script.wait(secs(4));
    assert!(script.path(1).errors > 0, "others were sent since");
    script.give(|w| w.heartbeat_ack(&first));
    let path = script.path(1);
    assert_eq!(path.state, PathState::Active);
    assert!(path.srtt >= Some(secs(4)), "measured at that: {:?}", path.srtt);
}

/// In SHUTDOWN-SENT the peer may go on sending data from an address that is not confirmed yet, when the others
/// have failed: nothing may be sent there before (§5.4), no SACK either.
#[test]
fn addresses_are_asked_until_they_are_confirmed_while_the_peer_has_data() {
    let (mut script, _) = unconfirmed(&standard(), 2);
    let sent = script.shutdown();
    assert!(sent.iter().any(|p| p.carries(ChunkType::SHUTDOWN)));
    let sent = script.wait(secs(2));
    let asked = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)).expect("it is asked");
    assert_eq!(asked.to.path, Some(PathId(1)));
    let info = info(asked);
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!(script.path(1).state, PathState::Active);
    let after = script.wait(secs(100));
    assert!(!after.iter().any(|p| p.carries(ChunkType::HEARTBEAT)), "§8.3: and no longer");
}

/// In SHUTDOWN-ACK-SENT the peer repeats its SHUTDOWN from there, and no SHUTDOWN ACK could go back.
#[test]
fn addresses_are_asked_until_they_are_confirmed_while_the_peer_waits_for_shutdown_ack() {
    let (mut script, _) = unconfirmed(&standard(), 2);
    let (last, other) = (script.first.wrapping_sub(1), addresses(Side::Z, 2)[1]);
    let shutdown = script::packet(script.tag, |w| w.shutdown(last));
    script.give_from(other, shutdown.clone());
    assert_eq!(script.state(), State::ShutdownAckSent);
    let sent = script.wait(secs(2));
    let asked = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)).expect("it is asked");
    assert_eq!(asked.to.destination, other);
    let info = info(asked);
    script.give_from(other, script::packet(script.tag, |w| w.heartbeat_ack(&info)));
    let sent = script.give_from(other, shutdown);
    assert!(sent.iter().all(|p| p.carries(ChunkType::SHUTDOWN_ACK) && p.to.destination == other));
    assert_eq!(sent.len(), 1);
}
