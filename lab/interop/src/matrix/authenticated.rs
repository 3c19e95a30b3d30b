//! Data that is authenticated both ways, with a key that changes in the middle of it (RFC 4895).

use std::collections::BTreeSet;
use std::time::Duration;

use tresse::{
    Association, Authentication, ChunkType, Direction, HmacIdentifier, Ppid, SendOptions,
    SharedKeys, StreamId,
};
use tresse_wire::{Chunk, Parameter};

use super::Stack;
use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::Payload;
use tresse_peers::traffic::{all_of, receive_all};

/// Half of it is sent before the change of keys, and half after it.
pub(super) const PAYLOAD: Payload =
    Payload { messages: 400, size: 500, streams: 4, ..Payload::PLAIN };
/// What the peers have as well (`conformance/interop/peer.h`).
pub(super) const KEYS: [(u16, &[u8]); 2] = [(1, b"the first secret"), (2, b"the second secret")];

/// DATA is taken with an HMAC only, and no peer without; key 1 is active.
pub(super) fn settings() -> Authentication {
    let mut keys = SharedKeys::default();
    for (number, secret) in KEYS {
        keys.set(number, secret).expect("it is not too long");
    }
    keys.activate(1).and_then(|()| keys.delete(0)).expect("both are there");
    let chunks = vec![ChunkType::DATA];
    Authentication { chunks, keys, required: true, ..Authentication::default() }
}

/// Tresse sends the second half with another key.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    play(scene, "", true);
}

/// The peer does.
pub(super) fn by_peer(scene: &Scene<'_>) {
    play(scene, &format!(" --change-key-at {}", PAYLOAD.messages / 2), false);
}

fn play(scene: &Scene<'_>, more: &str, ours: bool) {
    let options = format!("--duplex --with auth --close wait --interval 10 --burst 8{more}");
    let plan = Plan {
        authentication: Some(settings().into()),
        ..suited(scene, &Plan::new(PAYLOAD, &options))
    };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        tokio::join!(
            send(&association, plan.payload, ours.then_some(plan.payload.messages / 2)),
            receive_all(&association, plan.payload),
        );
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let stats = association.stats();
        assert_eq!((stats.auth_chunks_forged, stats.auth_unknown_keys), (0, 0));
        assert_eq!(stats.unauthenticated_chunks, 0);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        let (both, first) = (BTreeSet::from([1, 2]), BTreeSet::from([1]));
        let expected = if ours { [both, first] } else { [first, both] };
        let seen = [Direction::Out, Direction::In].map(|direction| keys(scene, direction));
        assert_eq!(seen, expected, "the keys of Tresse and of the peer");
        let seen = [Direction::Out, Direction::In].map(|direction| algorithms(scene, direction));
        let listed = listed(scene);
        let strong = HmacIdentifier::SHA_256.0;
        let expected = if listed.contains(&strong) {
            // Nobody chose the weaker one.
            [strong, strong]
        } else {
            assert_eq!(scene.cell.peer, Stack::Usrsctp, "it lists {listed:?}");
            [HmacIdentifier::SHA_1.0; 2]
        };
        assert_eq!(
            seen,
            expected.map(|one| BTreeSet::from([one])),
            "HMACs of Tresse and of the peer"
        );
    });
}

/// Sends all, with the other key from a message on.
pub(super) async fn send(association: &Association, payload: Payload, change_at: Option<u64>) {
    for index in 0..payload.messages {
        if Some(index) == change_at {
            association.activate_shared_key(2).expect("it is there");
        }
        if index % 8 == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}

/// The HMACs that the peer takes, the first one first.
pub(super) fn listed(scene: &Scene<'_>) -> Vec<u16> {
    let mut listed = Vec::new();
    scene.recorder.chunks(|direction, chunk| {
        let parameters = match chunk {
            Chunk::Init(init) if direction == Direction::In => init.parameters,
            Chunk::InitAck(ack) if direction == Direction::In => ack.parameters,
            _ => return,
        };
        for parameter in parameters.parsed().map_while(Result::ok) {
            if let Parameter::HmacAlgo(algorithms) = parameter {
                listed = algorithms.iter().map(|algorithm| algorithm.0).collect();
            }
        }
    });
    listed
}

/// With which HMACs a side has authenticated its packets. Both list SHA-256 before SHA-1, which nobody may leave out (RFC
/// 4895 §6.1).
pub(super) fn algorithms(scene: &Scene<'_>, side: Direction) -> BTreeSet<u16> {
    let mut algorithms = BTreeSet::new();
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Auth(auth) if direction == side => {
            algorithms.insert(auth.algorithm.0);
        }
        _ => {}
    });
    algorithms
}

/// With which keys a side has authenticated its packets.
pub(super) fn keys(scene: &Scene<'_>, side: Direction) -> BTreeSet<u16> {
    let mut keys = BTreeSet::new();
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Auth(auth) if direction == side => {
            keys.insert(auth.key);
        }
        _ => {}
    });
    keys
}
