//! Messages that are given up, through a network that loses some (RFC 3758, RFC 7496).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{Association, Direction, Event, Ppid, Reliability, SendOptions, StreamId, Tsn};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, ChunkType, Parameter};

use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use super::{Role, Subject};
use tresse_peers::{Payload, PeerReport, Received, Unsupported};

/// Shorter than the round trip: what is lost is given up.
pub(super) const LIFETIME: Duration = Duration::from_millis(30);
/// One packet holds two messages.
const PAYLOAD: Payload = Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN };
pub(super) const BURST: u64 = 8;
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The round trip takes 40 ms, and what goes from that role to the other gets lost in one of 20 packets.
fn plan(scene: &Scene<'_>, sender: Role, options: &str) -> Plan {
    let whole = LinkConfig { delay_ms: 20.0, ..LinkConfig::default() };
    let lossy = LinkConfig { loss: 0.05, ..whole.clone() };
    let links = if sender == Role::Client { [lossy, whole] } else { [whole, lossy] };
    let interleaving = is_interleaved(scene);
    let with = if interleaving { " --with interleaving" } else { "" };
    let options = format!("{options} --close wait{with}");
    Plan { links: Some(links), interleaving, ..suited(scene, &Plan::new(PAYLOAD, &options)) }
}

fn is_interleaved(scene: &Scene<'_>) -> bool {
    matches!(scene.cell.subject, Subject::LimitedInterleaved | Subject::LimitedInterleavedByPeer)
}

/// RFC 8260 §2.2.1, §2.3.1: where I-DATA was agreed on there is neither DATA nor FORWARD TSN, and both of the others came.
fn judge_kinds(scene: &Scene<'_>, side: Direction) {
    let (mut usual, mut interleaved) = ([0, 0], [0, 0]);
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Data(_) => usual[0] += 1,
        Chunk::ForwardTsn(_) => usual[1] += 1,
        Chunk::IData(_) if direction == side => interleaved[0] += 1,
        Chunk::IForwardTsn(_) if direction == side => interleaved[1] += 1,
        _ => {}
    });
    if is_interleaved(scene) {
        assert_eq!(usual, [0, 0], "DATA and FORWARD TSN chunks");
        assert!(interleaved.iter().all(|n| *n > 0), "I-DATA and I-FORWARD-TSN: {interleaved:?}");
    } else {
        assert_eq!(interleaved, [0, 0], "I-DATA and I-FORWARD-TSN chunks");
    }
}

/// RFC 8260 §2.3.1: "Only if both endpoints indicated their support of user message interleaving and the I-FORWARD-TSN chunk, the
/// partial reliability extension is negotiated".
fn judge_offer(scene: &Scene<'_>) {
    if !is_interleaved(scene) {
        return;
    }
    let mut offered = None;
    scene.recorder.chunks(|direction, chunk| {
        let parameters = match chunk {
            Chunk::Init(init) if direction == Direction::In => init.parameters,
            Chunk::InitAck(ack) if direction == Direction::In => ack.parameters,
            _ => return,
        };
        for parameter in parameters.parsed().map_while(Result::ok) {
            if let Parameter::SupportedExtensions(types) = parameter {
                offered = Some(
                    [ChunkType::I_DATA, ChunkType::I_FORWARD_TSN].map(|t| types.contains(&t.0)),
                );
            }
        }
    });
    if offered == Some([true, false]) {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} lists I-DATA among its Supported Extensions and not I-FORWARD-TSN: nothing may be given up then (RFC 8260 \
             §2.3.1)"
        ))
        .raise();
    }
}

/// Tresse sends, and the peer gets what was not given up, in order.
pub(super) fn sent(scene: &Scene<'_>, policy: Reliability) {
    let result = catch_unwind(AssertUnwindSafe(|| send(scene, policy)));
    judge_offer(scene);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

/// The last one of each stream shows that all has come.
pub(super) fn is_last(payload: Payload, index: u64) -> bool {
    index + u64::from(payload.streams) >= payload.messages
}

/// Sends all messages in bursts, the last one of each stream reliably, and shuts down. The numbers of the messages that
/// were given up.
pub(super) async fn send_some(
    association: &Association,
    payload: Payload,
    reliability: impl Fn(u64) -> Reliability,
) -> BTreeSet<u64> {
    let told = tokio::spawn(given_up(association.clone()));
    for index in 0..payload.messages {
        let last = is_last(payload, index);
        let options = SendOptions {
            ppid: Ppid(payload.ppid(index)),
            context: index as u32,
            reliability: Some(if last { Reliability::Full } else { reliability(index) }),
            ..SendOptions::default()
        };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
        if (index + 1).is_multiple_of(BURST) {
            tokio::time::sleep(PAUSE).await;
        }
    }
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    told.await.unwrap_or_else(|e| resume_unwind(e.into_panic()))
}

/// What arrives until all has come; then shuts down.
pub(super) async fn receive_some(association: &Association, payload: Payload) -> Received {
    let mut received = Received::partial(payload);
    while !received.is_complete() {
        let message = association.recv().await.unwrap_or_else(|closed| {
            panic!("ended after {} messages: {closed}", received.messages())
        });
        let (stream, ppid) = (message.stream.0, message.ppid.0);
        received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
    }
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    received
}

/// The numbers of the messages that were given up, once the association is over.
async fn given_up(events: Association) -> BTreeSet<u64> {
    let mut given_up = BTreeSet::new();
    while let Some(event) = events.next_event().await {
        match event {
            Event::Abandoned(failure) => {
                given_up.insert(u64::from(failure.context));
            }
            Event::SendFailed(_) | Event::Expired(_) => panic!("{event:?}"),
            _ => {}
        }
    }
    given_up
}

fn send(scene: &Scene<'_>, policy: Reliability) {
    let plan = plan(scene, scene.cell.role, "--send 0 --partial");
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let given_up = send_some(&association, payload, |_| policy).await;
        let stats = association.stats();
        drop(association);
        let report = end(scene, met).await;
        judge_kinds(scene, Direction::Out);
        let missing = missing(scene);
        assert!(stats.forward_tsns_sent > 0, "no FORWARD TSN was needed");
        assert!(!missing.is_empty(), "nothing was lost for good");
        judge_report(payload, &report, &missing, &given_up);
    });
}

/// What the peer has got is all that is not missing, and what is missing was given up.
pub(super) fn judge_report(
    payload: Payload,
    report: &PeerReport,
    missing: &BTreeSet<u64>,
    given_up: &BTreeSet<u64>,
) {
    let lost: Vec<&u64> = missing.difference(given_up).collect();
    assert!(lost.is_empty(), "messages {lost:?} were lost and not given up");
    let came = || (0..payload.messages).filter(|index| !missing.contains(index));
    assert_eq!(report.messages, came().count() as u64);
    assert_eq!(report.sum, payload.sum_of(came()));
}

/// The messages that the peer says it has passed over.
pub(super) fn missing(scene: &Scene<'_>) -> BTreeSet<u64> {
    let words = scene.words.lock().expect("nobody panics here");
    let indices = words.iter().filter_map(|line| line.strip_prefix("MISSING "));
    indices.map(|index| index.trim().parse().expect("an index")).collect()
}

/// The peer sends, and Tresse gets what arrived before it was passed over, in order.
pub(super) fn received(scene: &Scene<'_>, policy: &str) {
    let result = catch_unwind(AssertUnwindSafe(|| receive(scene, policy)));
    // What the peer sent is judged whatever became of the cell.
    judge_offer(scene);
    arrived(scene);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn receive(scene: &Scene<'_>, policy: &str) {
    let options = format!("--receive 0 {policy} --interval 20 --burst {BURST}");
    let sender = if scene.cell.role == Role::Client { Role::Server } else { Role::Client };
    let plan = plan(scene, sender, &options);
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let received = receive_some(&association, payload).await;
        let stats = association.stats();
        drop(association);
        let report = end(scene, met).await;
        assert_eq!(report.sent, payload.bytes());
        if stats.forward_tsns_received == 0 {
            judge_age(scene);
        }
        assert!(stats.forward_tsns_received > 0, "no FORWARD TSN came");
        judge_kinds(scene, Direction::In);
        let missing: BTreeSet<u64> = received.missing().iter().copied().collect();
        assert!(!missing.is_empty(), "nothing was lost for good");
        let dropped: Vec<u64> = arrived(scene).intersection(&missing).copied().collect();
        assert!(dropped.is_empty(), "messages {dropped:?} arrived and were not delivered");
    });
}

/// The messages that came as a whole before a FORWARD TSN passed over them.
///
/// # Panics
/// With [`Unsupported`] if the peer begins a message behind another one that it has not ended.
pub(super) fn arrived(scene: &Scene<'_>) -> BTreeSet<u64> {
    let mut passed: Option<Tsn> = None;
    let mut chunks = BTreeMap::new();
    // RFC 9260 §6: "A DATA chunk received in any other state SHOULD be discarded": before its COOKIE ACK, by a client.
    let mut established = scene.cell.role == Role::Server;
    scene.recorder.chunks(|direction, chunk| {
        if direction != Direction::In {
            return;
        }
        let (forward, data) = match chunk {
            Chunk::CookieAck => {
                established = true;
                return;
            }
            Chunk::ForwardTsn(chunk) => (Some(chunk.new_cumulative_tsn), None),
            Chunk::IForwardTsn(chunk) => (Some(chunk.new_cumulative_tsn), None),
            Chunk::Data(data) => (None, Some((data.tsn, data.flags, data.payload))),
            Chunk::IData(data) => (None, Some((data.tsn, data.flags, data.payload))),
            _ => return,
        };
        let is_new = |tsn: Tsn| passed.is_none_or(|passed| tsn.distance(passed) > 0);
        if let Some((tsn, flags, payload)) = data
            && established
            && is_new(tsn)
        {
            chunks.insert(tsn.0, (flags, payload.to_vec()));
        }
        if let Some(tsn) = forward
            && is_new(tsn)
        {
            passed = Some(tsn);
        }
    });
    // Whether or not the beginning of the one before came: it may have been lost.
    for (tsn, (flags, _)) in &chunks {
        let next = chunks.get(&tsn.wrapping_add(1));
        judge_order(scene, !flags.ending && next.is_some_and(|(next, _)| next.beginning));
    }
    let mut arrived = BTreeSet::new();
    for (first, (flags, _)) in &chunks {
        if !flags.beginning {
            continue;
        }
        let (mut tsn, mut message) = (*first, Vec::new());
        while let Some((flags, payload)) = chunks.get(&tsn) {
            message.extend_from_slice(payload);
            if flags.ending {
                let index = message.first_chunk().expect("a message begins with its index");
                arrived.insert(u64::from_be_bytes(*index));
                break;
            }
            tsn = tsn.wrapping_add(1);
        }
    }
    arrived
}

/// RFC 9260 §6.9 (2): "The transmitter MUST then assign, in sequence, a separate TSN to each of the DATA chunks in the
/// series": behind an unfinished message there can
/// be no other one. RFC 3758 §3.5 A3 passes over what is left of one that is given up.
fn judge_order(scene: &Scene<'_>, begins_within: bool) {
    if begins_within {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} gives up a message that has begun, and begins the next one with the TSN that follows, as if it were \
             its next fragment (RFC 9260 §6.9)"
        )).raise();
    }
}

/// RFC 3758 §4.1 TR4: "Before transmitting or retransmitting a message for which a TSN is already assigned, the SCTP sender
/// MUST evaluate the lifetime of the message." What comes so much later than a message behind it was sent again when it was
/// older, for all take the same time on the way.
fn judge_age(scene: &Scene<'_>) {
    if scene.cell.subject != Subject::TimedByPeer {
        return;
    }
    let mut came = BTreeMap::new();
    scene.recorder.timed_chunks(|direction, at, chunk| {
        if let (Direction::In, Chunk::Data(data)) = (direction, chunk) {
            came.entry(data.tsn.0).or_insert(at);
        }
    });
    let (mut behind, mut late) = (Duration::MAX, 0);
    for at in came.values().rev() {
        late += u32::from(at.saturating_sub(LIFETIME) > behind);
        behind = behind.min(*at);
    }
    if late > 0 {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} sends messages again that are older than their lifetime, and gives up none: it counts from the last \
             transmission (RFC 3758 §4.1 TR4)"
        )).raise();
    }
}
