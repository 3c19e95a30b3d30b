//! Both hosts over links: what is sent when, for each variant.

use std::net::IpAddr;
use std::time::Duration;

use tresse_core::Time;
use tresse_netem::LinkConfig;

use super::options::MSS;
use super::rtt::Rtt;
use super::sender::{Acknowledgement, Sender};
use super::{Options, Sink, Source, Traffic};
use crate::route::Route;
use crate::simulation::Simulation;

const PLAIN: Options =
    Options { sack: false, dsack: false, fack: false, bic: false, no_delay: false };
const SACK: Options = Options { sack: true, ..PLAIN };
const FACK: Options = Options { fack: true, ..SACK };

/// A sender with a window of ten full segments, all of which were sent at tick 1000.
fn ten(options: Options) -> Sender {
    let mut rtt = Rtt::default();
    rtt.measured(25, 1, 1);
    let mut sender = Sender::new(options, rtt);
    sender.congestion.cwnd = 10;
    sender.congestion.ssthresh = 5;
    sender.write(1000, 100 * MSS);
    assert_eq!(numbers(&mut sender), (1..=10).collect::<Vec<_>>());
    sender
}

/// Which segments were sent, counted from 1.
fn numbers(sender: &mut Sender) -> Vec<u64> {
    sender.take().iter().map(|out| out.begin / MSS + 1).collect()
}

/// The first byte of a segment.
fn at(segment: u64) -> u64 {
    1 + (segment - 1) * MSS
}

/// All before segment `number` arrived, and those in `blocks`: which are sent then.
fn ack(sender: &mut Sender, now: u64, number: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
    let blocks: Vec<(u64, u64)> =
        blocks.iter().map(|(first, last)| (at(*first), at(last + 1))).collect();
    let ack = Acknowledgement { number: at(number), blocks: &blocks, echo: now - 25 };
    sender.acknowledged(now, ack);
    numbers(sender)
}

#[test]
fn newreno_sends_one_segment_again_each_round_trip() {
    let mut sender = ten(PLAIN);
    // Segments 1 and 3 are lost: RFC 3042 sends new data with the first two duplicates.
    assert_eq!(ack(&mut sender, 1025, 1, &[]), [11]);
    assert_eq!(ack(&mut sender, 1025, 1, &[]), [12]);
    assert_eq!(ack(&mut sender, 1025, 1, &[]), [1]);
    for _ in 0..5 {
        assert!(!ack(&mut sender, 1025, 1, &[]).contains(&3), "it is not known");
    }
    // RFC 3782 §3, step 5: a partial ACK.
    assert_eq!(ack(&mut sender, 1050, 3, &[]).first(), Some(&3));
}

#[test]
fn sack_takes_one_for_lost_at_an_ack_and_fack_all_holes_at_once() {
    let blocks = [(2, 2), (4, 4), (6, 8)];
    let mut sender = ten(FACK);
    // Segments 1, 3 and 5: three holes below segment 8, of which the fifth counts.
    assert_eq!(ack(&mut sender, 1025, 1, &blocks).first(), Some(&1));
    assert!(sender.queue.iter().filter(|sent| sent.lost).count() == 3);
    let mut sender = ten(SACK);
    assert_eq!(ack(&mut sender, 1025, 1, &blocks).first(), Some(&1));
    assert!(sender.queue.iter().filter(|sent| sent.lost).count() == 1);
}

#[test]
fn a_lost_retransmission_is_found_by_sacks_but_not_without_them() {
    // Segment 1 is lost twice; what was sent after it arrives.
    let again = |options: Options| {
        let mut sender = ten(options);
        let sacks = |last: u64| if options.sack { vec![(2, last)] } else { vec![] };
        let mut sent = Vec::new();
        for last in 2..=10 {
            sent.extend(ack(&mut sender, 1025, 1, &sacks(last)));
        }
        let newest = sent.iter().copied().max().unwrap_or(0);
        for last in 11..=newest {
            sent.extend(ack(&mut sender, 1050, 1, &sacks(last)));
        }
        let by_acks = sent.iter().filter(|number| **number == 1).count();
        let timer = sender.timer().unwrap();
        sender.tick(timer);
        (by_acks, numbers(&mut sender))
    };
    assert_eq!(again(PLAIN), (1, vec![1]));
    assert_eq!(again(FACK).0, 2);
}

#[test]
fn in_loss_one_segment_is_sent_again_each_round_trip() {
    let mut sender = ten(PLAIN);
    assert_eq!(sender.timer(), Some(1075));
    sender.tick(1074);
    assert_eq!(numbers(&mut sender), []);
    sender.tick(1075);
    assert_eq!((numbers(&mut sender), sender.timer()), (vec![1], Some(1075 + 150)));
    for number in 2..=5 {
        let now = 1075 + 25 * (number - 1);
        assert_eq!(ack(&mut sender, now, number, &[]), [number]);
    }
}

/// Both hosts over a link with this delay each way and loss: the source, and what arrived.
fn play(options: Options, traffic: Traffic, (delay_ms, loss): (f64, f64), s: u64) -> (Source, u64) {
    let mut simulation = Simulation::new(7);
    let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let ahead = Duration::from_micros(1300);
    let source = Source::new(options, traffic, a, b, ahead);
    let source = simulation.add_node("source", Box::new(source));
    let sink = simulation.add_node("sink", Box::new(Sink::new(options, b, a, ahead)));
    let link = LinkConfig { loss, ..LinkConfig::new(100_000.0, delay_ms) };
    for (from, to, address) in [(source, sink, b), (sink, source, a)] {
        simulation.add_link(from, to, Route::to(address), link.clone()).expect("a link");
    }
    simulation.run(Time::from_millis(1000 * s));
    let sink = simulation.app::<Sink>(sink);
    assert_eq!(sink.damaged(), 0);
    let delivered = sink.delivered();
    let source = std::mem::replace(
        simulation.app_mut::<Source>(source),
        Source::new(options, traffic, a, b, ahead),
    );
    (source, delivered)
}

#[test]
fn thin_streams_wait_for_the_timer_only() {
    let every = Duration::from_millis(256);
    let traffic = Traffic::Periodic { bytes: 100, every, messages: 2000 };
    for (delay_ms, least) in [(0.1, 204.0), (104.0, 412.0)] {
        for options in [PLAIN, SACK, FACK] {
            let (source, delivered) = play(options, traffic, (delay_ms, 0.05), 600);
            assert_eq!(delivered, 200_000);
            let [min, _, average, _] = source.delays().summary().unwrap();
            assert!((least - 8.0..least + 12.0).contains(&min), "{delay_ms} {options:?}: {min}");
            // A tenth is lost again, after twice the time.
            assert!((1.05..1.35).contains(&(average / least)), "{delay_ms} {options:?}: {average}");
        }
    }
}

#[test]
fn thick_streams_are_mostly_sent_again_after_a_round_trip() {
    for options in [PLAIN, SACK, FACK] {
        let (source, delivered) = play(options, Traffic::Bulk, (52.0, 0.05), 120);
        assert!(delivered > 500_000, "{delivered}");
        let [min, _, average, _] = source.delays().summary().unwrap();
        assert!((104.0..110.0).contains(&min) && (150.0..400.0).contains(&average));
    }
}

#[test]
fn nothing_is_sent_again_without_a_loss() {
    let (source, delivered) = play(FACK, Traffic::Bulk, (5.0, 0.0), 5);
    assert!(delivered > 10_000_000, "{delivered}");
    assert_eq!(source.delays().count(), 0);
}
