//! The hosts of a world, the programs on them, and the links between them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tresse_core::{AssociationConfig, EndpointConfig, Extensions, Profile, Time};
use tresse_netem::{LinkChange, LinkConfig, mix};
use tresse_sim::apps::{Bulk, Plan, Router, Sender, Sink};
use tresse_sim::{Change, HostId, LinkId, Route, Simulation};

use super::cast::{Cast, Played};
use crate::source::{Source, ThinStream, thin_number};
use crate::world::{Competitor, FULL, Path, World, bits_per_s};

const PORT: u16 = 5000;
/// More events than any world needs.
const EVENT_LIMIT: u64 = 100_000_000;
/// The association must be up by then: its links are without loss until it is.
const CONNECTED_BY: Time = Time::from_millis(60_000);
/// Second byte of the addresses of the first competitor; the others follow.
const COMPETITOR: usize = 9;

fn address(path: usize, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path as u8, 0, host))
}

/// The same link without anything that loses or delays at random, or changes.
fn calm(link: &LinkConfig) -> LinkConfig {
    LinkConfig {
        bandwidth_kbps: link.bandwidth_kbps,
        delay_ms: link.delay_ms,
        queue_packets: link.queue_packets,
        red: link.red,
        codel: link.codel,
        ..LinkConfig::default()
    }
}

/// The same link with its changes counted from `origin`.
fn since(origin: Time, link: &LinkConfig) -> Box<LinkConfig> {
    let late = origin.as_nanos() as f64 / 1e6;
    let change = |change: &LinkChange| LinkChange { at_ms: change.at_ms + late, ..*change };
    Box::new(LinkConfig { changes: link.changes.iter().map(change).collect(), ..link.clone() })
}

/// Two hosts that talk to each other.
#[derive(Clone, Copy)]
struct Pair {
    sender: HostId,
    receiver: HostId,
}

/// A path as it was built.
#[derive(Clone, Copy)]
struct Built {
    /// The link that a sender's packets leave by.
    there: LinkId,
    back: LinkId,
    /// The link that they arrive by; the same if there is no router.
    arriving: LinkId,
}

/// How far things were at some moment.
pub(super) struct Carried {
    /// Bytes that arrived over each path.
    paths: Vec<u64>,
    /// User data that each competitor delivered.
    others: Vec<u64>,
}

/// All of a world that is played.
pub(super) struct Network {
    pub(super) simulation: Simulation,
    ours: Pair,
    competitors: Vec<Pair>,
    paths: Vec<Built>,
    /// The routers, and both directions between them.
    shared: Option<(Pair, LinkId, LinkId)>,
    /// The paths that go through it.
    through: Vec<usize>,
}

impl Network {
    pub(super) fn build(world: &World, cast: &Cast) -> Result<Network, String> {
        let mut simulation = Simulation::new(mix(world.seed ^ mix(cast.replication)));
        simulation.set_event_limit(EVENT_LIMIT);
        let ours = add_pair(&mut simulation, world, cast);
        let mut network = Network {
            simulation,
            ours,
            competitors: Vec::new(),
            paths: Vec::new(),
            shared: None,
            through: Vec::new(),
        };
        network.connect(world, cast).map_err(|e| format!("a link: {e}"))?;
        Ok(network)
    }

    /// Links all hosts.
    fn connect(&mut self, world: &World, cast: &Cast) -> Result<(), String> {
        let routers = world.shared.as_ref().map(|_| Pair {
            sender: self.simulation.add_node("near", Box::new(Router::new())),
            receiver: self.simulation.add_node("far", Box::new(Router::new())),
        });
        if let Some(shared) = &world.shared {
            self.through.clone_from(&shared.paths);
        }
        for (number, path) in world.paths.iter().enumerate() {
            let through = routers.filter(|_| self.through.contains(&number));
            let calm = Path { forward: calm(&path.forward), backward: calm(&path.backward) };
            let built = self.path(self.ours, number, &calm, through)?;
            self.paths.push(built);
        }
        let Some((shared, routers)) = world.shared.as_ref().zip(routers) else { return Ok(()) };
        let known = || Arc::new(Profile::named(shared.profile).expect("a built-in profile"));
        let others = cast.others.clone().unwrap_or_else(known);
        for (number, competitor) in shared.competitors.iter().enumerate() {
            let number = COMPETITOR + number;
            let pair = add_competitor(&mut self.simulation, world, &others, competitor, number);
            let link = |delay_ms| LinkConfig { delay_ms, jitter_ms: 0.1, ..LinkConfig::default() };
            let (forward, backward) = (link(competitor.there_ms), link(competitor.back_ms));
            self.path(pair, number, &Path { forward, backward }, Some(routers))?;
            self.competitors.push(pair);
        }
        // What goes to a host takes the routes that are there by now; the rest is for the other router.
        let there = self.link(routers.sender, routers.receiver, Route::any(), &shared.forward)?;
        let back = self.link(routers.receiver, routers.sender, Route::any(), &shared.backward)?;
        self.shared = Some((routers, there, back));
        Ok(())
    }

    fn link(
        &mut self,
        from: HostId,
        to: HostId,
        route: Route,
        config: &LinkConfig,
    ) -> Result<LinkId, String> {
        self.simulation.add_link(from, to, route, config.clone()).map_err(|e| e.to_string())
    }

    /// Links two hosts, directly or by way of the routers.
    fn path(
        &mut self,
        pair: Pair,
        number: usize,
        path: &Path,
        through: Option<Pair>,
    ) -> Result<Built, String> {
        let (a, b) = (address(number, 1), address(number, 2));
        let (to_b, to_a) = (Route::to(b).default_source(a), Route::to(a).default_source(b));
        let Some(Pair { sender: near, receiver: far }) = through else {
            let there = self.link(pair.sender, pair.receiver, to_b, &path.forward)?;
            let back = self.link(pair.receiver, pair.sender, to_a, &path.backward)?;
            return Ok(Built { there, back, arriving: there });
        };
        let there = self.link(pair.sender, near, to_b, &path.forward)?;
        let back = self.link(pair.receiver, far, to_a, &path.backward)?;
        let perfect = LinkConfig::default();
        let arriving = self.link(far, pair.receiver, Route::to(b), &perfect)?;
        self.link(near, pair.sender, Route::to(a), &perfect)?;
        Ok(Built { there, back, arriving })
    }

    /// Runs until the association is up, and then has the links do what the world says.
    pub(super) fn begin(&mut self, world: &World) -> Result<Time, String> {
        let mut until = Time::ZERO;
        let origin = loop {
            if let Some(at) = self.source().program.connected_at() {
                break at;
            }
            if until >= CONNECTED_BY {
                return Err("the association was not up within a minute".into());
            }
            until += Duration::from_millis(1);
            self.simulation.run(until);
        };
        for (built, path) in self.paths.clone().iter().zip(&world.paths) {
            for (id, link) in [(built.there, &path.forward), (built.back, &path.backward)] {
                let change = Change::Link(id, since(origin, link));
                self.simulation.apply(change).map_err(|e| format!("{id:?}: {e}"))?;
            }
        }
        Ok(origin)
    }

    fn source(&self) -> &Source {
        self.simulation.app(self.ours.sender)
    }

    fn sink(&self, pair: Pair) -> &Sink {
        self.simulation.app(pair.receiver)
    }

    pub(super) fn carried(&self) -> Carried {
        let arrived = |built: &Built| self.simulation.link_stats(built.arriving).delivered_bytes;
        Carried {
            paths: self.paths.iter().map(arrived).collect(),
            others: self.competitors.iter().map(|pair| self.sink(*pair).stats().bytes).collect(),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(error) = self.source().program.send_error() {
            return Err(format!("a message was refused: {error}"));
        }
        let stats = self.sink(self.ours).stats();
        if !stats.flawless() {
            return Err(format!("messages damaged, repeated or out of order: {stats:?}"));
        }
        Ok(())
    }

    pub(super) fn measure(
        &self,
        world: &World,
        (from, to): (Time, Time),
        mark: &Carried,
    ) -> Played {
        let seconds = to.since(from).as_secs_f64();
        let (sink, source) = (self.sink(self.ours), self.source());
        let within = |at: Time| at >= from && at < to;
        let counted: Vec<_> = sink.deliveries().iter().filter(|d| within(d.at)).collect();
        let bytes: usize = counted.iter().map(|d| d.size).sum();
        let goodput_mbps = bytes as f64 * 8.0 / seconds / 1e6;
        let since_sent =
            |d: &&tresse_sim::apps::Delivery| Some(milliseconds(source.sent_at(d.tsn)?, d.at));
        let bulk = counted.iter().filter(|d| thin_number(d.index).is_none());
        let delays: Vec<f64> = bulk.copied().filter_map(|d| since_sent(&d)).collect();
        let moments = [from].into_iter().chain(counted.iter().map(|d| d.at)).chain([to]);
        let moments: Vec<Time> = moments.collect();
        let pauses = moments.windows(2).map(|pair| milliseconds(pair[0], pair[1]));

        // Those that were due in time; one that has not come counts until the end.
        let due = source.thin_due();
        let mut thin: Vec<f64> = due.iter().map(|due| milliseconds(*due, to)).collect();
        let mut thin_sent = Vec::new();
        for delivery in sink.deliveries() {
            let Some(number) = thin_number(delivery.index) else { continue };
            thin[number] = milliseconds(due[number], delivery.at);
            if within(due[number]) {
                thin_sent.extend(since_sent(&delivery));
            }
        }
        let thin = due.iter().zip(thin).filter(|(due, _)| within(**due)).map(|(_, ms)| ms);

        let now = self.carried();
        let arrived: Vec<f64> =
            now.paths.iter().zip(&mark.paths).map(|(now, then)| (now - then) as f64).collect();
        let all = arrived.iter().sum::<f64>().max(1.0);
        let shared: f64 = self.through.iter().map(|path| arrived[*path]).sum();
        let others = now.others.iter().zip(&mark.others);
        let totals = self.simulation.endpoint(self.ours.sender).totals();
        let received = self.simulation.endpoint(self.ours.receiver).totals();
        Played {
            goodput_mbps,
            bottleneck_mbps: goodput_mbps * shared / all,
            others_mbps: others.map(|(n, t)| (n - t) as f64 * 8.0 / seconds / 1e6).collect(),
            delay_ms: [0.5, 0.99].map(|share| percentile(delays.clone(), share)),
            pause_ms: pauses.fold(0.0, f64::max),
            round_trip_ms: self.longest_round_trip_ms(world),
            thin_ms: [percentile(thin.collect(), 0.99), percentile(thin_sent, 0.99)],
            shares: arrived.iter().map(|bytes| 100.0 * bytes / all).collect(),
            retransmissions: totals.retransmissions(),
            duplicates: received.duplicate_chunks_received,
            timeouts: totals.timeouts,
            ended: source.program.closed().is_some(),
            packets: self.simulation.stats().packets_sent,
        }
    }

    /// Delays, jitter, and the longest queue that was seen at the lowest bandwidth that there was.
    fn longest_round_trip_ms(&self, world: &World) -> f64 {
        let one_way = |id: LinkId, link: &LinkConfig| {
            let lowest = link.changes.iter().filter_map(|change| change.bandwidth_kbps);
            let lowest = lowest.map(|kbps| kbps * 1e3).fold(bits_per_s(link), f64::min);
            let queue = self.simulation.link_stats(id).max_queue_bytes as f64 * 8e3;
            link.delay_ms + link.jitter_ms + if lowest > 0.0 { queue / lowest } else { 0.0 }
        };
        let paths =
            self.paths.iter().zip(&world.paths).enumerate().map(|(number, (built, path))| {
                let own = one_way(built.there, &path.forward) + one_way(built.back, &path.backward);
                let shared = world.shared.as_ref().zip(self.shared);
                let shared = shared.filter(|_| self.through.contains(&number));
                own + shared.map_or(0.0, |(shared, (_, there, back))| {
                    one_way(there, &shared.forward) + one_way(back, &shared.backward)
                })
            });
        paths.fold(0.0, f64::max)
    }
}

/// The hosts under test with their programs.
fn add_pair(simulation: &mut Simulation, world: &World, cast: &Cast) -> Pair {
    let ours = |path: &usize| cast.alone.is_none_or(|only| only == *path);
    let addresses = |host: u8| -> Vec<IpAddr> {
        (0..world.paths.len()).filter(ours).map(|path| address(path, host)).collect()
    };
    let association = AssociationConfig {
        concurrent_transfer: cast.alone.is_none(),
        ..association(&cast.profile, world.buffer)
    };
    let endpoint = |host: u8| EndpointConfig {
        local_port: PORT,
        local_addresses: addresses(host),
        accept: host == 2,
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let plan = if cast.bulk { Plan::Bulk(world.bulk) } else { Plan::Schedule(Vec::new()) };
    let program = Sender::new(plan)
        .connect(addresses(2), PORT, association.clone())
        .from_connection()
        .without_log();
    let thin = world.thin.map(|thin| {
        let seed = mix(world.seed.wrapping_add(cast.replication << 32));
        ThinStream::new(thin, world.bulk.streams, world.bulk.unordered, seed)
    });
    let source = Box::new(Source::new(program, thin));
    let sender = simulation.add_host("sender", endpoint(1), source);
    let receiver = simulation.add_host("receiver", endpoint(2), Box::new(Sink::new()));
    Pair { sender, receiver }
}

/// Another pair, whose flow begins in its own time.
fn add_competitor(
    simulation: &mut Simulation,
    world: &World,
    profile: &Arc<Profile>,
    competitor: &Competitor,
    number: usize,
) -> Pair {
    let association = association(profile, world.buffer);
    let endpoint = |host: u8| EndpointConfig {
        local_port: PORT,
        local_addresses: vec![address(number, host)],
        accept: host == 2,
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let from = Time::ZERO + Duration::from_secs_f64(competitor.from_s);
    let program = Sender::new(Plan::Bulk(Bulk { from, ..Bulk::of_size(FULL) }))
        .connect(vec![address(number, 2)], PORT, association.clone())
        .without_log();
    let sender = simulation.add_host("competitor", endpoint(1), Box::new(program));
    let sink = Box::new(Sink::new().without_log());
    let receiver = simulation.add_host("competitor-receiver", endpoint(2), sink);
    Pair { sender, receiver }
}

fn association(profile: &Arc<Profile>, buffer: usize) -> AssociationConfig {
    AssociationConfig {
        profile: Arc::clone(profile),
        send_buffer: buffer,
        receive_buffer: u32::try_from(buffer).unwrap_or(u32::MAX),
        no_delay: true,
        extensions: Extensions::NONE,
        ..AssociationConfig::default()
    }
}

/// From one moment to another one.
fn milliseconds(from: Time, to: Time) -> f64 {
    to.since(from).as_nanos() as f64 / 1e6
}

/// Of values in any order; 0 of none.
fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    let at = ((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1));
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
