//! The message, or the messages, of which a part has left: one that goes on at once, or many that wait for their turn
//! (`open.rs`).

use tresse_wire::{Mid, StreamId};

use super::SendQueue;
use super::message::Begun;

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
        let begun = self.open.as_mut()?.take(stream)?;
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
                open.put(begun);
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
            open.put(begun);
        }
        open.streams()
    }

    /// The message of a stream of which a part has left, and not all.
    pub(super) fn leaving(&self, stream: StreamId) -> Option<&Begun> {
        let one = self.begun.as_ref().filter(|begun| begun.message.stream == stream);
        one.or_else(|| self.open.as_ref()?.get(stream))
    }

    /// Takes it out.
    pub(super) fn take_leaving(&mut self, stream: StreamId) -> Option<Begun> {
        let one = self.begun.take_if(|begun| begun.message.stream == stream);
        one.or_else(|| self.open.as_mut()?.take(stream))
    }

    /// Takes all of them out, the first one first.
    pub(super) fn take_all_leaving(&mut self) -> Vec<Begun> {
        let open = self.open.as_mut().into_iter().flat_map(|open| open.take_all());
        let mut all: Vec<Begun> = self.begun.take().into_iter().chain(open).collect();
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
