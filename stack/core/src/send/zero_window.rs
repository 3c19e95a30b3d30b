//! Probing of a closed window (RFC 9260 §6.1 A).

use std::time::Duration;

use crate::time::Time;

/// The interval between probes doubles at most this often.
const MAX_DOUBLINGS: u32 = 6;

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
    /// Verification sent since the window closed; the interval doubles with each.
    probes: u32,
}

/// What an expiration of T3-rtx means for the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    closed: bool,
    probe_answered: bool,
}

impl Expiry {
    /// The peer has answered, and keeps its window closed.
    pub(super) const fn is_closed(self) -> bool {
        self.closed
    }

    /// So it has while a probe was outstanding.
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

    /// That time has come.
    pub(crate) fn on_timer(&mut self) {
        self.probe_at = None;
        self.probe_now = true;
    }

    /// No probe is planned any more.
    pub(crate) fn stop_timer(&mut self) {
        self.probe_at = None;
    }

    /// A probe may leave now, with `flight` bytes in flight.
    #[inline]
    pub(crate) const fn may_probe(&self, flight: usize) -> bool {
        self.probe_now && flight == 0
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
    pub(crate) const fn is_asked_often(&self) -> bool {
        self.probing
    }

    /// None is any more: nothing is outstanding, or what is leaves again in another way.
    #[inline]
    pub(crate) fn stop_probing(&mut self) {
        self.probing = false;
    }

    /// The peer answered.
    #[inline]
    pub(crate) fn on_answer(&mut self) {
        self.answered = true;
    }

    /// Something was acknowledged. The probe was taken, so there is room for the next one: what fills the window
    /// are chunks behind gaps, which this one helps to deliver. Its loss is no reason to wait longer.
    #[inline]
    pub(crate) fn on_progress(&mut self) {
        self.probes = 0;
    }

    //= RFC 9260 6.1-6
    /// T3-rtx expired while the peer has no room, if `closed`.
    ///
    /// §6.1 A: a peer that answers and keeps its window closed lives: that is no error. What is
    /// sent again before the window opens is a probe like any other.
    pub(crate) fn on_timeout(&mut self, closed: bool) -> Expiry {
        let closed = closed && self.answered;
        let probe_answered = self.probing && self.answered;
        self.answered = false;
        self.probing |= closed;
        Expiry { closed, probe_answered }
    }

    /// A probe is sent again: probes become rarer.
    pub(crate) fn back_off(&mut self) {
        self.probes += 1;
    }

    /// How long a probe that was sent with RTO is waited for: the interval increases exponentially, bounded like any
    /// timeout.
    pub(crate) fn wait(&self, rto: Duration, max: Duration) -> Duration {
        let doublings = self.probes.saturating_sub(1).min(MAX_DOUBLINGS);
        (rto * (1 << doublings)).min(max)
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

    /// The window is not closed, but narrower than a chunk, and will hardly open further: there is nothing to wait
    /// an RTO for (§6.1 A: SHOULD). The last probe was taken, or there was none: the interval does not grow.
    pub(crate) fn on_narrow(&mut self) {
        self.probe_at = None;
        self.probe_now = true;
        self.probes = 0;
    }

    //= RFC 9260 6.1-5 6.1-7
    /// The window is closed, and nothing is in flight: the first probe leaves after one RTO (§6.1 A).
    pub(crate) fn on_closed(&mut self, now: Time, rto: Duration, max: Duration) {
        if self.probe_at.is_none() && !self.probe_now {
            // The interval grows exponentially, bounded like any timeout.
            let wait = rto * (1 << self.probes.min(MAX_DOUBLINGS));
            self.probe_at = Some(now + wait.min(max));
        }
    }
}
