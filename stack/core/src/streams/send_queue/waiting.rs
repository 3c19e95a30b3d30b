//! Lines that wait for their turn: those with a message that may begin, or go on (RFC 8260 §3).

use tresse_wire::StreamId;

use super::SendQueue;
use super::message::{Begun, Queued};
use super::stream::OutStream;
use crate::time::Time;

impl SendQueue {
    /// Lets a line wait for its turn if it has a message that may begin, and not otherwise.
    pub(super) fn settle(&mut self, line: StreamId) {
        match self.upcoming(line) {
            Some(_) if self.turns.waits(line) => {}
            Some(stream) => self.turns.enter(line, self.table.get(stream).value),
            None => self.turns.leave(line),
        }
    }

    /// This many user bytes have left, or leave no more.
    #[inline]
    pub(super) fn take_bytes(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }

    /// The stream of the message of a line that may begin next, or go on.
    #[inline]
    fn upcoming(&self, line: StreamId) -> Option<StreamId> {
        match &self.begun {
            Some(begun) if self.turns.line_of(begun.message.stream) == line => return None,
            Some(_) => {}
            None => {
                if let Some(begun) = self.goes_on(line) {
                    return Some(begun.message.stream);
                }
            }
        }
        let queued = self.lines.first(line)?;
        let is_blocked =
            !queued.unordered && self.table.find(queued.stream).is_some_and(OutStream::is_blocked);
        (!is_blocked).then_some(queued.stream)
    }

    /// A message waits for its turn.
    #[inline]
    pub(super) fn enqueue(&mut self, message: Queued) {
        let (stream, until, len) = (message.stream, message.until, message.payload.len());
        let policy = message.policy;
        self.bytes += len;
        let state = self.table.get_mut(stream);
        state.held = state.held.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
        state.pieces += 1;
        let line = self.turns.line_of(stream);
        let (number, place) = self.lines.push(line, message);
        self.priorities.insert(policy, number, place, len);
        if until != Time::FAR_FUTURE {
            self.lifetimes.insert((until, number, place));
        }
        // Behind others it changes nothing.
        if !self.turns.waits(line) {
            self.settle(line);
        }
    }

    /// The message of which a part has left that goes on when it is the turn of its line. Where all wait in one line it is
    /// the one that came first.
    #[inline]
    pub(super) fn goes_on(&self, line: StreamId) -> Option<&Begun> {
        let open = self.open.as_ref()?;
        open.goes_on((!self.turns.has_one_line()).then_some(line))
    }
}
