//! Messages that are handed over in parts (RFC 9260 §6.9).
//!
//! With DATA chunks a message is *begun* when a part of it was read. Until it ends nothing else is handed over: what is
//! complete waits where it lies, beyond a missing chunk, and may still be discarded. In the queue of the reader it could close the
//! window for good.

use tresse_wire::Tsn;

use super::{Inbound, NextMessage, ReceivedMessage};
use crate::streams::delivery::Turn;
use crate::streams::ring::Head;
use crate::streams::stream_set::StreamSet;

impl Inbound {
    /// From this many bytes on messages are handed over in parts; `None` for whole ones.
    pub(crate) fn set_partial_delivery_point(&mut self, point: Option<usize>) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.set_point(point);
            return;
        }
        self.reassembly.set_point(point.unwrap_or(usize::MAX));
    }

    /// Parts of messages that can be handed over.
    #[inline]
    pub(super) fn parts(&self) -> usize {
        match &self.interleaved {
            Some(interleaved) => interleaved.parts(),
            None => usize::from(self.has_part()),
        }
    }

    #[inline]
    fn has_part(&self) -> bool {
        self.reassembly
            .part()
            .is_some_and(|head| self.reassembly.is_begun() || self.may_begin(head))
    }

    /// Whether it is the turn of a message, and known that it is.
    fn may_begin(&self, head: Head) -> bool {
        let Head { stream, ssn, tsn, .. } = head;
        let kept = self.barrier.as_ref().is_some_and(|barrier| barrier.holds(stream, tsn));
        !kept && (head.unordered || self.delivery.turn(stream, ssn, 0) == Ok(Turn::Now))
    }

    /// What [`take_part`](Self::take_part) takes next.
    pub(super) fn peek_part(&self) -> Option<NextMessage> {
        if let Some(interleaved) = &self.interleaved {
            return interleaved.peek_part();
        }
        if self.has_part() { self.reassembly.peek_part() } else { None }
    }

    /// The next part for the application.
    pub(super) fn take_part(&mut self) -> Option<ReceivedMessage> {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.take_part();
        }
        if self.has_part() { self.reassembly.take_part() } else { None }
    }

    /// Messages of which the end waits for the application, or waits for that of another one.
    pub(crate) fn ends(&self) -> usize {
        let ready = self.delivery.ready();
        ready + usize::from(ready > 0 && self.reassembly.is_begun())
    }

    /// Forgets a message that waits for the end of another one, because a part of it was dropped. `false` if there is none.
    pub(super) fn unblock(&mut self, tsn: Tsn) -> bool {
        // The highest TSN is dropped first, and came late as a rule.
        let found = self.blocked.iter().rposition(|stored| stored.tsn == tsn);
        found.map(|at| self.blocked.remove(at)).is_some()
    }

    /// The order of these streams ends: so does a message of theirs that is handed over in parts.
    pub(super) fn abort_parts_of(&mut self, streams: &StreamSet) {
        let Some(head) = self.reassembly.begun() else { return };
        if streams.contains(head.stream)
            && let Some(aborted) = self.reassembly.abort_part()
        {
            // What contradicts the order of its stream is nobody's.
            let _ = self.end_parts(aborted);
        }
    }

    /// Nothing more comes: messages that are handed over in parts end, and no other one begins.
    pub(crate) fn end_partial_delivery(&mut self) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.end_partial_delivery(&mut self.delivery);
            return;
        }
        self.abort_parts_of(&StreamSet::All);
        self.reassembly.set_point(usize::MAX);
    }
}

#[cfg(test)]
mod tests;
