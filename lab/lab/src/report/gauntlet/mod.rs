//! What the worlds of the gauntlet say: a page, and one world in words.

mod explain;
mod page;
mod tally;

pub use explain::explain;
pub(crate) use page::{render, summary};
pub use tally::{Broken, Row, Tally};

/// The page, in the folder of the results.
pub const PAGE: &str = "gauntlet.md";
