//! Resets and streams that the other end does not want: who has asked is told, and data goes on (RFC 6525 §5.2.7, §6.3.1).

use std::collections::BTreeSet;

use tresse::{
    Association, Direction, Event, ReconfigurationOutcome, ReconfigurationPolicy, ResetDirection,
};
use tresse_wire::{Chunk, Parameter, ReconfigurationResult, RequestNumber};

use super::Stack;
use super::ends::{end, on_runtime, suited};
use super::resets::{FromPeer, PAYLOAD, all, ask, begun, send};
use super::scene::{Plan, Scene};
use tresse_peers::traffic::all_of;

const HALF: u64 = PAYLOAD.messages / 2;

/// The peer denies everything, and Tresse asks for it halfway.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let options = "--duplex --with deny-changes --close wait --interval 20 --burst 8";
    let plan = suited(scene, &Plan::new(PAYLOAD, options));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let work = async {
            send(&association, plan.payload, 0..HALF).await;
            let before = association.outbound_streams();
            for direction in [ResetDirection::Outgoing, ResetDirection::Incoming] {
                ask(scene, association.reset_streams(direction, &all()));
                assert_eq!(outcome(&association).await, ReconfigurationOutcome::Denied);
            }
            for (outgoing, incoming) in [(1, 0), (0, 1)] {
                ask(scene, association.add_streams(outgoing, incoming));
                assert_eq!(outcome(&association).await, ReconfigurationOutcome::Denied);
            }
            assert_eq!(association.outbound_streams(), before);
            send(&association, plan.payload, HALF..PAYLOAD.messages).await;
        };
        let (first, ()) = tokio::join!(receive(&association, &plan), work);
        finish(scene, &plan, met, first, Direction::In).await;
    });
}

/// Tresse denies everything, and the peer asks for it halfway.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let switch = matches!(scene.cell.peer, Stack::Linux | Stack::Usrsctp);
    let options = format!(
        "--duplex --close wait --interval 20 --burst 8 --denied-at {HALF}{}",
        if switch { " --with reset" } else { "" }
    );
    let plan = Plan {
        reconfiguration: ReconfigurationPolicy::DENY,
        ..suited(scene, &Plan::new(PAYLOAD, &options))
    };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let (first, ()) = tokio::join!(
            receive(&association, &plan),
            send(&association, plan.payload, 0..PAYLOAD.messages)
        );
        assert!(association.stats().reconfigurations_refused > 0, "Tresse has denied nothing");
        finish(scene, &plan, met, first, Direction::Out).await;
        let words = scene.words.lock().expect("nobody panics here");
        // pion/sctp tells its application nothing of what became of a request.
        let told = words.iter().any(|line| line.starts_with("DENIED"));
        assert!(told || scene.cell.peer == Stack::Pion, "{words:?}");
    });
}

/// All of the peer's data: how many messages had SSN 0.
async fn receive(association: &Association, plan: &Plan) -> u64 {
    let mut received = FromPeer::new(plan.payload);
    while !received.is_complete() {
        received.take(association.recv().await);
    }
    received.first
}

/// What became of the one request under way.
async fn outcome(association: &Association) -> ReconfigurationOutcome {
    loop {
        match association.next_event().await {
            Some(Event::StreamsReset { outcome, .. } | Event::StreamsAdded { outcome, .. }) => {
                return outcome;
            }
            Some(_) => {}
            None => panic!("ended instead of an answer: {}", association.closed().await),
        }
    }
}

/// No stream began again, and every answer in a direction was a denial.
async fn finish(
    scene: &Scene<'_>,
    plan: &Plan,
    met: super::scene::Met,
    first: u64,
    answers: Direction,
) {
    let association = &met.association;
    let streams = u64::from(PAYLOAD.streams);
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    assert_eq!((begun(scene, Direction::Out), first), (streams, streams), "messages with SSN 0");
    let results = results(scene, answers);
    let denied = results.iter().all(|(_, result)| *result == ReconfigurationResult::DENIED.0);
    assert!(denied && !results.is_empty(), "{results:?}");
    // C programs ask for resets in both directions, and for more streams.
    let all = answers == Direction::In || matches!(scene.cell.peer, Stack::Linux | Stack::Usrsctp);
    assert!(!all || results.len() >= 3, "{results:?}");
}

/// What requests were answered in a direction.
fn results(scene: &Scene<'_>, side: Direction) -> BTreeSet<(u32, u32)> {
    let mut results = BTreeSet::new();
    scene.recorder.chunks(|direction, chunk| {
        let Chunk::ReConfig(chunk) = chunk else { return };
        for parameter in chunk.parameters.parsed().map_while(Result::ok) {
            if let Parameter::ReconfigurationResponse(response) = parameter
                && direction == side
            {
                let RequestNumber(number) = response.request;
                results.insert((number, response.result.0));
            }
        }
    });
    results
}
