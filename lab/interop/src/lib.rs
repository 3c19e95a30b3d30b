//! Interoperability with independent SCTP stacks: how to build and run a peer, and the user data
//! that both ends verify. The tests themselves are in `tests/`, one file for each stack.
//!
//! A peer is a program of its own, in `conformance/interop/`. It is built from the packages of the
//! system when a test runs; where they are missing the test is skipped and says so. With
//! `TRESSE_REQUIRE_PEERS=1` in the environment a skip is a failure.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod choice;
#[cfg(target_os = "linux")]
pub mod cli;
#[cfg(target_os = "linux")]
pub mod goodput;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod matrix;
#[cfg(target_os = "linux")]
mod namespace;
mod payload;
mod peer;
mod ports;
mod relay;
pub mod traffic;

#[cfg(target_os = "linux")]
pub use guest::Guest;
#[cfg(target_os = "linux")]
pub use namespace::{Namespace, command, drop_packets};
pub use payload::{Payload, PayloadError, Received};
pub use peer::{Peer, PeerProgram, PeerReport, Silence, Unavailable, Unsupported, Words, skipped};
pub use ports::free_udp_port;
pub use relay::{Direction, Relay};
