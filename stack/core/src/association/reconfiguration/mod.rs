//! Stream reconfiguration (RFC 6525): streams begin again with SSN 0, or are added, while the association goes on.
//!
//! Each end asks for one change at a time (`requests.rs`) and answers those of the other (`responses.rs`). A reset of
//! incoming streams, or more of them, is asked of the peer, which answers with a request of its own.

mod asked;
mod asking;
mod association_reset;
mod requests;
mod responses;

use std::collections::VecDeque;

use bytes::Bytes;
use tresse_wire::Tsn;

use super::{Association, Control, State};
use crate::event::{Event, ReconfigurationOutcome, ResetDirection};
use crate::path::PathId;
use crate::streams::stream_set::StreamSet;
use crate::time::Time;
use requests::{Part, Requests};
use responses::Responses;

/// Events that wait until what came before them is read, at most. Then the peer has to wait, too.
const MAX_WAITING: usize = 64;

/// What is under way in an association in which both ends can change streams.
#[derive(Debug)]
pub(crate) struct Reconfiguration {
    requests: Requests,
    responses: Responses,
    /// Events that are told once this many messages have been read.
    waiting: VecDeque<(u64, Event)>,
}

impl Reconfiguration {
    /// Both ends know the extension.
    pub(super) fn new(initial_tsn: Tsn, peer_initial_tsn: Tsn) -> Reconfiguration {
        Reconfiguration {
            requests: Requests::new(initial_tsn),
            responses: Responses::new(peer_initial_tsn),
            waiting: VecDeque::new(),
        }
    }

    /// Something waits that may go on.
    fn is_busy(&self) -> bool {
        self.requests.drains() || self.responses.is_busy()
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let listed = |(_, event): &(u64, Event)| match event {
            Event::StreamsReset { streams, .. } => streams.len() * 2,
            _ => 0,
        };
        let waiting: usize = self.waiting.iter().map(listed).sum();
        size_of::<Reconfiguration>()
            + self.requests.memory()
            + self.responses.memory()
            + self.waiting.capacity() * size_of::<(u64, Event)>()
            + waiting
    }
}

impl Association {
    /// When the Re-configuration Timer expires.
    pub(super) fn reconfiguration_deadline(&self) -> Option<Time> {
        let deadline = self.reconfiguration.as_ref()?.requests.deadline();
        deadline.filter(|_| self.may_reconfigure())
    }

    /// Something was acknowledged, or arrived, or was given up: what waited for that goes on.
    #[inline]
    pub(super) fn continue_reconfiguration(&mut self, now: Time) {
        if self.reconfiguration.as_ref().is_some_and(|r| r.is_busy()) && !self.is_closed() {
            self.perform_deferred();
            self.perform_association_reset();
            if let Some(parameters) = self.pursue(now) {
                self.send_request(now, self.paths.data_path(), parameters);
            }
        }
    }

    /// In these states streams may change: as long as one end may send data, it may need what it has asked for.
    fn may_reconfigure(&self) -> bool {
        self.may_send_data() || self.state() == State::ShutdownSent
    }

    /// Tells of something that concerns what the application reads, once it has read what came before.
    fn tell_after_reading(&mut self, event: Event) {
        let (read, at) = self.receiver.ends();
        match &mut self.reconfiguration {
            Some(r) if at > read || !r.waiting.is_empty() => r.waiting.push_back((at, event)),
            _ => self.journal.event(event),
        }
    }

    /// The application has read a message.
    #[inline]
    pub(super) fn tell_what_was_read(&mut self) {
        let Some(r) = &mut self.reconfiguration else { return };
        let (read, _) = self.receiver.ends();
        while let Some((_, event)) = r.waiting.pop_front_if(|(at, _)| *at <= read) {
            self.journal.event(event);
        }
    }

    /// So many events wait that the peer has to wait, too.
    fn tells_too_much(&self) -> bool {
        let waiting = self.reconfiguration.as_ref().map_or(0, |r| r.waiting.len());
        waiting >= MAX_WAITING || self.journal.is_full()
    }

    /// The association ends or begins again: nothing will be answered any more.
    pub(super) fn end_reconfiguration(&mut self) {
        let Some(mut r) = self.reconfiguration.take() else { return };
        r.waiting.drain(..).for_each(|(_, event)| self.journal.event(event));
        // What the peer has begun to do, or has promised.
        let begun = r.responses.take_deferred().and_then(|deferred| deferred.answers);
        let promised = r.requests.take_promised(|_, _| true);
        let mut failed: Vec<Part> = begun.into_iter().chain(promised).collect();
        // The peer may have done what it was asked for; what it asked for itself and never got is no news.
        if r.requests.answers().is_none() || !r.requests.drains() {
            failed.extend(r.requests.unanswered());
        }
        for part in &failed {
            self.tell_of_part(part, ReconfigurationOutcome::Failed);
        }
        let was_idle = self.receiver.ready() == 0;
        self.receiver.release();
        self.tell_if_readable(was_idle);
    }

    /// Tells what became of a request that changed nothing of what is read.
    fn tell_of_part(&mut self, part: &Part, outcome: ReconfigurationOutcome) {
        let event = match part {
            Part::Outgoing(streams) => reset_event(ResetDirection::Outgoing, streams, outcome),
            Part::Incoming(streams) => reset_event(ResetDirection::Incoming, streams, outcome),
            Part::Association => self.association_event(outcome),
            Part::AddOutgoing(_) | Part::AddIncoming(_) => self.streams_event(outcome),
        };
        self.journal.event(event);
    }

    fn association_event(&self, outcome: ReconfigurationOutcome) -> Event {
        Event::AssociationReset {
            outcome,
            local_tsn: self.sender.next_tsn(),
            remote_tsn: self.receiver.cumulative().wrapping_add(1),
        }
    }

    fn streams_event(&self, outcome: ReconfigurationOutcome) -> Event {
        Event::StreamsAdded {
            outcome,
            outbound_streams: self.sender.streams(),
            inbound_streams: self.receiver.streams(),
        }
    }

    //= RFC 6525 5.1.1-6
    /// The chunk leaves, and the Re-configuration Timer runs.
    fn send_request(&mut self, now: Time, path: PathId, parameters: Bytes) {
        self.push_control(path, Control::ReConfig(parameters, None));
        self.start_reconfiguration_timer(now, path);
    }
}

fn reset_event(
    direction: ResetDirection,
    streams: &StreamSet,
    outcome: ReconfigurationOutcome,
) -> Event {
    Event::StreamsReset { direction, streams: streams.listed().to_vec(), outcome }
}
