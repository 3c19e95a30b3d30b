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
//! next loss : ssthresh = cwnd = max(cwnd / 2, lowest floor)          on a path that is overloaded
//! overloaded: a recovery was not calm and lost again, or 16 in a row were not calm, since cwnd was 2 floor at a loss
//! ```
//! A queue that does not hold the floor will not hold it in the next recovery either: that one begins with
//! `congestion.overloaded_floor`, which is RFC 5681's of two packets in `tresse`.

use super::CongestionControl;
use crate::profile::CongestionParameters;
use crate::time::Time;

/// After this many recoveries in a row from not much more than the floor of ssthresh that floor is too high.
const OVERLOADED: u32 = 16;

/// What the recoveries of a path have shown of the floor. Controllers that follow a model of the path are left alone.
#[derive(Debug, Default)]
pub(crate) struct SsthreshFloor {
    /// When a loss last lowered the window.
    lowered_at: Time,
    /// Recoveries from not much more than the floor, one after the other.
    overloads: u32,
}

/// RFC 9260 §7.2.3: no loss that SACKs show takes ssthresh below that.
fn usual(parameters: &CongestionParameters, pmdcs: usize) -> usize {
    (parameters.ssthresh_floor * pmdcs as f64) as usize
}

impl SsthreshFloor {
    /// A loss is about to cut the window.
    pub(crate) fn on_loss(&mut self, now: Time) {
        self.lowered_at = now;
    }

    /// A recovery has begun, before which cwnd was `held`: where the usual floor has turned out to be more than the path
    /// holds, the lowest one takes its place.
    pub(crate) fn begin(
        &mut self,
        control: &mut dyn CongestionControl,
        parameters: &CongestionParameters,
        pmdcs: usize,
        held: usize,
        calm: bool,
    ) {
        self.overloads = match () {
            () if held >= 2 * usual(parameters, pmdcs) => 0,
            () if calm => self.overloads,
            () => self.overloads.saturating_add(1),
        };
        if self.overloads > OVERLOADED && !control.is_model_based() {
            let lowest = (parameters.overloaded_floor * pmdcs as f64) as usize;
            let low = (held / 2).max(lowest);
            control.set_window(control.cwnd().min(low), control.ssthresh().min(low));
        }
    }

    /// Whether it is news that a chunk is lost which was sent at `sent` for the second time.
    pub(crate) fn is_news(&self, sent: Time) -> bool {
        sent >= self.lowered_at
    }

    /// A retransmission of the recovery is lost. Returns whether less than two packets are left, of which no rate can be made.
    pub(crate) fn lower(
        &mut self,
        now: Time,
        control: &mut dyn CongestionControl,
        pmdcs: usize,
    ) -> bool {
        self.lowered_at = now;
        self.overloads = self.overloads.max(OVERLOADED);
        if control.is_model_based() {
            return false;
        }
        let (half, least) = (control.ssthresh() / 2, 2 * pmdcs);
        control.set_window(control.cwnd().min(half), control.ssthresh().min(half.max(least)));
        half < least
    }

    /// A retransmission of a recovery is lost while no queue is seen: the path is not full, and the usual floor holds.
    pub(crate) fn lower_calm(
        &mut self,
        now: Time,
        control: &mut dyn CongestionControl,
        parameters: &CongestionParameters,
        pmdcs: usize,
    ) {
        self.lowered_at = now;
        if !control.is_model_based() {
            let half = (control.ssthresh() / 2).max(usual(parameters, pmdcs));
            control.set_window(control.cwnd().min(half), control.ssthresh().min(half));
        }
    }

    /// The recovery is over, before which cwnd was `held`. A path that had held twice as much as the usual floor holds that,
    /// too: slow start leads back to it, as RFC 9260 §7.2.3 has it after T3-rtx.
    pub(crate) fn restore(
        control: &mut dyn CongestionControl,
        parameters: &CongestionParameters,
        pmdcs: usize,
        held: usize,
    ) {
        let usual = usual(parameters, pmdcs);
        if control.ssthresh() < usual && held >= 2 * usual && !control.is_model_based() {
            control.set_window(control.cwnd(), usual);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Controller;
    use super::*;

    const PMDCS: usize = 1000;
    /// The usual floor.
    const FLOOR: usize = 4 * PMDCS;

    /// With this floor, in PMDCS, where the usual one is too high.
    fn parameters(overloaded_floor: f64) -> CongestionParameters {
        CongestionParameters { overloaded_floor, ..CongestionParameters::default() }
    }

    fn control(cwnd: usize, ssthresh: usize) -> Controller {
        let mut control = Controller::new(&CongestionParameters::default(), PMDCS, false);
        control.get_mut().set_window(cwnd, ssthresh);
        control
    }

    fn window(control: &Controller) -> (usize, usize) {
        (control.get().cwnd(), control.get().ssthresh())
    }

    /// cwnd and ssthresh after a loss of a retransmission.
    fn lowered(calm: bool, cwnd: usize, ssthresh: usize) -> (usize, usize) {
        let mut control = control(cwnd, ssthresh);
        let mut floor = SsthreshFloor::default();
        if calm {
            floor.lower_calm(Time::ZERO, control.get_mut(), &parameters(4.0), PMDCS);
        } else {
            let gone = floor.lower(Time::ZERO, control.get_mut(), PMDCS);
            assert_eq!(gone, ssthresh < 4 * PMDCS, "less than two packets are left");
        }
        window(&control)
    }

    /// The window that a recovery begins with, on a path on which cwnd was `held`.
    fn begun(floor: &mut SsthreshFloor, lowest: f64, held: usize, calm: bool) -> usize {
        let mut control = control(FLOOR, FLOOR);
        floor.begin(control.get_mut(), &parameters(lowest), PMDCS, held, calm);
        let (cwnd, ssthresh) = window(&control);
        assert_eq!(cwnd, ssthresh);
        cwnd
    }

    #[test]
    fn a_recovery_after_one_that_lost_its_retransmissions_begins_low() {
        for (held, lowest, low) in [(6000, 2.0, 3000), (3000, 2.0, 2000), (6000, 4.0, FLOOR)] {
            let mut floor = SsthreshFloor::default();
            assert_eq!(begun(&mut floor, lowest, held, false), FLOOR);
            floor.lower(Time::ZERO, control(FLOOR, FLOOR).get_mut(), PMDCS);
            assert_eq!(begun(&mut floor, lowest, held, false), low);
        }
    }

    #[test]
    fn so_does_one_after_many_that_found_a_queue() {
        let mut floor = SsthreshFloor::default();
        for _ in 0..OVERLOADED {
            assert_eq!(begun(&mut floor, 2.0, 6000, false), FLOOR);
            assert_eq!(begun(&mut floor, 2.0, 6000, true), FLOOR, "does not count");
        }
        assert_eq!(begun(&mut floor, 2.0, 6000, false), 3000);
        assert_eq!(begun(&mut floor, 2.0, 2 * FLOOR, false), FLOOR, "it held twice as much");
        assert_eq!(begun(&mut floor, 2.0, 6000, false), FLOOR);
    }

    #[test]
    fn what_was_sent_before_the_last_cut_is_no_news() {
        let (first, second) = (Time::from_millis(1), Time::from_millis(2));
        let mut floor = SsthreshFloor::default();
        assert!(floor.is_news(first));
        floor.on_loss(second);
        assert!(!floor.is_news(first) && floor.is_news(second));
        floor.lower(Time::from_millis(3), control(FLOOR, FLOOR).get_mut(), PMDCS);
        assert!(!floor.is_news(second));
    }

    #[test]
    fn what_a_path_had_held_is_given_back() {
        for (held, after) in [(2 * FLOOR, FLOOR), (2 * FLOOR - 1, 2000)] {
            let mut control = control(1000, 2000);
            SsthreshFloor::restore(control.get_mut(), &parameters(4.0), PMDCS, held);
            assert_eq!(window(&control), (1000, after));
        }
        let mut control = control(1000, FLOOR + 1);
        SsthreshFloor::restore(control.get_mut(), &parameters(4.0), PMDCS, 20_000);
        assert_eq!(window(&control), (1000, FLOOR + 1), "none is lowered");
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
