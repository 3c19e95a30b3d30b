//! Puts IP packets together from their fragments (RFC 791 §3.2, RFC 8200 §4.5), in bounded memory.
//! A packet of which fragments overlap is dropped as a whole (RFC 5722 §3), of IPv4 also.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use crate::Skipped;

/// How long fragments wait for the others, in nanoseconds of the capture: RFC 8200 §4.5 has 60 s.
const TIMEOUT: u64 = 60_000_000_000;
/// This many packets wait for fragments, the newest ones.
const MOST_WAITING: usize = 1024;
/// Their bytes, together.
const MOST_BYTES: usize = 64 << 20;
/// RFC 8200 §4.5, RFC 791 §3.1: no packet is longer.
const LONGEST: usize = 65_535;

const OVERLAP: &str = "IP packets of which fragments overlap (dropped, RFC 5722)";
const INCOMPLETE: &str = "IP packets of which fragments are missing";
const MALFORMED: &str = "IP fragments with an impossible offset or length";
const CUT: &str = "IP fragments cut off by the snapshot length";

/// What the fragments of a packet have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) identification: u32,
    /// Of IPv4; IPv6 does not compare it.
    pub(crate) protocol: u8,
    /// Both ends see the same fragments.
    pub(crate) there: bool,
}

/// A fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'a> {
    pub(crate) at: u64,
    /// Where its data begins in the packet's.
    pub(crate) offset: usize,
    /// Whether others follow.
    pub(crate) more: bool,
    pub(crate) data: &'a [u8],
    /// How long its data was.
    pub(crate) original: usize,
}

#[derive(Debug)]
struct Waiting {
    since: u64,
    bytes: Vec<u8>,
    /// Begin and end of what is there, in order, none touching another.
    have: Vec<(usize, usize)>,
    /// Length of the whole, once the last fragment is there.
    length: Option<usize>,
    /// Two fragments overlapped: nothing of this packet is believed, also of what comes.
    dropped: bool,
}

/// Packets that wait for fragments.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: BTreeMap<Key, Waiting>,
    /// In the order in which their first fragments came.
    order: VecDeque<Key>,
    bytes: usize,
}

impl Fragments {
    /// A fragment: the data of the whole packet if it is the last one that was missing.
    pub(crate) fn add(
        &mut self,
        key: Key,
        fragment: Fragment<'_>,
        skipped: &mut Skipped,
    ) -> Option<Vec<u8>> {
        self.forget(fragment.at, skipped);
        let end = fragment.offset + fragment.data.len();
        // RFC 8200 §4.5: the length of all but the last is a multiple of 8.
        let ragged = fragment.more && !fragment.original.is_multiple_of(8);
        if ragged || fragment.original == 0 || end > LONGEST {
            skipped.add(MALFORMED);
            return None;
        }
        if fragment.data.len() < fragment.original {
            skipped.add(CUT);
            return None;
        }
        let waiting = self.waiting.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            Waiting {
                since: fragment.at,
                bytes: Vec::new(),
                have: Vec::new(),
                length: None,
                dropped: false,
            }
        });
        if waiting.dropped {
            return None;
        }
        if waiting.same(&fragment, end) {
            // RFC 8200 §4.5: exact duplicates may be ignored.
            return None;
        }
        let begin = fragment.offset;
        let last = if fragment.more { None } else { Some(end) };
        let beyond = waiting.length.or(last).is_some_and(|length| {
            end > length || waiting.have.iter().any(|(_, end)| *end > length)
        });
        let two_ends = last.is_some() && waiting.length.is_some_and(|length| Some(length) != last);
        let overlaps = waiting.have.iter().any(|(from, to)| begin < *to && end > *from);
        if beyond || two_ends || overlaps {
            skipped.add(OVERLAP);
            self.bytes -= waiting.bytes.len();
            waiting.bytes = Vec::new();
            waiting.dropped = true;
            return None;
        }
        if waiting.bytes.len() < end {
            self.bytes += end - waiting.bytes.len();
            waiting.bytes.resize(end, 0);
        }
        waiting.bytes[begin..end].copy_from_slice(fragment.data);
        waiting.length = waiting.length.or(last);
        waiting.join(begin, end);
        if waiting.length.is_some_and(|length| waiting.have == [(0, length)]) {
            let whole = self.waiting.remove(&key)?;
            self.bytes -= whole.bytes.len();
            self.order.retain(|other| *other != key);
            return Some(whole.bytes);
        }
        None
    }

    /// Forgets what waits for too long, or is too much.
    fn forget(&mut self, now: u64, skipped: &mut Skipped) {
        while let Some(key) = self.order.front().copied() {
            let since = self.waiting.get(&key).map_or(0, |waiting| waiting.since);
            let many = self.order.len() > MOST_WAITING || self.bytes > MOST_BYTES;
            if !many && now.saturating_sub(since) < TIMEOUT {
                return;
            }
            self.order.pop_front();
            if let Some(waiting) = self.waiting.remove(&key) {
                self.bytes -= waiting.bytes.len();
                if !waiting.dropped {
                    skipped.add(INCOMPLETE);
                }
            }
        }
    }

    /// The capture has ended.
    pub(crate) fn finish(&mut self, skipped: &mut Skipped) {
        self.forget(u64::MAX, skipped);
    }
}

impl Waiting {
    /// Whether a fragment that is there is the same.
    fn same(&self, fragment: &Fragment<'_>, end: usize) -> bool {
        let inside = |(from, to): &(usize, usize)| *from <= fragment.offset && end <= *to;
        self.have.iter().any(inside) && self.bytes.get(fragment.offset..end) == Some(fragment.data)
    }

    fn join(&mut self, begin: usize, end: usize) {
        let at = self.have.partition_point(|(from, _)| *from < begin);
        self.have.insert(at, (begin, end));
        self.have.dedup_by(|next, before| {
            let touches = before.1 == next.0;
            if touches {
                before.1 = next.1;
            }
            touches
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(identification: u32) -> Key {
        let end = |n| IpAddr::from([192, 0, 2, n]);
        Key { source: end(1), destination: end(2), identification, protocol: 132, there: false }
    }

    fn fragment(offset: usize, more: bool, data: &[u8]) -> Fragment<'_> {
        Fragment { at: 0, offset, more, data, original: data.len() }
    }

    #[test]
    fn fragments_in_any_order_make_the_packet() {
        let whole: Vec<u8> = (0..20).collect();
        let parts = [(0, true, 0..8), (8, true, 8..16), (16, false, 16..20)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let (mut f, mut skipped) = (Fragments::default(), Skipped::default());
            let mut found = None;
            for index in order {
                assert_eq!(found, None);
                let (offset, more, range) = parts[index].clone();
                let part = fragment(offset, more, &whole[range]);
                found = f.add(key(1), part, &mut skipped);
                // Twice does no harm.
                assert!(found.is_some() || f.add(key(1), part, &mut skipped).is_none());
            }
            assert_eq!(found.as_deref(), Some(&whole[..]), "{order:?}");
            assert_eq!((skipped, f.bytes, f.order.len()), (Skipped::default(), 0, 0));
        }
    }

    #[test]
    fn packets_with_overlapping_fragments_are_dropped_whole() {
        let (mut f, mut skipped) = (Fragments::default(), Skipped::default());
        assert!(f.add(key(1), fragment(0, true, &[1; 16]), &mut skipped).is_none());
        assert!(f.add(key(1), fragment(8, true, &[2; 16]), &mut skipped).is_none());
        // Also what would have completed it.
        assert!(f.add(key(1), fragment(16, false, &[3; 4]), &mut skipped).is_none());
        assert_eq!((skipped.count(OVERLAP), f.bytes), (1, 0));
        // Beyond the end that another one has.
        assert!(f.add(key(2), fragment(0, false, &[1; 4]), &mut skipped).is_some());
        assert!(f.add(key(3), fragment(8, false, &[1; 4]), &mut skipped).is_none());
        assert!(f.add(key(3), fragment(16, true, &[1; 8]), &mut skipped).is_none());
        assert_eq!(skipped.count(OVERLAP), 2);
    }

    #[test]
    fn memory_is_bounded_and_waiting_ends() {
        let (mut f, mut skipped) = (Fragments::default(), Skipped::default());
        for n in 0..5000 {
            assert!(f.add(key(n), fragment(65_520, true, &[0; 8]), &mut skipped).is_none());
        }
        assert!(f.bytes <= MOST_BYTES + LONGEST && f.waiting.len() <= MOST_WAITING + 1);
        let late = Fragment { at: TIMEOUT, ..fragment(0, true, &[0; 8]) };
        assert!(f.add(key(9999), late, &mut skipped).is_none());
        assert_eq!((f.waiting.len(), skipped.count(INCOMPLETE)), (1, 5000));
        for bad in [fragment(65_532, false, &[0; 8]), fragment(0, true, &[0; 7])] {
            assert!(f.add(key(7), bad, &mut skipped).is_none());
        }
        assert_eq!(skipped.count(MALFORMED), 2);
        f.finish(&mut skipped);
        assert_eq!((f.bytes, skipped.count(INCOMPLETE)), (0, 5001));
    }
}
