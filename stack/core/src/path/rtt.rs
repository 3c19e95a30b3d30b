//! Round-trip time and retransmission timeout (RFC 9260 §6.3.1).
//!
//! ```text
//! first sample R:  SRTT = R, RTTVAR = R / 2
//! sample R':       RTTVAR = (1 - beta) RTTVAR + beta |SRTT - R'|
//!                  SRTT   = (1 - alpha) SRTT + alpha R'
//! RTO = max(RTO.Min, min(RTO.Max, SRTT + 4 max(G, RTTVAR)))
//! ```
//!
//! These equations also hold for the timers that RFC 9260 would have ([`Pace`], `path/patience.rs`). Where SACKs are asked for at
//! once (RFC 7053), less is measured than RFC 9260 would have measured: not the D, 200 ms, by which a peer delays
//! its SACKs, now and then. Samples that differ by D raise `SRTT + 4 RTTVAR` by 2.75 D at most in the long run,
//! and by hardly more than 4 D while the first one, with `RTTVAR = R / 2`, is remembered: that many are added where
//! errors are counted.
//!
//! Difference: with `rto.tick_ms` all of it is in whole [`ticks`](super::ticks).

use std::time::Duration;

use crate::profile::Profile;
use crate::profile::RtoParameters;
use crate::recovery::RoundTrip;
use crate::recovery::timer::t3_rtx;
use crate::time::Time;

use super::ticks::Ticks;

/// What the timer of RFC 9260 is followed for where others expire sooner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// To try again.
    Try,
    /// To count an error.
    Error,
}

impl Pace {
    pub(crate) const BOTH: [Pace; 2] = [Pace::Try, Pace::Error];
}

/// RTT estimate and RTO of one path.
#[derive(Debug)]
pub(crate) struct RttEstimator {
    parameters: RtoParameters,
    srtt: Option<Duration>,
    rttvar: Duration,
    last: Option<Duration>,
    least: Option<Duration>,
    rto: Duration,
    /// RTO.Min as it is now: mechanisms may move it.
    min: Duration,
    /// How often the timer of RFC 9260 has expired, for each [`Pace`], since RTT was measured.
    expired: [u32; 2],
    /// What the SACKs that were asked for at once might have added to RTO, had they been delayed.
    spared: Duration,
}

impl RttEstimator {
    pub(crate) fn new(parameters: &RtoParameters) -> RttEstimator {
        let mut rtt = RttEstimator {
            parameters: parameters.clone(),
            srtt: None,
            rttvar: Duration::ZERO,
            last: None,
            least: None,
            rto: Duration::ZERO,
            min: parameters.min(),
            expired: [0; 2],
            spared: Duration::ZERO,
        };
        rtt.rto = rtt.fresh();
        rtt
    }

    /// Takes other parameters, with RTO.Min as it is now: RTO follows at once. One that was backed off
    /// stays so, within the new bounds.
    pub(crate) fn reconfigure(&mut self, parameters: &RtoParameters, min: Duration) {
        let (before, max) = (self.fresh(), parameters.max());
        self.parameters = parameters.clone();
        self.min = min;
        self.rto =
            if self.rto == before { self.fresh() } else { self.rto.clamp(min.min(max), max) };
    }

    /// RTO as it would be without any backoff.
    pub(crate) fn fresh(&self) -> Duration {
        self.unbacked(self.min, Duration::ZERO)
    }

    /// RTO without any backoff, if this much is added to what was measured.
    fn unbacked(&self, min: Duration, more: Duration) -> Duration {
        let max = self.parameters.max();
        // C1: until a measurement has been made, RTO is RTO.Initial.
        let Some(srtt) = self.srtt else { return self.parameters.initial().min(max) };
        (srtt + 4 * self.rttvar + more).clamp(min.min(max), max)
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// SRTT and RTTVAR, once there is a measurement.
    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        self.srtt.map(|srtt| RoundTrip { srtt, rttvar: self.rttvar })
    }

    pub(crate) fn last(&self) -> Option<Duration> {
        self.last
    }

    /// The shortest sample of all.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least
    }

    /// The retransmission timeout, with any backoff.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// Sets RTO.Min; it holds from the next measurement on.
    pub(crate) fn set_min(&mut self, min: Duration) {
        self.min = min;
    }

    /// Replaces the estimate after a spurious timeout (RFC 4015 step 11).
    pub(crate) fn adapt(&mut self, srtt: Duration, rttvar: Duration) {
        self.srtt = Some(srtt);
        self.rttvar = rttvar.max(self.parameters.granularity());
        self.bound();
    }

    /// C6, C7: RTO from the estimate, within its bounds. Ends any backoff (§6.3.3).
    pub(crate) fn bound(&mut self) {
        if self.srtt.is_some() {
            self.rto = self.fresh();
            self.expired = [0; 2];
        }
    }

    /// The next measurement counts as the first one; RTO stays until then.
    pub(crate) fn start_over(&mut self) {
        self.srtt = None;
        self.rttvar = Duration::ZERO;
    }

    /// Takes a measurement; ends any backoff (§6.3.3).
    pub(crate) fn sample(&mut self, r: Duration) {
        // A clock that jumped can yield anything: a sample is never beyond RTO.Max.
        let r = r.min(self.parameters.max());
        let (alpha, beta) = (self.parameters.alpha, self.parameters.beta);
        let ticks = self.ticks();
        let mix = |old: Duration, new: Duration, weight: f64| match ticks {
            Some(ticks) => old - ticks.share(old, weight) + ticks.share(new, weight),
            None => old.mul_f64(1.0 - weight) + new.mul_f64(weight),
        };
        let srtt = match self.srtt {
            None => {
                self.rttvar = ticks.map_or(r / 2, |ticks| ticks.share(r, 0.5));
                r
            }
            Some(srtt) => {
                self.rttvar = mix(self.rttvar, srtt.abs_diff(r), beta);
                mix(srtt, r, alpha)
            }
        };
        // G1: whenever RTTVAR is zero, it is adjusted to G.
        self.rttvar = self.rttvar.max(self.parameters.granularity());
        self.srtt = Some(srtt);
        self.last = Some(r);
        self.least = Some(self.least.map_or(r, |least| least.min(r)));
        self.bound();
    }

    /// How long something took that ended `now`.
    pub(crate) fn elapsed(&self, sent: Time, now: Time) -> Duration {
        self.ticks().map_or(now.since(sent), |ticks| ticks.between(sent, now))
    }

    /// When a timer expires that is set for `at`.
    pub(crate) fn expiry(&self, now: Time, at: Time) -> Time {
        self.ticks().map_or(at, |ticks| ticks.expiry(now, at))
    }

    fn ticks(&self) -> Option<Ticks> {
        self.parameters.tick().map(Ticks)
    }

    /// SACKs come at once because they were asked for: those of RFC 9260 may be later by `delay`.
    pub(crate) fn spare_delay(&mut self, delay: Duration) {
        self.spared = 4 * delay;
    }

    /// RTO by RFC 9260 alone: no mechanism moves its RTO.Min, and it is backed off when that timer has expired.
    pub(crate) fn standard_rto(&self, profile: &Profile, pace: Pace) -> Duration {
        let more = if pace == Pace::Error { self.spared } else { Duration::ZERO };
        let rto = self.unbacked(self.parameters.min(), more);
        (0..self.expired[pace as usize]).fold(rto, |rto, _| t3_rtx::back_off(profile, rto))
    }

    /// That timer has expired (rule E2).
    pub(crate) fn back_off_standard(&mut self, pace: Pace) {
        let expired = &mut self.expired[pace as usize];
        // By then RTO is RTO.Max.
        *expired = (*expired + 1).min(64);
    }

    /// Backs off after an expiration (rule E2).
    pub(crate) fn back_off(&mut self, profile: &Profile) {
        self.rto = t3_rtx::back_off(profile, self.rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn follows_the_equations() {
        let parameters = RtoParameters { min_ms: 10.0, ..RtoParameters::default() };
        let mut rtt = RttEstimator::new(&parameters);
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(100)), ms(50), ms(300)));
        rtt.sample(ms(180));
        // RTTVAR = 0.75 * 50 + 0.25 * 80 = 57.5, SRTT = 0.875 * 100 + 0.125 * 180 = 110
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(110)), ms(340)));
        assert_eq!((rtt.last(), rtt.least()), (Some(ms(180)), Some(ms(100))));
        rtt.back_off(&Profile::default());
        assert_eq!(rtt.rto(), ms(680));
    }

    #[test]
    fn in_whole_ticks_an_average_sticks_below_its_samples() {
        let parameters = &Profile::named("lksctp-2.6.15").unwrap().rto;
        let parameters = RtoParameters { min_ms: 200.0, ..parameters.clone() };
        let mut rtt = RttEstimator::new(&parameters);
        let tick = |n: u64| ms(4 * n);
        rtt.sample(tick(103));
        rtt.sample(tick(52));
        // 103 - 12 + 6, and RTTVAR = 51 - 12 + 12.
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(tick(97)), tick(51)));
        for _ in 0..40 {
            rtt.sample(tick(100));
        }
        // 97 - 12 + 12 stays, and so does RTTVAR, of which a quarter is 0: the smallest timeout of
        // Pedersen 2006, Table 5.1, is 436.0 ms.
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(tick(97)), tick(3), ms(436)));
    }

    #[test]
    fn bounds_hold_for_any_sample() {
        let profile = Profile::default();
        let mut rtt = RttEstimator::new(&profile.rto);
        for sample in [Duration::ZERO, Duration::MAX, ms(1), Duration::MAX, Duration::ZERO] {
            rtt.sample(sample);
            assert!(rtt.rto() >= ms(1000) && rtt.rto() <= ms(60_000));
            assert!(rtt.rttvar() >= ms(1));
        }
        for _ in 0..100 {
            rtt.back_off(&profile);
        }
        assert_eq!(rtt.rto(), ms(60_000));
    }
}
