//! A link that damages packets, with packet drop reports (draft-stewart-sctp-pktdrprep) and without: how long a message takes
//! whose packet was damaged.

mod common;

use std::time::Duration;

use common::{ip, ms};
use tresse_core::{
    AssociationConfig, AssociationId, AssociationStats, EndpointConfig, Event, Extensions,
    LossCause, Profile,
};
use tresse_sim::apps::{Plan, ScheduledMessage, Sender, Sink, transfer_times};
use tresse_sim::{LinkConfig, Simulation};

const DELAY_MS: u64 = 20;
const MESSAGES: u64 = 2_000;
const EVERY_MS: u64 = 100;

/// How long each message took, and what the sender counted. One packet of fifty is damaged, both ways.
fn thin_stream(reports: [bool; 2], profile: &str) -> (Vec<Duration>, AssociationStats) {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let config = |packet_drop_reports| AssociationConfig {
        profile: Profile::named(profile).expect("built in").into(),
        no_delay: true,
        extensions: Extensions { packet_drop_reports, ..Extensions::default() },
        ..AssociationConfig::default()
    };
    let endpoint = |address, accept, reports| EndpointConfig {
        local_addresses: vec![address],
        accept,
        association: config(reports),
        ..EndpointConfig::default()
    };
    let message = |n| ScheduledMessage {
        at: ms(5_000 + n * EVERY_MS),
        stream: (n % 10) as u16,
        size: 400,
        unordered: true,
    };
    let plan = Plan::Schedule((0..MESSAGES).map(message).collect());
    let sender = Sender::new(plan).connect(vec![b], 5000, config(reports[0]));
    let mut sim = Simulation::new(7);
    let from = sim.add_host("sender", endpoint(a, false, reports[0]), Box::new(sender));
    let to = sim.add_host("sink", endpoint(b, true, reports[1]), Box::new(Sink::new()));
    let link = LinkConfig { corrupt: 0.02, ..LinkConfig::new(10_000.0, DELAY_MS as f64) };
    sim.duplex(from, to, a, b, link).expect("a valid link");
    sim.run(ms(5_000 + (MESSAGES + 100) * EVERY_MS));
    let sender: &Sender = sim.app(from);
    let connected = |event: &Event| matches!(event, Event::Connected { .. });
    let id: AssociationId = sender
        .events()
        .iter()
        .find(|record| connected(&record.event))
        .expect("it is up")
        .association;
    let times = transfer_times(sender.sent(), sim.app::<Sink>(to).deliveries());
    assert_eq!(times.len(), MESSAGES as usize);
    let times = times.iter().map(|time| time.duration().expect("all arrive")).collect();
    (times, sim.endpoint(from).stats(id).expect("it is still up"))
}

/// More than a repair within a round trip takes: there, the report back, and there again.
fn late(times: &[Duration]) -> usize {
    times.iter().filter(|time| **time > Duration::from_millis(3 * DELAY_MS + 5)).count()
}

#[test]
fn what_is_damaged_is_there_after_one_round_trip_more() {
    for profile in ["rfc9260", "tresse"] {
        let (times, stats) = thin_stream([true, true], profile);
        let repaired = stats.retransmissions_by(LossCause::PacketDropReport);
        assert!((20..80).contains(&repaired), "{profile}: {repaired}");
        // Both a packet and its repair, or the packet and its report.
        assert!(late(&times) <= 8, "{profile}: {} late", late(&times));
        let damaged = times.iter().filter(|time| **time > Duration::from_millis(DELAY_MS + 5));
        assert!(damaged.count() >= 20, "{profile}");
        assert!(stats.packet_drop_reports_received >= repaired);
    }
}

#[test]
fn without_them_it_waits_for_sacks_or_a_timer() {
    for reports in [[false, false], [true, false], [false, true]] {
        let (times, stats) = thin_stream(reports, "rfc9260");
        assert_eq!(stats.retransmissions_by(LossCause::PacketDropReport), 0);
        assert_eq!(stats.packet_drop_reports_received + stats.packet_drop_reports_sent, 0);
        assert!(late(&times) >= 20, "{} late", late(&times));
    }
}
