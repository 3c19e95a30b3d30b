//! Proportional Rate Reduction (RFC 6937).
//!
//! Idea: halving cwnd at once stops the sender for half a round trip, and then lets it burst. PRR
//! sends in proportion to what arrives, so that the window has become ssthresh when recovery ends.
//!
//! ```text
//! start:        RecoverFS = FlightSize, prr_delivered = prr_out = 0
//! each SACK:    prr_delivered += DeliveredData
//!   pipe > ssthresh:  sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out
//!   otherwise:        sndcnt = min(ssthresh - pipe,
//!                                  max(prr_delivered - prr_out, DeliveredData) + MSS)
//!               cwnd = pipe + sndcnt
//! end:          cwnd = ssthresh
//! ```
//! The second line is the slow start reduction bound (PRR-SSRB). All in bytes; `pipe` is what
//! SCTP counts as in flight: neither acknowledged nor declared lost.

use crate::profile::Profile;

/// One recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateReduction {
    recover_fs: usize,
    delivered: usize,
    out: usize,
}

impl RateReduction {
    /// Recovery begins with `flight` bytes in flight: one, if a profile asks for it.
    pub(crate) fn new(profile: &Profile, flight: usize) -> Option<RateReduction> {
        let asked_for = profile.prr.enabled && profile.fast_retransmit.fast_recovery;
        asked_for.then(|| RateReduction::of(flight))
    }

    fn of(flight: usize) -> RateReduction {
        RateReduction { recover_fs: flight.max(1), delivered: 0, out: 0 }
    }

    /// This many bytes left.
    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.out += bytes;
    }

    /// The window after a SACK that says that `delivered` bytes have arrived, where `pipe` are in flight.
    pub(crate) fn on_ack(
        &mut self,
        delivered: usize,
        pipe: usize,
        ssthresh: usize,
        mss: usize,
    ) -> usize {
        self.delivered += delivered;
        let count = if pipe > ssthresh {
            // In u128, so that the product cannot overflow.
            let share =
                (self.delivered as u128 * ssthresh as u128).div_ceil(self.recover_fs as u128);
            usize::try_from(share).unwrap_or(usize::MAX).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + mss;
            (ssthresh - pipe).min(limit)
        };
        pipe.saturating_add(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_in_proportion_and_ends_at_ssthresh() {
        // RFC 6937 §3.1's situation: 20 packets, one lost, ssthresh 10.
        const MSS: usize = 1000;
        let (mut pipe, ssthresh) = (19 * MSS, 10 * MSS);
        let mut prr = RateReduction::of(20 * MSS);
        let mut sent = 0;
        for _ in 0..19 {
            pipe -= MSS;
            let cwnd = prr.on_ack(MSS, pipe, ssthresh, MSS);
            while pipe + MSS <= cwnd {
                pipe += MSS;
                prr.on_sent(MSS);
                sent += 1;
            }
        }
        assert!((9..=11).contains(&sent), "{sent}");
        assert!((ssthresh - MSS..=ssthresh + MSS).contains(&pipe), "{pipe}");
    }

    #[test]
    fn heavy_loss_is_slow_start_up_to_ssthresh() {
        let mut prr = RateReduction::of(20_000);
        assert_eq!(prr.on_ack(1000, 2000, 10_000, 1000), 2000 + 2000);
        prr.on_sent(2000);
        assert_eq!(prr.on_ack(9000, 9500, 10_000, 1000), 10_000);
    }
}
