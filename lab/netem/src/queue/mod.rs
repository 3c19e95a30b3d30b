//! The queue before the bottleneck. What limits it is a file of its own and a variant of
//! [`Discipline`]; what keeps packets out before that, [`red`], comes before it.

mod drop_tail;
pub(crate) mod red;

use std::collections::VecDeque;

use crate::config::LinkConfig;
use crate::packet::Entry;
use crate::stats::LinkStats;
use crate::time::Nanos;
use drop_tail::DropTail;

/// How full a queue is.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    packets: u64,
    bytes: u64,
}

/// Who may enter the queue.
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
    waiting: VecDeque<Entry<T>>,
    fill: Fill,
    discipline: Discipline,
    /// Until when the integrals in the statistics are up to date.
    integrated_to: Nanos,
}

impl<T> Queue<T> {
    pub(crate) fn new(config: &LinkConfig) -> Queue<T> {
        Queue {
            waiting: VecDeque::new(),
            fill: Fill::default(),
            discipline: Discipline::new(config),
            integrated_to: Nanos::ZERO,
        }
    }

    /// Packets that wait already stay, even beyond a new limit.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        self.discipline = Discipline::new(config);
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn front(&self) -> Option<&Entry<T>> {
        self.waiting.front()
    }

    /// Appends the packet, or returns `false` when it does not fit.
    pub(crate) fn push(&mut self, now: Nanos, entry: Entry<T>, stats: &mut LinkStats) -> bool {
        if !self.discipline.admits(self.fill, entry.bytes) {
            return false;
        }
        self.integrate(now, stats);
        self.fill.packets += 1;
        self.fill.bytes += entry.bytes;
        stats.max_queue_packets = stats.max_queue_packets.max(self.fill.packets);
        stats.max_queue_bytes = stats.max_queue_bytes.max(self.fill.bytes);
        self.waiting.push_back(entry);
        true
    }

    pub(crate) fn pop(&mut self, now: Nanos, stats: &mut LinkStats) -> Option<Entry<T>> {
        let entry = self.waiting.pop_front()?;
        self.integrate(now, stats);
        self.fill.packets -= 1;
        self.fill.bytes -= entry.bytes;
        Some(entry)
    }

    pub(crate) fn clear(&mut self, now: Nanos, stats: &mut LinkStats) {
        self.integrate(now, stats);
        self.waiting.clear();
        self.fill = Fill::default();
    }

    /// Brings the integrals of the queue length up to `now`.
    pub(crate) fn integrate(&mut self, now: Nanos, stats: &mut LinkStats) {
        if self.fill.packets > 0 {
            let span = u128::from((now - self.integrated_to).get());
            stats.queue_packet_nanos += span * u128::from(self.fill.packets);
            stats.queue_byte_nanos += span * u128::from(self.fill.bytes);
        }
        self.integrated_to = self.integrated_to.max(now);
    }
}
