//! SACKs asked for without delay (RFC 7053 §4).
//!
//! Idea: when a packet takes the last of what waits, no second one follows that would bring the
//! SACK, and the sender measures the delay of the receiver as part of the RTT (Pedersen 2006
//! §4.3.2). The I bit of its last chunk asks for the SACK at once. Unlike removing the delay at the
//! receiver it needs nothing but RFC 7053 there, and a bulk transfer keeps one SACK for two packets.
//!
//! ```text
//! I bit <=> the chunk empties the send queue of a thin stream, and no other has done so for SRTT / 4,
//!           or it is sent again by itself
//! ```
//! Where more packets are in flight, or the next one leaves soon, that one brings the SACK. Asking would only
//! have smaller steps follow each other: a window that each of them leaves partly unused does not grow (RFC 9260
//! §7.2.1). Before anything was measured there is nothing to ask for: the first packet is answered at once (§5.1).
//!
//! SACKs that are asked for are load on the way back, up to twice that of RFC 9260. A queue there makes the
//! path not calm ([`budget`](super::budget)); then one packet of eight asks, as it does where the next one is soon,
//! and the peer delays the other SACKs.
//!
//! Difference: RFC 7053 §4 leaves the condition to the sender; this is the one it gives for "the
//! sending of the last DATA chunk".

use std::time::Duration;

use crate::time::Time;

/// Of so many packets that need not ask one does all the same: to notice when the queue is gone.
const WITHHELD: u32 = 7;
/// The next packet is soon within this part of a round trip, by which that varies anyway
/// ([`calm`](crate::path::calm)).
const SOON: u32 = 4;

/// Which chunks ask.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    withheld: u32,
    /// When the queue was last emptied.
    emptied: Time,
}

impl Asking {
    /// Whether the chunk that empties the queue asks for a SACK.
    pub(crate) fn asks(&mut self, now: Time, calm: bool, srtt: Option<Duration>) -> bool {
        let pause = now.since(std::mem::replace(&mut self.emptied, now));
        let waits = srtt.is_some_and(|srtt| pause >= srtt / SOON);
        if (calm && waits) || self.withheld >= WITHHELD {
            self.withheld = 0;
            return true;
        }
        self.withheld += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Option<Duration> = Some(Duration::from_millis(200));

    /// How many of 80 packets ask, one in so many milliseconds.
    fn asking(every: u64, calm: bool, srtt: Option<Duration>) -> usize {
        let mut asking = Asking::default();
        (1..=80).filter(|n| asking.asks(Time::from_millis(n * every), calm, srtt)).count()
    }

    #[test]
    fn where_a_queue_is_one_of_eight_asks() {
        assert_eq!(asking(50, true, SRTT), 80);
        assert_eq!(asking(50, false, SRTT), 10);
    }

    #[test]
    fn where_the_next_packet_is_soon_it_brings_the_sack() {
        assert_eq!(asking(49, true, SRTT), 10);
        assert_eq!(asking(50, true, None), 10, "the first packet is answered at once");
    }
}
