//! All streams of both directions begin again, and the TSNs with others, in the middle of a transfer (RFC 6525 §5.1.4).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tresse::{Direction, Event, ReconfigurationOutcome, ReconfigurationPolicy, Tsn};
use tresse_wire::{Chunk, Parameter, ReconfigurationResult};

use super::ends::{end, on_runtime, suited};
use super::resets::{FromPeer, PAYLOAD, ask, halfway, outcome, words};
use super::scene::{Plan, Scene};
use tresse_peers::Unsupported;

/// Tresse sends all, and has everything begin again halfway.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let plan = suited(scene, &Plan::new(PAYLOAD, &words(scene, "--send 0")));
    let plan = Plan { curious: true, ..plan };
    let mut next = None;
    halfway(scene, &plan, async |association| {
        ask(scene, association.reset_association());
        outcome(scene, association, "SSN/TSN Reset Request", |event| match event {
            Event::AssociationReset { outcome, local_tsn, .. } => {
                next = Some(*local_tsn);
                Some(*outcome)
            }
            _ => None,
        })
        .await;
    });
    judge(scene, Direction::Out, next.expect("it was performed"));
}

/// The peer sends all, and has everything begin again halfway.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let result = catch_unwind(AssertUnwindSafe(|| reset_by_peer(scene)));
    if result.is_err() {
        judge_old(scene);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

/// A FORWARD TSN behind our answer names the last TSN from before it: the peer has kept a part of what was to begin again.
fn judge_old(scene: &Scene<'_>) {
    let (mut performed, mut last, mut old) = (false, None, false);
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::ReConfig(_)) => performed = true,
        (Direction::In, Chunk::Data(data)) if !performed => last = Some(data.tsn),
        (Direction::In, Chunk::ForwardTsn(forward)) if performed => {
            old |= Some(forward.new_cumulative_tsn) == last;
        }
        _ => {}
    });
    if old {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} may send FORWARD TSN with a TSN from before the reset, and nothing more (RFC 6525 §5.2.7 H5)"
        ))
        .raise();
    }
}

fn reset_by_peer(scene: &Scene<'_>) {
    let options = format!(
        "--receive 0 --reset-all-at {} --no-delay --interval 20 --burst 8",
        PAYLOAD.messages / 2
    );
    let reconfiguration =
        ReconfigurationPolicy { reset_association: true, ..ReconfigurationPolicy::default() };
    let plan =
        Plan { reconfiguration, ..suited(scene, &Plan::new(PAYLOAD, &words(scene, &options))) };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let mut next = None;
        let mut received = FromPeer::new(plan.payload);
        while !received.is_complete() || next.is_none() {
            tokio::select! {
                message = association.recv(), if !received.is_complete() => received.take(message),
                event = association.next_event() => match event {
                    Some(Event::AssociationReset { outcome, remote_tsn, .. }) => {
                        assert_eq!(outcome, ReconfigurationOutcome::Performed);
                        assert_eq!(received.messages(), PAYLOAD.messages / 2, "before the reset");
                        next = Some(remote_tsn);
                    }
                    Some(_) => {}
                    None => panic!("ended while it was reset: {}", association.closed().await),
                },
            }
        }
        assert_eq!(received.first, 2 * u64::from(PAYLOAD.streams), "messages with SSN 0");
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let report = end(scene, met).await;
        assert_eq!((report.sent, report.messages), (PAYLOAD.bytes(), 0));
        judge(scene, Direction::In, next.expect("it was told of"));
    });
}

/// RFC 6525 §5.2.4: the one request that was performed was answered with the TSNs that come next, and the first data behind
/// that answer has the one of its sender.
fn judge(scene: &Scene<'_>, side: Direction, next: Tsn) {
    let (mut answered, mut first) = (None, None);
    scene.recorder.chunks(|direction, chunk| match chunk {
        // The answer goes the other way.
        Chunk::ReConfig(chunk) if direction != side => {
            for parameter in chunk.parameters.parsed().map_while(Result::ok) {
                if let Parameter::ReconfigurationResponse(response) = parameter
                    && response.result == ReconfigurationResult::PERFORMED
                    && let Some((_, receivers)) = response.next_tsns
                {
                    answered = Some(receivers);
                }
            }
        }
        Chunk::Data(data) if direction == side && answered.is_some() => {
            let tsn = first.get_or_insert(data.tsn);
            if data.tsn.distance(*tsn) < 0 {
                *tsn = data.tsn;
            }
        }
        _ => {}
    });
    assert_eq!(answered, Some(next), "the TSN in the answer");
    assert_eq!(first, Some(next), "the TSN of the first data behind the answer");
}
