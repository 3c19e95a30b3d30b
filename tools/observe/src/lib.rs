//! What an endpoint shows of itself: metrics for Prometheus and as JSON, a log, qlog, and captures.
//!
//! Everything here watches from outside: an [`Observer`](tresse::Observer) or a
//! [`Monitor`](tresse::Monitor), and nothing of it runs unless it is asked for. What is recorded is
//! written by a [`Spool`], a thread of its own: neither a full disk nor a reader that went away, nor
//! one that is slow, ever stops an association.
//!
//! ```
//! use tresse::{Config, Endpoint};
//! use tresse_observe::{Capture, LogObserver, Observers, QlogFolder, QlogOptions, Spool};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let spool = Spool::start(|line| eprintln!("warning: {line}"))?;
//! let mut observers = Observers::default();
//! observers.add(Capture::create(&spool, &folder.join("all.pcapng"), 0)?);
//! observers.add(QlogFolder::create(&spool, &folder.join("qlog"), QlogOptions::default())?);
//! observers.add(LogObserver); // To whatever subscriber of `tracing` the program has.
//!
//! let mut config = Config::client("127.0.0.1:0".parse()?);
//! config.sctp.association.trace = true; // For qlog and log: every decision.
//! config.observer = Some(Box::new(observers));
//! let endpoint = Endpoint::bind(config)?;
//! // ...
//! drop(endpoint);
//! spool.flush(std::time::Duration::from_secs(1));
//! # Ok(())
//! # }
//! ```
//!
//! | what | how | docs |
//! |---|---|---|
//! | metrics | [`MetricsServer`], [`Snapshot`], [`prometheus`] | `docs/observability.md` |
//! | log | [`LogObserver`], [`log::start`] | `docs/observability.md` |
//! | qlog | [`QlogFolder`] | `docs/qlog.md` |
//! | packets | [`Capture`] | `docs/observability.md` |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod capture;
mod clock;
pub mod log;
mod metrics;
mod observers;
mod qlog;
mod spool;

pub use capture::Capture;
pub use log::LogObserver;
pub use metrics::{AssociationSnapshot, MetricsServer, PathSnapshot, Snapshot, prometheus};
pub use observers::Observers;
pub use qlog::{QlogFolder, QlogOptions};
pub use spool::{Spool, SpoolStats, Stream};
