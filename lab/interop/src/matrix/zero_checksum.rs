//! Packets without a checksum, where something below SCTP checks them (RFC 9653).

use tresse::Direction;
use tresse_wire::{Chunk, Packet};

use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::Payload;
use tresse_peers::traffic::{all_of, receive_all, send_all};

const PAYLOAD: Payload = Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN };

/// Both ends offer it.
pub(super) fn agreed(scene: &Scene<'_>) {
    play(scene, " --with zero-checksum", true);
}

/// Tresse alone does.
pub(super) fn offered(scene: &Scene<'_>) {
    play(scene, "", false);
}

fn play(scene: &Scene<'_>, more: &str, zero: bool) {
    let options = format!("--duplex --close wait{more}");
    let plan = Plan { zero_checksum: true, ..suited(scene, &Plan::new(PAYLOAD, &options)) };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        tokio::join!(send_all(&association, plan.payload), receive_all(&association, plan.payload));
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        judge(scene, Direction::Out, Some(zero));
        // RFC 9653 §5.2: who has heard the offer may leave checksums out, whether or not it takes such packets.
        judge(scene, Direction::In, zero.then_some(true));
    });
}

/// Packets with INIT or COOKIE ECHO have a CRC32c (RFC 9653 §5.2); whether those of data behind them have none is `zero`, if
/// that is known.
fn judge(scene: &Scene<'_>, side: Direction, zero: Option<bool>) {
    let mut data = [0, 0];
    scene.recorder.packets_of(side, |bytes| {
        let is_zero = bytes.get(8..12) == Some(&[0; 4]);
        let verified = Packet::parse(bytes);
        assert!(is_zero || verified.is_ok(), "{side:?}: a checksum that is neither zero nor right");
        let packet = Packet::parse_unverified(bytes).expect("it has a header");
        let chunks = packet.chunks().map_while(Result::ok);
        let chunks: Vec<_> = chunks.filter_map(|chunk| Chunk::parse(chunk).ok()).collect();
        let begins = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Init(_) | Chunk::CookieEcho(_));
        if chunks.iter().any(begins) {
            assert!(!is_zero, "{side:?}: INIT or COOKIE ECHO without a checksum");
        } else if chunks.iter().any(|chunk| matches!(chunk, Chunk::Data(_))) {
            data[usize::from(is_zero)] += 1;
        }
    });
    let [with, without] = data;
    let (expected, others) = match zero {
        Some(true) => (without, with),
        Some(false) => (with, without),
        None => (with + without, with.min(without)),
    };
    assert!(
        expected > 50 && others == 0,
        "{side:?}: {with} packets with a checksum, {without} without"
    );
}
