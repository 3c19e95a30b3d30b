//! How large packets may be, found out by probes, over a network that takes large ones (DPLPMTUD, RFC 8899; PAD, RFC 4820).

use std::time::Duration;

use tresse::{Direction, Ppid, SendOptions, StreamId};
use tresse_wire::{Chunk, Packet};

use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};
use tresse_peers::traffic::{all_of, receive_all};
use tresse_peers::{Payload, PeerReport, Unsupported, WIDE};

/// Messages that take several packets of any size.
const PAYLOAD: Payload = Payload { messages: 200, size: 20_000, streams: 4, ..Payload::PLAIN };
/// What is used before anything is known (RFC 8899 §5.1.2).
const BASE: usize = 1_280;
/// The search is over when nothing new was found for so long: longer than a few probes that are not answered take.
const SETTLED: Duration = Duration::from_secs(8);

fn plan(scene: &Scene<'_>, options: &str) -> Plan {
    let options = format!("{options} --close wait");
    Plan { wide: true, ..suited(scene, &Plan::new(PAYLOAD, &options)) }
}

/// Tresse searches: its packets are as large as the network and the peer take them, and all data arrives. A peer that drops packets
/// with a PAD chunk is probed by a long HEARTBEAT alone.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let plan = plan(scene, "--send 0");
    let payload = plan.payload;
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        let send = async |indices: std::ops::Range<u64>| {
            for index in indices {
                let ppid = Ppid(payload.ppid(index));
                let options = SendOptions { ppid, ..SendOptions::default() };
                let stream = StreamId(payload.stream(index));
                association.send_with(stream, payload.message(index), options).await.unwrap();
            }
        };
        send(0..payload.messages / 4).await;
        let mtu = || association.path_stats()[0].mtu;
        let (mut found, mut since) = (mtu(), tokio::time::Instant::now());
        while found < usize::from(WIDE) && since.elapsed() < SETTLED {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if mtu() != found {
                (found, since) = (mtu(), tokio::time::Instant::now());
            }
        }
        send(payload.messages / 4..payload.messages).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let stats = association.path_stats()[0].clone();
        drop(association);
        let report = end(scene, met).await;
        assert_eq!(report, PeerReport { sent: 0, ..all_of(payload, "shutdown") });
        let sizes = sizes(scene, &plan, Direction::Out);
        assert!(sizes.probes > 1 && stats.counters.mtu_probes_acked > 1, "{} probes", sizes.probes);
        assert!(found > 1_500 && found == stats.mtu, "the path MTU: {found}, {}", stats.mtu);
        assert!(sizes.first <= 1_500, "data of {} bytes before anything was known", sizes.first);
        // A multiple of four.
        assert!((found - 3..=found).contains(&sizes.most), "data of {} bytes", sizes.most);
        if found < usize::from(WIDE) {
            let (name, lost) = (scene.cell.peer.name(), sizes.longest);
            assert!(lost > found, "no probe was longer than {found} bytes");
            Unsupported(format!(
                "{name} answers packets of {found} bytes, and none of {lost}, although the network takes {WIDE}"
            ))
            .raise();
        }
    });
}

/// The peer searches, and Tresse answers: packets of the peer grow, and all data arrives.
pub(super) fn by_peer(scene: &Scene<'_>) {
    // The kernel searches no sooner than 5 s from the beginning.
    let plan = plan(scene, "--receive 0 --with mtu-search --interval 50");
    on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        receive_all(&association, plan.payload).await;
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        drop(association);
        let report = end(scene, met).await;
        assert_eq!((report.sent, report.messages), (plan.payload.bytes(), 0));
        let sizes = sizes(scene, &plan, Direction::In);
        if sizes.probes == 0 {
            let name = scene.cell.peer.name();
            Unsupported(format!("{name} sends no HEARTBEAT with PAD (RFC 8899 §6.2)")).raise();
        }
        // It begins with the MTU of its interface, and would end with 1200 if no probe was answered.
        assert!(
            sizes.last > 8_000,
            "{} probes, data of {} bytes at last",
            sizes.probes,
            sizes.last
        );
    });
}

/// What is known of the IP packets of one direction.
pub(super) struct Sizes {
    /// HEARTBEAT chunks in long packets.
    probes: usize,
    /// Bytes of the longest one of them.
    longest: usize,
    /// Bytes of the first one with data, of the largest one, and of the largest one among the last ones.
    first: usize,
    pub(super) most: usize,
    pub(super) last: usize,
}

pub(super) fn sizes(scene: &Scene<'_>, plan: &Plan, side: Direction) -> Sizes {
    let headers = scene.headers(plan);
    let mut sizes = Sizes { probes: 0, longest: 0, first: 0, most: 0, last: 0 };
    let mut data = Vec::new();
    scene.recorder.packets_of(side, |bytes| {
        let Ok(packet) = Packet::parse_unverified(bytes) else { return };
        let chunks = packet.chunks().map_while(Result::ok);
        let chunks: Vec<_> = chunks.filter_map(|chunk| Chunk::parse(chunk).ok()).collect();
        let is = |wanted: fn(&Chunk<'_>) -> bool| chunks.iter().any(wanted);
        let long = bytes.len() > BASE / 2 && is(|c| matches!(c, Chunk::Heartbeat(_)));
        if long {
            sizes.probes += 1;
            sizes.longest = sizes.longest.max(bytes.len() + headers);
        }
        if is(|c| matches!(c, Chunk::Data(_))) {
            data.push(bytes.len() + headers);
        }
    });
    let largest = |sizes: &[usize]| sizes.iter().copied().max().unwrap_or(0);
    sizes.first = data.first().copied().unwrap_or(0);
    sizes.most = largest(&data);
    sizes.last = largest(&data[data.len().saturating_sub(20)..]);
    sizes
}
