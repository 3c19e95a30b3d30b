//! Which chunks in flight are worth bundling.
//!
//! Idea: a chunk whose SACK cannot have come yet is probably under way, and sending it again is
//! probably in vain. One whose SACK is overdue is probably lost. With `overdue_only` bundling
//! (Pedersen 2006 §4.2.2, §4.4) keeps to the latter: it repairs losses before they are declared and
//! hardly ever sends a duplicate.
//!
//! ```text
//! overdue(c) <=> now - sent(c) > max(SRTT, rtt) + n RTTVAR
//! rtt         that of the chunk acknowledged last (RFC 8985 §6.2 step 2: RACK.rtt)
//! ```
//! With `n = 4` (`overdue_rttvar`) its timer would have expired but for RTO.Min. SRTT is measured
//! once per round trip (RFC 9260 §6.3.1 C4), usually on the first chunk of a burst; those behind it
//! queue at the bottleneck, and the last acknowledgement shows for how long.
//! Before the first measurement of the RTT nothing is: nobody knows when its SACK should have come.

use std::time::Duration;

use smallvec::SmallVec;

use crate::path::PathId;
use crate::recovery::SackFacts;

/// The latest round-trip time of each path.
#[derive(Debug, Default)]
pub(crate) struct Overdue {
    rtt: SmallVec<[Duration; 4]>,
}

impl Overdue {
    /// A SACK was applied.
    pub(in crate::recovery) fn on_sack(&mut self, facts: &SackFacts<'_>) {
        for (i, ack) in facts.outcome.paths.iter().enumerate() {
            // Karn: which transmission is acknowledged is not known of chunks sent again.
            if let Some(latest) = ack.latest.filter(|latest| latest.transmissions == 1) {
                self.rtt.resize(self.rtt.len().max(i + 1), Duration::ZERO);
                self.rtt[i] = facts.now.since(latest.sent);
            }
        }
    }

    /// The age beyond which a chunk sent on `path` is overdue.
    pub(crate) fn age(
        &self,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
        n: f64,
    ) -> Duration {
        let latest = self.rtt.get(usize::from(path.0)).copied().unwrap_or_default();
        srtt.map_or(Duration::MAX, |srtt| srtt.max(latest) + rttvar.mul_f64(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_overdue_when_its_sack_should_have_come() {
        let ms = Duration::from_millis;
        let mut overdue = Overdue::default();
        let age = |o: &Overdue, srtt| o.age(PathId(0), srtt, ms(10), 4.0);
        assert_eq!(age(&overdue, None), Duration::MAX, "nothing is known yet");
        assert_eq!(age(&overdue, Some(ms(200))), ms(240));
        overdue.rtt.push(ms(230));
        assert_eq!(age(&overdue, Some(ms(200))), ms(270), "behind a queue");
    }
}
