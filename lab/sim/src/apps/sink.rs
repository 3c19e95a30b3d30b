//! A receiver that verifies and records everything.

use std::collections::BTreeMap;

use tresse_core::{AssociationId, Event, ReceivedMessage, Time, TraceEvent};

use super::message::{Content, inspect};
use super::record::{EventRecord, TraceRecord, worth_recording};
use crate::application::{Application, Context};

/// A message that a [`Sink`] received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When the application got it (simulation time).
    pub at: Time,
    /// When its last fragment had arrived (simulation time).
    pub completed_at: Time,
    /// The association.
    pub association: AssociationId,
    /// Its number at the sender, if all its bytes are as a [`Sender`](super::Sender) made them.
    pub index: Option<u64>,
    /// Stream.
    pub stream: u16,
    /// Stream sequence number; meaningless if unordered.
    pub ssn: u16,
    /// TSN of its first fragment.
    pub tsn: u32,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// Bytes of user data.
    pub size: usize,
    /// CRC32c of the user data.
    pub checksum: u32,
}

/// What a [`Sink`] received in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkStats {
    /// Messages.
    pub messages: u64,
    /// Bytes of user data.
    pub bytes: u64,
    /// Messages that differ from what any [`Sender`](super::Sender) sends.
    pub damaged: u64,
    /// Messages too short to be verified.
    pub unverified: u64,
    /// Messages received before, in the same association.
    pub duplicates: u64,
    /// Ordered messages that came after one of the same stream that was sent later.
    pub disordered: u64,
    /// When the first message was received.
    pub first_at: Option<Time>,
    /// When the last message was received.
    pub last_at: Option<Time>,
}

impl SinkStats {
    /// Whether nothing was damaged, delivered twice or out of order.
    pub const fn flawless(&self) -> bool {
        self.damaged == 0 && self.duplicates == 0 && self.disordered == 0
    }
}

/// What is known of one association.
#[derive(Debug, Default)]
struct Seen {
    /// A bit for every index received.
    indices: Vec<u64>,
    /// Highest index of each stream, ordered messages only.
    streams: BTreeMap<u16, u64>,
}

impl Seen {
    /// Notes an index; `false` when it was noted before.
    fn note(&mut self, index: u64) -> bool {
        // An index beyond memory is none that a sender could have reached.
        let Ok(word) = usize::try_from(index / 64) else { return true };
        if word >= 1 << 26 {
            return true;
        }
        if word >= self.indices.len() {
            self.indices.resize((word + 1).next_power_of_two(), 0);
        }
        let bit = 1 << (index % 64);
        let new = self.indices[word] & bit == 0;
        self.indices[word] |= bit;
        new
    }
}

/// An application that reads every message of every association, verifies and records it.
///
/// Streams are checked for order as far as one [`Sender`](super::Sender) per association sends.
#[derive(Debug)]
pub struct Sink {
    log: bool,
    read_from: Time,
    deliveries: Vec<Delivery>,
    events: Vec<EventRecord>,
    trace: Vec<TraceRecord>,
    seen: BTreeMap<AssociationId, Seen>,
    /// Associations with messages that wait for `read_from`.
    waiting: Vec<AssociationId>,
    stats: SinkStats,
}

impl Default for Sink {
    fn default() -> Self {
        Sink::new()
    }
}

impl Sink {
    /// Reads at once and records every delivery.
    pub fn new() -> Sink {
        Sink {
            log: true,
            read_from: Time::ZERO,
            deliveries: Vec::new(),
            events: Vec::new(),
            trace: Vec::new(),
            seen: BTreeMap::new(),
            waiting: Vec::new(),
            stats: SinkStats::default(),
        }
    }

    /// Counts only, in constant memory: [`Self::deliveries`] stays empty.
    #[must_use]
    pub fn without_log(self) -> Sink {
        Sink { log: false, ..self }
    }

    /// Reads nothing before simulation time `at`, so that the receive window may fill.
    #[must_use]
    pub fn read_from(self, at: Time) -> Sink {
        Sink { read_from: at, ..self }
    }

    /// Every message received, in order.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// Events other than `Readable` and `Writable`.
    pub fn events(&self) -> &[EventRecord] {
        &self.events
    }

    /// Trace events, for associations configured with `trace`.
    pub fn trace(&self) -> &[TraceRecord] {
        &self.trace
    }

    /// Totals.
    pub const fn stats(&self) -> SinkStats {
        self.stats
    }

    /// Average user data received from `start` to `end` in bit/s.
    ///
    /// Needs the log. Zero when the span is empty.
    pub fn goodput(&self, start: Time, end: Time) -> f64 {
        let from = self.deliveries.partition_point(|d| d.at < start);
        let to = self.deliveries.partition_point(|d| d.at < end);
        let bytes: usize =
            self.deliveries.get(from..to).unwrap_or(&[]).iter().map(|d| d.size).sum();
        let span = end.since(start).as_secs_f64();
        if span > 0.0 { bytes as f64 * 8.0 / span } else { 0.0 }
    }

    fn drain(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        while let Some(received) = cx.recv(id) {
            self.record(cx, id, &received);
        }
    }

    fn record(&mut self, cx: &Context<'_>, id: AssociationId, received: &ReceivedMessage) {
        let at = cx.simulation_time();
        let stats = &mut self.stats;
        stats.messages += 1;
        stats.bytes += received.payload.len() as u64;
        stats.first_at.get_or_insert(at);
        stats.last_at = Some(at);
        let index = match inspect(&received.payload) {
            Content::Intact(index) => Some(index),
            Content::Short => {
                stats.unverified += 1;
                None
            }
            Content::Damaged => {
                stats.damaged += 1;
                None
            }
        };
        if let Some(index) = index {
            let seen = self.seen.entry(id).or_default();
            stats.duplicates += u64::from(!seen.note(index));
            if !received.unordered {
                let last = seen.streams.entry(received.stream.0).or_insert(index);
                stats.disordered += u64::from(index < *last);
                *last = index.max(*last);
            }
        }
        if self.log {
            self.deliveries.push(Delivery {
                at,
                completed_at: cx.to_simulation_time(received.completed_at),
                association: id,
                index,
                stream: received.stream.0,
                ssn: received.ssn.0,
                tsn: received.tsn.0,
                ppid: received.ppid.0,
                unordered: received.unordered,
                size: received.payload.len(),
                checksum: crc32c::crc32c(&received.payload),
            });
        }
    }
}

impl Application for Sink {
    /// A new endpoint numbers its associations again.
    fn on_start(&mut self, _: &mut Context<'_>) {
        self.seen.clear();
        self.waiting.clear();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        match &event {
            Event::Readable if cx.simulation_time() < self.read_from => {
                if self.waiting.is_empty() {
                    cx.set_simulation_timer(self.read_from, READ);
                }
                self.waiting.push(id);
            }
            Event::Readable => self.drain(cx, id),
            // The peer counts its messages again.
            Event::Restarted => drop(self.seen.remove(&id)),
            _ => {}
        }
        if worth_recording(&event) {
            self.events.push(EventRecord { at: cx.simulation_time(), association: id, event });
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        if token == READ {
            for id in std::mem::take(&mut self.waiting) {
                self.drain(cx, id);
            }
        }
    }

    fn on_trace(&mut self, now: Time, id: AssociationId, event: &TraceEvent) {
        self.trace.push(TraceRecord { at: now, association: id, event: event.clone() });
    }
}

/// The timer for reading; far from the tokens of programs that have a sink inside.
const READ: u64 = u64::MAX;
