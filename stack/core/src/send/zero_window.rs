//! Probing of a closed window, and what may leave while it is closed (RFC 9260 §6.1 A, §6.3.3).
//!
//! ```text
//! closed    the peer has no room for the first chunk that is outstanding: of what is lost it alone leaves, in a packet
//!           of its own, and T3-rtx alone has it leave once more
//! probe     a chunk that waits and has no room leaves all the same, one at a time, nothing else being in flight: at first
//!           after one RTO, then twice as long after each
//! answered  a peer that answers and keeps its window closed lives: an expiration of T3-rtx is no error then, and no
//!           congestion
//! opened    what had no room has been dropped: it leaves again at once
//! ```

use std::time::Duration;

use crate::ids::PathId;
use crate::scoreboard::{Outstanding, Scoreboard};
use crate::time::Time;

/// User data of a chunk is shorter: a window of so many bytes has room for any.
const MOST_OF_A_CHUNK: usize = 1 << 16;
/// The interval between probes doubles at most this often.
const MAX_DOUBLINGS: u32 = 6;

/// Whether a new chunk of `len` bytes of user data, sent into a window with `room`, is a probe of it.
#[inline]
pub(super) const fn is_probe(len: usize, room: usize) -> bool {
    len > room
}

/// Whether the peer has room for what is outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRoom {
    closed: bool,
    /// What it waits for.
    awaited: u64,
}

impl PeerRoom {
    #[inline]
    pub(super) fn of(board: &Scoreboard, a_rwnd: usize) -> PeerRoom {
        let awaited =
            if a_rwnd < MOST_OF_A_CHUNK { board.first_awaited() } else { board.first_kept() };
        let closed = board.get(awaited).is_some_and(|c| c.chunk.payload.len() > a_rwnd);
        PeerRoom { closed, awaited }
    }

    /// It has none for the first chunk.
    #[inline]
    pub(super) const fn is_closed(self) -> bool {
        self.closed
    }

    /// Whether a chunk that is lost may leave.
    ///
    /// §6.1 A: without room at the peer, "one DATA chunk in flight": the one that it waits for. Of more it would take
    /// that one alone, and the rest would wait for T3-rtx.
    #[inline]
    pub(super) const fn takes_again(self, seq: u64) -> bool {
        !self.closed || seq == self.awaited
    }

    /// Whether others may leave with it.
    #[inline]
    pub(super) const fn takes_more(self) -> bool {
        !self.closed
    }

    /// Whether a chunk that SACKs report missing is to leave again because of that.
    ///
    /// A receiver that has no room drops what is sent again, and says so in a SACK: repeating it for each of them would
    /// go on until there is room. T3-rtx sees to that.
    #[inline]
    pub(super) const fn takes_repeated(self, chunk: &Outstanding) -> bool {
        !self.closed || chunk.transmissions <= 1
    }
}

/// What is known of a window that is closed, or was.
#[derive(Debug, Default)]
pub(crate) struct ZeroWindow {
    /// When the next probe may leave.
    probe_at: Option<Time>,
    /// A probe may leave now.
    probe_now: bool,
    /// A probe is outstanding.
    probing: bool,
    /// The peer answered since the last expiration, so it lives and its window is closed.
    answered: bool,
    /// Probes sent since the window closed; the interval doubles with each.
    probes: u32,
}

/// What an expiration of T3-rtx means for the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    closed: bool,
    probe_answered: bool,
}

impl Expiry {
    /// The peer has answered, and keeps its window closed: that is no error.
    pub(super) const fn is_excused(self) -> bool {
        self.closed || self.probe_answered
    }

    /// It has answered while a probe was outstanding: that is no congestion either.
    pub(super) const fn is_probe_answered(self) -> bool {
        self.probe_answered
    }
}

impl ZeroWindow {
    /// When the next probe may leave.
    #[inline]
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.probe_at
    }

    /// Whether that time has come: then it may.
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        let is_due = self.probe_at.take_if(|at| *at <= now).is_some();
        self.probe_now |= is_due;
        is_due
    }

    /// No probe is planned any more.
    pub(crate) fn stop_timer(&mut self) {
        self.probe_at = None;
    }

    /// A probe may leave now.
    #[inline]
    pub(super) fn may_probe(&self, board: &Scoreboard) -> bool {
        self.probe_now && board.total_flight() == 0
    }

    /// A probe left.
    pub(crate) fn on_probe_sent(&mut self) {
        self.probe_now = false;
        self.probing = true;
        self.answered = false;
        self.probes += 1;
    }

    /// A probe is outstanding.
    #[inline]
    pub(crate) const fn is_probing(&self) -> bool {
        self.probing
    }

    /// None is any more: nothing is outstanding, or what is leaves again in another way.
    #[inline]
    pub(crate) fn stop_probing(&mut self) {
        self.probing = false;
    }

    /// The peer answered. If something was acknowledged the probe was taken, so there is room for the next one: what fills
    /// the window are chunks behind gaps, which this one helps to deliver. Its loss is no reason to wait longer.
    #[inline]
    pub(super) fn on_answer(&mut self, progress: bool) {
        self.answered = true;
        if progress {
            self.probes = 0;
        }
    }

    //= RFC 9260 6.1-6
    /// T3-rtx expired.
    ///
    /// §6.1 A: a peer that answers and keeps its window closed lives: that is no error. What is
    /// sent again before the window opens is a probe like any other, and probes become rarer.
    pub(super) fn on_timeout(&mut self, room: PeerRoom) -> Expiry {
        let closed = room.is_closed() && self.answered;
        let probe_answered = self.probing && self.answered;
        self.answered = false;
        self.probing |= closed;
        self.probes += u32::from(probe_answered);
        Expiry { closed, probe_answered }
    }

    /// How long a probe that was sent with RTO is waited for, if one is outstanding: the interval increases exponentially,
    /// bounded like any timeout.
    pub(super) fn wait(&self, rto: Duration, max: Duration) -> Option<Duration> {
        let doublings = self.probes.saturating_sub(1).min(MAX_DOUBLINGS);
        self.probing.then(|| (rto * (1 << doublings)).min(max))
    }

    /// The window has opened while probes are outstanding, or what was sent again after a timeout: the receiver had to
    /// drop them (RFC 9260 §6.2), so they leave again now and not after a backed-off T3-rtx. Which they are.
    pub(super) fn take_dropped(
        &mut self,
        board: &Scoreboard,
        room: PeerRoom,
        paths: impl Iterator<Item = PathId>,
    ) -> Vec<u64> {
        let mut dropped = Vec::new();
        if !self.probing || room.is_closed() {
            return dropped;
        }
        self.stop_probing();
        let first = board.first_awaited();
        let probe = |seq: &u64| {
            *seq == first || board.get(*seq).is_some_and(|chunk| chunk.transmissions > 1)
        };
        for path in paths {
            board.for_each_in_flight(path, |seq| dropped.extend(Some(seq).filter(probe)));
        }
        dropped
    }

    /// The window has room.
    #[inline]
    pub(crate) fn on_open(&mut self) {
        self.probe_at = None;
        self.probe_now = false;
        if !self.probing {
            self.probes = 0;
        }
    }

    //= RFC 9260 6.1-4 6.1-5 6.1-7
    /// The window has no room for what waits. Once nothing is in flight the first probe leaves after one RTO (§6.1 A).
    ///
    /// `half_open`: it is not closed, but narrower than a chunk of more than half the peer's buffer, and will hardly open
    /// further. There is nothing to wait an RTO for (§6.1 A: SHOULD). The last probe was taken, or there was none: the
    /// interval does not grow.
    pub(super) fn on_closed(
        &mut self,
        now: Time,
        board: &Scoreboard,
        half_open: bool,
        rto: impl FnOnce() -> Duration,
        max: Duration,
    ) {
        if board.total_flight() > 0 || board.first_lost().is_some() {
            return;
        }
        if half_open {
            self.probe_at = None;
            self.probe_now = true;
            self.probes = 0;
        } else if self.probe_at.is_none() && !self.probe_now {
            // The interval grows exponentially, bounded like any timeout.
            let wait = rto() * (1 << self.probes.min(MAX_DOUBLINGS));
            self.probe_at = Some(now + wait.min(max));
        }
    }
}
