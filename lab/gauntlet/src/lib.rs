//! The gauntlet: random worlds, and the laws that concurrent transfer and congestion control must keep in
//! every one of them.
//!
//! A [`World`] follows from a number. [`play`](play::play) plays it with a profile over all of its paths, [`judge`]
//! besides over each path alone and with somebody else in our place, and [`law`] says what the laws make of
//! the [`Measures`]. `tresse lab run tresse/gauntlet` plays many worlds and writes `docs/gauntlet.md`.
//!
//! ```
//! use tresse_core::Profile;
//! use tresse_gauntlet::{World, judge, law};
//!
//! let world = World::draw(3);
//! let measures = judge::measure(&world, &Profile::tresse())?;
//! for verdict in law::judge(&world, &measures) {
//!     println!("{}: {:.2}", verdict.law.name(), verdict.value);
//! }
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

pub mod judge;
pub mod law;
pub mod measures;
pub mod play;
mod source;
pub mod world;

pub use law::{Law, Verdict};
pub use measures::Measures;
pub use play::Played;
pub use world::{Family, World};
