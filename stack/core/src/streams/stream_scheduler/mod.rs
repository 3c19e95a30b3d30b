//! Which stream sends its next message (RFC 8260 §3); which path a packet takes is another matter
//! (`path/scheduler/`).
//!
//! A scheduler gives a place to a stream with messages that wait; the least place goes first. One file each. It is asked
//! between messages only: with DATA chunks the fragments of a message have consecutive TSNs
//! (RFC 9260 §3.3.1), so that one that has begun to leave leaves entirely. With I-DATA chunks (RFC 8260) it is asked
//! after each chunk, and a chunk is to it what a message is otherwise, but for first come, first served.

mod fair_capacity;
mod first_come_first_served;
mod order;
mod priority;
mod round_robin;
mod round_robin_per_packet;
mod start_time;
#[cfg(test)]
mod tests;
mod weighted_fair_queueing;

use tresse_wire::StreamId;

use crate::profile;
use fair_capacity::FairCapacity;
use first_come_first_served::FirstComeFirstServed;
use order::Order;
use priority::Priority;
use round_robin::RoundRobin;
use round_robin_per_packet::RoundRobinPerPacket;
use weighted_fair_queueing::WeightedFairQueueing;

/// A stream scheduler.
trait StreamScheduler: std::fmt::Debug + Send + Sync {
    /// The place of a stream that takes its turn among those that wait. `value` is what the application set for it
    /// (RFC 8260 §4.3.3), 0 if nothing.
    fn place(&mut self, stream: StreamId, value: u16) -> u64;

    /// A message of the stream, which had this place, begins to leave, or a chunk of one leaves between others: bytes of
    /// user data in all.
    fn on_begun(&mut self, _stream: StreamId, _value: u16, _place: u64, _bytes: usize) {}

    /// No stream waits for its turn.
    fn on_idle(&mut self) {}

    /// All messages wait in one line, whatever their streams.
    fn has_one_line(&self) -> bool {
        false
    }

    /// A packet carries new messages of one stream, whose turn lasts as long.
    fn is_per_packet(&self) -> bool {
        false
    }

    /// Bytes of memory beside its own.
    fn memory(&self) -> usize {
        0
    }
}

/// Makes the registry of what the profile has names for.
macro_rules! schedulers {
    ($($name:ident,)*) => {
        /// The scheduler that a profile has chosen.
        fn scheduler(which: profile::StreamScheduler) -> Box<dyn StreamScheduler> {
            match which {
                $(profile::StreamScheduler::$name => Box::<$name>::default(),)*
            }
        }
    };
}

schedulers! {
    FirstComeFirstServed,
    RoundRobin,
    RoundRobinPerPacket,
    Priority,
    FairCapacity,
    WeightedFairQueueing,
}

/// Whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    scheduler: Box<dyn StreamScheduler>,
    /// What it says of itself, which does not change.
    one_line: bool,
    per_packet: bool,
    order: Order,
    /// The line of the message that began to leave last, and its place.
    latest: (StreamId, u64),
    /// A line's turn lasts for the rest of the packet.
    packet: bool,
}

impl Turns {
    pub(super) fn new(which: profile::StreamScheduler) -> Turns {
        let scheduler = scheduler(which);
        Turns {
            one_line: scheduler.has_one_line(),
            per_packet: scheduler.is_per_packet(),
            scheduler,
            order: Order::default(),
            latest: (StreamId(0), 0),
            packet: false,
        }
    }

    /// The line in which messages of a stream wait.
    #[inline]
    pub(super) fn line_of(&self, stream: StreamId) -> StreamId {
        if self.one_line { StreamId(0) } else { stream }
    }

    /// The line whose first message begins to leave next; `None` also if that has to wait for the next packet.
    #[inline]
    pub(super) fn first(&self) -> Option<StreamId> {
        let (line, _) = self.order.first()?;
        (!self.packet || line == self.latest.0).then_some(line)
    }

    /// Whether a line waits for its turn.
    #[inline]
    pub(super) fn waits(&self, line: StreamId) -> bool {
        self.order.contains(line)
    }

    /// A line waits for its turn from now on.
    #[inline]
    pub(super) fn enter(&mut self, line: StreamId, value: u16) {
        if self.order.first().is_none() {
            self.scheduler.on_idle();
        }
        let place = match self.latest {
            (same, place) if self.packet && same == line => place,
            _ => self.scheduler.place(line, value),
        };
        self.order.insert(line, place);
    }

    /// It does not wait any more, if it did.
    #[inline]
    pub(super) fn leave(&mut self, line: StreamId) {
        self.order.remove(line);
    }

    /// Whether all messages wait in one line.
    #[inline]
    pub(super) fn has_one_line(&self) -> bool {
        self.one_line
    }

    /// The first message of the first line, or its next chunk, of this many bytes, begins to leave; the line waits no more.
    #[inline]
    pub(super) fn begin(&mut self, value: u16, bytes: usize) {
        let Some((line, place)) = self.order.first() else { return };
        self.order.remove(line);
        self.scheduler.on_begun(line, value, place, bytes);
        self.latest = (line, place);
    }

    /// A chunk of the message that began last is in the packet.
    #[inline]
    pub(super) fn on_chunk(&mut self) {
        self.packet = self.per_packet;
    }

    /// No new chunk is added to this packet: the line whose turn this ends, if it waits for the next one.
    pub(super) fn end_packet(&mut self) -> Option<StreamId> {
        let was = std::mem::take(&mut self.packet);
        let (line, _) = self.latest;
        (was && self.waits(line)).then(|| {
            self.leave(line);
            line
        })
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.order.memory() + self.scheduler.memory()
    }
}
