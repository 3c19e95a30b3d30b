//! RTO restart (Pedersen 2006 §4.3.3; RFC 7765).
//!
//! Idea: a SACK that leaves data outstanding restarts T3-rtx with the whole RTO, although the
//! earliest outstanding chunk was sent a while ago; its loss is then found up to one RTT late.
//! Subtracting its age makes T3-rtx expire one RTO after it was sent.
//!
//! `T3-rtx = RTO - age`, `age = now - last transmission of the earliest chunk not acknowledged`.
//!
//! Difference: the paper does this for every stream. RFC 7765 §4 only while fewer than four
//! packets are outstanding or waiting (`below_packets = 4`), since others have fast retransmit;
//! and if the difference is not positive it waits a whole RTO, where the paper expires at once.

use std::time::Duration;

use crate::profile::{Profile, RtoRestartParameters};
use crate::recovery::Rule;

/// The mechanism.
pub(in crate::recovery) struct RtoRestart;

impl Rule for RtoRestart {
    #[inline]
    fn restart(
        profile: &Profile,
        rto: Duration,
        outstanding: &impl Fn() -> (Duration, usize),
    ) -> Option<Duration> {
        let parameters = &profile.rto_restart;
        parameters.enabled.then(|| {
            let (age, packets) = outstanding();
            wait(parameters, rto, age, packets, profile.rto.granularity())
        })
    }
}

/// How long T3-rtx runs when a SACK restarts it. `packets` are outstanding or waiting to be sent.
fn wait(
    parameters: &RtoRestartParameters,
    rto: Duration,
    age: Duration,
    packets: usize,
    granularity: Duration,
) -> Duration {
    let limit = parameters.below_packets as usize;
    if !parameters.enabled || (limit > 0 && packets >= limit) {
        return rto;
    }
    match rto.checked_sub(age) {
        Some(rest) if !rest.is_zero() => rest,
        // RFC 7765 §4: "If (RTO - T_earliest) > 0"
        _ if limit > 0 => rto,
        _ => granularity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper() {
        let ms = Duration::from_millis;
        let mut parameters = RtoRestartParameters { enabled: true, below_packets: 0 };
        let at = |p: &RtoRestartParameters, age, packets| {
            wait(p, ms(1000), ms(age), packets, ms(1)).as_millis()
        };
        // Pedersen Figure 4.3: sent at 250 ms, the SACK comes at 400 ms: 1250 ms, not 1400 ms.
        assert_eq!(at(&parameters, 150, 2), 850);
        assert_eq!(at(&parameters, 150, 100), 850);
        assert_eq!(at(&parameters, 1200, 2), 1);
        parameters.below_packets = 4;
        assert_eq!(at(&parameters, 150, 3), 850);
        assert_eq!(at(&parameters, 150, 4), 1000);
        assert_eq!(at(&parameters, 1200, 2), 1000);
        parameters.enabled = false;
        assert_eq!(at(&parameters, 150, 1), 1000);
    }
}
