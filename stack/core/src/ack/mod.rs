//! What a receiver sends: which TSNs arrived, when to say so, and how much more may come.
//!
//! Inside, TSNs are unwrapped to `u64` ("seq"), so that their order is plain.

mod dac;
pub(crate) mod delayed;
mod no_delay;
pub(crate) mod received;
pub(crate) mod report;
pub(crate) mod timestamps;
pub(crate) mod window;

use std::time::Duration;

use crate::ids::PathId;
use crate::profile::{MultipathParameters, SackParameters};
use crate::time::Time;
use dac::CmtDelayedAck;
use no_delay::NoDelayRule;

/// The registry of what acknowledges sooner than RFC 9260 asks for.
#[derive(Debug)]
enum Promptness {
    NoDelay(NoDelayRule),
}

impl Promptness {
    /// As a profile says.
    fn new(parameters: &SackParameters) -> Promptness {
        Promptness::NoDelay(NoDelayRule::of(parameters))
    }

    /// Goes on as another one says.
    fn reconfigure(&mut self, parameters: &SackParameters) {
        match self {
            Promptness::NoDelay(rule) => rule.reconfigure(parameters),
        }
    }

    /// Whether the packet that came at `now` is acknowledged at once.
    fn applies(&mut self, now: Time, delay: Duration) -> bool {
        match self {
            Promptness::NoDelay(rule) => rule.applies(now, delay),
        }
    }
}

/// The registry of what has SACKs say how many packets they answer.
#[derive(Debug)]
pub(crate) enum AnsweredPackets {
    Dac(CmtDelayedAck),
}

impl AnsweredPackets {
    /// One, if a profile asks for it.
    pub(crate) fn new(multipath: &MultipathParameters) -> Option<AnsweredPackets> {
        CmtDelayedAck::of(multipath).map(AnsweredPackets::Dac)
    }

    /// A packet with DATA came over `path`.
    pub(crate) fn on_packet(&mut self, path: PathId) {
        match self {
            AnsweredPackets::Dac(answered) => answered.on_packet(path),
        }
    }

    /// Whether a gap is no reason to acknowledge at once.
    pub(crate) fn ignores_gaps(&self) -> bool {
        match self {
            AnsweredPackets::Dac(answered) => answered.ignores_gaps(),
        }
    }

    /// A SACK leaves: how many packets it answers, up to 3.
    pub(crate) fn take(&mut self) -> u8 {
        match self {
            AnsweredPackets::Dac(answered) => answered.take(),
        }
    }

    /// How many packets a SACK answers by what it says, as far as that counts; 0 if it does not say.
    pub(crate) const fn counted(multipath: &MultipathParameters, packets: u8) -> u8 {
        dac::counted(multipath, packets)
    }
}
