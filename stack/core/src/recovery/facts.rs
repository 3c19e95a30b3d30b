//! What mechanisms of recovery are told of SACKs, timers and packets that left.

use std::time::Duration;

use crate::ids::{LossCause, PathId};
use crate::scoreboard::{AckOutcome, MissingRange, Scoreboard};
use crate::time::Time;

/// Smoothed round-trip time and its variation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) srtt: Duration,
    pub(crate) rttvar: Duration,
}

/// What an algorithm may look at when a SACK was applied.
pub(crate) struct SackFacts<'a> {
    pub(crate) now: Time,
    pub(crate) board: &'a Scoreboard,
    pub(crate) outcome: &'a AckOutcome,
    /// TSNs that the SACK reported as duplicates, unwrapped.
    pub(crate) duplicates: &'a [u64],
    /// At least one chunk got a miss indication from this SACK.
    pub(crate) struck: bool,
    /// Unsent user data waits, and the peer's window has room for it.
    pub(crate) new_data_ready: bool,
    /// Data takes one path at a time, so that the order in which it arrives says something.
    pub(crate) in_order: bool,
    /// Sender Maximum Segment Size: the PMDCS of the data path.
    pub(crate) smss: usize,
    /// In Fast Recovery (RFC 9260 §7.2.4).
    pub(crate) in_fast_recovery: bool,
    /// The stream is thin.
    pub(crate) thin: bool,
    /// TSecr of the packet's TIMESTAMP chunk.
    pub(crate) timestamp_echo: Option<u32>,
    /// The SACK carries the retransmit bit.
    pub(crate) retransmit_bit: bool,
    /// Smoothed RTT of each path.
    pub(crate) srtt: &'a [Option<Duration>],
    /// Shortest RTT of each path in the last minutes.
    pub(crate) least: &'a [Option<Duration>],
    /// That of the data path, if it was measured.
    pub(crate) round_trip: Option<RoundTrip>,
}

impl SackFacts<'_> {
    pub(crate) fn missing(&self) -> impl Iterator<Item = &MissingRange> {
        self.board.missing()
    }
}

/// What an algorithm may look at when a timer of its own expired.
pub(crate) struct TimerFacts<'a> {
    pub(crate) now: Time,
    pub(crate) board: &'a Scoreboard,
    /// As in [`SackFacts`].
    pub(crate) new_data_ready: bool,
    /// The SACK of a chunk sent longer ago than this should have come.
    pub(crate) round_trip: Duration,
    /// From when on something may be sent in vain; `None`: not before T3-rtx expires.
    pub(crate) guess_at: Option<Time>,
    /// When T3-rtx of the data path expires, if it runs.
    pub(crate) t3: Option<Time>,
}

/// A chunk that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) now: Time,
    pub(crate) path: PathId,
    pub(crate) seq: u64,
    /// Why, if it was sent before.
    pub(crate) again: Option<LossCause>,
    /// Its header, data and padding.
    pub(crate) bytes: usize,
    /// The sequence number after the last one that was in use then.
    pub(crate) end: u64,
    /// No queue was found on its path.
    pub(crate) calm: bool,
    /// It is new and asks for a SACK at once (RFC 7053).
    pub(crate) asks: bool,
}

/// A packet with new data that left.
pub(crate) struct NewData<'a> {
    pub(crate) now: Time,
    pub(crate) board: &'a Scoreboard,
    /// That of its path, if it was measured.
    pub(crate) round_trip: Option<RoundTrip>,
    /// It asks for its SACK at once.
    pub(crate) asks_for_sack: bool,
    /// Some path is in Fast Recovery.
    pub(crate) recovering: bool,
}

/// A chunk in flight that may be sent again although that is perhaps in vain.
pub(crate) struct Guess {
    pub(crate) now: Time,
    /// Where it would be sent.
    pub(crate) path: PathId,
    pub(crate) seq: u64,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rttvar: Duration,
    /// No queue was found on the path.
    pub(crate) calm: bool,
    pub(crate) granularity: Duration,
}

/// How full the buffers are, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub(crate) sending: usize,
    pub(crate) send_limit: usize,
    pub(crate) receiving: usize,
    pub(crate) receive_limit: usize,
}
