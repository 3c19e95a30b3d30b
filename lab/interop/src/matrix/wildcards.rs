//! Addresses that a NAT would translate are not named (RFC 6951 §5.7): Tresse has private ones, its peer one of the wide world, and a
//! wildcard stands for where the chunk comes from (RFC 5061 §4.2.1, §4.2.2, §4.2.4).

use std::net::IpAddr;
use std::time::Duration;

use tresse::{AddressChange, Direction};
use tresse_peers::traffic::{all_of, receive_all};
use tresse_peers::{Unsupported, drop_packets};
use tresse_wire::{Chunk, Parameter};

use super::Stack;
use super::ends::{end, on_runtime};
use super::moving::{self, change, send};
use super::scene::{Plan, Scene};

/// How long a peer may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tresse would like data to come to its second address, and deletes all others; then it adds the first one, if that is asked for.
pub(super) fn play(scene: &Scene<'_>, adds: bool) {
    let far = matches!(scene.cell.peer, Stack::Linux | Stack::Usrsctp);
    let plan = Plan { far, ..moving::plan(scene, moving::PAYLOAD, " --with asconf,nat") };
    let [ours, _] = scene.addresses(&plan);
    scene.move_peer_away(&plan);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            // The peer has asked whether both are there.
            tokio::time::sleep(Duration::from_millis(500)).await;
            change(&association, AddressChange::SetPrimary, ours[1]).await;
            change(&association, AddressChange::Delete, ours[0]).await;
            assert_eq!(association.local_addresses(), [ours[1]]);
            if !adds {
                drop_packets("input", &format!("ip daddr {}", ours[0]));
                return;
            }
            let added = change(&association, AddressChange::Add, ours[0]);
            if tokio::time::timeout(PATIENCE, added).await.is_err() {
                unknown(scene);
            }
            assert_eq!(association.local_addresses(), [ours[1], ours[0]]);
        };
        tokio::join!(
            changes,
            send(&association, plan.payload),
            receive_all(&association, plan.payload)
        );
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(association.stats().auth_chunks_forged, 0);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        let named = named(scene);
        assert_eq!(named.len(), if adds { 3 } else { 2 });
        assert!(named.iter().all(IpAddr::is_unspecified), "{named:?}");
    });
}

/// The addresses in the requests of Tresse, a chunk that came again counted once.
pub(super) fn named(scene: &Scene<'_>) -> Vec<IpAddr> {
    let (mut named, mut last) = (Vec::new(), None);
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Asconf(asconf) if direction == Direction::Out && last != Some(asconf.number) => {
            last = Some(asconf.number);
            for request in asconf.requests.parsed().map_while(Result::ok) {
                if let Parameter::AddIpAddress(one)
                | Parameter::DeleteIpAddress(one)
                | Parameter::SetPrimaryAddress(one) = request
                {
                    named.push(one.address);
                }
            }
        }
        _ => {}
    });
    named
}

/// The peer answers nothing to the chunk that comes from where it knows nobody.
fn unknown(scene: &Scene<'_>) -> ! {
    let (mut asked, mut answered) = (0, 0);
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::Asconf(_)) => asked += 1,
        (Direction::In, Chunk::AsconfAck(_)) => answered += 1,
        _ => {}
    });
    assert!(asked > 4 && answered == 2, "{asked} ASCONF chunks, {answered} answers");
    let name = scene.cell.peer.name();
    Unsupported(format!(
        "{name} does not answer an ASCONF chunk that names no address and comes from one that it does not know, while it answers those \
         from one that it knows (RFC 6951 §5.7)"
    ))
    .raise()
}
