//! One run: the network and both programs are built, run to the end, checked, and measured.

mod age;
mod measured;
mod moving;
mod network;
mod pair;
#[cfg(real_time)]
pub(super) mod real_time;
mod retransmissions;
mod series;
mod source;
mod tcp;
mod transfer;
mod wire;
mod workload;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tresse_core::{AssociationStats, LossCause, Time};
use tresse_report::statistics::{mean, percentile};
use tresse_sim::apps::{Sink, SinkStats};
use tresse_sim::{HostId, StopReason};

use super::record::Traces;
use super::run::{FlowRun, Setup};
use super::{Change, Flow, Workload, cell};
use crate::capture;
use crate::reading;
use crate::schema::Experiment;
use crate::sender::Sender;
use measured::RESERVE;
use network::Network;
use source::{Program, Receiver, Source};
use workload::{BESIDE, plan};

pub(super) use measured::Measured;

/// 1 MB of user data, as the unit of rates "per MB".
const MEGABYTE: f64 = 1e6;

/// Makes the run and measures it, with a packet capture in the folder `capture` if given.
///
/// # Errors
/// The invariant that was broken: a message lost, repeated, changed or out of order, or an
/// association that ended.
pub(super) fn run(run: &FlowRun, capture: Option<&Path>) -> Result<Measured, String> {
    if let Sender::Tcp(tcp) = run.setup.sender {
        return tcp::run(run, tcp, capture);
    }
    let flow = &run.setup.experiment.kind;
    let mut network = Network::build(run)?;
    if let Some(folder) = capture {
        let hosts = (network.sender, network.receiver);
        capture::begin(&mut network.simulation, folder, &run.name(), hosts)?;
    }
    let mark = network.execute(flow)?;
    network.simulation.finish_captures().map_err(|e| format!("cannot write the capture: {e}"))?;
    network.check(flow)?;
    let mut measured = network.measure(run, &mark);
    if flow.observe.alone {
        alone(run, &mut measured.values)?;
    }
    Ok(measured)
}

/// The same run over each path alone: what it brings there, and how ours compares with the best.
fn alone(run: &FlowRun, values: &mut BTreeMap<String, f64>) -> Result<(), String> {
    let mut best = 0.0f64;
    for path in 0..usize::from(run.setup.experiment.kind.topology.path_count()) {
        let Some(topology) = run.setup.experiment.kind.topology.alone(path) else { continue };
        // The buffers are those of the run that it is compared with.
        let association = run.setup.experiment.association(run.setup.sender.profile()?);
        let mut here = Experiment::clone(&run.setup.experiment);
        here.kind.topology = topology;
        here.common.association.send_buffer = association.send_buffer;
        here.common.association.receive_buffer = association.receive_buffer;
        let setup = Setup { experiment: Arc::new(here), ..(*run.setup).clone() };
        let run = FlowRun { setup: Arc::new(setup), ..run.clone() };
        let mut network = Network::build(&run)?;
        let fault = |e| format!("over path {} alone: {e}", path + 1);
        let mark = network.execute(&run.setup.experiment.kind).map_err(fault)?;
        network.check(&run.setup.experiment.kind).map_err(fault)?;
        let goodput = network.measure(&run, &mark).values["goodput_mbps"];
        values.insert(format!("path_mbps.{}", path + 1), goodput);
        best = best.max(goodput);
    }
    values.insert("best_path_mbps".into(), best);
    if let (Some(own), true) = (values.get("goodput_mbps").copied(), best > 0.0) {
        values.insert("of_best_path".into(), 100.0 * own / best);
    }
    Ok(())
}

/// How far things were when what counts began.
#[derive(Clone, Debug, Default)]
struct Mark {
    /// When, if it was not the beginning.
    at: Option<Time>,
    /// User data delivered by then, and that of each competitor.
    delivered: Delivered,
}

/// User data delivered, in bytes.
#[derive(Clone, Debug, Default)]
struct Delivered {
    own: u64,
    competing: Vec<u64>,
}

impl Network {
    fn execute(&mut self, flow: &Flow) -> Result<Mark, String> {
        let mut topology = flow.topology.clone();
        let mut mark = Mark::default();
        let warmup = match &flow.workload {
            Workload::Bulk(bulk) if bulk.warmup_s > 0.0 => Some((bulk.warmup_s, None)),
            _ => None,
        };
        let changes = flow.changes.iter().map(|change| (change.at_s, Some(change)));
        let mut halts: Vec<(f64, Option<&Change>)> = changes.chain(warmup).collect();
        halts.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !halts.is_empty() {
            // They count from the moment at which the association is up.
            let origin = self.run_until_connected()?;
            for (at_s, change) in halts {
                let at = origin + Duration::from_secs_f64(at_s);
                if self.simulation.run(at) == StopReason::Stopped {
                    return Ok(mark);
                }
                match change {
                    Some(change) => {
                        topology = changed(&topology, change)?;
                        self.apply(&topology)?;
                    }
                    None => mark = Mark { at: Some(at), delivered: self.delivered() },
                }
            }
        }
        let duration = flow.workload.duration_s().unwrap_or(0.0);
        let limit = Time::ZERO + Duration::from_secs_f64(duration) + RESERVE;
        match self.simulation.run(limit) {
            StopReason::Stopped => Ok(mark),
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

    fn source(&self) -> &Source {
        self.simulation.app(self.sender)
    }

    fn sink(&self) -> &Sink {
        self.simulation.app::<Receiver>(self.receiver).program()
    }

    fn delivered(&self) -> Delivered {
        let bytes = |host: &HostId| self.simulation.app::<Receiver>(*host).program().stats().bytes;
        Delivered {
            own: self.sink().stats().bytes,
            competing: self.competitors.iter().map(bytes).collect(),
        }
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
            Some(_) => Ok(()),
            None => self.check_given_up(stats.messages),
        }
    }

    /// Each message that did not arrive was given up.
    fn check_given_up(&self, arrived: u64) -> Result<(), String> {
        let (sent, given_up) = (self.source().program().sent().len() as u64, self.given_up());
        if arrived + given_up >= sent {
            return Ok(());
        }
        Err(format!("{arrived} of {sent} messages arrived, and {given_up} were given up"))
    }

    fn given_up(&self) -> u64 {
        let stats = self.stats(self.sender);
        stats.messages_abandoned_unsent + stats.messages_abandoned_sent
    }

    fn stats(&self, host: HostId) -> AssociationStats {
        let endpoint = self.simulation.endpoint(host);
        let id = match host == self.sender {
            true => self.source().program().association(),
            false => self.simulation.app::<Receiver>(host).association(),
        };
        id.and_then(|id| endpoint.stats(id)).unwrap_or_default()
    }

    fn measure(&mut self, run: &FlowRun, mark: &Mark) -> Measured {
        let origin = self.source().program().connected_at().unwrap_or(Time::ZERO);
        let sink = self.sink().stats();
        let (sender, receiver) = (self.stats(self.sender), self.stats(self.receiver));
        let mut values = counters(&sender, &receiver, &sink);
        let end = match &run.setup.experiment.kind.workload {
            Workload::Bulk(bulk) if bulk.duration_s.is_some() => self.simulation.now(),
            _ => sink.last_at.unwrap_or(origin),
        };
        let seconds = end.since(origin).as_secs_f64();
        let counted = end.since(mark.at.unwrap_or(origin)).as_secs_f64();
        let mut put = |name: &str, value: f64| {
            values.insert(name.to_owned(), value);
        };
        if counted > 0.0 {
            let (before, now) = (&mark.delivered, self.delivered());
            let rate = (now.own - before.own) as f64 / counted;
            put("goodput_kbps", rate * 8.0 / 1e3);
            put("goodput_kBps", rate / 1e3);
            put("goodput_mbps", rate * 8.0 / 1e6);
            let before = before.competing.iter().copied().chain(std::iter::repeat(0));
            let pairs = now.competing.iter().zip(before);
            let others: Vec<f64> = pairs.map(|(now, then)| (now - then) as f64 / counted).collect();
            compete(rate, &others, &mut put);
            if let Workload::Bulk(bulk) = &run.setup.experiment.kind.workload {
                let ideal = run.setup.experiment.kind.topology.ideal_mbps(bulk.message_bytes);
                compare_with_ideal(rate * 8.0 / 1e6, ideal.as_deref(), &mut put);
            }
        }
        if self.links.len() > 1 {
            let there = self.links.iter().map(|(id, _)| self.simulation.link_stats(*id));
            let bytes: Vec<u64> = there.map(|stats| stats.delivered_bytes).collect();
            let all = bytes.iter().sum::<u64>().max(1) as f64;
            for (path, bytes) in bytes.into_iter().enumerate() {
                put(&format!("path_share.{}", path + 1), 100.0 * bytes as f64 / all);
            }
        }
        let processor = self.simulation.processor_stats(self.sender);
        if let Some((processor, stats)) = run.setup.processor.as_ref().zip(processor) {
            processor.measure(stats, end.since(Time::ZERO).as_secs_f64(), &mut put);
        }
        // How long it took says something where the amount is fixed and the time is not.
        if matches!(&run.setup.experiment.kind.workload, Workload::Bulk(b) if b.duration_s.is_none())
        {
            put("completion_s", seconds);
        }
        put_times("transfer_ms", &self.transfer_times(0), &mut put);
        put_times("beside_ms", &self.transfer_times(BESIDE), &mut put);
        if run.setup.experiment.kind.observe.age {
            put_times("age_ms", &self.ages(), &mut put);
            let sent = self.source().program().sent().len().max(1) as f64;
            put("given_up_percent", 100.0 * self.given_up() as f64 / sent);
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

    /// How old the newest message was that had arrived, in milliseconds, while messages were sent.
    fn ages(&self) -> Vec<f64> {
        let sent = self.source().program().sent();
        let pair = |delivery: &tresse_sim::apps::Delivery| {
            let message = sent.get(usize::try_from(delivery.index?).ok()?)?;
            Some((message.wanted_at, delivery.at))
        };
        let messages: Vec<(Time, Time)> =
            self.sink().deliveries().iter().filter_map(pair).collect();
        age::ages(&messages, sent.last().map_or(Time::ZERO, |message| message.wanted_at))
    }

    /// Milliseconds from sending to delivery of every message of a stream, unless nothing was logged.
    fn transfer_times(&self, stream: u16) -> Vec<f64> {
        let sent = self.source().program().sent();
        let pair = |delivery: &tresse_sim::apps::Delivery| {
            let message = sent.get(usize::try_from(delivery.index?).ok()?)?;
            (message.stream == stream).then_some(())?;
            Some(delivery.at.since(message.wanted_at).as_nanos() as f64 / 1e6)
        };
        self.sink().deliveries().iter().filter_map(pair).collect()
    }
}

/// Statistics of times in milliseconds.
fn put_times(what: &str, times: &[f64], put: &mut impl FnMut(&str, f64)) {
    if times.is_empty() {
        return;
    }
    put(&format!("{what}.mean"), mean(times).unwrap_or(0.0));
    put(&format!("{what}.max"), times.iter().copied().fold(0.0, f64::max));
    for (name, p) in [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)] {
        put(&format!("{what}.{name}"), percentile(times, p).unwrap_or(0.0));
    }
}

/// How flows share a bottleneck, from their rates; nothing if there are no others.
fn compete(own: f64, others: &[f64], put: &mut impl FnMut(&str, f64)) {
    let Some(other) = mean(others) else { return };
    put("competitor_mbps", other * 8.0 / 1e6);
    if other > 0.0 {
        put("of_competitor", 100.0 * own / other);
        // Jain, Chiu & Hawe (1984): (Σ x)² / (n Σ x²).
        let all = || others.iter().copied().chain([own]);
        let squares = all().map(|x| x * x).sum::<f64>();
        put("fairness", all().sum::<f64>().powi(2) / (all().count() as f64 * squares));
    }
}

/// How a goodput compares with what the paths could carry: all of them, and the best one.
fn compare_with_ideal(goodput: f64, paths: Option<&[f64]>, put: &mut impl FnMut(&str, f64)) {
    let Some(paths) = paths else { return };
    let (sum, best) = (paths.iter().sum::<f64>(), paths.iter().copied().fold(0.0, f64::max));
    put("ideal_mbps", sum);
    put("ideal_path_mbps", best);
    put("of_ideal", 100.0 * goodput / sum);
    put("of_ideal_path", 100.0 * goodput / best);
}

fn counters(
    sender: &AssociationStats,
    receiver: &AssociationStats,
    sink: &SinkStats,
) -> BTreeMap<String, f64> {
    let fast = |counts: &[u64]| {
        let pairs = LossCause::ALL.iter().zip(counts);
        pairs.filter(|(cause, _)| cause.is_found_by_sacks()).map(|(_, n)| *n).sum::<u64>() as f64
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
    let transmissions = sender.data_chunks_sent + sender.retransmissions();
    put(
        "retransmitted_percent",
        100.0 * sender.retransmissions() as f64 / transmissions.max(1) as f64,
    );
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

/// `topology` after `change`.
pub(super) fn changed(
    topology: &super::Topology,
    change: &Change,
) -> Result<super::Topology, String> {
    let mut table = toml::Table::try_from(topology).map_err(|e| e.to_string())?;
    cell::set(&mut table, &change.key, change.value.clone())?;
    reading::read(&table).map_err(|mistake| mistake.message)
}
