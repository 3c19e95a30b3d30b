//! Messages that are given up, through a network that loses some (RFC 3758, RFC 7496).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{
    Association, Direction, Event, Ppid, ReceivedMessage, Reliability, SendOptions, StreamId, Tsn,
};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, ChunkType, Parameter};

use super::Role;
use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::{Payload, PeerReport, Received, Unsupported};

/// Shorter than the round trip: what is lost is given up.
const LIFETIME: Duration = Duration::from_millis(30);
pub(super) const BURST: u64 = 8;
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// What the lines of the matrix differ in.
#[derive(Clone, Copy)]
pub(super) struct Row {
    payload: Payload,
    policy: Reliability,
    interleaving: bool,
    /// Of packets with data.
    loss: f64,
}

impl Row {
    /// One packet holds two messages.
    pub(super) const TIMED: Row = Row {
        payload: Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN },
        policy: Reliability::Timed(LIFETIME),
        interleaving: false,
        loss: 0.05,
    };
    pub(super) const LIMITED: Row = Row { policy: Reliability::Retransmissions(0), ..Row::TIMED };
    pub(super) const UNORDERED: Row =
        Row { payload: Payload { unordered: true, ..Row::TIMED.payload }, ..Row::LIMITED };
    /// A message takes several packets.
    pub(super) const LARGE_TIMED: Row =
        Row { payload: Payload { size: 4_000, messages: 200, ..Row::TIMED.payload }, ..Row::TIMED };
    /// What is given up is lost twice.
    pub(super) const LARGE_LIMITED: Row = Row {
        payload: Payload { messages: 128, ..Row::LARGE_TIMED.payload },
        policy: Reliability::Retransmissions(1),
        interleaving: false,
        loss: 0.15,
    };

    /// In I-DATA chunks.
    pub(super) const fn interleaved(self) -> Row {
        Row { interleaving: true, ..self }
    }

    /// The policy as the peer's program takes it.
    fn words(self) -> String {
        match self.policy {
            Reliability::Timed(lifetime) => format!("--lifetime {}", lifetime.as_millis()),
            Reliability::Retransmissions(most) => format!("--retransmissions {most}"),
            other => unreachable!("no line has {other:?}"),
        }
    }
}

/// The round trip takes 40 ms, and some of what goes from that role to the other gets lost.
fn plan(scene: &Scene<'_>, row: Row, sender: Role, options: &str) -> Plan {
    let whole = LinkConfig { delay_ms: 20.0, ..LinkConfig::default() };
    let lossy = LinkConfig { loss: row.loss, ..whole.clone() };
    let links = if sender == Role::Client { [lossy, whole] } else { [whole, lossy] };
    let with = if row.interleaving { " --with interleaving" } else { "" };
    let plan = Plan::new(row.payload, &format!("{options} --close wait{with}"));
    Plan { links: Some(links), interleaving: row.interleaving, ..suited(scene, &plan) }
}

/// RFC 8260 §2.2.1, §2.3.1: where I-DATA was agreed on there is neither DATA nor FORWARD TSN, and both of the others came.
/// They say what is unordered; FORWARD TSN lists no stream of it (RFC 3758 §3.2).
fn judge_kinds(scene: &Scene<'_>, row: Row, side: Direction) {
    let (mut usual, mut interleaved) = ([0, 0], [0, 0]);
    let (mut data, mut skipped) = (BTreeSet::new(), BTreeSet::new());
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Data(chunk) => {
            usual[0] += 1;
            data.insert(chunk.flags.unordered);
        }
        Chunk::ForwardTsn(chunk) => {
            usual[1] += 1;
            skipped.extend(chunk.skipped().map(|_| false));
        }
        Chunk::IData(chunk) if direction == side => {
            interleaved[0] += 1;
            data.insert(chunk.flags.unordered);
        }
        Chunk::IForwardTsn(chunk) if direction == side => {
            interleaved[1] += 1;
            skipped.extend(chunk.skipped().map(|skipped| skipped.unordered));
        }
        _ => {}
    });
    let unordered = row.payload.unordered;
    assert!(data.iter().all(|flag| *flag == unordered), "the U flags of data: {data:?}");
    assert!(skipped.iter().all(|flag| *flag == unordered), "of what is passed over: {skipped:?}");
    if row.interleaving {
        assert_eq!(usual, [0, 0], "DATA and FORWARD TSN chunks");
        assert!(interleaved.iter().all(|n| *n > 0), "I-DATA and I-FORWARD-TSN: {interleaved:?}");
    } else {
        assert_eq!(interleaved, [0, 0], "I-DATA and I-FORWARD-TSN chunks");
    }
}

/// RFC 8260 §2.3.1: "Only if both endpoints indicated their support of user message interleaving and the I-FORWARD-TSN chunk, the
/// partial reliability extension is negotiated".
fn judge_offer(scene: &Scene<'_>, row: Row) {
    if !row.interleaving {
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

/// Tresse sends, and the peer gets what was not given up, in order if it has one.
pub(super) fn sent(scene: &Scene<'_>, row: Row) {
    let result = catch_unwind(AssertUnwindSafe(|| send(scene, row)));
    judge_offer(scene, row);
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
            unordered: payload.unordered,
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

/// What arrives until all has come; then shuts down, and takes what is still under way. `delivered` has the number of each
/// message as it comes.
pub(super) async fn receive_some(
    association: &Association,
    payload: Payload,
    mut delivered: impl FnMut(u64),
) -> Received {
    let mut received = Received::partial(payload);
    let mut accept = |received: &mut Received, message: ReceivedMessage| {
        let (stream, ppid) = (message.stream.0, message.ppid.0);
        received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
        delivered(index_of(&message.payload));
    };
    while !received.is_complete() {
        let message = association.recv().await.unwrap_or_else(|closed| {
            panic!("ended after {} messages: {closed}", received.messages())
        });
        accept(&mut received, message);
    }
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    while let Ok(message) = association.recv().await {
        accept(&mut received, message);
    }
    received
}

fn index_of(message: &[u8]) -> u64 {
    u64::from_be_bytes(*message.first_chunk().expect("a message begins with its index"))
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

fn send(scene: &Scene<'_>, row: Row) {
    let plan = plan(scene, row, scene.cell.role, "--send 0 --partial");
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let given_up = send_some(&association, payload, |_| row.policy).await;
        let stats = association.stats();
        drop(association);
        let report = end(scene, met).await;
        judge_kinds(scene, row, Direction::Out);
        // None begins within another one.
        arrived(scene, Direction::Out);
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

/// The peer sends, and Tresse gets what arrived before it was passed over, in order if it has one.
pub(super) fn received(scene: &Scene<'_>, row: Row) {
    let result = catch_unwind(AssertUnwindSafe(|| receive(scene, row)));
    // What the peer sent is judged whatever became of the cell.
    judge_offer(scene, row);
    arrived(scene, Direction::In);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn receive(scene: &Scene<'_>, row: Row) {
    let options = format!("--receive 0 {} --interval 20 --burst {BURST}", row.words());
    let sender = if scene.cell.role == Role::Client { Role::Server } else { Role::Client };
    let plan = plan(scene, row, sender, &options);
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let mut delivered = Vec::new();
        let received = receive_some(&association, payload, |index| delivered.push(index)).await;
        let stats = association.stats();
        drop(association);
        let report = end(scene, met).await;
        assert_eq!(report.sent, payload.bytes());
        if stats.forward_tsns_received == 0 {
            judge_age(scene, row);
        }
        assert!(stats.forward_tsns_received > 0, "no FORWARD TSN came");
        judge_kinds(scene, row, Direction::In);
        let missing: BTreeSet<u64> = received.missing().into_iter().collect();
        assert!(!missing.is_empty(), "nothing was lost for good");
        let arrived = arrived(scene, Direction::In);
        judge_delivered(&arrived, &missing);
        // None waits for another one.
        assert!(!payload.unordered || delivered == arrived, "{delivered:?} arrived as {arrived:?}");
    });
}

/// All that has arrived was delivered.
pub(super) fn judge_delivered(arrived: &[u64], missing: &BTreeSet<u64>) {
    let dropped: Vec<&u64> = arrived.iter().filter(|index| missing.contains(index)).collect();
    assert!(dropped.is_empty(), "messages {dropped:?} arrived and were not delivered");
}

/// The messages that went in a direction as a whole before a FORWARD TSN passed over them, as they became complete.
///
/// # Panics
/// When a message begins behind another one that has not ended; with [`Unsupported`] if the peer does that.
pub(super) fn arrived(scene: &Scene<'_>, side: Direction) -> Vec<u64> {
    let mut passed: Option<Tsn> = None;
    let mut chunks = BTreeMap::new();
    // RFC 9260 §6: "A DATA chunk received in any other state SHOULD be discarded": before its COOKIE ACK, by a client.
    let mut established = side == Direction::Out || scene.cell.role == Role::Server;
    scene.recorder.chunks(|direction, chunk| {
        if direction != side {
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
            let place = chunks.len();
            chunks.entry(tsn.0).or_insert((place, flags, payload.to_vec()));
        }
        if let Some(tsn) = forward
            && is_new(tsn)
        {
            passed = Some(tsn);
        }
    });
    // Whether or not the beginning of the one before came: it may have been lost.
    for (tsn, (_, flags, _)) in &chunks {
        let next = chunks.get(&tsn.wrapping_add(1));
        if !flags.ending && next.is_some_and(|(_, next, _)| next.beginning) {
            judge_order(scene, side);
        }
    }
    let mut arrived = BTreeMap::new();
    for (first, (_, flags, _)) in &chunks {
        if !flags.beginning {
            continue;
        }
        let (mut tsn, mut message, mut last) = (*first, Vec::new(), 0);
        while let Some((place, flags, payload)) = chunks.get(&tsn) {
            last = last.max(*place);
            message.extend_from_slice(payload);
            if flags.ending {
                arrived.insert(last, index_of(&message));
                break;
            }
            tsn = tsn.wrapping_add(1);
        }
    }
    arrived.into_values().collect()
}

/// RFC 9260 §6.9 (2): "The transmitter MUST then assign, in sequence, a separate TSN to each of the DATA chunks in the
/// series": behind an unfinished message there can
/// be no other one. RFC 3758 §3.5 A3 passes over what is left of one that is given up.
fn judge_order(scene: &Scene<'_>, side: Direction) -> ! {
    assert_eq!(side, Direction::In, "Tresse begins a message within another one");
    let name = scene.cell.peer.name();
    Unsupported(format!(
        "{name} gives up a message that has begun, and begins the next one with the TSN that follows, as if it were its \
         next fragment (RFC 9260 §6.9)"
    )).raise()
}

/// RFC 3758 §4.1 TR4: "Before transmitting or retransmitting a message for which a TSN is already assigned, the SCTP sender
/// MUST evaluate the lifetime of the message." What comes so much later than a message behind it was sent again when it was
/// older, for all take the same time on the way.
fn judge_age(scene: &Scene<'_>, row: Row) {
    let Reliability::Timed(lifetime) = row.policy else { return };
    let mut came = BTreeMap::new();
    scene.recorder.timed_chunks(|direction, at, chunk| {
        if let (Direction::In, Chunk::Data(data)) = (direction, chunk) {
            came.entry(data.tsn.0).or_insert(at);
        }
    });
    let (mut behind, mut late) = (Duration::MAX, 0);
    for at in came.values().rev() {
        late += u32::from(at.saturating_sub(lifetime) > behind);
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
