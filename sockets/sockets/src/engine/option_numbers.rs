//! Which associations an option is for (RFC 6458 §7.2): one, or on a one-to-many socket those to come (SCTP_FUTURE_ASSOC), those
//! that there are (SCTP_CURRENT_ASSOC) or both (SCTP_ALL_ASSOC).

use super::option_names::name;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, errno};
use tresse_socket_protocol::options::association_at;

/// SCTP_FUTURE_ASSOC, SCTP_CURRENT_ASSOC and SCTP_ALL_ASSOC; larger numbers are those of associations.
pub(super) const FUTURE_ASSOC: u32 = 0;
pub(super) const CURRENT_ASSOC: u32 = 1;
pub(super) const ALL_ASSOC: u32 = 2;

/// The number in the value of an option; that of no association if it has none.
pub(super) fn number_in(option: i32, value: &[u8]) -> u32 {
    association_at(option, value.len()).map_or(FUTURE_ASSOC, |at| Fields(value).u32(at))
}

/// Whether an option can be set for all associations that there are. Of all others RFC 6458 §8.1 has it that "it is an error to
/// use SCTP_{CURRENT|ALL}_ASSOC", or they do something with one association.
fn is_for_groups(option: i32, number: u32) -> bool {
    match option {
        name::DEFAULT_SEND_PARAM
        | name::DELAYED_ACK
        | name::CONTEXT
        | name::MAX_BURST
        | name::AUTH_KEY
        | name::AUTH_ACTIVE_KEY
        | name::AUTH_DELETE_KEY
        | name::AUTH_DEACTIVATE_KEY
        | name::DEFAULT_SNDINFO
        | name::DEFAULT_PRINFO
        | name::ENABLE_STREAM_RESET
        | name::STREAM_SCHEDULER
        | name::EVENT => true,
        // As in Linux: those to come have no streams yet.
        name::STREAM_SCHEDULER_VALUE => number == CURRENT_ASSOC,
        _ => false,
    }
}

impl Engine {
    /// EINVAL where an option is to be set for associations that it cannot be set for.
    pub(super) fn check_set(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        self.check_group(id, option, value, |number| is_for_groups(option, number))
    }

    /// "Note that SCTP_CURRENT_ASSOC and SCTP_ALL_ASSOC cannot be used with sctp_opt_info() or in getsockopt() calls. Using them
    /// will result in an error (returning -1 and errno set to EINVAL)."
    pub(super) fn check_get(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<()> {
        self.check_group(id, option, given, |_| false)
    }

    fn check_group(
        &mut self,
        id: u64,
        option: i32,
        value: &[u8],
        takes: impl Fn(u32) -> bool,
    ) -> Fallible<()> {
        let number = number_in(option, value);
        let is_group = matches!(number, CURRENT_ASSOC | ALL_ASSOC);
        // "For the one-to-one style sockets and branched-off one-to-many style sockets [...], this association ID parameter is
        // ignored."
        let refused = is_group && self.socket(id)?.many && !takes(number);
        if refused { Err(errno::EINVAL) } else { Ok(()) }
    }
}
