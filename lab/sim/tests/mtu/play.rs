//! Plays a world, with a search for the path MTU or with packets that are never too large.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tresse_core::wire::ChunkType;
use tresse_core::{
    AssociationConfig, Authentication, EndpointConfig, Extensions, MtuDiscovery, PathCounters,
    Profile, Reliability, Time, TraceEvent,
};
use tresse_sim::apps::{Plan, Sender, TraceRecord, transfer_times};
use tresse_sim::{Change, LinkRules, Route, Simulation};

use crate::world::World;

const PORT: u16 = 5000;
/// After the last message.
const DRAIN: Duration = Duration::from_secs(300);
/// No world needs this many events.
const EVENT_LIMIT: u64 = 50_000_000;

/// What becomes of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// Messages that were sent, and those that arrived.
    pub(crate) sent: usize,
    pub(crate) arrived: usize,
    /// Bytes that had arrived when the last message was sent.
    pub(crate) bytes: u64,
    /// Milliseconds from when a message was due to its delivery: the mean and the most.
    pub(crate) mean: f64,
    pub(crate) most: f64,
    /// The association ended.
    pub(crate) ended: bool,
    /// Expirations of T3-rtx, probes and black holes.
    pub(crate) timeouts: u64,
    pub(crate) probes: u64,
    pub(crate) black_holes: u64,
    /// Changes of the path MTU, states of the search and expirations.
    pub(crate) steps: Vec<TraceRecord>,
}

/// How packets come to their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// They are probed.
    Search,
    /// Somebody has told what the narrowest way will take.
    Perfect,
}

fn address(world: &World, host: u8, way: usize) -> IpAddr {
    if world.ipv6 {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, way as u16, 0, 0, 0, u16::from(host)))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, way as u8, 0, host))
    }
}

fn config(world: &World, knowledge: Knowledge) -> AssociationConfig {
    let searching = MtuDiscovery::Probes { max: world.max, raise_after: world.raise_after };
    let (mtu, mtu_discovery) = match knowledge {
        Knowledge::Search => (1500, searching),
        Knowledge::Perfect => (world.known(), MtuDiscovery::Off),
    };
    AssociationConfig {
        profile: Arc::new(Profile::named(world.profile).expect("built in")),
        mtu,
        mtu_discovery,
        no_delay: true,
        trace: true,
        send_buffer: 1 << 20,
        receive_buffer: 1 << 20,
        concurrent_transfer: world.concurrent,
        encapsulation: world.udp.then_some(9899),
        extensions: Extensions { partial_reliability: world.lifetime.is_some(), ..world.offered },
        authentication: Arc::new(Authentication {
            chunks: vec![ChunkType::DATA, ChunkType::I_DATA, ChunkType::SACK],
            ..Authentication::default()
        }),
        reliability: world.lifetime.map_or_else(Reliability::default, Reliability::Timed),
        ..AssociationConfig::default()
    }
}

fn is_step(event: &TraceEvent) -> bool {
    use TraceEvent::{Mtu, MtuSearch, TimerExpired};
    matches!(event, Mtu { .. } | MtuSearch { .. } | TimerExpired { .. })
}

pub(crate) fn play(world: &World, knowledge: Knowledge) -> Played {
    let config = config(world, knowledge);
    let mut sim = Simulation::new(world.seed);
    sim.set_event_limit(EVENT_LIMIT);
    let all =
        |host: u8| (0..world.ways.len()).map(|way| address(world, host, way)).collect::<Vec<_>>();
    let endpoint = |host: u8| EndpointConfig {
        local_port: PORT,
        local_addresses: all(host),
        accept: true,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let sender = Sender::new(world.plan.clone()).connect(all(2), PORT, config.clone());
    let near = sim.add_host("near", endpoint(1), Box::new(sender));
    let answers = world.answers.clone().unwrap_or(Plan::Schedule(Vec::new()));
    let far = sim.add_host("far", endpoint(2), Box::new(Sender::new(answers)));
    for (number, way) in world.ways.iter().enumerate() {
        let [one, other] = [1, 2].map(|host| address(world, host, number));
        let there = Route::to(other).default_source(one);
        let back = Route::to(one).default_source(other);
        let there = sim.add_link(near, far, there, way.there.clone()).expect("a valid link");
        let back = sim.add_link(far, near, back, way.back.clone()).expect("a valid link");
        for (at, size) in &way.sizes {
            for link in [there, back] {
                let reports = way.reports;
                let rules = LinkRules { mtu: Some(*size), reports, ..LinkRules::default() };
                sim.at(*at, Change::Rules(link, rules)).expect("a link");
            }
        }
    }
    let end = Time::from_millis(1000 * world.seconds);
    sim.run(end);
    let ends = [near, far];
    let programs = |sim: &Simulation, check: &dyn Fn(&Sender, &Sender) -> bool| {
        let [near, far] = ends.map(|host| sim.app::<Sender>(host));
        [(near, far), (far, near)].iter().all(|(sender, receiver)| check(sender, receiver))
    };
    let bytes = ends.iter().map(|host| sim.app::<Sender>(*host).sink().stats().bytes).sum();
    let is_over = |sender: &Sender, receiver: &Sender| {
        receiver.sink().stats().messages >= sender.messages_sent() || sender.closed().is_some()
    };
    let mut until = end;
    while until < end + DRAIN && !programs(&sim, &is_over) {
        until += Duration::from_secs(5);
        sim.run(until);
    }
    let is_flawless = |_: &Sender, receiver: &Sender| receiver.sink().stats().flawless();
    assert!(programs(&sim, &is_flawless), "{world}");
    let [near, far] = ends.map(|host| sim.app::<Sender>(host));
    let mut times = transfer_times(near.sent(), far.sink().deliveries());
    times.extend(transfer_times(far.sent(), near.sink().deliveries()));
    let taken: Vec<f64> =
        times.iter().filter_map(|time| Some(time.duration()?.as_secs_f64() * 1e3)).collect();
    let paths = ends.iter().flat_map(|host| {
        let endpoint = sim.endpoint(*host);
        endpoint.associations().first().map_or_else(Vec::new, |id| endpoint.path_stats(*id))
    });
    let paths: Vec<_> = paths.collect();
    let counted = |count: fn(&PathCounters) -> u64| paths.iter().map(|p| count(&p.counters)).sum();
    Played {
        sent: times.len(),
        arrived: taken.len(),
        bytes,
        mean: taken.iter().sum::<f64>() / taken.len().max(1) as f64,
        most: taken.iter().copied().fold(0.0, f64::max),
        ended: near.closed().is_some() || far.closed().is_some(),
        timeouts: ends.iter().map(|host| sim.endpoint(*host).totals().timeouts).sum(),
        probes: counted(|c| c.mtu_probes_sent),
        black_holes: counted(|c| c.mtu_black_holes),
        steps: near.trace().iter().filter(|record| is_step(&record.event)).cloned().collect(),
    }
}
