//! What each cell does, on Tresse's side and on the peer's.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tresse::{Association, CloseReason, Closed, Direction, Endpoint, Event, PathState};
use tresse_netem::LinkConfig;
use tresse_wire::Chunk;

use super::ends::{end, on_runtime, suited};
use super::partial::Row;
use super::scene::{Met, Plan, Scene};
use super::{
    Role, Subject, added, authenticated, automatic, crossing, damaged, denied, destined, forged,
    interleaved, kept, keys, lost_resets, marked, moving, narrowed, nats, partial, parts,
    prioritized, resets, scheduled, searched, whole_reset, wildcards, zero_checksum,
};
use tresse_peers::traffic::{
    BRIEF, BULK, LARGE, SMALL, all_of, blocking, interrupt, receive_all, send_all,
};
use tresse_peers::{Payload, PeerReport, Unsupported, command, drop_packets};

/// Who ends an association.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Tresse,
    Peer,
}

/// Plays the cell of a scene.
///
/// # Panics
/// When it fails, or with [`Unsupported`] when the peer cannot do it.
pub(super) fn play(scene: &Scene<'_>) {
    let full = |quick, full| scene.amount(quick, full);
    let of = |payload: Payload, messages| Payload { messages, ..payload };
    let plan = |payload| Plan::new(payload, "");
    match scene.cell.subject {
        Subject::Handshake => transfer(scene, &plan(of(BULK, 0)), By::Tresse),
        Subject::Bulk => transfer(scene, &plan(of(BULK, full(3_000, 100_000))), By::Tresse),
        Subject::SmallMessages => {
            let payload = Payload { streams: 1, ..of(SMALL, full(5_000, 50_000)) };
            transfer(scene, &plan(payload), By::Tresse);
        }
        Subject::ManyStreams => {
            let payload = Payload { streams: 1_000, size: 200, ..of(BULK, full(2_000, 50_000)) };
            transfer(scene, &plan(payload), By::Tresse);
        }
        Subject::Unordered => {
            let payload = Payload { size: 4_000, streams: 3, ..of(BULK, full(300, 5_000)) };
            transfer(scene, &plan(Payload { unordered: true, ..payload }), By::Tresse);
        }
        Subject::Fragmentation => {
            transfer(scene, &plan(of(LARGE, full(32, 320))), By::Tresse);
        }
        Subject::ShutdownByTresse => {
            transfer(scene, &Plan::new(BRIEF, "--duplex"), By::Tresse);
        }
        Subject::ShutdownByPeer => {
            let result = catch_unwind(AssertUnwindSafe(|| transfer(scene, &plan(BRIEF), By::Peer)));
            judge_shutdown(scene);
            result.unwrap_or_else(|panic| resume_unwind(panic));
        }
        Subject::AbortByTresse => abort_by_tresse(scene),
        Subject::AbortByPeer => abort_by_peer(scene),
        Subject::Restart if scene.cell.role == Role::Client => restart_of_tresse(scene),
        Subject::Restart => restart_of_the_peer(scene),
        Subject::Loss | Subject::Reordering => impaired(scene),
        Subject::Failover => failover(scene),
        Subject::Udp => {
            let payload = of(BULK, full(500, 10_000));
            transfer(scene, &Plan { udp: true, ..plan(payload) }, By::Tresse);
        }
        Subject::Ipv6 => transfer(scene, &Plan { ipv6: true, ..plan(BRIEF) }, By::Tresse),
        _ => play_extension(scene),
    }
}

/// Plays the cell of a scene that is about an extension.
fn play_extension(scene: &Scene<'_>) {
    match scene.cell.subject {
        Subject::Reset => resets::by_tresse(scene, None),
        Subject::ResetByPeer => resets::by_peer(scene, None),
        Subject::AskedReset => resets::by_peer_asked(scene),
        Subject::ResetAskedByPeer => resets::by_tresse_asked(scene),
        Subject::AddStreams => added::by_tresse(scene),
        Subject::AddStreamsByPeer => added::by_peer(scene),
        Subject::ResetAll => whole_reset::by_tresse(scene),
        Subject::ResetAllByPeer => whole_reset::by_peer(scene),
        Subject::ResetLost => lost_resets::by_tresse(scene),
        Subject::ResetLostByPeer => lost_resets::by_peer(scene),
        Subject::ResetsCross => crossing::play(scene),
        Subject::DeniedByPeer => denied::by_peer(scene),
        Subject::Denied => denied::by_tresse(scene),
        Subject::Timed => partial::sent(scene, Row::TIMED),
        Subject::TimedByPeer => partial::received(scene, Row::TIMED),
        Subject::Limited => partial::sent(scene, Row::LIMITED),
        Subject::LimitedByPeer => partial::received(scene, Row::LIMITED),
        Subject::UnorderedLimited => partial::sent(scene, Row::UNORDERED),
        Subject::UnorderedLimitedByPeer => partial::received(scene, Row::UNORDERED),
        Subject::LargeTimed => partial::sent(scene, Row::LARGE_TIMED),
        Subject::LargeTimedByPeer => partial::received(scene, Row::LARGE_TIMED),
        Subject::LargeLimited => partial::sent(scene, Row::LARGE_LIMITED),
        Subject::LargeLimitedByPeer => partial::received(scene, Row::LARGE_LIMITED),
        Subject::Prioritized => prioritized::sent(scene),
        Subject::PrioritizedByPeer => prioritized::received(scene),
        Subject::LimitedInterleaved => partial::sent(scene, Row::LIMITED.interleaved()),
        Subject::LimitedInterleavedByPeer => partial::received(scene, Row::LIMITED.interleaved()),
        Subject::UnorderedInterleaved => partial::sent(scene, Row::UNORDERED.interleaved()),
        Subject::UnorderedInterleavedByPeer => {
            partial::received(scene, Row::UNORDERED.interleaved());
        }
        Subject::KeyChange => authenticated::by_tresse(scene),
        Subject::KeyChangeByPeer => authenticated::by_peer(scene),
        Subject::KeyDeleted => keys::deleted(scene),
        Subject::KeyDeletedByPeer => keys::deleted_by_peer(scene),
        Subject::KeyReplaced => keys::replaced(scene),
        Subject::Sha1 => keys::sha_1(scene),
        Subject::Sha1ByPeer => keys::sha_1_by_peer(scene),
        Subject::Forged => forged::play(scene),
        Subject::Interleaved => interleaved::sent(scene),
        Subject::InterleavedByPeer => interleaved::received(scene),
        Subject::Schedulers | Subject::SchedulersInterleaved => scheduled::sent(scene),
        Subject::SchedulersByPeer | Subject::SchedulersInterleavedByPeer => {
            scheduled::received(scene);
        }
        Subject::ZeroChecksum => zero_checksum::agreed(scene),
        Subject::ZeroChecksumOffered => zero_checksum::offered(scene),
        Subject::Moves => moving::by_tresse(scene),
        Subject::MovesByPeer => moving::by_peer(scene),
        Subject::HostMoves => automatic::by_tresse(scene),
        Subject::HostMovesByPeer => automatic::by_peer(scene),
        Subject::Wildcards => wildcards::play(scene, false),
        Subject::WildcardAdds => wildcards::play(scene, true),
        Subject::NatForgets => nats::forgets(scene),
        Subject::NatMoves => nats::moves(scene, false),
        Subject::NatMovesOn => nats::moves(scene, true),
        Subject::Marked => marked::play(scene, false),
        Subject::MarkedInUdp => marked::play(scene, true),
        Subject::MtuSearch => searched::by_tresse(scene),
        Subject::MtuSearchByPeer => searched::by_peer(scene),
        Subject::TooBig => narrowed::told(scene),
        Subject::BlackHole => narrowed::silent(scene, false),
        Subject::BlackHoleIpv6 => narrowed::silent(scene, true),
        Subject::BlackHoleByPeer => narrowed::silent_by_peer(scene),
        Subject::NonRenegable => kept::play(scene),
        Subject::Damaged => damaged::reported(scene),
        Subject::DamagedUnreported => damaged::unreported(scene),
        Subject::Parts => parts::sent(scene),
        Subject::PartsByPeer => parts::received(scene),
        Subject::PartsAbandoned => parts::abandoned(scene),
        Subject::PartsAbandonedByPeer => parts::abandoned_by_peer(scene),
        Subject::Destination => destined::by_tresse(scene),
        Subject::DestinationByPeer => destined::by_peer(scene),
        Subject::Heartbeats => destined::heartbeats(scene),
        Subject::HeartbeatsByPeer => destined::heartbeats_by_peer(scene),
        other => unreachable!("{other:?} is about no extension"),
    }
}

/// Through a network that loses packets, or has some late.
fn impaired(scene: &Scene<'_>) {
    let link = LinkConfig { delay_ms: 5.0, ..LinkConfig::default() };
    let (quick, link) = match scene.cell.subject {
        Subject::Loss => (500, LinkConfig { loss: 0.05, ..link }),
        _ => (1_000, LinkConfig { reorder: 0.1, reorder_delay_ms: Some(5.0), ..link }),
    };
    let payload = Payload { messages: scene.amount(quick, 10_000), ..BULK };
    let links = Some([link.clone(), link]);
    transfer(scene, &Plan { links, ..Plan::new(payload, "") }, By::Tresse);
}

/// Whether the peer's SHUTDOWN acknowledges what we sent. Half of all wrong numbers look like old ones
/// and do no harm, so this does not depend on what became of the cell.
fn judge_shutdown(scene: &Scene<'_>) {
    let mut sent = BTreeSet::new();
    let mut acknowledged = None;
    scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
        (Direction::Out, Chunk::Data(data)) => {
            sent.insert(data.tsn.0);
        }
        (Direction::In, Chunk::Shutdown(shutdown)) => {
            acknowledged = Some(shutdown.cumulative_tsn_ack.0);
        }
        _ => {}
    });
    if let Some(tsn) = acknowledged
        && !sent.contains(&tsn)
    {
        let name = scene.cell.peer.name();
        Unsupported(format!(
            "the SHUTDOWN of {name} acknowledges a TSN that was never sent, that of its own last message \
             (RFC 9260 §3.3.8)"
        )).raise();
    }
}

/// Everything in both directions, then a graceful shutdown.
fn transfer(scene: &Scene<'_>, plan: &Plan, by: By) {
    let mut plan = suited(scene, plan);
    plan.options += if by == By::Tresse { " --close wait" } else { " --close shutdown" };
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let payload = plan.payload;
        assert!(association.outbound_streams() >= payload.streams, "too few streams to the peer");
        if scene.cell.subject == Subject::ShutdownByTresse {
            // RFC 9260 §9.2: what is not acknowledged yet is delivered all the same.
            receive_all(&association, payload).await;
            send_all(&association, payload).await;
        } else {
            both_ways(&association, payload).await;
        }
        if by == By::Tresse {
            association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        } else {
            until_shut_down(&association).await;
        }
        finish(scene, &plan, met).await;
    });
}

/// The peer has everything and says that the association was shut down; the packets were sound, and the
/// network did what it was to do.
async fn finish(scene: &Scene<'_>, plan: &Plan, met: Met) {
    let report = end(scene, met).await;
    assert_eq!(report, all_of(plan.payload, "shutdown"));
}

fn abort_by_tresse(scene: &Scene<'_>) {
    let endless = Payload { messages: 1_000_000, ..BRIEF };
    let plan = suited(scene, &Plan::new(endless, "--duplex --expect-abort"));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        interrupt(&met.association).await;
        let (peer, limit) = (met.peer, scene.limit);
        let report = blocking(move || peer.finish(limit)).await;
        assert_eq!((report.end.as_str(), report.received), ("aborted", 0));
    });
}

fn abort_by_peer(scene: &Scene<'_>) {
    let plan = suited(scene, &Plan::new(BRIEF, "--send 0 --close abort"));
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        send_all(&met.association, plan.payload).await;
        let closed = met.association.closed().await;
        // RFC 9260 §3.3.10.12: User-Initiated Abort.
        let Closed::Association(CloseReason::PeerAborted { cause: 12, .. }) = &closed else {
            panic!("{closed}");
        };
        let (peer, limit) = (met.peer, scene.limit);
        let report = blocking(move || peer.finish(limit)).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(plan.payload, "aborted") });
    });
}

/// What travels before a restart, and after it: on one stream, so that it arrives as it was sent.
const BEFORE: Payload = Payload { messages: 100, ..AFTER };
const AFTER: Payload = Payload { streams: 1, ..BRIEF };

/// The peer is a server; Tresse vanishes without a word and comes back from the same ports.
fn restart_of_tresse(scene: &Scene<'_>) {
    let plan = suited(scene, &Plan::new(AFTER, "--expect-restart"));
    on_runtime(scene, async {
        let peer = scene.start_server(&plan);
        let (endpoint, driver) = Endpoint::open(scene.config(&plan)).expect("it can be bound");
        let driver = tokio::spawn(driver);
        let association = scene.connect(&plan, &endpoint).await.0.expect("the peer listens");
        let all = association.send_space();
        send_all(&association, Payload { messages: BEFORE.messages, ..plan.payload }).await;
        until(|| association.send_space() == all).await;
        // Without its driver an endpoint says nothing any more.
        driver.abort();
        let _ = driver.await;
        drop((association, endpoint));

        scene.recorder.clear();
        let endpoint = Endpoint::bind(scene.config(&plan)).expect("the ports are free again");
        let (association, relay) = scene.connect(&plan, &endpoint).await;
        // The first handshake succeeded with an INIT of the same kind.
        let (mut asked, mut answered) = (0, 0);
        scene.recorder.chunks(|direction, chunk| match (direction, chunk) {
            (Direction::Out, Chunk::Init(_)) => asked += 1,
            (Direction::In, Chunk::InitAck(_)) => answered += 1,
            _ => {}
        });
        if association.is_err() && asked > 1 && answered == 0 {
            let name = scene.cell.peer.name();
            Unsupported(format!(
                "{name} does not answer the INIT of a peer that restarted (RFC 9260 §5.2.2)"
            ))
            .raise();
        }
        let association = association.unwrap_or_else(|e| panic!("the restart: {e}"));
        both_ways(&association, plan.payload).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        finish(scene, &plan, Met { endpoint, association, peer, relay }).await;
    });
}

/// The peer is a client that vanishes without a word and comes back from the same ports.
fn restart_of_the_peer(scene: &Scene<'_>) {
    // A kernel says good-bye for its processes; an ABORT that gets lost leaves no trace.
    let end = if scene.is_guest() { "--receive 1 --close abort" } else { "" };
    let first = suited(scene, &Plan::new(BEFORE, end));
    let plan = suited(scene, &Plan::new(AFTER, "--close wait"));
    on_runtime(scene, async {
        let endpoint = Endpoint::bind(scene.config(&plan)).expect("it can be bound");
        let (association, peer, _) = scene.accept(&first, &endpoint).await;
        receive_all(&association, first.payload).await;
        if scene.is_guest() {
            drop_packets("input", "ip protocol 132");
            send_all(&association, Payload { messages: 1, ..plan.payload }).await;
            let limit = scene.limit;
            blocking(move || peer.finish(limit)).await;
            // The kernel would answer what belongs to an association that it has forgotten (RFC 9260
            // §8.4); the first chunk of such a packet is DATA, SACK or HEARTBEAT.
            drop_packets("output", "ip protocol 132 @th,96,8 { 0, 3, 4 }");
            command("nft flush chain inet loss input");
        } else {
            drop(peer);
        }
        let server = endpoint.local_addr();
        let peer = scene.start_peer(&plan, Some(server));
        loop {
            match association.next_event().await {
                Some(Event::Restarted) => break,
                Some(_) => {}
                None => panic!("ended instead of restarting: {}", association.closed().await),
            }
        }
        if scene.is_guest() {
            command("nft flush ruleset");
        }
        both_ways(&association, plan.payload).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        finish(scene, &plan, Met { endpoint, association, peer, relay: None }).await;
    });
}

async fn both_ways(association: &Association, payload: Payload) {
    tokio::join!(send_all(association, payload), receive_all(association, payload));
}

async fn until_shut_down(association: &Association) {
    assert!(association.recv().await.is_err());
    let closed = association.closed().await;
    assert!(closed.is_graceful(), "{closed}");
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Two paths; the one in use fails under way, in both directions.
fn failover(scene: &Scene<'_>) {
    let payload = Payload { messages: scene.amount(2_000, 20_000), ..BULK };
    let plan = Plan { two_paths: true, ..Plan::new(payload, "--duplex --close wait") };
    let plan = suited(scene, &plan);
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let active = || {
            let paths = association.path_stats();
            paths.iter().filter(|path| path.state == PathState::Active).count()
        };
        until(|| active() == 2).await;
        let used = association.path_stats().iter().position(|path| path.primary).unwrap_or(0);
        let halfway = async {
            until(|| association.stats().messages_received > payload.messages / 4).await;
            // The guest is told over TCP what to do.
            let protocol = if scene.is_guest() { 132 } else { 17 };
            let interface = scene.interface(used);
            drop_packets("input", &format!("iifname {interface} ip protocol {protocol}"));
            // The kernel would answer what belongs to an association that it has forgotten (RFC 9260
            // §8.4); the first chunk of such a packet is DATA, SACK or HEARTBEAT.
            drop_packets("output", &format!("oifname {interface} ip protocol {protocol}"));
        };
        tokio::join!(
            halfway,
            send_all(&association, plan.payload),
            receive_all(&association, plan.payload),
        );
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let path = &association.path_stats()[used];
        assert!(path.state != PathState::Active || path.timeouts > 0, "{path:?}");
        finish(scene, &plan, met).await;
    });
}
