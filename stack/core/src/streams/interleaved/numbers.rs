//! Which messages of a stream may still come (RFC 8260 §2.1).

use tresse_wire::{Mid, StreamId};

use super::{HALF, Interleaved, Key};

/// The furthest that unordered messages stay behind the first one that may still come: it follows what comes, so that
/// MIDs wrap around.
const REACH: u32 = HALF / 2;

/// What is known of the messages of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// The ordered message that is delivered next.
    next: Mid,
    /// Unordered messages before this one will not come.
    floor: Mid,
}

impl Numbers {
    /// Messages before this one will not come.
    pub(super) fn begin_with(&mut self, unordered: bool, mid: Mid) {
        *(if unordered { &mut self.floor } else { &mut self.next }) = mid;
    }

    const fn first(self, unordered: bool) -> Mid {
        if unordered { self.floor } else { self.next }
    }
}

/// How far a message is ahead of `first`; half of all numbers or more if it is behind.
pub(super) const fn ahead(mid: u32, first: Mid) -> u32 {
    mid.wrapping_sub(first.0)
}

impl Interleaved {
    pub(super) fn first(&self, stream: u16, unordered: bool) -> Mid {
        self.numbers.get(StreamId(stream)).first(unordered)
    }

    /// A message comes whose time is over. What is far ahead of the unordered messages so far takes their limit along.
    pub(super) fn is_behind(&mut self, key: Key) -> bool {
        let distance = ahead(key.mid, self.first(key.stream, key.unordered));
        if key.unordered && distance < HALF && distance > REACH {
            self.numbers.get_mut(StreamId(key.stream)).floor = Mid(key.mid.wrapping_sub(REACH));
        }
        distance >= HALF
    }

    //= RFC 9260 3.3.1-2 3.3.1-3 6.6-1 6.6-2 6.6-3
    /// Unordered messages never wait.
    pub(super) fn is_turn(&self, key: Key) -> bool {
        key.unordered || key.mid == self.first(key.stream, false).0
    }

    /// An ordered message is handed over.
    pub(super) fn pass(&mut self, key: Key) {
        let numbers = self.numbers.get_mut(StreamId(key.stream));
        // One that waited for the end of another message may have been passed over meanwhile.
        if ahead(key.mid, numbers.next) < HALF {
            numbers.next = Mid(key.mid).wrapping_add(1);
        }
    }
}
