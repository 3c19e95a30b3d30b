//! Outgoing streams while they are reset (RFC 6525 §5.1.2, §5.1.4): what the application sends meanwhile is parked.
//!
//! What it had sent before leaves and is acknowledged, with the numbers of the time before; then, and not sooner, the
//! peer is asked for the reset. Whatever the answer is, parked messages join the others when it is there.

use std::collections::{BTreeMap, BTreeSet};

use tresse_wire::{Mid, StreamId};

use super::message::Queued;
use super::{OutStream, Policy, SendQueue};
use crate::event::SendFailure;
use crate::streams::PIECE;
use crate::streams::lines::{Lines, Place};
use crate::streams::stream_set::StreamSet;
use crate::time::Time;

/// What waits for the end of a reset.
#[derive(Debug)]
pub(super) struct Parked {
    streams: StreamSet,
    /// Streams of which something may still wait, or be outstanding, from before.
    busy: Vec<StreamId>,
    lines: Lines<Queued>,
    lifetimes: BTreeSet<(Time, u64, Place)>,
    bytes: usize,
    bytes_of: BTreeMap<u16, usize>,
}

impl Parked {
    fn push(&mut self, message: Queued) {
        let (stream, until, len) = (message.stream, message.until, message.payload.len());
        self.bytes += len;
        *self.bytes_of.entry(stream.0).or_default() += len;
        let (number, place) = self.lines.push(stream, message);
        if until != Time::FAR_FUTURE {
            self.lifetimes.insert((until, number, place));
        }
    }

    fn take_out(&mut self, place: Place) -> Option<Queued> {
        let (number, _, message) = self.lines.take(place)?;
        let len = message.payload.len();
        self.lifetimes.remove(&(message.until, number, place));
        self.bytes -= len;
        if let Some(bytes) = self.bytes_of.get_mut(&message.stream.0) {
            *bytes -= len;
        }
        Some(message)
    }

    /// Takes out all that `wanted` names, in the order of arrival.
    pub(super) fn take_where(&mut self, wanted: impl Fn(&Queued) -> bool) -> Vec<Queued> {
        let places = self.lines.find(wanted);
        places.into_iter().filter_map(|place| self.take_out(place)).collect()
    }

    /// Takes out the messages whose lifetime has ended.
    pub(super) fn expire(&mut self, now: Time) -> Vec<(Policy, SendFailure)> {
        let mut expired = Vec::new();
        while let Some(&(_, _, place)) = self.lifetimes.first().filter(|(until, ..)| *until <= now)
        {
            expired.extend(
                self.take_out(place).map(|message| (message.policy, message.failure(false))),
            );
        }
        expired
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.lifetimes.first().map(|(until, ..)| *until)
    }

    /// User bytes of all streams.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn bytes_of(&self, stream: StreamId) -> usize {
        self.bytes_of.get(&stream.0).copied().unwrap_or(0)
    }

    pub(super) fn messages(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
            + self.streams.memory()
            + self.busy.capacity() * size_of::<StreamId>()
            + (self.lines.len() + self.lifetimes.len() + self.bytes_of.len()) * PIECE
            + self.lines.memory()
    }
}

impl SendQueue {
    //= RFC 6525 5.1.2-1 5.1.4-3
    /// Parks what the application sends on these streams from now on. One reset at a time.
    ///
    /// RFC 6525 §5.1.2 A1: "The sender MUST stop assigning new SSNs to new user data provided by the upper
    /// layer for the affected streams and queue it."
    pub(crate) fn park(&mut self, streams: StreamSet) {
        debug_assert!(self.parked.is_none(), "one reset at a time");
        let busy = streams.listed().to_vec();
        self.parked = Some(Box::new(Parked {
            streams,
            busy,
            lines: Lines::new(),
            lifetimes: BTreeSet::new(),
            bytes: 0,
            bytes_of: BTreeMap::new(),
        }));
    }

    /// Parks a message if its stream is being reset; otherwise it comes back.
    #[inline]
    pub(super) fn park_message(&mut self, message: Queued) -> Option<Queued> {
        match &mut self.parked {
            Some(parked) if parked.streams.contains(message.stream) => {
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
        if parked.streams == StreamSet::All {
            return board_is_empty && !leaves && lines.len() == 0;
        }
        // What was drained once stays so.
        while parked.busy.pop_if(|stream| table.get(*stream).pieces == 0).is_some() {}
        parked.busy.is_empty()
    }

    //= RFC 6525 5.2.7-4
    /// The reset is over. Its streams begin again with SSN or MID 0 if they `begin_again`; what was parked waits for its turn.
    ///
    /// RFC 6525 §5.2.7 H4: "the affected streams MUST now be reset and all queued data should now be processed."
    pub(crate) fn unpark(&mut self, begin_again: bool) {
        let Some(mut parked) = self.parked.take() else { return };
        if begin_again {
            match &parked.streams {
                StreamSet::All => self.table.change_all(|state| state.next = Mid(0)),
                StreamSet::These(list) => {
                    let used = list.iter().filter(|s| self.table.get(**s).next != Mid(0));
                    let used: Vec<StreamId> = used.copied().collect();
                    used.into_iter().for_each(|s| self.table.get_mut(s).next = Mid(0));
                }
            }
            if let Some(open) = &mut self.open {
                let listed = parked.streams.listed();
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
