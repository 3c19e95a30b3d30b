//! Partial delivery (RFC 9260 §6.9, RFC 8260 §4.3.1): what is handed over before its message has come whole.

use tresse_wire::StreamId;

use super::super::trimmed;
use super::Interleaved;
use super::message::{Key, message};
use super::parts::{Current, PartialDelivery};
use crate::event::{MessagePart, NextMessage, ReceivedMessage};

impl Interleaved {
    /// From this many bytes on messages are handed over in parts; `None` for whole ones.
    pub(in super::super) fn set_point(&mut self, point: Option<usize>) {
        match (&mut self.extra.parts, point) {
            (Some(parts), point) => parts.set_point(point),
            (None, Some(point)) => {
                self.extra.parts = Some(Box::new(PartialDelivery::new(point.max(1))));
            }
            (None, None) => {}
        }
    }

    /// Streams with a part that can be read.
    #[inline]
    pub(in super::super) fn parts(&self) -> usize {
        self.extra.parts.as_ref().map_or(0, |parts| parts.readable())
    }

    /// What has come of a message can be read, if it is long enough and its turn.
    pub(super) fn offer_part(&mut self, key: Key) {
        if self.extra.parts.is_none() {
            return;
        }
        let Some(open) = self.open.get(&key).filter(|open| open.completed_at.is_none()) else {
            return;
        };
        let (bytes, is_turn) = (open.buffer.len(), self.is_turn(key));
        if let Some(parts) = &mut self.extra.parts {
            parts.offer(key, bytes, is_turn);
        }
    }

    /// What [`take_part`](Self::take_part) takes next.
    pub(in super::super) fn peek_part(&self) -> Option<NextMessage> {
        let (key, begun) = self.extra.parts.as_ref()?.peek_next()?;
        let open = self.open.get(&key)?;
        Some(NextMessage {
            stream: StreamId(key.stream),
            ppid: open.ppid,
            unordered: key.unordered,
            len: open.buffer.len(),
            part: part(begun),
        })
    }

    //= RFC 9260 6.9-15
    /// The next part for the application.
    pub(in super::super) fn take_part(&mut self) -> Option<ReceivedMessage> {
        let (key, begun) = self.extra.parts.as_mut()?.take_next()?;
        let part = part(begun);
        let open = self.open.get_mut(&key)?;
        let buffer = std::mem::take(&mut open.buffer);
        open.bytes -= buffer.len();
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
        if let Some(parts) = &mut self.extra.parts {
            parts.wait_for_end(key);
        }
    }

    /// Nothing more of a message is read in parts; what it was.
    pub(super) fn end_parts(&mut self, key: Key) -> Option<Current> {
        self.extra.parts.as_mut()?.end(key)
    }
}

/// What is taken of a message before its end has come.
const fn part(begun: bool) -> MessagePart {
    if begun { MessagePart::Middle } else { MessagePart::First }
}
