//! Every counter with its name and its meaning, once for all formats.

use tresse::{AssociationStats, CarrierStats, EndpointStats, LossCause, PathStats};

use crate::spool::SpoolStats;

/// A counter: its name, what it counts, its value.
pub(super) type Counter = (&'static str, &'static str, u64);

/// Of one association, or of all together.
pub(super) fn association(s: &AssociationStats) -> Vec<Counter> {
    vec![
        ("packets_sent", "SCTP packets sent", s.packets_sent),
        ("packets_received", "SCTP packets received", s.packets_received),
        ("bytes_sent", "Bytes of SCTP packets sent", s.bytes_sent),
        ("bytes_received", "Bytes of SCTP packets received", s.bytes_received),
        ("messages_sent", "Messages accepted from the application", s.messages_sent),
        ("messages_expired", "Messages never sent, for their lifetime ended", s.messages_expired),
        ("messages_received", "Messages handed to the application", s.messages_received),
        ("user_bytes_sent", "User bytes accepted from the application", s.user_bytes_sent),
        ("user_bytes_received", "User bytes handed to the application", s.user_bytes_received),
        ("data_chunks_sent", "DATA chunks sent for the first time", s.data_chunks_sent),
        ("data_chunks_received", "DATA chunks received that were new", s.data_chunks_received),
        (
            "duplicate_chunks_received",
            "DATA chunks received that were there already",
            s.duplicate_chunks_received,
        ),
        (
            "data_chunks_dropped",
            "DATA chunks dropped for want of room or out of range",
            s.data_chunks_dropped,
        ),
        ("duplicates_reported", "TSNs that the peer reported as duplicates", s.duplicates_reported),
        ("sacks_sent", "SACK chunks sent", s.sacks_sent),
        ("sacks_received", "SACK chunks received", s.sacks_received),
        ("fast_recoveries", "Times that fast recovery was entered", s.fast_recoveries),
        ("timeouts", "T3-rtx expirations", s.timeouts),
        ("spurious_timeouts", "T3-rtx expirations found to be spurious", s.spurious_timeouts),
        (
            "spurious_fast_retransmits",
            "Loss declarations by SACKs found to be spurious",
            s.spurious_fast_retransmits,
        ),
        ("tail_loss_probes", "Tail loss probes sent", s.tail_loss_probes),
        ("limited_transmits", "Packets sent by Limited Transmit", s.limited_transmits),
        ("zero_window_probes", "Zero-window probes sent", s.zero_window_probes),
        ("reneged", "TSNs that the peer reneged on", s.reneged),
        (
            "contradictory_sacks",
            "SACKs that repeated what one before had taken back, and nothing new",
            s.contradictory_sacks,
        ),
        ("wrong_tag", "Packets discarded for a wrong verification tag", s.wrong_tag),
        ("malformed_chunks", "Chunks discarded as malformed or impossible", s.malformed_chunks),
    ]
}

/// Of one path.
pub(super) fn path(p: &PathStats) -> Vec<Counter> {
    let c = &p.counters;
    vec![
        ("packets_sent", "SCTP packets sent over the path", c.packets_sent),
        ("packets_received", "SCTP packets received from its address", c.packets_received),
        ("bytes_sent", "Bytes of SCTP packets sent over the path", c.bytes_sent),
        ("bytes_received", "Bytes of SCTP packets received from its address", c.bytes_received),
        ("data_chunks_sent", "DATA chunks sent for the first time", c.data_chunks_sent),
        ("retransmitted_chunks", "DATA chunks sent again over the path", c.retransmitted_chunks),
        ("lost_chunks", "DATA chunks of the path declared lost", c.lost_chunks),
        ("timeouts", "T3-rtx expirations", p.timeouts),
        ("spurious_timeouts", "T3-rtx expirations found to be spurious", c.spurious_timeouts),
        (
            "spurious_fast_retransmits",
            "Loss declarations by SACKs found to be spurious",
            c.spurious_fast_retransmits,
        ),
        ("heartbeats_sent", "Heartbeats sent", p.heartbeats_sent),
        ("heartbeats_acked", "Heartbeats answered", p.heartbeats_acked),
    ]
}

/// Of what belongs to no association.
pub(super) fn endpoint(e: &EndpointStats) -> Vec<Counter> {
    vec![
        ("associations_begun", "Associations opened by either side", e.associations_begun),
        ("associations_ended", "Associations that have gone", e.associations_ended),
        (
            "invalid_packets",
            "Packets dropped: too short, bad checksum or port 0",
            e.invalid_packets,
        ),
        ("out_of_the_blue", "Packets for no association", e.out_of_the_blue),
        ("inits_answered", "INIT chunks answered", e.inits_answered),
        ("bad_cookies", "State cookies that were not ours", e.bad_cookies),
        ("stale_cookies", "State cookies that had expired", e.stale_cookies),
        ("refused", "Associations refused for want of room", e.refused),
        ("inits_limited", "INIT chunks passed over: too many of one source", e.inits_limited),
        ("restarts_limited", "Restarts passed over: too many of one source", e.restarts_limited),
        (
            "aborted_for_memory",
            "Associations aborted because memory was used up",
            e.aborted_for_memory,
        ),
        ("icmp_accepted", "ICMP messages that were believed", e.icmp_accepted),
        ("icmp_ignored", "ICMP messages that proved nothing", e.icmp_ignored),
    ]
}

/// Of the sockets.
pub(super) fn carrier(c: &CarrierStats) -> Vec<Counter> {
    vec![
        ("datagrams_sent", "Datagrams that the system accepted", c.datagrams_sent),
        ("datagrams_received", "Datagrams received", c.datagrams_received),
        ("send_calls", "System calls that sent datagrams", c.send_calls),
        ("recv_calls", "System calls that received datagrams", c.recv_calls),
        ("send_blocked", "Times that the system's send buffer was full", c.send_blocked),
        ("send_too_large", "Datagrams dropped: larger than the route's MTU", c.send_too_large),
        ("send_failed", "Datagrams dropped: refused by the system", c.send_failed),
        ("recv_failed", "Errors reported instead of a datagram", c.recv_failed),
        ("recv_invalid", "Datagrams dropped: empty, or from UDP port 0", c.recv_invalid),
        ("icmp_received", "ICMP messages handed on", c.icmp_received),
    ]
}

/// Of what observers write.
pub(super) fn spool(s: &SpoolStats) -> Vec<Counter> {
    vec![
        ("bytes_written", "Bytes written by captures, qlog and log", s.bytes_written),
        ("records_dropped", "Records that could not be written", s.records_dropped),
        ("streams_failed", "Files and pipes that failed", s.streams_failed),
    ]
}

/// Counts by the cause of a loss, without those that are 0.
pub(super) fn by_cause(counts: &[u64]) -> impl Iterator<Item = (&'static str, u64)> {
    let named = LossCause::ALL.iter().map(|cause| cause.name()).zip(counts.iter().copied());
    named.filter(|(_, count)| *count > 0)
}
