//! Which message of a stream is next, and what is passed over (RFC 8260 §2.1, §2.3.1).

use bytes::Bytes;
use tresse_wire::{Mid, Ppid, SkippedMessages, StreamId, Tsn};

use super::super::delivery::Delivery;
use super::super::renewal::Renewal;
use super::super::stream_set::StreamSet;
use super::super::{BACKLOG, detach, trimmed};
use super::Interleaved;
use super::message::{HALF, Key, OpenMessage, message};
use super::numbers::{MessageNumbers, ahead};
use super::parts::Current;
use crate::event::MessagePart;
use crate::time::Time;

impl Interleaved {
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
        self.numbers.get_mut(StreamId(stream)).begin_with(unordered, mid.wrapping_add(1));
        if unordered {
            return;
        }
        self.deliver_held(Key { stream, unordered, mid: 0 }, out);
    }

    /// Of the messages that the edge has reached it is known which of their streams are passed over before them (`renewal.rs`).
    pub(in super::super) fn settle_reached(&mut self, out: &mut Delivery) {
        for key in std::mem::take(&mut self.extra.reached) {
            self.settle(key, out);
        }
    }

    /// The same for one of them. Unordered messages wait for none.
    pub(super) fn settle(&mut self, key: Key, out: &mut Delivery) {
        let Key { stream, unordered, mid } = key;
        if self.numbers.get(StreamId(stream)).renewal(unordered) == Renewal::Known {
            return;
        }
        let numbers = self.numbers.get_mut(StreamId(stream));
        let doubted = numbers.renewal_mut(unordered).settle();
        if doubted && !unordered && mid != self.first(stream, false).0 {
            let mid = Mid(mid.wrapping_sub(1));
            self.skip(SkippedMessages { stream: StreamId(stream), unordered, mid }, out);
        }
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
            StreamSet::All => {
                self.numbers.change_all(MessageNumbers::begin_again);
            }
            StreamSet::These(list) => {
                for stream in list {
                    // A stream that was never used costs nothing.
                    if self.numbers.get(*stream) != MessageNumbers::default() {
                        self.numbers.get_mut(*stream).begin_again();
                    }
                }
            }
        }
    }

    /// It is the turn of what waited for the end of a message.
    pub(super) fn unblock(&mut self, ended: Option<Current>, out: &mut Delivery) {
        let Some((key, waiting)) = ended.map(Current::into_waiting) else { return };
        // In the order of their messages, also where MIDs wrap around.
        let mut waiting: Vec<Key> = waiting.into_iter().collect();
        let next = self.first(key.stream, false);
        waiting.sort_by_key(|key| (key.unordered, ahead(key.mid, next).wrapping_add(HALF)));
        for key in waiting {
            if self.is_complete(key) {
                self.deliver(key, out);
            } else if self.is_behind(key) {
                self.drop_message(key, out);
            }
        }
        self.deliver_held(Key { unordered: false, ..key }, out);
    }

    /// The order of these streams ends: so do messages of theirs that are handed over in parts.
    fn abort_parts_of(&mut self, streams: &StreamSet, out: &mut Delivery) {
        let Some(parts) = &self.extra.parts else { return };
        let theirs = |key: &Key| streams.contains(StreamId(key.stream));
        for key in parts.keys().filter(theirs).collect::<Vec<Key>>() {
            self.drop_message(key, out);
        }
    }

    /// Nothing more comes: messages that are handed over in parts end, and no other one begins.
    pub(in super::super) fn end_partial_delivery(&mut self, out: &mut Delivery) {
        self.abort_parts_of(&StreamSet::All, out);
        self.extra.parts = None;
    }

    //= RFC 9260 6-11 6.9-1 6.9-14
    /// A complete message is handed over, or what is left of it, unless another one of its stream has to end before.
    pub(super) fn deliver(&mut self, key: Key, out: &mut Delivery) {
        if self.is_blocked(key) {
            self.wait_for_end(key);
            return;
        }
        let Some((open, mut pieces)) = self.remove(key) else { return };
        let OpenMessage { tsn, ppid, mut buffer, completed_at, .. } = open;
        let payload = match pieces.pop_if(|_| buffer.is_empty() && open.count == 1) {
            Some(piece) => piece.payload,
            None => {
                buffer.reserve_exact(open.bytes - buffer.len());
                pieces.iter().for_each(|piece| buffer.extend_from_slice(&piece.payload));
                trimmed(buffer)
            }
        };
        let begun = self.end_parts(key).filter(Current::is_begun);
        let part = if begun.is_some() { MessagePart::Last } else { MessagePart::Whole };
        self.hand_over(key, tsn, ppid, (payload, part), completed_at.unwrap_or_default(), out);
        self.unblock(begun, out);
    }

    pub(super) fn hand_over(
        &mut self,
        key: Key,
        tsn: Tsn,
        ppid: Ppid,
        (payload, part): (Bytes, MessagePart),
        completed_at: Time,
        out: &mut Delivery,
    ) {
        if !key.unordered && part != MessagePart::Aborted {
            self.pass(key);
        }
        let busy = out.ready() >= BACKLOG;
        let payload = if busy { detach(payload, self.packet_len) } else { payload };
        out.queue(message(key, (tsn, ppid), (payload, part), completed_at));
    }
}
