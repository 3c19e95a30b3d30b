//! Structures of authenticated chunks (RFC 6458 §8).

use super::sctp_assoc_t;

/// SCTP_AUTH_CHUNK (RFC 6458 §8.3.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authchunk {
    pub sauth_chunk: u8,
}

/// SCTP_AUTH_KEY (RFC 6458 §8.3.2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authkey {
    pub sca_assoc_id: sctp_assoc_t,
    pub sca_keynumber: u16,
    pub sca_keylength: u16,
    pub sca_key: [u8; 0],
}

/// SCTP_AUTH_ACTIVE_KEY, SCTP_AUTH_DEACTIVATE_KEY, SCTP_AUTH_DELETE_KEY (RFC 6458 §8.1.20, §8.3.4, §8.3.5).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authkeyid {
    pub scact_assoc_id: sctp_assoc_t,
    pub scact_keynumber: u16,
}

/// SCTP_HMAC_IDENT (RFC 6458 §8.1.16).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_hmacalgo {
    pub shmac_num_idents: u32,
    pub shmac_idents: [u16; 0],
}

/// SCTP_PEER_AUTH_CHUNKS, SCTP_LOCAL_AUTH_CHUNKS (RFC 6458 §8.2.3, §8.2.4).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authchunks {
    pub gauth_assoc_id: sctp_assoc_t,
    pub gauth_number_of_chunks: u32,
    pub gauth_chunks: [u8; 0],
}
