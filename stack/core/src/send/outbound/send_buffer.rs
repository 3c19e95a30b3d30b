//! How much may wait to be sent or acknowledged, and how much the peer takes (RFC 9260 §6.1 A, §6.2.1).

use crate::memory::Throughput;
use crate::time::Time;

/// SendBuffer at both ends, in bytes of user data.
#[derive(Debug)]
pub(in crate::send) struct SendBuffer {
    /// a_rwnd of the last SACK.
    a_rwnd: usize,
    /// a_rwnd of the peer's INIT or INIT ACK: the size of its receive buffer.
    peer_buffer: usize,
    /// What the application allows to wait.
    limit: usize,
    /// Beyond it, for streams of which little waits: a share of it.
    reserve: f64,
    /// The part of the endpoint's memory that is its own while that is short.
    share: usize,
    /// The application saw WouldBlock and waits for Writable.
    writer_waits: bool,
    /// How much of our data the peer takes.
    taken: Throughput,
}

impl SendBuffer {
    pub(in crate::send) const fn new(limit: usize, reserve: f64) -> SendBuffer {
        let (share, taken) = (usize::MAX, Throughput::NONE);
        SendBuffer { a_rwnd: 0, peer_buffer: 0, limit, reserve, share, writer_waits: false, taken }
    }

    /// The peer has restarted: it tells its window again. The application may go on waiting.
    pub(in crate::send) const fn restarted(&self, limit: usize) -> SendBuffer {
        SendBuffer {
            writer_waits: self.writer_waits,
            taken: self.taken,
            ..SendBuffer::new(limit, self.reserve)
        }
    }

    /// The peer's window as it told last.
    #[inline]
    pub(in crate::send) const fn a_rwnd(&self) -> usize {
        self.a_rwnd
    }

    /// The size of the peer's receive buffer.
    #[inline]
    pub(in crate::send) const fn peer_buffer(&self) -> usize {
        self.peer_buffer
    }

    /// What fills the peer's receive buffer, as it told last.
    pub(in crate::send) const fn peer_holds(&self) -> usize {
        self.peer_buffer.saturating_sub(self.a_rwnd)
    }

    /// The peer's window is open, but hardly opens further for a chunk that it is too narrow for.
    pub(in crate::send) const fn is_half_open(&self) -> bool {
        self.a_rwnd > 0 && self.a_rwnd * 2 >= self.peer_buffer
    }

    /// INIT or INIT ACK told the peer's window.
    pub(in crate::send) fn begin(&mut self, a_rwnd: u32) {
        self.a_rwnd = a_rwnd as usize;
        self.peer_buffer = a_rwnd as usize;
    }

    /// A SACK told it.
    #[inline]
    pub(in crate::send) fn on_sack(&mut self, a_rwnd: u32) {
        self.a_rwnd = a_rwnd as usize;
    }

    /// What the application allows to wait.
    #[inline]
    pub(in crate::send) const fn limit(&self) -> usize {
        self.limit
    }

    /// The application allows so much from now on.
    pub(in crate::send) fn configure(&mut self, limit: usize, reserve: f64) {
        (self.limit, self.reserve) = (limit, reserve);
    }

    /// The part of the endpoint's memory that is its own; no bound while there is plenty.
    #[inline(always)]
    pub(in crate::send) const fn share(&self) -> usize {
        self.share
    }

    /// Learns how short memory is; the peer has taken this many bytes since the association began.
    pub(in crate::send) fn keep_within(&mut self, now: Time, share: usize, taken: u64) {
        self.share = share;
        self.taken.note(now, taken);
    }

    /// What the peer is about to take.
    pub(in crate::send) fn ahead(&self) -> usize {
        self.taken.ahead()
    }

    /// User data that may wait to be sent, or to be acknowledged: what the application has asked for; while
    /// memory is short its share, or what the peer is about to take.
    pub(in crate::send) fn send_limit(&self) -> usize {
        let (limit, share) = (self.limit, self.share);
        if share >= limit { limit } else { limit.min(share.max(self.taken.ahead())) }
    }

    /// Whether the reserve takes a message of `size` bytes of a stream that holds `held` of the `buffered` bytes: it is
    /// for those that hold no more than is left of it, so that none takes all (dynamic thresholds, Choudhury & Hahne
    /// 1998).
    pub(in crate::send) fn reserve_takes(&self, buffered: usize, held: usize, size: usize) -> bool {
        let limit = self.send_limit();
        let reserve = (limit as f64 * self.reserve) as usize;
        let left = limit.saturating_add(reserve).saturating_sub(buffered.max(limit));
        held + size <= left
    }

    /// The application waits for room.
    #[inline]
    pub(in crate::send) const fn writer_waits(&self) -> bool {
        self.writer_waits
    }

    /// The application was refused, and waits for room.
    pub(in crate::send) fn on_refused(&mut self) {
        self.writer_waits = true;
    }

    /// It was told that there is some.
    pub(in crate::send) fn on_writable(&mut self) {
        self.writer_waits = false;
    }
}
