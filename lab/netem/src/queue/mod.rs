//! The queue before the bottleneck. What limits it is a file of its own and a variant of
//! [`Discipline`]; what keeps packets out before that, [`red`], comes before it, and what drops those that
//! waited too long, [`codel`], behind it.

pub(crate) mod codel;
mod drop_tail;
mod fill;
pub(crate) mod red;

use std::collections::VecDeque;

use crate::config::LinkConfig;
use crate::packet::Entry;
use crate::stats::{DropCause, LinkStats};
use crate::time::Nanos;
use codel::{Codel, Line};
use drop_tail::DropTail;
use fill::Fill;

/// Which packets may enter the queue.
#[derive(Clone, Debug)]
enum Discipline {
    DropTail(DropTail),
}

impl Discipline {
    fn new(config: &LinkConfig) -> Discipline {
        Discipline::DropTail(DropTail::new(config))
    }

    fn admits(&self, fill: Fill, bytes: u64) -> bool {
        match self {
            Discipline::DropTail(discipline) => discipline.admits(fill, bytes),
        }
    }
}

/// Packets that wait for the link to become free.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Waiting<T>,
    discipline: Discipline,
    codel: Option<Codel>,
}

/// A packet, and since when it has waited.
#[derive(Debug)]
struct Place<T> {
    entry: Entry<T>,
    since: Nanos,
}

/// The packets themselves.
#[derive(Debug)]
struct Waiting<T> {
    places: VecDeque<Place<T>>,
    fill: Fill,
    /// Until when the integrals in the statistics are up to date.
    integrated_to: Nanos,
}

impl<T> Waiting<T> {
    fn pop(&mut self, now: Nanos, stats: &mut LinkStats) -> Option<Place<T>> {
        let place = self.places.pop_front()?;
        self.integrate(now, stats);
        self.fill.packets -= 1;
        self.fill.bytes -= place.entry.bytes;
        Some(place)
    }

    fn integrate(&mut self, now: Nanos, stats: &mut LinkStats) {
        if self.fill.packets > 0 {
            let span = u128::from((now - self.integrated_to).get());
            stats.queue_packet_nanos += span * u128::from(self.fill.packets);
            stats.queue_byte_nanos += span * u128::from(self.fill.bytes);
        }
        self.integrated_to = self.integrated_to.max(now);
    }
}

/// The queue as CoDel sees it at a moment.
struct AtHead<'a, T> {
    waiting: &'a mut Waiting<T>,
    stats: &'a mut LinkStats,
    now: Nanos,
}

impl<T> Line for AtHead<'_, T> {
    type Entry = Entry<T>;

    fn take(&mut self) -> Option<(Entry<T>, Nanos, u64)> {
        let Place { entry, since } = self.waiting.pop(self.now, self.stats)?;
        Some((entry, self.now - since, self.waiting.fill.bytes))
    }

    fn drop(&mut self, _: Entry<T>) {
        self.stats.in_transit -= 1;
        self.stats.count_drop(DropCause::Codel);
    }

    fn mark(&mut self, entry: &mut Entry<T>) -> bool {
        self.stats.marked += u64::from(entry.ect && !entry.marked);
        entry.marked |= entry.ect;
        entry.ect
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(config: &LinkConfig) -> Queue<T> {
        let fill = Fill::default();
        Queue {
            waiting: Waiting { places: VecDeque::new(), fill, integrated_to: Nanos::ZERO },
            discipline: Discipline::new(config),
            codel: config.codel.as_ref().map(Codel::new),
        }
    }

    /// Packets that wait already stay, even beyond a new limit.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        self.discipline = Discipline::new(config);
        match (&mut self.codel, &config.codel) {
            (Some(codel), Some(config)) => codel.reconfigure(config),
            (codel, config) => *codel = config.as_ref().map(Codel::new),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.places.len()
    }

    /// Bytes of the next packet to leave, or fewer: which one that is may be settled only when it does. `None` if
    /// the queue is empty.
    pub(crate) fn next_bytes(&self) -> Option<u64> {
        let front = self.waiting.places.front()?;
        Some(if self.codel.is_some() { 0 } else { front.entry.bytes })
    }

    /// Appends the packet, or returns `false` when it does not fit.
    pub(crate) fn push(&mut self, now: Nanos, entry: Entry<T>, stats: &mut LinkStats) -> bool {
        if !self.discipline.admits(self.waiting.fill, entry.bytes) {
            return false;
        }
        self.waiting.integrate(now, stats);
        let fill = &mut self.waiting.fill;
        fill.packets += 1;
        fill.bytes += entry.bytes;
        stats.max_queue_packets = stats.max_queue_packets.max(fill.packets);
        stats.max_queue_bytes = stats.max_queue_bytes.max(fill.bytes);
        if let Some(codel) = &mut self.codel {
            codel.enters(entry.bytes);
        }
        self.waiting.places.push_back(Place { entry, since: now });
        true
    }

    pub(crate) fn pop(&mut self, now: Nanos, stats: &mut LinkStats) -> Option<Entry<T>> {
        match &mut self.codel {
            None => self.waiting.pop(now, stats).map(|place| place.entry),
            Some(codel) => {
                codel.dequeue(now, &mut AtHead { waiting: &mut self.waiting, stats, now })
            }
        }
    }

    pub(crate) fn clear(&mut self, now: Nanos, stats: &mut LinkStats) {
        self.waiting.integrate(now, stats);
        self.waiting.places.clear();
        self.waiting.fill = Fill::default();
    }

    /// Brings the integrals of the queue length up to `now`.
    pub(crate) fn integrate(&mut self, now: Nanos, stats: &mut LinkStats) {
        self.waiting.integrate(now, stats);
    }
}
