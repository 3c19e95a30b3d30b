//! Stream reconfiguration (RFC 6525): streams begin again with SSN 0, or are added, while the association goes on.
//!
//! Each end asks for one change at a time (`requests.rs`) and answers those of the other (`responses.rs`). A reset of
//! incoming streams, or more of them, is asked of the peer, which answers with a request of its own.
//!
//! It is told of chunks and of timers, and changes streams by itself; what is left to do comes back: an answer that leaves
//! ([`Answers`]), a timer that counts as an error ([`RequestTimeout`]), or the end of the association.

mod asked;
mod asking;
mod association_reset;
mod requests;
mod responses;

use std::collections::VecDeque;

use bytes::Bytes;
use tresse_wire::Tsn;

use super::common::{Common, Halves};
use super::errors::End;
use super::outbox::Control;
use crate::event::{Event, ReconfigurationOutcome, ResetDirection};
use crate::ids::PathId;
use crate::journal::Journal;
use crate::receive::Receiver;
use crate::state::State;
use crate::streams::chunk::InboundError;
use crate::streams::stream_set::StreamSet;
use crate::time::Time;
pub(super) use asking::may_ask_in;
use requests::{Requests, SingleRequest};
use responses::Responses;

/// Events that wait until what came before them is read, at most. Then the peer has to wait, too.
const MAX_WAITING: usize = 64;

/// What is under way in an association in which both ends can change streams.
#[derive(Debug)]
pub(super) struct Reconfiguration {
    requests: Requests,
    responses: Responses,
    /// Events that are told once this many messages have been read.
    waiting: VecDeque<(u64, Event)>,
}

/// What answers a RE-CONFIG chunk of the peer.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Parameters of a RE-CONFIG chunk, which leaves from where the request arrived, as every answer: the source of the path may
    /// be one that leads nowhere, and nothing else that is sent would tell.
    pub(super) parameters: Option<Bytes>,
    /// Error causes.
    pub(super) causes: Option<Vec<u8>>,
}

/// The Re-configuration Timer has expired: the chunk leaves again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestTimeout {
    /// Where it was sent.
    pub(super) path: PathId,
    /// That is an error, after which it takes another path.
    pub(super) counts: bool,
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
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
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
    /// When the Re-configuration Timer expires.
    pub(super) fn deadline(&self, state: State) -> Option<Time> {
        self.requests.deadline().filter(|_| state.may_reconfigure())
    }

    /// Tells of something that concerns what the application reads, once it has read what came before.
    fn tell_after_reading(&mut self, cx: &mut Common<'_>, halves: &Halves<'_>, event: Event) {
        let (read, at) = halves.receiver.ends();
        if at > read || !self.waiting.is_empty() {
            self.waiting.push_back((at, event));
        } else {
            cx.journal.event(event);
        }
    }

    /// The application has read a message.
    #[inline]
    pub(super) fn tell_what_was_read(&mut self, receiver: &Receiver, journal: &mut Journal) {
        let (read, _) = receiver.ends();
        while let Some((_, event)) = self.waiting.pop_front_if(|(at, _)| *at <= read) {
            journal.event(event);
        }
    }

    /// Too many events wait: the peer has to wait, too.
    fn tells_too_much(&self, cx: &Common<'_>) -> bool {
        self.waiting.len() >= MAX_WAITING || cx.journal.is_full()
    }

    /// The association ends or begins again: nothing will be answered any more.
    pub(super) fn end(mut self, journal: &mut Journal, halves: &mut Halves<'_>) {
        self.waiting.drain(..).for_each(|(_, event)| journal.event(event));
        // What the peer has begun to do, or has promised.
        let begun = self.responses.take_deferred().and_then(|deferred| deferred.answers);
        let promised = self.requests.take_promised(|_, _| true);
        let mut failed: Vec<SingleRequest> = begun.into_iter().chain(promised).collect();
        // The peer may have done what it was asked for; what it asked for itself and never got is no news.
        if self.requests.answers().is_none() || !self.requests.drains() {
            failed.extend(self.requests.unanswered());
        }
        for single in &failed {
            journal.event(halves.outcome_of(single, ReconfigurationOutcome::Failed));
        }
        let was_idle = halves.receiver.ready() == 0;
        halves.receiver.release();
        if was_idle && halves.receiver.ready() > 0 {
            journal.event(Event::Readable);
        }
    }

    //= RFC 6525 5.1.1-6
    /// The chunk leaves, and the Re-configuration Timer runs.
    fn send_request(
        &mut self,
        cx: &mut Common<'_>,
        receiver: &Receiver,
        path: PathId,
        parameters: Bytes,
    ) {
        cx.push(path, Control::ReConfig(parameters, None));
        self.start_timer(cx, receiver, path);
    }

    //= RFC 6525 5.1.1-8
    fn start_timer(&mut self, cx: &mut Common<'_>, receiver: &Receiver, path: PathId) {
        let due = cx.expires(path);
        self.requests.sent(cx.now, path, due, receiver.cumulative());
    }
}

/// What is told of changes.
impl Halves<'_> {
    /// What became of a request that changed nothing of what is read.
    fn outcome_of(&self, single: &SingleRequest, outcome: ReconfigurationOutcome) -> Event {
        match single {
            SingleRequest::Outgoing(streams) => {
                reset_event(ResetDirection::Outgoing, streams, outcome)
            }
            SingleRequest::Incoming(streams) => {
                reset_event(ResetDirection::Incoming, streams, outcome)
            }
            SingleRequest::Association => self.association_event(outcome),
            SingleRequest::AddOutgoing(_) | SingleRequest::AddIncoming(_) => {
                self.streams_event(outcome)
            }
        }
    }

    fn association_event(&self, outcome: ReconfigurationOutcome) -> Event {
        Event::AssociationReset {
            outcome,
            local_tsn: self.sender.data().next_tsn(),
            remote_tsn: self.receiver.cumulative().wrapping_add(1),
        }
    }

    fn streams_event(&self, outcome: ReconfigurationOutcome) -> Event {
        Event::StreamsAdded {
            outcome,
            outbound_streams: self.sender.data().streams(),
            inbound_streams: self.receiver.streams(),
        }
    }
}

/// Messages that were kept are there.
fn after_held(
    cx: &mut Common<'_>,
    readable: bool,
    result: Result<(), InboundError>,
) -> Result<(), End> {
    if readable {
        cx.journal.event(Event::Readable);
    }
    Ok(result?)
}

fn reset_event(
    direction: ResetDirection,
    streams: &StreamSet,
    outcome: ReconfigurationOutcome,
) -> Event {
    Event::StreamsReset { direction, streams: streams.listed().to_vec(), outcome }
}
