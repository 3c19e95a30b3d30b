//! A run between two hosts with the TCP of Linux 2.6.15.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use tresse_core::Time;
use tresse_netem::LinkConfig;
use tresse_sim::tcp::{Options, Sink, Source, Traffic};
use tresse_sim::{HostId, Route, Simulation, StopReason};

use super::measured::{EVENT_LIMIT, Measured, RESERVE};
use super::retransmissions::put_resends;
use crate::capture;
use crate::flow::record::Traces;
use crate::flow::run::FlowRun;
use crate::flow::{Flow, Workload};
use crate::seed;
use crate::sender::Tcp;

/// Longer than a connection can take to come up when every other SYN is lost.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(600);

const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// Both hosts, and what is between them.
struct Pair {
    simulation: Simulation,
    source: HostId,
    sink: HostId,
}

/// Makes the run and measures it, with a packet capture in the folder `capture` if given.
///
/// # Errors
/// The invariant that was broken: data lost or changed, or a run without an end.
pub(super) fn run(run: &FlowRun, tcp: Tcp, capture: Option<&Path>) -> Result<Measured, String> {
    let flow = &run.setup.experiment.kind;
    let mut pair = Pair::build(run, tcp)?;
    if let Some(folder) = capture {
        let hosts = (pair.source, pair.sink);
        capture::begin(&mut pair.simulation, folder, &run.name(), hosts)?;
    }
    pair.execute(flow)?;
    pair.simulation.finish_captures().map_err(|e| format!("cannot write the capture: {e}"))?;
    pair.check(flow)?;
    Ok(pair.measure(flow))
}

/// What is sent, and how many bytes that is if it has an end.
fn traffic(workload: &Workload) -> Result<(Traffic, Option<u64>), String> {
    match workload {
        Workload::Periodic(p) => {
            let messages = (p.duration_s * 1e3 / p.every_ms).ceil() as u64;
            let bytes = u32::try_from(p.message_bytes).map_err(|e| e.to_string())?;
            let every = Duration::from_nanos((p.every_ms * 1e6).round() as u64);
            Ok((Traffic::Periodic { bytes, every, messages }, Some(u64::from(bytes) * messages)))
        }
        Workload::Bulk(b) => {
            let messages = b.total_bytes.map(|total| total.div_ceil(b.message_bytes as u64));
            Ok((Traffic::Bulk, messages.map(|messages| messages * b.message_bytes as u64)))
        }
        Workload::Given(_) => Err("TCP sends periodically or in bulk".into()),
    }
}

impl Pair {
    fn build(run: &FlowRun, tcp: Tcp) -> Result<Pair, String> {
        let Flow { topology, workload, .. } = &run.setup.experiment.kind;
        let options: Options = tcp.options(run.setup.experiment.common.association.no_delay);
        let (traffic, end) = traffic(workload)?;
        let mut simulation = Simulation::new(seed::network(run.seed, run.replication));
        simulation.set_event_limit(EVENT_LIMIT);
        // The clocks of both hosts tick every 4 ms; where the ticks lie is drawn as for SCTP.
        let ahead = |purpose| {
            let share = seed::share(run.seed, run.replication, purpose);
            Duration::from_nanos((topology.clocks_apart_ms * 1e6 * share) as u64)
        };
        let source = Source::new(options, traffic, SENDER, RECEIVER, ahead("sender's clock"));
        let source = simulation.add_node("sender", Box::new(source));
        let sink = Sink::new(options, RECEIVER, SENDER, ahead("receiver's clock"));
        let sink = end.map_or(sink.clone(), |bytes| sink.stop_after(bytes));
        let sink = simulation.add_node("receiver", Box::new(sink));
        let mut link = |from, to, address, config: &LinkConfig| {
            simulation
                .add_link(from, to, Route::to(address), config.clone())
                .map_err(|e| format!("link: {e}"))
        };
        link(source, sink, RECEIVER, &topology.forward)?;
        link(sink, source, SENDER, &topology.backward)?;
        Ok(Pair { simulation, source, sink })
    }

    fn source(&self) -> &Source {
        self.simulation.app(self.source)
    }

    fn sink(&self) -> &Sink {
        self.simulation.app(self.sink)
    }

    fn execute(&mut self, flow: &Flow) -> Result<(), String> {
        let duration = Duration::from_secs_f64(flow.workload.duration_s().unwrap_or(0.0));
        let endless = matches!(&flow.workload, Workload::Bulk(b) if b.duration_s.is_some());
        if !endless {
            return match self.simulation.run(Time::ZERO + duration + RESERVE) {
                StopReason::Stopped => Ok(()),
                reason => Err(format!("did not come to an end: {reason:?}")),
            };
        }
        // It counts from the moment at which the connection is up.
        let mut until = Time::ZERO;
        let opened = loop {
            if let Some(at) = self.source().opened_at() {
                break at;
            }
            until += Duration::from_millis(100);
            if until.since(Time::ZERO) > LONGEST_HANDSHAKE {
                return Err("the connection was not up within 600 s".into());
            }
            self.simulation.run(until);
        };
        match self.simulation.run(opened + duration) {
            StopReason::EventLimit => Err("too many events".into()),
            _ => Ok(()),
        }
    }

    fn check(&self, flow: &Flow) -> Result<(), String> {
        let sink = self.sink();
        if sink.damaged() > 0 {
            return Err(format!("{} bytes are not those that were sent", sink.damaged()));
        }
        match traffic(&flow.workload)?.1 {
            Some(bytes) if sink.delivered() < bytes => {
                Err(format!("{} of {bytes} bytes arrived", sink.delivered()))
            }
            _ => Ok(()),
        }
    }

    fn measure(&self, flow: &Flow) -> Measured {
        let (source, sink) = (self.source(), self.sink());
        let mut values = BTreeMap::new();
        let mut put = |name: &str, value: f64| {
            values.insert(name.to_owned(), value);
        };
        let origin = source.opened_at().unwrap_or(Time::ZERO);
        let end = match &flow.workload {
            Workload::Bulk(bulk) if bulk.duration_s.is_some() => self.simulation.now(),
            _ => sink.last_at().unwrap_or(origin),
        };
        let (bytes, seconds) = (sink.delivered() as f64, end.since(origin).as_secs_f64());
        if seconds > 0.0 {
            put("goodput_kbps", bytes / seconds * 8.0 / 1e3);
            put("goodput_kBps", bytes / seconds / 1e3);
            put("goodput_mbps", bytes / seconds * 8.0 / 1e6);
        }
        if matches!(&flow.workload, Workload::Bulk(b) if b.duration_s.is_none()) {
            put("completion_s", seconds);
        }
        put("delivered_bytes", bytes);
        put("packets", source.segments() as f64);
        put("timeouts", source.timeouts() as f64);
        put("duplicates", sink.duplicates() as f64);
        put_resends(source.delays(), &mut values);
        let packets = self.simulation.stats().packets_sent;
        Measured { packets, values, traces: Traces::default() }
    }
}
