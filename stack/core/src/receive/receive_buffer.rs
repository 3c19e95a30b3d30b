//! How much the receiver may hold, and what the peer was promised (RFC 9260 §6.2).

use crate::ack::window::ReceiveWindow;
use crate::memory::Allowance;

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
    allowance: Allowance,
}

impl ReceiveBuffer {
    /// A buffer of this many bytes, of which `past` are taken.
    pub(super) fn new(buffer: u32, past: usize) -> ReceiveBuffer {
        ReceiveBuffer {
            window: ReceiveWindow::new(buffer),
            buffer: buffer as usize,
            received_bytes: 0,
            promised_bytes: (buffer as usize).saturating_sub(past) as u64,
            allowance: Allowance::AMPLE,
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

    /// What it may hold from now on.
    pub(super) const fn keep_within(&mut self, allowance: Allowance) {
        self.allowance = allowance;
    }

    /// With `buffered` bytes it holds more than its share while memory is all but used up.
    pub(super) const fn is_over_share(&self, buffered: usize) -> bool {
        self.allowance.scarce && buffered > self.allowance.share
    }

    /// The window has opened so far, with `occupied` bytes, that the peer is to be told.
    #[inline]
    pub(super) fn is_update_due(&self, occupied: usize, pmdcs: usize) -> bool {
        self.window.update_due(occupied, pmdcs)
    }

    /// Keeps the window within the share, with `buffered` bytes.
    #[inline]
    pub(super) fn bound_window(&mut self, buffered: usize) {
        self.window.narrow(self.allowance.share.saturating_sub(buffered));
    }

    /// The window to advertise with `occupied` bytes.
    pub(super) fn advertised(&mut self, occupied: usize) -> u32 {
        self.window.advertised(occupied)
    }

    /// The peer was told of a window of this many bytes when the association was set up.
    pub(super) fn begin_with(&mut self, a_rwnd: u32) {
        self.window.on_sacked(a_rwnd);
    }

    /// A SACK leaves that tells of this one.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        self.window.on_sacked(a_rwnd);
        self.promised_bytes = self.promised_bytes.max(self.received_bytes + u64::from(a_rwnd));
    }
}
