//! The JSON document of `/metrics.json`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse::{AssociationMetrics, EndpointMetrics, PathStats};
use tresse_counters::Counter;

use super::counters;
use crate::spool::SpoolStats;

/// Counts by name.
type Counts = BTreeMap<String, u64>;

/// An endpoint at one moment: what `/metrics.json` is made of. Units are in the names. Fields are
/// added as time goes by; those that are here stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of Tresse.
    pub tresse: String,
    /// Number of the process.
    pub process: u32,
    /// Seconds since the endpoint began.
    pub uptime_s: f64,
    /// Local addresses and UDP ports (0 on raw IP).
    pub local: Vec<SocketAddr>,
    /// Memory that all associations hold.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Counters of what belongs to no association, with packets dropped, by cause.
    pub endpoint: Counts,
    /// Counters of all associations together, also of those that have gone.
    pub totals: Counts,
    /// DATA chunks sent again by all associations, by cause.
    pub retransmitted_chunks: Counts,
    /// DATA chunks declared lost by all associations, by cause.
    pub lost_chunks: Counts,
    /// Counters of the sockets.
    pub carrier: Counts,
    /// Counters of what captures, qlog and log wrote; empty if there are none.
    pub observers: Counts,
    /// The associations that are there now, by name.
    pub associations: Vec<AssociationSnapshot>,
    /// Associations that are there and left out of the list.
    pub omitted: usize,
}

/// One association.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssociationSnapshot {
    /// Its name, such as `3v1`; no other one of the endpoint ever has it.
    pub id: String,
    /// Its state in lower case (RFC 9260 §4), such as `established`.
    pub state: String,
    /// Our SCTP port.
    pub local_port: u16,
    /// The peer's SCTP port.
    pub remote_port: u16,
    /// The peer's UDP port; `None` on raw IP.
    pub remote_udp_port: Option<u16>,
    /// Streams in our direction.
    pub outbound_streams: u16,
    /// Streams in the peer's direction.
    pub inbound_streams: u16,
    /// User data queued or not yet acknowledged.
    pub send_buffered_bytes: u64,
    /// User data that waits for the application or for what is missing.
    pub receive_buffered_bytes: u64,
    /// Memory that it holds, user data included.
    #[serde(default)]
    pub memory_bytes: u64,
    /// The peer's receive window less what is outstanding.
    pub peer_rwnd_bytes: u64,
    /// DATA chunks sent and not yet acknowledged.
    pub unacknowledged_chunks: u64,
    /// Messages that wait for the application.
    pub unread_messages: u64,
    /// Its counters.
    pub counters: Counts,
    /// DATA chunks sent again, by cause.
    pub retransmitted_chunks: Counts,
    /// DATA chunks declared lost, by cause.
    pub lost_chunks: Counts,
    /// Every path, by number.
    pub paths: Vec<PathSnapshot>,
}

/// One path. Times are `None` before the first round-trip time sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSnapshot {
    /// Its number.
    pub path: u8,
    /// The peer's address.
    pub remote: IpAddr,
    /// Our address, if chosen.
    pub local: Option<IpAddr>,
    /// Its state in lower case, such as `potentially-failed`.
    pub state: String,
    /// Whether new data goes here by default.
    pub primary: bool,
    /// Last round-trip time sample, milliseconds.
    pub rtt_ms: Option<f64>,
    /// Shortest round-trip time sample, milliseconds.
    pub min_rtt_ms: Option<f64>,
    /// Smoothed round-trip time, milliseconds.
    pub srtt_ms: Option<f64>,
    /// Round-trip time variation, milliseconds.
    pub rttvar_ms: Option<f64>,
    /// SRTT less the shortest sample, milliseconds: what queues on the way cost.
    pub queueing_delay_ms: Option<f64>,
    /// Retransmission timeout, backoff included, milliseconds.
    pub rto_ms: f64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold.
    pub ssthresh_bytes: u64,
    /// Outstanding bytes.
    pub flight_bytes: u64,
    /// Path MTU, IP header included.
    pub mtu_bytes: u64,
    /// Consecutive errors (RFC 9260 §8.2).
    pub errors: u32,
    /// Its counters.
    pub counters: Counts,
}

impl Snapshot {
    /// Makes the document; `spool` if something is recorded.
    #[must_use]
    pub fn new(metrics: &EndpointMetrics, spool: Option<SpoolStats>) -> Snapshot {
        let mut associations: Vec<&AssociationMetrics> = metrics.associations.iter().collect();
        associations.sort_by_key(|association| association.id);
        Snapshot {
            tresse: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            uptime_s: metrics.at.as_secs_f64(),
            local: metrics.local.clone(),
            memory_bytes: metrics.endpoint.memory as u64,
            endpoint: counts(metrics.endpoint.counters()),
            totals: counts(metrics.totals.counters()),
            retransmitted_chunks: causes(&metrics.totals.retransmitted_chunks),
            lost_chunks: causes(&metrics.totals.lost_chunks),
            carrier: counts(metrics.carrier.counters()),
            observers: spool.map(|spool| counts(spool.counters())).unwrap_or_default(),
            associations: associations.into_iter().map(AssociationSnapshot::new).collect(),
            omitted: metrics.omitted,
        }
    }
}

impl AssociationSnapshot {
    fn new(metrics: &AssociationMetrics) -> AssociationSnapshot {
        let AssociationMetrics { info, stats, .. } = metrics;
        AssociationSnapshot {
            id: tresse::association_name(metrics.id),
            state: info.state.name().to_owned(),
            local_port: info.local_port,
            remote_port: info.remote_port,
            remote_udp_port: info.encapsulation,
            outbound_streams: info.outbound_streams,
            inbound_streams: info.inbound_streams,
            send_buffered_bytes: stats.send_buffered as u64,
            receive_buffered_bytes: stats.receive_buffered as u64,
            memory_bytes: stats.memory as u64,
            peer_rwnd_bytes: stats.peer_rwnd as u64,
            unacknowledged_chunks: info.unacknowledged_chunks as u64,
            unread_messages: info.unread_messages as u64,
            counters: counts(stats.counters()),
            retransmitted_chunks: causes(&stats.retransmitted_chunks),
            lost_chunks: causes(&stats.lost_chunks),
            paths: metrics.paths.iter().map(PathSnapshot::new).collect(),
        }
    }
}

impl PathSnapshot {
    fn new(path: &PathStats) -> PathSnapshot {
        PathSnapshot {
            path: path.id.0,
            remote: path.remote,
            local: path.local,
            state: path.state.name().to_owned(),
            primary: path.primary,
            rtt_ms: path.last_rtt.map(millis),
            min_rtt_ms: path.min_rtt.map(millis),
            srtt_ms: path.srtt.map(millis),
            rttvar_ms: path.srtt.map(|_| millis(path.rttvar)),
            queueing_delay_ms: path.queueing_delay().map(millis),
            rto_ms: millis(path.rto),
            cwnd_bytes: path.cwnd as u64,
            ssthresh_bytes: path.ssthresh as u64,
            flight_bytes: path.flight as u64,
            mtu_bytes: path.mtu as u64,
            errors: path.errors,
            counters: counts(counters::path(path)),
        }
    }
}

fn counts(list: impl IntoIterator<Item = Counter>) -> Counts {
    list.into_iter().map(|counter| (counter.name.to_owned(), counter.value)).collect()
}

fn causes(list: &[u64]) -> Counts {
    counters::by_cause(list).map(|(cause, count)| (cause.to_owned(), count)).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
