//! Structures of the sockets API, laid out as Linux has them (`linux/sctp.h`). They are here for the
//! header, and for their sizes: the engine reads and writes them field by field.
#![allow(non_camel_case_types, reason = "their names in C")]
#![allow(missing_docs, reason = "RFC 6458 explains the members")]

mod authentication;
mod extended;
mod paths;
mod reliability;

use libc::sockaddr_storage;

pub use authentication::{
    sctp_authchunk, sctp_authchunks, sctp_authkey, sctp_authkeyid, sctp_hmacalgo,
};
pub use extended::sctp_extrcvinfo;
pub use paths::{sctp_paddrthlds, sctp_paddrthlds_v2, sctp_probeinterval, sctp_udpencaps};
pub use reliability::{sctp_default_prinfo, sctp_prinfo, sctp_prstatus};

/// Identifies an association of a one-to-many socket (RFC 6458 §3.1).
pub type sctp_assoc_t = i32;

/// SCTP_INITMSG, and ancillary data of the type SCTP_INIT (RFC 6458 §5.3.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_initmsg {
    pub sinit_num_ostreams: u16,
    pub sinit_max_instreams: u16,
    pub sinit_max_attempts: u16,
    pub sinit_max_init_timeo: u16,
}

/// Ancillary data of the type SCTP_SNDRCV (RFC 6458 §5.3.2, deprecated).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_sndrcvinfo {
    pub sinfo_stream: u16,
    pub sinfo_ssn: u16,
    pub sinfo_flags: u16,
    pub sinfo_ppid: u32,
    pub sinfo_context: u32,
    pub sinfo_timetolive: u32,
    pub sinfo_tsn: u32,
    pub sinfo_cumtsn: u32,
    pub sinfo_assoc_id: sctp_assoc_t,
}

/// How to send a message (RFC 6458 §5.3.4).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_sndinfo {
    pub snd_sid: u16,
    pub snd_flags: u16,
    pub snd_ppid: u32,
    pub snd_context: u32,
    pub snd_assoc_id: sctp_assoc_t,
}

/// What is known of a message that arrived (RFC 6458 §5.3.5).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_rcvinfo {
    pub rcv_sid: u16,
    pub rcv_ssn: u16,
    pub rcv_flags: u16,
    pub rcv_ppid: u32,
    pub rcv_tsn: u32,
    pub rcv_cumtsn: u32,
    pub rcv_context: u32,
    pub rcv_assoc_id: sctp_assoc_t,
}

/// What is known of the message that comes next (RFC 6458 §5.3.6).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_nxtinfo {
    pub nxt_sid: u16,
    pub nxt_flags: u16,
    pub nxt_ppid: u32,
    pub nxt_length: u32,
    pub nxt_assoc_id: sctp_assoc_t,
}

/// Key of a message (RFC 6458 §5.3.8): refused with EINVAL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authinfo {
    pub auth_keynumber: u16,
}

/// Several kinds of information for `sctp_sendv` (RFC 6458 §9.12).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_sendv_spa {
    pub sendv_flags: u32,
    pub sendv_sndinfo: sctp_sndinfo,
    pub sendv_prinfo: sctp_prinfo,
    pub sendv_authinfo: sctp_authinfo,
}

/// Both kinds of information of `sctp_recvv` (RFC 6458 §9.13).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_recvv_rn {
    pub recvv_rcvinfo: sctp_rcvinfo,
    pub recvv_nxtinfo: sctp_nxtinfo,
}

/// SCTP_ASSOC_CHANGE: an association began or ended (RFC 6458 §6.1.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assoc_change {
    pub sac_type: u16,
    pub sac_flags: u16,
    pub sac_length: u32,
    pub sac_state: u16,
    pub sac_error: u16,
    pub sac_outbound_streams: u16,
    pub sac_inbound_streams: u16,
    pub sac_assoc_id: sctp_assoc_t,
    pub sac_info: [u8; 0],
}

/// SCTP_PEER_ADDR_CHANGE: an address of the peer changed (RFC 6458 §6.1.2).
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct sctp_paddr_change {
    pub spc_type: u16,
    pub spc_flags: u16,
    pub spc_length: u32,
    pub spc_aaddr: sockaddr_storage,
    pub spc_state: i32,
    pub spc_error: i32,
    pub spc_assoc_id: sctp_assoc_t,
}

/// SCTP_REMOTE_ERROR: the peer sent an ERROR chunk (RFC 6458 §6.1.3).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_remote_error {
    pub sre_type: u16,
    pub sre_flags: u16,
    pub sre_length: u32,
    pub sre_error: u16,
    pub sre_assoc_id: sctp_assoc_t,
    pub sre_data: [u8; 0],
}

/// SCTP_SEND_FAILED (RFC 6458 §6.1.4, deprecated).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_send_failed {
    pub ssf_type: u16,
    pub ssf_flags: u16,
    pub ssf_length: u32,
    pub ssf_error: u32,
    pub ssf_info: sctp_sndrcvinfo,
    pub ssf_assoc_id: sctp_assoc_t,
    pub ssf_data: [u8; 0],
}

/// SCTP_SEND_FAILED_EVENT: a message was not delivered (RFC 6458 §6.1.11).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_send_failed_event {
    pub ssf_type: u16,
    pub ssf_flags: u16,
    pub ssf_length: u32,
    pub ssf_error: u32,
    pub ssfe_info: sctp_sndinfo,
    pub ssf_assoc_id: sctp_assoc_t,
    pub ssf_data: [u8; 0],
}

/// SCTP_SHUTDOWN_EVENT: the peer sends no more (RFC 6458 §6.1.5).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_shutdown_event {
    pub sse_type: u16,
    pub sse_flags: u16,
    pub sse_length: u32,
    pub sse_assoc_id: sctp_assoc_t,
}

/// SCTP_ADAPTATION_INDICATION: the adaptation layer of the peer (RFC 6458 §6.1.6).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_adaptation_event {
    pub sai_type: u16,
    pub sai_flags: u16,
    pub sai_length: u32,
    pub sai_adaptation_ind: u32,
    pub sai_assoc_id: sctp_assoc_t,
}

/// SCTP_PARTIAL_DELIVERY_EVENT: the rest of a message that was read in part will not come (RFC 6458 §6.1.7).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_pdapi_event {
    pub pdapi_type: u16,
    pub pdapi_flags: u16,
    pub pdapi_length: u32,
    pub pdapi_indication: u32,
    pub pdapi_assoc_id: sctp_assoc_t,
    pub pdapi_stream: u32,
    pub pdapi_seq: u32,
}

/// SCTP_AUTHENTICATION_EVENT: a key is used, or not any more, or the peer does not authenticate (RFC 6458 §6.1.8).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_authkey_event {
    pub auth_type: u16,
    pub auth_flags: u16,
    pub auth_length: u32,
    pub auth_keynumber: u16,
    pub auth_altkeynumber: u16,
    pub auth_indication: u32,
    pub auth_assoc_id: sctp_assoc_t,
}

/// SCTP_SENDER_DRY_EVENT: everything was acknowledged (RFC 6458 §6.1.9).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_sender_dry_event {
    pub sender_dry_type: u16,
    pub sender_dry_flags: u16,
    pub sender_dry_length: u32,
    pub sender_dry_assoc_id: sctp_assoc_t,
}

/// SCTP_STREAM_RESET_EVENT: streams begin again (RFC 6525 §6.1.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_stream_reset_event {
    pub strreset_type: u16,
    pub strreset_flags: u16,
    pub strreset_length: u32,
    pub strreset_assoc_id: sctp_assoc_t,
    pub strreset_stream_list: [u16; 0],
}

/// SCTP_ASSOC_RESET_EVENT: all streams and the TSNs begin again (RFC 6525 §6.1.2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assoc_reset_event {
    pub assocreset_type: u16,
    pub assocreset_flags: u16,
    pub assocreset_length: u32,
    pub assocreset_assoc_id: sctp_assoc_t,
    pub assocreset_local_tsn: u32,
    pub assocreset_remote_tsn: u32,
}

/// SCTP_STREAM_CHANGE_EVENT: there are more streams (RFC 6525 §6.1.3).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_stream_change_event {
    pub strchange_type: u16,
    pub strchange_flags: u16,
    pub strchange_length: u32,
    pub strchange_assoc_id: sctp_assoc_t,
    pub strchange_instrms: u16,
    pub strchange_outstrms: u16,
}

/// SCTP_RESET_STREAMS (RFC 6525 §6.3.2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_reset_streams {
    pub srs_assoc_id: sctp_assoc_t,
    pub srs_flags: u16,
    pub srs_number_streams: u16,
    pub srs_stream_list: [u16; 0],
}

/// SCTP_ADD_STREAMS (RFC 6525 §6.3.4).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_add_streams {
    pub sas_assoc_id: sctp_assoc_t,
    pub sas_instrms: u16,
    pub sas_outstrms: u16,
}

/// SCTP_STREAM_SCHEDULER_VALUE (RFC 8260 §4.3.3).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_stream_value {
    pub assoc_id: sctp_assoc_t,
    pub stream_id: u16,
    pub stream_value: u16,
}

/// What all notifications begin with (RFC 6458 §6.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_tlv {
    pub sn_type: u16,
    pub sn_flags: u16,
    pub sn_length: u32,
}

/// SCTP_EVENTS: which notifications to get (RFC 6458 §6.2.1, deprecated).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_event_subscribe {
    pub sctp_data_io_event: u8,
    pub sctp_association_event: u8,
    pub sctp_address_event: u8,
    pub sctp_send_failure_event: u8,
    pub sctp_peer_error_event: u8,
    pub sctp_shutdown_event: u8,
    pub sctp_partial_delivery_event: u8,
    pub sctp_adaptation_layer_event: u8,
    pub sctp_authentication_event: u8,
    pub sctp_sender_dry_event: u8,
    pub sctp_stream_reset_event: u8,
    pub sctp_assoc_reset_event: u8,
    pub sctp_stream_change_event: u8,
    pub sctp_send_failure_event_event: u8,
}

/// SCTP_EVENT: one notification, on or off (RFC 6458 §6.2.2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_event {
    pub se_assoc_id: sctp_assoc_t,
    pub se_type: u16,
    pub se_on: u8,
}

/// SCTP_RTOINFO, in milliseconds (RFC 6458 §8.1.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_rtoinfo {
    pub srto_assoc_id: sctp_assoc_t,
    pub srto_initial: u32,
    pub srto_max: u32,
    pub srto_min: u32,
}

/// SCTP_ASSOCINFO (RFC 6458 §8.1.2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assocparams {
    pub sasoc_assoc_id: sctp_assoc_t,
    pub sasoc_asocmaxrxt: u16,
    pub sasoc_number_peer_destinations: u16,
    pub sasoc_peer_rwnd: u32,
    pub sasoc_local_rwnd: u32,
    pub sasoc_cookie_life: u32,
}

/// SCTP_PRIMARY_ADDR (RFC 6458 §8.1.9).
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct sctp_setprim {
    pub ssp_assoc_id: sctp_assoc_t,
    pub ssp_addr: sockaddr_storage,
}

/// SCTP_SET_PEER_PRIMARY_ADDR (RFC 6458 §8.3.1): the peer is asked to send to that address of ours by default. EPERM unless
/// SCTP_ASCONF_SUPPORTED is set, and the peer changes addresses as well (RFC 5061).
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct sctp_setpeerprim {
    pub sspp_assoc_id: sctp_assoc_t,
    pub sspp_addr: sockaddr_storage,
}

/// SCTP_ADAPTATION_LAYER (RFC 6458 §8.1.10).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_setadaptation {
    pub ssb_adaptation_ind: u32,
}

/// SCTP_PEER_ADDR_PARAMS (RFC 6458 §8.1.12).
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct sctp_paddrparams {
    pub spp_assoc_id: sctp_assoc_t,
    pub spp_address: sockaddr_storage,
    pub spp_hbinterval: u32,
    pub spp_pathmaxrxt: u16,
    pub spp_pathmtu: u32,
    pub spp_sackdelay: u32,
    pub spp_flags: u32,
    pub spp_ipv6_flowlabel: u32,
    pub spp_dscp: u8,
}

/// SCTP_DELAYED_SACK (RFC 6458 §8.1.19).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_sack_info {
    pub sack_assoc_id: sctp_assoc_t,
    pub sack_delay: u32,
    pub sack_freq: u32,
}

/// A number for an association: SCTP_MAX_BURST, SCTP_CONTEXT, SCTP_MAXSEG.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assoc_value {
    pub assoc_id: sctp_assoc_t,
    pub assoc_value: u32,
}

/// SCTP_GET_PEER_ADDR_INFO (RFC 6458 §8.2.2).
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct sctp_paddrinfo {
    pub spinfo_assoc_id: sctp_assoc_t,
    pub spinfo_address: sockaddr_storage,
    pub spinfo_state: i32,
    pub spinfo_cwnd: u32,
    pub spinfo_srtt: u32,
    pub spinfo_rto: u32,
    pub spinfo_mtu: u32,
}

/// SCTP_STATUS (RFC 6458 §8.2.1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_status {
    pub sstat_assoc_id: sctp_assoc_t,
    pub sstat_state: i32,
    pub sstat_rwnd: u32,
    pub sstat_unackdata: u16,
    pub sstat_penddata: u16,
    pub sstat_instrms: u16,
    pub sstat_outstrms: u16,
    pub sstat_fragmentation_point: u32,
    pub sstat_primary: sctp_paddrinfo,
}

/// SCTP_GET_ASSOC_ID_LIST (RFC 6458 §8.2.6).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assoc_ids {
    pub gaids_number_of_ids: u32,
    pub gaids_assoc_id: [sctp_assoc_t; 0],
}

/// SCTP_GET_ASSOC_STATS, of Linux. What is not counted is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sctp_assoc_stats {
    pub sas_assoc_id: sctp_assoc_t,
    pub sas_obs_rto_ipaddr: sockaddr_storage,
    pub sas_maxrto: u64,
    pub sas_isacks: u64,
    pub sas_osacks: u64,
    pub sas_opackets: u64,
    pub sas_ipackets: u64,
    pub sas_rtxchunks: u64,
    pub sas_outofseqtsns: u64,
    pub sas_idupchunks: u64,
    pub sas_gapcnt: u64,
    pub sas_ouodchunks: u64,
    pub sas_iuodchunks: u64,
    pub sas_oodchunks: u64,
    pub sas_iodchunks: u64,
    pub sas_octrlchunks: u64,
    pub sas_ictrlchunks: u64,
}

/// Any notification (RFC 6458 §6.1): `sn_header.sn_type` tells which.
#[repr(C)]
#[derive(Clone, Copy)]
pub union sctp_notification {
    pub sn_header: sctp_tlv,
    pub sn_assoc_change: sctp_assoc_change,
    pub sn_paddr_change: sctp_paddr_change,
    pub sn_remote_error: sctp_remote_error,
    pub sn_send_failed: sctp_send_failed,
    pub sn_shutdown_event: sctp_shutdown_event,
    pub sn_adaptation_event: sctp_adaptation_event,
    pub sn_pdapi_event: sctp_pdapi_event,
    pub sn_authkey_event: sctp_authkey_event,
    pub sn_sender_dry_event: sctp_sender_dry_event,
    pub sn_send_failed_event: sctp_send_failed_event,
    pub sn_strreset_event: sctp_stream_reset_event,
    pub sn_assocreset_event: sctp_assoc_reset_event,
    pub sn_strchange_event: sctp_stream_change_event,
}
