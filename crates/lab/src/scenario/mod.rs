//! One run: the network and both programs are built, run to the end, checked, and measured.
//!
//! As in the experiments of Hurtig & Brunstrom §3, the receiver of the data opens the
//! association, and the sender answers with its bursts.

mod receiver;
mod sender;

use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use tresse_core::{AssociationConfig, EndpointConfig, Time};
use tresse_netem::LinkConfig;
use tresse_sim::{Capture, LinkId, LinkStats, Route, Simulation, StopReason};

use crate::plan::{RunSpec, Setup};
use crate::record::{Counters, RunRecord, Sample};
use crate::seed;
use receiver::Receiver;
use sender::Sender;

const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORT: u16 = 5000;

/// No run takes this long in virtual time unless it hangs.
const LIMIT: Time = Time::from_millis(3_600_000);
/// Nor does it need this many events.
const EVENT_LIMIT: u64 = 50_000_000;

/// Makes the run `spec` and measures it, with a packet capture in the folder `capture` if given.
///
/// # Errors
/// The invariant that was broken: a message lost, repeated, changed or out of order, an
/// association that did not end gracefully, or a packet dropped that was not to be dropped.
pub fn run(spec: &RunSpec, capture: Option<&Path>) -> Result<RunRecord, String> {
    let setup = &spec.setup;
    let seed_bytes = seed::derive(spec.seed, spec.replication, "network");
    let simulation_seed = seed_bytes[..8].iter().fold(0, |n, b| n << 8 | u64::from(*b));
    let mut simulation = Simulation::new(simulation_seed);
    simulation.set_event_limit(EVENT_LIMIT);

    let association = association(setup);
    let sender_config = AssociationConfig { trace: true, ..association.clone() };
    let sender = simulation.add_host(
        "sender",
        EndpointConfig {
            local_port: PORT,
            local_addresses: vec![SENDER],
            accept: true,
            association: sender_config,
            ..EndpointConfig::default()
        },
        Box::new(Sender::new(Arc::clone(&spec.schedule), setup.bursts.message_bytes)),
    );
    let receiver = simulation.add_host(
        "receiver",
        EndpointConfig {
            local_port: PORT,
            local_addresses: vec![RECEIVER],
            ..EndpointConfig::default()
        },
        Box::new(Receiver::new(SENDER, PORT, association, setup.bursts.message_bytes)),
    );
    let forward_config = LinkConfig {
        // Packets with data are counted from 1, and each message has a packet of its own.
        drop_data: spec.drop.map(|index| u64::from(index) + 1).into_iter().collect(),
        ..setup.forward.clone()
    };
    let forward = simulation
        .add_link(sender, receiver, Route::to(RECEIVER), forward_config)
        .map_err(|e| format!("forward link: {e}"))?;
    let backward = simulation
        .add_link(receiver, sender, Route::to(SENDER), setup.backward.clone())
        .map_err(|e| format!("backward link: {e}"))?;

    if let Some(folder) = capture {
        let path = folder.join(format!("{}.pcapng", spec.name()));
        let file =
            File::create(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        simulation.capture(Capture::all(), BufWriter::new(file)).map_err(|e| e.to_string())?;
    }
    let reason = simulation.run(LIMIT);
    simulation.finish_captures().map_err(|e| format!("cannot write the capture: {e}"))?;
    if reason != StopReason::Idle {
        return Err(format!("did not come to an end: {reason:?} at {:?}", simulation.now()));
    }
    let ends = Ends {
        sender: simulation.app(sender),
        receiver: simulation.app(receiver),
        forward: link(&simulation, forward),
        backward: link(&simulation, backward),
    };
    ends.check(spec)?;
    Ok(ends.record(spec))
}

fn link(simulation: &Simulation, id: LinkId) -> LinkStats {
    simulation.link_stats(id)
}

fn association(setup: &Setup) -> AssociationConfig {
    let settings = &setup.association;
    AssociationConfig {
        profile: Arc::clone(&setup.profile),
        send_buffer: settings.send_buffer,
        receive_buffer: settings.receive_buffer,
        mtu: settings.mtu,
        no_delay: settings.no_delay,
        bundling: settings.bundling,
        ..AssociationConfig::default()
    }
}

/// Both programs and both links after the end of a run.
struct Ends<'a> {
    sender: &'a Sender,
    receiver: &'a Receiver,
    forward: LinkStats,
    backward: LinkStats,
}

impl Ends<'_> {
    fn check(&self, spec: &RunSpec) -> Result<(), String> {
        self.sender.check()?;
        self.receiver.check(spec.schedule.len())?;
        let planned = u64::from(spec.drop.is_some());
        if self.forward.dropped() != planned || self.backward.dropped() != 0 {
            return Err(format!(
                "{} packets were dropped on the way and {} on the way back, instead of {planned} \
                 and 0: the premise of one loss does not hold",
                self.forward.dropped(),
                self.backward.dropped()
            ));
        }
        match spec.drop {
            Some(index) => self.sender.check_dropped(index),
            None => Ok(()),
        }
    }

    fn record(&self, spec: &RunSpec) -> RunRecord {
        let measured = spec.schedule.iter().filter(|m| match spec.drop {
            Some(index) => m.index == index,
            None => m.measured,
        });
        let samples = measured
            .filter_map(|m| {
                let sent = self.sender.sent_at(m.index)?;
                let delivered = self.receiver.delivered_at(m.index)?;
                Some(Sample {
                    tsn: m.tsn,
                    burst: m.burst,
                    position: m.position,
                    mtt_ms: delivered.since(sent).as_nanos() as f64 / 1e6,
                })
            })
            .collect();
        RunRecord {
            key: spec.key.clone(),
            series: spec.setup.series.clone(),
            cell: spec.setup.cell,
            replication: spec.replication,
            dropped: spec.dropped().map(|m| m.tsn),
            samples,
            recovered_by: spec.drop.and_then(|index| self.sender.recovered_by(index)),
            counters: self.counters(),
        }
    }

    fn counters(&self) -> Counters {
        let stats = self.sender.stats();
        let retransmitted = tresse_core::LossCause::ALL
            .iter()
            .map(|cause| (cause.name().to_owned(), stats.retransmissions_by(*cause)))
            .filter(|(_, n)| *n > 0)
            .collect();
        Counters {
            packets: stats.packets_sent,
            retransmitted,
            timeouts: stats.timeouts,
            duplicates: stats.duplicates_reported,
        }
    }
}
