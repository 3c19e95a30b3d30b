//! T3-rtx of one path (RFC 9260 §6.3.2, §6.3.3): when it expires, and what its expirations have shown.

use std::time::Duration;

use crate::time::Time;

/// The retransmission timer.
#[derive(Debug, Default)]
pub(crate) struct T3 {
    /// When it expires, if it runs.
    at: Option<Time>,
    /// RTO before the expiration of this moment doubled it: what is sent again at the same moment arms the
    /// timer with it (`t3_rtx.backs_off_late`).
    undoubled: Option<(Time, Duration)>,
    expirations: u64,
    /// Expirations since data sent here was last acknowledged.
    in_a_row: u32,
}

impl T3 {
    #[inline]
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.at
    }

    #[inline]
    pub(crate) const fn is_running(&self) -> bool {
        self.at.is_some()
    }

    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    pub(crate) fn start(&mut self, at: Time) {
        self.at = Some(at);
    }

    pub(crate) fn stop(&mut self) {
        self.at = None;
    }

    /// If it runs, it expires no later than at `latest`.
    pub(crate) fn hasten(&mut self, latest: Time) {
        self.at = self.at.map(|at| at.min(latest));
    }

    /// Expirations since the path began.
    pub(crate) const fn expirations(&self) -> u64 {
        self.expirations
    }

    /// Expirations since data sent here was last acknowledged; those of a closed window that the peer answers
    /// do not count.
    #[inline]
    pub(crate) const fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    /// It has expired with something outstanding.
    pub(crate) fn on_expired(&mut self) {
        self.expirations += 1;
    }

    /// What was sent is not answered.
    pub(crate) fn on_unanswered(&mut self) {
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// RTO is about to be doubled; what is sent again at this moment is timed with `undoubled`, if given.
    pub(crate) fn on_doubled(&mut self, now: Time, undoubled: Option<Duration>) {
        self.undoubled = undoubled.map(|rto| (now, rto));
    }

    /// RTO from before the expiration of this moment, once.
    pub(crate) fn take_undoubled(&mut self, now: Time) -> Option<Duration> {
        self.undoubled.take().filter(|(when, _)| *when == now).map(|(_, rto)| rto)
    }

    /// Data sent here is acknowledged.
    #[inline]
    pub(crate) fn on_ack(&mut self) {
        self.in_a_row = 0;
    }
}
