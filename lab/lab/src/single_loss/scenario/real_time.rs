//! The same run in real time. What differs from the simulation: the shutdown comes as soon as
//! everything has arrived and a second has passed, instead of 20 s after the last message.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tresse::{AssociationConfig, AssociationStats, StreamId};
use tresse_emulator::Side;
use tresse_netem::LinkConfig;

use super::super::record::{RunRecord, Sample};
use super::super::run::RunSpec;
use super::sender::payload;
use super::{Ended, counters_of};
use crate::real_time::{Done, Place, Role, Stage, Transmissions};

/// Beyond the time that the schedule takes.
const RESERVE: Duration = Duration::from_secs(120);
/// Time for duplicates and their reports.
const SETTLE: Duration = Duration::from_secs(1);

/// Makes the run `spec` and measures it.
///
/// # Errors
/// The invariant that was broken, as in the simulation.
pub(in super::super) fn run(spec: &RunSpec) -> Result<RunRecord, String> {
    // The simulation tells which packet the message is in, where it is sent for the first time.
    let packet = match spec.drop {
        Some(index) => Some(Ended::simulate(spec, None, None)?.packet_of(index)?),
        None => None,
    };
    let setup = &spec.setup;
    let forward = LinkConfig { drop_data: packet.into_iter().collect(), ..setup.forward.clone() };
    let duration = spec.schedule.last().map_or(Duration::ZERO, |m| m.at);
    let stage = Stage::start((&forward, &setup.backward), spec.network_seed(), duration + RESERVE)?;

    let association = setup.association.config(&setup.profile);
    let seen = Transmissions::default();
    let sending = Role {
        association: AssociationConfig { trace: true, ..association.clone() },
        observer: Some(Box::new(seen.clone())),
    };
    let receiving = Role { association, observer: None };
    let told = Done::default();
    let all_there = Arc::clone(&told);
    let ((sent, stats), delivered) = stage.play(
        Side::Left,
        (sending, async |place| send(spec, place, told).await),
        (receiving, async |place| receive(spec, place, all_there).await),
    )?;

    let planned = u64::from(spec.drop.is_some());
    let lost = stage.lost();
    if lost != [planned, 0] {
        return Err(format!(
            "{} packets were lost on the way and {} on the way back, instead of {planned} and 0: \
             the premise of one loss does not hold",
            lost[0], lost[1]
        ));
    }
    let measured = spec.schedule.iter().filter(|m| match spec.drop {
        Some(index) => m.index == index,
        None => m.measured,
    });
    let samples = measured
        .map(|m| {
            let index = m.index as usize;
            let mtt = delivered[index].saturating_duration_since(sent[index]);
            let mtt_ms = mtt.as_secs_f64() * 1e3;
            Sample { tsn: m.tsn, burst: m.burst, position: m.position, mtt_ms }
        })
        .collect();
    let seen = seen.take();
    let first = seen.first().map(|first| first.tsn);
    let recovered_by = spec.drop.zip(first).and_then(|(index, first)| {
        let tsn = first.wrapping_add(index);
        let again = seen.iter().find(|t| t.tsn == tsn && t.number > 1)?;
        again.cause.map(|cause| cause.name().to_owned())
    });
    Ok(RunRecord {
        key: spec.key.clone(),
        series: setup.series.clone(),
        cell: setup.cell,
        replication: spec.replication,
        dropped: spec.dropped().map(|m| m.tsn),
        samples,
        recovered_by,
        counters: counters_of(&stats, 0),
    })
}

/// Sends the schedule over the association that the peer opens, then shuts it down: when each
/// message was handed over, and the counters before the shutdown.
async fn send(
    spec: &RunSpec,
    place: Place,
    all_there: Done,
) -> Result<(Vec<Instant>, AssociationStats), String> {
    let association = place.accept().await?;
    let start = Instant::now();
    let mut sent = Vec::with_capacity(spec.schedule.len());
    for message in spec.schedule.iter() {
        let due = start + message.at;
        if due > Instant::now() {
            sleep_until(due).await;
        }
        let payload = payload(message.index, spec.setup.bursts.message_bytes);
        sent.push(Instant::now());
        // The send buffer is for the stack to fill; a program of the paper would block as well.
        let result = association.send(StreamId(0), payload).await;
        result.map_err(|error| format!("message {} was refused: {error}", message.index))?;
    }
    all_there.notified().await;
    sleep(SETTLE).await;
    let stats = association.stats();
    association.shutdown().await.map_err(|error| format!("the sender's association: {error}"))?;
    Ok((sent, stats))
}

/// Opens the association and takes the messages: when each came.
async fn receive(spec: &RunSpec, place: Place, all_there: Done) -> Result<Vec<Instant>, String> {
    let association = place.connect().await?;
    let mut delivered = Vec::with_capacity(spec.schedule.len());
    while let Ok(received) = association.recv().await {
        let now = Instant::now();
        let index = delivered.len() as u32;
        if received.payload != payload(index, spec.setup.bursts.message_bytes) {
            return Err(format!("message {index} is not what was sent"));
        }
        delivered.push(now);
        if delivered.len() == spec.schedule.len() {
            all_there.notify_one();
        }
    }
    if delivered.len() != spec.schedule.len() {
        return Err(format!("{} of {} messages arrived", delivered.len(), spec.schedule.len()));
    }
    Ok(delivered)
}
