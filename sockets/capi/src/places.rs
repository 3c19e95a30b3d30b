//! Where the structs of socket options have the association.

use std::mem::offset_of;

use crate::constants::*;
use crate::types::{sctp_sndinfo, sctp_sndrcvinfo};

/// At which byte the struct of an option has its association; `None` if it has none.
pub(crate) fn place_of_association(option: i32) -> Option<usize> {
    match option {
        SCTP_DEFAULT_SEND_PARAM => Some(offset_of!(sctp_sndrcvinfo, sinfo_assoc_id)),
        SCTP_DEFAULT_SNDINFO => Some(offset_of!(sctp_sndinfo, snd_assoc_id)),
        SCTP_RTOINFO
        | SCTP_ASSOCINFO
        | SCTP_PRIMARY_ADDR
        | SCTP_PEER_ADDR_PARAMS
        | SCTP_STATUS
        | SCTP_GET_PEER_ADDR_INFO
        | SCTP_DELAYED_SACK
        | SCTP_CONTEXT
        | SCTP_MAX_BURST
        | SCTP_EVENT
        | SCTP_GET_ASSOC_STATS
        | SCTP_PR_SUPPORTED
        | SCTP_DEFAULT_PRINFO
        | SCTP_PR_ASSOC_STATUS
        | SCTP_PR_STREAM_STATUS
        | SCTP_RECONFIG_SUPPORTED
        | SCTP_STREAM_SCHEDULER
        | SCTP_STREAM_SCHEDULER_VALUE
        | SCTP_INTERLEAVING_SUPPORTED
        | SCTP_AUTH_SUPPORTED
        | SCTP_ASCONF_SUPPORTED
        | SCTP_ECN_SUPPORTED
        | SCTP_AUTH_ACTIVE_KEY
        | SCTP_PEER_AUTH_CHUNKS
        | SCTP_LOCAL_AUTH_CHUNKS
        | SCTP_ENABLE_STREAM_RESET
        | SCTP_REMOTE_UDP_ENCAPS_PORT
        | SCTP_PLPMTUD_PROBE_INTERVAL
        | SCTP_PEER_ADDR_THLDS
        | SCTP_PEER_ADDR_THLDS_V2 => Some(0),
        _ => None, // They have no association.
    }
}
