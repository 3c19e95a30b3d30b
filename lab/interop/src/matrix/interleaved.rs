//! A large message on one stream, and small ones on all, in between its fragments (RFC 8260).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{Association, Direction, Ppid, SendOptions, StreamId};
use tresse_netem::LinkConfig;
use tresse_wire::Chunk;

use super::Stack;
use super::ends::{end, on_runtime, suited};
use super::scene::{Met, Plan, Scene};
use tresse_peers::{Payload, PeerReport, Received, Unsupported};

/// The small ones come in bursts while the large one is on its way.
const PAYLOAD: Payload = Payload { messages: 160, size: 500, streams: 4, ..Payload::PLAIN };
const BURST: u64 = 8;
const PAUSE: Duration = Duration::from_millis(10);
/// This many of those that do not wait for the large one in its stream have to come before it.
const BEFORE: usize = 40;

/// The large one takes 200 ms, or 2 s.
fn plan(scene: &Scene<'_>, options: &str) -> Plan {
    let first = scene.amount(500_000, 5_000_000) as usize;
    let link = LinkConfig { queue_packets: Some(1_000), ..LinkConfig::new(20_000.0, 5.0) };
    let options = format!("--with interleaving --first {first} --close wait {options}");
    let plan = Plan::new(Payload { first: Some(first), ..PAYLOAD }, &options);
    Plan { links: Some([link.clone(), link]), interleaving: true, ..suited(scene, &plan) }
}

/// Tresse sends.
pub(super) fn sent(scene: &Scene<'_>) {
    let result = catch_unwind(AssertUnwindSafe(|| send_to_peer(scene)));
    if result.is_err() {
        judge_window(scene);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn send_to_peer(scene: &Scene<'_>) {
    let plan = plan(scene, "--send 0");
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = meet(scene, &plan).await;
        send(&met.association, payload).await;
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let sum = payload.sum(payload.messages);
        let (received, messages) = (payload.bytes(), payload.messages);
        let expected = PeerReport { received, messages, sum, sent: 0, end: "shutdown".into() };
        assert_eq!(end(scene, met).await, expected);
        judge(scene, Direction::Out);
    });
}

/// The peer sends, and Tresse gets small messages before the large one is complete.
pub(super) fn received(scene: &Scene<'_>) {
    let result = catch_unwind(AssertUnwindSafe(|| receive_from_peer(scene)));
    // What the peer sent is judged whatever became of the cell.
    judge_numbers(scene);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn receive_from_peer(scene: &Scene<'_>) {
    let options = format!("--receive 0 --interval {} --burst {BURST}", PAUSE.as_millis());
    let plan = plan(scene, &options);
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = meet(scene, &plan).await;
        let (mut received, mut before) = (Received::new(payload), None);
        while !received.is_complete() {
            let message = met.association.recv().await.unwrap_or_else(|closed| {
                panic!("ended after {} messages: {closed}", received.messages())
            });
            if message.payload.len() > payload.size {
                before = Some(received.messages() as usize);
            }
            let (stream, ppid) = (message.stream.0, message.ppid.0);
            received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
        }
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.received, report.sent), (0, payload.bytes()));
        judge(scene, Direction::In);
        let before = before.expect("all have come");
        assert!(before >= BEFORE, "{before} small messages came before the large one");
    });
}

/// Both have agreed.
pub(super) async fn meet(scene: &Scene<'_>, plan: &Plan) -> Met {
    let met = scene.meet(plan).await;
    let metrics = met.association.metrics();
    assert!(metrics.info.extensions.interleaving, "the peer does not interleave messages");
    met
}

async fn send(association: &Association, payload: Payload) {
    for index in 0..payload.messages {
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
        if (index + 1).is_multiple_of(BURST) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// All data was in I-DATA chunks, and between the fragments of the large message were other ones.
fn judge(scene: &Scene<'_>, side: Direction) {
    let (mut data, mut chunks) = (0, BTreeMap::new());
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::IData(chunk) if direction == side => {
            chunks.insert(chunk.tsn.0, (chunk.stream.0, chunk.mid.0));
        }
        Chunk::Data(_) => data += 1,
        _ => {}
    });
    assert_eq!(data, 0, "DATA chunks");
    // Some 3600 of them are the large one's at most: the TSNs do not wrap within half of their range.
    let start = *chunks.keys().next().expect("I-DATA chunks");
    let far = chunks.keys().any(|tsn| tsn.wrapping_sub(start) > u32::MAX / 2);
    let offset = if far { u32::MAX / 2 + 1 } else { 0 };
    let order: BTreeMap<u32, _> =
        chunks.iter().map(|(tsn, message)| (tsn.wrapping_add(offset), *message)).collect();
    let order: Vec<_> = order.into_values().collect();
    let large = |message: &(u16, u32)| *message == (0, 0);
    let first = order.iter().position(large).expect("the large one");
    let last = order.iter().rposition(large).expect("the large one");
    let between: BTreeSet<_> = order[first..last].iter().filter(|m| !large(m)).collect();
    assert!(between.len() >= BEFORE, "{} messages between its fragments", between.len());
}

/// RFC 8260 §2.1: "The FSN is used to enumerate all fragments of a single user message, starting from 0 and incremented by 1",
/// and of a first one it "is implicitly considered to be 0": no other one has it.
fn judge_numbers(scene: &Scene<'_>) {
    let mut again = false;
    scene.recorder.chunks(|direction, chunk| {
        if let (Direction::In, Chunk::IData(data)) = (direction, chunk) {
            again |= !data.flags.beginning && data.fsn.0 == 0;
        }
    });
    if again {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} numbers the fragments of a message from the second one on, which has the FSN of the first one, 0 (RFC \
             8260 §2.1)"
        ))
        .raise();
    }
}

/// The peer has acknowledged all fragments of the large message that were sent, in order, and its window is closed all the same:
/// it puts none together.
fn judge_window(scene: &Scene<'_>) {
    if scene.cell.peer != Stack::Linux {
        return;
    }
    let (mut sent, mut last) = (BTreeMap::new(), None);
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::IData(data)) if (data.stream.0, data.mid.0) == (0, 0) => {
            sent.insert(data.fsn.0, data.tsn);
        }
        // The last ones are those of the end.
        (Direction::In, Chunk::Sack(sack)) if sack.a_rwnd == 0 => {
            last = Some((sack.cumulative_tsn_ack, sack.gap_blocks().count()));
        }
        _ => {}
    });
    let Some((acknowledged, 0)) = last else { return };
    // But for the one that asks whether the window is still closed.
    let missing = sent.values().filter(|tsn| tsn.follows(acknowledged)).count();
    if sent.len() > 2 && missing <= 1 {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} acknowledges the fragments of a large message in order until its window is closed, and hands none of \
             them to its program (RFC 8260 §2.1)"
        ))
        .raise();
    }
}
