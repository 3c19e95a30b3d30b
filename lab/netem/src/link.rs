//! One direction of a link: the stages put together.

use std::collections::{BinaryHeap, VecDeque};

use crate::changes::{Changes, LinkChange};
use crate::config::{EcnField, LinkConfig, LossStage};
use crate::corruption::Corrupter;
use crate::delay::Delay;
use crate::duplication::Duplication;
use crate::error::ConfigError;
use crate::flying::Flying;
use crate::loss::Loss;
use crate::packet::{Class, Delivery, Entry, Verdict};
use crate::pattern::Numbers;
use crate::queue::Queue;
use crate::queue::red::{Judgement, Red};
use crate::random::{Random, Stage};
use crate::rate::Rate;
use crate::reordering::{Detour, Held, Reordering};
use crate::spikes::{SpikePlace, Spikes};
use crate::stats::{DropCause, LinkStats};
use crate::time::Nanos;

/// An event internal to a link.
enum Step {
    /// The next packet of the queue is serialised.
    Serialise,
    /// Settings change.
    Change,
    /// The packets that a spike has kept outside enter the queue.
    Enter,
}

/// One direction of a link. See the crate documentation for the stages.
///
/// Time never runs backwards inside a link: a moment before one already given counts as that one.
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    loss: Loss,
    duplication: Duplication,
    spikes: Spikes,
    red: Red,
    queue: Queue<T>,
    rate: Rate,
    corrupter: Corrupter,
    delay: Delay,
    reordering: Reordering,
    changes: Changes,
    /// Whether the link does anything by itself but serialise: changes or spikes.
    scheduled: bool,
    /// The latest moment known.
    now: Nanos,
    /// Packets that a spike keeps outside the queue, and until when.
    outside: VecDeque<Entry<T>>,
    outside_until: Nanos,
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
        let rate = Rate::new(config.bandwidth_kbps);
        Ok(Link {
            loss: Loss::new(&config, Random::new(seed, Stage::Loss)),
            duplication: Duplication::new(&config, Random::new(seed, Stage::Duplication)),
            spikes: Spikes::new(config.spikes.as_ref(), Random::new(seed, Stage::Spikes)),
            red: Red::new(config.red, rate, Random::new(seed, Stage::Red)),
            queue: Queue::new(&config),
            rate,
            corrupter: Corrupter::new(&config, Random::new(seed, Stage::Corruption)),
            delay: Delay::new(&config, Random::new(seed, Stage::Jitter)),
            reordering: Reordering::new(&config, Random::new(seed, Stage::Reordering)),
            changes: Changes::new(Nanos::ZERO, &config.changes),
            scheduled: config.spikes.is_some() || !config.changes.is_empty(),
            now: Nanos::ZERO,
            outside: VecDeque::new(),
            outside_until: Nanos::ZERO,
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
            ect: class.contains(Class::ECT),
            marked: false,
            offered_at: self.now,
        };
        if !self.config.up {
            return self.drop_at_entry(DropCause::Down);
        }
        if self.config.loss_stage == LossStage::Entry
            && let Some(cause) = self.loss.judge(self.now, &numbers, false)
        {
            return self.drop_at_entry(cause);
        }
        let copy = self.duplication.judge(&numbers).then(|| Entry { copy: true, ..entry.clone() });
        let now = self.now;
        if self.scheduled {
            // Stage 4: into the queue, unless a spike keeps the packet outside.
            let until = self.calm_at(SpikePlace::Sender, now);
            if until > now {
                self.outside_until = until;
                for entry in std::iter::once(entry).chain(copy) {
                    self.stats.in_transit += 1;
                    self.stats.duplicated += u64::from(entry.copy);
                    self.outside.push_back(entry);
                }
                return Verdict::Accepted;
            }
        }
        let verdict = self.enqueue(now, entry);
        if let Some(copy) = copy {
            self.stats.duplicated += 1;
            self.enqueue(now, copy);
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
        if let Some(bytes) = self.queue.next_bytes()
            && self.busy_until + self.delay.least() < first
        {
            let departure = self.busy_until + self.rate.time_for(bytes);
            first = first.min(departure + self.delay.least());
        }
        if self.scheduled {
            if !self.outside.is_empty() {
                first = first.min(self.outside_until + self.delay.least());
            }
            // New settings may be faster for those that still wait.
            if let Some(at) = self.changes.next()
                && !(self.queue.len() == 0 && self.outside.is_empty())
            {
                first = first.min(at);
            }
        }
        (first != Nanos::MAX).then_some(first)
    }

    /// Replaces all settings from `now` on. Packets on the way are not affected, unless the link
    /// goes down. Packet numbers go on, and so do the streams of random numbers; spikes, too, if
    /// their settings are the same. Of the `changes` those before `now` are left out.
    ///
    /// # Errors
    /// The first fault of `config`; the link is then unchanged.
    pub fn reconfigure(&mut self, now: Nanos, config: LinkConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.advance(now);
        self.loss.reconfigure(&config);
        self.duplication.reconfigure(&config);
        self.spikes.reconfigure(self.now, config.spikes.as_ref());
        self.outside_until = self.calm_at(SpikePlace::Sender, self.now);
        self.rate = Rate::new(config.bandwidth_kbps);
        self.red.reconfigure(config.red, self.rate);
        self.queue.reconfigure(&config);
        self.corrupter.reconfigure(&config);
        self.delay.reconfigure(&config);
        self.reordering.reconfigure(&config);
        self.changes = Changes::new(self.now, &config.changes);
        self.scheduled =
            config.spikes.is_some() || !config.changes.is_empty() || !self.outside.is_empty();
        let goes_down = self.config.up && !config.up;
        self.config = config;
        if goes_down {
            self.cut(self.now);
        }
        Ok(())
    }

    /// Takes the link up or down. Going down loses what is queued and on the way.
    pub fn set_up(&mut self, now: Nanos, up: bool) {
        self.advance(now);
        let goes_down = self.config.up && !up;
        self.config.up = up;
        if goes_down {
            self.cut(self.now);
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

    /// Does everything that is due by `now`, above all serialising packets whose turn has come.
    ///
    /// This may run late: what happens to a packet depends only on what the link knew at the
    /// moment its turn came, because every call that changes anything runs this first.
    fn advance(&mut self, now: Nanos) {
        let before = self.now;
        self.now = self.now.max(now);
        if self.scheduled {
            self.spikes.forget(before);
            self.take_steps();
        } else {
            while self.busy_until <= self.now {
                let start = self.busy_until;
                let Some(entry) = self.queue.pop(start, &mut self.stats) else { break };
                self.serialise(start, entry);
            }
        }
        if !self.held.is_empty() {
            self.expire_held(self.now);
        }
        self.queue.integrate(self.now, &mut self.stats);
    }

    /// Serialises what is due in turn with what the link does by itself.
    fn take_steps(&mut self) {
        while let Some(step) = self.next_step() {
            match step {
                Step::Serialise => {
                    let start = self.busy_until;
                    let Some(entry) = self.queue.pop(start, &mut self.stats) else { break };
                    self.serialise(start, entry);
                }
                Step::Change => {
                    let Some((at, change)) = self.changes.take() else { break };
                    self.change(at, &change);
                }
                Step::Enter => {
                    let at = self.outside_until;
                    for entry in std::mem::take(&mut self.outside) {
                        self.stats.in_transit -= 1;
                        self.enqueue(at, entry);
                    }
                }
            }
        }
    }

    /// The first step that is due. At one moment packets leave the queue, then settings change, then
    /// packets enter.
    fn next_step(&self) -> Option<Step> {
        let (mut due, mut step) = (self.now, None);
        if !self.outside.is_empty() && self.outside_until <= due {
            (due, step) = (self.outside_until, Some(Step::Enter));
        }
        if let Some(at) = self.changes.next()
            && at <= due
        {
            (due, step) = (at, Some(Step::Change));
        }
        if self.queue.len() > 0 && self.busy_until <= due {
            step = Some(Step::Serialise);
        }
        step
    }

    fn change(&mut self, at: Nanos, change: &LinkChange) {
        let was_up = self.config.up;
        self.config.apply(change);
        self.rate = Rate::new(self.config.bandwidth_kbps);
        self.red.reconfigure(self.config.red, self.rate);
        self.delay.reconfigure(&self.config);
        self.loss.reconfigure(&self.config);
        if was_up && !self.config.up {
            self.expire_held(at);
            self.cut(at);
        }
    }

    /// Lets go of the packets that have been held back long enough.
    fn expire_held(&mut self, now: Nanos) {
        if self.held.next_deadline().is_none_or(|at| at > now) {
            return;
        }
        let (out_of_order, spikes) = (&mut self.out_of_order, &mut self.spikes);
        let waits = spikes.at(SpikePlace::Receiver);
        self.held.expire(now, |at, packet| {
            let at = if waits { spikes.next_calm(at) } else { at };
            out_of_order.push(Flying { at, ..packet });
        });
    }

    /// When a packet has left whose serialisation starts at `start` and takes `span`.
    fn departure(&mut self, start: Nanos, span: Nanos) -> Nanos {
        if self.spikes.at(SpikePlace::Link) {
            self.spikes.finish(start, span)
        } else {
            start + span
        }
    }

    /// The first moment from `at` on at which no spike stops packets at `place`.
    fn calm_at(&mut self, place: SpikePlace, at: Nanos) -> Nanos {
        if self.spikes.at(place) { self.spikes.next_calm(at) } else { at }
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

    /// Stage 5.
    fn enqueue(&mut self, at: Nanos, mut entry: Entry<T>) -> Verdict {
        let idle = self.queue.len() == 0 && self.busy_until <= at;
        if self.config.red.is_some() {
            let idle = idle.then(|| at - self.busy_until);
            match self.red.judge(self.queue.len(), idle, entry.ect) {
                Judgement::Pass => {}
                Judgement::Mark => entry.marked = true,
                Judgement::Drop => return self.drop_at_entry(DropCause::Red),
            }
        }
        let marked = u64::from(entry.marked);
        if idle {
            self.stats.in_transit += 1;
            self.stats.marked += marked;
            self.serialise(at, entry);
        } else if self.queue.push(at, entry, &mut self.stats) {
            self.stats.in_transit += 1;
            self.stats.marked += marked;
        } else {
            return self.drop_at_entry(DropCause::Queue);
        }
        Verdict::Accepted
    }

    /// Stages 6 to 11 for a packet whose serialisation starts at `start`.
    fn serialise(&mut self, start: Nanos, entry: Entry<T>) {
        if !self.held.is_empty() {
            self.expire_held(start);
        }
        let span = self.rate.time_for(entry.bytes);
        let departure = if self.scheduled { self.departure(start, span) } else { start + span };
        self.busy_until = departure;
        if self.config.loss_stage == LossStage::Wire
            && let Some(cause) = self.loss.judge(departure, &entry.numbers, entry.copy)
        {
            self.stats.in_transit -= 1;
            self.stats.count_drop(cause);
            return;
        }
        let corruption = self.corrupter.judge(&entry.numbers, entry.copy);
        let mut at = self.delay.arrival(departure);
        let detour = self.reordering.judge(&entry.numbers, entry.copy);
        self.departures += 1;
        let sequence = self.departures;
        let in_order = match detour {
            Some(Detour::After(count, hold)) => {
                let deadline = at + hold;
                self.held.push(Flying { at, sequence, entry, corruption }, count, deadline);
                return;
            }
            Some(Detour::Delay(delay)) => {
                at = at + delay;
                false
            }
            None => !self.config.jitter_reorders,
        };
        if in_order {
            // Also after the delay became shorter, no packet overtakes another.
            at = at.max(self.last_arrival);
        }
        if self.scheduled {
            at = self.calm_at(SpikePlace::Receiver, at);
        }
        let flying = Flying { at, sequence, entry, corruption };
        if in_order {
            self.last_arrival = at;
            self.in_order.push_back(flying);
        } else {
            self.out_of_order.push(flying);
        }
        if detour.is_none() && !self.held.is_empty() {
            self.release_held(at);
        }
    }

    /// A packet that arrives at `arrival` passes those held back.
    fn release_held(&mut self, arrival: Nanos) {
        let departures = &mut self.departures;
        let (out_of_order, spikes) = (&mut self.out_of_order, &mut self.spikes);
        let waits = spikes.at(SpikePlace::Receiver);
        self.held.passed(arrival, |at, packet| {
            *departures += 1; // Right behind the packet that passed.
            let at = if waits { spikes.next_calm(at) } else { at };
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
            ecn: match self.config.ecn {
                EcnField::Keep if entry.marked => EcnField::Mark,
                ecn => ecn,
            },
            corruption,
        }
    }

    /// Loses everything that has not arrived before `at`.
    fn cut(&mut self, at: Nanos) {
        self.outside.clear();
        self.queue.clear(at, &mut self.stats);
        self.in_order.retain(|flying| flying.at < at);
        self.out_of_order.retain(|flying| flying.at < at);
        self.held.clear();
        let arrived = (self.in_order.len() + self.out_of_order.len()) as u64;
        self.stats.dropped_down += self.stats.in_transit - arrived;
        self.stats.in_transit = arrived;
        self.busy_until = at;
        self.last_arrival = at;
    }
}
