//! When a SACK should have come that was asked for (RFC 7053 §4).
//!
//! Idea: with one packet in flight a tail loss probe waits for the delay of the peer's SACK as well
//! (RFC 8985 §7.2): 200 ms, on a short path nearly all of its time. Where the I bit of that packet
//! asks for the SACK at once there is nothing to wait for, unless the peer ignores it.
//!
//! ```text
//! PTO = max(2 SRTT, SRTT + 4 RTTVAR, 10 ms)     one packet in flight, I bit set, trust > 0
//! trust  begins at 4 and is at most 8
//!        + 1  a packet alone was acknowledged within PTO
//!        - 1  it was acknowledged later
//!        - 4  its probe was reported as a duplicate: the SACK was late or lost
//! ```
//! So a peer that ignores the I bit gets one probe in vain, and single SACKs that are lost do not
//! count for long. Without trust packets go on to be judged, since the probe does not disturb them.

use std::time::Duration;

use crate::recovery::RoundTrip;
use crate::time::Time;

/// A process may be that late, and on a path that is shorter a probe is soon enough.
const SHORTEST: Duration = Duration::from_millis(10);
const FIRST_TRUST: i8 = 4;
const MOST_TRUST: i8 = 8;
const SPURIOUS_PROBE: i8 = 4;

/// How long a SACK may take that is not delayed.
fn prompt(RoundTrip { srtt, rttvar }: RoundTrip) -> Duration {
    (2 * srtt).max(srtt + 4 * rttvar).max(SHORTEST)
}

/// How a packet fared that asked for its SACK, and the probe that it was to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeOutcome {
    /// It was acknowledged, without a probe or before that.
    Acknowledged,
    /// The probe arrived, too.
    SpuriousProbe,
    /// The probe repaired its loss.
    Repaired,
}

/// The packet sent last.
#[derive(Clone, Copy, Debug)]
struct Asking {
    sent: Time,
    /// Nothing else was in flight: no other packet made the peer answer.
    alone: bool,
}

/// Whether the peer is believed to answer at once.
#[derive(Debug)]
pub(crate) struct AskedSack {
    enabled: bool,
    trust: i8,
    /// The packet sent last, if it asked.
    last: Option<Asking>,
}

impl AskedSack {
    pub(crate) fn new(enabled: bool) -> AskedSack {
        AskedSack { enabled, trust: FIRST_TRUST, last: None }
    }

    /// A packet of new data left; `asked` if its I bit is set.
    pub(crate) fn on_new_data(&mut self, now: Time, alone: bool, asked: bool) {
        self.last = asked.then_some(Asking { sent: now, alone });
    }

    /// How long to wait for the SACK of the packet sent last, if that need not allow for a delay.
    pub(crate) fn wait(&self, round_trip: RoundTrip) -> Option<Duration> {
        let trusted = self.enabled && self.trust > 0 && self.last.is_some();
        trusted.then(|| prompt(round_trip))
    }

    /// Everything is acknowledged.
    pub(crate) fn on_all_acked(&mut self, now: Time, round_trip: RoundTrip, answer: ProbeOutcome) {
        let Some(Asking { sent, .. }) = self.last.take().filter(|asking| asking.alone) else {
            return;
        };
        self.trust += match answer {
            ProbeOutcome::Repaired => 0,
            ProbeOutcome::SpuriousProbe => -SPURIOUS_PROBE,
            ProbeOutcome::Acknowledged if now.since(sent) <= prompt(round_trip) => 1,
            ProbeOutcome::Acknowledged => -1,
        };
        self.trust = self.trust.clamp(-MOST_TRUST, MOST_TRUST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn sack() -> AskedSack {
        AskedSack::new(true)
    }

    fn round_trip(srtt: u32) -> RoundTrip {
        RoundTrip { srtt: srtt * MS, rttvar: MS }
    }

    /// A packet that asks, acknowledged this many milliseconds later; whether there was trust.
    fn exchange(sack: &mut AskedSack, ms: u32, answer: ProbeOutcome) -> bool {
        sack.on_new_data(Time::ZERO, true, true);
        let trusted = sack.wait(round_trip(30)).is_some();
        sack.on_all_acked(Time::ZERO + ms * MS, round_trip(30), answer);
        trusted
    }

    #[test]
    fn two_round_trips_but_for_variation_and_short_ones() {
        let mut sack = sack();
        sack.on_new_data(Time::ZERO, true, true);
        assert_eq!(sack.wait(round_trip(30)), Some(60 * MS));
        let varying = RoundTrip { srtt: 30 * MS, rttvar: 20 * MS };
        assert_eq!(sack.wait(varying), Some(110 * MS));
        assert_eq!(sack.wait(round_trip(1)), Some(SHORTEST));
        sack.on_new_data(Time::ZERO, true, false);
        assert_eq!(sack.wait(round_trip(30)), None, "nobody asked");
        sack.enabled = false;
        sack.on_new_data(Time::ZERO, true, true);
        assert_eq!(sack.wait(round_trip(30)), None);
    }

    #[test]
    fn a_peer_that_ignores_the_bit_gets_one_probe_in_vain() {
        let mut sack = sack();
        assert!(exchange(&mut sack, 61, ProbeOutcome::SpuriousProbe));
        for _ in 0..100 {
            assert!(!exchange(&mut sack, 230, ProbeOutcome::Acknowledged));
        }
    }

    #[test]
    fn lost_sacks_are_made_good() {
        let mut sack = sack();
        (0..20).for_each(|_| assert!(exchange(&mut sack, 31, ProbeOutcome::Acknowledged)));
        assert!(exchange(&mut sack, 90, ProbeOutcome::SpuriousProbe));
        assert!(exchange(&mut sack, 90, ProbeOutcome::Repaired));
        assert!(exchange(&mut sack, 90, ProbeOutcome::SpuriousProbe));
        assert!(!exchange(&mut sack, 31, ProbeOutcome::Acknowledged));
        assert!(exchange(&mut sack, 31, ProbeOutcome::Acknowledged));
    }

    #[test]
    fn company_tells_nothing() {
        let mut sack = sack();
        for _ in 0..100 {
            sack.on_new_data(Time::ZERO, false, true);
            sack.on_all_acked(Time::ZERO + 300 * MS, round_trip(30), ProbeOutcome::Acknowledged);
        }
        assert!(exchange(&mut sack, 31, ProbeOutcome::Acknowledged));
    }
}
