//! The gauntlet as runs: random worlds, and what is asked of them. `report/gauntlet/` reads what they brought.

mod request;
mod run;

use std::ops::Range;

pub use request::{Candidate, ID, Request};
pub(crate) use run::WorldRun;

/// Worlds that are played unless others are asked for.
pub const WORLDS: Range<u64> = 0..1000;
