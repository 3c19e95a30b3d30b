//! SRTT, RTTVAR and RTO in jiffies.
//!
//! Sarolahti & Kuznetsov (2002), *Congestion control in Linux TCP*, §3.1; RFC 2988 with these differences: the
//! RTTVAR, not the RTO, is at least 200 ms, so RTO ≥ SRTT + 200 ms; it is the largest deviation of a round trip; a
//! deviation by which the RTT falls counts an eighth. With whole ticks RTTVAR stops three ticks above the least.
//!
//! m: measured RTT; kept are 8·SRTT and 4·(mean deviation) = `mdev`, all in ticks:
//! SRTT ← SRTT + (m − SRTT)/8, mdev ← mdev + |m − SRTT| − mdev/4, RTTVAR ← max of mdev over a window,
//! falling by a quarter of the difference each window.

use super::clock::ticks;

/// RFC 2988 §2: "Until a round-trip time (RTT) measurement has been made [...], the sender SHOULD set RTO <- 3 seconds".
const INITIAL: u64 = ticks(3000);
/// The least RTTVAR.
const LEAST: i64 = ticks(200) as i64;
/// The most that an RTO becomes.
const MOST: u64 = ticks(120_000);

/// The estimator of a connection.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// Eight times SRTT; 0: nothing was measured.
    srtt: i64,
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The window over which the largest deviation counts ends when this is acknowledged.
    end: u64,
    rto: u64,
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt { srtt: 0, mdev: 0, mdev_max: 0, rttvar: 0, end: 0, rto: INITIAL }
    }
}

impl Rtt {
    /// The present RTO, doubled by timeouts.
    pub(super) const fn rto(&self) -> u64 {
        self.rto
    }

    /// SRTT, 0 if nothing was measured.
    pub(super) const fn srtt(&self) -> u64 {
        (self.srtt >> 3) as u64
    }

    /// A round trip took so long. `una` is acknowledged, `next` is sent next.
    pub(super) fn measured(&mut self, ticks: u64, una: u64, next: u64) {
        // Less than a tick counts as one.
        let mut m = i64::try_from(ticks).unwrap_or(i64::MAX >> 8).max(1);
        if self.srtt == 0 {
            self.srtt = m << 3;
            self.mdev = m << 1;
            self.rttvar = self.mdev.max(LEAST);
            self.mdev_max = self.rttvar;
            self.end = next;
        } else {
            m -= self.srtt >> 3;
            self.srtt += m;
            let deviation = m.abs() - (self.mdev >> 2);
            self.mdev += if m < 0 && deviation > 0 { deviation >> 3 } else { deviation };
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if una > self.end {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.end = next;
                self.mdev_max = LEAST;
            }
        }
        self.rto = (((self.srtt >> 3) + self.rttvar) as u64).min(MOST);
    }

    /// RFC 2988 §5.5: "The host MUST set RTO <- RTO * 2 ("back off the timer")."
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto << 1).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RTO after many round trips of this many ticks.
    fn settled(ticks: u64) -> u64 {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.rto(), 750);
        for n in 0..200 {
            rtt.measured(ticks, 2 * n + 1, 2 * n + 2);
        }
        rtt.rto()
    }

    #[test]
    fn whole_ticks_stop_above_the_least_deviation() {
        // Table 3.7: the least RTOs are 204, 308, 412 and 612 ms at 0, 100, 200 and 400 ms, where round trips
        // take 0, 25, 50 and 100 ticks by the sender's clock.
        assert_eq!([0, 25, 50, 100].map(settled).map(|ticks| ticks * 4), [204, 300, 412, 612]);
        // At 26 ticks the first deviation is 52.
        assert_eq!(settled(26), 26 + 52);
    }

    #[test]
    fn a_longer_round_trip_raises_it_at_once_and_a_timeout_doubles_it() {
        let mut rtt = Rtt::default();
        rtt.measured(25, 1, 2);
        assert_eq!(rtt.rto(), 75);
        rtt.measured(125, 3, 4);
        // SRTT 37; the deviation of 50 becomes 50 + 100 - 12.
        assert_eq!(rtt.rto(), 37 + 138);
        rtt.back_off();
        assert_eq!(rtt.rto(), 350);
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), MOST);
    }
}
