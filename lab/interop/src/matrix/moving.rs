//! Addresses that go, come back, and are where data goes, while it is under way (RFC 5061).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tresse::{
    AddressChange, AddressOutcome, Association, Authentication, Direction, Event, PathState, Ppid,
    SendOptions, StreamId,
};
use tresse_wire::Chunk;

use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::traffic::{all_of, receive_all};
use tresse_peers::{Payload, drop_packets};

/// It takes two seconds.
pub(super) const PAYLOAD: Payload =
    Payload { messages: 1_600, size: 500, streams: 4, ..Payload::PLAIN };
const BURST: u64 = 8;
const INTERVAL: Duration = Duration::from_millis(10);
/// From this message on the peer changes its addresses, once in this many messages (`conformance/interop/extensions.h`).
const CHANGE_AT: u64 = 400;

pub(super) fn plan(scene: &Scene<'_>, payload: Payload, more: &str) -> Plan {
    let options = format!(
        "--duplex --with asconf --close wait --interval {} --burst {BURST}{more}",
        INTERVAL.as_millis()
    );
    Plan {
        two_paths: true,
        // Keys are the empty ones that all have.
        authentication: Some(Arc::new(Authentication::default())),
        moving: true,
        ..suited(scene, &Plan::new(payload, &options))
    }
}

/// Tresse deletes its second address, adds it again, would like data to come there, and deletes the first one.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let plan = plan(scene, PAYLOAD, "");
    let [ours, _] = scene.addresses(&plan);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            both_active(&association).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            change(&association, AddressChange::Delete, ours[1]).await;
            change(&association, AddressChange::Add, ours[1]).await;
            // The peer has asked whether it is there.
            tokio::time::sleep(Duration::from_millis(500)).await;
            change(&association, AddressChange::SetPrimary, ours[1]).await;
            change(&association, AddressChange::Delete, ours[0]).await;
            assert_eq!(association.local_addresses(), [ours[1]]);
            lose(scene, 0);
        };
        beside_data(&association, plan.payload, changes).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let stats = association.stats();
        assert_eq!((stats.asconfs_sent, stats.auth_chunks_forged), (4, 0));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
    });
}

/// The peer does the same with its addresses.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let plan = plan(scene, PAYLOAD, &format!(" --readdress-at {CHANGE_AT}"));
    let [ours, theirs] = scene.addresses(&plan);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            let (mut told, mut primary) = (Vec::new(), false);
            while told.len() < 3 {
                match association.next_event().await {
                    Some(Event::PeerAddressRemoved(_, address)) => told.push((false, address)),
                    Some(Event::PeerAddressAdded(_, address)) => {
                        told.push((true, address));
                        // usrsctp leaves the source of a datagram to the kernel, which takes it by the destination; and
                        // nobody deletes the address that his request comes from (RFC 5061 §5.3 F8).
                        let asked = association.set_peer_primary(ours[1]);
                        asked.unwrap_or_else(|e| panic!("{}: {e}", ours[1]));
                    }
                    Some(_) => {}
                    None => panic!("ended with {told:?}: {}", association.closed().await),
                }
                let paths = association.path_stats();
                primary |= paths.iter().any(|path| path.primary && path.remote == theirs[1]);
            }
            assert_eq!(told, [(false, theirs[1]), (true, theirs[1]), (false, theirs[0])]);
            assert!(primary, "the other address was never the primary one");
            lose(scene, 0);
        };
        beside_data(&association, plan.payload, changes).await;
        let remotes: Vec<IpAddr> = association.path_stats().iter().map(|p| p.remote).collect();
        assert_eq!(remotes, [theirs[1]]);
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert!(association.stats().asconfs_received >= 4);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        let mut preferred = 0;
        scene.recorder.chunks(|direction, chunk| match chunk {
            Chunk::Asconf(asconf) if direction == Direction::In => {
                let wishes = asconf.requests.parsed().filter(|request| {
                    matches!(request, Ok(tresse_wire::Parameter::SetPrimaryAddress(_)))
                });
                preferred += wishes.count();
            }
            _ => {}
        });
        assert!(preferred > 0, "the peer has said nothing of where it wants data");
    });
}

/// Changes of addresses while data flows both ways, all of which arrives.
pub(super) async fn beside_data(
    association: &Association,
    payload: Payload,
    changes: impl Future<Output = ()>,
) {
    tokio::join!(changes, send(association, payload), receive_all(association, payload));
}

/// Both addresses of the peer are known to work.
pub(super) async fn both_active(association: &Association) {
    let active = || {
        let paths = association.path_stats();
        paths.iter().filter(|path| path.state == PathState::Active).count()
    };
    while active() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asks the peer for a change, and waits until it is done.
pub(super) async fn change(association: &Association, what: AddressChange, address: IpAddr) {
    match what {
        AddressChange::Add => association.add_address(address),
        AddressChange::Delete => association.remove_address(address),
        AddressChange::SetPrimary => association.set_peer_primary(address),
    }
    .unwrap_or_else(|e| panic!("{what:?} of {address}: {e}"));
    loop {
        match association.next_event().await {
            Some(Event::AddressChanged { change, address: at, outcome }) => {
                assert_eq!((change, at, outcome), (what, address, AddressOutcome::Done));
                break;
            }
            Some(_) => {}
            None => panic!("{what:?}: {}", association.closed().await),
        }
    }
}

/// From now on nothing comes or goes over that path.
pub(super) fn lose(scene: &Scene<'_>, path: usize) {
    let protocol = if scene.is_guest() { 132 } else { 17 };
    let interface = scene.interface(path);
    drop_packets("input", &format!("iifname {interface} ip protocol {protocol}"));
    drop_packets("output", &format!("oifname {interface} ip protocol {protocol}"));
}

/// Sends all, in bursts.
pub(super) async fn send(association: &Association, payload: Payload) {
    for index in 0..payload.messages {
        if index % BURST == 0 {
            tokio::time::sleep(INTERVAL).await;
        }
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}
