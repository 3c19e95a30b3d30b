//! Streams that are added to an association (RFC 6525).

use tresse::{Association, Event, ReconfigurationOutcome};

use super::ends::{end, on_runtime, suited};
use super::resets::{PAYLOAD, ask, outcome, words};
use super::scene::{Plan, Scene};
use tresse_peers::Payload;
use tresse_peers::traffic::{all_of, receive_all, send_all};

/// Streams at the beginning; the data needs as many again.
const FIRST: u16 = PAYLOAD.streams;
const BOTH_WAYS: Payload = Payload { streams: 2 * FIRST, ..PAYLOAD };

fn plan(scene: &Scene<'_>, more: &str) -> Plan {
    let options = words(scene, &format!("--duplex --initial-streams {FIRST}{more}"));
    Plan { initial_streams: Some(FIRST), ..suited(scene, &Plan::new(BOTH_WAYS, &options)) }
}

/// Tresse asks for more streams in both directions, and both ends use them.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let plan = plan(scene, "");
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        assert_eq!(association.outbound_streams(), FIRST);
        let more = plan.payload.streams - FIRST;
        ask(scene, association.add_streams(more, 0));
        outcome(scene, &association, "Add Outgoing Streams Request", added).await;
        // Some stacks have as many as may be in this direction from the beginning.
        if let Some(more) = plan.payload.streams.checked_sub(association.inbound_streams())
            && more > 0
        {
            ask(scene, association.add_streams(0, more));
            outcome(scene, &association, "Add Incoming Streams Request", added).await;
        }
        exchange(scene, &plan, met, &association).await;
    });
}

/// The peer asks for more streams in both directions, and both ends use them.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let plan = plan(scene, " --add-streams");
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        while association.outbound_streams() < plan.payload.streams {
            match association.next_event().await {
                Some(Event::StreamsAdded { outcome, .. }) => {
                    assert_eq!(outcome, ReconfigurationOutcome::Performed);
                }
                Some(_) => {}
                None => panic!("ended with too few streams: {}", association.closed().await),
            }
        }
        exchange(scene, &plan, met, &association).await;
    });
}

fn added(event: &Event) -> Option<ReconfigurationOutcome> {
    match event {
        Event::StreamsAdded { outcome, .. } => Some(*outcome),
        _ => None,
    }
}

async fn exchange(
    scene: &Scene<'_>,
    plan: &Plan,
    met: super::scene::Met,
    association: &Association,
) {
    tokio::join!(send_all(association, plan.payload), receive_all(association, plan.payload));
    let streams = (association.outbound_streams(), association.inbound_streams());
    assert_eq!(streams.0, plan.payload.streams);
    assert!(streams.1 >= plan.payload.streams, "{} incoming streams", streams.1);
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
}
