//! BIC, the congestion control that Linux had by default from 2.6.8 to 2.6.18.
//!
//! Xu, Harfoush & Rhee (2004), *Binary increase congestion control (BIC) for fast long-distance networks*, §III, as Linux
//! has it. Up to 14 segments the window grows and is halved as that of Reno, but ACKs are counted, not bytes: it grows by
//! a segment with every (cwnd + 1)th ACK. Above, cwnd is cut by a fifth only, and then searches for Wmax, what it was when
//! it was cut: it grows by (Wmax − cwnd)/4 each round trip, at most by 16 segments, near Wmax by 1/5, and beyond it as
//! slowly as it came. A recovery does not shrink it below the threshold, which Reno does.

/// Up to this window it is Reno.
const LOW: u64 = 14;
/// What a cut leaves, in 1024ths.
const KEPT: u64 = 819;
/// The window grows by this many segments a round trip at most.
const MOST: u64 = 16;
/// By which part of the distance it grows.
const PART: u64 = 4;
/// Round trips for a segment near Wmax, times `PART`.
const SMOOTH: u64 = 20;
/// The step is looked at again after this many ticks.
const AGAIN: u64 = 7;
/// Where the first slow start ends.
pub(super) const THRESHOLD: u64 = 100;

/// What it keeps of a connection.
#[derive(Clone, Debug)]
pub(super) struct Bic {
    /// The window when it was cut last; 0: it was not.
    max: u64,
    /// ACKs for a segment more.
    step: u64,
    /// For which window and when that was found.
    found: (u64, u64),
    /// Segments that an ACK acknowledges, in 16ths.
    ratio: u64,
}

impl Default for Bic {
    fn default() -> Bic {
        Bic { max: 0, step: 0, found: (0, 0), ratio: 2 << 4 }
    }
}

impl Bic {
    /// An ACK of an open connection acknowledged this many segments.
    pub(super) fn acked(&mut self, segments: u64) {
        self.ratio = self.ratio + segments - (self.ratio >> 4);
    }

    /// How many ACKs bring a segment more.
    pub(super) fn step(&mut self, now: u64, cwnd: u64) -> u64 {
        if self.found.0 == cwnd && now - self.found.1 <= AGAIN {
            return self.step;
        }
        self.found = (cwnd, now);
        self.step = if cwnd <= LOW { cwnd } else { self.searching(cwnd) };
        self.step
    }

    fn searching(&self, cwnd: u64) -> u64 {
        let slow = cwnd * SMOOTH / PART;
        let step = match self.max.checked_sub(cwnd).filter(|distance| *distance > 0) {
            Some(distance) if distance / PART > MOST => cwnd / MOST,
            Some(distance) if distance / PART <= 1 => slow,
            Some(distance) => cwnd / (distance / PART),
            None if cwnd < self.max + PART => slow,
            None if cwnd < self.max + MOST * (PART - 1) => cwnd * (PART - 1) / (cwnd - self.max),
            None => cwnd / MOST,
        };
        // Before the first cut by a twentieth each round trip.
        let step = if self.max == 0 { step.min(20) } else { step };
        ((step << 4) / self.ratio.max(1)).max(1)
    }

    /// The window is cut: what is left.
    pub(super) fn cut(&mut self, cwnd: u64) -> u64 {
        // Fast convergence: who is below Wmax leaves room to others.
        self.max = if cwnd < self.max { cwnd * (1024 + KEPT) / 2048 } else { cwnd };
        let left = if cwnd <= LOW { cwnd >> 1 } else { cwnd * KEPT / 1024 };
        left.max(2)
    }

    /// A cut was for nothing: the window then.
    pub(super) fn restored(&self, cwnd: u64) -> u64 {
        cwnd.max(self.max)
    }

    /// A timeout.
    pub(super) fn forget(&mut self) {
        *self = Bic::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_windows_are_those_of_reno() {
        let mut bic = Bic::default();
        assert_eq!([2, 8, 14].map(|cwnd| bic.step(0, cwnd)), [2, 8, 14]);
        assert_eq!([3, 9, 14].map(|cwnd| bic.cut(cwnd)), [2, 4, 7]);
    }

    #[test]
    fn large_windows_search_for_the_one_that_was_cut() {
        let mut bic = Bic { ratio: 16, ..Bic::default() };
        // §III: by a fifth.
        assert_eq!((bic.cut(200), bic.max), (159, 200));
        // A quarter of 40: 10 segments a round trip; near Wmax a fifth of one.
        assert_eq!((bic.step(0, 160), bic.step(0, 198)), (16, 198 * 5));
        // Again cut below Wmax: it converges.
        assert_eq!((bic.cut(160), bic.max), (127, 160 * 1843 / 2048));
        assert_eq!(bic.restored(128), 143);
        bic.forget();
        // 100 segments before the first cut: at least 5 each round trip.
        assert_eq!(Bic { ratio: 16, ..bic }.step(9, 100), 6);
    }

    #[test]
    fn the_ratio_of_segments_to_acks_is_smoothed() {
        let mut bic = Bic::default();
        (0..200).for_each(|_| bic.acked(1));
        assert!((16..=32).contains(&bic.ratio) && bic.ratio >> 4 == 1, "{}", bic.ratio);
    }
}
