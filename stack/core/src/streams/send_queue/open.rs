//! Messages of which a part has left, of several streams at a time: what I-DATA chunks allow (RFC 8260 §2.2.2).
//!
//! After each chunk the stream scheduler chooses again. A stream has one such message at most, ordered or not: RFC 8260
//! §2.2.2 has "The sender MUST NOT process [...] more than one user message in any given stream at any time."

use std::collections::BTreeMap;

use tresse_wire::{Mid, StreamId};

use super::SendQueue;
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

impl SendQueue {
    /// I-DATA chunks were agreed on, or DATA chunks. If messages have left already, with a COOKIE ECHO, that is what was
    /// agreed on before: a peer that says otherwise then is not believed.
    pub(crate) fn set_interleaving(&mut self, interleaving: bool) {
        if interleaving != self.open.is_some() && !self.mid_message() {
            self.open = interleaving.then(Box::default);
        }
    }

    /// Whether messages are interleaved.
    pub(crate) fn is_interleaving(&self) -> bool {
        self.open.is_some()
    }

    /// Goes on with it: a chunk of at most `max_payload` bytes leaves.
    pub(super) fn go_on(&mut self, line: StreamId, max_payload: usize) -> Option<Begun> {
        let stream = self.goes_on(line)?.message.stream;
        let begun = self.open.as_mut()?.begun.remove(&stream.0)?;
        self.latest = (begun.message.policy, begun.message.until);
        let left = begun.message.payload.len() - begun.taken;
        self.turns.begin(self.table.get(stream).value, left.min(max_payload));
        Some(begun)
    }

    //= RFC 8260 2.2.2-5
    /// A part of the message has left: its stream takes its turn again, or goes on at once.
    pub(super) fn put_back(&mut self, begun: Begun) {
        match &mut self.open {
            Some(open) if !self.turns.has_one_line() => {
                let line = begun.message.stream;
                open.begun.insert(line.0, begun);
                self.settle(line);
            }
            _ => self.begun = Some(begun),
        }
    }

    /// Another scheduler chooses from now on, which may let others come between: the streams whose messages go on.
    pub(super) fn reopen(&mut self) -> Vec<StreamId> {
        let Some(open) = &mut self.open else { return Vec::new() };
        if !self.turns.has_one_line()
            && let Some(begun) = self.begun.take()
        {
            open.begun.insert(begun.message.stream.0, begun);
        }
        open.begun.keys().map(|stream| StreamId(*stream)).collect()
    }

    /// The message of a stream of which a part has left, and not all.
    pub(super) fn leaving(&self, stream: StreamId) -> Option<&Begun> {
        let one = self.begun.as_ref().filter(|begun| begun.message.stream == stream);
        one.or_else(|| self.open.as_ref()?.begun.get(&stream.0))
    }

    /// Takes it out.
    pub(super) fn take_leaving(&mut self, stream: StreamId) -> Option<Begun> {
        let one = self.begun.take_if(|begun| begun.message.stream == stream);
        one.or_else(|| self.open.as_mut()?.begun.remove(&stream.0))
    }

    /// Takes all of them out, the first one first.
    pub(super) fn take_all_leaving(&mut self) -> Vec<Begun> {
        let open = self.open.as_mut().map(|open| std::mem::take(&mut open.begun));
        let mut all: Vec<Begun> = self
            .begun
            .take()
            .into_iter()
            .chain(open.into_iter().flat_map(BTreeMap::into_values))
            .collect();
        all.sort_unstable_by_key(|begun| begun.number);
        all
    }

    /// Messages of which a part has left, and not all.
    pub(super) fn count_leaving(&self) -> usize {
        usize::from(self.begun.is_some()) + self.open.as_ref().map_or(0, |open| open.len())
    }

    /// Whether a part of this message has left, and not all.
    pub(crate) fn holds_rest(&self, stream: StreamId, unordered: bool, mid: Mid) -> bool {
        let leaving = self.leaving(stream);
        leaving.is_some_and(|begun| begun.message.unordered == unordered && begun.mid == mid)
    }

    /// Whether a part of a message has left, and not all.
    pub(crate) fn mid_message(&self) -> bool {
        self.count_leaving() > 0
    }
}
