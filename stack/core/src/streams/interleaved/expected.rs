//! Which messages of a stream may still come, and whose turn it is (RFC 8260 §2.1).

use tresse_wire::{Mid, StreamId};

use super::Interleaved;
use super::message::{HALF, Key};
use super::numbers::{REACH, ahead};

impl Interleaved {
    pub(super) fn first(&self, stream: u16, unordered: bool) -> Mid {
        self.numbers.get(StreamId(stream)).first(unordered)
    }

    /// A message comes whose time is over. What is far ahead of the unordered messages so far takes their limit along.
    pub(super) fn is_behind(&mut self, key: Key) -> bool {
        let distance = ahead(key.mid, self.first(key.stream, key.unordered));
        if key.unordered && distance < HALF && distance > REACH {
            self.numbers.get_mut(StreamId(key.stream)).take_along(key.mid);
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
        self.numbers.get_mut(StreamId(key.stream)).pass(key.mid);
    }
}
