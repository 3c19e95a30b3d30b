//! Smart Fast Retransmit, for concurrent multipath transfer (Dreibholz et al. 2010; Sarnow 2017 §3.2;
//! draft-tuexen-tsvwg-sctp-multipath).
//!
//! Idea: what leaves again over another path is overtaken there by what was sent before it, and on its old path by
//! everything. Miss indications say nothing about it: it is not struck any more until a timeout (RFC 9260 §7.2.4 rule 5),
//! also if it was lost for another reason than they.

use crate::profile::Profile;
use crate::recovery::Rule;
use crate::scoreboard::Eligibility;

/// The mechanism.
pub(in crate::recovery) struct SmartFastRetransmit;

impl Rule for SmartFastRetransmit {
    fn eligibility(profile: &Profile, moved: Option<bool>) -> Option<Eligibility> {
        let spends = profile.multipath.smart_fast_retransmit && moved == Some(true);
        spends.then_some(Eligibility::Spent)
    }
}
