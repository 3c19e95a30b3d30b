//! Plays a world once.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse_core::{AssociationConfig, EndpointConfig, Profile, Time};
use tresse_netem::{LinkChange, LinkConfig, mix};
use tresse_sim::apps::{Plan, Sender, Sink};
use tresse_sim::{Change, HostId, LinkId, Route, Simulation};

use crate::source::Source;
use crate::world::{Path, World};

const PORT: u16 = 5000;
/// No world needs so many events.
const EVENT_LIMIT: u64 = 50_000_000;
/// The association must be up by then: its links are without loss until it is.
const CONNECTED_BY: Time = Time::from_millis(60_000);

/// What is played.
#[derive(Clone, Debug)]
pub struct Cast<'a> {
    /// Protocol behaviour of both ends.
    pub profile: &'a Arc<Profile>,
    /// Only this path is there for us, counted from 0; `None`: all of them, with concurrent transfer.
    pub alone: Option<usize>,
    /// Replication, from 0: other random numbers of the network.
    pub replication: u64,
}

/// What it brought, in the time that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// User data delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Milliseconds from the first transmission of a message to its delivery: median.
    pub delay_p50_ms: f64,
    /// The same, 99th percentile.
    pub delay_p99_ms: f64,
    /// The longest time without a delivery, milliseconds.
    pub pause_ms: f64,
    /// User data of each path in percent of what was sent on all.
    pub shares: Vec<f64>,
    /// Chunks that were sent again.
    pub retransmissions: u64,
    /// Chunks that reached the receiver again.
    pub duplicates: u64,
    /// Expirations of T3-rtx.
    pub timeouts: u64,
    /// Packets that the simulation carried.
    pub packets: u64,
}

fn address(path: usize, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path as u8, 0, host))
}

/// Both hosts and what is between them.
struct Network {
    simulation: Simulation,
    sender: HostId,
    receiver: HostId,
    /// Forward and backward link of each path.
    links: Vec<(LinkId, LinkId)>,
}

/// The same link without anything that loses or delays at random, or changes.
fn calm(link: &LinkConfig) -> LinkConfig {
    LinkConfig {
        queue_packets: link.queue_packets,
        red: link.red,
        codel: link.codel,
        ..LinkConfig::new(link.bandwidth_kbps.unwrap_or(0.0), link.delay_ms)
    }
}

/// The same link with its changes counted from `origin`.
fn since(origin: Time, link: &LinkConfig) -> Box<LinkConfig> {
    let late = origin.as_nanos() as f64 / 1e6;
    let change = |change: &LinkChange| LinkChange { at_ms: change.at_ms + late, ..*change };
    Box::new(LinkConfig { changes: link.changes.iter().map(change).collect(), ..link.clone() })
}

impl Network {
    fn build(world: &World, cast: &Cast<'_>) -> Result<Network, String> {
        let mut simulation = Simulation::new(mix(world.seed ^ mix(cast.replication)));
        simulation.set_event_limit(EVENT_LIMIT);
        let ours = |path: &usize| cast.alone.is_none_or(|only| only == *path);
        let addresses = |host: u8| -> Vec<IpAddr> {
            (0..world.paths.len()).filter(ours).map(|path| address(path, host)).collect()
        };
        let association = AssociationConfig {
            profile: Arc::clone(cast.profile),
            send_buffer: world.buffer,
            receive_buffer: u32::try_from(world.buffer).unwrap_or(u32::MAX),
            concurrent_transfer: cast.alone.is_none(),
            no_delay: true,
            ..AssociationConfig::default()
        };
        let endpoint = |host: u8| EndpointConfig {
            local_port: PORT,
            local_addresses: addresses(host),
            accept: host == 2,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let program = Sender::new(Plan::Bulk(world.bulk))
            .connect(addresses(2), PORT, association.clone())
            .from_connection()
            .without_log();
        let source = Box::new(Source::new(program));
        let sender = simulation.add_host("sender", endpoint(1), source);
        let receiver = simulation.add_host("receiver", endpoint(2), Box::new(Sink::new()));
        let mut network = Network { simulation, sender, receiver, links: Vec::new() };
        for (number, path) in world.paths.iter().enumerate() {
            let links = network.connect(number, path);
            network.links.push(links.map_err(|e| format!("path {}: {e}", number + 1))?);
        }
        Ok(network)
    }

    fn connect(&mut self, number: usize, path: &Path) -> Result<(LinkId, LinkId), String> {
        let (a, b) = (address(number, 1), address(number, 2));
        let mut link = |from, to, route, config: &LinkConfig| {
            self.simulation.add_link(from, to, route, calm(config)).map_err(|e| e.to_string())
        };
        let there = Route::to(b).default_source(a);
        let back = Route::to(a).default_source(b);
        Ok((
            link(self.sender, self.receiver, there, &path.forward)?,
            link(self.receiver, self.sender, back, &path.backward)?,
        ))
    }

    /// Runs until the association is up, and then has the links do what the world says.
    fn begin(&mut self, world: &World) -> Result<Time, String> {
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
        for ((there, back), path) in self.links.clone().into_iter().zip(&world.paths) {
            for (id, link) in [(there, &path.forward), (back, &path.backward)] {
                let change = Change::Link(id, since(origin, link));
                self.simulation.apply(change).map_err(|e| format!("{id:?}: {e}"))?;
            }
        }
        Ok(origin)
    }

    fn source(&self) -> &Source {
        self.simulation.app(self.sender)
    }

    fn check(&self) -> Result<(), String> {
        let program = &self.source().program;
        if let Some(error) = program.send_error() {
            return Err(format!("a message was refused: {error}"));
        }
        if let Some(reason) = program.closed() {
            return Err(format!("the association ended with {reason:?}"));
        }
        let stats = self.simulation.app::<Sink>(self.receiver).stats();
        if !stats.flawless() {
            return Err(format!("messages damaged, repeated or out of order: {stats:?}"));
        }
        Ok(())
    }

    fn measure(&self, from: Time, to: Time) -> Played {
        let sink = self.simulation.app::<Sink>(self.receiver);
        let source = self.source();
        let counted: Vec<_> =
            sink.deliveries().iter().filter(|d| d.at >= from && d.at < to).collect();
        let bytes: usize = counted.iter().map(|d| d.size).sum();
        let mut delays: Vec<f64> = counted
            .iter()
            .filter_map(|d| Some(milliseconds(source.sent_at(d.tsn)?, d.at)))
            .collect();
        delays.sort_by(f64::total_cmp);
        let moments: Vec<Time> =
            [from].into_iter().chain(counted.iter().map(|d| d.at)).chain([to]).collect();
        let pauses = moments.windows(2).map(|pair| milliseconds(pair[0], pair[1]));
        let totals = self.simulation.endpoint(self.sender).totals();
        let there = self.links.iter().map(|(id, _)| self.simulation.link_stats(*id));
        let carried: Vec<f64> = there.map(|stats| stats.delivered_bytes as f64).collect();
        let all = carried.iter().sum::<f64>().max(1.0);
        Played {
            goodput_mbps: bytes as f64 * 8.0 / to.since(from).as_secs_f64() / 1e6,
            delay_p50_ms: percentile(&delays, 0.5),
            delay_p99_ms: percentile(&delays, 0.99),
            pause_ms: pauses.fold(0.0, f64::max),
            shares: carried.iter().map(|bytes| 100.0 * bytes / all).collect(),
            retransmissions: totals.retransmissions(),
            duplicates: self.simulation.endpoint(self.receiver).totals().duplicate_chunks_received,
            timeouts: totals.timeouts,
            packets: self.simulation.stats().packets_sent,
        }
    }
}

fn milliseconds(from: Time, to: Time) -> f64 {
    to.since(from).as_nanos() as f64 / 1e6
}

/// Of sorted values; 0 of none.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// Plays `world` once.
///
/// # Errors
/// The invariant that was broken: a message damaged, repeated or out of order, or an association that ended.
pub fn play(world: &World, cast: &Cast<'_>) -> Result<Played, String> {
    let mut network = Network::build(world, cast)?;
    let origin = network.begin(world)?;
    let from = origin + Duration::from_secs_f64(world.warmup_s);
    let to = origin + Duration::from_secs_f64(world.seconds);
    network.simulation.run(to);
    network.check()?;
    Ok(network.measure(from, to))
}
