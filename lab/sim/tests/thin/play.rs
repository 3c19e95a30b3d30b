//! Plays a world with one profile.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tresse_core::{AssociationConfig, AssociationStats, EndpointConfig, Extensions, Profile, Time};
use tresse_sim::apps::{Delivery, Plan, Router, Sender, Sink, transfer_times};
use tresse_sim::{HostId, LinkConfig, LinkId, Route, Simulation};

use crate::world::{Second, World};

const PORT: u16 = 5000;
/// After the last message, for the last recovery.
const DRAIN: Duration = Duration::from_secs(300);
/// No world needs this many events.
const EVENT_LIMIT: u64 = 50_000_000;

/// What one profile makes of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// Milliseconds from the moment when a message was due to its delivery, in the order of these moments; one that
    /// never came counts until the end.
    pub(crate) times: Vec<f64>,
    /// Thin streams whose association ended.
    pub(crate) ended: u64,
    /// DATA chunks of thin streams that reached the receiver again.
    pub(crate) needless: u64,
    /// What the thin streams sent, and why again.
    pub(crate) sent: AssociationStats,
    /// SACKs that the network lost.
    pub(crate) lost_sacks: u64,
    /// Bytes that thin streams and transfers put on the shared link.
    pub(crate) offered: u64,
    /// Bytes that the transfers beside them brought.
    pub(crate) bulk: u64,
    pub(crate) packets: u64,
}

impl Played {
    pub(crate) fn add(&mut self, other: &Played) {
        self.times.extend_from_slice(&other.times);
        self.ended += other.ended;
        self.needless += other.needless;
        self.sent.add(&other.sent);
        self.lost_sacks += other.lost_sacks;
        self.offered += other.offered;
        self.bulk += other.bulk;
        self.packets += other.packets;
    }
}

/// The hosts of a world: every sender behind its own access link, the shared link, two receivers.
struct Net {
    simulation: Simulation,
    near: HostId,
    far: HostId,
}

fn address(group: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, group, 0, host))
}

fn config(profile: &Arc<Profile>) -> AssociationConfig {
    AssociationConfig {
        profile: Arc::clone(profile),
        no_delay: true,
        // What an application on a narrow link would want: it never blocks.
        send_buffer: 4 << 20,
        receive_buffer: 1 << 20,
        extensions: Extensions::NONE,
        ..AssociationConfig::default()
    }
}

fn endpoint(local: Vec<IpAddr>, accept: bool, profile: &Arc<Profile>) -> EndpointConfig {
    EndpointConfig {
        local_port: PORT,
        local_addresses: local,
        accept,
        association: config(profile),
        ..EndpointConfig::default()
    }
}

impl Net {
    fn new(seed: u64) -> Net {
        let mut simulation = Simulation::new(seed);
        simulation.set_event_limit(EVENT_LIMIT);
        let near = simulation.add_node("near", Box::new(Router::new()));
        let far = simulation.add_node("far", Box::new(Router::new()));
        Net { simulation, near, far }
    }

    fn link(&mut self, from: HostId, to: HostId, route: Route, config: &LinkConfig) -> LinkId {
        self.simulation.add_link(from, to, route, config.clone()).expect("a valid link")
    }

    fn sender(
        &mut self,
        at: &[IpAddr],
        to: &[IpAddr],
        plan: Plan,
        ppid: u32,
        who: &Who<'_>,
    ) -> HostId {
        let sender = Sender::new(plan).connect(to.to_vec(), PORT, config(who.profile)).ppid(ppid);
        // How long a handshake takes beside 200 others is not what is measured.
        let sender = sender.from_connection();
        let app = Box::new(if who.logs { sender } else { sender.without_log() });
        let config = endpoint(at.to_vec(), false, who.profile);
        self.simulation.add_host("sender", config, app)
    }

    fn receiver(&mut self, at: &[IpAddr], profile: &Arc<Profile>, logs: bool) -> HostId {
        let app = Box::new(if logs { Sink::new() } else { Sink::new().without_log() });
        self.simulation.add_host("receiver", endpoint(at.to_vec(), true, profile), app)
    }

    /// Packets between a `host` at `at` and a receiver at `to` pass the routers by this link, both ways.
    fn attach(&mut self, host: HostId, at: IpAddr, to: Route, router: HostId, access: &LinkConfig) {
        self.link(host, router, to.default_source(at), access);
        self.link(router, host, Route::to(at), access);
    }
}

/// Whose traffic it is.
struct Who<'a> {
    profile: &'a Arc<Profile>,
    logs: bool,
}

/// Plays replication number `replication` of `world`: the same messages at the same times, and the same
/// random numbers of the network, for every profile. What is beside the thin streams is RFC 9260's in any
/// case.
pub(crate) fn play(world: &World, profile: &Arc<Profile>, replication: u64) -> Played {
    let rfc9260 = Arc::new(Profile::named("rfc9260").expect("built in"));
    let mut net = Net::new(world.seed.wrapping_mul(1_000_003) ^ (replication << 40));
    let (near, far) = (net.near, net.far);
    let (thin_sink, bulk_sink) = (address(250, 1), address(251, 1));
    // A second address is for the only stream.
    let (second, second_sink) = (address(252, 1), address(253, 1));
    let with = |first, second| world.second.as_ref().map_or(vec![first], |_| vec![first, second]);
    let sinks = with(thin_sink, second_sink);
    let thin = net.receiver(&sinks, profile, true);
    let bulk = net.receiver(&[bulk_sink], &rfc9260, false);
    let mut senders = Vec::new();
    for (i, stream) in world.streams.iter().enumerate() {
        let at = address((i / 200) as u8, (i % 200 + 1) as u8);
        let plan = stream.plan(world.seconds, replication);
        let who = Who { profile, logs: true };
        let host = net.sender(&with(at, second), &sinks, plan, i as u32, &who);
        let access = LinkConfig { delay_ms: stream.access_ms, ..LinkConfig::default() };
        // The first route that fits is taken.
        match &world.second {
            Some(Second::OwnLinks(links)) => {
                let there = Route::to(second_sink).default_source(second);
                net.link(host, thin, there, &links[0]);
                net.link(thin, host, Route::to(second).default_source(second_sink), &links[1]);
            }
            Some(Second::SameLinks) => {
                let perfect = LinkConfig::default();
                net.attach(host, second, Route::to(second_sink), near, &access);
                net.attach(thin, second_sink, Route::to(second), far, &perfect);
            }
            None => {}
        }
        net.attach(host, at, Route::any(), near, &access);
        senders.push(host);
    }
    for (i, transfer) in world.transfers.iter().enumerate() {
        let at = address(100, (i + 1) as u8);
        let who = Who { profile: &rfc9260, logs: false };
        let host = net.sender(&[at], &[bulk_sink], transfer.plan(), 0, &who);
        let access = LinkConfig { delay_ms: 1.0, ..LinkConfig::default() };
        net.attach(host, at, Route::any(), near, &access);
    }
    for (host, at) in [(thin, thin_sink), (bulk, bulk_sink)] {
        net.attach(host, at, Route::any(), far, &LinkConfig::default());
    }
    let there = net.link(near, far, Route::any(), &world.forward);
    let back = net.link(far, near, Route::any(), &world.backward);

    let end = Time::ZERO + Duration::from_secs_f64(world.seconds);
    let sim = &mut net.simulation;
    sim.run(end);
    let offered = sim.link_stats(there).offered_bytes;
    let bulk_bytes = sim.app::<Sink>(bulk).stats().bytes;
    let all =
        |sim: &Simulation| senders.iter().map(|s| sim.app::<Sender>(*s).messages_sent()).sum();
    let mut until = end;
    // The tail of the last messages; most worlds need hardly any.
    while sim.app::<Sink>(thin).stats().messages < all(sim) && until < end + DRAIN {
        until += Duration::from_secs(5);
        sim.run(until);
    }
    let mut played = Played { offered, bulk: bulk_bytes, ..Played::default() };
    let sink = sim.app::<Sink>(thin);
    assert!(sink.stats().flawless(), "{world}: {:?}", sink.stats());
    let mut of_stream: Vec<Vec<Delivery>> = vec![Vec::new(); senders.len()];
    let mut times = Vec::new();
    for delivery in sink.deliveries() {
        of_stream[delivery.ppid as usize].push(*delivery);
    }
    for (sender, deliveries) in senders.iter().zip(&of_stream) {
        played.ended += u64::from(sim.app::<Sender>(*sender).closed().is_some());
        for time in transfer_times(sim.app::<Sender>(*sender).sent(), deliveries) {
            let taken = time.duration().unwrap_or(until.since(time.sent));
            times.push((time.sent, taken.as_secs_f64() * 1e3));
        }
    }
    times.sort_by_key(|(due, _)| *due);
    played.times = times.into_iter().map(|(_, taken)| taken).collect();
    senders.iter().for_each(|s| played.sent.add(&sim.endpoint(*s).totals()));
    played.needless = sim.endpoint(thin).totals().duplicate_chunks_received;
    let back = sim.link_stats(back);
    played.lost_sacks = back.dropped_random + back.dropped_queue;
    played.packets = sim.stats().packets_sent;
    played
}
