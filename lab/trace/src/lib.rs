//! Analysis of captured traffic: what was sent again, why, and how long that took.
//!
//! Reads pcap, pcapng and qlog ([`capture`]), follows every SCTP association and TCP connection in them,
//! and tells [`Observer`]s what it finds, packet by packet, and a [`Summary`] of each that ends.
//! It knows only what is on the wire, as `sctp_trace` (Pedersen 2006, appendix B) and tcptrace do,
//! and says what that cannot tell.
//!
//! Memory depends on what is alive, not on the length of a capture: what is acknowledged, closed or
//! silent is forgotten.
//!
//! ```no_run
//! use tresse_trace::{Options, Trace, listing::Listing};
//!
//! let mut trace = Trace::new(Options::default());
//! let mut listing = Listing::new(std::io::stdout());
//! trace.run(&["capture.pcapng".as_ref()], &mut listing)?;
//! println!("{} associations", trace.totals().associations);
//! # Ok::<(), tresse_trace::capture::CaptureError>(())
//! ```

#![forbid(unsafe_code)]

pub mod capture;
mod causes;
mod clock;
mod datagram;
mod event;
mod flow;
mod fragments;
pub mod json;
mod key;
mod link;
pub mod listing;
pub mod measure;
mod numbers;
pub mod page;
mod rto;
mod sctp;
mod sender;
mod settings;
mod skipped;
mod statistics;
mod summary;
pub mod tables;
mod tcp;
mod terms;
pub mod text;
mod trace;

pub use event::{Again, Event, Head, Observer};
pub use flow::GAP_ACKED_CLASSES;
pub use sender::{SenderState, SenderSummary};
pub use skipped::Skipped;
pub use statistics::{
    Class, DelaySummary, Delays, MOST_NUMBERED, RetransmissionRow, Retransmissions, WHOLE,
};
pub use summary::{Arrivals, DirectionSummary, Ending, PathSummary, StreamSummary, Summary};
pub use terms::{Identity, Place, Proof, Side, Until};
pub use trace::{Options, Totals, Trace};
