//! Controlled delay: packets are dropped at the head of the queue once all of them have waited too long.
//!
//! Source: Nichols, Jacobson, McGregor & Iyengar, RFC 8289, "Controlled Delay Active Queue Management", 2018
//! (§5, pseudocode). Idea: a queue that never empties within an interval is a standing one, and its shortest wait says
//! so whatever the bandwidth; from then on a packet is dropped each time that a shrinking interval ends, until the
//! wait is short again.
//!
//! ```text
//! standing:  the packet at the head has waited for TARGET or longer, and so had all others for INTERVAL;
//!            a queue of no more than one packet of the largest size is none
//! dropping:  drop_next <- drop_next + INTERVAL / sqrt(count)     count: drops since dropping began
//! again:     count <- drops of the spell before, if it ended less than 16 INTERVALs ago and had more than one
//! ```
//!
//! With `ecn` a packet that may be marked is marked instead of dropped, and leaves (RFC 8289 §5.5 leaves that to the
//! implementation; so does Linux). What exceeds the limits of the queue is dropped at its tail, and counted as
//! with drop tail.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, MAX_MILLIS, fault};
use crate::time::Nanos;

/// A spell of drops that begins within this many intervals of the end of the one before goes on where that ended
/// (RFC 8289 §5.5).
const MEMORY: u64 = 16;

/// Controlled delay: the table `codel` of a [`LinkConfig`](crate::LinkConfig).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConfig {
    /// The wait, in milliseconds, that a standing queue may cause. More than 0, less than `interval_ms`. Default 5
    /// (RFC 8289 §4.4).
    pub target_ms: f64,
    /// For how long, in milliseconds, every packet must have waited longer before the first is dropped: about the
    /// longest usual round trip. Default 100 (RFC 8289 §4.3).
    pub interval_ms: f64,
    /// Packets of an ECN-capable transport are marked instead of dropped. Default `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> CodelConfig {
        CodelConfig { target_ms: 5.0, interval_ms: 100.0, ecn: false }
    }
}

impl CodelConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let CodelConfig { target_ms, interval_ms, ecn: _ } = *self;
        if !(interval_ms > 0.0 && interval_ms <= MAX_MILLIS) {
            let reason =
                format!("more than 0 and up to {MAX_MILLIS} ms are needed, not {interval_ms}");
            return fault("codel.interval_ms", reason);
        }
        if !(target_ms > 0.0 && target_ms < interval_ms) {
            let reason = format!(
                "more than 0 and less than interval_ms = {interval_ms} is needed, not {target_ms}"
            );
            return fault("codel.target_ms", reason);
        }
        Ok(())
    }
}

/// What CoDel asks of a queue.
pub(super) trait Line {
    type Entry;

    /// Takes the first packet, with how long it has waited and the bytes that still wait behind it.
    fn take(&mut self) -> Option<(Self::Entry, Nanos, u64)>;

    /// Drops a packet that was taken.
    fn drop(&mut self, entry: Self::Entry);

    /// Marks a packet that was taken; `false` if it may not be marked.
    fn mark(&mut self, entry: &mut Self::Entry) -> bool;
}

/// The state of one queue, named as in the RFC.
#[derive(Clone, Debug)]
pub(super) struct Codel {
    target: Nanos,
    interval: Nanos,
    /// Bytes of the largest packet so far.
    max_packet: u64,
    /// When all will have waited too long for an interval; `None` while one did not.
    first_above_time: Option<Nanos>,
    /// When the next packet is dropped.
    drop_next: Nanos,
    count: u64,
    last_count: u64,
    dropping: bool,
    ecn: bool,
}

impl Codel {
    pub(super) fn new(config: &CodelConfig) -> Codel {
        Codel {
            target: Nanos::from_millis_f64(config.target_ms),
            interval: Nanos::from_millis_f64(config.interval_ms),
            max_packet: 0,
            first_above_time: None,
            drop_next: Nanos::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            ecn: config.ecn,
        }
    }

    /// The state goes on under new settings.
    pub(super) fn reconfigure(&mut self, config: &CodelConfig) {
        let Codel { target, interval, ecn, .. } = Codel::new(config);
        (self.target, self.interval, self.ecn) = (target, interval, ecn);
    }

    /// A packet of this many bytes enters the queue.
    pub(super) fn enters(&mut self, bytes: u64) {
        self.max_packet = self.max_packet.max(bytes);
    }

    /// `deque`: the next packet to send, after those that are dropped.
    pub(super) fn dequeue<L: Line>(&mut self, now: Nanos, line: &mut L) -> Option<L::Entry> {
        let (mut entry, mut ok_to_drop) = self.take(now, line)?;
        if self.dropping {
            self.dropping = ok_to_drop;
            // Several may be due at once where much waits.
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if self.ecn && line.mark(&mut entry) {
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(entry);
                }
                line.drop(entry);
                (entry, ok_to_drop) = self.take(now, line)?;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            if !(self.ecn && line.mark(&mut entry)) {
                line.drop(entry);
                (entry, _) = self.take(now, line)?;
            }
            self.dropping = true;
            let before = self.count - self.last_count;
            let recent = now - self.drop_next < Nanos::new(MEMORY * self.interval.get());
            self.count = if before > 1 && recent { before } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.control_law(now);
        }
        Some(entry)
    }

    fn control_law(&self, from: Nanos) -> Nanos {
        from + Nanos::new((self.interval.get() as f64 / (self.count as f64).sqrt()) as u64)
    }

    /// `dodequeue`: the first packet, and whether the queue has stood for so long that it may be dropped.
    fn take<L: Line>(&mut self, now: Nanos, line: &mut L) -> Option<(L::Entry, bool)> {
        let Some((entry, waited, behind)) = line.take() else {
            self.first_above_time = None;
            return None;
        };
        if waited < self.target || behind <= self.max_packet {
            self.first_above_time = None;
            return Some((entry, false));
        }
        let above = self.first_above_time;
        self.first_above_time = above.or(Some(now + self.interval));
        Some((entry, above.is_some_and(|above| now >= above)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A queue of packets that have all waited for `waited`, with this many bytes behind each.
    struct Standing {
        waited: Nanos,
        behind: u64,
        dropped: u32,
        marked: u32,
    }

    impl Line for Standing {
        type Entry = ();

        fn take(&mut self) -> Option<((), Nanos, u64)> {
            Some(((), self.waited, self.behind))
        }

        fn drop(&mut self, (): ()) {
            self.dropped += 1;
        }

        fn mark(&mut self, (): &mut ()) -> bool {
            self.marked += 1;
            true
        }
    }

    #[test]
    fn marks_are_as_many_as_drops() {
        let standing = || Standing { waited: MS(20), behind: 30_000, dropped: 0, marked: 0 };
        let (mut line, mut marking) = (standing(), standing());
        let (mut codel, mut ecn) = (codel(), codel());
        ecn.ecn = true;
        for at in 0..430 {
            codel.dequeue(MS(at), &mut line);
            assert_eq!(ecn.dequeue(MS(at), &mut marking), Some(()));
        }
        assert_eq!((line.marked, marking.dropped), (0, 0));
        assert_eq!(marking.marked, line.dropped);
        assert!(marking.marked > 3);
    }

    fn codel() -> Codel {
        let mut codel = Codel::new(&CodelConfig::default());
        codel.enters(1500);
        codel
    }

    /// Moments, in milliseconds, at which packets are dropped when one leaves every millisecond.
    fn drops(codel: &mut Codel, line: &mut Standing, from: u64, to: u64) -> Vec<u64> {
        let mut moments = Vec::new();
        for at in from..to {
            let before = line.dropped;
            codel.dequeue(MS(at), line);
            moments.extend(std::iter::repeat_n(at, (line.dropped - before) as usize));
        }
        moments
    }

    #[test]
    fn a_standing_queue_is_dropped_from_ever_more_often() {
        let mut line = Standing { waited: MS(5), behind: 9000, dropped: 0, marked: 0 };
        // One interval of 100 ms after the first long wait, then after 100 / sqrt(n) ms more: 100.0, 70.7, 57.7,
        // 50.0 and 44.7 ms.
        let moments = drops(&mut codel(), &mut line, 0, 430);
        assert_eq!(moments, [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn a_short_wait_or_a_single_packet_behind_ends_it() {
        for line in [
            Standing { waited: Nanos::new(4_999_999), behind: 9000, dropped: 0, marked: 0 },
            Standing { waited: MS(50), behind: 1500, dropped: 0, marked: 0 },
        ] {
            let (mut short, mut codel) = (line, codel());
            assert!(drops(&mut codel, &mut short, 0, 1000).is_empty());
            let mut long = Standing { waited: MS(5), behind: 9000, dropped: 0, marked: 0 };
            assert_eq!(drops(&mut codel, &mut long, 1000, 1150), [1100]);
            assert!(drops(&mut codel, &mut short, 1150, 2000).is_empty());
        }
    }

    #[test]
    fn a_spell_that_follows_soon_goes_on_where_the_last_one_ended() {
        let (mut soon, mut late) = (codel(), codel());
        let mut long = Standing { waited: MS(5), behind: 9000, dropped: 0, marked: 0 };
        let mut short = Standing { waited: MS(1), behind: 9000, dropped: 0, marked: 0 };
        for codel in [&mut soon, &mut late] {
            assert_eq!(drops(codel, &mut long, 0, 430).len(), 6);
            assert_eq!(codel.count, 6);
            drops(codel, &mut short, 430, 500);
        }
        // 6 drops, 5 more than at its beginning: the second one comes after 100 / sqrt(5) = 44.7 ms.
        assert_eq!(drops(&mut soon, &mut long, 500, 650), [600, 645]);
        // After 16 intervals all is forgotten.
        drops(&mut late, &mut short, 500, 2100);
        assert_eq!(drops(&mut late, &mut long, 2100, 2310), [2200, 2300]);
    }

    #[test]
    fn what_is_overdue_is_dropped_at_once() {
        let mut codel = codel();
        let mut line = Standing { waited: MS(5), behind: 9000, dropped: 0, marked: 0 };
        assert_eq!(drops(&mut codel, &mut line, 0, 101), [100]);
        // Nothing left for 200 ms: the drops of 200, 271 (70.7 ms later) and 329 ms have waited, but for the last.
        codel.dequeue(MS(300), &mut line);
        assert_eq!(line.dropped, 3);
    }

    #[test]
    fn settings_are_checked() {
        let bad =
            |target_ms, interval_ms| CodelConfig { target_ms, interval_ms, ecn: false }.validate();
        assert_eq!(CodelConfig::default().validate(), Ok(()));
        for (target, interval, key) in [
            (0.0, 100.0, "codel.target_ms"),
            (100.0, 100.0, "codel.target_ms"),
            (f64::NAN, 100.0, "codel.target_ms"),
            (5.0, f64::INFINITY, "codel.interval_ms"),
            (5.0, 0.0, "codel.interval_ms"),
        ] {
            assert_eq!(bad(target, interval).unwrap_err().key, key);
        }
    }
}
