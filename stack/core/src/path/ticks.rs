//! Time in whole ticks, as a kernel knows it (`rto.tick_ms`).
//!
//! Idea: a moment is the tick before it, and a share of n ticks is rounded down. So an average moves only
//! if the share of what is new is a tick more or less than its own:
//!
//! ```text
//! SRTT   = SRTT   - floor(alpha SRTT)  + floor(alpha R')
//! RTTVAR = RTTVAR - floor(beta RTTVAR) + floor(beta |SRTT - R'|)
//! ```
//!
//! Source: `sctp_transport_update_rto` of Linux 2.6, where the ticks are jiffies. Three of them never
//! decay (a quarter of 3 is 0), which is why Pedersen 2006 §4.3.2 saw an RTO "50 ms above the actual RTT".

use std::time::Duration;

use crate::time::Time;

/// The length of a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks(pub(crate) Duration);

impl Ticks {
    /// The tick before `time`, or at it.
    pub(crate) fn before(self, time: Time) -> Time {
        let tick = self.nanos();
        Time::from_nanos(time.as_nanos() / tick * tick)
    }

    /// When a timer expires that was set for `at`: at the tick before, and after `now`.
    pub(crate) fn expiry(self, now: Time, at: Time) -> Time {
        let expiry = self.before(at);
        if expiry > now { expiry } else { self.before(now) + self.0 }
    }

    /// From `earlier` to `later` in whole ticks.
    pub(crate) fn between(self, earlier: Time, later: Time) -> Duration {
        self.before(later).since(self.before(earlier))
    }

    /// `weight` times `length` in whole ticks, rounded down.
    pub(crate) fn share(self, length: Duration, weight: f64) -> Duration {
        let tick = self.nanos();
        let ticks = length.as_nanos() / u128::from(tick);
        let share = (ticks as f64 * weight) as u64; // Saturates.
        Duration::from_nanos(share.saturating_mul(tick))
    }

    fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_moments_are_rounded_down() {
        let ms = Duration::from_millis;
        let ticks = Ticks(ms(4));
        let us = Time::from_micros;
        assert_eq!(ticks.share(ms(97 * 4), 0.125), ms(12 * 4));
        assert_eq!(ticks.share(ms(3 * 4), 0.25), Duration::ZERO);
        assert_eq!(ticks.before(us(7_999)), Time::from_millis(4));
        // 4.3 ms long, and a tick lies within.
        assert_eq!(ticks.between(us(3_900), us(8_200)), ms(8));
        // A timer of 8 ms that is set 3.9 ms after a tick expires 3.9 ms too early.
        assert_eq!(ticks.expiry(us(3_900), us(11_900)), Time::from_millis(8));
        assert_eq!(ticks.expiry(us(3_900), us(3_950)), Time::from_millis(4));
    }
}
