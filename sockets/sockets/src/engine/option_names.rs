//! Numbers of socket options, and of bits in them.

/// Option names (`linux/sctp.h`, `asm-generic/socket.h`).
pub(super) mod name {
    pub(crate) const SO_REUSEADDR: i32 = 2;
    pub(crate) const SO_TYPE: i32 = 3;
    pub(crate) const SO_ERROR: i32 = 4;
    pub(crate) const SO_SNDBUF: i32 = 7;
    pub(crate) const SO_RCVBUF: i32 = 8;
    pub(crate) const SO_LINGER: i32 = 13;
    pub(crate) const SO_REUSEPORT: i32 = 15;
    pub(crate) const SO_ACCEPTCONN: i32 = 30;
    pub(crate) const SO_PROTOCOL: i32 = 38;
    pub(crate) const SO_DOMAIN: i32 = 39;
    pub(crate) const IP_TOS: i32 = 1;
    pub(crate) const IPV6_V6ONLY: i32 = 26;
    pub(crate) const IPV6_TCLASS: i32 = 67;
    pub(crate) const RTOINFO: i32 = 0;
    pub(crate) const ASSOCINFO: i32 = 1;
    pub(crate) const INITMSG: i32 = 2;
    pub(crate) const NODELAY: i32 = 3;
    pub(crate) const AUTOCLOSE: i32 = 4;
    pub(crate) const SET_PEER_PRIMARY_ADDR: i32 = 5;
    pub(crate) const PRIMARY_ADDR: i32 = 6;
    pub(crate) const ADAPTATION_LAYER: i32 = 7;
    pub(crate) const DISABLE_FRAGMENTS: i32 = 8;
    pub(crate) const PEER_ADDR_PARAMS: i32 = 9;
    pub(crate) const DEFAULT_SEND_PARAM: i32 = 10;
    pub(crate) const EVENTS: i32 = 11;
    pub(crate) const MAPPED_V4: i32 = 12;
    pub(crate) const MAXSEG: i32 = 13;
    pub(crate) const STATUS: i32 = 14;
    pub(crate) const GET_PEER_ADDR_INFO: i32 = 15;
    pub(crate) const DELAYED_ACK: i32 = 16;
    pub(crate) const CONTEXT: i32 = 17;
    pub(crate) const FRAGMENT_INTERLEAVE: i32 = 18;
    pub(crate) const PARTIAL_DELIVERY_POINT: i32 = 19;
    pub(crate) const MAX_BURST: i32 = 20;
    pub(crate) const AUTH_CHUNK: i32 = 21;
    pub(crate) const HMAC_IDENT: i32 = 22;
    pub(crate) const AUTH_KEY: i32 = 23;
    pub(crate) const AUTH_ACTIVE_KEY: i32 = 24;
    pub(crate) const AUTH_DELETE_KEY: i32 = 25;
    pub(crate) const PEER_AUTH_CHUNKS: i32 = 26;
    pub(crate) const LOCAL_AUTH_CHUNKS: i32 = 27;
    pub(crate) const ASSOC_NUMBER: i32 = 28;
    pub(crate) const ASSOC_ID_LIST: i32 = 29;
    pub(crate) const AUTO_ASCONF: i32 = 30;
    pub(crate) const PEER_ADDR_THLDS: i32 = 31;
    pub(crate) const RECVRCVINFO: i32 = 32;
    pub(crate) const RECVNXTINFO: i32 = 33;
    pub(crate) const DEFAULT_SNDINFO: i32 = 34;
    pub(crate) const AUTH_DEACTIVATE_KEY: i32 = 35;
    pub(crate) const REUSE_PORT: i32 = 36;
    pub(crate) const PEER_ADDR_THLDS_V2: i32 = 37;
    pub(crate) const BINDX_ADD: i32 = 100;
    pub(crate) const BINDX_REM: i32 = 101;
    pub(crate) const GET_PEER_ADDRS: i32 = 108;
    pub(crate) const GET_LOCAL_ADDRS: i32 = 109;
    pub(crate) const GET_ASSOC_STATS: i32 = 112;
    pub(crate) const PR_SUPPORTED: i32 = 113;
    pub(crate) const DEFAULT_PRINFO: i32 = 114;
    pub(crate) const PR_ASSOC_STATUS: i32 = 115;
    pub(crate) const PR_STREAM_STATUS: i32 = 116;
    pub(crate) const RECONFIG_SUPPORTED: i32 = 117;
    pub(crate) const ENABLE_STREAM_RESET: i32 = 118;
    pub(crate) const RESET_STREAMS: i32 = 119;
    pub(crate) const RESET_ASSOC: i32 = 120;
    pub(crate) const ADD_STREAMS: i32 = 121;
    pub(crate) const STREAM_SCHEDULER: i32 = 123;
    pub(crate) const STREAM_SCHEDULER_VALUE: i32 = 124;
    pub(crate) const INTERLEAVING_SUPPORTED: i32 = 125;
    pub(crate) const EVENT: i32 = 127;
    pub(crate) const ASCONF_SUPPORTED: i32 = 128;
    pub(crate) const AUTH_SUPPORTED: i32 = 129;
    pub(crate) const ECN_SUPPORTED: i32 = 130;
    pub(crate) const EXPOSE_POTENTIALLY_FAILED: i32 = 131;
    pub(crate) const REMOTE_UDP_ENCAPS_PORT: i32 = 132;
    pub(crate) const PLPMTUD_PROBE_INTERVAL: i32 = 133;
    /// Linux has no numbers for these: 1000 and those of FreeBSD, which Linux has given to others.
    pub(crate) const EXPLICIT_EOR: i32 = 1027;
    pub(crate) const USE_EXT_RCVINFO: i32 = 1031;
}

/// Bits of `spp_flags`.
pub(super) mod spp {
    use tresse::MtuDiscovery;

    pub(crate) const HB_ENABLE: u32 = 1;
    pub(crate) const HB_DISABLE: u32 = 2;
    pub(crate) const HB_DEMAND: u32 = 4;
    pub(crate) const PMTUD_ENABLE: u32 = 8;
    pub(crate) const PMTUD_DISABLE: u32 = 16;
    pub(crate) const SACKDELAY_ENABLE: u32 = 32;
    pub(crate) const SACKDELAY_DISABLE: u32 = 64;
    pub(crate) const HB_TIME_IS_ZERO: u32 = 128;
    pub(crate) const IPV6_FLOWLABEL: u32 = 256;
    pub(crate) const DSCP: u32 = 512;

    /// Both of these.
    pub(crate) const PMTUD: u32 = PMTUD_ENABLE | PMTUD_DISABLE;

    /// The one that holds.
    pub(crate) fn pmtud(discovery: MtuDiscovery) -> u32 {
        if discovery == MtuDiscovery::Off { PMTUD_DISABLE } else { PMTUD_ENABLE }
    }
}
