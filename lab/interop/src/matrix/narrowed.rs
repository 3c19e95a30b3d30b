//! A way that becomes narrower while data is under way: the router says so (RFC 1191, RFC 8201), or drops what is too large without a
//! word (RFC 8899 §4.3).

use std::time::Duration;

use tresse::{Association, Direction, MtuDiscovery, PathStats, Ppid, SendOptions, StreamId};
use tresse_peers::traffic::{all_of, receive};
use tresse_peers::{Payload, PeerReport, command, drop_packets};

use super::ends::{end, on_runtime, suited};
use super::scene::{Met, Plan, Scene};
use super::searched::{Sizes, sizes};

/// Messages that take several packets.
const PAYLOAD: Payload = Payload { messages: 400, size: 10_000, streams: 4, ..Payload::PLAIN };
/// What passes in the beginning, and what passes then.
const WHOLE: usize = 1_500;
const NARROW: usize = 1_400;

fn plan(scene: &Scene<'_>, payload: Payload, options: &str) -> Plan {
    let options = format!("{options} --close wait");
    Plan { routed: true, ..suited(scene, &Plan::new(payload, &options)) }
}

/// The next hop of a router takes less, and it says so: once of each family.
pub(super) fn told(scene: &Scene<'_>) {
    for ipv6 in [false, true] {
        scene.begin_anew();
        let plan = Plan { ipv6, ..plan(scene, PAYLOAD, "--send 0") };
        let interface = if scene.is_guest() { "peer0" } else { "to2" };
        let mtu = |bytes| command(&format!("ip link set {interface} mtu {bytes}"));
        scene.at_router(|| mtu(WHOLE));
        let (path, told) = send(scene, &plan, || scene.at_router(|| mtu(NARROW)));
        assert!(told > 0, "no ICMP message was believed");
        // It waited for no timer.
        let waited = (path.timeouts, path.counters.mtu_black_holes);
        assert_eq!((path.mtu, waited), (NARROW, (0, 0)), "{path:?}");
    }
}

/// A router takes less in both directions, and says nothing. Over IPv6 it fragments nothing either: what is under way has to leave
/// again in fragments, which only an end that writes IP packets itself can have (RFC 8200 §4.5).
pub(super) fn silent(scene: &Scene<'_>, ipv6: bool) {
    let search = Some(MtuDiscovery::probes(WHOLE));
    let plan = plan(scene, PAYLOAD, "--send 0");
    let plan = Plan { mtu_discovery: search, ipv6, raw: ipv6, ..plan };
    let (path, told) = send(scene, &plan, || narrow_silently(scene, ipv6));
    assert!(path.counters.mtu_black_holes > 0, "{path:?}");
    assert!((1_280..=NARROW).contains(&path.mtu) && told == 0, "{told} ICMP, {path:?}");
}

/// The same, while the peer sends and searches.
pub(super) fn silent_by_peer(scene: &Scene<'_>) {
    let payload = Payload { messages: 300, ..PAYLOAD };
    // The kernel searches no sooner than 5 s from the beginning, and asks every 5 s whether what it has found still passes.
    let plan = plan(scene, payload, "--receive 0 --with mtu-search --interval 50");
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let received = tresse_peers::Received::new(plan.payload);
        let come = receive(&association, received, |come| {
            if come == payload.messages * 2 / 3 {
                let found = sizes(scene, &plan, Direction::In);
                assert!(found.last > NARROW, "data of {} bytes before it was narrow", found.last);
                narrow_silently(scene, false);
            }
        });
        assert_eq!(come.await, Ok(payload.messages));
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        drop(association);
        let report = end(scene, met).await;
        assert_eq!((report.sent, report.messages), (plan.payload.bytes(), 0));
        let last = sizes(scene, &plan, Direction::In).last;
        assert!((1_000..=NARROW).contains(&last), "data of {last} bytes at last");
    });
}

/// What is larger is dropped if the router must not fragment it, and no ICMP message leaves.
fn narrow_silently(scene: &Scene<'_>, ipv6: bool) {
    let guest = scene.is_guest();
    let (ip, rest, ways) = if ipv6 {
        let there = if guest { "fd99:0::/64 dev peer0" } else { "fd02::/64 dev to2" };
        // That of the route which the address has made, or it would be another one.
        ("ip -6", "metric 256", ["fd01::/64 dev to1", there])
    } else {
        let there = if guest {
            "10.99.0.0/24 dev peer0 src 10.99.0.1"
        } else {
            "10.2.0.0/24 dev to2 src 10.2.0.1"
        };
        ("ip", "scope link", ["10.1.0.0/24 dev to1 src 10.1.0.2", there])
    };
    scene.at_router(|| {
        drop_packets("output", "meta l4proto icmp");
        drop_packets("output", "icmpv6 type packet-too-big");
        for way in ways {
            command(&format!("{ip} route replace {way} proto kernel {rest} mtu {NARROW}"));
        }
    });
}

/// Tresse sends all, and it becomes `narrow` when packets are as large as they may be. What Tresse knows of the path at the end, and how
/// many ICMP messages it has believed.
fn send(scene: &Scene<'_>, plan: &Plan, narrow: impl Fn()) -> (PathStats, u64) {
    on_runtime(scene, async {
        let met = scene.meet(plan).await;
        let Met { association, .. } = &met;
        let mtu = || association.path_stats()[0].mtu;
        let half = plan.payload.messages / 2;
        send_some(association, plan.payload, 0..half).await;
        while mtu() < WHOLE {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Some of it is under way.
        send_some(association, plan.payload, half..half + 20).await;
        narrow();
        send_some(association, plan.payload, half + 20..plan.payload.messages).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let path = association.path_stats()[0].clone();
        let told = met.endpoint.stats().icmp_accepted;
        let report = end(scene, met).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(plan.payload, "shutdown") });
        let Sizes { most, last, .. } = sizes(scene, plan, Direction::Out);
        assert!(most > NARROW && last <= NARROW, "data of {most} bytes, and {last} at last");
        (path, told)
    })
}

async fn send_some(association: &Association, payload: Payload, indices: std::ops::Range<u64>) {
    for index in indices {
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}
