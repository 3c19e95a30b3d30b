//! What the application sends on outgoing streams while they are reset (RFC 6525 §5.1.2, §5.1.4).

use std::collections::{BTreeMap, BTreeSet};

use tresse_wire::StreamId;

use super::message::Queued;
use super::policy::{Policy, Priorities};
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
    priorities: Priorities,
    bytes: usize,
    bytes_of: BTreeMap<u16, usize>,
}

impl Parked {
    pub(super) fn new(streams: StreamSet) -> Parked {
        Parked {
            busy: streams.listed().to_vec(),
            streams,
            lines: Lines::new(),
            lifetimes: BTreeSet::new(),
            priorities: Priorities::default(),
            bytes: 0,
            bytes_of: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, message: Queued) {
        let (stream, until, len) = (message.stream, message.until, message.payload.len());
        let policy = message.policy;
        self.bytes += len;
        *self.bytes_of.entry(stream.0).or_default() += len;
        let (number, place) = self.lines.push(stream, message);
        self.priorities.insert(policy, number, place, len);
        if until != Time::FAR_FUTURE {
            self.lifetimes.insert((until, number, place));
        }
    }

    fn take_out(&mut self, place: Place) -> Option<Queued> {
        let (number, _, message) = self.lines.take(place)?;
        let len = message.payload.len();
        self.lifetimes.remove(&(message.until, number, place));
        self.priorities.remove(message.policy, number);
        self.bytes -= len;
        if let Some(bytes) = self.bytes_of.get_mut(&message.stream.0) {
            *bytes -= len;
        }
        Some(message)
    }

    /// What is being reset.
    pub(super) const fn streams(&self) -> &StreamSet {
        &self.streams
    }

    /// Whether nothing waits or is outstanding from before any more. What was `drained` once stays so.
    pub(super) fn is_drained(&mut self, drained: impl Fn(StreamId) -> bool) -> bool {
        while self.busy.pop_if(|stream| drained(*stream)).is_some() {}
        self.busy.is_empty()
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

    /// Messages that have a priority.
    pub(super) const fn priorities(&self) -> &Priorities {
        &self.priorities
    }

    /// Takes out the least important of them.
    pub(super) fn take_least(&mut self) -> Option<(Policy, SendFailure)> {
        let place = self.priorities.first()?;
        self.take_out(place).map(|message| (message.policy, message.failure(false)))
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
            + (self.lines.len()
                + self.lifetimes.len()
                + self.priorities.len()
                + self.bytes_of.len())
                * PIECE
            + self.lines.memory()
    }
}
