//! Which chunks in flight are worth bundling.
//!
//! Idea: a chunk whose SACK cannot have come yet is probably under way, and sending it again is
//! probably in vain. One whose SACK is late is probably lost. With `overdue_only` bundling
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

use crate::ids::PathId;
use crate::profile::Profile;
use crate::recovery::{Advisor, SackFacts};
use crate::time::Time;
use crate::windowed::Windowed;

/// A path is known after this many answers.
const ENOUGH: u32 = 4;

/// Round-trip times of one path.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    latest: Duration,
    recent: Windowed,
    number: u32,
}

/// The latest round-trip time of each path, and those of the last minutes.
#[derive(Debug, Default)]
pub(in crate::recovery) struct LateSacks {
    paths: SmallVec<[RoundTrips; 4]>,
}

impl LateSacks {
    fn take(&mut self, path: usize, now: Time, rtt: Duration) {
        self.paths.resize(self.paths.len().max(path + 1), RoundTrips::default());
        let known = &mut self.paths[path];
        known.latest = rtt;
        known.recent.sample(now, rtt);
        known.number = known.number.saturating_add(1);
    }

    fn known(&self, path: PathId) -> RoundTrips {
        self.paths.get(usize::from(path.0)).copied().unwrap_or_default()
    }
}

impl Advisor for LateSacks {
    fn of(_profile: &Profile) -> LateSacks {
        LateSacks::default()
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>) {
        for (i, ack) in facts.outcome.paths.iter().enumerate() {
            // Karn: which transmission is acknowledged is not known of chunks sent again.
            if let Some(latest) = ack.latest.filter(|latest| latest.transmissions == 1) {
                self.take(i, facts.now, facts.now.since(latest.sent));
            }
        }
    }

    /// In the last minutes; `None` before there were enough to tell.
    fn longest(&self, path: PathId) -> Option<Duration> {
        let known = self.known(path);
        known.recent.most().filter(|_| known.number >= ENOUGH)
    }

    fn late_from(
        &self,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
        spare: f64,
    ) -> Option<Duration> {
        srtt.map(|srtt| srtt.max(self.known(path).latest) + rttvar.mul_f64(spare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_overdue_when_its_sack_is_late() {
        let ms = Duration::from_millis;
        let mut late = LateSacks::default();
        let age = |o: &LateSacks, srtt| o.late_from(PathId(0), srtt, ms(10), 4.0);
        assert_eq!(age(&late, None), None, "nothing is known yet");
        assert_eq!(age(&late, Some(ms(200))), Some(ms(240)));
        late.take(0, Time::ZERO, ms(230));
        assert_eq!(age(&late, Some(ms(200))), Some(ms(270)), "behind a queue");
        assert_eq!(late.longest(PathId(0)), None, "who knows");
        for rtt in [200, 300, 200] {
            late.take(0, Time::ZERO, ms(rtt));
        }
        assert_eq!(late.longest(PathId(0)), Some(ms(300)));
        assert_eq!(late.longest(PathId(1)), None);
    }
}
