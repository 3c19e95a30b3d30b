//! What the cells share: how they are run, and how they end.

use std::future::Future;
use std::time::Duration;

use tresse::AssociationStats;

use super::scene::{Met, Plan, Scene};
use super::{Stack, Subject};
use tresse_peers::traffic::{all_of, blocking, receive_all, run_for, send_all};
use tresse_peers::{Payload, PeerReport};

/// The identifier that sctp-proto calls binary data; it knows those of WebRTC only.
const WEBRTC_BINARY: u32 = 53;

/// The payload as the peer can carry it.
pub(super) fn suited(scene: &Scene<'_>, plan: &Plan) -> Plan {
    let ppid = (scene.cell.peer == Stack::SctpProto).then_some(WEBRTC_BINARY);
    Plan { payload: Payload { ppid, ..plan.payload }, ..plan.clone() }
}

pub(super) fn on_runtime<R>(scene: &Scene<'_>, work: impl Future<Output = R>) -> R {
    run_for(scene.limit, work)
}

/// All that the plan says goes both ways, and the association is shut down: what it has counted when it ends.
pub(super) async fn exchange(scene: &Scene<'_>, plan: &Plan) -> AssociationStats {
    let met = scene.meet(plan).await;
    let association = met.association.clone();
    tokio::join!(send_all(&association, plan.payload), receive_all(&association, plan.payload));
    // The last echo or report may still be under way.
    tokio::time::sleep(Duration::from_millis(100)).await;
    association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    // Not before: what was queued above is still sent again until the end.
    let stats = association.stats();
    drop(association);
    assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    stats
}

/// The peer ends well: what it reports. The packets were sound, and the network did what it was to do.
pub(super) async fn end(scene: &Scene<'_>, met: Met) -> PeerReport {
    let Met { endpoint, association, peer, relay } = met;
    let limit = scene.limit;
    let report = blocking(move || peer.finish(limit)).await;
    let stats = association.stats();
    // pion/sctp sends HEARTBEAT chunks without the mandatory Heartbeat Info (RFC 9260 §3.3.5).
    let sound = stats.malformed_chunks == 0 || scene.cell.peer == Stack::Pion;
    assert!(sound, "{} malformed chunks", stats.malformed_chunks);
    // One that vanished may still have packets under way.
    assert!(stats.wrong_tag == 0 || scene.cell.subject == Subject::Restart, "wrong tags");
    drop((association, endpoint));
    for stats in relay.into_iter().flat_map(|relay| relay.stop()) {
        match scene.cell.subject {
            Subject::Loss => assert!(stats.dropped() > 0, "the network lost nothing"),
            Subject::Reordering => assert!(stats.reordered > 0, "the network reordered nothing"),
            _ => {}
        }
    }
    report
}
