//! Lines that wait for their turn, by their place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tresse_wire::StreamId;

use super::super::table::StreamTable;

/// The least place goes first; of equal ones the least stream.
///
/// A line that leaves from the middle only loses its place. What stays behind of it in the heap is skipped when it comes
/// to the front, and swept out when there is more of that than of lines.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The front is no leftover.
    heap: BinaryHeap<Reverse<(u64, u16)>>,
    places: StreamTable<Option<u64>, 16>,
    waiting: usize,
}

impl Order {
    /// The line whose turn it is, and its place.
    #[inline]
    pub(super) fn first(&self) -> Option<(StreamId, u64)> {
        let Reverse((place, line)) = self.heap.peek()?;
        Some((StreamId(*line), *place))
    }

    #[inline]
    pub(super) fn contains(&self, line: StreamId) -> bool {
        self.places.get(line).is_some()
    }

    /// A line that does not wait yet takes this place.
    #[inline]
    pub(super) fn insert(&mut self, line: StreamId, place: u64) {
        debug_assert!(!self.contains(line), "it waits already");
        *self.places.get_mut(line) = Some(place);
        self.waiting += 1;
        self.heap.push(Reverse((place, line.0)));
        // A leftover of it may have become valid again: twice in the heap, it is once in the order.
        if self.heap.len() > 2 * self.waiting + 8 {
            self.sweep();
        }
    }

    /// A line gives up its place, if it has one.
    #[inline]
    pub(super) fn remove(&mut self, line: StreamId) {
        if self.contains(line) {
            *self.places.get_mut(line) = None;
            self.waiting -= 1;
            self.skip();
        }
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<Reverse<(u64, u16)>>() + self.places.memory()
    }

    #[inline]
    fn is_leftover(&self, place: u64, line: u16) -> bool {
        self.places.get(StreamId(line)) != Some(place)
    }

    #[inline]
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
