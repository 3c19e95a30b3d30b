//! Interoperability with independent SCTP stacks: how to build and run a peer, and the user data
//! that both ends verify. The tests themselves are in `tests/`, one file for each stack.
//!
//! A peer is a program of its own, in `conformance/interop/`. It is built from the packages of the
//! system when a test runs; where they are missing the test is skipped and says so. With
//! `TRESSE_REQUIRE_PEERS=1` in the environment a skip is a failure.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod namespace;
mod payload;
mod peer;
mod ports;
pub mod traffic;

#[cfg(target_os = "linux")]
pub use guest::Guest;
#[cfg(target_os = "linux")]
pub use namespace::{Namespace, command};
pub use payload::{Payload, PayloadError, Received};
pub use peer::{Peer, PeerProgram, PeerReport, Unavailable, skipped};
pub use ports::free_udp_port;
