//! Which losses say that a queue overflows (TCP Veno, Fu & Liew 2003), and what those leave of the window that do
//! (H-TCP, Leith & Shorten, draft-leith-tcp-htcp-06 §4).
//!
//! Idea: RFC 9260 halves the window at every loss, so that one lost packet in a hundred leaves a window of some ten packets,
//! however much the path carries. What a full queue drops leaves behind packets that have waited in it. If the packets behind a
//! loss came as soon as any do, nothing has overflowed, and the window stays and goes on growing.
//!
//! ```text
//! base      shortest round trip of the last 10 to 20 s
//! short     the shortest of the latest three, long: the longest; a chunk that was sent twice gives none
//! queued    cwnd (1 - base / short)                                       bytes of ours that stand in the queue
//! many      lost > 2 + 3 % of what was acknowledged                       chunks; both halved at 256 acknowledged
//! random    <=> queued < 3 packets, short - base <= 5 ms, and not many
//! a loss that is random   cuts nothing, and begins no Fast Recovery of the window
//! another one             leaves min(base / long, 0.8) of the window, no less than the control; if many, what the control leaves
//! ```
//! The last line is for one path at a time: a queue as long as the path (base / long = 1/2) makes it RFC 9260's half, and
//! a shorter one drains without leaving the path empty.
//!
//! It cannot collapse, by the bounds that do not look at our own part of the queue. `many`: where several such flows share a queue of a
//! few packets each of them has less than three there, and all the same none loses more than one chunk in thirty for long. 5 ms: the
//! target of CoDel (RFC 8289), whose drops are heard where packets behind them have waited longer. Of a window of four packets three would
//! explain any queue. On a slow link a single packet takes longer: there every loss cuts. Marks (RFC 3168) are never random, nor are timeouts.

use std::time::Duration;

use crate::profile::CongestionParameters;
use crate::scoreboard::PathAck;
use crate::time::Time;
use crate::windowed::Windowed;

/// A loss is none of the queue while fewer packets of ours stand in it.
const QUEUED: f64 = 3.0;
/// Nor while a packet waits no longer than that.
const WAITED: Duration = Duration::from_millis(5);
/// Losses that are never too many.
const FEW: f64 = 2.0;
/// Of what is acknowledged, how much may be lost beyond that.
const SHARE: f64 = 0.03;
/// Chunks acknowledged after which both counts are halved.
const COUNTED: f64 = 256.0;
/// What a loss leaves of the window at most.
const KEPT: f64 = 0.8;
/// Round trips that are looked at.
const LATEST: usize = 3;

/// What the round trips and losses of one path have shown.
#[derive(Debug, Default)]
pub(crate) struct CongestionSigns {
    base: Windowed<10>,
    latest: [Duration; LATEST],
    samples: usize,
    acked: f64,
    lost: f64,
}

impl CongestionSigns {
    /// One, if a profile asks for it.
    pub(crate) fn new(parameters: &CongestionParameters) -> Option<Box<CongestionSigns>> {
        parameters.loss_differentiation.then(Box::default)
    }

    /// A SACK acknowledged something on the path.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &PathAck) {
        self.acked += ack.chunks as f64;
        if self.acked > COUNTED {
            self.acked /= 2.0;
            self.lost /= 2.0;
        }
        let Some(latest) = ack.latest.filter(|l| l.transmissions == 1 && l.sent <= now) else {
            return;
        };
        let rtt = now.since(latest.sent);
        self.base.sample(now, rtt);
        self.latest[self.samples % LATEST] = rtt;
        self.samples = self.samples.saturating_add(1);
    }

    /// A chunk is lost.
    pub(crate) fn on_lost(&mut self) {
        self.lost += 1.0;
    }

    /// Whether the loss that was found now says nothing of the queue, with a window of `cwnd` bytes in packets of `pmdcs`.
    pub(crate) fn is_random(&self, cwnd: usize, pmdcs: usize) -> bool {
        let Some(base) = self.base() else { return false };
        let short = self.latest.iter().min().map_or(base, Duration::as_secs_f64);
        let queued = cwnd as f64 * (1.0 - base / short);
        !self.are_many() && queued < QUEUED * pmdcs as f64 && short - base <= WAITED.as_secs_f64()
    }

    /// Of a window, what a loss leaves that is not random; 0 if that is for the congestion control to say.
    pub(crate) fn kept(&self) -> f64 {
        let Some(base) = self.base().filter(|_| !self.are_many()) else { return 0.0 };
        let long = self.latest.iter().max().map_or(base, Duration::as_secs_f64);
        (base / long).min(KEPT)
    }

    /// Seconds; `None` before there are enough round trips.
    fn base(&self) -> Option<f64> {
        let known = self.base.least().filter(|base| self.samples >= LATEST && !base.is_zero());
        known.as_ref().map(Duration::as_secs_f64)
    }

    fn are_many(&self) -> bool {
        self.lost > FEW + SHARE * self.acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::LatestAck;

    const PACKET: usize = 1000;

    /// Of a path whose packets took these milliseconds, one a second.
    fn after(rtts: &[u64]) -> CongestionSigns {
        let mut all = CongestionSigns::default();
        let mut now = Time::ZERO;
        for (seq, rtt) in (1..).zip(rtts) {
            let sent = now;
            now = sent + Duration::from_millis(*rtt);
            let latest = Some(LatestAck { seq, sent, transmissions: 1, once: 0, packet: 0 });
            all.on_ack(now, &PathAck { chunks: 1, latest, ..PathAck::default() });
        }
        all
    }

    #[test]
    fn a_loss_without_a_queue_is_random() {
        let path = after(&[100, 100, 101, 100]);
        assert!(path.is_random(100 * PACKET, PACKET));
        assert!(!after(&[100, 100]).is_random(100 * PACKET, PACKET), "too little is known");
        // 4 ms are four packets of a hundred, and one of twenty.
        let path = after(&[100, 104, 104, 104]);
        assert!(!path.is_random(100 * PACKET, PACKET));
        assert!(path.is_random(20 * PACKET, PACKET));
    }

    #[test]
    fn a_delay_beyond_5_ms_is_a_queue_however_little_of_it_is_ours() {
        assert!(!after(&[100, 140, 140, 140]).is_random(4 * PACKET, PACKET));
        assert!(!after(&[100, 106, 106, 106]).is_random(4 * PACKET, PACKET));
        assert!(after(&[100, 105, 105, 105]).is_random(4 * PACKET, PACKET));
    }

    #[test]
    fn many_losses_are_a_queue() {
        let mut path = after(&[100; 300]);
        // 300 acknowledged count as 172: 7 may be lost.
        (0..7).for_each(|_| path.on_lost());
        assert!(path.is_random(100 * PACKET, PACKET));
        path.on_lost();
        assert!(!path.is_random(100 * PACKET, PACKET));
        assert_eq!(path.kept(), 0.0, "and the congestion control is asked");
    }

    #[test]
    fn what_is_kept_is_what_the_path_holds() {
        let kept = |long: u64| after(&[100, 100, long]).kept();
        for (long, share) in [(100, 0.8), (125, 0.8), (160, 0.625), (200, 0.5), (400, 0.25)] {
            assert!((kept(long) - share).abs() < 1e-9, "{long}: {}", kept(long));
        }
    }

    #[test]
    fn a_round_trip_that_is_no_longer_so_short_is_forgotten() {
        let mut rtts = vec![50; 4];
        rtts.extend([1000; 40]);
        assert!(after(&rtts).is_random(100 * PACKET, PACKET));
    }
}
