//! Which chunks in flight are worth bundling.
//!
//! Idea: a chunk whose SACK cannot have come yet is probably under way, and sending it again is
//! probably in vain. One whose SACK is overdue is probably lost. With `overdue_only` bundling
//! (Pedersen 2006 §4.2.2, §4.4) keeps to the latter: it repairs losses before they are declared and
//! hardly ever sends a duplicate.
//!
//! `overdue(c) <=> now - sent(c) > SRTT + 4 RTTVAR`: its timer would have expired but for RTO.Min.
//! Before the first measurement of the RTT every chunk is.

use std::time::Duration;

/// Whether a chunk of this age is bundled.
pub(crate) fn is_eligible(
    overdue_only: bool,
    age: Duration,
    srtt: Option<Duration>,
    rttvar: Duration,
) -> bool {
    !overdue_only || srtt.is_none_or(|srtt| age > srtt + 4 * rttvar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_overdue_when_its_sack_should_have_come() {
        let ms = Duration::from_millis;
        let eligible = |age| is_eligible(true, ms(age), Some(ms(200)), ms(10));
        assert!(!eligible(240) && eligible(241));
        assert!(is_eligible(false, ms(1), Some(ms(200)), ms(10)));
        assert!(is_eligible(true, ms(1), None, ms(10)));
    }
}
