//! The laboratory: experiments as data, run on all cores, reported beside published numbers.
//!
//! An [`Experiment`] is a TOML file. [`plan`](mod@plan) expands it into independent runs, each
//! identified by a hash of everything that decides it; [`runner`] executes them under the
//! simulator's virtual clock and keeps what is finished; [`analysis`] computes the tables, and
//! [`report`] writes them. [`Session`] ties these together:
//!
//! ```no_run
//! use tresse_lab::{Session, runner::Execution};
//!
//! let session = Session::new("hurtig/fig2", &Default::default())?;
//! let finished = session.run("results".as_ref(), Execution::default())?;
//! println!("{}", tresse_lab::report::render_for_terminal(&finished.report));
//! # Ok::<(), tresse_lab::LabError>(())
//! ```

#![forbid(unsafe_code)]

pub mod analysis;
pub mod error;
pub mod experiment;
pub mod measurements;
pub mod overrides;
pub mod plan;
pub mod record;
pub mod report;
pub mod runner;
pub mod scenario;
mod seed;
mod session;
pub mod statistics;
pub mod version;
pub mod workload;

pub use error::LabError;
pub use experiment::Experiment;
pub use overrides::Overrides;
pub use session::{Finished, Session};
