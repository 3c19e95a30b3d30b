//! Lines that wait for their turn, by their place; for the schedulers of RFC 8260 §3.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tresse_wire::StreamId;

use super::super::table::StreamTable;

/// The least place goes first; of equal ones the least stream.
///
/// The first one stands apart: where a single line has messages, nothing else is touched. One that leaves from the middle
/// of the others only loses its place. What stays behind of it in the heap is skipped when it comes to the front, and
/// swept out when there is more of that than of lines.
#[derive(Debug, Default)]
pub(super) struct Order {
    first: Option<(u64, u16)>,
    /// The others, and leftovers; its front is none.
    heap: BinaryHeap<Reverse<(u64, u16)>>,
    /// Of the others.
    places: StreamTable<Option<u64>, 16>,
    waiting: usize,
}

impl Order {
    /// The line whose turn it is, and its place.
    #[inline]
    pub(super) fn first(&self) -> Option<(StreamId, u64)> {
        self.first.map(|(place, line)| (StreamId(line), place))
    }

    #[inline]
    pub(super) fn contains(&self, line: StreamId) -> bool {
        self.is_first(line) || self.is_behind(line)
    }

    #[inline]
    fn is_first(&self, line: StreamId) -> bool {
        self.first.is_some_and(|(_, first)| first == line.0)
    }

    #[inline]
    fn is_behind(&self, line: StreamId) -> bool {
        self.waiting > 0 && self.places.get(line).is_some()
    }

    /// A line that does not wait yet takes this place.
    #[inline]
    pub(super) fn insert(&mut self, line: StreamId, place: u64) {
        debug_assert!(!self.contains(line), "it waits already");
        let new = (place, line.0);
        match self.first {
            None => self.first = Some(new),
            Some(first) if new < first => {
                self.first = Some(new);
                self.insert_behind(first);
            }
            Some(_) => self.insert_behind(new),
        }
    }

    #[inline(never)]
    fn insert_behind(&mut self, (place, line): (u64, u16)) {
        *self.places.get_mut(StreamId(line)) = Some(place);
        self.waiting += 1;
        self.heap.push(Reverse((place, line)));
        // A leftover of it may have become valid again: twice in the heap, it is once in the order.
        if self.heap.len() > 2 * self.waiting + 8 {
            self.sweep();
        }
    }

    /// A line gives up its place, if it has one.
    #[inline]
    pub(super) fn remove(&mut self, line: StreamId) {
        if self.is_first(line) {
            self.first = None;
            if self.waiting > 0 {
                self.leave_heap();
            }
        } else if self.is_behind(line) {
            self.remove_behind(line);
        }
    }

    /// Who is at the front of the heap is first now.
    #[inline(never)]
    fn leave_heap(&mut self) {
        self.first = self.heap.peek().map(|Reverse(next)| *next);
        if let Some((_, line)) = self.first {
            self.remove_behind(StreamId(line));
        }
    }

    #[inline(never)]
    fn remove_behind(&mut self, line: StreamId) {
        *self.places.get_mut(line) = None;
        self.waiting -= 1;
        self.skip();
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<Reverse<(u64, u16)>>() + self.places.memory()
    }

    fn is_leftover(&self, place: u64, line: u16) -> bool {
        self.places.get(StreamId(line)) != Some(place)
    }

    fn skip(&mut self) {
        while let Some(Reverse((place, line))) = self.heap.peek()
            && self.is_leftover(*place, *line)
        {
            self.heap.pop();
        }
    }

    fn sweep(&mut self) {
        let mut all = std::mem::take(&mut self.heap).into_vec();
        all.retain(|Reverse((place, line))| !self.is_leftover(*place, *line));
        all.sort_unstable();
        all.dedup();
        self.heap = all.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Against a plain list.
        #[test]
        fn the_least_place_is_first(steps in proptest::collection::vec((0u16..20, 0u64..9), 1..300)) {
            let (mut order, mut list) = (Order::default(), Vec::<(u64, u16)>::new());
            for (line, place) in steps {
                if order.contains(StreamId(line)) {
                    order.remove(StreamId(line));
                    list.retain(|(_, other)| *other != line);
                } else {
                    order.insert(StreamId(line), place);
                    list.push((place, line));
                }
                let first = order.first().map(|(line, place)| (place, line.0));
                proptest::prop_assert_eq!(first, list.iter().min().copied());
            }
        }
    }

    #[test]
    fn a_line_that_comes_and_goes_leaves_nothing() {
        let mut order = Order::default();
        order.insert(StreamId(0), 0);
        for _ in 0..1000 {
            order.insert(StreamId(7), 5);
            order.remove(StreamId(7));
        }
        assert!(order.heap.len() <= 12, "{}", order.heap.len());
        assert_eq!(order.first(), Some((StreamId(0), 0)));
    }
}
