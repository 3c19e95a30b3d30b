//! Messages of which a part has left, of several streams at a time: what I-DATA chunks allow (RFC 8260 §2.2.2).
//!
//! After each chunk the stream scheduler chooses again. A stream has one such message at most, ordered or not: RFC 8260
//! §2.2.2 has "The sender MUST NOT process [...] more than one user message in any given stream at any time."

use std::collections::BTreeMap;

use tresse_wire::{Mid, StreamId};

use super::message::Begun;
use crate::streams::table::StreamTable;

/// What is kept for it.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// By stream.
    begun: BTreeMap<u16, Begun>,
    /// MIDs of the next unordered messages.
    unordered: StreamTable<Mid, 16>,
}

impl Open {
    pub(super) fn len(&self) -> usize {
        self.begun.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.begun.len() * 2 * size_of::<(u16, Begun)>() + self.unordered.memory()
    }

    /// The message that goes on when it is the turn of `line`; if all wait in one, that which came first.
    #[inline]
    pub(super) fn goes_on(&self, line: Option<StreamId>) -> Option<&Begun> {
        match line {
            Some(line) => self.begun.get(&line.0),
            None => self.begun.values().min_by_key(|begun| begun.number),
        }
    }

    /// That of a stream.
    pub(super) fn get(&self, stream: StreamId) -> Option<&Begun> {
        self.begun.get(&stream.0)
    }

    pub(super) fn take(&mut self, stream: StreamId) -> Option<Begun> {
        self.begun.remove(&stream.0)
    }

    pub(super) fn put(&mut self, begun: Begun) {
        self.begun.insert(begun.message.stream.0, begun);
    }

    /// The streams that have one.
    pub(super) fn streams(&self) -> Vec<StreamId> {
        self.begun.keys().map(|stream| StreamId(*stream)).collect()
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Begun> {
        std::mem::take(&mut self.begun).into_values()
    }

    /// Takes the MID of an unordered message.
    pub(super) fn next_unordered(&mut self, stream: StreamId) -> Mid {
        let next = self.unordered.get_mut(stream);
        let mid = *next;
        *next = mid.wrapping_add(1);
        mid
    }

    /// No unordered message of a stream was sent.
    pub(super) fn is_fresh(&self, stream: StreamId) -> bool {
        self.unordered.get(stream) == Mid(0)
    }

    /// No unordered message at all was sent.
    pub(super) fn is_all_fresh(&self) -> bool {
        self.unordered.all(|next| next == Mid(0))
    }

    //= RFC 8260 2.3.2-1
    /// Unordered messages of these streams begin again with MID 0; of all if none is given.
    pub(super) fn begin_again(&mut self, streams: Option<&[StreamId]>) {
        let Some(streams) = streams else {
            self.unordered = StreamTable::new();
            return;
        };
        for stream in streams {
            if !self.is_fresh(*stream) {
                *self.unordered.get_mut(*stream) = Mid(0);
            }
        }
    }
}
