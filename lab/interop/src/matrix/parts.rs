//! A large message that its reader gets in parts while it still comes, and one whose rest never comes (partial delivery, RFC 9260
//! §6.9; RFC 6458 §6.1.7, §8.1.21).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use tresse::{Association, Direction, MessagePart, Ppid, Reliability, SendOptions, StreamId, Tsn};
use tresse_netem::LinkConfig;
use tresse_peers::traffic::all_of;
use tresse_peers::{Direction as Way, Meddler, Payload, PeerReport, Received, Unsupported};
use tresse_wire::{Chunk, Packet};

use super::Role;
use super::ends::{end, on_runtime, suited};
use super::partial::arrived;
use super::scene::{Plan, Scene};

/// A large message, and small ones behind it.
const PAYLOAD: Payload =
    Payload { messages: 40, size: 500, first: Some(1_000_000), streams: 4, ..Payload::PLAIN };
/// From so many bytes on a part of it may be read.
const POINT: usize = 8_192;
/// Some stacks send no message that is larger than their buffer.
const ROOM: usize = 4_000_000;
/// The packet with data that is lost where the large message is given up: some of it has been read by then.
const LOST: u64 = 100;

/// Through a network in which somebody may take a packet away.
fn plan(scene: &Scene<'_>, more: &str, meddler: Option<Arc<dyn Meddler>>) -> Plan {
    let link = LinkConfig { queue_packets: Some(1_000), ..LinkConfig::new(20_000.0, 5.0) };
    let first = PAYLOAD.first.unwrap_or_default();
    let plan = Plan::new(PAYLOAD, &format!("--first {first} --close wait {more}"));
    Plan { links: Some([link.clone(), link]), meddler, ..suited(scene, &plan) }
}

/// Tresse sends, and the peer reads parts.
pub(super) fn sent(scene: &Scene<'_>) {
    let plan = plan(scene, &format!("--send 0 --partial-delivery {POINT}"), None);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        send(&met.association, plan.payload, Reliability::Full).await;
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(plan.payload, "shutdown") });
        let words = scene.words.lock().expect("nobody panics here");
        let parts = words.iter().find_map(|line| line.strip_prefix("PARTS "));
        let parts: usize = parts.and_then(|n| n.parse().ok()).expect("the peer counts them");
        assert!(parts > 1, "{words:?}");
    });
}

/// The peer sends, and Tresse reads parts.
pub(super) fn received(scene: &Scene<'_>) {
    let options = format!("--receive 0 --send-buffer {ROOM}");
    let plan = Plan { partial_delivery: Some(POINT), ..plan(scene, &options, None) };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let read = read(&met.association, Received::new(plan.payload)).await;
        assert!(read.parts > 1, "{read:?}");
        assert_eq!(read.aborted, None);
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.received, report.sent), (0, plan.payload.bytes()));
    });
}

/// Tresse gives up what the peer has read a part of.
pub(super) fn abandoned(scene: &Scene<'_>) {
    let more = format!("--send 0 --partial --partial-delivery {POINT}");
    let plan = plan(scene, &more, Some(Loser::of(scene.cell.role)));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        send(&met.association, plan.payload, Reliability::Retransmissions(0)).await;
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        let payload = plan.payload;
        let small = payload.sum_of(1..payload.messages);
        assert_eq!((report.messages, report.sum), (payload.messages - 1, small));
        let words = scene.words.lock().expect("nobody panics here");
        let aborted = words.iter().any(|line| line == "PARTIAL DELIVERY ABORTED");
        assert!(aborted && words.iter().any(|line| line == "MISSING 0"), "{words:?}");
    });
}

/// The peer does, and Tresse has.
pub(super) fn abandoned_by_peer(scene: &Scene<'_>) {
    let sender = if scene.cell.role == Role::Client { Role::Server } else { Role::Client };
    let loser = Loser::of(sender);
    let result = catch_unwind(AssertUnwindSafe(|| receive_some(scene, loser.clone())));
    if result.is_err() {
        // What the peer sent is judged.
        arrived(scene, Direction::In);
        judge_again(scene, &loser);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

/// RFC 7496 §3.1: what may not be sent again is given up.
fn judge_again(scene: &Scene<'_>, loser: &Loser) {
    let lost = loser.lost.lock().expect("nobody panics here");
    let mut again = false;
    scene.recorder.chunks(|direction, chunk| {
        if let (Direction::In, Chunk::Data(data)) = (direction, chunk) {
            again |= lost.contains(&data.tsn);
        }
    });
    if again {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} sends a part of a large message again that may be sent once, and does not give it up (RFC 7496 §3.1)"
        ))
        .raise();
    }
}

fn receive_some(scene: &Scene<'_>, loser: Arc<dyn Meddler>) {
    let options = format!("--receive 0 --retransmissions 0 --send-buffer {ROOM}");
    let plan = plan(scene, &options, Some(loser));
    let plan = Plan { partial_delivery: Some(POINT), ..plan };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let read = read(&met.association, Received::partial(plan.payload)).await;
        let aborted = read.aborted.as_ref().expect("nothing was given up");
        assert!(*aborted > 0, "{read:?}");
        assert!(read.missing.contains(&0), "{read:?}");
        met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.received, report.sent), (0, plan.payload.bytes()));
    });
}

/// Sends all; what the large one is worth is said.
async fn send(association: &Association, payload: Payload, first: Reliability) {
    for index in 0..payload.messages {
        let reliability = Some(if index == 0 { first } else { Reliability::Full });
        let ppid = Ppid(payload.ppid(index));
        let options = SendOptions { ppid, reliability, ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}

/// What was read.
#[derive(Debug)]
struct Read {
    /// In how many parts the large message came.
    parts: usize,
    /// Bytes of it that were read when it was given up.
    aborted: Option<usize>,
    /// What did not come.
    missing: Vec<u64>,
}

/// Reads until all is there that comes, and verifies it.
async fn read(association: &Association, mut received: Received) -> Read {
    let (mut bytes, mut parts, mut aborted) = (Vec::new(), 0, None);
    while !received.is_complete() {
        let message = association.recv().await.unwrap_or_else(|closed| {
            panic!("ended after {} messages: {closed}", received.messages())
        });
        let (stream, ppid) = (message.stream.0, message.ppid.0);
        match message.part {
            MessagePart::Whole => {
                received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
            }
            MessagePart::First | MessagePart::Middle => {
                assert_eq!(message.part == MessagePart::First, bytes.is_empty());
                bytes.extend_from_slice(&message.payload);
                parts += 1;
            }
            MessagePart::Last => {
                bytes.extend_from_slice(&message.payload);
                parts += 1;
                received.accept(stream, ppid, message.unordered, &bytes).unwrap();
            }
            MessagePart::Aborted => {
                let whole = PAYLOAD.message(0);
                assert!(whole.starts_with(&bytes), "a part is not as it was sent");
                aborted = Some(bytes.len());
            }
        }
    }
    Read { parts, aborted, missing: received.missing().into_iter().collect() }
}

/// Takes away one packet with data.
#[derive(Debug)]
struct Loser {
    way: Way,
    /// Packets with data so far.
    seen: Mutex<u64>,
    /// What was lost.
    lost: Mutex<Vec<Tsn>>,
}

impl Loser {
    /// Of what that end sends.
    fn of(sender: Role) -> Arc<Loser> {
        let way = if sender == Role::Client { Way::ToServer } else { Way::ToClient };
        Arc::new(Loser { way, seen: Mutex::default(), lost: Mutex::default() })
    }
}

impl Meddler for Loser {
    fn pass(&self, way: Way, datagram: &mut Vec<u8>) -> bool {
        let Ok(packet) = Packet::parse_unverified(datagram) else { return true };
        let chunks = packet.chunks().map_while(Result::ok).map_while(|one| Chunk::parse(one).ok());
        let tsns: Vec<Tsn> = chunks
            .filter_map(|one| if let Chunk::Data(data) = one { Some(data.tsn) } else { None })
            .collect();
        if way != self.way || tsns.is_empty() {
            return true;
        }
        let mut seen = self.seen.lock().expect("nobody panics here");
        *seen += 1;
        if *seen == LOST {
            *self.lost.lock().expect("nobody panics here") = tsns;
        }
        *seen != LOST
    }
}
