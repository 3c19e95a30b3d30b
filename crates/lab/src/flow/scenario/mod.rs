//! One run: the network and both programs are built, run to the end, checked, and measured.

mod retransmissions;
mod series;
mod source;
mod wire;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use tresse_core::{AssociationConfig, AssociationStats, EndpointConfig, LossCause, Time};
use tresse_netem::LinkConfig;
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage, Sender, Sink, SinkStats};
use tresse_sim::{Capture, HostId, LinkId, Route, Simulation, StopReason};

use super::plan::FlowRun;
use super::record::Traces;
use super::{Change, Flow, Workload, cell};
use crate::runner::Run as _;
use crate::seed;
use crate::statistics::{mean, percentile};
use source::{End, Program, Receiver, Source};
use wire::SharedUnderway;

const PORT: u16 = 5000;

/// Beyond the time that the workload names, for the last recovery; a run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);
/// No run needs this many events.
const EVENT_LIMIT: u64 = 400_000_000;

/// 1 MB of user data, as the unit of rates "per MB".
const MEGABYTE: f64 = 1e6;

/// What a run brought.
pub(super) struct Measured {
    pub(super) packets: u64,
    pub(super) values: BTreeMap<String, f64>,
    pub(super) traces: Traces,
}

/// Makes the run and measures it, with a packet capture in the folder `capture` if given.
///
/// # Errors
/// The invariant that was broken: a message lost, repeated, changed or out of order, or an
/// association that ended.
pub(super) fn run(run: &FlowRun, capture: Option<&Path>) -> Result<Measured, String> {
    let flow = &run.setup.flow;
    let mut network = Network::build(run)?;
    if let Some(folder) = capture {
        let path = folder.join(format!("{}.pcapng", run.name()));
        let file =
            File::create(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        network
            .simulation
            .capture(Capture::all(), BufWriter::new(file))
            .map_err(|e| format!("cannot write the capture: {e}"))?;
    }
    network.execute(flow)?;
    network.simulation.finish_captures().map_err(|e| format!("cannot write the capture: {e}"))?;
    network.check(flow)?;
    Ok(network.measure(run))
}

/// The messages of a workload.
fn plan(workload: &Workload) -> (Plan, End) {
    match workload {
        Workload::Periodic(p) => {
            let size = p.message_bytes;
            let mut schedule = Vec::new();
            let mut n = 0u32;
            loop {
                let start = f64::from(n) * p.every_ms;
                if start >= p.duration_s * 1e3 {
                    break;
                }
                for position in 0..p.burst {
                    let ms = start + f64::from(position) * p.spacing_ms;
                    schedule.push(message(ms, size));
                }
                n += 1;
            }
            let messages = Some(schedule.len() as u64);
            (Plan::Schedule(schedule), End { after: None, messages })
        }
        Workload::Bulk(b) => {
            let bulk = Bulk::of_size(b.message_bytes);
            let after = b.duration_s.map(Duration::from_secs_f64);
            let messages = b.total_bytes.map(|total| total.div_ceil(b.message_bytes as u64));
            (Plan::Bulk(Bulk { messages, ..bulk }), End { after, messages })
        }
        Workload::Given(g) => {
            let mut schedule = Vec::new();
            for m in &g.messages {
                let message = message(m.at_ms, m.bytes);
                schedule.extend(std::iter::repeat_n(message, m.count as usize));
            }
            let messages = Some(schedule.len() as u64);
            let after = Some(Duration::from_secs_f64(g.duration_s));
            (Plan::Schedule(schedule), End { after, messages })
        }
    }
}

fn message(at_ms: f64, size: usize) -> ScheduledMessage {
    let at = Time::from_nanos((at_ms * 1e6).round() as u64);
    ScheduledMessage { at, stream: 0, size, unordered: false }
}

/// Two hosts and what is between them.
struct Network {
    simulation: Simulation,
    sender: HostId,
    receiver: HostId,
    /// Forward and backward link of each path.
    links: Vec<(LinkId, LinkId)>,
}

fn address(path: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, host))
}

impl Network {
    fn build(run: &FlowRun) -> Result<Network, String> {
        let flow = &run.setup.flow;
        let seed_bytes = seed::derive(run.seed, run.replication, "network");
        let simulation_seed = seed_bytes[..8].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        let mut simulation = Simulation::new(simulation_seed);
        simulation.set_event_limit(EVENT_LIMIT);

        let paths: u8 = if flow.topology.second.is_some() { 2 } else { 1 };
        let addresses = |host: u8| (0..paths).map(|path| address(path, host)).collect::<Vec<_>>();
        let association = flow.association.config(&run.setup.profile);
        let endpoint = |host: u8| EndpointConfig {
            local_port: PORT,
            local_addresses: addresses(host),
            association: association.clone(),
            ..EndpointConfig::default()
        };

        let (plan, end) = plan(&flow.workload);
        let logged = !matches!(flow.workload, Workload::Bulk(_));
        let config = AssociationConfig { trace: flow.observe.series, ..association.clone() };
        let program = Sender::new(plan).connect(addresses(2), PORT, config).from_connection();
        let program = if logged { program } else { program.without_log() };
        let underway = SharedUnderway::default();
        let missing = missing_reports(run);
        let source = Source::new(program, end, flow.observe, missing, Rc::clone(&underway));
        let sender = simulation.add_host("sender", endpoint(1), Box::new(source));
        let sink = if logged { Sink::new() } else { Sink::new().without_log() };
        let accept = EndpointConfig { accept: true, ..endpoint(2) };
        let program = Box::new(Receiver::new(sink, end, flow.observe.sequence.then_some(underway)));
        let receiver = simulation.add_host("receiver", accept, program);

        let mut links = Vec::new();
        let topology = &flow.topology;
        let second = topology.second.as_ref().map(|p| (&p.forward, &p.backward));
        let all = std::iter::once((&topology.forward, &topology.backward)).chain(second);
        for (path, (forward, backward)) in (0u8..).zip(all) {
            let (a, b) = (address(path, 1), address(path, 2));
            let there = Route::to(b).default_source(a);
            let back = Route::to(a).default_source(b);
            let mut link = |from, to, route, config: &LinkConfig| {
                simulation
                    .add_link(from, to, route, config.clone())
                    .map_err(|e| format!("link of path {}: {e}", path + 1))
            };
            links.push((
                link(sender, receiver, there, forward)?,
                link(receiver, sender, back, backward)?,
            ));
        }
        Ok(Network { simulation, sender, receiver, links })
    }

    fn execute(&mut self, flow: &Flow) -> Result<(), String> {
        let mut topology = flow.topology.clone();
        let mut changes: Vec<&Change> = flow.changes.iter().collect();
        changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let mut reason = StopReason::Stopped;
        if !changes.is_empty() {
            // Changes count from the moment at which the association is up.
            let origin = self.run_until_connected()?;
            for change in changes {
                let at = origin + Duration::from_secs_f64(change.at_s);
                reason = self.simulation.run(at);
                if reason == StopReason::Stopped {
                    break;
                }
                topology = changed(&topology, change)?;
                self.apply(&topology)?;
            }
            if reason == StopReason::Stopped {
                return Ok(());
            }
        }
        let duration = flow.workload.duration_s().unwrap_or(0.0);
        let limit = Time::ZERO + Duration::from_secs_f64(duration) + PATIENCE;
        match self.simulation.run(limit) {
            StopReason::Stopped => Ok(()),
            reason => {
                Err(format!("did not come to an end: {reason:?} at {:?}", self.simulation.now()))
            }
        }
    }

    /// Runs until the association is up.
    fn run_until_connected(&mut self) -> Result<Time, String> {
        for step in 1..=600_000u64 {
            if let Some(at) = self.source().program().connected_at() {
                return Ok(at);
            }
            self.simulation.run(Time::from_millis(step));
        }
        Err("the association was not up within 600 s".into())
    }

    /// Gives all links the settings of `topology`.
    fn apply(&mut self, topology: &super::Topology) -> Result<(), String> {
        let second = topology.second.as_ref().map(|p| (&p.forward, &p.backward));
        let all = std::iter::once((&topology.forward, &topology.backward)).chain(second);
        for ((forward, backward), (to, from)) in all.zip(self.links.clone()) {
            for (id, config) in [(to, forward), (from, backward)] {
                if self.simulation.link_config(id) != config {
                    let change = tresse_sim::Change::Link(id, Box::new(config.clone()));
                    self.simulation.apply(change).map_err(|e| format!("change: {e}"))?;
                }
            }
        }
        Ok(())
    }

    fn source(&self) -> &Source {
        self.simulation.app(self.sender)
    }

    fn sink(&self) -> &Sink {
        self.simulation.app::<Receiver>(self.receiver).program()
    }

    fn check(&self, flow: &Flow) -> Result<(), String> {
        let program = self.source().program();
        if let Some(error) = program.connect_error() {
            return Err(format!("no association: {error}"));
        }
        if let Some(error) = program.send_error() {
            return Err(format!("a message was refused: {error}"));
        }
        if let Some(reason) = program.closed() {
            return Err(format!("the association ended with {reason:?}"));
        }
        let stats = self.sink().stats();
        if !stats.flawless() {
            return Err(format!("messages damaged, repeated or out of order: {stats:?}"));
        }
        let (_, end) = plan(&flow.workload);
        match end.messages {
            Some(messages) if stats.messages != messages => {
                Err(format!("{} of {messages} messages arrived", stats.messages))
            }
            _ => Ok(()),
        }
    }

    fn stats(&self, host: HostId) -> AssociationStats {
        let endpoint = self.simulation.endpoint(host);
        let id = match host == self.sender {
            true => self.source().program().association(),
            false => self.simulation.app::<Receiver>(host).association(),
        };
        id.and_then(|id| endpoint.stats(id)).unwrap_or_default()
    }

    fn measure(&mut self, run: &FlowRun) -> Measured {
        let origin = self.source().program().connected_at().unwrap_or(Time::ZERO);
        let sink = self.sink().stats();
        let (sender, receiver) = (self.stats(self.sender), self.stats(self.receiver));
        let mut values = counters(&sender, &receiver, &sink);
        let end = match &run.setup.flow.workload {
            Workload::Bulk(bulk) if bulk.duration_s.is_some() => self.simulation.now(),
            _ => sink.last_at.unwrap_or(origin),
        };
        let seconds = end.since(origin).as_secs_f64();
        let mut put = |name: &str, value: f64| {
            values.insert(name.to_owned(), value);
        };
        if seconds > 0.0 {
            put("goodput_kbps", sink.bytes as f64 * 8.0 / 1e3 / seconds);
            put("goodput_kBps", sink.bytes as f64 / 1e3 / seconds);
        }
        // How long it took says something where the amount is fixed and the time is not.
        if matches!(&run.setup.flow.workload, Workload::Bulk(b) if b.duration_s.is_none()) {
            put("completion_s", seconds);
        }
        let times = self.transfer_times();
        if !times.is_empty() {
            put("transfer_ms.mean", mean(&times).unwrap_or(0.0));
            put("transfer_ms.max", times.iter().copied().fold(0.0, f64::max));
            for (name, p) in [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)] {
                put(&format!("transfer_ms.{name}"), percentile(&times, p).unwrap_or(0.0));
            }
        }
        let packets = self.simulation.stats().packets_sent;
        let deliveries: Vec<(Time, u32)> =
            self.sink().deliveries().iter().map(|d| (d.at, d.tsn)).collect();
        let source = self.simulation.app_mut::<Source>(self.sender);
        let traces = source.finish(origin, &deliveries, &mut values);
        // Those of one run are enough to look at, and fill the disk least.
        let traces = if run.replication == 1 { traces } else { Traces::default() };
        Measured { packets, values, traces }
    }

    /// Milliseconds from sending to delivery of every message, unless nothing was logged.
    fn transfer_times(&self) -> Vec<f64> {
        let sent = self.source().program().sent();
        let pair = |delivery: &tresse_sim::apps::Delivery| {
            let message = sent.get(usize::try_from(delivery.index?).ok()?)?;
            Some(delivery.at.since(message.wanted_at).as_nanos() as f64 / 1e6)
        };
        self.sink().deliveries().iter().filter_map(pair).collect()
    }
}

fn counters(
    sender: &AssociationStats,
    receiver: &AssociationStats,
    sink: &SinkStats,
) -> BTreeMap<String, f64> {
    let fast = |counts: &[u64]| {
        let pairs = LossCause::ALL.iter().zip(counts);
        pairs.filter(|(cause, _)| by_sack(**cause)).map(|(_, n)| *n).sum::<u64>() as f64
    };
    let packets = fast(&sender.retransmitted_packets);
    let chunks = fast(&sender.retransmitted_chunks);
    let timeouts = sender.timeouts as f64;
    let mut values = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        values.insert(name.to_owned(), value);
    };
    put("delivered_bytes", sink.bytes as f64);
    put("highest_tsn", sender.data_chunks_sent as f64);
    put("packets", sender.packets_sent as f64);
    put("timeouts", timeouts);
    put("fast_retransmits", packets);
    let events = sender.fast_recoveries as f64;
    put("fast_events", events);
    put("fast_per_timeout", events / timeouts.max(1.0));
    put("retransmitted_chunks", sender.retransmissions() as f64);
    put("duplicates", receiver.duplicate_chunks_received as f64);
    if sink.bytes > 0 {
        let megabytes = sink.bytes as f64 / MEGABYTE;
        put("timeouts_per_mb", timeouts / megabytes);
        put("fast_retransmits_per_mb", packets / megabytes);
        put("fast_chunks_per_mb", chunks / megabytes);
        put("fast_events_per_mb", events / megabytes);
    }
    values
}

/// Whether SACKs found the loss.
fn by_sack(cause: LossCause) -> bool {
    matches!(
        cause,
        LossCause::FastRetransmit
            | LossCause::EarlyRetransmitBytes
            | LossCause::EarlyRetransmitPackets
            | LossCause::ThinFastRetransmit
            | LossCause::Rack
    )
}

/// `topology` after `change`.
pub(super) fn changed(
    topology: &super::Topology,
    change: &Change,
) -> Result<super::Topology, String> {
    let mut table = toml::Table::try_from(topology).map_err(|e| e.to_string())?;
    cell::set(&mut table, &change.key, change.value.clone())?;
    toml::Value::Table(table).try_into().map_err(|e: toml::de::Error| e.message().to_owned())
}

/// How many reports make a chunk missing for the profile under test: what tells a fast retransmit
/// from a timeout for an observer on the wire.
fn missing_reports(run: &FlowRun) -> u32 {
    let profile = &run.setup.profile;
    let parameters: toml::Table = profile.to_toml().parse().unwrap_or_default();
    let thin = parameters
        .get("thin_fast_retransmit")
        .and_then(|t| t.get("enabled"))
        .and_then(toml::Value::as_bool);
    if thin == Some(true) { 1 } else { profile.fast_retransmit.threshold }
}
