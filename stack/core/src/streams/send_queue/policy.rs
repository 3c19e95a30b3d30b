//! Messages that may be given up (RFC 3758, RFC 7496), as long as they wait, and as far as the rest of one does.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use tresse_wire::{DataFlags, StreamId};

use super::{Place, SendQueue};
use crate::chunk::NewChunk;
use crate::event::SendFailure;
use crate::reliability::{AbandonPolicy, Reliability};
use crate::time::Time;

/// When a message is given up; the end of its lifetime stands beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Policy {
    #[default]
    Full,
    Timed,
    Retransmissions(u32),
    Priority(u32),
}

impl Policy {
    /// With the lifetime, if there is one.
    #[inline]
    pub(super) fn of(reliability: Reliability) -> (Policy, Option<Duration>) {
        match reliability {
            Reliability::Full => (Policy::Full, None),
            Reliability::Timed(lifetime) => (Policy::Timed, Some(lifetime)),
            Reliability::Retransmissions(most) => (Policy::Retransmissions(most), None),
            Reliability::Priority(value) => (Policy::Priority(value), None),
        }
    }

    /// Its name, if there is one.
    pub(crate) const fn name(self) -> Option<AbandonPolicy> {
        match self {
            Policy::Full => None,
            Policy::Timed => Some(AbandonPolicy::Timed),
            Policy::Retransmissions(_) => Some(AbandonPolicy::Retransmissions),
            Policy::Priority(_) => Some(AbandonPolicy::Priority),
        }
    }
}

/// Messages that wait and have a priority: the least important first, of equal ones the oldest.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    waiting: BTreeMap<(Reverse<u32>, u64), (Place, usize)>,
}

impl Priorities {
    #[inline]
    pub(super) fn insert(&mut self, policy: Policy, number: u64, place: Place, bytes: usize) {
        if let Policy::Priority(value) = policy {
            self.waiting.insert((Reverse(value), number), (place, bytes));
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, policy: Policy, number: u64) {
        if let Policy::Priority(value) = policy {
            self.waiting.remove(&(Reverse(value), number));
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl SendQueue {
    /// Policy of the message of the chunk that [`next`](Self::next) returned last, and the end of its lifetime.
    pub(crate) const fn latest_policy(&self) -> (Policy, Time) {
        self.latest
    }

    /// Messages that wait and have a priority, the least important first: their numbers and bytes.
    pub(crate) fn by_priority(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.priorities.waiting.iter().map(|((Reverse(value), _), (_, bytes))| (*value, *bytes))
    }

    /// Takes out the first of these.
    pub(crate) fn take_least(&mut self) -> Option<(Policy, SendFailure)> {
        let (_, (place, _)) = self.priorities.waiting.first_key_value()?;
        self.take_out(*place)
    }

    /// Bytes that have not left of the message of a stream of which a part has.
    pub(crate) fn begun_bytes(&self, stream: StreamId) -> usize {
        self.leaving(stream).map_or(0, |begun| begun.message.payload.len() - begun.taken)
    }

    /// The rest of the message of a stream of which a part has left leaves no more. Returns the whole of it, and what stands for its last
    /// chunk.
    pub(crate) fn give_up_begun(&mut self, stream: StreamId) -> Option<(SendFailure, NewChunk)> {
        let begun = self.take_leaving(stream)?;
        let rest = begun.message.payload.len() - begun.taken;
        let message = begun.message;
        self.take_bytes(rest);
        self.on_abandoned(message.stream, rest);
        self.settle(self.turns.line_of(message.stream));
        let unordered = message.unordered;
        let end = NewChunk {
            stream: message.stream,
            mid: begun.mid,
            fsn: begun.fsn,
            ppid: message.ppid,
            flags: DataFlags { unordered, beginning: false, ending: true, ..DataFlags::default() },
            context: message.context,
            key: message.key,
            payload: bytes::Bytes::new(),
        };
        Some((message.failure(true), end))
    }

    /// This many bytes of a stream are given up. Their chunks are done with when the peer has passed over them.
    pub(crate) fn on_abandoned(&mut self, stream: StreamId, bytes: usize) {
        let held = &mut self.table.get_mut(stream).held;
        *held = held.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
    }
}
