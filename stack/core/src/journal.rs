//! What has happened in an association, and is to be told: events, traces, counters.

use std::collections::VecDeque;

use crate::event::{CloseReason, Event, SendFailure, TraceEvent};
use crate::ids::PathId;
use crate::path::Paths;
use crate::stats::AssociationStats;
use crate::streams::charge;
use crate::time::Time;

/// This many events of an association may wait to be polled before those are left out that a peer can cause at
/// will and that tell nothing which could not be asked for later.
const MAX_PEER_EVENTS: usize = 256;

/// What has happened and is to be told.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) events: Events,
    pub(crate) traces: Traces,
    pub(crate) stats: AssociationStats,
    /// When user data was sent or received last.
    pub(crate) data_at: Option<Time>,
}

/// Events that wait to be polled.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    /// How many were not polled yet, also those that the endpoint has taken over.
    waiting: usize,
    /// Bytes of these.
    bytes: usize,
    /// One of them is Restarted: another one would tell no more.
    restarted: bool,
    /// How many of them tell that incoming streams begin again.
    resets: usize,
}

/// Trace events that wait to be polled.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    queue: VecDeque<(Time, TraceEvent)>,
    /// Somebody listens.
    wanted: bool,
}

impl Events {
    fn push(&mut self, event: Event) {
        if matches!(event, Event::Restarted) && std::mem::replace(&mut self.restarted, true) {
            return;
        }
        self.waiting += 1;
        self.resets += usize::from(event.begins_streams_again());
        self.bytes += event_bytes(&event);
        self.queue.push_back(event);
    }

    /// Takes the next one over, which still counts as one that waits.
    pub(crate) fn take(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// It was polled.
    fn told(&mut self, event: &Event) {
        self.waiting -= 1;
        self.resets -= usize::from(event.begins_streams_again());
        self.bytes -= event_bytes(event);
        self.restarted &= !matches!(event, Event::Restarted);
    }
}

impl Traces {
    /// Takes the next one over.
    pub(crate) fn take(&mut self) -> Option<(Time, TraceEvent)> {
        self.queue.pop_front()
    }
}

impl Journal {
    /// `tracing`: somebody listens to trace events.
    pub(crate) fn new(tracing: bool) -> Journal {
        let traces = Traces { wanted: tracing, ..Traces::default() };
        Journal { traces, ..Journal::default() }
    }

    /// Nothing is left to take over.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.queue.is_empty() && self.traces.queue.is_empty()
    }

    /// Bytes of memory of the events that were not polled yet.
    pub(crate) const fn memory(&self) -> usize {
        self.events.bytes
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Too many events wait: nothing may be done for a peer of which the application must be told.
    pub(crate) const fn is_full(&self) -> bool {
        self.events.waiting >= MAX_PEER_EVENTS
    }

    /// An event that was not polled yet tells that incoming streams begin again.
    pub(crate) const fn tells_of_reset(&self) -> bool {
        self.events.resets > 0
    }

    /// An event that a peer can cause at will.
    pub(crate) fn peer_event(&mut self, event: Event) {
        if !self.is_full() {
            self.event(event);
        }
    }

    //= RFC 7829 3.2-16
    /// The state of a path may have changed, if it was not removed. What is not told now is the state before of what is told
    /// next.
    pub(crate) fn path_changed(&mut self, paths: &mut Paths, path: PathId) {
        if self.is_full() || !paths.is_living(path) {
            return;
        }
        let path = &mut paths[path];
        let (before, state) = path.take_change();
        if before == state {
            return;
        }
        let event =
            Event::PathChanged { path: path.id, address: path.address.remote(), before, state };
        self.event(event);
    }

    /// Another path is the primary one.
    pub(crate) fn primary_changed(&mut self, paths: &Paths) {
        let path = paths.primary();
        let address = paths[path].address.remote();
        self.peer_event(Event::PrimaryChanged { path, address });
    }

    /// An event was polled.
    pub(crate) fn told(&mut self, event: &Event) {
        self.events.told(event);
    }

    /// Somebody listens to trace events.
    #[inline]
    pub(crate) const fn is_traced(&self) -> bool {
        self.traces.wanted
    }

    /// The event is only built when somebody listens.
    pub(crate) fn trace(&mut self, now: Time, event: impl FnOnce() -> TraceEvent) {
        if self.traces.wanted {
            self.traces.queue.push_back((now, event()));
        }
    }
}

/// Bytes of user data or of a peer's text that wait with an event.
fn event_bytes(event: &Event) -> usize {
    let failed = |failure: &SendFailure| charge(failure.message.payload.len());
    size_of::<Event>()
        + match event {
            Event::PeerError { value, .. } => value.len(),
            Event::SendFailed(failure) | Event::Expired(failure) | Event::Abandoned(failure) => {
                failed(failure)
            }
            Event::StreamsReset { streams, .. } => size_of_val(&streams[..]),
            Event::Closed(CloseReason::PeerAborted { value, .. }) => value.len(),
            _ => 0,
        }
}
