//! What became of each transmission, where both ends were captured: which arrived, which were lost,
//! and which were not needed because an earlier one of the same chunk arrived.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::flow::ms;
use crate::statistics::Delays;

/// Chunks are kept until so many newer ones are acknowledged, for copies that come late.
const LATE: u64 = 1024;
/// A number so far beyond the last one is damaged.
const FARTHEST: u64 = 1 << 18;

/// A chunk as it passed one of the two places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) at: u64,
    /// Checksum of its packet, which tells packets with the same chunk apart.
    pub(super) checksum: u32,
    pub(super) path: u16,
}

#[derive(Clone, Debug, Default)]
struct Fate {
    sent: SmallVec<[Sighting; 1]>,
    arrived: SmallVec<[Sighting; 1]>,
}

/// Transmissions of one direction.
#[derive(Debug, Default)]
pub(super) struct Fates {
    /// Number of the first of `chunks`.
    base: u64,
    /// Whether anything was judged: then what is before `base` is not looked at any more.
    judged: bool,
    chunks: VecDeque<Fate>,
    /// Transmissions that were seen at the sender, and those of them that arrived.
    pub(super) sent: u64,
    pub(super) arrived: u64,
    /// Retransmissions, and those that were not needed.
    pub(super) again: u64,
    pub(super) unnecessary: u64,
    /// Chunks that arrived more often than they were sent: the network made copies.
    pub(super) copies: u64,
    /// Chunks of which no transmission arrived.
    pub(super) never: u64,
    /// From one place to the other.
    pub(super) one_way: Delays,
    /// Those that were lost, by path.
    pub(super) lost: Vec<u64>,
}

impl Fates {
    fn chunk(&mut self, number: u64) -> Option<&mut Fate> {
        if self.base == 0 {
            self.base = number;
        }
        // The first chunk that is seen may not be the first one of the direction.
        while number < self.base && !self.judged && self.base - number <= LATE {
            self.chunks.push_front(Fate::default());
            self.base -= 1;
        }
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        if index as u64 > self.chunks.len() as u64 + FARTHEST {
            return None;
        }
        if index >= self.chunks.len() {
            self.chunks.resize(index + 1, Fate::default());
        }
        self.chunks.get_mut(index)
    }

    /// A chunk leaves its sender.
    pub(super) fn sent(&mut self, number: u64, sighting: Sighting) {
        if let Some(chunk) = self.chunk(number) {
            chunk.sent.push(sighting);
        }
    }

    /// A chunk arrives; whether it does for the first time, as far as that is remembered.
    pub(super) fn arrived(&mut self, number: u64, sighting: Sighting) -> bool {
        let Some(chunk) = self.chunk(number) else { return false };
        chunk.arrived.push(sighting);
        chunk.arrived.len() == 1
    }

    /// When a chunk was sent for the first time.
    pub(super) fn first_sent(&self, number: u64) -> Option<u64> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.chunks.get(index)?.sent.first().map(|sighting| sighting.at)
    }

    /// Everything before `next` is acknowledged: judges what is old enough. `unnecessary` is told
    /// the number and count of each retransmission that was not needed.
    pub(super) fn acknowledged(&mut self, next: u64, unnecessary: &mut dyn FnMut(u64, u32)) {
        self.judge(next.saturating_sub(LATE), unnecessary);
    }

    /// Judges everything.
    pub(super) fn finish(&mut self, unnecessary: &mut dyn FnMut(u64, u32)) {
        self.judge(u64::MAX, unnecessary);
    }

    fn judge(&mut self, before: u64, unnecessary: &mut dyn FnMut(u64, u32)) {
        while self.base < before {
            let Some(chunk) = self.chunks.pop_front() else { return };
            let number = self.base;
            self.base += 1;
            self.judged = true;
            self.fate(number, &chunk, unnecessary);
        }
    }

    fn fate(&mut self, number: u64, chunk: &Fate, unnecessary: &mut dyn FnMut(u64, u32)) {
        if chunk.sent.is_empty() {
            return;
        }
        self.sent += chunk.sent.len() as u64;
        self.again += chunk.sent.len() as u64 - 1;
        let mut open: SmallVec<[bool; 4]> = SmallVec::from_elem(true, chunk.sent.len());
        let mut needed = None;
        for (index, arrival) in chunk.arrived.iter().enumerate() {
            let Some(transmission) = self.transmission(chunk, &open, index, arrival) else {
                self.copies += 1;
                continue;
            };
            open[transmission] = false;
            self.arrived += 1;
            self.one_way.note(ms(chunk.sent[transmission].at, arrival.at));
            needed = Some(needed.map_or(transmission, |needed: usize| needed.min(transmission)));
        }
        for (sighting, _) in chunk.sent.iter().zip(&open).filter(|(_, open)| **open) {
            let path = usize::from(sighting.path);
            if self.lost.len() <= path {
                self.lost.resize(path + 1, 0);
            }
            self.lost[path] += 1;
        }
        match needed {
            None => self.never += 1,
            // The first transmission that arrived made all later ones needless.
            Some(needed) => {
                for count in needed + 1..chunk.sent.len() {
                    self.unnecessary += 1;
                    unnecessary(number, count as u32);
                }
            }
        }
    }

    /// Which of the transmissions that are `open` arrived in the arrival with this index.
    fn transmission(
        &self,
        chunk: &Fate,
        open: &[bool],
        index: usize,
        arrival: &Sighting,
    ) -> Option<usize> {
        let same = |sighting: &Sighting| sighting.checksum == arrival.checksum;
        let all = || {
            let sent = chunk.sent.iter().enumerate();
            sent.filter(|(n, sent)| open[*n] && same(sent) && sent.at <= arrival.at).map(|(n, _)| n)
        };
        let arrivals = chunk.arrived[index..].iter().filter(|other| same(other)).count();
        let candidates = chunk.sent.iter().enumerate().filter(|(n, s)| open[*n] && same(s)).count();
        // If all of them arrive, they do in order; if some were lost, the first one that arrived
        // is the last that the fastest packet would have overtaken.
        if candidates <= arrivals {
            return all().next();
        }
        let fastest = self.one_way.min().unwrap_or(0.0);
        let possible = |n: &usize| ms(chunk.sent[*n].at, arrival.at) >= fastest;
        all().rfind(possible).or_else(|| all().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, checksum: u32) -> Sighting {
        Sighting { at: ms * 1_000_000, checksum, path: 0 }
    }

    #[test]
    fn what_arrived_decides() {
        let mut f = Fates::default();
        // 5000: arrives, is sent again nevertheless, and that copy arrives as well.
        f.sent(5000, at(0, 1));
        assert!(f.arrived(5000, at(50, 1)));
        f.sent(5000, at(200, 2));
        assert!(!f.arrived(5000, at(250, 2)));
        // 5001: lost twice, in packets that look alike; the third arrives.
        for ms in [10, 110, 310] {
            f.sent(5001, at(ms, 3));
        }
        assert!(f.arrived(5001, at(360, 3)));
        // 5002: never arrives. 5003: the second, needless one is lost.
        f.sent(5002, at(20, 4));
        f.sent(5003, at(20, 5));
        f.arrived(5003, at(70, 5));
        f.sent(5003, at(220, 6));
        let mut needless = Vec::new();
        f.finish(&mut |number, count| needless.push((number, count)));
        assert_eq!(needless, [(5000, 1), (5003, 1)]);
        assert_eq!((f.sent, f.arrived, f.again, f.unnecessary), (8, 4, 4, 2));
        assert_eq!((f.lost.as_slice(), f.never, f.copies), (&[4][..], 1, 0));
        let one_way = f.one_way.summary().unwrap();
        assert_eq!((one_way.min_ms, one_way.max_ms), (50.0, 50.0));
    }

    #[test]
    fn the_first_that_is_seen_need_not_be_the_first() {
        let mut f = Fates::default();
        f.sent(7000, at(1, 1));
        f.sent(6998, at(0, 2));
        assert!(f.arrived(6998, at(50, 2)) && f.arrived(7000, at(51, 1)));
        f.sent(7000 - 2 * LATE, at(2, 3));
        f.acknowledged(6999 + LATE, &mut |_, _| ());
        f.sent(6998, at(100, 4));
        f.finish(&mut |_, _| panic!("what was judged is not judged again"));
        assert_eq!((f.sent, f.arrived), (2, 2));
    }

    #[test]
    fn copies_of_the_network_are_no_retransmissions() {
        let mut f = Fates::default();
        f.sent(1, at(0, 1));
        f.arrived(1, at(50, 1));
        f.arrived(1, at(51, 1));
        f.finish(&mut |_, _| panic!("nothing was sent again"));
        assert_eq!((f.sent, f.arrived, f.copies), (1, 1, 1));
    }
}
