//! Socket options: their numbers, how long their values are and where those have an association; and the numbers of
//! notifications. Declared here once, for the engine and for a program's side. The header that C programs have says them again,
//! and a test of it compares.

/// Declares numbers, and the list of them.
macro_rules! numbers {
    ($type:ty: $($name:ident = $number:literal,)*) => {
        $(pub const $name: $type = $number;)*

        /// All of them, by the names that they have in C behind `SCTP_` or `SPP_`.
        pub const IN_C: &[(&str, $type)] = &[$((stringify!($name), $name),)*];
    };
}

/// Option names (`linux/sctp.h`, `asm-generic/socket.h`).
#[allow(missing_docs, reason = "their names are their meaning")]
pub mod name {
    pub const SO_REUSEADDR: i32 = 2;
    pub const SO_TYPE: i32 = 3;
    pub const SO_ERROR: i32 = 4;
    pub const SO_SNDBUF: i32 = 7;
    pub const SO_RCVBUF: i32 = 8;
    pub const SO_LINGER: i32 = 13;
    pub const SO_REUSEPORT: i32 = 15;
    pub const SO_ACCEPTCONN: i32 = 30;
    pub const SO_SNDBUFFORCE: i32 = 32;
    pub const SO_RCVBUFFORCE: i32 = 33;
    pub const SO_PROTOCOL: i32 = 38;
    pub const SO_DOMAIN: i32 = 39;
    pub const IP_TOS: i32 = 1;
    pub const IPV6_V6ONLY: i32 = 26;
    pub const IPV6_TCLASS: i32 = 67;

    numbers! { i32:
        RTOINFO = 0,
        ASSOCINFO = 1,
        INITMSG = 2,
        NODELAY = 3,
        AUTOCLOSE = 4,
        SET_PEER_PRIMARY_ADDR = 5,
        PRIMARY_ADDR = 6,
        ADAPTATION_LAYER = 7,
        DISABLE_FRAGMENTS = 8,
        PEER_ADDR_PARAMS = 9,
        DEFAULT_SEND_PARAM = 10,
        EVENTS = 11,
        I_WANT_MAPPED_V4_ADDR = 12,
        MAXSEG = 13,
        STATUS = 14,
        GET_PEER_ADDR_INFO = 15,
        DELAYED_ACK = 16,
        CONTEXT = 17,
        FRAGMENT_INTERLEAVE = 18,
        PARTIAL_DELIVERY_POINT = 19,
        MAX_BURST = 20,
        AUTH_CHUNK = 21,
        HMAC_IDENT = 22,
        AUTH_KEY = 23,
        AUTH_ACTIVE_KEY = 24,
        AUTH_DELETE_KEY = 25,
        PEER_AUTH_CHUNKS = 26,
        LOCAL_AUTH_CHUNKS = 27,
        GET_ASSOC_NUMBER = 28,
        GET_ASSOC_ID_LIST = 29,
        AUTO_ASCONF = 30,
        PEER_ADDR_THLDS = 31,
        RECVRCVINFO = 32,
        RECVNXTINFO = 33,
        DEFAULT_SNDINFO = 34,
        AUTH_DEACTIVATE_KEY = 35,
        REUSE_PORT = 36,
        PEER_ADDR_THLDS_V2 = 37,
        GET_PEER_ADDRS = 108,
        GET_LOCAL_ADDRS = 109,
        GET_ASSOC_STATS = 112,
        PR_SUPPORTED = 113,
        DEFAULT_PRINFO = 114,
        PR_ASSOC_STATUS = 115,
        PR_STREAM_STATUS = 116,
        RECONFIG_SUPPORTED = 117,
        ENABLE_STREAM_RESET = 118,
        RESET_STREAMS = 119,
        RESET_ASSOC = 120,
        ADD_STREAMS = 121,
        STREAM_SCHEDULER = 123,
        STREAM_SCHEDULER_VALUE = 124,
        INTERLEAVING_SUPPORTED = 125,
        EVENT = 127,
        ASCONF_SUPPORTED = 128,
        AUTH_SUPPORTED = 129,
        ECN_SUPPORTED = 130,
        EXPOSE_POTENTIALLY_FAILED_STATE = 131,
        REMOTE_UDP_ENCAPS_PORT = 132,
        PLPMTUD_PROBE_INTERVAL = 133,
        // Linux has no numbers for these: 1000 and those of FreeBSD, which Linux has given to others.
        EXPLICIT_EOR = 1027,
        USE_EXT_RCVINFO = 1031,
        PKTDROP_SUPPORTED = 1049,
    }

    // How libsctp calls the kernel: functions of the API, which has no such options.
    pub const BINDX_ADD: i32 = 100;
    pub const BINDX_REM: i32 = 101;
    pub const PEELOFF: i32 = 102;
    pub const CONNECTX_OLD: i32 = 107;
    pub const CONNECTX: i32 = 110;
    pub const CONNECTX3: i32 = 111;
    pub const PEELOFF_FLAGS: i32 = 122;
}

/// Bits of `spp_flags`.
#[allow(missing_docs, reason = "their names are their meaning")]
pub mod spp {
    numbers! { u32:
        HB_ENABLE = 1,
        HB_DISABLE = 2,
        HB_DEMAND = 4,
        PMTUD_ENABLE = 8,
        PMTUD_DISABLE = 16,
        SACKDELAY_ENABLE = 32,
        SACKDELAY_DISABLE = 64,
        HB_TIME_IS_ZERO = 128,
        IPV6_FLOWLABEL = 256,
        DSCP = 512,
    }
}

/// Types of notifications (RFC 6458 §6.1), from [`event::DATA_IO_EVENT`] on in the order of `sctp_event_subscribe`.
#[allow(missing_docs, reason = "their names are their meaning")]
pub mod event {
    numbers! { u16:
        DATA_IO_EVENT = 0x8000,
        ASSOC_CHANGE = 0x8001,
        PEER_ADDR_CHANGE = 0x8002,
        SEND_FAILED = 0x8003,
        REMOTE_ERROR = 0x8004,
        SHUTDOWN_EVENT = 0x8005,
        PARTIAL_DELIVERY_EVENT = 0x8006,
        ADAPTATION_INDICATION = 0x8007,
        AUTHENTICATION_EVENT = 0x8008,
        SENDER_DRY_EVENT = 0x8009,
        STREAM_RESET_EVENT = 0x800a,
        ASSOC_RESET_EVENT = 0x800b,
        STREAM_CHANGE_EVENT = 0x800c,
        SEND_FAILED_EVENT = 0x800d,
        // Linux has none, and what it will have is beside its others: 1000 and that of FreeBSD.
        NOTIFICATIONS_STOPPED_EVENT = 0x83f3,
    }
}

/// Where the number of the association stands in a value of `len` bytes (RFC 6458 §7.2); `None` if the option has none, or if
/// the value is too short for one.
#[must_use]
pub fn association_at(option: i32, len: usize) -> Option<usize> {
    let at = match option {
        // They once were integers.
        name::MAXSEG | name::MAX_BURST | name::DELAYED_ACK if len < 8 => return None,
        // It stands last in what describes a message.
        name::DEFAULT_SEND_PARAM => 28,
        name::DEFAULT_SNDINFO => 12,
        name::RTOINFO
        | name::ASSOCINFO
        | name::SET_PEER_PRIMARY_ADDR
        | name::PRIMARY_ADDR
        | name::PEER_ADDR_PARAMS
        | name::MAXSEG
        | name::STATUS
        | name::GET_PEER_ADDR_INFO
        | name::DELAYED_ACK
        | name::CONTEXT
        | name::MAX_BURST
        | name::AUTH_KEY
        | name::AUTH_ACTIVE_KEY
        | name::AUTH_DELETE_KEY
        | name::PEER_AUTH_CHUNKS
        | name::LOCAL_AUTH_CHUNKS
        | name::PEER_ADDR_THLDS
        | name::AUTH_DEACTIVATE_KEY
        | name::PEER_ADDR_THLDS_V2
        | name::GET_PEER_ADDRS
        | name::GET_LOCAL_ADDRS
        | name::GET_ASSOC_STATS
        | name::PR_SUPPORTED
        | name::DEFAULT_PRINFO
        | name::PR_ASSOC_STATUS
        | name::PR_STREAM_STATUS
        | name::RECONFIG_SUPPORTED
        | name::ENABLE_STREAM_RESET
        | name::RESET_STREAMS
        | name::RESET_ASSOC
        | name::ADD_STREAMS
        | name::STREAM_SCHEDULER
        | name::STREAM_SCHEDULER_VALUE
        | name::INTERLEAVING_SUPPORTED
        | name::EVENT
        | name::ASCONF_SUPPORTED
        | name::AUTH_SUPPORTED
        | name::ECN_SUPPORTED
        | name::PKTDROP_SUPPORTED
        | name::EXPOSE_POTENTIALLY_FAILED_STATE
        | name::REMOTE_UDP_ENCAPS_PORT
        | name::PLPMTUD_PROBE_INTERVAL => 0,
        _ => return None,
    };
    (len >= at + 4).then_some(at)
}

/// The lengths that a value may have.
enum Size {
    /// One of these.
    OneOf(&'static [usize]),
    AtLeast(usize),
    AtMost(usize),
}

/// The lengths that `setsockopt` takes, of options that can be set.
fn size_to_set(option: i32) -> Option<Size> {
    use Size::{AtLeast, AtMost, OneOf};
    Some(match option {
        name::RTOINFO => OneOf(&[16]),
        name::ASSOCINFO => OneOf(&[20]),
        name::INITMSG => OneOf(&[8]),
        name::NODELAY
        | name::DISABLE_FRAGMENTS
        | name::I_WANT_MAPPED_V4_ADDR
        | name::AUTO_ASCONF
        | name::RECVRCVINFO
        | name::RECVNXTINFO
        | name::EXPLICIT_EOR
        | name::USE_EXT_RCVINFO
        | name::REUSE_PORT => AtLeast(4),
        name::ADAPTATION_LAYER | name::FRAGMENT_INTERLEAVE | name::PARTIAL_DELIVERY_POINT => {
            OneOf(&[4])
        }
        name::PRIMARY_ADDR => OneOf(&[132]),
        // With and without what was added to it.
        name::PEER_ADDR_PARAMS => OneOf(&[152, 156]),
        name::DEFAULT_SEND_PARAM => OneOf(&[32]),
        name::DEFAULT_SNDINFO => OneOf(&[16]),
        // `sctp_event_subscribe` has grown with the years.
        name::EVENTS => AtMost(14),
        name::EVENT | name::STREAM_SCHEDULER | name::STREAM_SCHEDULER_VALUE => AtLeast(8),
        name::RESET_STREAMS | name::INTERLEAVING_SUPPORTED => AtLeast(8),
        name::RESET_ASSOC => OneOf(&[4]),
        name::DEFAULT_PRINFO => OneOf(&[12]),
        name::CONTEXT
        | name::PR_SUPPORTED
        | name::RECONFIG_SUPPORTED
        | name::AUTH_SUPPORTED
        | name::ASCONF_SUPPORTED
        | name::ECN_SUPPORTED
        | name::PKTDROP_SUPPORTED
        | name::ENABLE_STREAM_RESET
        | name::ADD_STREAMS
        | name::EXPOSE_POTENTIALLY_FAILED_STATE
        | name::AUTH_ACTIVE_KEY
        | name::AUTH_DELETE_KEY
        | name::AUTH_DEACTIVATE_KEY => OneOf(&[8]),
        // An integer, or `sctp_assoc_value`.
        name::MAXSEG | name::MAX_BURST => OneOf(&[4, 8]),
        // `sctp_assoc_value`, or `sctp_sack_info`.
        name::DELAYED_ACK => OneOf(&[8, 12]),
        name::PEER_ADDR_THLDS | name::PEER_ADDR_THLDS_V2 => AtLeast(144),
        name::REMOTE_UDP_ENCAPS_PORT | name::PLPMTUD_PROBE_INTERVAL => OneOf(&[144]),
        _ => return None,
    })
}

/// Whether `setsockopt` takes a value of that length: most options have one length, some more because they once were something
/// else, and some may be longer than what is read. Of options that cannot be set it says nothing.
#[must_use]
pub fn takes(option: i32, len: usize) -> bool {
    match size_to_set(option) {
        Some(Size::OneOf(sizes)) => sizes.contains(&len),
        Some(Size::AtLeast(least)) => len >= least,
        Some(Size::AtMost(most)) => len <= most,
        None => true,
    }
}
