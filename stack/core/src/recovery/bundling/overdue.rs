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

use crate::ids::PathId;
use crate::recovery::SackFacts;
use crate::time::Time;
use crate::windowed::Windowed;

/// A path is known after this many answers.
const ENOUGH: u32 = 4;

/// Round-trip times of one path.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    latest: Duration,
    recent: Windowed,
    number: u32,
}

/// The latest round-trip time of each path, and those of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Overdue {
    paths: SmallVec<[Answers; 4]>,
}

impl Overdue {
    /// A SACK was applied.
    pub(in crate::recovery) fn on_sack(&mut self, facts: &SackFacts<'_>) {
        for (i, ack) in facts.outcome.paths.iter().enumerate() {
            // Karn: which transmission is acknowledged is not known of chunks sent again.
            if let Some(latest) = ack.latest.filter(|latest| latest.transmissions == 1) {
                self.take(i, facts.now, facts.now.since(latest.sent));
            }
        }
    }

    fn take(&mut self, path: usize, now: Time, rtt: Duration) {
        self.paths.resize(self.paths.len().max(path + 1), Answers::default());
        let answers = &mut self.paths[path];
        answers.latest = rtt;
        answers.recent.sample(now, rtt);
        answers.number = answers.number.saturating_add(1);
    }

    fn of(&self, path: PathId) -> Answers {
        self.paths.get(usize::from(path.0)).copied().unwrap_or_default()
    }

    /// The longest round-trip time on `path` in the last minutes: no SACK took longer. `None` before there
    /// were enough to tell.
    pub(crate) fn longest(&self, path: PathId) -> Option<Duration> {
        let answers = self.of(path);
        answers.recent.most().filter(|_| answers.number >= ENOUGH)
    }

    /// The age beyond which a chunk sent on `path` is overdue.
    pub(crate) fn age(
        &self,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
        n: f64,
    ) -> Duration {
        srtt.map_or(Duration::MAX, |srtt| srtt.max(self.of(path).latest) + rttvar.mul_f64(n))
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
        overdue.take(0, Time::ZERO, ms(230));
        assert_eq!(age(&overdue, Some(ms(200))), ms(270), "behind a queue");
        assert_eq!(overdue.longest(PathId(0)), None, "who knows");
        for rtt in [200, 300, 200] {
            overdue.take(0, Time::ZERO, ms(rtt));
        }
        assert_eq!(overdue.longest(PathId(0)), Some(ms(300)));
        assert_eq!(overdue.longest(PathId(1)), None);
    }
}
