//! How long the values of SCTP's options are, as Linux takes them: most have one length, some more
//! because they once were something else, and some may be longer than what is read.

use super::Fallible;
use super::option_names::name;
use tresse_socket_protocol::abi::errno;

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
        | name::MAPPED_V4
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
        | name::ENABLE_STREAM_RESET
        | name::ADD_STREAMS
        | name::EXPOSE_POTENTIALLY_FAILED
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

/// Fails if `setsockopt` takes no value of that length.
pub(super) fn check_size(option: i32, len: usize) -> Fallible<()> {
    let fits = match size_to_set(option) {
        Some(Size::OneOf(sizes)) => sizes.contains(&len),
        Some(Size::AtLeast(least)) => len >= least,
        Some(Size::AtMost(most)) => len <= most,
        None => true,
    };
    if fits { Ok(()) } else { Err(errno::EINVAL) }
}

/// Why an option cannot be read.
pub(super) fn cannot_get(option: i32) -> i32 {
    match option {
        name::AUTH_CHUNK..=name::AUTH_DELETE_KEY | name::AUTH_DEACTIVATE_KEY => errno::EOPNOTSUPP,
        _ => errno::ENOPROTOOPT,
    }
}
