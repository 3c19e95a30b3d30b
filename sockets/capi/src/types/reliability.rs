//! Partial reliability.

use super::sctp_assoc_t;

/// How reliable a message is (RFC 6458 §5.3.7, RFC 7496 §4.2): a policy, and its milliseconds, retransmissions or priority.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_prinfo {
    pub pr_policy: u16,
    pub pr_value: u32,
}

/// SCTP_DEFAULT_PRINFO (RFC 6458 §8.1.32), in the order of Linux.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_default_prinfo {
    pub pr_assoc_id: sctp_assoc_t,
    pub pr_value: u32,
    pub pr_policy: u16,
}

/// SCTP_PR_ASSOC_STATUS and SCTP_PR_STREAM_STATUS (RFC 7496 §4.3, §4.4): messages that were given up, before and after a
/// part of them was sent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_prstatus {
    pub sprstat_assoc_id: sctp_assoc_t,
    pub sprstat_sid: u16,
    pub sprstat_policy: u16,
    pub sprstat_abandoned_unsent: u64,
    pub sprstat_abandoned_sent: u64,
}
