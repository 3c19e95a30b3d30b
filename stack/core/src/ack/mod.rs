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

use no_delay::NoDelayRule as Promptness;

pub(crate) use dac::{CmtDelayedAck as AnsweredPackets, counted};
