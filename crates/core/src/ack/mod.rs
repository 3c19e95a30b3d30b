//! What a receiver sends: which TSNs arrived, when to say so, and how much more may come.
//!
//! Inside, TSNs are unwrapped to `u64` ("seq"), so that their order is plain.

pub(crate) mod delayed;
pub(crate) mod received;
pub(crate) mod window;
