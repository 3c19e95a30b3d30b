//! Per-stream state that costs nothing for streams never used.

use tresse_wire::StreamId;

/// A table from stream to `T`, allocated page by page on first use: a page holds as many streams as fill a few hundred
/// bytes.
///
/// A peer that negotiates 65 535 streams and uses one, whichever, costs one page and, with pages of 64 streams, at most
/// 8 KiB of page pointers.
#[derive(Debug)]
pub(super) struct StreamTable<T, const PAGE: usize = 64> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    /// Pages allocated.
    used: usize,
}

impl<T, const PAGE: usize> Default for StreamTable<T, PAGE> {
    fn default() -> Self {
        StreamTable { pages: Vec::new(), used: 0 }
    }
}

impl<T: Copy + Default, const PAGE: usize> StreamTable<T, PAGE> {
    pub(super) fn new() -> Self {
        StreamTable::default()
    }

    /// The state of `stream`; the default one if it was never touched.
    #[inline]
    pub(super) fn get(&self, stream: StreamId) -> T {
        let index = usize::from(stream.0);
        match self.pages.get(index / PAGE) {
            Some(Some(page)) => page[index % PAGE],
            _ => T::default(),
        }
    }

    /// The state of `stream`, if its page exists.
    #[inline]
    pub(super) fn find(&self, stream: StreamId) -> Option<&T> {
        let index = usize::from(stream.0);
        self.pages.get(index / PAGE)?.as_ref().map(|page| &page[index % PAGE])
    }

    /// The state of `stream`, to change it.
    #[inline]
    pub(super) fn get_mut(&mut self, stream: StreamId) -> &mut T {
        let index = usize::from(stream.0);
        let page = index / PAGE;
        if self.pages.get(page).is_none_or(Option::is_none) {
            return &mut self.add_page(page)[index % PAGE];
        }
        &mut self.pages[page].get_or_insert_with(Self::new_page)[index % PAGE]
    }

    #[cold]
    #[inline(never)]
    fn add_page(&mut self, page: usize) -> &mut [T; PAGE] {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        self.used += 1;
        self.pages[page].insert(Self::new_page())
    }

    #[cold]
    #[inline(never)]
    fn new_page() -> Box<[T; PAGE]> {
        Box::new([T::default(); PAGE])
    }

    /// Changes the state of every stream whose page exists.
    pub(super) fn change_all(&mut self, change: impl FnMut(&mut T)) {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).for_each(change);
    }

    /// Whether this holds of every stream; of one never touched it must.
    pub(super) fn all(&self, mut holds: impl FnMut(T) -> bool) -> bool {
        self.pages.iter().flatten().flat_map(|page| page.iter()).all(|state| holds(*state))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.used * size_of::<[T; PAGE]>() + self.pages.capacity() * size_of::<Option<Box<T>>>()
    }

    /// Pages allocated.
    #[cfg(test)]
    pub(super) fn pages(&self) -> usize {
        assert_eq!(self.used, self.pages.iter().flatten().count());
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_touched_pages_are_allocated() {
        let mut table = StreamTable::<u16>::new();
        assert_eq!(table.get(StreamId(65_534)), 0);
        assert_eq!(table.pages(), 0);
        *table.get_mut(StreamId(65_534)) = 7;
        *table.get_mut(StreamId(0)) = 1;
        assert_eq!(table.pages(), 2);
        assert_eq!(table.get(StreamId(65_534)), 7);
        assert_eq!(table.get(StreamId(65_533)), 0);
        assert_eq!(table.get(StreamId(0)), 1);
        assert_eq!(table.get(StreamId(100)), 0);
    }
}
