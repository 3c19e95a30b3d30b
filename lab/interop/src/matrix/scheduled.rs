//! Streams with messages that are queued all at once, and the scheduler that says which one sends next (RFC 8260 §3).

use std::collections::{BTreeMap, BTreeSet};

use tresse::profile::StreamScheduler::{self, *};
use tresse::{Association, Direction, Ppid, SendOptions, StreamId};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, Packet};

use super::ends::{end, on_runtime, suited};
use super::scene::{Met, Plan, Scene};
use super::{Stack, Subject, interleaved};
use tresse_peers::traffic::{all_of, blocking, receive_all};
use tresse_peers::{Payload, PeerReport};

/// Most messages take several packets. They are queued stream by stream, so that each scheduler has an order of its own.
const PAYLOAD: Payload =
    Payload { messages: 240, size: 2_000, uneven: true, streams: 4, ..Payload::PLAIN };
/// Of one chunk each ([`payload_for`]).
const SHORT: Payload = Payload { messages: 1_200, size: 400, ..PAYLOAD };
/// It takes all of that, whatever a stack counts beside the data.
const BUFFER: usize = 16 << 20;
/// What leaves a peer before all is queued there, less than a quarter of it.
const WINDOW: u32 = 20_000;
const RATE_KBPS: f64 = 20_000.0;
/// What a sender may have sent too much on a stream, in bytes: some messages, as fairness is theirs.
const DEVIATION: f64 = 10_000.0;

/// Who sends.
#[derive(Clone, Copy)]
enum Sender {
    Tresse,
    Peer,
}

/// A scheduler, and what the peers call it.
type Named = (&'static str, StreamScheduler);
const FIRST_COME: Named = ("first-come-first-served", FirstComeFirstServed);
const IN_TURN: Named = ("round-robin", RoundRobin);
const PER_PACKET: Named = ("round-robin-per-packet", RoundRobinPerPacket);
const BY_PRIORITY: Named = ("priority", Priority);
const FAIR: Named = ("fair-capacity", FairCapacity);
const WEIGHTED: Named = ("weighted-fair-queueing", WeightedFairQueueing);

/// Those of a peer. What cannot choose is asked all the same, and says so.
fn schedulers_of(peer: Stack) -> &'static [Named] {
    match peer {
        Stack::Linux => &[FIRST_COME, IN_TURN, BY_PRIORITY],
        // Its default is another one that takes messages of streams in turn.
        Stack::Usrsctp => {
            &[FIRST_COME, IN_TURN, ("default", RoundRobin), BY_PRIORITY, FAIR, PER_PACKET]
        }
        Stack::Pion => &[IN_TURN, WEIGHTED],
        Stack::Dcsctp | Stack::SctpProto => &[WEIGHTED],
    }
}

fn is_interleaved(scene: &Scene<'_>) -> bool {
    matches!(
        scene.cell.subject,
        Subject::SchedulersInterleaved | Subject::SchedulersInterleavedByPeer
    )
}

/// What is sent with a scheduler, by Tresse or by the peer.
fn payload_for(scene: &Scene<'_>, sender: Sender, scheduler: StreamScheduler) -> Payload {
    let interleaving = is_interleaved(scene);
    let short = match (scene.cell.peer, sender, scheduler) {
        // It neither sends nor puts together messages of several I-DATA chunks (RFC 8260 §2.1).
        (Stack::Linux, ..) if interleaving => true,
        // What is left of a message counts once more with each of its chunks: shares are of messages, not of bytes.
        (Stack::Usrsctp, Sender::Peer, FairCapacity) => true,
        // Packets with several messages of one stream are not those of round robin.
        (.., RoundRobinPerPacket) => true,
        _ => false,
    };
    let payload = if short { SHORT } else { PAYLOAD };
    Payload { messages: payload.messages * scene.amount(1, 4), ..payload }
}

fn plan(scene: &Scene<'_>, payload: Payload, options: &str) -> Plan {
    let interleaving = is_interleaved(scene);
    let with = if interleaving { " --with interleaving" } else { "" };
    let options = format!("--uneven --close wait{with} {options}");
    Plan { interleaving, ..suited(scene, &Plan::new(payload, &options)) }
}

/// Tresse sends, with each of its schedulers.
pub(super) fn sent(scene: &Scene<'_>) {
    for &scheduler in StreamScheduler::ALL {
        let payload = payload_for(scene, Sender::Tresse, scheduler);
        // It leaves more slowly than it is queued.
        let link = LinkConfig { queue_packets: Some(1_000), ..LinkConfig::new(RATE_KBPS, 5.0) };
        let plan = Plan {
            links: Some([link.clone(), link]),
            send_buffer: Some(BUFFER),
            scheduler: Some(scheduler),
            ..plan(scene, payload, "--send 0")
        };
        let payload = plan.payload;
        scene.begin_anew();
        on_runtime(scene, async {
            let met = meet(scene, &plan).await;
            send(&met.association, payload, scheduler).await;
            met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
            let report = end(scene, met).await;
            assert_eq!(report, PeerReport { sent: 0, ..all_of(payload, "shutdown") });
        });
        judge(scene, Direction::Out, payload, scheduler);
    }
}

/// The peer sends, with each of its own.
pub(super) fn received(scene: &Scene<'_>) {
    for &(name, scheduler) in schedulers_of(scene.cell.peer) {
        let options = format!("--receive 0 --by-stream --send-buffer {BUFFER} --scheduler {name}");
        let payload = payload_for(scene, Sender::Peer, scheduler);
        let plan = Plan { receive_buffer: Some(WINDOW), ..plan(scene, payload, &options) };
        scene.begin_anew();
        on_runtime(scene, async {
            let mut met = meet(scene, &plan).await;
            let limit = scene.limit;
            met.peer = blocking(move || {
                met.peer.wait_for("QUEUED", limit);
                met.peer
            })
            .await;
            receive_all(&met.association, plan.payload).await;
            met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
            let report = end(scene, met).await;
            assert_eq!((report.received, report.sent), (0, plan.payload.bytes()));
        });
        judge(scene, Direction::In, plan.payload, scheduler);
    }
}

async fn meet(scene: &Scene<'_>, plan: &Plan) -> Met {
    if plan.interleaving { interleaved::meet(scene, plan).await } else { scene.meet(plan).await }
}

/// Queues all messages. The last stream matters most, or has the largest weight, as with the peers (`conformance/interop/options.h`).
async fn send(association: &Association, payload: Payload, scheduler: StreamScheduler) {
    for stream in 0..payload.streams {
        let value = match scheduler {
            Priority => payload.streams - 1 - stream,
            WeightedFairQueueing => stream + 1,
            _ => continue,
        };
        association.set_stream_value(StreamId(stream), value).expect("it has this stream");
    }
    for index in (0..payload.messages).map(|n| payload.by_stream(n)) {
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}

/// What was chosen at a time: a message, or a chunk of one between others.
#[derive(Clone, Copy)]
struct Turn {
    stream: u16,
    /// The number of the message.
    index: u64,
    /// Whether the message ends.
    ends: bool,
    bytes: usize,
    /// The number of its packet.
    packet: usize,
}

/// The chunks of a direction in the order of their TSNs, each as it was first sent.
fn chunks(scene: &Scene<'_>, way: Direction, payload: Payload) -> Vec<Turn> {
    let (mut packet, mut start, mut chunks) = (0, None, BTreeMap::new());
    let interleaved = is_interleaved(scene);
    scene.recorder.packets_of(way, |bytes| {
        let Ok(parsed) = Packet::parse_unverified(bytes) else { return };
        packet += 1;
        for chunk in parsed.chunks().map_while(Result::ok) {
            let (kind, tsn, stream, number, flags, payload_of) = match Chunk::parse(chunk) {
                Ok(Chunk::Data(data)) => {
                    let number = u64::from(data.ssn.0);
                    (false, data.tsn, data.stream, number, data.flags, data.payload)
                }
                Ok(Chunk::IData(data)) => {
                    let number = u64::from(data.mid.0);
                    (true, data.tsn, data.stream, number, data.flags, data.payload)
                }
                _ => continue,
            };
            assert_eq!(kind, interleaved, "I-DATA chunks");
            let index = number * u64::from(payload.streams) + u64::from(stream.0);
            let (ends, bytes) = (flags.ending, payload_of.len());
            let turn = Turn { stream: stream.0, index, ends, bytes, packet };
            let start = *start.get_or_insert(tsn.0);
            chunks.entry(tsn.0.wrapping_sub(start)).or_insert(turn);
        }
    });
    chunks.into_values().collect()
}

/// Chunks of a message that follow each other are one turn.
fn messages(chunks: &[Turn]) -> Vec<Turn> {
    let same = chunks.chunk_by(|one, next| one.index == next.index);
    same.map(|chunks| {
        let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
        Turn { bytes, ends: chunks.iter().any(|chunk| chunk.ends), ..chunks[0] }
    })
    .collect()
}

/// What was on the wire shows that the scheduler was in force.
fn judge(scene: &Scene<'_>, way: Direction, payload: Payload, scheduler: StreamScheduler) {
    let chunks = chunks(scene, way, payload);
    let sent: usize = chunks.iter().map(|chunk| chunk.bytes).sum();
    assert_eq!(sent as u64, payload.bytes(), "{scheduler:?}: bytes in chunks");
    let whole = !is_interleaved(scene) || scheduler == FirstComeFirstServed;
    let turns = if whole { messages(&chunks) } else { chunks };
    if whole {
        // RFC 9260 §6.9 (2): the fragments of a message in DATA chunks follow each other.
        assert_eq!(
            turns.len() as u64,
            payload.messages,
            "{scheduler:?}: messages in between others"
        );
    }
    let (all, shared) = settled(&turns, payload);
    let order = |turns: &[Turn]| turns.iter().map(|turn| turn.stream).collect::<Vec<_>>();
    match scheduler {
        FirstComeFirstServed => {
            let queued = (0..payload.messages).map(|n| payload.by_stream(n));
            assert!(
                turns.iter().map(|turn| turn.index).eq(queued),
                "{scheduler:?}: {:?}",
                order(&turns)
            );
        }
        Priority => {
            assert!(
                all.is_sorted_by(|one, next| one.stream >= next.stream),
                "{scheduler:?}: {:?}",
                order(all)
            );
        }
        RoundRobin => judge_turns(scheduler, &order(shared), payload),
        RoundRobinPerPacket => {
            assert!(packets(shared).all(is_of_one_stream), "packets with several streams");
            let mut order: Vec<u16> = packets(shared).map(|packet| packet[0].stream).collect();
            // In a turn usrsctp ends a message and begins the next one, though they do not fit into one packet.
            if way == Direction::In {
                order.dedup();
            }
            judge_turns(scheduler, &order, payload);
        }
        FairCapacity => judge_shares(scheduler, shared, payload, |_| 1),
        WeightedFairQueueing => judge_shares(scheduler, shared, payload, |stream| stream + 1),
    }
}

/// What was chosen when everything was queued, which it is when a quarter of it has left; and of that what was chosen
/// while every stream had something.
fn settled(turns: &[Turn], payload: Payload) -> (&[Turn], &[Turn]) {
    let mut bytes = 0;
    let begin = turns.iter().position(|turn| {
        bytes += turn.bytes;
        bytes as u64 * 4 > payload.bytes()
    });
    let all = &turns[begin.expect("there is data")..];
    let last =
        |turn: &Turn| turn.ends && turn.index + u64::from(payload.streams) >= payload.messages;
    (all, &all[..all.iter().position(last).unwrap_or(all.len())])
}

fn packets(turns: &[Turn]) -> impl Iterator<Item = &[Turn]> {
    turns.chunk_by(|one, next| one.packet == next.packet)
}

fn is_of_one_stream(packet: &[Turn]) -> bool {
    packet.iter().all(|turn| turn.stream == packet[0].stream)
}

/// Each stream once, and again.
fn judge_turns(scheduler: StreamScheduler, order: &[u16], payload: Payload) {
    let streams = usize::from(payload.streams);
    assert!(order.len() >= 10 * streams, "{scheduler:?}: {order:?}");
    let in_turn =
        order.windows(streams).all(|w| w.iter().collect::<BTreeSet<_>>().len() == streams);
    assert!(in_turn, "{scheduler:?}: {order:?}");
}

/// Bytes in proportion to the weights.
fn judge_shares(
    scheduler: StreamScheduler,
    turns: &[Turn],
    payload: Payload,
    weight: impl Fn(u16) -> u16,
) {
    let mut bytes = vec![0.0; usize::from(payload.streams)];
    for turn in turns {
        bytes[usize::from(turn.stream)] += turn.bytes as f64;
    }
    let sum: f64 = bytes.iter().sum();
    assert!(sum > 10.0 * DEVIATION, "{scheduler:?}: {bytes:?}");
    let weights: Vec<f64> = (0..payload.streams).map(|stream| f64::from(weight(stream))).collect();
    for (bytes_of, weight) in bytes.iter().zip(&weights) {
        let due = sum * weight / weights.iter().sum::<f64>();
        assert!(
            (bytes_of - due).abs() <= DEVIATION,
            "{scheduler:?}: {bytes:?} by weights {weights:?}"
        );
    }
}
