//! Messages that are handed over in parts: one of each stream at a time (RFC 8260 §4.3.1).
//!
//! A stream's *current* message is the one of which a part can be read, or was. From the first part on it is *begun*, and
//! what else is complete of its stream waits for its end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{PIECE, trimmed};
use super::{Interleaved, Key, message};
use crate::event::{MessagePart, ReceivedMessage};

/// What is handed over in parts.
#[derive(Debug)]
pub(super) struct Parts {
    /// From this many bytes on a message may be.
    point: usize,
    /// By stream.
    current: BTreeMap<u16, Current>,
    /// Streams with a part that can be read.
    readable: BTreeSet<u16>,
    /// The one that was read last.
    last: u16,
}

/// A message that is handed over in parts, or may be.
#[derive(Debug)]
pub(super) struct Current {
    key: Key,
    /// A part of it was.
    begun: bool,
    /// What is complete of its stream, or was, and waits for its end.
    waiting: BTreeSet<Key>,
}

impl Current {
    /// A part of it was handed over.
    pub(super) const fn is_begun(&self) -> bool {
        self.begun
    }

    /// Which it was, and what waits for its end.
    pub(super) fn into_waiting(self) -> (Key, BTreeSet<Key>) {
        (self.key, self.waiting)
    }
}

impl Parts {
    fn new(point: usize) -> Parts {
        Parts { point, current: BTreeMap::new(), readable: BTreeSet::new(), last: 0 }
    }

    fn set_point(&mut self, point: Option<usize>) {
        self.point = point.unwrap_or(usize::MAX).max(1);
        if point.is_none() {
            let Parts { current, readable, .. } = self;
            current.retain(|_, current| current.begun);
            readable.retain(|stream| current.contains_key(stream));
        }
    }

    /// Messages that are handed over in parts, or may be.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.current.values().map(|current| current.key)
    }

    fn blocks(&self, key: Key) -> bool {
        self.current.get(&key.stream).is_some_and(|current| current.begun && current.key != key)
    }

    /// The stream whose turn it is to be read.
    fn next(&self) -> Option<u16> {
        let behind = self.last.checked_add(1).and_then(|next| self.readable.range(next..).next());
        behind.or_else(|| self.readable.first()).copied()
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let waiting: usize = self.current.values().map(|current| current.waiting.len()).sum();
        let current = self.current.len() * (size_of::<Current>() + PIECE);
        size_of::<Parts>() + 2 * (current + (waiting + self.readable.len()) * size_of::<Key>())
    }
}

impl Interleaved {
    /// From this many bytes on messages are handed over in parts; `None` for whole ones.
    pub(in super::super) fn set_point(&mut self, point: Option<usize>) {
        match (&mut self.extra.parts, point) {
            (Some(parts), point) => parts.set_point(point),
            (None, Some(point)) => self.extra.parts = Some(Box::new(Parts::new(point.max(1)))),
            (None, None) => {}
        }
    }

    /// Streams with a part that can be read.
    #[inline]
    pub(in super::super) fn parts(&self) -> usize {
        self.extra.parts.as_ref().map_or(0, |parts| parts.readable.len())
    }

    /// What has come of a message can be read, if it is long enough and its turn.
    pub(super) fn offer_part(&mut self, key: Key) {
        let Some(parts) = &self.extra.parts else { return };
        let Some(open) = self.open.get(&key).filter(|open| open.completed_at.is_none()) else {
            return;
        };
        let (len, least) = (open.buffer.len(), parts.point);
        let is_new = match parts.current.get(&key.stream) {
            Some(current) if current.key != key => return,
            Some(current) if current.begun && len > 0 => false,
            _ if len < least || !self.is_turn(key) => return,
            current => current.is_none(),
        };
        let Some(parts) = &mut self.extra.parts else { return };
        if is_new {
            let current = Current { key, begun: false, waiting: BTreeSet::new() };
            parts.current.insert(key.stream, current);
        }
        parts.readable.insert(key.stream);
    }

    //= RFC 9260 6.9-15
    /// The next part for the application.
    pub(in super::super) fn take_part(&mut self) -> Option<ReceivedMessage> {
        let parts = self.extra.parts.as_mut()?;
        let stream = parts.next()?;
        (parts.last, _) = (stream, parts.readable.remove(&stream));
        let current = parts.current.get_mut(&stream)?;
        let begun = std::mem::replace(&mut current.begun, true);
        let (key, part) =
            (current.key, if begun { MessagePart::Middle } else { MessagePart::First });
        let open = self.open.get_mut(&key)?;
        let buffer = std::mem::take(&mut open.buffer);
        open.bytes -= buffer.len();
        self.bytes -= buffer.len();
        self.charge -= buffer.len();
        self.buffers -= buffer.capacity();
        let (tsn, ppid, at) = (open.tsn, open.ppid, open.at);
        Some(message(key, (tsn, ppid), (trimmed(buffer), part), at))
    }

    /// A message of this one's stream has to end before it.
    pub(super) fn is_blocked(&self, key: Key) -> bool {
        self.extra.parts.as_ref().is_some_and(|parts| parts.blocks(key))
    }

    /// The message waits for that.
    pub(super) fn wait_for_end(&mut self, key: Key) {
        let parts = self.extra.parts.as_mut();
        if let Some(current) = parts.and_then(|parts| parts.current.get_mut(&key.stream)) {
            current.waiting.insert(key);
        }
    }

    /// Nothing more of a message is read in parts; what it was.
    pub(super) fn end_parts(&mut self, key: Key) -> Option<Current> {
        let parts = self.extra.parts.as_mut()?;
        parts.current.get(&key.stream).filter(|current| current.key == key)?;
        parts.readable.remove(&key.stream);
        parts.current.remove(&key.stream)
    }
}
