//! The floor of ssthresh in a recovery that loses its own retransmissions (RFC 5681 §4.3, RFC 8985 §9.3).
//!
//! Idea: "the loss of a retransmission must be taken as two indications of congestion and therefore trigger two
//! separate reactions". RFC 9260 finds it by T3-rtx, which takes cwnd below the floor of ssthresh; RACK finds it in
//! a round trip. A queue of a few packets does not hold that floor, which is there for the SACKs of a fast
//! retransmit: here it is RFC 5681's, of two packets, until the recovery ends. Where even that is too much, one
//! packet goes on, as after T3-rtx.
//!
//! ```text
//! lost again: cwnd = min(cwnd, ssthresh / 2), ssthresh = min(ssthresh, max(ssthresh / 2, 2 PMDCS))
//! at the end: ssthresh = max(ssthresh, floor)      if cwnd was 2 floor at least before the loss
//! ```

use super::CongestionControl;

/// A retransmission is lost. Returns whether less than two packets are left, of which no rate can be made.
pub(crate) fn lower(control: &mut dyn CongestionControl, pmdcs: usize) -> bool {
    let least = 2 * pmdcs;
    let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
    let half = ssthresh / 2;
    control.set_window(cwnd.min(half), ssthresh.min(half.max(least)));
    half < least
}

/// The recovery is over, before which cwnd was `held`. A path that had held twice as much as the floor holds that,
/// too: slow start leads back to it, as RFC 9260 §7.2.3 has it after T3-rtx.
pub(crate) fn restore(control: &mut dyn CongestionControl, floor: usize, held: usize) {
    if control.ssthresh() < floor && held >= 2 * floor {
        let cwnd = control.cwnd();
        control.set_window(cwnd, floor);
    }
}
