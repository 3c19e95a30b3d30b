//! What the cells share: how they are run, and how they end.

use std::future::Future;

use super::scene::{Met, Plan, Scene};
use super::{Stack, Subject};
use tresse_peers::traffic::{blocking, run_for};
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
