//! Counters. They only grow, are never reset, and cost one addition each.

use std::time::Duration;

use tresse_wire::VerificationTag;

use crate::extensions::Extensions;
use crate::ids::{LossCause, LossPurpose, PathId, PathState};
use crate::settings::PathSettings;
use crate::state::State;

tresse_counters::counters! {
    /// Counters and gauges of one association.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct AssociationStats;
    counters {
        packets_sent: "SCTP packets sent";
        /// With a valid checksum and tag.
        packets_received: "SCTP packets received";
        /// Common header included, carrier headers not.
        bytes_sent: "Bytes of SCTP packets sent";
        bytes_received: "Bytes of SCTP packets received";
        messages_sent: "Messages accepted from the application";
        messages_expired: "Messages never sent, for their lifetime ended";
        messages_abandoned_unsent: "Messages given up by their policy before any of them was sent";
        messages_abandoned_sent: "Messages given up by their policy after a part was sent";
        messages_received: "Messages handed to the application";
        user_bytes_sent: "User bytes accepted from the application";
        user_bytes_received: "User bytes handed to the application";
        data_chunks_sent: "DATA chunks sent for the first time";
        data_chunks_received: "DATA chunks received that were new";
        duplicate_chunks_received: "DATA chunks received that were there already";
        data_chunks_dropped: "DATA chunks dropped for want of room or out of range";
        /// Our unnecessary retransmissions.
        duplicates_reported: "TSNs that the peer reported as duplicates";
        chunks_abandoned: "DATA chunks given up after they were sent";
        /// RFC 3758.
        forward_tsns_sent: "FORWARD TSN chunks sent";
        forward_tsns_received: "FORWARD TSN chunks received";
        /// They belong to messages of which the peer gave up a part.
        chunks_passed_over: "DATA chunks received and dropped for a FORWARD TSN chunk";
        sacks_sent: "SACK chunks sent";
        sacks_received: "SACK chunks received";
        fast_recoveries: "Times that fast recovery was entered";
        timeouts: "T3-rtx expirations";
        spurious_timeouts: "T3-rtx expirations found to be spurious";
        spurious_fast_retransmits: "Loss declarations by SACKs found to be spurious";
        /// RFC 8985 §7.
        tail_loss_probes: "Tail loss probes sent";
        /// By Limited Transmit (RFC 3042), after an expiration that may be spurious (RFC 5682), as a tail loss probe.
        extra_packets: "Packets of new data sent beyond cwnd";
        zero_window_probes: "Zero-window probes sent";
        reneged: "TSNs that the peer reneged on";
        /// Without having been sent it again; see
        /// [`contradictory_sacks`](crate::profile::LimitParameters::contradictory_sacks).
        contradictory_sacks: "SACKs that repeated what one before had taken back, and nothing new";
        /// RFC 6525; repetitions not counted.
        reconfigurations_asked: "Requests to change streams sent";
        reconfigurations_repeated: "Requests to change streams sent again";
        reconfigurations_received: "Requests to change streams received that were new";
        reconfigurations_seen_again: "Requests to change streams received again";
        /// Denied, out of order, for streams that do not exist, or while another one is in progress.
        reconfigurations_refused: "Requests to change streams refused";
        /// RFC 5061; repetitions not counted.
        asconfs_sent: "Requests to change addresses sent";
        asconfs_repeated: "Requests to change addresses sent again";
        asconfs_received: "Requests to change addresses received that were new";
        asconfs_seen_again: "Requests to change addresses received again";
        /// RFC 4895.
        auth_chunks_sent: "AUTH chunks sent";
        auth_chunks_received: "AUTH chunks received that were authentic";
        auth_chunks_forged: "AUTH chunks received with a wrong HMAC";
        auth_unknown_keys: "AUTH chunks received with a key that is not there";
        auth_unknown_algorithms: "AUTH chunks received with an HMAC that was not asked for";
        unauthenticated_chunks: "Chunks discarded since they were not authenticated";
        /// RFC 9653.
        zero_checksums_sent: "Packets sent with a checksum of zero";
        zero_checksums_received: "Packets received with a checksum of zero";
        /// RFC 3168.
        ect_packets_sent: "Packets sent that may be marked (ECN)";
        ce_packets_received: "Packets received that were marked (ECN)";
        ecn_echoes_sent: "ECNE chunks sent, repetitions included";
        ecn_echoes_received: "ECNE chunks received, repetitions included";
        ecn_echoes_ignored: "ECNE chunks received about what was never sent, or is long over";
        congestion_marks: "Packets that the peer tells were marked (ECN)";
        cuts_by_marks: "Times that a congestion window was reduced for a mark (ECN)";
        cwrs_sent: "CWR chunks sent";
        cwrs_received: "CWR chunks received";
        ecn_given_up: "Paths on which packets that may be marked vanished";
        /// draft-stewart-sctp-pktdrprep.
        packet_drop_reports_sent: "Packets received damaged that the peer was told of";
        packet_drop_reports_received: "PKTDROP chunks received: packets that came damaged to the peer";
        packet_drop_reports_ignored: "PKTDROP chunks received that nothing was sent again for";
        wrong_tag: "Packets discarded for a wrong verification tag";
        malformed_chunks: "Chunks discarded as malformed or impossible";
    }
    others {
        /// DATA chunks sent again, by cause; indexed as [`LossCause::ALL`].
        retransmitted_chunks: [u64; LossCause::ALL.len()];
        /// DATA chunks declared lost, by cause; indexed as [`LossCause::ALL`].
        lost_chunks: [u64; LossCause::ALL.len()];
        /// Packets that carried at least one retransmitted chunk, by the cause of the first one.
        retransmitted_packets: [u64; LossCause::ALL.len()];
        /// Bytes waiting in the send buffer or not yet acknowledged (gauge).
        send_buffered: usize;
        /// Bytes held for the application or for reassembly (gauge).
        receive_buffered: usize;
        /// The peer's receive window less what is outstanding (gauge).
        peer_rwnd: usize;
        /// Bytes of memory that it holds: user data, and all that is needed to keep track of it (gauge).
        memory: usize;
    }
}

impl AssociationStats {
    /// A new packet left that neither cwnd nor pacing would have let go.
    pub(crate) fn count_extra_packet(&mut self) {
        self.extra_packets += 1;
    }

    /// A packet leaves for `cause` because an early timer has expired: counted if it is to show what is lost.
    pub(crate) fn count_if_it_probes(&mut self, cause: LossCause) {
        self.tail_loss_probes += u64::from(cause.purpose() == LossPurpose::TailProbe);
    }

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
}

/// What identifies an association and how it stands (STATUS, RFC 9260 §11.1.8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssociationInfo {
    /// Its state.
    pub state: State,
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
    /// Extensions that both ends have offered; before that is known, none.
    pub extensions: Extensions,
    /// NR-SACKs take the place of SACKs, since the profiles of both ends have them (`sack.nr_sack`,
    /// draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: bool,
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

tresse_counters::counters! {
    /// What went over one path. Counters only grow.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct PathCounters;
    counters {
        packets_sent: "SCTP packets sent over the path";
        /// With a valid checksum and tag.
        packets_received: "SCTP packets received from its address";
        /// Common header included, carrier headers not.
        bytes_sent: "Bytes of SCTP packets sent over the path";
        bytes_received: "Bytes of SCTP packets received from its address";
        data_chunks_sent: "DATA chunks sent for the first time";
        retransmitted_chunks: "DATA chunks sent again over the path";
        lost_chunks: "DATA chunks of the path declared lost";
        spurious_timeouts: "T3-rtx expirations found to be spurious";
        spurious_fast_retransmits: "Loss declarations by SACKs found to be spurious";
        ect_packets_sent: "Packets sent that may be marked (ECN)";
        congestion_marks: "Packets that the peer tells were marked (ECN)";
        mtu_probes_sent: "Probes of the path MTU sent (RFC 8899)";
        mtu_probes_acked: "Probes of the path MTU answered";
        mtu_black_holes: "Times that the path MTU was lowered since large packets did not arrive";
    }
    others {}
}

tresse_counters::counters! {
    /// Counters of an endpoint: what belongs to no association.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct EndpointStats;
    counters {
        associations_begun: "Associations opened by either side";
        associations_ended: "Associations that have gone";
        invalid_packets: "Packets dropped: too short, bad checksum or port 0";
        /// They are among the invalid ones (RFC 9653).
        zero_checksums_refused: "Packets dropped for a checksum of zero that was not offered";
        /// Whatever the answer (RFC 9260 §8.4).
        out_of_the_blue: "Packets for no association";
        /// By INIT ACK.
        inits_answered: "INIT chunks answered";
        /// Their MAC, ports or tag were wrong.
        bad_cookies: "State cookies that were not ours";
        /// RFC 4895 §6.3.
        unauthenticated_cookies: "COOKIE ECHO chunks discarded since they were not authenticated";
        stale_cookies: "State cookies that had expired";
        refused: "Associations refused for want of room";
        /// See [`inits_per_source`](crate::profile::LimitParameters::inits_per_source).
        inits_limited: "INIT chunks passed over: too many of one source";
        /// See [`restarts_per_source`](crate::profile::LimitParameters::restarts_per_source).
        restarts_limited: "Restarts passed over: too many of one source";
        aborted_for_memory: "Associations aborted because memory was used up";
        icmp_accepted: "ICMP messages that were believed";
        /// They belong to no association or lack its verification tag (RFC 9260 §10).
        icmp_ignored: "ICMP messages that proved nothing";
    }
    others {
        /// Bytes of memory that the endpoint holds (gauge); see
        /// [`EndpointConfig::memory`](crate::EndpointConfig::memory).
        memory: usize;
    }
}
