//! The congestion window, in segments: RFC 2581 and RFC 3465 with L = 1 segment, as Linux 2.6.15 has them.

use super::options::MSS;

/// How much more than what is in flight an ACK may let go at once.
const BURST: u64 = 3;

/// Window and threshold of a connection.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Bytes acknowledged that did not count yet.
    pub(super) bytes_acked: u64,
    /// ACKs that did not shrink the window yet, 0 or 1.
    halving: u64,
}

impl Default for Congestion {
    fn default() -> Congestion {
        // RFC 3390 §1: min (4*MSS, max (2*MSS, 4380 bytes)).
        Congestion { cwnd: 3, ssthresh: u64::MAX >> 2, bytes_acked: 0, halving: 0 }
    }
}

impl Congestion {
    /// An ACK arrived that found so much in flight. Only a window that was used grows.
    pub(super) fn acknowledged(&mut self, in_flight: u64) {
        if in_flight < self.cwnd {
            return;
        }
        if self.cwnd <= self.ssthresh {
            // RFC 3465 §2.2: during slow start by at most L for each ACK.
            if self.bytes_acked >= MSS {
                self.bytes_acked = 0;
                self.cwnd += 1;
            }
        } else if self.bytes_acked >= self.cwnd * MSS {
            // RFC 3465 §2.1: by one segment whenever a window's worth of bytes was acknowledged.
            self.bytes_acked -= self.cwnd * MSS;
            self.cwnd += 1;
        }
    }

    /// Half of it, at least two; RFC 2581 §3.1 (3) halves what is in flight.
    pub(super) fn halved(&self) -> u64 {
        (self.cwnd >> 1).max(2)
    }

    /// What the threshold is worth now, should the cut that follows prove wrong.
    pub(super) fn worth(&self, is_being_cut: bool) -> u64 {
        let most = (self.cwnd >> 1) + (self.cwnd >> 2);
        if is_being_cut { self.ssthresh } else { self.ssthresh.max(most) }
    }

    /// A recovery begins.
    pub(super) fn begin(&mut self) {
        (self.bytes_acked, self.halving) = (0, 0);
    }

    /// A timeout: RFC 2581 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized segment".
    pub(super) fn collapse(&mut self) {
        self.cwnd = 1;
        self.begin();
    }

    /// An ACK of a recovery: one segment less for two of them, and never more than one above what is in flight.
    pub(super) fn shrink(&mut self, in_flight: u64) {
        let due = self.halving + 1;
        self.halving = due & 1;
        if due >= 2 && self.cwnd > self.ssthresh / 2 {
            self.cwnd -= 1;
        }
        self.cwnd = self.cwnd.min(in_flight + 1);
    }

    /// No bursts when ACKs acknowledge much.
    pub(super) fn moderate(&mut self, in_flight: u64) {
        self.cwnd = self.cwnd.min(in_flight + BURST);
    }

    /// A recovery ended.
    pub(super) fn complete(&mut self) {
        self.cwnd = self.cwnd.min(self.ssthresh);
    }
}
