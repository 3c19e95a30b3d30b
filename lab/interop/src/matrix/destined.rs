//! What goes to one address of the other end: a message that says so (SCTP_ADDR_OVER, RFC 6458 §5.3.4), and heartbeats, which
//! each address has its own settings for (SCTP_PEER_ADDR_PARAMS, §8.1.12).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tresse::{Association, Direction, PathSettings, Ppid, SendOptions, StreamId};
use tresse_peers::Payload;
use tresse_peers::traffic::{all_of, receive_all};
use tresse_wire::Chunk;

use super::Stack;
use super::ends::{end, on_runtime, suited};
use super::moving::both_active;
use super::scene::{Plan, Scene};

/// It takes a second, in bursts of two.
const PAYLOAD: Payload = Payload { messages: 96, size: 500, streams: 4, ..Payload::PLAIN };
const BURST: u64 = 2;
const INTERVAL: Duration = Duration::from_millis(20);
/// One of so many messages goes to the second address of the other end, in the second half: by then it is known to work.
const EVERY: u64 = 4;
/// How often the second address is asked, if RTO is left out. The first one is not.
const HEARTBEATS: Duration = Duration::from_millis(100);
/// Nothing else is sent for so long.
const SILENCE: Duration = Duration::from_secs(4);
/// What was under way when the settings changed has arrived.
const SETTLED: Duration = Duration::from_millis(500);
/// HB.interval and RTO, which is 500 ms at most, and half of that more now and then.
const AT_LEAST: usize = 4;

fn plan(scene: &Scene<'_>, more: &str) -> Plan {
    let options =
        format!("--duplex --close wait --interval {} --burst {BURST}{more}", INTERVAL.as_millis());
    Plan { two_paths: true, ..suited(scene, &Plan::new(PAYLOAD, &options)) }
}

fn is_destined(index: u64) -> bool {
    index >= PAYLOAD.messages / 2 && index % EVERY == EVERY - 1
}

/// Words for a peer, also for a server, which would not know the other end before.
fn named(addresses: &[IpAddr]) -> String {
    let list: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    format!("--peer {}", list.join(","))
}

/// Tresse names the address.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let plan = plan(scene, "");
    let [_, theirs] = scene.addresses(&plan);
    exchange(scene, &plan, Some(theirs[1]));
    judge(scene, Direction::Out, [theirs[0], theirs[1]]);
}

/// The peer does.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let [ours, _] = scene.addresses(&plan(scene, ""));
    // usrsctp looks without end for another stream, by its default scheduler, where a message for another address is all that waits.
    let scheduler = match scene.cell.peer {
        Stack::Usrsctp => " --scheduler first-come-first-served",
        _ => "",
    };
    let plan = plan(scene, &format!(" {} --destine-every {EVERY}{scheduler}", named(&ours)));
    exchange(scene, &plan, None);
    judge(scene, Direction::In, [ours[0], ours[1]]);
}

/// Both send all, once both addresses are known to work.
fn exchange(scene: &Scene<'_>, plan: &Plan, destination: Option<IpAddr>) {
    on_runtime(scene, async {
        let met = scene.meet(plan).await;
        let association = met.association.clone();
        both_active(&association).await;
        tokio::join!(
            send(&association, plan.payload, destination),
            receive_all(&association, plan.payload)
        );
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    });
}

/// Each message that was meant for the other address was sent there when it was sent first; of the rest only what shares a packet with
/// such a message was.
fn judge(scene: &Scene<'_>, side: Direction, [usual, other]: [IpAddr; 2]) {
    let mut went = BTreeMap::new();
    scene.recorder.placed_chunks(|direction, at, place, chunk| {
        if let Chunk::Data(data) = chunk
            && direction == side
        {
            let index = data.payload.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
            went.entry(index.expect("no message is shorter")).or_insert((place, at));
        }
    });
    assert_eq!(went.len() as u64, PAYLOAD.messages);
    let shared: BTreeSet<Duration> =
        went.iter().filter(|(index, _)| is_destined(**index)).map(|(_, (_, at))| *at).collect();
    for (index, (place, at)) in went {
        let allowed = match (is_destined(index), shared.contains(&at)) {
            (true, _) => place == other,
            (false, true) => place == other || place == usual,
            (false, false) => place == usual,
        };
        assert!(allowed, "message {index} went to {place}");
    }
}

/// Tresse asks the second address of the peer often, and the first one not at all.
pub(super) fn heartbeats(scene: &Scene<'_>) {
    let plan = plan(scene, "");
    let [_, theirs] = scene.addresses(&plan);
    silent(scene, &plan, |association| {
        for path in association.path_stats() {
            let heartbeats = path.remote == theirs[1];
            let settings =
                PathSettings { heartbeats, heartbeat_interval: HEARTBEATS, ..path.settings };
            association.configure_path(path.id, settings).expect("it is in range");
        }
    });
    judge_heartbeats(scene, Direction::Out, [theirs[0], theirs[1]]);
}

/// The peer does so with Tresse's.
pub(super) fn heartbeats_by_peer(scene: &Scene<'_>) {
    let [ours, _] = scene.addresses(&plan(scene, ""));
    let interval = HEARTBEATS.as_millis();
    let plan = plan(scene, &format!(" {} --ask-second {interval}", named(&ours)));
    silent(scene, &plan, |_| ());
    judge_heartbeats(scene, Direction::In, [ours[0], ours[1]]);
}

/// Both send all, and are silent then.
fn silent(scene: &Scene<'_>, plan: &Plan, set: impl FnOnce(&Association)) {
    on_runtime(scene, async {
        let met = scene.meet(plan).await;
        let association = met.association.clone();
        both_active(&association).await;
        tokio::join!(
            send(&association, plan.payload, None),
            receive_all(&association, plan.payload)
        );
        set(&association);
        tokio::time::sleep(SILENCE).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    });
}

/// After the last data the second address was asked, and the first one was not.
fn judge_heartbeats(scene: &Scene<'_>, side: Direction, [silent, asked]: [IpAddr; 2]) {
    let mut last = Duration::ZERO;
    scene.recorder.timed_chunks(|_, at, chunk| {
        if matches!(chunk, Chunk::Data(_)) {
            last = at;
        }
    });
    let mut heartbeats = [0, 0];
    scene.recorder.placed_chunks(|direction, at, place, chunk| {
        if matches!(chunk, Chunk::Heartbeat(_)) && direction == side && at > last + SETTLED {
            heartbeats[0] += usize::from(place == silent);
            heartbeats[1] += usize::from(place == asked);
        }
    });
    assert!(heartbeats[0] == 0 && heartbeats[1] >= AT_LEAST, "{heartbeats:?}");
}

/// Sends all, in bursts; to an address now and then, if there is one.
async fn send(association: &Association, payload: Payload, destination: Option<IpAddr>) {
    for index in 0..payload.messages {
        if index % BURST == 0 {
            tokio::time::sleep(INTERVAL).await;
        }
        let destination = destination.filter(|_| is_destined(index));
        let ppid = Ppid(payload.ppid(index));
        let options = SendOptions { ppid, destination, ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}
