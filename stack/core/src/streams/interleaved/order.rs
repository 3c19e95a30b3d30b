//! Which message of a stream is next, and what is passed over (RFC 8260 §2.1, §2.3.1).

use bytes::Bytes;
use tresse_wire::{Mid, SkippedMessages, StreamId};

use super::super::delivery::Delivery;
use super::super::stream_set::StreamSet;
use super::parts::Current;
use super::{HALF, Interleaved, Key};
use crate::event::MessagePart;

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
    const fn first(self, unordered: bool) -> Mid {
        if unordered { self.floor } else { self.next }
    }
}

/// How far a message is ahead of `first`; half of all numbers or more if it is behind.
const fn ahead(mid: u32, first: Mid) -> u32 {
    mid.wrapping_sub(first.0)
}

impl Interleaved {
    fn first(&self, stream: u16, unordered: bool) -> Mid {
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

    /// Hands over the ordered messages of a stream whose turn it is.
    pub(super) fn deliver_held(&mut self, key: Key, out: &mut Delivery) {
        if key.unordered {
            return;
        }
        loop {
            let next = Key { mid: self.first(key.stream, false).0, ..key };
            if !self.is_complete(next) || self.is_blocked(next) {
                return self.offer_part(next);
            }
            self.deliver(next, out);
        }
    }

    /// Messages of a stream that are open, the first one first.
    fn open_of(&self, stream: u16, unordered: bool) -> Vec<Key> {
        let least = Key { stream, unordered, mid: 0 };
        let most = Key { mid: u32::MAX, ..least };
        let mut keys: Vec<Key> = self.open.range(least..=most).map(|(key, _)| *key).collect();
        let first = self.first(stream, unordered);
        keys.sort_unstable_by_key(|key| ahead(key.mid, first));
        keys
    }

    //= RFC 3758 3.6-7 3.6-8
    //= RFC 8260 2-2
    /// Messages up to this one will not come, as far as they are not there: ordered or unordered ones.
    pub(super) fn skip(&mut self, skipped: SkippedMessages, out: &mut Delivery) {
        let SkippedMessages { stream: StreamId(stream), unordered, mid } = skipped;
        let first = self.first(stream, unordered);
        let last = ahead(mid.0, first);
        if last >= HALF {
            return; // It is behind.
        }
        for key in self.open_of(stream, unordered) {
            if ahead(key.mid, first) > last {
                break;
            }
            if self.is_complete(key) {
                self.deliver(key, out);
            } else {
                self.drop_message(key, out);
            }
        }
        let numbers = self.numbers.get_mut(StreamId(stream));
        let next = mid.wrapping_add(1);
        if unordered {
            numbers.floor = next;
            return;
        }
        numbers.next = next;
        self.deliver_held(Key { stream, unordered, mid: 0 }, out);
    }

    //= RFC 3758 3.6-11
    /// The rest of a message will not come: that is told if a part of it was handed over.
    pub(super) fn drop_message(&mut self, key: Key, out: &mut Delivery) {
        let Some((open, _)) = self.remove(key) else { return };
        self.extra.passed_over += open.count as usize;
        if let Some(begun) = self.end_parts(key).filter(Current::is_begun) {
            let nothing = (Bytes::new(), MessagePart::Aborted);
            self.hand_over(key, open.tsn, open.ppid, nothing, open.at, out);
            self.unblock(Some(begun), out);
        }
    }

    //= RFC 8260 2.3.2-1
    /// These streams begin again with MID 0. What waited for its turn is handed over; what is incomplete never becomes
    /// complete.
    pub(in super::super) fn begin_again(&mut self, streams: &StreamSet, out: &mut Delivery) {
        let mut keys: Vec<Key> = Vec::new();
        match streams {
            StreamSet::All => keys.extend(self.open.keys()),
            StreamSet::These(list) => {
                for stream in list {
                    keys.extend(self.open_of(stream.0, false));
                    keys.extend(self.open_of(stream.0, true));
                }
            }
        }
        keys.sort_by_key(|key| (key.stream, ahead(key.mid, self.first(key.stream, key.unordered))));
        self.abort_parts_of(streams, out);
        for key in keys {
            if self.is_complete(key) {
                self.deliver(key, out);
            } else {
                self.drop_message(key, out);
            }
        }
        match streams {
            StreamSet::All => self.numbers.change_all(|numbers| *numbers = Numbers::default()),
            StreamSet::These(list) => {
                for stream in list {
                    // A stream that was never used costs nothing.
                    if self.numbers.get(*stream) != Numbers::default() {
                        *self.numbers.get_mut(*stream) = Numbers::default();
                    }
                }
            }
        }
    }
}
