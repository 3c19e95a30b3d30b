//! Messages that are handed over in parts: one of each stream at a time (RFC 8260 §4.3.1).
//!
//! A stream's *current* message is the one of which a part can be read, or was. From the first part on it is *begun*, and
//! what else is complete of its stream waits for its end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::PIECE;
use super::message::Key;

/// What is handed over in parts.
#[derive(Debug)]
pub(super) struct PartialDelivery {
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

impl PartialDelivery {
    pub(super) fn new(point: usize) -> PartialDelivery {
        PartialDelivery { point, current: BTreeMap::new(), readable: BTreeSet::new(), last: 0 }
    }

    /// `None`: messages are handed over whole, but for those of which a part was handed over.
    pub(super) fn set_point(&mut self, point: Option<usize>) {
        self.point = point.unwrap_or(usize::MAX).max(1);
        if point.is_none() {
            let PartialDelivery { current, readable, .. } = self;
            current.retain(|_, current| current.begun);
            readable.retain(|stream| current.contains_key(stream));
        }
    }

    /// Messages that are handed over in parts, or may be.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.current.values().map(|current| current.key)
    }

    /// A message of this one's stream has to end before it.
    pub(super) fn blocks(&self, key: Key) -> bool {
        self.current.get(&key.stream).is_some_and(|current| current.begun && current.key != key)
    }

    /// This many bytes of a message have come. They can be read if they are enough, and its turn.
    pub(super) fn offer(&mut self, key: Key, bytes: usize, is_turn: bool) {
        match self.current.get(&key.stream) {
            Some(current) if current.key != key => return,
            Some(current) if current.begun && bytes > 0 => {}
            _ if bytes < self.point || !is_turn => return,
            Some(_) => {}
            None => {
                let current = Current { key, begun: false, waiting: BTreeSet::new() };
                self.current.insert(key.stream, current);
            }
        }
        self.readable.insert(key.stream);
    }

    /// Streams with a part that can be read.
    #[inline]
    pub(super) fn readable(&self) -> usize {
        self.readable.len()
    }

    /// Streams take turns.
    fn next_stream(&self) -> Option<u16> {
        let behind = self.last.checked_add(1).and_then(|next| self.readable.range(next..).next());
        behind.or_else(|| self.readable.first()).copied()
    }

    /// The message of which a part is read next, and whether one was before.
    pub(super) fn peek_next(&self) -> Option<(Key, bool)> {
        let current = self.current.get(&self.next_stream()?)?;
        Some((current.key, current.begun))
    }

    /// The message of which a part is read now, and whether one was before.
    pub(super) fn take_next(&mut self) -> Option<(Key, bool)> {
        let stream = self.next_stream()?;
        self.last = stream;
        self.readable.remove(&stream);
        let current = self.current.get_mut(&stream)?;
        Some((current.key, std::mem::replace(&mut current.begun, true)))
    }

    /// A message waits for the end of another one of its stream.
    pub(super) fn wait_for_end(&mut self, key: Key) {
        if let Some(current) = self.current.get_mut(&key.stream) {
            current.waiting.insert(key);
        }
    }

    /// A message is gone, and waits no more.
    pub(super) fn forget(&mut self, key: Key) {
        if let Some(current) = self.current.get_mut(&key.stream) {
            current.waiting.remove(&key);
        }
    }

    /// Nothing more of a message is read in parts; what it was.
    pub(super) fn end(&mut self, key: Key) -> Option<Current> {
        self.current.get(&key.stream).filter(|current| current.key == key)?;
        self.readable.remove(&key.stream);
        self.current.remove(&key.stream)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let waiting: usize = self.current.values().map(|current| current.waiting.len()).sum();
        let current = self.current.len() * (size_of::<Current>() + PIECE);
        size_of::<PartialDelivery>()
            + 2 * (current + (waiting + self.readable.len()) * size_of::<Key>())
    }
}
