//! Streams that a request to change them names (RFC 6525 §4.1): some, or all.

use tresse_wire::StreamId;

/// Streams of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamSet {
    /// All that there are.
    All,
    /// These, in order and once each; one at least.
    These(Box<[StreamId]>),
}

impl StreamSet {
    /// RFC 6525 §4.1: "If no streams are listed, then all streams are to be reset."
    pub(crate) fn of(list: impl IntoIterator<Item = StreamId>) -> StreamSet {
        let mut list: Vec<StreamId> = list.into_iter().collect();
        list.sort_unstable_by_key(|stream| stream.0);
        list.dedup();
        if list.is_empty() { StreamSet::All } else { StreamSet::These(list.into()) }
    }

    /// Those that are listed: none stands for all.
    pub(crate) fn listed(&self) -> &[StreamId] {
        match self {
            StreamSet::All => &[],
            StreamSet::These(list) => list,
        }
    }

    #[inline]
    pub(crate) fn contains(&self, stream: StreamId) -> bool {
        match self {
            StreamSet::All => true,
            StreamSet::These(list) => list.binary_search_by_key(&stream.0, |s| s.0).is_ok(),
        }
    }

    /// Whether all of `other` are among these.
    pub(crate) fn covers(&self, other: &StreamSet) -> bool {
        match other {
            StreamSet::All => *self == StreamSet::All,
            StreamSet::These(list) => list.iter().all(|stream| self.contains(*stream)),
        }
    }

    /// Whether both are the same of `streams` that there are: all of them may be listed.
    pub(crate) fn equals(&self, other: &StreamSet, streams: u16) -> bool {
        let is_all = |set: &StreamSet| {
            let listed = set.listed().len();
            (listed == 0 || listed == usize::from(streams)) && set.beyond(streams).is_none()
        };
        self == other || (is_all(self) && is_all(other))
    }

    /// The first of those listed that is not below `streams`.
    pub(crate) fn beyond(&self, streams: u16) -> Option<StreamId> {
        self.listed().last().copied().filter(|last| last.0 >= streams)
    }

    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.listed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_listed_are_all() {
        let set = |list: &[u16]| StreamSet::of(list.iter().copied().map(StreamId));
        assert_eq!(set(&[]), StreamSet::All);
        let some = set(&[7, 3, 7]);
        assert_eq!(some.listed(), [StreamId(3), StreamId(7)]);
        assert!(some.contains(StreamId(7)) && !some.contains(StreamId(4)));
        assert!(set(&[]).covers(&some) && !some.covers(&set(&[])));
        assert!(some.covers(&set(&[3])) && !some.covers(&set(&[3, 4])));
        assert_eq!((some.beyond(8), some.beyond(7)), (None, Some(StreamId(7))));
        assert_eq!(set(&[]).beyond(0), None);
        assert!(some.equals(&set(&[7, 3]), 8) && !some.equals(&set(&[7]), 8));
        assert!(set(&[]).equals(&set(&[0, 1]), 2) && set(&[0, 1]).equals(&set(&[]), 2));
        assert!(!set(&[]).equals(&set(&[0, 1]), 3) && !set(&[]).equals(&set(&[0, 2]), 2));
    }
}
