//! How much the receiver may hold, and what the peer was promised (RFC 9260 §6.2).

use super::Receiver;
use crate::ack::window::ReceiveWindow;
use crate::memory::Budget;
use crate::time::Time;

/// The receive buffer.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    window: ReceiveWindow,
    /// Size of the receive buffer in bytes.
    buffer: usize,
    /// User bytes accepted since the association began.
    received_bytes: u64,
    /// The right edge of the widest window ever advertised, counted as `received_bytes`: up to
    /// here the peer was allowed to send, so up to here we accept.
    promised_bytes: u64,
    /// What it may hold.
    budget: Budget,
}

impl ReceiveBuffer {
    /// A buffer of this many bytes, of which `past` are taken.
    pub(super) fn new(buffer: u32, past: usize) -> ReceiveBuffer {
        ReceiveBuffer {
            window: ReceiveWindow::new(buffer),
            buffer: buffer as usize,
            received_bytes: 0,
            promised_bytes: (buffer as usize).saturating_sub(past) as u64,
            budget: Budget::AMPLE,
        }
    }

    /// Size of the receive buffer in bytes.
    pub(super) const fn size(&self) -> usize {
        self.buffer
    }

    /// The peer was allowed to send `len` bytes more.
    pub(super) const fn has_promised(&self, len: usize) -> bool {
        self.received_bytes + len as u64 <= self.promised_bytes
    }

    /// This many bytes were taken in.
    pub(super) fn on_received(&mut self, len: usize) {
        self.received_bytes += len as u64;
        self.window.on_received(len);
    }
}

impl Receiver {
    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        self.inbound.memory()
            + self.received.memory()
            + self.report.memory()
            + self.reading.memory()
    }

    /// Learns how short memory is, after the application has read this many bytes: what it may hold is measured by that.
    pub(crate) fn obey(&mut self, now: Time, budget: Budget, read: u64) {
        self.reading.note(now, read);
        let share = budget.share.max(self.reading.ahead());
        self.buffer.budget = Budget { share, ..budget };
    }

    /// The peer was told of a window of this many bytes when the association was set up.
    pub(crate) fn begin_with(&mut self, a_rwnd: u32) {
        self.buffer.window.on_sacked(a_rwnd);
    }

    /// User bytes that the application has not read.
    pub(crate) fn buffered(&self) -> usize {
        self.reading.past() + self.inbound.buffered()
    }

    /// Bytes that count against the window.
    #[inline]
    pub(super) fn occupied(&self) -> usize {
        // With something left to read the application is not waiting for the rest of a message.
        if self.reading.past() > 0 {
            self.buffered()
        } else {
            self.inbound.occupied(self.buffer.buffer)
        }
    }

    /// The window has opened so far that the peer is to be told.
    #[inline]
    pub(super) fn is_update_due(&self, pmdcs: usize) -> bool {
        self.buffer.window.update_due(self.occupied(), pmdcs)
    }

    /// The application has read everything.
    pub(super) fn is_read(&self) -> bool {
        self.reading.past() == 0 && self.inbound.ready() == 0
    }

    /// Whether it holds more than its share while memory is all but used up.
    pub(super) fn is_over_share(&self) -> bool {
        self.buffer.budget.scarce && self.buffered() > self.buffer.budget.share
    }

    /// The window to advertise now.
    pub(super) fn advertised(&mut self) -> u32 {
        self.bound_window();
        self.buffer.window.advertised(self.occupied())
    }

    /// Keeps the window within the share.
    #[inline]
    pub(super) fn bound_window(&mut self) {
        let left = self.buffer.budget.share.saturating_sub(self.buffered());
        self.buffer.window.narrow(left);
    }

    /// Remembers what a SACK that leaves now advertises.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        let buffer = &mut self.buffer;
        buffer.window.on_sacked(a_rwnd);
        buffer.promised_bytes =
            buffer.promised_bytes.max(buffer.received_bytes + u64::from(a_rwnd));
    }
}
