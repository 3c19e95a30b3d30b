//! What Linux does not have.

use super::sctp_assoc_t;

/// What is known of a message that arrived and of the one that comes next (RFC 6458 §5.3.3, deprecated), in the order of the RFC.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_extrcvinfo {
    pub sinfo_stream: u16,
    pub sinfo_ssn: u16,
    pub sinfo_flags: u16,
    pub sinfo_ppid: u32,
    pub sinfo_context: u32,
    pub sinfo_pr_value: u32,
    pub sinfo_tsn: u32,
    pub sinfo_cumtsn: u32,
    pub serinfo_next_flags: u16,
    pub serinfo_next_stream: u16,
    pub serinfo_next_aid: u32,
    pub serinfo_next_length: u32,
    pub serinfo_next_ppid: u32,
    pub sinfo_assoc_id: sctp_assoc_t,
}
