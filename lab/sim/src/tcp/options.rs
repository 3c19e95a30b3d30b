//! What is switched on, and what is sent.

use std::time::Duration;

/// Switches of both hosts, as Linux has them below `net.ipv4`. The default is plain NewReno.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Selective acknowledgements (`tcp_sack`, RFC 2018).
    pub sack: bool,
    /// Duplicates are reported (`tcp_dsack`, RFC 2883). Without `sack` it does nothing.
    pub dsack: bool,
    /// Forward acknowledgement (`tcp_fack`, Mathis & Mahdavi 1996). Without `sack` it does nothing.
    pub fack: bool,
    /// BIC instead of Reno for the window (`tcp_congestion_control`), which the kernel does unless told otherwise.
    pub bic: bool,
    /// Small segments never wait for an ACK (`TCP_NODELAY`).
    pub no_delay: bool,
}

/// What the application sends, from the moment at which the connection is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// As much as the connection takes.
    Bulk,
    /// Messages at regular times, the first one at a tick of the host's clock.
    Periodic {
        /// Bytes of a message, at least 1.
        bytes: u32,
        /// From one to the next.
        every: Duration,
        /// How many.
        messages: u64,
    },
}

/// Data bytes of a full segment: 1500 less 20 of IP, 20 of TCP and 12 of the timestamp.
pub(super) const MSS: u64 = 1448;
/// What the receiver can take. It reads at once, so the window is always the same.
pub(super) const WINDOW: u16 = 65_535;
