//! The floor of ssthresh in a recovery that loses its own retransmissions (RFC 5681 §4.3, RFC 8985 §9.3).
//!
//! Idea: "the loss of a retransmission must be taken as two indications of congestion and therefore trigger two
//! separate reactions". RFC 9260 finds it by T3-rtx, which takes cwnd below the floor of ssthresh; RACK finds it in
//! a round trip. A queue of a few packets does not hold that floor, which is there for the SACKs of a fast
//! retransmit: here it is RFC 5681's, of two packets, until the recovery ends. Where even that is too much, one
//! packet goes on, as after T3-rtx. While the round trip shows no queue (`path/calm.rs`) nothing overflows, and RFC 9260's
//! floor stays.
//!
//! ```text
//! lost again: cwnd = min(cwnd, ssthresh / 2), ssthresh = min(ssthresh, max(ssthresh / 2, 2 PMDCS))
//! while calm: cwnd = min(cwnd, h), ssthresh = min(ssthresh, h), h = max(ssthresh / 2, floor)
//! at the end: ssthresh = max(ssthresh, floor)      if cwnd was 2 floor at least before the loss
//! next loss : ssthresh = cwnd = max(cwnd / 2, overloaded floor)      on a path that is overloaded
//! overloaded: a recovery was not calm and lost again, or 16 in a row were not calm, since cwnd was 2 floor at a loss
//! ```
//! A queue that does not hold the floor will not hold it in the next recovery either: that one begins with
//! `congestion.overloaded_floor`, which is RFC 5681's of two packets in `tresse`.

use super::Controller;

/// Controllers that follow a model of the path are left alone.
impl Controller {
    /// A retransmission is lost. Returns whether less than two packets are left, of which no rate can be made.
    pub(crate) fn lower_again(&mut self, pmdcs: usize) -> bool {
        let control = self.get_mut();
        if control.is_model_based() {
            return false;
        }
        let least = 2 * pmdcs;
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        let half = ssthresh / 2;
        control.set_window(cwnd.min(half), ssthresh.min(half.max(least)));
        half < least
    }

    /// A recovery begins on a path that does not hold the usual floor: `held` is cwnd before the loss.
    pub(crate) fn begin_low(&mut self, floor: usize, held: usize) {
        let control = self.get_mut();
        if !control.is_model_based() {
            let low = (held / 2).max(floor);
            let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
            control.set_window(cwnd.min(low), ssthresh.min(low));
        }
    }

    /// A retransmission is lost, and no queue was seen: the path is not full, and RFC 9260's `floor` holds in the recovery.
    pub(crate) fn lower_calm(&mut self, floor: usize) {
        let control = self.get_mut();
        if !control.is_model_based() {
            let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
            let half = (ssthresh / 2).max(floor);
            control.set_window(cwnd.min(half), ssthresh.min(half));
        }
    }

    /// The recovery is over, before which cwnd was `held`. A path that had held twice as much as the floor holds that,
    /// too: slow start leads back to it, as RFC 9260 §7.2.3 has it after T3-rtx.
    pub(crate) fn restore_held(&mut self, floor: usize, held: usize) {
        let control = self.get_mut();
        if control.ssthresh() < floor && held >= 2 * floor && !control.is_model_based() {
            let cwnd = control.cwnd();
            control.set_window(cwnd, floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CongestionParameters;

    const FLOOR: usize = 4000;

    /// cwnd and ssthresh after a loss of a retransmission.
    fn lowered(calm: bool, cwnd: usize, ssthresh: usize) -> (usize, usize) {
        let mut control = Controller::new(&CongestionParameters::default(), FLOOR / 4, false);
        control.get_mut().set_window(cwnd, ssthresh);
        if calm {
            control.lower_calm(FLOOR);
        } else {
            control.lower_again(FLOOR / 4);
        }
        let control = control.get();
        (control.cwnd(), control.ssthresh())
    }

    #[test]
    fn a_recovery_after_one_that_lost_its_retransmissions_begins_low() {
        let mut control = Controller::new(&CongestionParameters::default(), FLOOR / 4, false);
        for (held, floor, low) in [(6000, 2000, 3000), (3000, 2000, 2000), (6000, FLOOR, FLOOR)] {
            control.get_mut().set_window(FLOOR, FLOOR);
            control.begin_low(floor, held);
            assert_eq!((control.get().cwnd(), control.get().ssthresh()), (low, low));
        }
    }

    #[test]
    fn a_calm_path_stops_at_the_floor() {
        for calm in [true, false] {
            assert_eq!(lowered(calm, 20_000, 20_000), (10_000, 10_000));
            assert_eq!(lowered(calm, 1000, 20_000), (1000, 10_000), "none is raised");
        }
        assert_eq!(lowered(true, 6000, 6000), (4000, 4000));
        assert_eq!(lowered(false, 6000, 6000), (3000, 3000));
        assert_eq!(lowered(true, 3000, 3000), (3000, 3000));
        assert_eq!(lowered(false, 3000, 3000), (1500, 2000));
    }
}
