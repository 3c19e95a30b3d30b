//! SACKs asked for without delay (RFC 7053 §4).
//!
//! Idea: when a packet takes the last of what waits, no second one follows that would bring the
//! SACK, and the sender measures the delay of the receiver as part of the RTT (Pedersen 2006
//! §4.3.2). The I bit of its last chunk asks for the SACK at once. Unlike removing the delay at the
//! receiver it needs nothing but RFC 7053 there, and a bulk transfer keeps one SACK for two packets.
//!
//! `I bit <=> the chunk empties the send queue of a thin stream, or is sent again by itself, or fills alone the window`
//!
//! Where more packets are in flight the next one brings the SACK, and asking would only have smaller steps
//! follow each other: a window that each of them leaves partly unused does not grow (RFC 9260 §7.2.1). Where the window is one
//! packet, as after a timeout or once the path MTU has grown beyond it, none is, and each step would wait for the delay.
//!
//! SACKs that are asked for are load on the way back, up to twice that of RFC 9260. A queue there makes the
//! path not calm ([`budget`](super::budget)); then one packet of eight asks, and the peer delays the other
//! SACKs.
//!
//! Difference: RFC 7053 §4 leaves the condition to the sender; these are the ones it gives for "the
//! sending of the last DATA chunk" and RFC 9260 §6.1 for a chunk that fills the congestion window; the receiver's is not looked at.

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::Advisor;

/// Of this many packets on a path with a queue one asks all the same: to notice when the queue is gone.
const WITHHELD: u32 = 7;

/// Which chunks ask.
#[derive(Debug, Default)]
pub(in crate::recovery) struct ImmediateSack {
    withheld: u32,
}

impl Advisor for ImmediateSack {
    fn of(_profile: &Profile) -> ImmediateSack {
        ImmediateSack::default()
    }

    fn asks(&mut self, profile: &Profile, thin: bool, alone: bool, calm: bool) -> bool {
        if !profile.sack.ask_when_idle || !(thin || alone) {
            return false;
        }
        if calm || self.withheld >= WITHHELD {
            self.withheld = 0;
            return true;
        }
        self.withheld += 1;
        false
    }

    fn asks_again(&self, profile: &Profile, cause: LossCause) -> bool {
        cause.awaits_sack() && profile.sack.ask_when_idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_queue_is_one_of_eight_asks() {
        let mut asking = ImmediateSack::default();
        let mut profile = Profile::default();
        profile.sack.ask_when_idle = true;
        assert!((0..10).all(|_| asking.asks(&profile, true, false, true)));
        assert_eq!((0..80).filter(|_| asking.asks(&profile, true, false, false)).count(), 10);
        assert!((0..10).all(|_| !asking.asks(&profile, false, false, true)));
        assert!((0..10).all(|_| asking.asks(&profile, false, true, true)));
    }
}
