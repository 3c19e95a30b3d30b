//! Structures of options of single addresses, which RFC 6458 does not have.

use super::{sctp_assoc_t, sockaddr_storage};

/// SCTP_REMOTE_UDP_ENCAPS_PORT (RFC 6951 §6.1); the port in network byte order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_udpencaps {
    pub sue_assoc_id: sctp_assoc_t,
    pub sue_address: sockaddr_storage,
    pub sue_port: u16,
}

/// SCTP_PEER_ADDR_THLDS (RFC 7829 §7.2), as Linux has it: consecutive errors after which an address is unreachable (0: no
/// change), and after which it has potentially failed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_paddrthlds {
    pub spt_assoc_id: sctp_assoc_t,
    pub spt_address: sockaddr_storage,
    pub spt_pathmaxrxt: u16,
    pub spt_pathpfthld: u16,
}

/// SCTP_PEER_ADDR_THLDS_V2 of Linux: the same, and after how many the address is the primary one no more; 0xffff: never.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_paddrthlds_v2 {
    pub spt_assoc_id: sctp_assoc_t,
    pub spt_address: sockaddr_storage,
    pub spt_pathmaxrxt: u16,
    pub spt_pathpfthld: u16,
    pub spt_pathcpthld: u16,
}

/// SCTP_PLPMTUD_PROBE_INTERVAL, of Linux: path MTU discovery by probes (RFC 8899); milliseconds from 5000, 0 for none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_probeinterval {
    pub spi_assoc_id: sctp_assoc_t,
    pub spi_address: sockaddr_storage,
    pub spi_interval: u32,
}
