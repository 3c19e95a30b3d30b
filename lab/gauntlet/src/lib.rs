//! The gauntlet: random worlds, and the laws that concurrent transfer and congestion control must keep in
//! every one of them.
//!
//! A [`World`] follows from a number. [`play`] plays it with a profile over all of its paths, [`judge`]
//! besides over each path alone and with somebody else in our place, and [`law`] says what the laws make of
//! the [`Measures`]. `tresse lab run tresse/gauntlet` plays many worlds and writes `docs/gauntlet.md`.
//!
//! ```
//! use tresse_core::Profile;
//! use tresse_gauntlet::{World, judge, law};
//!
//! let measures = judge::measure(&World::draw(3), &Profile::tresse())?;
//! for verdict in law::judge(&measures) {
//!     println!("{}: {:.2} of {:.2}", verdict.law.name(), verdict.value, verdict.bound);
//! }
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

pub mod judge;
pub mod law;
pub mod play;
mod source;
pub mod world;

pub use judge::Measures;
pub use law::{Law, Verdict};
pub use play::Played;
pub use world::{Family, World};
