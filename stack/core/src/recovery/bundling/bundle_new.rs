//! Bundling of outstanding chunks with new data (Pedersen 2006 §4.4).
//!
//! Idea: the next packet of a thin stream leaves long before the loss of the last one can be
//! noticed. What is outstanding fits into it beside the new data, so a loss is repaired before it
//! is known, and nothing is sent more often than before, only fuller.
//!
//! While thin, and if all new data that waits fits the packet: chunks in flight, oldest first,
//! stand before the new chunks (TSNs in a packet increase), as far as
//! `room = PMTU - headers - new data`. They are no retransmissions for congestion control.

use crate::profile::Profile;
use crate::recovery::{Rule, Worth};

/// The mechanism.
pub(in crate::recovery) struct BundleNew;

impl Rule for BundleNew {
    fn beside_new(
        profile: &Profile,
        thin: bool,
        left: usize,
        new: usize,
    ) -> Option<(usize, Worth)> {
        let room = room(profile, thin, left, new);
        (room > 0).then(|| (room, Worth::new(profile.bundle_new.overdue())))
    }
}

/// Bytes for outstanding chunks in a packet with `room` bytes for chunks, of which the new data
/// that waits needs `new`; 0 if none may be added.
fn room(profile: &Profile, thin: bool, room: usize, new: usize) -> usize {
    if profile.bundle_new.enabled && thin { room.saturating_sub(new) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_new_data_leaves() {
        let mut profile = Profile::default();
        assert_eq!(room(&profile, true, 1452, 116), 0);
        profile.bundle_new.enabled = true;
        assert_eq!(room(&profile, true, 1452, 116), 1336);
        assert_eq!(room(&profile, false, 1452, 116), 0);
        assert_eq!(room(&profile, true, 1452, 9000), 0);
    }
}
