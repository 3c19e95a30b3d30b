//! What the commands share: how they speak ([`say`]) and refuse ([`refusal`]), the quantities that people type
//! ([`units`]), and the options that name a profile ([`profile`]) or ask to be observed ([`observe`]).

#![forbid(unsafe_code)]
// They panic when nobody reads: see `say`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "observe")]
pub mod observe;
pub mod profile;
pub mod refusal;
pub mod say;
pub mod units;
