//! Independent SCTP stacks as peers: how to build and run them, the network between, and the user data that both ends
//! verify.
//!
//! A peer is a program of its own, in `conformance/interop/`. It is built from the packages of the
//! system when a test runs; where they are missing the test is skipped and says so. With
//! `TRESSE_REQUIRE_PEERS=1` in the environment a skip is a failure.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod nat;
mod payload;
mod peer;
mod ports;
mod relay;
mod stack;
pub mod traffic;

#[cfg(target_os = "linux")]
pub use guest::{COMMAND_LIMIT, Guest, WIDE};
#[cfg(target_os = "linux")]
pub use lab::Lab;
#[cfg(target_os = "linux")]
pub use namespace::{Namespace, command, drop_packets};
#[cfg(target_os = "linux")]
pub use nat::Nat;
pub use payload::{Payload, PayloadError, Received};
pub use peer::{
    Peer, PeerProgram, PeerReport, Silence, Unavailable, Unsupported, Words, conformance, skipped,
};
pub use ports::free_udp_port;
pub use relay::{Direction, Meddler, Relay};
pub use stack::Stack;
