//! A lower RTO.Min for thin streams (Pedersen 2006 §4.3.1).
//!
//! Idea: most losses of a thin stream wait for T3-rtx, and with an RTO.Min of one second the
//! computed RTO never counts. While the stream is thin the bound is 200 ms.
//!
//! `RTO.Min = thin ? 200 ms : RTO.Min`, applied whenever RTO is computed (RFC 9260 §6.3.1 C6).

use std::time::Duration;

use crate::profile::Profile;
use crate::recovery::Rule;

/// The mechanism.
pub(in crate::recovery) struct ThinRtoMin;

impl Rule for ThinRtoMin {
    fn rto_min(profile: &Profile, bound: Duration, thin: bool) -> Duration {
        rto_min(profile, bound, thin)
    }
}

/// RTO.Min to use when RTO is computed now; `configured` holds unless the stream is thin.
fn rto_min(profile: &Profile, configured: Duration, thin: bool) -> Duration {
    let parameters = &profile.thin_rto_min;
    if parameters.enabled && thin { parameters.min().min(configured) } else { configured }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thin_stream_gets_the_lower_bound() {
        let ms = Duration::from_millis;
        let mut profile = Profile::default();
        assert_eq!(rto_min(&profile, ms(1000), true), ms(1000));
        profile.thin_rto_min.enabled = true;
        assert_eq!(rto_min(&profile, ms(1000), true), ms(200));
        assert_eq!(rto_min(&profile, ms(1000), false), ms(1000));
        assert_eq!(rto_min(&profile, ms(50), true), ms(50), "never a higher one");
    }
}
