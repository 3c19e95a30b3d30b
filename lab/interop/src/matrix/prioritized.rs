//! Messages that make room in the send buffer for those that matter more, over a link that is too slow for all (RFC 7496 §3.2).

use std::collections::BTreeSet;

use tresse::{Direction, Reliability};
use tresse_netem::LinkConfig;

use super::ends::{end, on_runtime, suited};
use super::partial::{
    BURST, PAUSE, arrived, is_last, judge_delivered, judge_report, missing, receive_some, send_some,
};
use super::scene::{Plan, Scene};
use tresse_peers::{Payload, Unsupported};
use tresse_wire::Chunk;

/// Half of it does not matter, and the link takes about half of it in the time that it is sent in.
const PAYLOAD: Payload = Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN };
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
        let given_up = send_some(&association, payload, |index| {
            Reliability::Priority(if is_important(payload, index) {
                IMPORTANT
            } else {
                UNIMPORTANT
            })
        })
        .await;
        drop(association);
        let report = end(scene, met).await;
        let missing = missing(scene);
        judge(payload, &missing);
        judge_report(payload, &report, &missing, &given_up);
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
        let received = receive_some(&association, payload, |_| ()).await;
        drop(association);
        assert_eq!(end(scene, met).await.sent, payload.bytes());
        let missing: BTreeSet<u64> = received.missing().into_iter().collect();
        if missing.is_empty() {
            judge_waiting(scene);
        }
        judge(payload, &missing);
        judge_delivered(&arrived(scene, Direction::In), &missing);
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
