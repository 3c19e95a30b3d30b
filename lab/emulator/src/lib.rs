//! The links of `tresse-netem` in real time, between two network namespaces of Linux: whatever
//! programs in one send to the other goes through the same models as in the simulator.
//!
//! ```no_run
//! use tresse_emulator::{Emulation, LinkFile, Settings, Side};
//!
//! let links: LinkFile = "
//!     forward = { bandwidth_kbps = 1000, delay_ms = 50, loss = 0.01 }
//!     backward = { bandwidth_kbps = 1000, delay_ms = 50 }
//! ".parse()?;
//! let emulation = Emulation::start(&links, &Settings::default())?;
//! let mut ping = emulation.command_in(Side::Left, "ping");
//! ping.args(["-c", "10", &emulation.address(Side::Right, 0).to_string()]).status()?;
//! println!("{}", emulation.stop().text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What the two sides see
//! Path P (0, or 0 and 1) is interface `linkP` on both sides. The left one has the addresses
//! 10.77.P.1/24 and fd77:P::1/64, the right one 10.77.P.2 and fd77:P::2. `forward` is from left to
//! right.
//!
//! # What goes through the links
//! Every IP packet, with its size as in the simulator: from the IP header on. Address resolution
//! (ARP, neighbour discovery, multicast listener reports: whatever has no counterpart in the
//! simulator) passes at once, uncounted and uncaptured, so that packet numbers in `drop_packets` are
//! those of the experiment. Corruption flips bits behind the IP header, where checksums find it.
//!
//! # Nothing is left behind
//! Namespaces and interfaces have no name anywhere and live as long as a process uses them: they go
//! with the [`Emulation`], also if the process is killed.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod capture;
mod emulation;
mod error;
mod forwarder;
mod frame;
mod link_file;
mod namespace;
mod report;

pub use emulation::{Emulation, Settings};
pub use error::Error;
pub use link_file::{LinkFile, Path};
pub use namespace::{Namespace, Privilege};
pub use report::{DirectionReport, Lateness, Report};

/// One of the two ends of an emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where `forward` begins.
    Left,
    /// Where `forward` ends.
    Right,
}

impl Side {
    /// Both, left first.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    /// `left` or `right`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From left to right.
    Forward,
    /// From right to left.
    Backward,
}

impl Direction {
    /// Both, forward first.
    pub const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

    /// `forward` or `backward`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }
    }
}
