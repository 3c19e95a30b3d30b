//! What became of each transmission, where both ends were captured: which arrived, which were lost,
//! and which were not needed because an earlier one of the same chunk arrived.
//!
//! This is the one place where that is inferred. A chunk is judged when it is acknowledged and nothing
//! was seen of it for a minute, or when the captures end, so that whatever comes late still counts.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::ways::Ways;
use crate::flow::ms;
use crate::statistics::Delays;

/// Nothing is under way for so long, in nanoseconds.
const QUIET: u64 = 60_000_000_000;
/// This many acknowledged chunks are kept at most, and this many where one end only was captured, where
/// nothing is known but which have arrived.
const MOST: u64 = 1 << 17;
const MOST_ARRIVED: u64 = 1024;
/// A number so far beyond the last one is damaged.
const FARTHEST: u64 = 1 << 17;
/// This many chunks are kept at most: the oldest are judged by what was seen until then.
const MOST_CHUNKS: usize = 1 << 18;
/// This many transmissions and arrivals of one chunk are told apart.
const MOST_SIGHTINGS: usize = 256;

/// A chunk as it passed one of the two places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) at: u64,
    /// Its packet, as the capture counts or IP numbers it; 0 if nobody does.
    pub(super) id: u64,
    /// Checksum of its packet, which tells packets with the same chunk apart.
    pub(super) checksum: u32,
    pub(super) path: u16,
    /// Whether the addresses are known, so that packets over different paths are different.
    pub(super) addressed: bool,
}

impl Sighting {
    /// Whether both may be the same packet.
    fn like(&self, other: &Sighting) -> bool {
        let path = self.path == other.path || !self.addressed || !other.addressed;
        self.checksum == other.checksum && path
    }

    /// Whether both are the same packet for certain.
    fn same(&self, other: &Sighting) -> bool {
        self.id != 0 && self.id == other.id && self.like(other)
    }
}

#[derive(Clone, Debug, Default)]
struct Fate {
    sent: SmallVec<[Sighting; 1]>,
    arrived: SmallVec<[Sighting; 1]>,
}

impl Fate {
    /// When it was last seen anywhere.
    fn last(&self) -> u64 {
        self.sent.last().into_iter().chain(self.arrived.last()).map(|s| s.at).max().unwrap_or(0)
    }
}

/// Earlier transmissions of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Earlier {
    pub(super) count: u32,
    /// When it was first and last sent.
    pub(super) first: u64,
    pub(super) last: u64,
}

/// What is told of a transmission: the number of its chunk, and for the how manyeth time it was sent
/// again, 0 for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// It was sent again although an earlier transmission arrived.
    Needless { number: u64, count: u32 },
    /// It was lost; sent at that time, that way.
    Lost { number: u64, count: u32, at: u64, path: u16 },
}

/// Transmissions of one direction.
#[derive(Debug, Default)]
pub(super) struct Fates {
    /// Number of the first of `chunks`.
    base: u64,
    /// Whether anything was judged: then what is before `base` is not looked at any more.
    judged: bool,
    chunks: VecDeque<Fate>,
    ways: Ways,
    /// Transmissions that were seen at the sender, and what became of them.
    pub(super) sent: u64,
    pub(super) arrived: u64,
    pub(super) lost: u64,
    /// Those that may still have been under way when the captures ended.
    pub(super) under_way: u64,
    /// Retransmissions, and those that were not needed.
    pub(super) again: u64,
    pub(super) unnecessary: u64,
    /// Chunks that arrived more often than they were sent: the network made copies.
    pub(super) copies: u64,
    /// Chunks of which no transmission arrived.
    pub(super) never: u64,
    /// From one place to the other.
    pub(super) one_way: Delays,
}

impl Fates {
    fn chunk(&mut self, number: u64) -> Option<&mut Fate> {
        if self.base == 0 {
            self.base = number;
        }
        // The first chunk that is seen may not be the first one of the direction.
        while number < self.base && !self.judged && self.base - number <= MOST_ARRIVED {
            self.chunks.push_front(Fate::default());
            self.base -= 1;
        }
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        if index as u64 > self.chunks.len() as u64 + FARTHEST {
            return None;
        }
        if index >= self.chunks.len() {
            self.chunks.resize(index + 1, Fate::default());
            while self.chunks.len() > MOST_CHUNKS {
                self.judge_first(None, &mut |_| {});
            }
        }
        self.chunks.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    fn get(&self, number: u64) -> Option<&Fate> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.chunks.get(index)
    }

    /// A chunk leaves its sender.
    pub(super) fn sent(&mut self, number: u64, sighting: Sighting) {
        if let Some(chunk) = self.chunk(number)
            && chunk.sent.len() < MOST_SIGHTINGS
        {
            chunk.sent.push(sighting);
        }
    }

    /// A chunk arrives; whether it does for the first time, as far as that is remembered.
    pub(super) fn arrived(&mut self, number: u64, sighting: Sighting) -> bool {
        let Some(chunk) = self.chunk(number) else { return false };
        let first = chunk.arrived.is_empty();
        if chunk.arrived.len() < MOST_SIGHTINGS {
            chunk.arrived.push(sighting);
        }
        let mut candidates = chunk.sent.iter().filter(|sent| sent.like(&sighting));
        if let (Some(sent), None) = (candidates.next().copied(), candidates.next()) {
            self.ways.taken(sent.path, sent.at, sighting.at);
        }
        first
    }

    /// How many chunks are kept.
    pub(super) fn held(&self) -> usize {
        self.chunks.len()
    }

    /// When a chunk was sent for the first time.
    pub(super) fn first_sent(&self, number: u64) -> Option<u64> {
        self.get(number)?.sent.first().map(|sighting| sighting.at)
    }

    /// How often a chunk was sent so far, if that is remembered.
    pub(super) fn earlier(&self, number: u64) -> Option<Earlier> {
        let sent = &self.get(number)?.sent;
        let (first, last) = (sent.first()?.at, sent.last()?.at);
        Some(Earlier { count: sent.len() as u32, first, last })
    }

    /// Everything before `next` is acknowledged at `now`: judges what is old enough.
    pub(super) fn acknowledged(&mut self, next: u64, now: u64, tell: &mut dyn FnMut(Verdict)) {
        while let Some(chunk) = self.chunks.front()
            && let Some(newer) = next.checked_sub(self.base + 1)
        {
            let most = if chunk.sent.is_empty() { MOST_ARRIVED } else { MOST };
            if newer < most && now.saturating_sub(chunk.last()) < QUIET {
                return;
            }
            self.judge_first(None, tell);
        }
    }

    /// The captures have ended at `now`: judges everything.
    pub(super) fn finish(&mut self, now: u64, tell: &mut dyn FnMut(Verdict)) {
        while !self.chunks.is_empty() {
            self.judge_first(Some(now), tell);
        }
    }

    fn judge_first(&mut self, end: Option<u64>, tell: &mut dyn FnMut(Verdict)) {
        let Some(chunk) = self.chunks.pop_front() else { return };
        let number = self.base;
        self.base += 1;
        self.judged = true;
        if chunk.sent.is_empty() {
            return;
        }
        self.sent += chunk.sent.len() as u64;
        self.again += chunk.sent.len() as u64 - 1;
        let mut open: SmallVec<[bool; 4]> = SmallVec::from_elem(true, chunk.sent.len());
        let mut needed = None;
        for (index, arrival) in chunk.arrived.iter().enumerate() {
            let Some(transmission) = self.transmission(&chunk, &open, index, arrival) else {
                self.copies += 1;
                continue;
            };
            open[transmission] = false;
            self.arrived += 1;
            self.one_way.note(ms(chunk.sent[transmission].at, arrival.at));
            needed = Some(needed.map_or(transmission, |needed: usize| needed.min(transmission)));
        }
        self.never += u64::from(needed.is_none());
        for (index, sent) in chunk.sent.iter().enumerate() {
            let (count, Sighting { at, path, .. }) = (index as u32, *sent);
            match end {
                _ if !open[index] => {}
                Some(end) if self.ways.may_be_under_way(path, at, end) => self.under_way += 1,
                _ => {
                    self.lost += 1;
                    tell(Verdict::Lost { number, count, at, path });
                }
            }
            // The first transmission that arrived made all later ones needless.
            if needed.is_some_and(|needed| needed < index) {
                self.unnecessary += 1;
                tell(Verdict::Needless { number, count });
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
        let sent = || chunk.sent.iter().enumerate();
        // Who captured it knows which packet it was, or its IP header tells.
        if sent().any(|(_, sent)| sent.same(arrival)) {
            return sent().find(|(n, sent)| open[*n] && sent.same(arrival)).map(|(n, _)| n);
        }
        let like = |sighting: &Sighting| sighting.like(arrival);
        let all =
            || sent().filter(|(n, s)| open[*n] && like(s) && s.at <= arrival.at).map(|(n, _)| n);
        let arrivals = chunk.arrived[index..].iter().filter(|other| like(other)).count();
        let candidates = sent().filter(|(n, s)| open[*n] && like(s)).count();
        // If all of them arrive, they do in order; if some were lost, the first one that arrived
        // is the last that the fastest packet would have overtaken.
        if candidates <= arrivals {
            return all().next();
        }
        let possible = |n: &usize| {
            let sent = &chunk.sent[*n];
            arrival.at - sent.at >= self.ways.fastest(sent.path)
        };
        all().rfind(possible).or_else(|| all().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, checksum: u32) -> Sighting {
        Sighting { at: ms * 1_000_000, id: 0, checksum, path: 0, addressed: true }
    }

    fn lost(number: u64, count: u32, ms: u64) -> Verdict {
        Verdict::Lost { number, count, at: ms * 1_000_000, path: 0 }
    }

    fn needless(number: u64, count: u32) -> Verdict {
        Verdict::Needless { number, count }
    }

    /// What is found at the end, long after everything.
    fn finish(f: &mut Fates) -> Vec<Verdict> {
        let mut found = Vec::new();
        f.finish(u64::MAX, &mut |verdict| found.push(verdict));
        found
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
        let expected = [
            needless(5000, 1),
            lost(5001, 0, 10),
            lost(5001, 1, 110),
            lost(5002, 0, 20),
            lost(5003, 1, 220),
            needless(5003, 1),
        ];
        assert_eq!(finish(&mut f), expected);
        assert_eq!((f.sent, f.arrived, f.again, f.unnecessary), (8, 4, 4, 2));
        assert_eq!((f.lost, f.never, f.copies), (4, 1, 0));
        let one_way = f.one_way.summary().unwrap();
        assert_eq!((one_way.min_ms, one_way.max_ms), (50.0, 50.0));
    }

    #[test]
    fn the_first_chunks_already_know_how_long_the_way_is() {
        let mut f = Fates::default();
        // Sent again just before it arrives, in a packet that looks alike and is lost.
        f.sent(1, at(0, 1));
        f.sent(1, at(40, 1));
        f.arrived(1, at(50, 1));
        f.sent(2, at(60, 2));
        f.arrived(2, at(110, 2));
        assert_eq!(finish(&mut f), [lost(1, 1, 40), needless(1, 1)]);
    }

    #[test]
    fn packets_are_told_apart_by_path_and_number() {
        let mut f = Fates::default();
        let numbered = |ms, id| Sighting { id, ..at(ms, 1) };
        // Looking alike, over two paths: that of the first arrives, after the second was sent.
        f.sent(1, at(0, 1));
        f.sent(1, Sighting { path: 1, ..at(30, 1) });
        f.arrived(1, at(90, 1));
        // Where one capture does not know the addresses, times decide.
        f.sent(2, Sighting { path: 1, ..at(100, 1) });
        f.arrived(2, Sighting { addressed: false, ..at(150, 1) });
        // Numbered: the first one arrives, very late and twice.
        f.sent(3, numbered(200, 7));
        f.sent(3, numbered(300, 8));
        f.arrived(3, numbered(360, 7));
        f.arrived(3, numbered(361, 7));
        // Numbers that do not agree tell nothing.
        f.sent(4, numbered(400, 9));
        f.arrived(4, numbered(450, 1));
        let second = Verdict::Lost { number: 1, count: 1, at: 30_000_000, path: 1 };
        let expected = [second, needless(1, 1), lost(3, 1, 300), needless(3, 1)];
        assert_eq!(finish(&mut f), expected);
        assert_eq!((f.arrived, f.copies), (4, 1));
    }

    #[test]
    fn what_is_sent_at_the_end_may_be_under_way() {
        let mut f = Fates::default();
        for number in 1..=3 {
            f.sent(number, at(10 * number, number as u32));
        }
        f.sent(4, at(200, 4));
        f.arrived(2, at(70, 2));
        let mut found = Vec::new();
        f.finish(210_000_000, &mut |verdict| found.push(verdict));
        // What was sent before the second would have come, and the third took too long.
        assert_eq!(found, [lost(1, 0, 10), lost(3, 0, 30)]);
        assert_eq!((f.lost, f.under_way, f.sent, f.arrived), (2, 1, 4, 1));
    }

    #[test]
    fn what_comes_late_still_counts() {
        let mut f = Fates::default();
        f.sent(1, at(0, 0));
        f.sent(1, at(3000, 1));
        f.arrived(1, at(3050, 1));
        let mut found = Vec::new();
        for number in 2..2 * MOST_ARRIVED {
            f.sent(number, at(4000, 2));
            f.arrived(number, at(4050, 2));
            f.acknowledged(number, 4_050_000_000, &mut |verdict| found.push(verdict));
        }
        f.arrived(1, at(5000, 0));
        assert_eq!(f.earlier(1), Some(Earlier { count: 2, first: 0, last: 3_000_000_000 }));
        f.acknowledged(2 * MOST_ARRIVED, 70_000_000_000, &mut |verdict| found.push(verdict));
        assert_eq!((found.as_slice(), f.earlier(1)), (&[needless(1, 1)][..], None));
    }

    #[test]
    fn the_first_that_is_seen_need_not_be_the_first() {
        let mut f = Fates::default();
        f.sent(7000, at(1, 1));
        f.sent(6998, at(0, 2));
        assert!(f.arrived(6998, at(50, 2)) && f.arrived(7000, at(51, 1)));
        f.sent(7000 - 2 * MOST_ARRIVED, at(2, 3));
        f.acknowledged(6999, 1 << 40, &mut |_| ());
        f.sent(6998, at(100, 4));
        assert_eq!(finish(&mut f), [], "what was judged is not judged again");
        assert_eq!((f.sent, f.arrived), (2, 2));
    }

    #[test]
    fn copies_of_the_network_are_no_retransmissions() {
        let mut f = Fates::default();
        f.sent(1, at(0, 1));
        f.arrived(1, at(50, 1));
        f.arrived(1, at(51, 1));
        assert_eq!(finish(&mut f), []);
        assert_eq!((f.sent, f.arrived, f.copies), (1, 1, 1));
    }
}
