//! Where messages wait: one behind the other in the line of their stream, or all in one line.

use std::collections::BTreeMap;

use slab::Slab;
use tresse_wire::StreamId;

use super::table::StreamTable;

/// Names a message as long as it waits; the next one may come to the same place.
pub(super) type Place = usize;

/// Lines per page of the table: a page has a few hundred bytes.
const PAGE: usize = 16;

/// Messages of type `M` in lines. What was used once is used again: nothing is allocated for a message once there
/// were as many before.
#[derive(Debug)]
pub(super) struct Lines<M> {
    places: Slab<Waiting<M>>,
    table: StreamTable<Line, PAGE>,
    /// How many messages came, ever.
    arrived: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    first: Option<Place>,
    last: Option<Place>,
}

#[derive(Debug)]
struct Waiting<M> {
    /// Its number in the order of arrival.
    number: u64,
    line: StreamId,
    before: Option<Place>,
    behind: Option<Place>,
    message: M,
}

impl<M> Lines<M> {
    pub(super) fn new() -> Lines<M> {
        Lines { places: Slab::new(), table: StreamTable::new(), arrived: 0 }
    }

    /// A message joins a line: its number, and where it is.
    #[inline]
    pub(super) fn push(&mut self, line: StreamId, message: M) -> (u64, Place) {
        let number = self.arrived;
        self.arrived += 1;
        (number, self.append(number, line, message))
    }

    #[inline]
    fn append(&mut self, number: u64, line: StreamId, message: M) -> Place {
        let ends = self.table.get_mut(line);
        let before = ends.last;
        let place = self.places.insert(Waiting { number, line, before, behind: None, message });
        ends.last = Some(place);
        match before {
            Some(before) => self.places[before].behind = Some(place),
            None => ends.first = Some(place),
        }
        place
    }

    /// The first message of a line.
    #[inline]
    pub(super) fn first(&self, line: StreamId) -> Option<&M> {
        self.places.get(self.table.find(line)?.first?).map(|waiting| &waiting.message)
    }

    /// Takes the first message out of a line: with its number, and where it was.
    #[inline]
    pub(super) fn take_first(&mut self, line: StreamId) -> Option<(u64, Place, M)> {
        let ends = self.table.get_mut(line);
        let place = ends.first?;
        let Waiting { number, behind, message, .. } = self.places.try_remove(place)?;
        ends.first = behind;
        match behind {
            Some(behind) => self.places[behind].before = None,
            None => ends.last = None,
        }
        Some((number, place, message))
    }

    /// Takes a message out, wherever it waits: with its number and its line.
    #[inline]
    pub(super) fn take(&mut self, place: Place) -> Option<(u64, StreamId, M)> {
        let Waiting { number, line, before, behind, message } = self.places.try_remove(place)?;
        let ends = self.table.get_mut(line);
        match before {
            Some(before) => self.places[before].behind = behind,
            None => ends.first = behind,
        }
        match behind {
            Some(behind) => self.places[behind].before = before,
            None => ends.last = before,
        }
        Some((number, line, message))
    }

    /// Messages in all lines.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory beside what messages refer to.
    pub(super) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Waiting<M>>() + self.table.memory()
    }

    /// Messages that `wanted` names, in the order of arrival.
    pub(super) fn find(&self, wanted: impl Fn(&M) -> bool) -> Vec<Place> {
        let found = self.places.iter().filter(|(_, waiting)| wanted(&waiting.message));
        let sorted: BTreeMap<u64, Place> =
            found.map(|(place, waiting)| (waiting.number, place)).collect();
        sorted.into_values().collect()
    }

    /// Lets all messages line up again, in the order of arrival, each in the line that `line_of` says. Tells `moved` of
    /// each its number, its line, and where it is now.
    pub(super) fn rearrange(
        &mut self,
        line_of: impl Fn(&M) -> StreamId,
        mut moved: impl FnMut(u64, StreamId, Place, &M),
    ) {
        let all = self.find(|_| true);
        let taken: Vec<(u64, M)> = all
            .into_iter()
            .filter_map(|place| self.take(place))
            .map(|(number, _, message)| (number, message))
            .collect();
        self.table = StreamTable::new();
        for (number, message) in taken {
            let line = line_of(&message);
            let place = self.append(number, line, message);
            moved(number, line, place, &self.places[place].message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_a_line_from_anywhere() {
        let mut lines = Lines::new();
        let places: Vec<Place> = (0..6).map(|n| lines.push(StreamId(n % 2), n).1).collect();
        assert_eq!(lines.take(places[2]), Some((2, StreamId(0), 2)));
        assert_eq!(lines.take(places[5]), Some((5, StreamId(1), 5)));
        assert_eq!(lines.take(places[5]), None);
        assert_eq!(lines.find(|n| *n > 0), [places[1], places[3], places[4]]);
        lines.push(StreamId(1), 6);
        let mut left = Vec::new();
        for line in [0, 1, 0, 1, 1, 1] {
            left.extend(lines.take_first(StreamId(line)).map(|(_, _, n)| n));
        }
        assert_eq!((left, lines.len()), (vec![0, 1, 4, 3, 6], 0));
    }

    #[test]
    fn lines_are_made_anew_in_the_order_of_arrival() {
        let mut lines = Lines::new();
        for n in 0..10u16 {
            lines.push(StreamId(n % 3), n);
        }
        lines.take_first(StreamId(0));
        lines.rearrange(|_| StreamId(0), |_, _, _, _| {});
        let all: Vec<u16> =
            std::iter::from_fn(|| lines.take_first(StreamId(0)).map(|(_, _, n)| n)).collect();
        assert_eq!(all, (1..10).collect::<Vec<u16>>());
    }
}
