//! What a receiver says it will keep (NR-SACK, draft-tuexen-tsvwg-sctp-multipath §5.1), while the network loses some, both ways.

use tresse::Direction;
use tresse_netem::LinkConfig;
use tresse_wire::Chunk;

use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::Payload;
use tresse_peers::traffic::{all_of, receive_all, send_all};

/// On several streams, so that something is handed over while something else is missing.
const PAYLOAD: Payload = Payload { messages: 1_000, size: 1_000, streams: 8, ..Payload::PLAIN };

/// Both ends acknowledge with NR-SACKs alone, name what they keep beyond a gap, and everything arrives.
pub(super) fn play(scene: &Scene<'_>) {
    let link = LinkConfig { delay_ms: 5.0, loss: 0.05, ..LinkConfig::default() };
    let plan = Plan {
        links: Some([link.clone(), link]),
        overrides: "sack = { nr_sack = \"delivered\" }",
        ..suited(scene, &Plan::new(PAYLOAD, "--duplex --with nr-sack --close wait"))
    };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        tokio::join!(send_all(&association, plan.payload), receive_all(&association, plan.payload));
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        drop(association);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        for side in [Direction::Out, Direction::In] {
            let (mut sacks, mut kept) = (0, 0);
            scene.recorder.chunks(|direction, chunk| match chunk {
                Chunk::Sack(_) if direction == side => sacks += 1,
                Chunk::NrSack(sack) if direction == side => kept += sack.nr_gap_blocks().count(),
                _ => {}
            });
            assert_eq!(sacks, 0, "{side:?}: SACK chunks");
            assert!(kept > 20, "{side:?}: {kept} blocks of what is kept");
        }
    });
}
