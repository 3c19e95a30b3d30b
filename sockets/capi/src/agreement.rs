//! What is said here for the header is what the engine has: numbers, lengths, and where an association stands.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem::offset_of;

use tresse_socket_protocol::abi::sinfo;
use tresse_socket_protocol::options::{association_at, event, name, spp, takes};

use crate::constants::*;
use crate::types::*;

/// The constants of the paragraph that begins so.
fn said(title: &str) -> BTreeMap<&'static str, i64> {
    let paragraphs = include_str!("constants.rs").split("\n\n");
    let mut found = paragraphs.filter(|paragraph| paragraph.starts_with(title));
    let lines = found.next().unwrap().lines().filter_map(|line| line.strip_prefix("pub const "));
    let constant = |line: &'static str| {
        let (name, rest) = line.split_once(": ").unwrap();
        let value = rest.split_once(" = ").unwrap().1.trim_end_matches(';');
        let number = match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        (name, number.unwrap())
    };
    lines.map(constant).collect()
}

/// Each number of the engine has its name here, and each number here is one of the engine.
fn agrees<T: Copy + Into<i64>>(title: &str, prefix: &str, engine: &[(&str, T)]) {
    let said = said(title);
    for &(name, number) in engine {
        let name = format!("{prefix}{name}");
        assert_eq!(said.get(name.as_str()), Some(&number.into()), "{name}");
    }
    for (name, number) in said {
        assert!(engine.iter().any(|known| known.1.into() == number), "{name} is nothing there");
    }
}

#[test]
fn numbers_are_those_of_the_engine() {
    agrees("/// Socket options", "SCTP_", name::IN_C);
    agrees("/// `spp_flags`", "SPP_", spp::IN_C);
    agrees("/// Notifications", "SCTP_", event::IN_C);
}

#[test]
fn flags_of_messages_are_those_of_the_engine() {
    for (here, there) in [
        (SCTP_UNORDERED, sinfo::UNORDERED),
        (SCTP_ADDR_OVER, sinfo::ADDR_OVER),
        (SCTP_ABORT, sinfo::ABORT),
        (SCTP_SACK_IMMEDIATELY, sinfo::SACK_IMMEDIATELY),
        (SCTP_SENDALL, sinfo::SENDALL),
        (SCTP_EOF, sinfo::EOF),
        (SCTP_EOR, sinfo::EOR),
        (SCTP_PR_SCTP_TTL, sinfo::PR_TTL),
        (SCTP_PR_SCTP_RTX, sinfo::PR_RTX),
        (SCTP_PR_SCTP_PRIO, sinfo::PR_PRIO),
        (SCTP_PR_SCTP_MASK, sinfo::POLICY),
        (SCTP_PR_SCTP_ALL, sinfo::PR_ALL),
    ] {
        assert_eq!(here, i32::from(there));
    }
}

/// An option, the size of its value, and where that has an association.
type Layout = (i32, usize, Option<usize>);

macro_rules! layout {
    ($option:ident, $type:ty) => {
        ($option, size_of::<$type>(), None)
    };
    ($option:ident, $type:ty, $member:ident) => {
        ($option, size_of::<$type>(), Some(offset_of!($type, $member)))
    };
}

const LAYOUTS: &[Layout] = &[
    layout!(SCTP_RTOINFO, sctp_rtoinfo, srto_assoc_id),
    layout!(SCTP_ASSOCINFO, sctp_assocparams, sasoc_assoc_id),
    layout!(SCTP_INITMSG, sctp_initmsg),
    layout!(SCTP_NODELAY, c_int),
    layout!(SCTP_AUTOCLOSE, c_int),
    layout!(SCTP_SET_PEER_PRIMARY_ADDR, sctp_setpeerprim, sspp_assoc_id),
    layout!(SCTP_PRIMARY_ADDR, sctp_setprim, ssp_assoc_id),
    layout!(SCTP_ADAPTATION_LAYER, sctp_setadaptation),
    layout!(SCTP_DISABLE_FRAGMENTS, c_int),
    // In C it is aligned as well.
    (
        SCTP_PEER_ADDR_PARAMS,
        size_of::<sctp_paddrparams>().next_multiple_of(4),
        Some(offset_of!(sctp_paddrparams, spp_assoc_id)),
    ),
    layout!(SCTP_DEFAULT_SEND_PARAM, sctp_sndrcvinfo, sinfo_assoc_id),
    layout!(SCTP_EVENTS, sctp_event_subscribe),
    layout!(SCTP_I_WANT_MAPPED_V4_ADDR, c_int),
    layout!(SCTP_MAXSEG, c_int),
    layout!(SCTP_MAXSEG, sctp_assoc_value, assoc_id),
    layout!(SCTP_STATUS, sctp_status, sstat_assoc_id),
    layout!(SCTP_GET_PEER_ADDR_INFO, sctp_paddrinfo, spinfo_assoc_id),
    layout!(SCTP_DELAYED_SACK, sctp_assoc_value, assoc_id),
    layout!(SCTP_DELAYED_SACK, sctp_sack_info, sack_assoc_id),
    layout!(SCTP_CONTEXT, sctp_assoc_value, assoc_id),
    layout!(SCTP_FRAGMENT_INTERLEAVE, c_int),
    layout!(SCTP_PARTIAL_DELIVERY_POINT, u32),
    layout!(SCTP_MAX_BURST, c_int),
    layout!(SCTP_MAX_BURST, sctp_assoc_value, assoc_id),
    layout!(SCTP_AUTH_CHUNK, sctp_authchunk),
    layout!(SCTP_HMAC_IDENT, sctp_hmacalgo),
    layout!(SCTP_AUTH_KEY, sctp_authkey, sca_assoc_id),
    layout!(SCTP_AUTH_ACTIVE_KEY, sctp_authkeyid, scact_assoc_id),
    layout!(SCTP_AUTH_DELETE_KEY, sctp_authkeyid, scact_assoc_id),
    layout!(SCTP_PEER_AUTH_CHUNKS, sctp_authchunks, gauth_assoc_id),
    layout!(SCTP_LOCAL_AUTH_CHUNKS, sctp_authchunks, gauth_assoc_id),
    layout!(SCTP_GET_ASSOC_NUMBER, u32),
    layout!(SCTP_GET_ASSOC_ID_LIST, sctp_assoc_ids),
    layout!(SCTP_AUTO_ASCONF, c_int),
    layout!(SCTP_PEER_ADDR_THLDS, sctp_paddrthlds, spt_assoc_id),
    layout!(SCTP_RECVRCVINFO, c_int),
    layout!(SCTP_RECVNXTINFO, c_int),
    layout!(SCTP_DEFAULT_SNDINFO, sctp_sndinfo, snd_assoc_id),
    layout!(SCTP_AUTH_DEACTIVATE_KEY, sctp_authkeyid, scact_assoc_id),
    layout!(SCTP_REUSE_PORT, c_int),
    layout!(SCTP_PEER_ADDR_THLDS_V2, sctp_paddrthlds_v2, spt_assoc_id),
    // `struct sctp_getaddrs` of the kernel: an association, a number, and addresses.
    (SCTP_GET_PEER_ADDRS, 8, Some(0)),
    (SCTP_GET_LOCAL_ADDRS, 8, Some(0)),
    layout!(SCTP_GET_ASSOC_STATS, sctp_assoc_stats, sas_assoc_id),
    layout!(SCTP_PR_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_DEFAULT_PRINFO, sctp_default_prinfo, pr_assoc_id),
    layout!(SCTP_PR_ASSOC_STATUS, sctp_prstatus, sprstat_assoc_id),
    layout!(SCTP_PR_STREAM_STATUS, sctp_prstatus, sprstat_assoc_id),
    layout!(SCTP_RECONFIG_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_ENABLE_STREAM_RESET, sctp_assoc_value, assoc_id),
    layout!(SCTP_RESET_STREAMS, sctp_reset_streams, srs_assoc_id),
    (SCTP_RESET_ASSOC, size_of::<sctp_assoc_t>(), Some(0)),
    layout!(SCTP_ADD_STREAMS, sctp_add_streams, sas_assoc_id),
    layout!(SCTP_STREAM_SCHEDULER, sctp_assoc_value, assoc_id),
    layout!(SCTP_STREAM_SCHEDULER_VALUE, sctp_stream_value, assoc_id),
    layout!(SCTP_INTERLEAVING_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_EVENT, sctp_event, se_assoc_id),
    layout!(SCTP_ASCONF_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_AUTH_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_ECN_SUPPORTED, sctp_assoc_value, assoc_id),
    layout!(SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, sctp_assoc_value, assoc_id),
    layout!(SCTP_REMOTE_UDP_ENCAPS_PORT, sctp_udpencaps, sue_assoc_id),
    layout!(SCTP_PLPMTUD_PROBE_INTERVAL, sctp_probeinterval, spi_assoc_id),
    layout!(SCTP_EXPLICIT_EOR, c_int),
    layout!(SCTP_USE_EXT_RCVINFO, c_int),
    layout!(SCTP_PKTDROP_SUPPORTED, sctp_assoc_value, assoc_id),
];

#[test]
fn structs_are_what_the_engine_reads() {
    for &(name, option) in name::IN_C {
        assert!(LAYOUTS.iter().any(|layout| layout.0 == option), "what is SCTP_{name}?");
    }
    for &(option, size, place) in LAYOUTS {
        assert!(takes(option, size), "{option} is not taken with {size} bytes");
        assert_eq!(association_at(option, size), place, "{option} of {size} bytes");
    }
}
