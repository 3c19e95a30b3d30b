//! Silent paths, for concurrent multipath transfer.
//!
//! Idea: a path that stops answering holds up everything behind what it carries until T3-rtx
//! expires, RTO.Min (a second) later. When another path is there, what is in flight on the silent one
//! can leave again over that one after two round trips; if it was only late, that has cost a copy of
//! one flight. (RFC 8985 §7 probes the tail of a flight as early; MPTCP, RFC 8684 §3.3.6, sends what
//! a subflow lost over another one.)
//!
//! ```text
//! wait   = 2^n (2 SRTT + 4 RTTVAR, at least 10 ms); + the peer's SACK delay if one packet is in flight and the peer has
//!          reported no gap: with one it acknowledges each packet at once (RFC 9260 §6.7)
//! n      = how often the path fell silent since something was acknowledged there
//! silent <=> something is in flight, and for `wait` nothing was acknowledged, nor did the first
//!            packet of the flight leave; and meanwhile another path answered, or is idle
//! asked  = at once, and then after wait, 2 wait, 4 wait, ..., each time no later than RTO (without backoff, at least 1 s), until it
//!          answers or is inactive
//! ```
//! It gets no new data until it answers a HEARTBEAT. No congestion window is cut and no error counted: that is left to what the
//! first HEARTBEAT finds, which waits for its answer (RFC 9260 §8.3). What silenced the path often takes that one, too, as losses
//! come in bursts, and RTO is doubled each time (RFC 7829 §3.2 rule 6): those between count for nothing. What is answered may have
//! waited for the path to come back: one more HEARTBEAT says how long the round trip takes now. Where HEARTBEATs are answered and
//! data never is, as by a peer without its key, a flight would go to and fro for ever: the wait doubles (RFC 8085 §3.1.1) until
//! T3-rtx comes first.

use std::time::Duration;

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::Rule;
use crate::time::Time;

/// Less than that is a matter of how hosts are scheduled.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// The time between two questions grows to RTO, and at least to this: RTO.Min of RFC 9260 §16.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// By then T3-rtx has expired.
const MOST_DOUBLINGS: u32 = 12;

/// The mechanism.
pub(in crate::recovery) struct SilentPath;

impl Rule for SilentPath {
    fn watches_silence(profile: &Profile) -> bool {
        profile.multipath.silent_path
    }
}

/// What says whether a path that carries data is silent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceFacts {
    pub(crate) srtt: Option<Duration>,
    pub(crate) rttvar: Duration,
    /// Something is in flight.
    pub(crate) in_flight: bool,
    /// No more than one packet is, and the peer has reported no gap.
    pub(crate) sack_may_wait: bool,
    /// When something was last acknowledged, or the first packet of the flight left.
    pub(crate) answered: Time,
    /// How often in a row it fell silent, since something was acknowledged there.
    pub(crate) silences: u32,
}

impl SilenceFacts {
    /// Why what is in flight there leaves again.
    pub(crate) const CAUSE: LossCause = LossCause::Rescheduled;

    /// How long an answer may take; `None` if there never was one.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let once = (2 * self.srtt? + 4 * self.rttvar).max(MIN_WAIT);
        Some(once * (1 << self.silences.min(MOST_DOUBLINGS)))
    }

    /// How long after one question the next one comes if none was answered for `wait`; `rto` is RTO without backoff.
    pub(crate) fn next_wait(wait: Duration, rto: Duration) -> Duration {
        wait.min(rto.max(LONGEST_INTERVAL))
    }

    /// When the path will be silent; `None` if it owes no answer or has never given one.
    pub(crate) fn deadline(&self, max_sack_delay: Duration) -> Option<Time> {
        let wait = self.wait().filter(|_| self.in_flight)?;
        let delay = if self.sack_may_wait { max_sack_delay } else { Duration::ZERO };
        Some(self.answered + wait + delay)
    }

    /// Whether this path shows that the peer lives, while another one owes an answer since `since`.
    pub(crate) fn vouches(&self, since: Time) -> bool {
        !self.in_flight || self.answered > since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn path(in_flight: bool, sack_may_wait: bool) -> SilenceFacts {
        let answered = Time::from_millis(1000);
        let (srtt, rttvar, silences) = (Some(MS(50)), MS(5), 0);
        SilenceFacts { srtt, rttvar, in_flight, sack_may_wait, answered, silences }
    }

    #[test]
    fn a_path_is_silent_two_round_trips_after_its_last_answer() {
        let at = |facts: SilenceFacts| facts.deadline(MS(200));
        assert_eq!(at(path(true, false)), Some(Time::from_millis(1120)));
        assert_eq!(at(path(true, true)), Some(Time::from_millis(1320)), "its SACK may be delayed");
        assert_eq!(at(path(false, false)), None);
        assert_eq!(at(SilenceFacts { srtt: None, ..path(true, false) }), None);
        let quick = SilenceFacts { srtt: Some(MS(1)), rttvar: MS(0), ..path(true, false) };
        assert_eq!(at(quick), Some(Time::from_millis(1010)));
        let again = |silences| at(SilenceFacts { silences, ..path(true, false) });
        assert_eq!([1, 2].map(again), [1240, 1480].map(|ms| Some(Time::from_millis(ms))));
    }

    #[test]
    fn it_is_asked_again_less_and_less_often() {
        let mut wait = path(true, false).wait().unwrap();
        let waits = std::iter::repeat_with(|| {
            wait = SilenceFacts::next_wait(2 * wait, MS(300));
            wait
        });
        assert_eq!(waits.take(5).collect::<Vec<_>>(), [240, 480, 960, 1000, 1000].map(MS));
        assert_eq!(SilenceFacts::next_wait(MS(4000), MS(3000)), MS(3000));
    }

    #[test]
    fn a_path_that_is_idle_or_answered_since_vouches_for_the_peer() {
        assert!(path(false, false).vouches(Time::from_millis(2000)));
        assert!(path(true, false).vouches(Time::from_millis(999)));
        assert!(!path(true, false).vouches(Time::from_millis(1000)));
    }
}
