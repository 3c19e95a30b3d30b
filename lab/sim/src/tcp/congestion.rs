//! The congestion window, in segments: RFC 2581 and RFC 3465 with L = 1 segment, as Linux 2.6.15 has them, or BIC.

use super::bic::{self, Bic};
use super::options::{MSS, Options};

/// How much more than what is in flight an ACK may let go at once.
const BURST: u64 = 3;

/// Window and threshold of a connection.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Bytes acknowledged that did not count yet.
    pub(super) bytes_acked: u64,
    /// ACKs that did not change the window yet.
    count: u64,
    /// Absent: Reno.
    bic: Option<Bic>,
}

impl Congestion {
    /// The window of a new connection.
    pub(super) fn new(options: Options) -> Congestion {
        let bic = options.bic.then(Bic::default);
        let ssthresh = if options.bic { bic::THRESHOLD } else { u64::MAX >> 2 };
        // RFC 3390 §1: min (4*MSS, max (2*MSS, 4380 bytes)).
        Congestion { cwnd: 3, ssthresh, bytes_acked: 0, count: 0, bic }
    }

    /// An ACK of an open connection acknowledged this many segments.
    pub(super) fn acked(&mut self, segments: u64) {
        if let Some(bic) = &mut self.bic {
            bic.acked(segments);
        }
    }

    /// An ACK arrived that found so much in flight. Only a window that was used grows.
    pub(super) fn acknowledged(&mut self, now: u64, in_flight: u64) {
        if in_flight < self.cwnd {
            return;
        }
        if self.cwnd <= self.ssthresh {
            // RFC 3465 §2.2: during slow start by at most L for each ACK.
            if self.bytes_acked >= MSS {
                self.bytes_acked = 0;
                self.cwnd += 1;
            }
        } else if let Some(bic) = &mut self.bic {
            if self.count >= bic.step(now, self.cwnd) {
                (self.cwnd, self.count) = (self.cwnd + 1, 0);
            } else {
                self.count += 1;
            }
        } else if self.bytes_acked >= self.cwnd * MSS {
            // RFC 3465 §2.1: by one segment whenever a window's worth of bytes was acknowledged.
            self.bytes_acked -= self.cwnd * MSS;
            self.cwnd += 1;
        }
    }

    /// Cuts the threshold: to half of the window, at least two; RFC 2581 §3.1 (3) halves what is in flight.
    pub(super) fn cut(&mut self) {
        self.ssthresh = match &mut self.bic {
            Some(bic) => bic.cut(self.cwnd),
            None => (self.cwnd >> 1).max(2),
        };
    }

    /// A cut was for nothing.
    pub(super) fn restore(&mut self) {
        self.cwnd = match &self.bic {
            Some(bic) => bic.restored(self.cwnd),
            None => self.cwnd.max(self.ssthresh << 1),
        };
    }

    /// What the threshold is worth now, should the cut that follows prove wrong.
    pub(super) fn worth(&self, is_being_cut: bool) -> u64 {
        let most = (self.cwnd >> 1) + (self.cwnd >> 2);
        if is_being_cut { self.ssthresh } else { self.ssthresh.max(most) }
    }

    /// A recovery begins.
    pub(super) fn begin(&mut self) {
        (self.bytes_acked, self.count) = (0, 0);
    }

    /// A timeout: RFC 2581 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized segment".
    pub(super) fn collapse(&mut self) {
        self.cwnd = 1;
        self.begin();
        if let Some(bic) = &mut self.bic {
            bic.forget();
        }
    }

    /// An ACK of a recovery: one segment less for two of them, and never more than one above what is in flight.
    pub(super) fn shrink(&mut self, in_flight: u64) {
        let due = self.count + 1;
        self.count = due & 1;
        let least = if self.bic.is_some() { self.ssthresh } else { self.ssthresh / 2 };
        if due >= 2 && self.cwnd > least {
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
