//! Hosts that get addresses and lose others while data is under way: who is bound to all of them tells the other end (SCTP_AUTO_ASCONF,
//! RFC 6458 §8.1.24; RFC 5061).

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{AddressChange, AddressOutcome, Association, Direction, Event};
use tresse_peers::traffic::all_of;
use tresse_peers::{Payload, Unsupported, command, drop_packets};
use tresse_wire::{Cause, Chunk};

use super::Stack;
use super::ends::{end, on_runtime};
use super::moving::{self, lose};
use super::scene::{Plan, Scene};

/// It takes eight seconds: a kernel collects changes for half a second.
const PAYLOAD: Payload = Payload { messages: 6_400, ..moving::PAYLOAD };
/// How long a peer may take to tell of a change.
const PATIENCE: Duration = Duration::from_secs(5);
/// The peer asks whether an address is there before it sends data to it; and the Linux kernel, which collects changes for 500 ms,
/// tells of none that is undone meanwhile.
const SETTLING: Duration = Duration::from_millis(600);

/// The host of Tresse gets its second address and loses the first one, and then the other way round; the peer is told of each, and
/// grants it.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let result = catch_unwind(AssertUnwindSafe(|| move_tresse(scene)));
    judge_retransmissions(scene);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn move_tresse(scene: &Scene<'_>) {
    let plan = Plan { wildcard: true, ..moving::plan(scene, PAYLOAD, "") };
    let [ours, _] = scene.addresses(&plan);
    let host = |change: AddressChange, path: usize| {
        command(&ip_addr(change, ours[path], &scene.interface(path)));
        (change, ours[path], AddressOutcome::Done)
    };
    host(AddressChange::Delete, 1);
    keep_to_two(scene);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            tokio::time::sleep(SETTLING).await;
            for (change, path) in CHANGES {
                assert_eq!(host(change, path), told(&association).await);
                tokio::time::sleep(SETTLING).await;
            }
            let known = association.local_addresses();
            assert!(known.contains(&ours[0]) && !known.contains(&ours[1]), "{known:?}");
            under_way(&association);
            lose(scene, 1);
        };
        moving::beside_data(&association, plan.payload, changes).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let stats = association.stats();
        assert_eq!((stats.asconfs_sent, stats.auth_chunks_forged), (4, 0));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    });
}

/// Whether the peer has given up on a chunk that it sent again and again to where nobody is any more: Tresse has got it nowhere.
pub(super) fn judge_retransmissions(scene: &Scene<'_>) {
    let (mut come, mut reason) = (BTreeSet::new(), String::new());
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Data(data) if direction == Direction::In => {
            come.insert(data.tsn.0);
        }
        Chunk::Abort(abort) if direction == Direction::In => {
            for cause in abort.causes.parsed().map_while(Result::ok) {
                if let Cause::ProtocolViolation(words) = cause {
                    reason = String::from_utf8_lossy(words).into_owned();
                }
            }
        }
        _ => {}
    });
    let lost = reason.strip_prefix("TSN ").and_then(|words| words.split_once(" retransmitted "));
    let Some((tsn, rest)) = lost else { return };
    let tsn = u32::from_str_radix(tsn, 16).unwrap_or_else(|e| panic!("{reason}: {e}"));
    assert!(!come.contains(&tsn), "it has come, and the peer says: {reason}");
    let name = scene.cell.peer.name();
    Unsupported(format!(
        "{name} may send what was under way to an address of Tresse there again and again when that is deleted, and nowhere else \
         until it aborts: retransmitted {rest} (RFC 5061 §5.3 F13)"
    ))
    .raise();
}

/// The host of the peer does the same.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let words = match scene.cell.peer {
        Stack::Linux | Stack::Usrsctp => " --with asconf,auto-asconf --address 0.0.0.0",
        _ => "",
    };
    let plan = moving::plan(scene, PAYLOAD, words);
    let [_, theirs] = scene.addresses(&plan);
    let host = async |change: AddressChange, path: usize| {
        scene.command_there(&ip_addr(change, theirs[path], &scene.interface_there(path))).await;
        (change == AddressChange::Add, theirs[path])
    };
    keep_to_two(scene);
    on_runtime(scene, async {
        host(AddressChange::Delete, 1).await;
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            tokio::time::sleep(SETTLING).await;
            for (change, path) in CHANGES {
                let made = host(change, path).await;
                let heard = tokio::time::timeout(PATIENCE, heard(&association)).await;
                let Ok(heard) = heard else { silent(scene, &association, change) };
                assert_eq!(heard, made);
            }
            under_way(&association);
            lose(scene, 1);
        };
        moving::beside_data(&association, plan.payload, changes).await;
        let remotes: Vec<IpAddr> = association.path_stats().iter().map(|p| p.remote).collect();
        assert!(remotes.contains(&theirs[0]) && !remotes.contains(&theirs[1]), "{remotes:?}");
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert!(association.stats().asconfs_received >= 4);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    });
}

/// What becomes of the addresses of two paths, of which the host has the first one.
const CHANGES: [(AddressChange, usize); 4] = [
    (AddressChange::Add, 1),
    (AddressChange::Delete, 0),
    (AddressChange::Add, 0),
    (AddressChange::Delete, 1),
];

/// Has a host get an address, or lose it.
fn ip_addr(change: AddressChange, address: IpAddr, interface: &str) -> String {
    let word = if change == AddressChange::Add { "add" } else { "del" };
    format!("ip addr {word} {address}/24 dev {interface}")
}

/// Commands for the guest come through a third interface, whose addresses are addresses of both ends as well: they are of no use.
fn keep_to_two(scene: &Scene<'_>) {
    if scene.is_guest() {
        let interface = scene.interface(2);
        drop_packets("input", &format!("iifname {interface} ip protocol 132"));
        drop_packets("output", &format!("oifname {interface} ip protocol 132"));
    }
}

/// What became of the next change that Tresse has asked for.
pub(super) async fn told(association: &Association) -> (AddressChange, IpAddr, AddressOutcome) {
    loop {
        match association.next_event().await {
            Some(Event::AddressChanged { change, address, outcome }) => {
                break (change, address, outcome);
            }
            Some(_) => {}
            None => panic!("ended before it was told: {}", association.closed().await),
        }
    }
}

/// The next change that the peer tells of: whether it has the address now.
async fn heard(association: &Association) -> (bool, IpAddr) {
    loop {
        match association.next_event().await {
            Some(Event::PeerAddressAdded(_, address)) => break (true, address),
            Some(Event::PeerAddressRemoved(_, address)) => break (false, address),
            Some(_) => {}
            None => panic!("ended before it was heard: {}", association.closed().await),
        }
    }
}

/// There is data left that nothing but the last address can bring.
fn under_way(association: &Association) {
    let come = association.stats().messages_received;
    assert!(come < PAYLOAD.messages, "all came before the last change");
}

/// The peer tells of nothing, while its data comes.
fn silent(scene: &Scene<'_>, association: &Association, change: AddressChange) -> ! {
    let (name, come) = (scene.cell.peer.name(), association.stats().messages_received);
    let mut asked = 0;
    scene.recorder.chunks(|direction, chunk| {
        let asconf = matches!(chunk, Chunk::Asconf(_)) && direction == Direction::In;
        asked += u32::from(asconf);
    });
    assert!(
        asked == 0 && come > 0 && change == AddressChange::Add,
        "{change:?} was not heard of; {asked} ASCONF chunks and {come} messages came"
    );
    Unsupported(format!(
        "{name} takes SCTP_AUTO_ASCONF, and sends no ASCONF chunk within {} s of its host getting an address, while its data comes",
        PATIENCE.as_secs()
    ))
    .raise()
}
