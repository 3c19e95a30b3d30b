//! What a receiver sends: which TSNs arrived, when to say so, and how much more may come.
//!
//! Inside, TSNs are unwrapped to `u64` ("seq"), so that their order is plain.

mod dac;
pub(crate) mod delayed;
mod no_sack_delay;
pub(crate) mod received;
pub(crate) mod report;
pub(crate) mod timestamps;
pub(crate) mod window;

// The registry: one mechanism a part, which has the name of the part. A second one for the same makes it an enum.
/// What has SACKs say how many packets they answer.
pub(crate) use dac::AnsweredPackets;
/// What acknowledges sooner than RFC 9260 asks for.
use no_sack_delay::Promptness;
