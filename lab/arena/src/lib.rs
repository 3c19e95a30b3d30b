//! The arena: the same scenario, through the same emulated links, for every SCTP stack that can be had,
//! and a report of who recovers how well.
//!
//! Each [`Cell`] (a stack in a [`Scenario`], once) has an emulated network of its own, with the same
//! stack at both ends, as a user has it who chooses it; delayed acknowledgements and extensions are the
//! receiver's part of recovery. Its numbers come out of captures on both sides only ([`measure`]),
//! Tresse's as well, so that nobody is favoured. Linux only; needs the permission to make network
//! namespaces. Peers that are not installed are named and left out.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg(target_os = "linux")]

mod error;
pub mod measure;
mod metric;
pub mod peer;
mod record;
pub mod report;
mod runner;
mod samples;
mod scenario;
mod stack;
mod stage;

pub use error::ArenaError;
pub use metric::Metric;
pub use record::{Outcome, RECORDS, Record, SCENARIOS, Store};
pub use runner::{Cell, Played, Stage, cells, run};
pub use scenario::{Scenario, Traffic};
pub use stack::{DEFAULT, Kind, Stack};
pub use stage::Theatre;
