//! Outgoing streams while they are reset (RFC 6525 §5.1.2, §5.1.4): what the application sends meanwhile is parked.
//!
//! What it had sent before leaves and is acknowledged, with the numbers of the time before; then, and not sooner, the
//! peer is asked for the reset. Whatever the answer is, parked messages join the others when it is there.

use tresse_wire::{Mid, StreamId};

use super::SendQueue;
use super::message::Queued;
use super::parked::Parked;
use super::stream::OutStream;
use crate::streams::stream_set::StreamSet;

impl SendQueue {
    //= RFC 6525 5.1.2-1 5.1.4-3
    /// Parks what the application sends on these streams from now on. One reset at a time.
    ///
    /// RFC 6525 §5.1.2 A1: "The sender MUST stop assigning new SSNs to new user data provided by the upper
    /// layer for the affected streams and queue it."
    pub(crate) fn park(&mut self, streams: StreamSet) {
        debug_assert!(self.parked.is_none(), "one reset at a time");
        self.parked = Some(Box::new(Parked::new(streams)));
    }

    /// Parks a message if its stream is being reset; otherwise it comes back.
    #[inline]
    pub(super) fn park_message(&mut self, message: Queued) -> Option<Queued> {
        match &mut self.parked {
            Some(parked) if parked.streams().contains(message.stream) => {
                parked.push(message);
                None
            }
            _ => Some(message),
        }
    }

    /// Whether nothing of the streams that are being reset waits or is outstanding, but for what is parked.
    /// `board_is_empty`: nothing at all is outstanding.
    pub(crate) fn is_drained(&mut self, board_is_empty: bool) -> bool {
        let leaves = self.mid_message();
        let SendQueue { parked, lines, table, .. } = self;
        let Some(parked) = parked else { return true };
        if *parked.streams() == StreamSet::All {
            return board_is_empty && !leaves && lines.len() == 0;
        }
        parked.is_drained(|stream| table.get(stream).pieces == 0)
    }

    //= RFC 6525 5.2.7-4
    /// The reset is over. Its streams begin again with SSN or MID 0 if they `begin_again`; what was parked waits for its turn.
    ///
    /// RFC 6525 §5.2.7 H4: "the affected streams MUST now be reset and all queued data should now be processed."
    pub(crate) fn unpark(&mut self, begin_again: bool) {
        let Some(mut parked) = self.parked.take() else { return };
        if begin_again {
            match parked.streams() {
                StreamSet::All => self.table.change_all(|state| state.next = Mid(0)),
                StreamSet::These(list) => {
                    let used = list.iter().filter(|s| self.table.get(**s).next != Mid(0));
                    let used: Vec<StreamId> = used.copied().collect();
                    used.into_iter().for_each(|s| self.table.get_mut(s).next = Mid(0));
                }
            }
            if let Some(open) = &mut self.open {
                let listed = parked.streams().listed();
                open.begin_again(Some(listed).filter(|listed| !listed.is_empty()));
            }
        }
        for message in parked.take_where(|_| true) {
            self.enqueue(message);
        }
    }

    /// Whether these streams stand at their beginning: no message that counts was sent, and nothing waits.
    pub(crate) fn is_fresh(&self, streams: &StreamSet) -> bool {
        let fresh = |state: OutStream| state.next == Mid(0) && state.pieces == 0;
        let open = self.open.as_ref();
        match streams {
            StreamSet::All => {
                let unordered = open.is_none_or(|open| open.is_all_fresh());
                self.lines.len() == 0 && unordered && self.table.all(fresh)
            }
            StreamSet::These(list) => list.iter().all(|stream| {
                let unordered = open.is_none_or(|open| open.is_fresh(*stream));
                unordered && fresh(self.table.get(*stream))
            }),
        }
    }

    /// All that waits is parked.
    pub(crate) fn rests(&self) -> bool {
        self.lines.len() == 0 && !self.mid_message()
    }

    //= RFC 6525 5.1.5-2 5.1.6-1
    /// Outgoing streams were added. None of them was used, so that each begins with SSN 0.
    pub(crate) fn add_streams(&mut self, more: u16) {
        self.streams = self.streams.saturating_add(more);
    }
}
