//! Bundling of outstanding chunks in fast retransmissions (Pedersen 2006 §4.2.2).
//!
//! Idea: in a thin stream a packet with one small retransmitted chunk has room for all that is
//! outstanding. Should some of it be lost too, it arrives a timeout sooner; the number of packets
//! does not change.
//!
//! A packet of fast retransmissions is filled, while thin, with chunks in flight (sent, neither
//! acknowledged nor declared lost), oldest first, up to the PMTU. They count as sent again
//! (Karn, duplicates) and not as lost: cwnd is not reduced for them.

use crate::ids::{LossCause, LossEvidence};
use crate::profile::Profile;
use crate::recovery::{Rule, Worth};

/// The mechanism.
pub(in crate::recovery) struct BundleFastRetransmit;

impl Rule for BundleFastRetransmit {
    fn beside_lost(profile: &Profile, thin: bool, cause: Option<LossCause>) -> Option<Worth> {
        let parameters = &profile.bundle_fast_retransmit;
        fills(profile, thin, cause).then(|| Worth::new(parameters.overdue()))
    }

    fn beside_repeated(profile: &Profile, thin: bool) -> Option<Worth> {
        let parameters = &profile.bundle_fast_retransmit;
        (parameters.enabled && thin).then(|| Worth::new(parameters.overdue()))
    }
}

/// Whether a packet that begins with a chunk lost for `cause` is filled up.
fn fills(profile: &Profile, thin: bool, cause: Option<LossCause>) -> bool {
    profile.bundle_fast_retransmit.enabled
        && thin
        && cause.is_some_and(|cause| cause.evidence() != LossEvidence::Void)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_retransmissions_of_thin_streams() {
        let mut profile = Profile::default();
        assert!(!fills(&profile, true, Some(LossCause::FastRetransmit)));
        profile.bundle_fast_retransmit.enabled = true;
        assert!(fills(&profile, true, Some(LossCause::FastRetransmit)));
        assert!(!fills(&profile, false, Some(LossCause::FastRetransmit)));
        assert!(!fills(&profile, true, None));
    }
}
