//! One run: the network and both programs are built, run to the end, checked, and measured.
//!
//! As in the experiments of Hurtig & Brunstrom §3, the receiver of the data opens the
//! association, and the sender answers with its bursts.

#[cfg(real_time)]
pub(super) mod real_time;
mod receiver;
mod sender;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use tresse_core::{AssociationConfig, AssociationStats, EndpointConfig, Time};
use tresse_netem::LinkConfig;
use tresse_sim::{HostId, LinkId, Route, Simulation, StopReason};

use super::record::{Counters, RunRecord, Sample};
use super::run::RunSpec;
use crate::capture;
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
pub(super) fn run(spec: &RunSpec, capture: Option<&Path>) -> Result<RunRecord, String> {
    let Some(index) = spec.drop else {
        let ended = Ended::simulate(spec, None, capture)?;
        ended.check(0)?;
        return Ok(ended.record(spec));
    };
    // Each message has a packet of its own, so message n is packet n, unless the sender has sent
    // an earlier one again without need.
    let mut packet = u64::from(index) + 1;
    let mut ended = Ended::simulate(spec, Some(packet), capture)?;
    if !ended.sender().first_packet_is(index, packet) {
        // Up to the loss, a run without it goes the same way and shows which packet it is.
        packet = Ended::simulate(spec, None, None)?.packet_of(index)?;
        ended = Ended::simulate(spec, Some(packet), capture)?;
        if !ended.sender().first_packet_is(index, packet) {
            return Err(format!("packet {packet} is not the first one of message {index}"));
        }
    }
    ended.check(1)?;
    Ok(ended.record(spec))
}

/// A run after its end.
struct Ended {
    simulation: Simulation,
    sender: HostId,
    receiver: HostId,
    forward: LinkId,
    backward: LinkId,
}

impl Ended {
    /// Runs the simulation, in which the forward link drops the packet with data numbered
    /// `dropped`, counted from 1.
    fn simulate(
        spec: &RunSpec,
        dropped: Option<u64>,
        capture: Option<&Path>,
    ) -> Result<Ended, String> {
        let setup = &spec.setup;
        let mut simulation = Simulation::new(spec.network_seed());
        simulation.set_event_limit(EVENT_LIMIT);

        let association = setup.association.config(&setup.profile);
        let bytes = setup.bursts.message_bytes;
        let endpoint = |address| EndpointConfig {
            local_port: PORT,
            local_addresses: vec![address],
            ..EndpointConfig::default()
        };
        let sender_config = EndpointConfig {
            accept: true,
            association: AssociationConfig { trace: true, ..association.clone() },
            ..endpoint(SENDER)
        };
        let program = Sender::new(Arc::clone(&spec.schedule), bytes);
        let sender = simulation.add_host("sender", sender_config, Box::new(program));
        let program = Receiver::new(SENDER, PORT, association, bytes);
        let receiver = simulation.add_host("receiver", endpoint(RECEIVER), Box::new(program));

        let config =
            LinkConfig { drop_data: dropped.into_iter().collect(), ..setup.forward.clone() };
        let forward = simulation
            .add_link(sender, receiver, Route::to(RECEIVER), config)
            .map_err(|e| format!("forward link: {e}"))?;
        let backward = simulation
            .add_link(receiver, sender, Route::to(SENDER), setup.backward.clone())
            .map_err(|e| format!("backward link: {e}"))?;
        if let Some(folder) = capture {
            capture::begin(&mut simulation, folder, &spec.name(), (sender, receiver))?;
        }
        let reason = simulation.run(LIMIT);
        simulation.finish_captures().map_err(|e| format!("cannot write the capture: {e}"))?;
        if reason != StopReason::Idle {
            return Err(format!("did not come to an end: {reason:?} at {:?}", simulation.now()));
        }
        Ok(Ended { simulation, sender, receiver, forward, backward })
    }

    fn sender(&self) -> &Sender {
        self.simulation.app(self.sender)
    }

    /// The packet with data, counted from 1, that carries message `index` for the first time.
    fn packet_of(&self, index: u32) -> Result<u64, String> {
        let packet = self.sender().first_packet_of(index);
        packet.ok_or_else(|| format!("message {index} was never sent"))
    }

    fn receiver(&self) -> &Receiver {
        self.simulation.app(self.receiver)
    }

    fn check(&self, planned: u64) -> Result<(), String> {
        self.sender().check()?;
        self.receiver().check(self.sender().messages())?;
        let forward = self.simulation.link_stats(self.forward).dropped();
        let backward = self.simulation.link_stats(self.backward).dropped();
        if forward != planned || backward != 0 {
            return Err(format!(
                "{forward} packets were dropped on the way and {backward} on the way back, \
                 instead of {planned} and 0: the premise of one loss does not hold"
            ));
        }
        Ok(())
    }

    fn record(&self, spec: &RunSpec) -> RunRecord {
        let measured = spec.schedule.iter().filter(|m| match spec.drop {
            Some(index) => m.index == index,
            None => m.measured,
        });
        let samples = measured
            .filter_map(|m| {
                let sent = self.sender().sent_at(m.index)?;
                let delivered = self.receiver().delivered_at(m.index)?;
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
            recovered_by: spec.drop.and_then(|index| self.sender().recovered_by(index)),
            counters: counters_of(self.sender().stats(), self.simulation.stats().packets_sent),
        }
    }
}

/// What the sender did, and how many packets the simulation carried.
fn counters_of(stats: &AssociationStats, simulated: u64) -> Counters {
    let retransmitted = tresse_core::LossCause::ALL
        .iter()
        .map(|cause| (cause.name().to_owned(), stats.retransmissions_by(*cause)))
        .filter(|(_, n)| *n > 0)
        .collect();
    Counters {
        packets: stats.packets_sent,
        simulated,
        retransmitted,
        timeouts: stats.timeouts,
        duplicates: stats.duplicates_reported,
    }
}
