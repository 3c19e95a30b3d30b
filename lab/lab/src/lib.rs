//! The laboratory: experiments as data, run on all cores, reported beside published numbers.
//!
//! An [`Experiment`] is a TOML file of one of two kinds: [`single_loss`] drops exactly one packet
//! a run, each one in turn; [`flow`] measures traffic through a lossy network. Each expands into
//! independent runs, identified by a hash of everything that decides them; [`runner`] executes
//! them under the simulator's virtual clock and keeps what is finished; [`report`] writes the
//! tables, plots and pages. [`Session`] ties these together:
//!
//! ```no_run
//! use tresse_lab::{Session, runner::Execution};
//!
//! let session = Session::new("hurtig/fig2", &Default::default())?;
//! let finished = session.run("results".as_ref(), Execution::default())?;
//! let screen = tresse_lab::report::Screen::stdout();
//! println!("{}", tresse_lab::report::render_for_terminal(&finished.report, &screen));
//! # Ok::<(), tresse_lab::LabError>(())
//! ```

#![forbid(unsafe_code)]

mod arranged;
mod capture;
mod common;
pub mod comparison;
pub mod error;
pub mod experiment;
pub mod extended;
mod extension;
mod fingerprint;
pub mod flow;
pub mod gauntlet;
mod keys;
mod mistake;
pub mod overrides;
mod poisson;
mod reading;
#[cfg(real_time)]
mod real_time;
pub mod report;
pub mod runner;
mod schema;
mod seed;
pub mod sender;
mod session;
mod settable;
mod shell;
pub mod single_loss;
pub mod version;

pub use error::LabError;
pub use experiment::{AnyExperiment, Experiment};
pub use extension::{Extension, ExtensionSet};
pub use overrides::Overrides;
pub use session::{Campaign, Finished, Replayed, Session};
