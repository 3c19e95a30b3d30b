//! Both ends have their streams begin again, and neither has heard of the other one's request when it asks (RFC 6525 §5.2).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{Direction, Event, ReconfigurationOutcome, ResetDirection};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, Parameter, ReconfigurationResult};

use super::ends::{end, on_runtime, suited};
use super::resets::{FromPeer, all, ask, begun, send, words};
use super::scene::{Plan, Scene};
use tresse_peers::traffic::all_of;
use tresse_peers::{Payload, Unsupported};

/// Half of it is sent before the resets, in both directions.
const PAYLOAD: Payload = Payload { messages: 64, ..super::resets::PAYLOAD };
const HALF: u64 = PAYLOAD.messages / 2;
/// Messages that the peer sends at once, and from one of these bursts to the next: by then everything is acknowledged, for the
/// peer asks when nothing is under way.
const BURST: u64 = 8;
const INTERVAL: Duration = Duration::from_millis(500);
/// One way: what leaves within so much time before or after the other end's request crosses it.
const DELAY_MS: f64 = 50.0;

pub(super) fn play(scene: &Scene<'_>) {
    let result = catch_unwind(AssertUnwindSafe(|| cross(scene)));
    if result.is_err() {
        judge_numbers(scene);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic));
    judge(scene);
}

fn cross(scene: &Scene<'_>) {
    let options = format!(
        "--duplex --no-delay --reset-at {HALF} --interval {} --burst {BURST}",
        INTERVAL.as_millis()
    );
    let link = LinkConfig { delay_ms: DELAY_MS, ..LinkConfig::default() };
    let plan = suited(scene, &Plan::new(PAYLOAD, &words(scene, &options)));
    let plan = Plan { links: Some([link.clone(), link]), ..plan };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let receive = async {
            let mut received = FromPeer::new(plan.payload);
            let mut tell = Some(tell);
            while !received.is_complete() {
                received.take(association.recv().await);
                if received.messages() > HALF - BURST
                    && let Some(tell) = tell.take()
                {
                    tell.send(()).expect("Tresse waits for it");
                }
            }
            received.first
        };
        let work = async {
            send(&association, plan.payload, 0..HALF).await;
            told.await.expect("the peer sends so much");
            // The last burst before the peer's request began its way so long ago.
            tokio::time::sleep(INTERVAL - Duration::from_secs_f64(DELAY_MS / 1e3)).await;
            ask(scene, association.reset_streams(ResetDirection::Outgoing, &all()));
            let mut owed = vec![ResetDirection::Outgoing, ResetDirection::Incoming];
            let mut incoming = 0;
            while !owed.is_empty() {
                match association.next_event().await {
                    Some(Event::StreamsReset { direction, streams, outcome }) => {
                        judge_refusal(scene);
                        assert_eq!(outcome, ReconfigurationOutcome::Performed, "{direction:?}");
                        // Some stacks reset each stream by itself, and without a list it is all of them.
                        let some = if streams.is_empty() { all().len() } else { streams.len() };
                        incoming += some * usize::from(direction == ResetDirection::Incoming);
                        owed.retain(|one| {
                            *one != direction
                                || (direction == ResetDirection::Incoming && incoming < all().len())
                        });
                    }
                    Some(_) => {}
                    None => panic!("ended while it was reset: {}", association.closed().await),
                }
            }
            send(&association, plan.payload, HALF..PAYLOAD.messages).await;
        };
        let (first, ()) = tokio::join!(receive, work);
        assert_eq!(first, 2 * u64::from(PAYLOAD.streams), "messages of the peer with SSN 0");
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        assert_eq!(begun(scene, Direction::Out), 2 * u64::from(PAYLOAD.streams));
    });
}

/// RFC 6525 §5.2.2 knows no reason to refuse what crosses a request of one's own: that is under way at the other end.
fn judge_refusal(scene: &Scene<'_>) {
    if answers(scene, Direction::In).contains(&ReconfigurationResult::ALREADY_IN_PROGRESS.0) {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} answers a request that crosses its own with Request already in progress (RFC 6525 §5.2.2)"
        ))
        .raise();
    }
}

/// RFC 6525 §5.2.7 H4: the SSNs begin again with the answer. Who begins before it and once more with it has messages with SSN 0
/// thrice, although Tresse has performed one reset of each stream.
fn judge_numbers(scene: &Scene<'_>) {
    let performed = answers(scene, Direction::Out) == [ReconfigurationResult::PERFORMED.0];
    if performed && begun(scene, Direction::In) > 2 * u64::from(PAYLOAD.streams) {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} begins with SSN 0 as soon as its streams are reset by the other end, and once more when its own \
             request is answered (RFC 6525 §5.2.7 H4)"
        ))
        .raise();
    }
}

/// The results that went in a direction, each once.
fn answers(scene: &Scene<'_>, side: Direction) -> Vec<u32> {
    let mut results = Vec::new();
    scene.recorder.chunks(|direction, chunk| {
        let Chunk::ReConfig(chunk) = chunk else { return };
        for parameter in chunk.parameters.parsed().map_while(Result::ok) {
            if let Parameter::ReconfigurationResponse(response) = parameter
                && direction == side
                && !results.contains(&response.result.0)
            {
                results.push(response.result.0);
            }
        }
    });
    results
}

/// Tresse had asked when the request of the peer came, which had left before ours arrived.
fn judge(scene: &Scene<'_>) {
    let mut first = [None; 2];
    scene.recorder.timed_chunks(|direction, at, chunk| {
        let Chunk::ReConfig(chunk) = chunk else { return };
        let mut parameters = chunk.parameters.parsed().map_while(Result::ok);
        if parameters.any(|one| matches!(one, Parameter::OutgoingSsnReset(_))) {
            first[usize::from(direction == Direction::In)].get_or_insert(at);
        }
    });
    let [Some(ours), Some(theirs)] = first else { panic!("who asked: {first:?}") };
    assert!(ours < theirs, "the peer's request came before Tresse asked");
    let round_trip = Duration::from_secs_f64(2.0 * DELAY_MS / 1e3);
    assert!(theirs < ours + round_trip, "the peer may have had our request when it asked");
}
