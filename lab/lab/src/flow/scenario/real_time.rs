//! The same run in real time, for periodic workloads over one path. It ends, like the simulation,
//! when everything has arrived.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tresse::{AssociationStats, StreamId, Time};
use tresse_emulator::Side;
use tresse_sim::apps::{Plan, ScheduledMessage, SinkStats, content};

use super::measured::Measured;
use super::wire::{SharedUnderway, WireObserver, missing_reports};
use super::workload::plan;
use super::{counters, put_times};
use crate::flow::record::Traces;
use crate::flow::run::FlowRun;
use crate::real_time::{Done, Packets, Place, Role, Stage};
use crate::seed;

/// Beyond the time that the workload takes.
const RESERVE: Duration = Duration::from_secs(300);
/// Between the last delivery and the shutdown.
const SETTLE: Duration = Duration::from_millis(500);

/// What the sender knows in the end.
struct Sent {
    connected: (Time, Instant),
    /// When each message was due.
    due: Vec<Instant>,
    stats: AssociationStats,
}

/// What the receiver knows.
struct Received {
    at: Vec<Instant>,
    bytes: u64,
    stats: AssociationStats,
}

/// Makes the run and measures it.
///
/// # Errors
/// The invariant that was broken, as in the simulation.
pub(in super::super) fn run(run: &FlowRun) -> Result<Measured, String> {
    let flow = &run.setup.experiment.kind;
    let (Plan::Schedule(schedule), _) = plan(&flow.workload) else {
        return Err("the workload has no schedule".into());
    };
    if !flow.topology.moves.is_empty() {
        return Err("addresses change in the simulator only".into());
    }
    let duration = Duration::from_secs_f64(flow.workload.duration_s().unwrap_or(0.0));
    let links = (&flow.topology.forward, &flow.topology.backward);
    let network_seed = seed::network(run.seed, run.replication);
    let stage = Stage::start(links, network_seed, duration + RESERVE)?;

    let profile = run.setup.sender.profile()?;
    let association = run.setup.experiment.association(profile);
    let packets = Packets::default();
    let role = |observer| Role { association: association.clone(), observer };
    let told = Done::default();
    let all_there = Arc::clone(&told);
    let schedule = &schedule;
    let (received, sent) = stage.play(
        Side::Right,
        (role(None), async |place| receive(schedule, place, all_there).await),
        (role(Some(Box::new(packets.clone()))), async |place| send(schedule, place, told).await),
    )?;

    let mut sink = SinkStats::default();
    sink.messages = received.at.len() as u64;
    sink.bytes = received.bytes;
    let mut values = counters(&sent.stats, &received.stats, &sink);
    let mut put = |name: &str, value: f64| {
        values.insert(name.to_owned(), value);
    };
    let (origin, began) = sent.connected;
    let seconds = received.at.last().map_or(0.0, |at| (*at - began).as_secs_f64());
    if seconds > 0.0 {
        let rate = received.bytes as f64 / seconds;
        put("goodput_kbps", rate * 8.0 / 1e3);
        put("goodput_kBps", rate / 1e3);
        put("goodput_mbps", rate * 8.0 / 1e6);
    }
    let pairs = received.at.iter().zip(&sent.due);
    let times: Vec<f64> = pairs.map(|(at, due)| (*at - *due).as_secs_f64() * 1e3).collect();
    put_times("transfer_ms", &times, &mut put);
    if flow.observe.retransmissions {
        let observe = run.setup.experiment.kind.observe;
        let wire = WireObserver::new(observe, missing_reports(profile), SharedUnderway::default());
        watch(wire, origin, &packets, &mut values);
    }
    let packets = sent.stats.packets_sent + received.stats.packets_sent;
    Ok(Measured { packets, values, traces: Traces::default() })
}

/// What an analyser on the sender's interface would have seen.
fn watch(
    mut wire: WireObserver,
    origin: Time,
    packets: &Packets,
    values: &mut BTreeMap<String, f64>,
) {
    for (at, outgoing, packet) in packets.take() {
        wire.on_packet(at, outgoing, &packet);
    }
    wire.finish(origin, &[], values, &mut Traces::default());
}

/// Opens the association and sends the schedule.
async fn send(
    schedule: &[ScheduledMessage],
    place: Place,
    all_there: Done,
) -> Result<Sent, String> {
    let association = place.connect().await?;
    let connected = (place.endpoint.now(), Instant::now());
    let mut due = Vec::with_capacity(schedule.len());
    for (index, message) in (0u64..).zip(schedule) {
        let at = connected.1 + message.at.since(Time::ZERO);
        if at > Instant::now() {
            sleep_until(at).await;
        }
        due.push(at);
        let payload = content(index, message.size);
        let result = association.send(StreamId(0), payload).await;
        result.map_err(|error| format!("message {index} was refused: {error}"))?;
    }
    all_there.notified().await;
    // What the simulation, which stops at once, would not count any more.
    let stats = association.stats();
    sleep(SETTLE).await;
    association.shutdown().await.map_err(|error| format!("the association: {error}"))?;
    Ok(Sent { connected, due, stats })
}

/// Takes the messages.
async fn receive(
    schedule: &[ScheduledMessage],
    place: Place,
    all_there: Done,
) -> Result<Received, String> {
    let association = place.accept().await?;
    let mut received = Received { at: Vec::new(), bytes: 0, stats: AssociationStats::default() };
    while let Ok(message) = association.recv().await {
        let (now, index) = (Instant::now(), received.at.len());
        let payload = message.payload;
        let expected = schedule.get(index).map(|m| content(index as u64, m.size));
        if expected.is_none_or(|expected| payload != expected) {
            return Err(format!("message {index} is not what was sent"));
        }
        received.at.push(now);
        received.bytes += payload.len() as u64;
        if received.at.len() == schedule.len() {
            received.stats = association.stats();
            all_there.notify_one();
        }
    }
    if received.at.len() != schedule.len() {
        return Err(format!("{} of {} messages arrived", received.at.len(), schedule.len()));
    }
    Ok(received)
}
