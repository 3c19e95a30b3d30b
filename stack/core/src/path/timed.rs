//! What is timed on a path: one chunk per round trip (RFC 9260 §6.3.1 C4).

use std::time::Duration;

use crate::time::Time;

/// A chunk whose acknowledgement will be a round-trip time sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) seq: u64,
    pub(crate) sent: Time,
    /// Its SACK was asked for at once (RFC 7053).
    pub(crate) asked: bool,
    /// Bytes of the SCTP packet that it left in; 0 if routers may have fragmented that.
    pub(crate) packet: Option<usize>,
}

/// The measurement under way, and when the last ones were.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    timing: Option<Timing>,
    measured_at: Time,
    measurable_at: Time,
}

impl Timed {
    /// When the RTT was measured last.
    #[inline]
    pub(crate) const fn measured_at(&self) -> Time {
        self.measured_at
    }

    /// When a chunk that can measure the RTT was sent last: then the path is not idle.
    #[inline]
    pub(crate) const fn measurable_at(&self) -> Time {
        self.measurable_at
    }

    /// Whether `seq` is being timed.
    #[inline]
    pub(crate) fn is(&self, seq: u64) -> bool {
        self.timing.is_some_and(|timing| timing.seq == seq)
    }

    /// How long the measurement has taken.
    pub(super) fn age(&self, now: Time) -> Option<Duration> {
        self.timing.as_ref().map(|timing| now.since(timing.sent))
    }

    //= RFC 9260 6.3.1-1 6.3.1-2 6.3.1-3
    /// A new chunk left.
    ///
    /// §6.3.1 C4: one measurement per round trip.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, seq: u64, asked: bool) {
        self.timing.get_or_insert(Timing { seq, sent: now, asked, packet: None });
        self.measurable_at = now;
    }

    /// A packet leaves: the one with the chunk that is timed, if that was written just now.
    #[inline]
    pub(crate) fn on_packet(&mut self, bytes: usize, fragment: bool) {
        if let Some(timing) = &mut self.timing {
            timing.packet.get_or_insert(if fragment { 0 } else { bytes });
        }
    }

    /// The chunk that is timed, if `is_acked`: the measurement is over.
    #[inline]
    pub(crate) fn take_if(&mut self, is_acked: impl FnOnce(u64) -> bool) -> Option<Timing> {
        let timing = self.timing.filter(|timing| is_acked(timing.seq))?;
        self.timing = None;
        Some(timing)
    }

    /// Chunks were sent again: one that is among them says nothing any more.
    #[inline]
    pub(crate) fn spoil(&mut self, is_spoilt: impl FnOnce(u64) -> bool) {
        self.timing = self.timing.filter(|timing| !is_spoilt(timing.seq));
    }

    /// What is in flight is lost.
    pub(crate) fn cancel(&mut self) {
        self.timing = None;
    }

    /// The RTT was measured.
    pub(crate) fn on_rtt(&mut self, now: Time) {
        self.measured_at = now;
    }
}
