//! One direction of a link: the stages put together.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::config::{ConfigError, LinkConfig, LossStage};
use crate::corruption::{Corrupter, Corruption};
use crate::delay::Delay;
use crate::duplication::Duplication;
use crate::loss::Loss;
use crate::packet::{Class, Entry, Numbers};
use crate::queue::Queue;
use crate::random::{Random, Stage};
use crate::rate::Rate;
use crate::reordering::{Detour, Held, Reordering};
use crate::stats::{DropCause, LinkStats};
use crate::time::Nanos;

/// What became of a packet at the entry of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the link. It may still be lost on the way.
    Accepted,
    /// It is lost.
    Dropped(DropCause),
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When it arrived; not later than the time given to [`Link::poll`].
    pub at: Nanos,
    /// The packet as offered.
    pub packet: T,
    /// Its number among the packets offered, from 1.
    pub number: u64,
    /// When it was offered.
    pub offered_at: Nanos,
    /// The second of two copies.
    pub copy: bool,
    /// Bits to flip in it, if it was corrupted.
    pub corruption: Option<Corruption>,
}

/// A packet on the way, ordered by arrival and then by departure.
#[derive(Debug)]
struct Flying<T> {
    at: Nanos,
    sequence: u64,
    entry: Entry<T>,
    corruption: Option<Corruption>,
}

impl<T> Flying<T> {
    const fn key(&self) -> (Nanos, u64) {
        (self.at, self.sequence)
    }
}

impl<T> PartialEq for Flying<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Flying<T> {}

impl<T> PartialOrd for Flying<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Flying<T> {
    /// Reversed: the heap's greatest element is the first to arrive.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// One direction of a link. See the crate documentation for the stages.
///
/// Time never runs backwards inside a link: a moment before one already given counts as that one.
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    loss: Loss,
    duplication: Duplication,
    queue: Queue<T>,
    rate: Rate,
    corrupter: Corrupter,
    delay: Delay,
    reordering: Reordering,
    /// The latest moment known.
    now: Nanos,
    /// When the packet being serialised has left.
    busy_until: Nanos,
    /// Packets on the way that keep their order.
    in_order: VecDeque<Flying<T>>,
    /// Packets on the way that may arrive out of order.
    out_of_order: BinaryHeap<Flying<T>>,
    held: Held<Flying<T>>,
    /// Arrival of the last packet that kept its order.
    last_arrival: Nanos,
    departures: u64,
    /// The greatest packet number delivered.
    newest_delivered: u64,
    stats: LinkStats,
}

impl<T: Clone> Link<T> {
    /// A link whose random decisions follow from `seed`.
    ///
    /// # Errors
    /// The first fault of `config`, see [`LinkConfig::validate`].
    pub fn new(config: LinkConfig, seed: u64) -> Result<Link<T>, ConfigError> {
        config.validate()?;
        Ok(Link {
            loss: Loss::new(&config, Random::new(seed, Stage::Loss)),
            duplication: Duplication::new(&config, Random::new(seed, Stage::Duplication)),
            queue: Queue::new(&config),
            rate: Rate::new(&config),
            corrupter: Corrupter::new(&config, Random::new(seed, Stage::Corruption)),
            delay: Delay::new(&config, Random::new(seed, Stage::Jitter)),
            reordering: Reordering::new(&config, Random::new(seed, Stage::Reordering)),
            now: Nanos::ZERO,
            busy_until: Nanos::ZERO,
            in_order: VecDeque::new(),
            out_of_order: BinaryHeap::new(),
            held: Held::new(),
            last_arrival: Nanos::ZERO,
            departures: 0,
            newest_delivered: 0,
            stats: LinkStats::default(),
            config,
        })
    }

    /// Puts a packet of `size` bytes into the link at `now`.
    pub fn offer(&mut self, now: Nanos, size: u32, class: Class, packet: T) -> Verdict {
        self.advance(now);
        let numbers = self.number(size, class);
        let entry = Entry {
            packet,
            numbers,
            size,
            bytes: u64::from(size) + u64::from(self.config.overhead_bytes),
            copy: false,
            offered_at: self.now,
        };
        if !self.config.up {
            return self.drop_at_entry(DropCause::Down);
        }
        if self.config.loss_stage == LossStage::Entry
            && let Some(cause) = self.loss.judge(&numbers, false)
        {
            return self.drop_at_entry(cause);
        }
        let copy = self.duplication.judge(&numbers).then(|| Entry { copy: true, ..entry.clone() });
        let verdict = self.enqueue(entry);
        if let Some(copy) = copy {
            self.stats.duplicated += 1;
            self.enqueue(copy);
        }
        verdict
    }

    /// The next packet that has arrived by `now`, in the order of arrival. Call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.advance(now);
        let ordered = self.in_order.front().map(Flying::key);
        let unordered = self.out_of_order.peek().map(Flying::key);
        let late_first = match (ordered, unordered) {
            (Some(a), Some(b)) => b < a,
            (a, _) => a.is_none(),
        };
        let (at, _) = if late_first { unordered? } else { ordered? };
        if at > self.now {
            return None;
        }
        let flying =
            if late_first { self.out_of_order.pop()? } else { self.in_order.pop_front()? };
        Some(self.deliver(flying))
    }

    /// When [`Self::poll`] should be called next: a packet may arrive then, and none arrives
    /// before. `None` while nothing is on the way.
    pub fn next_wakeup(&self) -> Option<Nanos> {
        let mut first = self.in_order.front().map_or(Nanos::MAX, |flying| flying.at);
        if let Some(flying) = self.out_of_order.peek() {
            first = first.min(flying.at);
        }
        if let Some(at) = self.held.next_deadline() {
            first = first.min(at);
        }
        // The division for the exact time is spared while others on the way come first.
        if let Some(entry) = self.queue.front()
            && self.busy_until + self.delay.least() < first
        {
            let departure = self.busy_until + self.rate.time_for(entry.bytes);
            first = first.min(departure + self.delay.least());
        }
        (first != Nanos::MAX).then_some(first)
    }

    /// Replaces all settings from `now` on. Packets on the way are not affected, unless the link
    /// goes down. Packet numbers go on, and so do the streams of random numbers.
    ///
    /// # Errors
    /// The first fault of `config`; the link is then unchanged.
    pub fn reconfigure(&mut self, now: Nanos, config: LinkConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.advance(now);
        self.loss.reconfigure(&config);
        self.duplication.reconfigure(&config);
        self.queue.reconfigure(&config);
        self.rate = Rate::new(&config);
        self.corrupter.reconfigure(&config);
        self.delay.reconfigure(&config);
        self.reordering.reconfigure(&config);
        let goes_down = self.config.up && !config.up;
        self.config = config;
        if goes_down {
            self.cut();
        }
        Ok(())
    }

    /// Takes the link up or down. Going down loses what is queued and on the way.
    pub fn set_up(&mut self, now: Nanos, up: bool) {
        self.advance(now);
        let goes_down = self.config.up && !up;
        self.config.up = up;
        if goes_down {
            self.cut();
        }
    }

    /// The settings in force.
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Counters, with the queue integrals up to the latest moment given to the link.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Starts to serialise every waiting packet whose turn has come by `now`.
    ///
    /// This may run late: what happens to a packet depends only on what the link knew at the
    /// moment its turn came, because every call that changes anything runs this first.
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        while self.busy_until <= self.now {
            let start = self.busy_until;
            let Some(entry) = self.queue.pop(start, &mut self.stats) else { break };
            self.serialise(start, entry);
        }
        if self.held.next_deadline().is_some_and(|at| at <= self.now) {
            let out_of_order = &mut self.out_of_order;
            self.held.expire(self.now, |at, packet| out_of_order.push(Flying { at, ..packet }));
        }
        self.queue.integrate(self.now, &mut self.stats);
    }

    fn number(&mut self, size: u32, class: Class) -> Numbers {
        let stats = &mut self.stats;
        stats.offered += 1;
        stats.offered_bytes += u64::from(size);
        stats.offered_data += u64::from(class.contains(Class::DATA));
        stats.offered_acks += u64::from(class.contains(Class::ACK));
        Numbers {
            packet: stats.offered,
            data: if class.contains(Class::DATA) { stats.offered_data } else { 0 },
            ack: if class.contains(Class::ACK) { stats.offered_acks } else { 0 },
        }
    }

    fn drop_at_entry(&mut self, cause: DropCause) -> Verdict {
        self.stats.count_drop(cause);
        Verdict::Dropped(cause)
    }

    fn enqueue(&mut self, entry: Entry<T>) -> Verdict {
        if self.queue.len() == 0 && self.busy_until <= self.now {
            self.stats.in_transit += 1;
            self.serialise(self.now, entry);
        } else if self.queue.push(self.now, entry, &mut self.stats) {
            self.stats.in_transit += 1;
        } else {
            return self.drop_at_entry(DropCause::Queue);
        }
        Verdict::Accepted
    }

    /// Stages 5 to 9 for a packet whose serialisation starts at `start`.
    fn serialise(&mut self, start: Nanos, entry: Entry<T>) {
        let departure = start + self.rate.time_for(entry.bytes);
        self.busy_until = departure;
        if self.config.loss_stage == LossStage::Wire
            && let Some(cause) = self.loss.judge(&entry.numbers, entry.copy)
        {
            self.stats.in_transit -= 1;
            self.stats.count_drop(cause);
            return;
        }
        let corruption = self.corrupter.judge(&entry.numbers, entry.copy);
        let arrival = departure + self.delay.draw();
        let detour = self.reordering.judge(&entry.numbers, entry.copy);
        self.departures += 1;
        let mut flying = Flying { at: arrival, sequence: self.departures, entry, corruption };
        match detour {
            Some(Detour::Delay(delay)) => {
                flying.at = arrival + delay;
                self.out_of_order.push(flying);
            }
            Some(Detour::After(count, hold)) => self.held.push(flying, count, arrival + hold),
            None if self.config.jitter_reorders => {
                self.out_of_order.push(flying);
                self.release_held(arrival);
            }
            None => {
                // Also after the delay became shorter, nobody overtakes.
                flying.at = arrival.max(self.last_arrival);
                self.last_arrival = flying.at;
                self.in_order.push_back(flying);
                self.release_held(self.last_arrival);
            }
        }
    }

    /// A packet that arrives at `arrival` passes those held back.
    fn release_held(&mut self, arrival: Nanos) {
        let departures = &mut self.departures;
        let out_of_order = &mut self.out_of_order;
        self.held.passed(arrival, |at, packet| {
            *departures += 1; // Right behind the packet that passed.
            out_of_order.push(Flying { at, sequence: *departures, ..packet });
        });
    }

    fn deliver(&mut self, flying: Flying<T>) -> Delivery<T> {
        let Flying { at, entry, corruption, .. } = flying;
        let stats = &mut self.stats;
        let number = entry.numbers.packet;
        stats.in_transit -= 1;
        stats.delivered += 1;
        stats.delivered_bytes += u64::from(entry.size);
        stats.corrupted += u64::from(corruption.is_some());
        stats.reordered += u64::from(number < self.newest_delivered);
        self.newest_delivered = self.newest_delivered.max(number);
        Delivery {
            at,
            packet: entry.packet,
            number,
            offered_at: entry.offered_at,
            copy: entry.copy,
            corruption,
        }
    }

    fn cut(&mut self) {
        self.queue.clear(self.now, &mut self.stats);
        self.in_order.clear();
        self.out_of_order.clear();
        self.held.clear();
        self.stats.dropped_down += self.stats.in_transit;
        self.stats.in_transit = 0;
        self.busy_until = self.now;
        self.last_arrival = self.now;
    }
}
