//! Packets that the network damages, both ways, and that their receivers report (draft-stewart-sctp-pktdrprep).

use tresse::{AssociationStats, Direction, LossCause};
use tresse_netem::LinkConfig;
use tresse_wire::{Chunk, ChunkType, Quote};

use super::ends::{exchange, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::Payload;

const PAYLOAD: Payload = Payload { messages: 1_500, size: 1_000, streams: 4, ..Payload::PLAIN };
/// Of all packets, how many are damaged.
const DAMAGED: f64 = 0.02;

/// What Tresse quotes of the peer's packets, and the peer of Tresse's: reports, and how many of them name data.
#[derive(Default)]
struct Reports {
    all: u64,
    of_data: u64,
}

/// Each end reports what came damaged, what is quoted are packets of the other one, and all arrives. What Tresse is told of it
/// sends again at once.
pub(super) fn reported(scene: &Scene<'_>) {
    let stats = play(scene, "--duplex --with packet-drop-reports --close wait");
    let [ours, theirs] = [Direction::Out, Direction::In].map(|way| reports(scene, way));
    let told = (ours.all, ours.of_data, stats.packet_drop_reports_sent);
    assert!(told.1 > 5 && told.0 >= told.2, "Tresse reports: {told:?}");
    let heard = (theirs.all, theirs.of_data, stats.packet_drop_reports_received);
    assert!(heard.1 > 5 && heard.0 >= heard.2 && heard.2 > 5, "the peer reports: {heard:?}");
    let again = stats.retransmissions_by(LossCause::PacketDropReport);
    // What was damaged in the first bytes is found by SACKs.
    assert!(2 * again > theirs.of_data, "sent again: {again} chunks, {heard:?}");
}

/// Nobody reports anything, and all arrives.
pub(super) fn unreported(scene: &Scene<'_>) {
    let stats = play(scene, "--duplex --close wait");
    let counted = (stats.packet_drop_reports_sent, stats.packet_drop_reports_received);
    assert_eq!(counted, (0, 0), "reports that were not agreed on");
    let [ours, theirs] = [Direction::Out, Direction::In].map(|way| reports(scene, way));
    assert_eq!((ours.all, theirs.all), (0, 0), "reports that were not agreed on");
}

fn play(scene: &Scene<'_>, options: &str) -> AssociationStats {
    let link = LinkConfig { delay_ms: 5.0, corrupt: DAMAGED, ..LinkConfig::default() };
    let plan = Plan {
        links: Some([link.clone(), link]),
        drop_reports: true,
        ..suited(scene, &Plan::new(PAYLOAD, options))
    };
    on_runtime(scene, exchange(scene, &plan))
}

/// The reports that went in a direction. All are of an end. Tresse's are about a wrong checksum; usrsctp also reports, without
/// the B bit, what its receive buffer has no room for.
fn reports(scene: &Scene<'_>, way: Direction) -> Reports {
    let mut reports = Reports::default();
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::PacketDrop(report) if direction == way => {
            reports.all += 1;
            let about = report.bad_checksum || way == Direction::In;
            assert!(about && !report.from_middle_box, "{way:?}, B bit: {}", report.bad_checksum);
            let quote = Quote::parse(report.packet);
            let data = |kind| matches!(kind, ChunkType::DATA | ChunkType::I_DATA);
            let names = quote.is_some_and(|q| q.chunks().any(|chunk| data(chunk.chunk_type)));
            reports.of_data += u64::from(names);
        }
        _ => {}
    });
    reports
}
