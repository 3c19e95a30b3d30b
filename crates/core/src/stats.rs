//! Counters. They only grow, are never reset, and cost one addition each.

use std::time::Duration;

use tresse_wire::VerificationTag;

use crate::ids::{LossCause, PathId, PathState};
use crate::path::PathSettings;

/// Counters and gauges of one association.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AssociationStats {
    /// Packets sent and received.
    pub packets_sent: u64,
    /// Packets received with a valid checksum and tag.
    pub packets_received: u64,
    /// Bytes of SCTP packets sent (common header included, carrier headers not).
    pub bytes_sent: u64,
    /// Bytes of SCTP packets received.
    pub bytes_received: u64,
    /// DATA chunks sent for the first time.
    pub data_chunks_sent: u64,
    /// DATA chunks sent again, by cause; indexed as [`LossCause::ALL`].
    pub retransmitted_chunks: [u64; LossCause::ALL.len()],
    /// DATA chunks declared lost, by cause; indexed as [`LossCause::ALL`].
    pub lost_chunks: [u64; LossCause::ALL.len()],
    /// Packets that carried at least one retransmitted chunk, by the cause of the first one.
    pub retransmitted_packets: [u64; LossCause::ALL.len()],
    /// DATA chunks received that were new.
    pub data_chunks_received: u64,
    /// DATA chunks received that we had already.
    pub duplicate_chunks_received: u64,
    /// DATA chunks dropped because the receive buffer was full or the TSN out of range.
    pub data_chunks_dropped: u64,
    /// TSNs that the peer reported as duplicates: our unnecessary retransmissions.
    pub duplicates_reported: u64,
    /// SACK chunks sent.
    pub sacks_sent: u64,
    /// SACK chunks received.
    pub sacks_received: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// T3-rtx expirations found to be spurious.
    pub spurious_timeouts: u64,
    /// Loss declarations by SACKs found to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub tail_loss_probes: u64,
    /// New packets sent beyond cwnd by Limited Transmit.
    pub limited_transmits: u64,
    /// Zero-window probes sent.
    pub zero_window_probes: u64,
    /// TSNs that the peer reneged on.
    pub reneged: u64,
    /// SACKs that acknowledged again what one before had taken back, though it was not sent again, and
    /// nothing new; see [`contradictory_sacks`](crate::profile::LimitParameters::contradictory_sacks).
    pub contradictory_sacks: u64,
    /// Messages accepted from the application.
    pub messages_sent: u64,
    /// Messages of these that were never sent, because their lifetime ended before.
    pub messages_expired: u64,
    /// Messages handed to the application.
    pub messages_received: u64,
    /// User bytes accepted from the application.
    pub user_bytes_sent: u64,
    /// User bytes handed to the application.
    pub user_bytes_received: u64,
    /// Packets discarded: wrong verification tag.
    pub wrong_tag: u64,
    /// Chunks discarded as malformed or impossible in the state.
    pub malformed_chunks: u64,
    /// Bytes waiting in the send buffer or not yet acknowledged (gauge).
    pub send_buffered: usize,
    /// Bytes held for the application or for reassembly (gauge).
    pub receive_buffered: usize,
    /// The peer's receive window less what is outstanding (gauge).
    pub peer_rwnd: usize,
    /// Bytes of memory that it holds: user data, and all that is needed to keep track of it (gauge).
    pub memory: usize,
}

impl AssociationStats {
    /// Retransmitted chunks of all causes.
    pub fn retransmissions(&self) -> u64 {
        self.retransmitted_chunks.iter().sum()
    }

    /// Retransmitted chunks of one cause.
    pub fn retransmissions_by(&self, cause: LossCause) -> u64 {
        self.retransmitted_chunks[cause.index()]
    }

    /// Chunks declared lost, of all causes.
    pub fn losses(&self) -> u64 {
        self.lost_chunks.iter().sum()
    }

    /// Adds another association's figures, for totals.
    pub fn add(&mut self, other: &AssociationStats) {
        let by_cause = [
            (&mut self.retransmitted_chunks, &other.retransmitted_chunks),
            (&mut self.lost_chunks, &other.lost_chunks),
            (&mut self.retransmitted_packets, &other.retransmitted_packets),
        ];
        for (sums, counts) in by_cause {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        self.packets_sent += other.packets_sent;
        self.packets_received += other.packets_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.data_chunks_sent += other.data_chunks_sent;
        self.data_chunks_received += other.data_chunks_received;
        self.duplicate_chunks_received += other.duplicate_chunks_received;
        self.data_chunks_dropped += other.data_chunks_dropped;
        self.duplicates_reported += other.duplicates_reported;
        self.sacks_sent += other.sacks_sent;
        self.sacks_received += other.sacks_received;
        self.fast_recoveries += other.fast_recoveries;
        self.timeouts += other.timeouts;
        self.spurious_timeouts += other.spurious_timeouts;
        self.spurious_fast_retransmits += other.spurious_fast_retransmits;
        self.tail_loss_probes += other.tail_loss_probes;
        self.limited_transmits += other.limited_transmits;
        self.zero_window_probes += other.zero_window_probes;
        self.reneged += other.reneged;
        self.contradictory_sacks += other.contradictory_sacks;
        self.messages_sent += other.messages_sent;
        self.messages_expired += other.messages_expired;
        self.messages_received += other.messages_received;
        self.user_bytes_sent += other.user_bytes_sent;
        self.user_bytes_received += other.user_bytes_received;
        self.wrong_tag += other.wrong_tag;
        self.malformed_chunks += other.malformed_chunks;
        self.send_buffered += other.send_buffered;
        self.receive_buffered += other.receive_buffered;
        self.peer_rwnd += other.peer_rwnd;
        self.memory += other.memory;
    }
}

/// States of an association (RFC 9260 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AssociationState {
    /// CLOSED: it has ended.
    Closed,
    /// COOKIE-WAIT.
    CookieWait,
    /// COOKIE-ECHOED.
    CookieEchoed,
    /// ESTABLISHED.
    Established,
    /// SHUTDOWN-PENDING.
    ShutdownPending,
    /// SHUTDOWN-SENT.
    ShutdownSent,
    /// SHUTDOWN-RECEIVED.
    ShutdownReceived,
    /// SHUTDOWN-ACK-SENT.
    ShutdownAckSent,
}

impl AssociationState {
    /// All states, in the order of an association's life.
    pub const ALL: [AssociationState; 8] = [
        AssociationState::CookieWait,
        AssociationState::CookieEchoed,
        AssociationState::Established,
        AssociationState::ShutdownPending,
        AssociationState::ShutdownSent,
        AssociationState::ShutdownReceived,
        AssociationState::ShutdownAckSent,
        AssociationState::Closed,
    ];

    /// Its name in lower case, such as `cookie-wait`.
    pub const fn name(self) -> &'static str {
        match self {
            AssociationState::Closed => "closed",
            AssociationState::CookieWait => "cookie-wait",
            AssociationState::CookieEchoed => "cookie-echoed",
            AssociationState::Established => "established",
            AssociationState::ShutdownPending => "shutdown-pending",
            AssociationState::ShutdownSent => "shutdown-sent",
            AssociationState::ShutdownReceived => "shutdown-received",
            AssociationState::ShutdownAckSent => "shutdown-ack-sent",
        }
    }
}

/// What identifies an association and how it stands (STATUS, RFC 9260 §11.1.8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssociationInfo {
    /// Its state.
    pub state: AssociationState,
    /// Our SCTP port.
    pub local_port: u16,
    /// The peer's SCTP port.
    pub remote_port: u16,
    /// Verification tag of packets to us. Whoever knows both tags can send packets in the name of
    /// the peer (RFC 9260 §12.2.4.2), so they are not for logs that others read.
    pub local_tag: VerificationTag,
    /// Verification tag of packets to the peer, 0 before it is known.
    pub remote_tag: VerificationTag,
    /// The peer's UDP port if packets to its primary address are encapsulated (RFC 6951).
    pub encapsulation: Option<u16>,
    /// Our addresses as offered to the peer; empty if the peer knows only where packets come from.
    pub local_addresses: Vec<std::net::IpAddr>,
    /// Streams in our direction.
    pub outbound_streams: u16,
    /// Streams in the peer's direction; 0 before it is known.
    pub inbound_streams: u16,
    /// DATA chunks sent and not yet acknowledged.
    pub unacknowledged_chunks: usize,
    /// Messages that wait to be read.
    pub unread_messages: usize,
    /// Bytes of user data above which a message is fragmented on the primary path.
    pub fragmentation_point: usize,
}

/// Gauges and counters of one path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathStats {
    /// Which path.
    pub id: PathId,
    /// The peer's address.
    pub remote: std::net::IpAddr,
    /// Our source address, if chosen.
    pub local: Option<std::net::IpAddr>,
    /// UDP port of the peer there (RFC 6951); `None` directly on IP.
    pub encapsulation: Option<u16>,
    /// Reachability.
    pub state: PathState,
    /// Whether new data goes here by default.
    pub primary: bool,
    /// Congestion window, bytes.
    pub cwnd: usize,
    /// Slow-start threshold, bytes.
    pub ssthresh: usize,
    /// Bytes in flight, chunk headers and padding included.
    pub flight: usize,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Duration,
    /// Current retransmission timeout, backoff included.
    pub rto: Duration,
    /// The last round-trip time sample.
    pub last_rtt: Option<Duration>,
    /// The shortest round-trip time sample since the association began.
    pub min_rtt: Option<Duration>,
    /// Consecutive errors (RFC 9260 §8.2).
    pub errors: u32,
    /// What is set for it.
    pub settings: PathSettings,
    /// Path MTU: bytes of the largest IP packet that is sent, headers included.
    pub mtu: usize,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Heartbeats answered.
    pub heartbeats_acked: u64,
    /// What went over the path.
    pub counters: PathCounters,
}

impl PathStats {
    /// How long packets wait in queues on the way and back: SRTT less the shortest round-trip time.
    /// `None` before the first sample.
    pub fn queueing_delay(&self) -> Option<Duration> {
        Some(self.srtt?.saturating_sub(self.min_rtt?))
    }
}

/// What went over one path. Counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathCounters {
    /// Packets sent.
    pub packets_sent: u64,
    /// Bytes of SCTP packets sent (common header included, carrier headers not).
    pub bytes_sent: u64,
    /// Packets received from its address with a valid checksum and tag.
    pub packets_received: u64,
    /// Bytes of SCTP packets received from its address.
    pub bytes_received: u64,
    /// DATA chunks sent here for the first time.
    pub data_chunks_sent: u64,
    /// DATA chunks sent here again.
    pub retransmitted_chunks: u64,
    /// DATA chunks that were declared lost after they had been sent here.
    pub lost_chunks: u64,
    /// T3-rtx expirations found to be spurious.
    pub spurious_timeouts: u64,
    /// Loss declarations by SACKs found to be spurious.
    pub spurious_fast_retransmits: u64,
}

/// Counters of an endpoint: what belongs to no association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Associations that were opened, by either side.
    pub associations_begun: u64,
    /// Those of them that have gone.
    pub associations_ended: u64,
    /// Packets dropped: too short, bad checksum or a port of 0.
    pub invalid_packets: u64,
    /// Packets for no association (RFC 9260 §8.4), whatever the answer.
    pub out_of_the_blue: u64,
    /// INIT chunks answered by INIT ACK.
    pub inits_answered: u64,
    /// State cookies whose MAC, ports or tag were wrong.
    pub bad_cookies: u64,
    /// State cookies that had expired.
    pub stale_cookies: u64,
    /// Associations refused for want of room.
    pub refused: u64,
    /// INIT chunks passed over, for their source sends too many
    /// ([`inits_per_source`](crate::profile::LimitParameters::inits_per_source)).
    pub inits_limited: u64,
    /// Restarts passed over, for their source has too many
    /// ([`restarts_per_source`](crate::profile::LimitParameters::restarts_per_source)).
    pub restarts_limited: u64,
    /// Associations that were aborted because memory was used up.
    pub aborted_for_memory: u64,
    /// Bytes of memory that the endpoint holds (gauge); see
    /// [`EndpointConfig::memory`](crate::EndpointConfig::memory).
    pub memory: usize,
    /// ICMP messages that were believed.
    pub icmp_accepted: u64,
    /// ICMP messages that belong to no association or lack its verification tag (RFC 9260 §10).
    pub icmp_ignored: u64,
}
