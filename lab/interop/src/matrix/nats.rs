//! A NAT between the hosts (RFC 6951): one that forgets, so that the client has another UDP port to the server from then on (§5.4), and
//! one behind which Tresse moves, or that it leaves for another one (§5.7).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{AddressChange, AddressOutcome, Association, Direction};
use tresse_peers::traffic::all_of;
use tresse_peers::{Nat, Payload, Unsupported, command};
use tresse_wire::Chunk;

use super::Role;
use super::automatic::{judge_retransmissions, told};
use super::ends::{end, on_runtime, suited};
use super::moving::{self, beside_data};
use super::scene::{Plan, Scene};
use super::wildcards::named;

/// Where Tresse goes on: behind the same NAT, or in the network of another one.
const BESIDE: [u8; 4] = [10, 1, 0, 3];
const ELSEWHERE: [u8; 4] = [10, 3, 0, 1];
/// How long a peer may take to answer; Tresse gives it up a little later.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long all of it may take, which is two seconds and what the move costs.
const ALL: Duration = Duration::from_secs(20);
/// For how long its host has no address meanwhile.
const AWAY: Duration = Duration::from_millis(50);

/// The client is behind a NAT, which forgets while data is under way: the server follows the client to its new port.
pub(super) fn forgets(scene: &Scene<'_>) {
    let behind = scene.cell.role == Role::Client;
    let times = scene.amount(2, 20);
    let payload = Payload { messages: 800 * times, ..moving::PAYLOAD };
    let options = "--duplex --close wait --interval 10 --burst 8";
    let plan = Plan {
        udp: true,
        routed: true,
        far: behind,
        abroad: !behind,
        ..suited(scene, &Plan::new(payload, options))
    };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let come = || association.stats().messages_received;
        let mut followed = vec![place(&association)];
        let changes = async {
            for time in 1..=times {
                until(|| come() > payload.messages * time / (times + 1)).await;
                scene.at_nat(Nat::forget);
                if !behind {
                    let losses = || Nat::losses_before(place(&association).port());
                    until(|| losses().map(u64::from) == Some(time)).await;
                    followed.push(place(&association));
                }
            }
            assert!(come() < payload.messages, "all came before the NAT had forgotten");
        };
        beside_data(&association, plan.payload, changes).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        let seen = scene.at_nat(Nat::seen);
        assert!(seen.iter().all(|at| *at.ip() == Nat::ADDRESS), "{seen:?}");
        let losses: BTreeSet<_> = seen.iter().map(|at| Nat::losses_before(at.port())).collect();
        let each = (0..=u16::try_from(times).expect("it is small")).map(Some);
        assert!(losses.into_iter().eq(each.clone()), "{seen:?}");
        if !behind {
            let followed: Vec<_> =
                followed.iter().map(|at| Nat::losses_before(at.port())).collect();
            assert!(followed.iter().copied().eq(each), "{followed:?}");
        }
        let listed = listed(scene, if behind { Direction::Out } else { Direction::In });
        assert!(listed.is_empty(), "INIT lists {listed:?}, which is behind a NAT");
    });
}

/// The host of Tresse loses its address, and gets another one of the same network, or of one whose NAT has another address outside.
/// Tresse tells the peer, in chunks that name no address.
pub(super) fn moves(scene: &Scene<'_>, on: bool) {
    let result = catch_unwind(AssertUnwindSafe(|| go(scene, on)));
    if result.is_err() {
        judge_answers(scene);
        judge_silence(scene);
    }
    judge_retransmissions(scene);
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn go(scene: &Scene<'_>, on: bool) {
    let plan = moving::plan(scene, moving::PAYLOAD, " --with asconf,nat");
    let plan = Plan {
        two_paths: false,
        wildcard: true,
        udp: true,
        routed: true,
        far: true,
        // A peer that does not answer is asked again and again within the time that it has.
        overrides: "
            rto = { initial_ms = 200, min_ms = 100, max_ms = 500 }
            heartbeat = { interval_ms = 500 }
        ",
        ..plan
    };
    let first = scene.addresses(&plan)[0][0];
    let second = Ipv4Addr::from(if on { ELSEWHERE } else { BESIDE });
    let gateway = Ipv4Addr::from([10, second.octets()[1], 0, 2]);
    scene.at_nat(|nat| {
        if on {
            command(&format!("ip addr add {gateway}/24 dev to1"));
            nat.second(&format!("{second}/24"));
        }
        if scene.cell.role == Role::Server {
            let IpAddr::V4(inside) = first else { unreachable!("{first}") };
            nat.expose(inside);
        }
    });
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let changes = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            command(&format!("ip addr del {first}/24 dev to1"));
            tokio::time::sleep(AWAY).await;
            command(&format!("ip addr add {second}/24 dev to1"));
            command(&format!("ip route add default via {gateway}"));
            for (change, address) in
                [(AddressChange::Add, second.into()), (AddressChange::Delete, first)]
            {
                let told = tokio::time::timeout(PATIENCE, told(&association)).await;
                let told = told.unwrap_or_else(|_| panic!("{change:?} of {address}: no answer"));
                assert_eq!(told, (change, address, AddressOutcome::Done));
            }
            assert_eq!(association.local_addresses(), [IpAddr::from(second)]);
            let come = association.stats().messages_received;
            assert!(come < plan.payload.messages, "all came before Tresse moved");
        };
        let all = beside_data(&association, plan.payload, changes);
        tokio::time::timeout(ALL, all).await.expect("data goes on");
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        assert_eq!(association.stats().auth_chunks_forged, 0);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        let named = named(scene);
        assert_eq!(named.len(), 2);
        assert!(named.iter().all(IpAddr::is_unspecified), "{named:?}");
        let seen = scene.at_nat(Nat::seen);
        let places: BTreeSet<Ipv4Addr> = seen.iter().map(|at| *at.ip()).collect();
        let place = if on { Nat::SECOND } else { Nat::ADDRESS };
        assert!(seen.len() > 1 && places == [Nat::ADDRESS, place].into(), "{seen:?}");
        let listed = listed(scene, Direction::Out);
        assert!(listed.is_empty(), "{listed:?} was listed, which is behind a NAT");
    });
}

/// Where the peer is.
fn place(association: &Association) -> SocketAddrV4 {
    let paths = association.path_stats();
    match (paths[0].remote, paths[0].encapsulation) {
        (IpAddr::V4(ip), Some(port)) => SocketAddrV4::new(ip, port),
        other => panic!("{other:?}"),
    }
}

/// The addresses in INIT and INIT ACK of one end.
fn listed(scene: &Scene<'_>, end: Direction) -> Vec<IpAddr> {
    let mut listed = Vec::new();
    scene.recorder.chunks(|direction, chunk| {
        if direction == end
            && let Chunk::Init(init) | Chunk::InitAck(init) = chunk
        {
            listed.extend(init.parameters.parsed().map_while(Result::ok).filter_map(address));
        }
    });
    listed
}

fn address(parameter: tresse_wire::Parameter<'_>) -> Option<IpAddr> {
    match parameter {
        tresse_wire::Parameter::Ipv4Address(one) => Some(one.into()),
        tresse_wire::Parameter::Ipv6Address(one) => Some(one.into()),
        _ => None,
    }
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether the peer takes no chunk from where it knows nobody, which it does not have to find out by the source of a packet.
fn judge_answers(scene: &Scene<'_>) {
    let (mut asked, mut answered, mut aborted) = (0, 0, false);
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::Asconf(_)) => asked += 1,
        (Direction::In, Chunk::AsconfAck(_)) => answered += 1,
        (Direction::In, Chunk::Abort(abort)) => aborted |= abort.tag_reflected && asked > 0,
        _ => {}
    });
    let from_elsewhere = scene.at_nat(Nat::seen).iter().any(|at| *at.ip() == Nat::SECOND);
    let name = scene.cell.peer.name();
    let what = "an ASCONF chunk that names no address and comes from a NAT that it does not know";
    match (aborted, asked) {
        _ if answered > 0 || !from_elsewhere => {}
        (true, _) => Unsupported(format!(
            "{name} answers {what} with ABORT, as if there were no association (RFC 6951 §5.7)"
        ))
        .raise(),
        (false, 5..) => {
            Unsupported(format!("{name} does not answer {what} (RFC 6951 §5.7)")).raise()
        }
        _ => {}
    }
}

/// Whether the peer has stopped for good, while it answers heartbeats.
fn judge_silence(scene: &Scene<'_>) {
    let (mut data, mut answer, mut granted) = (Duration::ZERO, Duration::ZERO, false);
    scene.recorder.timed_chunks(|direction, at, chunk| match (direction, chunk) {
        (Direction::In, Chunk::Data(_)) => data = at,
        (Direction::In, Chunk::HeartbeatAck(_)) => answer = at,
        (Direction::In, Chunk::AsconfAck(_)) => granted = true,
        _ => {}
    });
    if granted && answer > data + ALL / 2 {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "{name} may send nothing any more when the address is deleted that it sends to, neither what was under way nor what is \
             new, while it answers heartbeats (RFC 5061 §5.3 F13)"
        ))
        .raise();
    }
}
