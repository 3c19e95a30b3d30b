//! Streams that begin again in the middle of a transfer (RFC 6525).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tresse::{
    Association, Closed, Direction, Event, Ppid, ReceivedMessage, ReconfigurationError,
    ReconfigurationOutcome, ResetDirection, SendOptions, StreamId,
};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, Parameter};

use super::Stack;
use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::traffic::all_of;
use tresse_peers::{Meddler, Payload, PeerReport, Received, Unsupported};

/// Half of it is sent before the reset, or a part, and the rest after it.
pub(super) const PAYLOAD: Payload =
    Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN };
/// Messages that are sent at once, and from one of these bursts to the next: in between nothing is under way, for a stream
/// is reset only then.
const BURST: u64 = 8;
const PAUSE: Duration = Duration::from_millis(20);
/// How often a request is sent again before it counts as one that is not answered.
const REPETITIONS: u64 = 3;

/// Those of [`PAYLOAD`].
pub(super) fn all() -> Vec<StreamId> {
    (0..PAYLOAD.streams).map(StreamId).collect()
}

/// Words for the peer: what it does beside `--with reset`, where its stack wants to be asked.
pub(super) fn words(scene: &Scene<'_>, more: &str) -> String {
    let switch = matches!(scene.cell.peer, Stack::Linux | Stack::Usrsctp);
    format!("{more} --close wait{}", if switch { " --with reset" } else { "" })
}

/// The same through a network in which somebody takes packets away, if there is anybody.
fn through(meddler: Option<Arc<dyn Meddler>>, plan: Plan) -> Plan {
    let links = meddler.as_ref().map(|_| [LinkConfig::default(), LinkConfig::default()]);
    Plan { links, meddler, ..plan }
}

/// Tresse sends all, and has its streams begin again halfway.
pub(super) fn by_tresse(scene: &Scene<'_>, meddler: Option<Arc<dyn Meddler>>) {
    let plan = suited(scene, &Plan::new(PAYLOAD, &words(scene, "--send 0")));
    let plan = through(meddler, plan);
    halfway(scene, &plan, async |association| {
        ask(scene, association.reset_streams(ResetDirection::Outgoing, &all()));
        outcome(scene, association, "Outgoing SSN Reset Request", |event| match event {
            Event::StreamsReset { direction: ResetDirection::Outgoing, outcome, .. } => {
                Some(*outcome)
            }
            _ => None,
        })
        .await;
    });
}

/// Tresse sends all, and has streams begin again halfway, as `reset` does.
pub(super) fn halfway(scene: &Scene<'_>, plan: &Plan, reset: impl AsyncFnOnce(&Association)) {
    on_runtime(scene, async {
        let met = scene.meet(plan).await;
        let association = met.association.clone();
        let half = PAYLOAD.messages / 2;
        send(&association, plan.payload, 0..half).await;
        reset(&association).await;
        send(&association, plan.payload, half..PAYLOAD.messages).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(plan.payload, "shutdown") });
        assert_eq!(begun(scene, Direction::Out), 2 * u64::from(PAYLOAD.streams));
    });
}

/// The peer asks Tresse to have its streams begin again while it sends.
pub(super) fn by_tresse_asked(scene: &Scene<'_>) {
    let options = words(scene, "--duplex --send 0 --ask-reset-at 300");
    let plan = suited(scene, &Plan::new(PAYLOAD, &options));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let reset = async {
            loop {
                match association.next_event().await {
                    Some(Event::StreamsReset { direction, outcome, .. }) => {
                        break (direction, outcome);
                    }
                    Some(_) => {}
                    None => panic!("ended without a reset: {}", association.closed().await),
                }
            }
        };
        let (reset, ()) =
            tokio::join!(reset, send(&association, plan.payload, 0..PAYLOAD.messages));
        assert_eq!(reset, (ResetDirection::Outgoing, ReconfigurationOutcome::Performed));
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(plan.payload, "shutdown") });
        assert_eq!(begun(scene, Direction::Out), 2 * u64::from(PAYLOAD.streams));
    });
}

/// The peer sends all, and has its streams begin again halfway.
pub(super) fn by_peer(scene: &Scene<'_>, meddler: Option<Arc<dyn Meddler>>) {
    let options = format!("--receive 0 --reset-at {} --interval 20 --burst {BURST}", 200);
    let plan = suited(scene, &Plan::new(PAYLOAD, &words(scene, &options)));
    // Only once what was lost has come again.
    let again = u64::from(meddler.is_some());
    let plan = through(meddler, plan);
    // RFC 8831 §6.7: who closes a data channel resets its half of the streams, and the other end resets the other
    // half. The stacks for WebRTC alone use a stream again only then.
    let in_turn = matches!(scene.cell.peer, Stack::Pion | Stack::SctpProto);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let mut owed = Vec::new();
        let mut under_way = false;
        let mut seen = BTreeSet::new();
        let mut received = FromPeer::new(plan.payload);
        // Nothing of a reset is under way when the association ends.
        while !received.is_complete() || under_way || (in_turn && !owed.is_empty()) {
            tokio::select! {
                message = association.recv(), if !received.is_complete() => received.take(message),
                event = association.next_event() => match event {
                    Some(Event::StreamsReset { direction, streams, outcome }) => {
                        assert_eq!(outcome, ReconfigurationOutcome::Performed, "{direction:?}");
                        if direction == ResetDirection::Outgoing {
                            under_way = false;
                        } else {
                            // RFC 6525 §5.2.2 E3: without a list it is all of them.
                            let streams = if streams.is_empty() { all() } else { streams };
                            seen.extend(streams.iter().map(|stream| stream.0));
                            owed.extend(streams);
                        }
                    }
                    Some(_) => {}
                    None => panic!("ended while it was reset: {}", association.closed().await),
                },
                () = tokio::time::sleep(PAUSE) => {}
            }
            let waits = association.stats().reconfigurations_seen_again < again;
            if in_turn && !under_way && !owed.is_empty() && !waits {
                let asked = association.reset_streams(ResetDirection::Outgoing, &owed);
                under_way = asked.is_ok();
                match asked {
                    Ok(()) => owed.clear(),
                    Err(ReconfigurationError::InProgress) => {}
                    Err(e) => panic!("the reset in turn: {e}"),
                }
            }
        }
        if in_turn {
            // The peer may do the same once more, and is answered.
            tokio::time::sleep(5 * PAUSE).await;
        }
        assert_eq!(seen, (0..PAYLOAD.streams).collect(), "what was told of the reset");
        let first = 2 * u64::from(PAYLOAD.streams);
        // What resets its half in turn may do so once more.
        let whole = received.first == first || (in_turn && received.first > first);
        assert!(whole, "{} messages with SSN 0, not {first}", received.first);
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.sent, report.messages), (PAYLOAD.bytes(), 0));
    });
}

/// The peer sends all, and Tresse asks for a reset when a quarter of its bursts is there.
pub(super) fn by_peer_asked(scene: &Scene<'_>) {
    // The kernel does not reset streams with data that was not sent, and is asked again a second later: by Nagle's algorithm the
    // last message of a burst is not sent before the one ahead of it is acknowledged, which takes 200 ms.
    let options = format!("--receive 0 --no-delay --interval 47 --burst {BURST}");
    let plan = suited(scene, &Plan::new(PAYLOAD, &words(scene, &options)));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let mut received = FromPeer::new(plan.payload);
        while received.messages() < (PAYLOAD.messages / BURST).div_ceil(4) * BURST {
            received.take(association.recv().await);
        }
        ask(scene, association.reset_streams(ResetDirection::Incoming, &all()));
        let reset =
            outcome(scene, &association, "Incoming SSN Reset Request", |event| match event {
                Event::StreamsReset { direction: ResetDirection::Incoming, outcome, .. } => {
                    Some(*outcome)
                }
                _ => None,
            });
        let receive = async {
            while !received.is_complete() {
                received.take(association.recv().await);
            }
        };
        tokio::join!(reset, receive);
        assert_eq!(received.first, 2 * u64::from(PAYLOAD.streams), "messages with SSN 0");
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.sent, report.messages), (PAYLOAD.bytes(), 0));
    });
}

/// What the peer sends, verified.
pub(super) struct FromPeer {
    received: Received,
    /// Messages with SSN 0.
    pub(super) first: u64,
}

impl FromPeer {
    pub(super) fn new(payload: Payload) -> FromPeer {
        FromPeer { received: Received::new(payload), first: 0 }
    }

    pub(super) fn messages(&self) -> u64 {
        self.received.messages()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.received.is_complete()
    }

    pub(super) fn take(&mut self, message: Result<ReceivedMessage, Closed>) {
        let message = message
            .unwrap_or_else(|closed| panic!("ended after {} messages: {closed}", self.messages()));
        self.first += u64::from(message.ssn.0 == 0);
        let (stream, ppid) = (message.stream.0, message.ppid.0);
        self.received.accept(stream, ppid, message.unordered, &message.payload).unwrap();
    }
}

/// Sends messages in bursts.
pub(super) async fn send(association: &Association, payload: Payload, indices: Range<u64>) {
    for index in indices {
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
        if (index + 1).is_multiple_of(BURST) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// How many messages with SSN 0 went in a direction.
pub(super) fn begun(scene: &Scene<'_>, way: Direction) -> u64 {
    let mut first = BTreeSet::new();
    scene.recorder.chunks(|direction, chunk| {
        if let Chunk::Data(data) = chunk
            && direction == way
            && data.ssn.0 == 0
            && data.flags.beginning
        {
            first.insert(data.tsn.0);
        }
    });
    first.len() as u64
}

/// What the application asked for is under way, or the peer never offered the extension.
pub(super) fn ask(scene: &Scene<'_>, asked: Result<(), ReconfigurationError>) {
    match asked {
        Ok(()) => {}
        Err(ReconfigurationError::NotSupported) => Unsupported(format!(
            "{} does not list RE-CONFIG among its Supported Extensions (RFC 6525 §5.1.1)",
            scene.cell.peer.name()
        ))
        .raise(),
        Err(e) => panic!("the request: {e}"),
    }
}

/// Waits until the peer has done what it was asked for by the parameter of that name.
pub(super) async fn outcome(
    scene: &Scene<'_>,
    association: &Association,
    parameter: &str,
    mut find: impl FnMut(&Event) -> Option<ReconfigurationOutcome>,
) {
    let name = scene.cell.peer.name();
    let unanswered = async {
        while association.stats().reconfigurations_repeated < REPETITIONS
            || (responses(scene) == 0 && !hears(scene))
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let answer = async {
        loop {
            match association.next_event().await {
                Some(event) => {
                    if let Some(outcome) = find(&event) {
                        break outcome;
                    }
                }
                None => panic!("ended instead of {parameter}: {}", association.closed().await),
            }
        }
    };
    tokio::pin!(answer);
    let answered = tokio::select! {
        answered = &mut answer => Some(answered),
        () = unanswered => None,
    };
    match answered {
        Some(ReconfigurationOutcome::Performed) => {}
        Some(outcome) => Unsupported(format!(
            "{name} answers {parameter} with {outcome:?} (RFC 6525 §4.4)"
        )).raise(),
        None if responses(scene) == 0 && hears(scene) => Unsupported(format!(
            "{name} does not answer {parameter}: no Re-configuration Response came to any of the {} chunks, while it \
             said other things (RFC 6525 §5.2.1)",
            REPETITIONS + 1
        )).raise(),
        // It says that it will.
        None => assert_eq!(answer.await, ReconfigurationOutcome::Performed, "{parameter}"),
    }
}

/// Parameters of RE-CONFIG chunks that came.
fn responses(scene: &Scene<'_>) -> usize {
    let mut count = 0;
    scene.recorder.chunks(|direction, chunk| {
        if let Chunk::ReConfig(chunk) = chunk
            && direction == Direction::In
        {
            let answers = |p: &Parameter<'_>| {
                matches!(p, Parameter::ReconfigurationResponse(_) | Parameter::OutgoingSsnReset(_))
            };
            count += chunk.parameters.parsed().map_while(Result::ok).filter(answers).count();
        }
    });
    count
}

/// Whether the peer said anything since the first RE-CONFIG chunk left.
fn hears(scene: &Scene<'_>) -> bool {
    let (mut asked, mut heard) = (false, false);
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::ReConfig(_)) => asked = true,
        (Direction::In, Chunk::Sack(_) | Chunk::Data(_) | Chunk::HeartbeatAck(_)) => heard |= asked,
        _ => {}
    });
    heard
}
