//! User bytes of outstanding chunks: what the peer's window must hold, and what the send buffer must keep (RFC 9260 §6.2.1).

/// Of all paths together, without headers.
#[derive(Debug, Default)]
pub(super) struct UserBytes {
    in_flight: usize,
    buffered: usize,
}

impl UserBytes {
    /// In flight: the receiver's window counts no headers.
    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// They may be needed again: acknowledged neither cumulatively nor for good.
    pub(super) const fn buffered(&self) -> usize {
        self.buffered
    }

    /// A chunk leaves for the first time.
    #[inline]
    pub(super) fn begin(&mut self, bytes: usize) {
        self.in_flight += bytes;
        self.buffered += bytes;
    }

    /// One that was not is in flight again.
    #[inline]
    pub(super) fn enter_flight(&mut self, bytes: usize) {
        self.in_flight += bytes;
    }

    /// One is in flight no more.
    #[inline]
    pub(super) fn leave_flight(&mut self, bytes: usize) {
        self.in_flight -= bytes;
    }

    /// What it holds is never needed again.
    #[inline]
    pub(super) fn release(&mut self, bytes: usize) {
        self.buffered -= bytes;
    }
}
