//! Keys that are deleted once nobody uses them, keys of an association in the place of those of its endpoint, and HMACs that
//! one end does without (RFC 4895; RFC 6458 §8.1.16, §8.3).

use std::collections::BTreeSet;

use tresse::{
    Association, Authentication, AuthenticationEvent, Direction, Event, HmacIdentifier, KeyError,
};

use super::Stack;
use super::authenticated::{KEYS, PAYLOAD, algorithms, keys, send, settings};
use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::Received;
use tresse_peers::traffic::{all_of, receive, receive_all};

/// From this message on both ends authenticate with key 2.
const CHANGE_AT: u64 = 100;
/// By then all has come that was authenticated with key 1, and it goes.
const DELETE_AT: u64 = 300;

fn plan(scene: &Scene<'_>, authentication: Authentication, more: &str) -> Plan {
    let options = format!("--duplex --close wait --interval 10 --burst 8 --with auth{more}");
    Plan {
        authentication: Some(authentication.into()),
        ..suited(scene, &Plan::new(PAYLOAD, &options))
    }
}

/// Tresse deletes key 1.
pub(super) fn deleted(scene: &Scene<'_>) {
    let plan = plan(scene, settings(), &format!(" --change-key-at {CHANGE_AT}"));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let mut tell = Some(tell);
        let receive = receive(&association, Received::new(plan.payload), |messages| {
            if messages == DELETE_AT
                && let Some(tell) = tell.take()
            {
                tell.send(()).expect("Tresse waits for it");
            }
        });
        let delete = async {
            told.await.expect("the peer sends so much");
            association.deactivate_shared_key(1).expect("it is not the active one");
            free(&association).await;
            association.delete_shared_key(1).expect("it is not the active one");
            assert_eq!(association.activate_shared_key(1), Err(KeyError::Unknown { key: 1 }));
        };
        let send = send(&association, plan.payload, Some(CHANGE_AT));
        let (received, (), ()) = tokio::join!(receive, delete, send);
        received.unwrap_or_else(|why| panic!("{why}"));
        finish(scene, &plan, met).await;
        both_keys(scene);
    });
}

/// The peer does.
pub(super) fn deleted_by_peer(scene: &Scene<'_>) {
    let more = format!(" --change-key-at {CHANGE_AT} --delete-key-at {DELETE_AT}");
    let plan = plan(scene, settings(), &more);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        tokio::join!(
            send(&association, plan.payload, Some(CHANGE_AT)),
            receive_all(&association, plan.payload),
        );
        finish(scene, &plan, met).await;
        both_keys(scene);
        let words = scene.words.lock().expect("nobody panics here");
        assert!(words.iter().any(|line| line == "DELETED 1"), "{words:?}");
    });
}

/// Key 2 of both endpoints is another one than that which both associations are given.
pub(super) fn replaced(scene: &Scene<'_>) {
    let mut authentication = settings();
    // `conformance/interop/extensions.h` has another one as well.
    authentication.keys.set(2, b"not that of Tresse's association").expect("it is not too long");
    let more = format!(" --change-key-at {CHANGE_AT} --association-key");
    let plan = plan(scene, authentication, &more);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let (number, secret) = KEYS[1];
        association.set_shared_key(number, secret).expect("it is not too long");
        tokio::join!(
            send(&association, plan.payload, Some(CHANGE_AT)),
            receive_all(&association, plan.payload),
        );
        finish(scene, &plan, met).await;
        both_keys(scene);
    });
}

/// Tresse takes HMACs with SHA-1 alone.
pub(super) fn sha_1(scene: &Scene<'_>) {
    let weak = Authentication { algorithms: vec![HmacIdentifier::SHA_1], ..settings() };
    weak_to(scene, &plan(scene, weak, ""), Direction::In);
}

/// The peer does.
pub(super) fn sha_1_by_peer(scene: &Scene<'_>) {
    weak_to(scene, &plan(scene, settings(), ",sha-1"), Direction::Out);
}

/// All goes both ways, with SHA-1 in one direction and, where the other end takes it, SHA-256 in the other one.
fn weak_to(scene: &Scene<'_>, plan: &Plan, weak: Direction) {
    on_runtime(scene, async {
        let met = scene.meet(plan).await;
        let association = met.association.clone();
        tokio::join!(
            send(&association, plan.payload, None),
            receive_all(&association, plan.payload),
        );
        finish(scene, plan, met).await;
        let (sha_1, sha_256) = (HmacIdentifier::SHA_1.0, HmacIdentifier::SHA_256.0);
        for direction in [Direction::Out, Direction::In] {
            // usrsctp has SHA-256 within FreeBSD only.
            let strong = direction != weak && scene.cell.peer != Stack::Usrsctp;
            let expected = if strong { sha_256 } else { sha_1 };
            assert_eq!(algorithms(scene, direction), BTreeSet::from([expected]), "{direction:?}");
        }
    });
}

/// Waits until nothing is authenticated with key 1 any more.
async fn free(association: &Association) {
    loop {
        match association.next_event().await {
            Some(Event::Authentication(AuthenticationEvent::FreeKey { key: 1 })) => return,
            Some(_) => {}
            None => panic!("ended with the key in use: {}", association.closed().await),
        }
    }
}

/// Each end has used both keys.
fn both_keys(scene: &Scene<'_>) {
    let seen = [Direction::Out, Direction::In].map(|direction| keys(scene, direction));
    assert_eq!(seen, [BTreeSet::from([1, 2]), BTreeSet::from([1, 2])]);
}

/// All was authentic, and all has arrived.
async fn finish(scene: &Scene<'_>, plan: &Plan, met: super::scene::Met) {
    met.association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
    let stats = met.association.stats();
    let unauthentic =
        (stats.auth_chunks_forged, stats.auth_unknown_keys, stats.unauthenticated_chunks);
    assert_eq!(unauthentic, (0, 0, 0));
    assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
}
