//! Interoperability with independent SCTP stacks: the matrix, real hosts, goodput through loss. The peers themselves are
//! in `tresse-peers`, tests in `tests/`, one file for each stack.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod choice;
#[cfg(target_os = "linux")]
pub mod cli;
#[cfg(target_os = "linux")]
pub mod goodput;
#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod matrix;
