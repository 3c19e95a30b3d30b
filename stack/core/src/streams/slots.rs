//! What stands at each place beyond the edge, in pages that exist where something stands.
//!
//! A chunk may lie 65 535 places beyond the first missing one, and be the only one: then it costs a page
//! and the list of pages up to it (8 bytes for each 64 places).

use std::collections::VecDeque;

/// Nothing stands there.
pub(super) const MISSING: u32 = u32::MAX;
/// The chunk belongs to a message that is delivered, or was passed over.
pub(super) const DONE: u32 = u32::MAX - 1;

/// Places in a page.
const PAGE: usize = 64;

/// Lists of more pages are given back when they run empty.
const KEEP: usize = 64;

/// A queue of numbers with many [`MISSING`] ones, which is what lies beyond its end too.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Empty, or ending with a page.
    pages: VecDeque<Option<Box<Page>>>,
    /// The first place is this one of the first page.
    head: usize,
    /// A page not in use.
    spare: Option<Box<Page>>,
    /// Pages in use.
    used: usize,
}

#[derive(Debug)]
struct Page {
    slots: [u32; PAGE],
    /// How many are not missing.
    known: u8,
    /// How many of them are not done.
    held: u8,
}

impl Page {
    const EMPTY: Page = Page { slots: [MISSING; PAGE], known: 0, held: 0 };

    fn put(&mut self, index: usize, slot: u32) {
        let old = std::mem::replace(&mut self.slots[index], slot);
        self.known = self.known + u8::from(slot != MISSING) - u8::from(old != MISSING);
        self.held = self.held + u8::from(slot < DONE) - u8::from(old < DONE);
    }
}

impl Slots {
    pub(super) fn get(&self, place: usize) -> u32 {
        let at = self.head + place;
        match self.pages.get(at / PAGE) {
            Some(Some(page)) => page.slots[at % PAGE],
            _ => MISSING,
        }
    }

    pub(super) fn set(&mut self, place: usize, slot: u32) {
        let at = self.head + place;
        let number = at / PAGE;
        if slot == MISSING {
            self.clear(number, at % PAGE);
            return;
        }
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let page = &mut self.pages[number];
        let page = page.get_or_insert_with(|| {
            self.used += 1;
            self.spare.take().unwrap_or_else(|| Box::new(Page::EMPTY))
        });
        page.put(at % PAGE, slot);
    }

    /// Nothing stands anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Takes away the first place.
    #[inline]
    pub(super) fn pop_front(&mut self) {
        if self.pages.is_empty() {
            return;
        }
        self.clear(0, self.head);
        self.head += 1;
        if self.pages.is_empty() {
            self.head = 0;
        } else if self.head == PAGE {
            self.head = 0;
            self.pages.pop_front();
        }
    }

    fn clear(&mut self, number: usize, index: usize) {
        let Some(entry) = self.pages.get_mut(number) else { return };
        let Some(page) = entry else { return };
        page.put(index, MISSING);
        if page.known > 0 {
            return;
        }
        self.used -= 1;
        self.spare = entry.take();
        while self.pages.pop_back_if(|page| page.is_none()).is_some() {}
        if self.pages.is_empty() {
            self.head = 0;
            self.spare = None;
            if self.pages.capacity() > KEEP {
                self.pages = VecDeque::new();
            }
        }
    }

    /// The last place where something is held that is not done.
    pub(super) fn last_held(&self) -> Option<usize> {
        let held = |page: &Option<Box<Page>>| page.as_ref().is_some_and(|page| page.held > 0);
        let number = self.pages.iter().rposition(held)?;
        let page = self.pages[number].as_ref()?;
        let index = page.slots.iter().rposition(|slot| *slot < DONE)?;
        Some(number * PAGE + index - self.head)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let pages = self.used + usize::from(self.spare.is_some());
        pages * size_of::<Page>() + self.pages.capacity() * size_of::<Option<Box<Page>>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_queue(
            steps in prop::collection::vec((0u8..10, 0usize..400, 0u32..3), 0..200),
        ) {
            let (mut slots, mut model) = (Slots::default(), VecDeque::new());
            for (what, place, slot) in steps {
                match what {
                    0..5 => {
                        let slot = [7, DONE, MISSING][slot as usize];
                        slots.set(place, slot);
                        if place >= model.len() {
                            model.resize(place + 1, MISSING);
                        }
                        model[place] = slot;
                    }
                    5..9 => {
                        for _ in 0..=place % 80 {
                            slots.pop_front();
                            model.pop_front();
                        }
                    }
                    _ => {
                        let beside = |n: &usize| model.get(*n).copied().unwrap_or(MISSING);
                        let same = (0..500).all(|n| slots.get(n) == beside(&n));
                        prop_assert!(same);
                    }
                }
                prop_assert_eq!(slots.get(0), model.front().copied().unwrap_or(MISSING));
                prop_assert_eq!(slots.last_held(), model.iter().rposition(|slot| *slot < DONE));
                let known = model.iter().filter(|slot| **slot != MISSING).count();
                prop_assert!(slots.used <= known && slots.pages.len() <= model.len().div_ceil(PAGE) + 1);
                prop_assert!(slots.pages.back().is_none_or(Option::is_some));
            }
        }
    }

    #[test]
    fn a_far_chunk_costs_a_page() {
        let mut slots = Slots::default();
        slots.set(65_535, DONE);
        assert!(slots.memory() < 10_000, "{}", slots.memory());
        // And is looked at page by page, not place by place.
        slots.set(3, 1);
        assert_eq!(slots.last_held(), Some(3));
        assert!(slots.pages.len() <= 1024);
        slots.set(65_535, MISSING);
        slots.pop_front();
        slots.set(2, MISSING);
        assert!(slots.memory() < 1_000, "{}", slots.memory());
    }
}
