//! How much the receiver may hold, and what the peer was promised (RFC 9260 §6.2).

use super::Receiver;
use crate::ack::window::ReceiveWindow;
use crate::memory::Budget;

/// The receive buffer.
#[derive(Debug)]
pub(super) struct Room {
    window: ReceiveWindow,
    /// Size of the receive buffer in bytes.
    buffer: usize,
    /// Bytes of messages from before a restart of the peer that the application has not read.
    past: usize,
    /// User bytes accepted since the association began.
    received_bytes: u64,
    /// The right edge of the widest window ever advertised, counted as `received_bytes`: up to
    /// here the peer was allowed to send, so up to here we accept.
    promised_bytes: u64,
    /// What it may hold.
    budget: Budget,
}

impl Room {
    /// A buffer of this many bytes, of which `past` are taken.
    pub(super) fn new(buffer: u32, past: usize) -> Room {
        Room {
            window: ReceiveWindow::new(buffer),
            buffer: buffer as usize,
            past,
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
    /// Bytes of memory, but for messages from before a restart.
    pub(crate) fn memory(&self) -> usize {
        self.inbound.memory() + self.received.memory() + self.report.memory()
    }

    /// Learns how short memory is.
    pub(crate) fn obey(&mut self, budget: Budget) {
        self.room.budget = budget;
    }

    /// The peer was told of a window of this many bytes when the association was set up.
    pub(crate) fn begin_with(&mut self, a_rwnd: u32) {
        self.room.window.on_sacked(a_rwnd);
    }

    /// User bytes that the application has not read.
    pub(crate) fn buffered(&self) -> usize {
        self.room.past + self.inbound.buffered()
    }

    /// Bytes that count against the window.
    pub(super) fn occupied(&self) -> usize {
        // With something left to read the application is not waiting for the rest of a message.
        if self.room.past > 0 { self.buffered() } else { self.inbound.occupied(self.room.buffer) }
    }

    /// A message of this many bytes from before a restart was read.
    pub(crate) fn on_past_read(&mut self, bytes: usize) {
        self.room.past -= bytes;
    }

    /// Bytes of messages from before a restart of the peer that the application has not read.
    pub(crate) const fn past(&self) -> usize {
        self.room.past
    }

    /// The window has opened so far that the peer is to be told.
    pub(super) fn is_update_due(&self, pmdcs: usize) -> bool {
        self.room.window.update_due(self.occupied(), pmdcs)
    }

    /// The application has read everything.
    pub(super) fn is_read(&self) -> bool {
        self.room.past == 0 && self.inbound.ready() == 0
    }

    /// Whether it holds more than its share while memory is all but used up.
    pub(super) fn is_over_share(&self) -> bool {
        self.room.budget.scarce && self.buffered() > self.room.budget.share
    }

    /// The window to advertise now.
    pub(super) fn advertised(&mut self) -> u32 {
        self.bound_window();
        self.room.window.advertised(self.occupied())
    }

    /// Keeps the window within the share.
    pub(super) fn bound_window(&mut self) {
        let left = self.room.budget.share.saturating_sub(self.buffered());
        self.room.window.narrow(left);
    }

    /// Remembers what a SACK that leaves now advertises.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        let room = &mut self.room;
        room.window.on_sacked(a_rwnd);
        room.promised_bytes = room.promised_bytes.max(room.received_bytes + u64::from(a_rwnd));
    }
}
