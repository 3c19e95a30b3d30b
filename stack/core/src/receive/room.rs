//! How much may be held, and what the peer is told of it.

use super::Receiver;
use crate::memory::Allowance;
use crate::time::Time;

impl Receiver {
    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        self.inbound.memory()
            + self.received.memory()
            + self.report.memory()
            + self.reading.memory()
    }

    /// Learns how short memory is, after the application has read this many bytes: what it may hold is measured by that.
    pub(crate) fn keep_within(&mut self, now: Time, allowance: Allowance, read: u64) {
        self.reading.note(now, read);
        let share = allowance.share.max(self.reading.ahead());
        self.buffer.keep_within(Allowance { share, ..allowance });
    }

    /// The peer was told of a window of this many bytes when the association was set up.
    pub(crate) fn begin_with(&mut self, a_rwnd: u32) {
        self.buffer.begin_with(a_rwnd);
    }

    /// User bytes that the application has not read.
    pub(crate) fn buffered(&self) -> usize {
        self.reading.past() + self.inbound.buffered()
    }

    /// Bytes that count against the window.
    #[inline]
    pub(super) fn occupied(&self) -> usize {
        // With something left to read the application is not waiting for the rest of a message, unless others come before that.
        if self.is_read() || self.inbound.waits_for_whole() {
            self.reading.past() + self.inbound.occupied(self.buffer.size())
        } else {
            self.buffered()
        }
    }

    /// The window has opened so far that the peer is to be told.
    #[inline]
    pub(super) fn is_update_due(&self, pmdcs: usize) -> bool {
        self.buffer.is_update_due(self.occupied(), pmdcs)
    }

    /// The application has read everything.
    pub(super) fn is_read(&self) -> bool {
        self.reading.past() == 0 && self.inbound.ready() == 0
    }

    /// Whether it holds more than its share while memory is all but used up.
    pub(super) fn is_over_share(&self) -> bool {
        self.buffer.is_over_share(self.buffered())
    }

    /// The window to advertise now.
    pub(super) fn advertised(&mut self) -> u32 {
        self.bound_window();
        self.buffer.advertised(self.occupied())
    }

    /// Keeps the window within the share.
    #[inline]
    pub(super) fn bound_window(&mut self) {
        self.buffer.bound_window(self.buffered());
    }

    /// Remembers what a SACK that leaves now advertises.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        self.buffer.note_advertised(a_rwnd);
    }
}
