//! Messages that make room in the send buffer for those that matter more, over a link that is too slow for all (RFC 7496 §3.2).

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::time::Duration;

use tresse::{Direction, Ppid, Reliability, SendOptions, StreamId};
use tresse_netem::LinkConfig;

use super::ends::{end, on_runtime, suited};
use super::partial::{arrived, given_up, missing};
use super::scene::{Plan, Scene};
use tresse_peers::{Payload, Received, Unsupported};
use tresse_wire::Chunk;

/// Half of it does not matter, and the link takes about half of it in the time that it is sent in.
const PAYLOAD: Payload =
    Payload { messages: 400, size: 500, streams: 4, unordered: false, ppid: None, first: None };
const BURST: u64 = 8;
const PAUSE: Duration = Duration::from_millis(20);
const RATE_KBPS: f64 = 800.0;
/// What may wait at the sender: its buffer is full most of the time.
const BUFFER: usize = 32_768;
/// Priorities, the lower number being the more important one (`conformance/interop/peer.h`).
const IMPORTANT: u32 = 1;
const UNIMPORTANT: u32 = 9;

/// On each stream every second message.
fn is_important(payload: Payload, index: u64) -> bool {
    (index / u64::from(payload.streams)).is_multiple_of(2)
}

/// The last one of each stream shows that all has come.
fn is_last(payload: Payload, index: u64) -> bool {
    index + u64::from(payload.streams) >= payload.messages
}

fn plan(scene: &Scene<'_>, options: &str) -> Plan {
    // Losses keep the window small: most of what waits was never sent.
    let link = LinkConfig { queue_packets: Some(6), ..LinkConfig::new(RATE_KBPS, 5.0) };
    let options = format!("{options} --close wait");
    Plan {
        links: Some([link.clone(), link]),
        send_buffer: Some(BUFFER),
        ..suited(scene, &Plan::new(PAYLOAD, &options))
    }
}

/// Tresse sends: what matters arrives, and what does not made room for it.
pub(super) fn sent(scene: &Scene<'_>) {
    let plan = plan(scene, "--send 0 --partial");
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let events = met.association.clone();
        let told = tokio::spawn(given_up(events));
        for index in 0..payload.messages {
            let reliability = if is_last(payload, index) {
                Reliability::Full
            } else if is_important(payload, index) {
                Reliability::Priority(IMPORTANT)
            } else {
                Reliability::Priority(UNIMPORTANT)
            };
            let options = SendOptions {
                ppid: Ppid(payload.ppid(index)),
                context: index as u32,
                reliability: Some(reliability),
                ..SendOptions::default()
            };
            let stream = StreamId(payload.stream(index));
            association.send_with(stream, payload.message(index), options).await.unwrap();
            if (index + 1).is_multiple_of(BURST) {
                tokio::time::sleep(PAUSE).await;
            }
        }
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let given_up = told.await.unwrap_or_else(|e| resume_unwind(e.into_panic()));
        drop(association);
        let report = end(scene, met).await;
        let missing = missing(scene);
        judge(payload, &missing);
        let lost: Vec<&u64> = missing.difference(&given_up).collect();
        assert!(lost.is_empty(), "messages {lost:?} were lost and not given up");
        let came = || (0..payload.messages).filter(|index| !missing.contains(index));
        assert_eq!(report.messages, came().count() as u64);
        assert_eq!(report.sum, payload.sum_of(came()));
    });
}

/// The peer sends.
pub(super) fn received(scene: &Scene<'_>) {
    let options = format!(
        "--receive 0 --priorities {IMPORTANT},{UNIMPORTANT} --send-buffer {BUFFER} --interval {} --burst {BURST}",
        PAUSE.as_millis()
    );
    let plan = plan(scene, &options);
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let mut received = Received::partial(payload);
        while !received.is_complete() {
            let message = association.recv().await.unwrap_or_else(|closed| {
                panic!("ended after {} messages: {closed}", received.messages())
            });
            let (stream, ppid) = (message.stream.0, message.ppid.0);
            received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
        }
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        drop(association);
        assert_eq!(end(scene, met).await.sent, payload.bytes());
        let missing: BTreeSet<u64> = received.missing().iter().copied().collect();
        if missing.is_empty() {
            judge_waiting(scene);
        }
        judge(payload, &missing);
        let dropped: Vec<u64> = arrived(scene).intersection(&missing).copied().collect();
        assert!(dropped.is_empty(), "messages {dropped:?} arrived and were not delivered");
    });
}

/// The peer's program could not send as fast as it wanted to, so that its buffer was full, and nothing was given up.
fn judge_waiting(scene: &Scene<'_>) {
    let (mut times, mut forwards) = (Vec::new(), 0);
    scene.recorder.timed_chunks(|direction, at, chunk| match chunk {
        Chunk::Data(_) if direction == Direction::In => times.push(at),
        Chunk::ForwardTsn(_) if direction == Direction::In => forwards += 1,
        _ => {}
    });
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return };
    let planned = PAUSE * (PAYLOAD.messages / BURST) as u32;
    if forwards == 0 && last.saturating_sub(*first) > planned * 3 / 2 {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} makes no room for a whole message: its full buffer holds up the program, no FORWARD TSN comes, and everything \
             arrives in the end (RFC 7496 §3.2)"
        ))
        .raise();
    }
}

/// What did not arrive does not matter.
fn judge(payload: Payload, missing: &BTreeSet<u64>) {
    assert!(!missing.is_empty(), "nothing was given up");
    let important: Vec<&u64> = missing
        .iter()
        .filter(|index| is_important(payload, **index) || is_last(payload, **index))
        .collect();
    assert!(important.is_empty(), "messages {important:?} matter and did not arrive");
}
