//! Numbers of the sockets API, as Linux has them (`linux/sctp.h`) unless RFC 6458 alone names them.
//! They are here for the header.
#![allow(missing_docs, reason = "their names are their meaning; RFC 6458 explains them")]

//= RFC 6458 1-4 1-5
/// Special association identifiers (RFC 6458 §7.2).
pub const SCTP_FUTURE_ASSOC: i32 = 0;
pub const SCTP_CURRENT_ASSOC: i32 = 1;
pub const SCTP_ALL_ASSOC: i32 = 2;

/// Socket options (RFC 6458 §8).
pub const SCTP_RTOINFO: i32 = 0;
pub const SCTP_ASSOCINFO: i32 = 1;
pub const SCTP_INITMSG: i32 = 2;
pub const SCTP_NODELAY: i32 = 3;
pub const SCTP_AUTOCLOSE: i32 = 4;
pub const SCTP_SET_PEER_PRIMARY_ADDR: i32 = 5;
pub const SCTP_PRIMARY_ADDR: i32 = 6;
pub const SCTP_ADAPTATION_LAYER: i32 = 7;
pub const SCTP_DISABLE_FRAGMENTS: i32 = 8;
pub const SCTP_PEER_ADDR_PARAMS: i32 = 9;
pub const SCTP_DEFAULT_SEND_PARAM: i32 = 10;
pub const SCTP_EVENTS: i32 = 11;
pub const SCTP_I_WANT_MAPPED_V4_ADDR: i32 = 12;
pub const SCTP_MAXSEG: i32 = 13;
pub const SCTP_STATUS: i32 = 14;
pub const SCTP_GET_PEER_ADDR_INFO: i32 = 15;
pub const SCTP_DELAYED_ACK_TIME: i32 = 16;
pub const SCTP_DELAYED_ACK: i32 = 16;
pub const SCTP_DELAYED_SACK: i32 = 16;
pub const SCTP_CONTEXT: i32 = 17;
pub const SCTP_FRAGMENT_INTERLEAVE: i32 = 18;
pub const SCTP_PARTIAL_DELIVERY_POINT: i32 = 19;
pub const SCTP_MAX_BURST: i32 = 20;
pub const SCTP_AUTH_CHUNK: i32 = 21;
pub const SCTP_HMAC_IDENT: i32 = 22;
pub const SCTP_AUTH_KEY: i32 = 23;
pub const SCTP_AUTH_ACTIVE_KEY: i32 = 24;
pub const SCTP_AUTH_DELETE_KEY: i32 = 25;
pub const SCTP_PEER_AUTH_CHUNKS: i32 = 26;
pub const SCTP_LOCAL_AUTH_CHUNKS: i32 = 27;
pub const SCTP_GET_ASSOC_NUMBER: i32 = 28;
pub const SCTP_GET_ASSOC_ID_LIST: i32 = 29;
pub const SCTP_AUTO_ASCONF: i32 = 30;
pub const SCTP_PEER_ADDR_THLDS: i32 = 31;
pub const SCTP_RECVRCVINFO: i32 = 32;
pub const SCTP_RECVNXTINFO: i32 = 33;
pub const SCTP_DEFAULT_SNDINFO: i32 = 34;
pub const SCTP_AUTH_DEACTIVATE_KEY: i32 = 35;
pub const SCTP_REUSE_PORT: i32 = 36;
pub const SCTP_PEER_ADDR_THLDS_V2: i32 = 37;
pub const SCTP_GET_PEER_ADDRS: i32 = 108;
pub const SCTP_GET_LOCAL_ADDRS: i32 = 109;
pub const SCTP_GET_ASSOC_STATS: i32 = 112;
pub const SCTP_PR_SUPPORTED: i32 = 113;
pub const SCTP_DEFAULT_PRINFO: i32 = 114;
pub const SCTP_PR_ASSOC_STATUS: i32 = 115;
pub const SCTP_PR_STREAM_STATUS: i32 = 116;
pub const SCTP_RECONFIG_SUPPORTED: i32 = 117;
pub const SCTP_ENABLE_STREAM_RESET: i32 = 118;
pub const SCTP_RESET_STREAMS: i32 = 119;
pub const SCTP_RESET_ASSOC: i32 = 120;
pub const SCTP_ADD_STREAMS: i32 = 121;
pub const SCTP_STREAM_SCHEDULER: i32 = 123;
pub const SCTP_STREAM_SCHEDULER_VALUE: i32 = 124;
pub const SCTP_INTERLEAVING_SUPPORTED: i32 = 125;
pub const SCTP_EVENT: i32 = 127;
pub const SCTP_ASCONF_SUPPORTED: i32 = 128;
pub const SCTP_AUTH_SUPPORTED: i32 = 129;
pub const SCTP_ECN_SUPPORTED: i32 = 130;
pub const SCTP_EXPOSE_POTENTIALLY_FAILED_STATE: i32 = 131;
pub const SCTP_REMOTE_UDP_ENCAPS_PORT: i32 = 132;
pub const SCTP_PLPMTUD_PROBE_INTERVAL: i32 = 133;
/// Those that Linux does not have: 1000 and FreeBSD's numbers.
pub const SCTP_EXPLICIT_EOR: i32 = 1027;
pub const SCTP_USE_EXT_RCVINFO: i32 = 1031;
pub const SCTP_PKTDROP_SUPPORTED: i32 = 1049;

/// Stream schedulers (RFC 8260 §4.3.2). That per packet is one that Linux does not have.
pub const SCTP_SS_DEFAULT: i32 = 0;
pub const SCTP_SS_FCFS: i32 = 0;
pub const SCTP_SS_PRIO: i32 = 1;
pub const SCTP_SS_RR: i32 = 2;
pub const SCTP_SS_FB: i32 = 3;
pub const SCTP_SS_WFQ: i32 = 4;
pub const SCTP_SS_RR_PKT: i32 = 1002;

/// `msg_flags` of a notification (RFC 6458 §6).
pub const MSG_NOTIFICATION: i32 = 0x8000;

/// `sinfo_flags`, `snd_flags`, `rcv_flags` (RFC 6458 §5.3).
pub const SCTP_UNORDERED: i32 = 1;
pub const SCTP_ADDR_OVER: i32 = 2;
pub const SCTP_ABORT: i32 = 4;
pub const SCTP_SACK_IMMEDIATELY: i32 = 8;
pub const SCTP_SENDALL: i32 = 64;
pub const SCTP_EOF: i32 = 0x200;
pub const SCTP_EOR: i32 = 0x2000;
pub const SCTP_NOTIFICATION: i32 = 0x8000;

/// PR-SCTP policies (RFC 6458 §5.3.7, RFC 7496).
pub const SCTP_PR_SCTP_NONE: i32 = 0;
pub const SCTP_PR_SCTP_TTL: i32 = 0x10;
pub const SCTP_PR_SCTP_RTX: i32 = 0x20;
pub const SCTP_PR_SCTP_PRIO: i32 = 0x30;
pub const SCTP_PR_SCTP_MASK: i32 = 0x30;
/// `sprstat_policy`: all of them.
pub const SCTP_PR_SCTP_ALL: i32 = 0x80;

/// Types of ancillary data (RFC 6458 §5.3).
pub const SCTP_INIT: i32 = 0;
pub const SCTP_SNDRCV: i32 = 1;
pub const SCTP_SNDINFO: i32 = 2;
pub const SCTP_RCVINFO: i32 = 3;
pub const SCTP_NXTINFO: i32 = 4;
pub const SCTP_PRINFO: i32 = 5;
pub const SCTP_AUTHINFO: i32 = 6;
pub const SCTP_DSTADDRV4: i32 = 7;
pub const SCTP_DSTADDRV6: i32 = 8;
pub const SCTP_EXTRCV: i32 = 1003;

/// `serinfo_next_flags` (RFC 6458 §5.3.3).
pub const SCTP_NEXT_MSG_AVAIL: i32 = 1;
pub const SCTP_NEXT_MSG_ISCOMPLETE: i32 = 2;
pub const SCTP_NEXT_MSG_IS_UNORDERED: i32 = 4;
pub const SCTP_NEXT_MSG_IS_NOTIFICATION: i32 = 8;
/// `nxt_flags`, beside SCTP_UNORDERED and SCTP_NOTIFICATION (RFC 6458 §5.3.6).
pub const SCTP_COMPLETE: i32 = 0x20;

/// Notifications (RFC 6458 §6.1).
pub const SCTP_SN_TYPE_BASE: i32 = 0x8000;
pub const SCTP_DATA_IO_EVENT: i32 = 0x8000;
pub const SCTP_ASSOC_CHANGE: i32 = 0x8001;
pub const SCTP_PEER_ADDR_CHANGE: i32 = 0x8002;
pub const SCTP_SEND_FAILED: i32 = 0x8003;
pub const SCTP_REMOTE_ERROR: i32 = 0x8004;
pub const SCTP_SHUTDOWN_EVENT: i32 = 0x8005;
pub const SCTP_PARTIAL_DELIVERY_EVENT: i32 = 0x8006;
pub const SCTP_ADAPTATION_INDICATION: i32 = 0x8007;
pub const SCTP_AUTHENTICATION_EVENT: i32 = 0x8008;
pub const SCTP_AUTHENTICATION_INDICATION: i32 = 0x8008;
pub const SCTP_SENDER_DRY_EVENT: i32 = 0x8009;
pub const SCTP_STREAM_RESET_EVENT: i32 = 0x800a;
pub const SCTP_ASSOC_RESET_EVENT: i32 = 0x800b;
pub const SCTP_STREAM_CHANGE_EVENT: i32 = 0x800c;
pub const SCTP_SEND_FAILED_EVENT: i32 = 0x800d;
pub const SCTP_NOTIFICATIONS_STOPPED_EVENT: i32 = 0x83f3;

pub const SCTP_PARTIAL_DELIVERY_ABORTED: i32 = 0;
pub const SCTP_DATA_UNSENT: i32 = 0;
pub const SCTP_DATA_SENT: i32 = 1;
/// `sinfo_flags` and `snd_flags` of what comes back: the end of a message, or all of it (RFC 6458 §6.1.11).
pub const SCTP_DATA_LAST_FRAG: i32 = 1;
pub const SCTP_DATA_NOT_FRAG: i32 = 3;

/// SCTP_ENABLE_STREAM_RESET: what peers may ask for (RFC 6525 §6.3.1).
pub const SCTP_ENABLE_RESET_STREAM_REQ: i32 = 1;
pub const SCTP_ENABLE_RESET_ASSOC_REQ: i32 = 2;
pub const SCTP_ENABLE_CHANGE_ASSOC_REQ: i32 = 4;
/// `srs_flags`.
pub const SCTP_STREAM_RESET_INCOMING: i32 = 1;
pub const SCTP_STREAM_RESET_OUTGOING: i32 = 2;
/// `strreset_flags`, `assocreset_flags` and `strchange_flags`.
pub const SCTP_STREAM_RESET_INCOMING_SSN: i32 = 1;
pub const SCTP_STREAM_RESET_OUTGOING_SSN: i32 = 2;
pub const SCTP_STREAM_RESET_DENIED: i32 = 4;
pub const SCTP_STREAM_RESET_FAILED: i32 = 8;
pub const SCTP_ASSOC_RESET_DENIED: i32 = 4;
pub const SCTP_ASSOC_RESET_FAILED: i32 = 8;
pub const SCTP_STREAM_CHANGE_DENIED: i32 = 4;
pub const SCTP_STREAM_CHANGE_FAILED: i32 = 8;

/// `sac_state`.
pub const SCTP_COMM_UP: i32 = 0;
pub const SCTP_COMM_LOST: i32 = 1;
pub const SCTP_RESTART: i32 = 2;
pub const SCTP_SHUTDOWN_COMP: i32 = 3;
pub const SCTP_CANT_STR_ASSOC: i32 = 4;

/// `spc_state`.
pub const SCTP_ADDR_AVAILABLE: i32 = 0;
pub const SCTP_ADDR_UNREACHABLE: i32 = 1;
pub const SCTP_ADDR_REMOVED: i32 = 2;
pub const SCTP_ADDR_ADDED: i32 = 3;
pub const SCTP_ADDR_MADE_PRIM: i32 = 4;
pub const SCTP_ADDR_CONFIRMED: i32 = 5;
pub const SCTP_ADDR_POTENTIALLY_FAILED: i32 = 6;

/// `spinfo_state`.
pub const SCTP_INACTIVE: i32 = 0;
pub const SCTP_PF: i32 = 1;
pub const SCTP_POTENTIALLY_FAILED: i32 = 1;
pub const SCTP_ACTIVE: i32 = 2;
pub const SCTP_UNCONFIRMED: i32 = 3;
pub const SCTP_UNKNOWN: i32 = 0xffff;

/// `sstat_state`.
pub const SCTP_EMPTY: i32 = 0;
pub const SCTP_CLOSED: i32 = 1;
pub const SCTP_COOKIE_WAIT: i32 = 2;
pub const SCTP_COOKIE_ECHOED: i32 = 3;
pub const SCTP_ESTABLISHED: i32 = 4;
pub const SCTP_SHUTDOWN_PENDING: i32 = 5;
pub const SCTP_SHUTDOWN_SENT: i32 = 6;
pub const SCTP_SHUTDOWN_RECEIVED: i32 = 7;
pub const SCTP_SHUTDOWN_ACK_SENT: i32 = 8;

/// `spp_flags`.
pub const SPP_HB_ENABLE: i32 = 1;
pub const SPP_HB_DISABLE: i32 = 2;
pub const SPP_HB_DEMAND: i32 = 4;
pub const SPP_PMTUD_ENABLE: i32 = 8;
pub const SPP_PMTUD_DISABLE: i32 = 16;
pub const SPP_SACKDELAY_ENABLE: i32 = 32;
pub const SPP_SACKDELAY_DISABLE: i32 = 64;
pub const SPP_HB_TIME_IS_ZERO: i32 = 128;
pub const SPP_IPV6_FLOWLABEL: i32 = 256;
pub const SPP_DSCP: i32 = 512;

/// Flags of `sctp_bindx` (RFC 6458 §9.1).
pub const SCTP_BINDX_ADD_ADDR: i32 = 1;
pub const SCTP_BINDX_REM_ADDR: i32 = 2;

/// What `info` of `sctp_sendv` is (RFC 6458 §9.12).
pub const SCTP_SENDV_NOINFO: u32 = 0;
pub const SCTP_SENDV_SNDINFO: u32 = 1;
pub const SCTP_SENDV_PRINFO: u32 = 2;
pub const SCTP_SENDV_AUTHINFO: u32 = 3;
pub const SCTP_SENDV_SPA: u32 = 4;
pub const SCTP_SEND_SNDINFO_VALID: u32 = 1;
pub const SCTP_SEND_PRINFO_VALID: u32 = 2;
pub const SCTP_SEND_AUTHINFO_VALID: u32 = 4;

/// What `info` of `sctp_recvv` is (RFC 6458 §9.13).
pub const SCTP_RECVV_NOINFO: u32 = 0;
pub const SCTP_RECVV_RCVINFO: u32 = 1;
pub const SCTP_RECVV_NXTINFO: u32 = 2;
pub const SCTP_RECVV_RN: u32 = 3;

/// `auth_indication` (RFC 6458 §6.1.8).
pub const SCTP_AUTH_NEW_KEY: u32 = 0;
pub const SCTP_AUTH_FREE_KEY: u32 = 1;
pub const SCTP_AUTH_NO_AUTH: u32 = 2;

/// How chunks are authenticated (RFC 4895 §8.3).
pub const SCTP_AUTH_HMAC_ID_SHA1: u16 = 1;
pub const SCTP_AUTH_HMAC_ID_SHA256: u16 = 3;
