//! What we ask, and what the answers mean (RFC 6525 §5.1, §5.2.7).

use std::time::Duration;

use bytes::Bytes;
use tresse_wire::{
    CHUNK_HEADER_LEN, ReconfigurationResponse, ReconfigurationResult, RequestNumber, StreamId,
};

use super::requests::{Ask, SingleRequest};
use super::responses::Answer;
use super::{
    Common, Control, End, Halves, Reconfiguration, RequestTimeout, after_held, reset_event,
};
use crate::error::ReconfigurationError;
use crate::event::{ReconfigurationOutcome, ResetDirection};
use crate::ids::PathId;
use crate::path::Paths;
use crate::receive::Receiver;
use crate::send::Sender;
use crate::state::State;
use crate::streams::stream_set::StreamSet;

/// Bytes of both requests of a chunk, but for what they list (RFC 6525 §4.1, §4.2).
const RESETS_LEN: usize = CHUNK_HEADER_LEN + 16 + 8 + 4;

impl Reconfiguration {
    /// Asks that streams begin again.
    pub(in crate::association) fn reset_streams(
        &mut self,
        cx: &Common<'_>,
        halves: &mut Halves<'_>,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigurationError> {
        let set = StreamSet::of(streams.iter().copied());
        let (outgoing, incoming) = match direction {
            ResetDirection::Outgoing => (true, false),
            ResetDirection::Incoming => (false, true),
            ResetDirection::Both => (true, true),
        };
        let (ours, theirs) = (halves.sender.data().streams(), halves.receiver.streams());
        for (wanted, streams) in [(outgoing, ours), (incoming, theirs)] {
            if let Some(stream) = set.beyond(streams).filter(|_| wanted) {
                return Err(ReconfigurationError::NoStream { stream: stream.0, streams });
            }
        }
        let limit = listable(cx.paths);
        if set.listed().len() > limit {
            return Err(ReconfigurationError::TooManyStreams { limit });
        }
        // Last: what can never be done is no matter of waiting.
        self.may_ask()?;
        let incoming = incoming.then(|| set.clone());
        let ask = Ask::Reset { outgoing: outgoing.then_some(set), incoming };
        self.begin(halves.sender, ask, None);
        Ok(())
    }

    /// Asks that all streams and the TSNs begin again.
    pub(in crate::association) fn reset_association(
        &mut self,
        cx: &Common<'_>,
        halves: &mut Halves<'_>,
    ) -> Result<(), ReconfigurationError> {
        self.may_ask()?;
        if !self.requests.may_reset_association(cx.now) {
            return Err(ReconfigurationError::TooSoon);
        }
        self.begin(halves.sender, Ask::ResetAssociation, None);
        Ok(())
    }

    /// Asks for more streams.
    pub(in crate::association) fn add_streams(
        &mut self,
        cx: &Common<'_>,
        halves: &mut Halves<'_>,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigurationError> {
        let inbound = halves.receiver.streams();
        // The request of the peer that adds incoming streams would be denied beyond our own limit.
        let (most, room) = (u16::MAX, cx.config.inbound_streams.saturating_sub(inbound));
        for (more, limit) in [(outgoing, most - halves.sender.data().streams()), (incoming, room)] {
            if more > limit {
                return Err(ReconfigurationError::TooManyStreams { limit: usize::from(limit) });
            }
        }
        if (outgoing, incoming) == (0, 0) {
            return Err(ReconfigurationError::Nothing);
        }
        self.may_ask()?;
        self.begin(halves.sender, Ask::Add { outgoing, incoming }, None);
        Ok(())
    }

    //= RFC 6525 5.1.1-2 5.1.1-3 5.1.1-4 5.1.1-5
    /// Whether the application may ask for a change now.
    fn may_ask(&self) -> Result<(), ReconfigurationError> {
        // RFC 6525 §5.1.1: "At any given time, there MUST NOT be more than one request in flight."
        let idle = self.requests.is_settled() && !self.responses.has_asked();
        if idle { Ok(()) } else { Err(ReconfigurationError::InProgress) }
    }

    fn begin(&mut self, sender: &mut Sender, ask: Ask, answers: Option<RequestNumber>) {
        if let Some(streams) = ask.parks() {
            sender.streams_mut().park(streams);
        }
        self.requests.begin(ask, answers);
    }

    /// The next request, if it may leave now: the parameters of its chunk.
    pub(super) fn pursue(&mut self, cx: &mut Common<'_>, halves: &mut Halves<'_>) -> Option<Bytes> {
        if !cx.state.may_send_data() {
            return None;
        }
        let Halves { sender, receiver } = halves;
        if self.requests.is_idle() && !self.responses.resets_association() {
            let (request, ask) = self.responses.next_asked()?;
            self.begin(sender, ask, Some(request));
        }
        // Nothing of an outgoing stream may wait or be outstanding. While all incoming streams may begin again, no other
        // reset of them can be pending.
        let association = self.requests.resets_association();
        if !self.requests.drains()
            || !sender.streams_mut().is_drained()
            || (association && self.responses.is_deferred())
        {
            return None;
        }
        let arrived = receiver.cumulative();
        let last_tsn = sender.data().next_tsn().wrapping_sub(1);
        let last = self.responses.last();
        let parameters = self.requests.write(cx.now, last, last_tsn, arrived)?;
        if association {
            receiver.keep_behind(StreamSet::All, arrived);
        }
        if let Some(request) = self.requests.answers() {
            self.responses.note(request, Answer::Request);
        }
        cx.journal.stats.reconfigurations_asked += 1;
        Some(parameters)
    }

    //= RFC 6525 5.1.1-9 5.2.7-3
    /// The Re-configuration Timer expired.
    ///
    /// RFC 6525 §5.1.1: "the sender MUST retransmit the RE-CONFIG chunk, increment the appropriate error counts (for both the
    /// association and the destination), and perform threshold management".
    ///
    /// If the chunk is to leave again, that is told; then [`repeat`](Self::repeat) does it.
    pub(in crate::association) fn on_timer(
        &mut self,
        cx: &mut Common<'_>,
        halves: &Halves<'_>,
    ) -> Option<RequestTimeout> {
        if let Some(single) = self.requests.give_up(cx.now) {
            cx.journal.event(halves.outcome_of(&single, ReconfigurationOutcome::Failed));
        }
        if !self.requests.is_due(cx.now) {
            return None;
        }
        let counts = self.requests.expired();
        self.requests.sent_on().map(|(path, _)| RequestTimeout { path, counts })
    }

    /// The chunk leaves again, on `path`.
    pub(in crate::association) fn repeat(
        &mut self,
        cx: &mut Common<'_>,
        receiver: &Receiver,
        path: PathId,
    ) {
        let Some(parameters) = self.requests.parameters() else { return };
        cx.journal.stats.reconfigurations_repeated += 1;
        self.send_request(cx, receiver, path, parameters);
    }

    //= RFC 6525 5.2.7-1 5.2.7-2
    /// A Re-configuration Response; `true` if something is over with it, so that other things may go on.
    pub(super) fn on_response(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        response: &ReconfigurationResponse,
    ) -> Result<bool, End> {
        let Some((path, sent)) = self.requests.sent_on() else { return Ok(false) };
        let request = response.request;
        if response.result == ReconfigurationResult::IN_PROGRESS {
            let due = cx.now + cx.paths[path].rtt.fresh().max(Duration::from_millis(1));
            if self.requests.wait(request, due) {
                cx.answered(path, sent, halves.sender);
                self.make_room_for_association_reset(cx, halves.receiver, response)?;
            }
            return Ok(false);
        }
        let association = self.requests.has_asked_for_reset();
        let Some(single) = self.requests.take(request) else { return Ok(false) };
        cx.answered(path, sent, halves.sender);
        let outcome = match response.result {
            ReconfigurationResult::PERFORMED => ReconfigurationOutcome::Performed,
            ReconfigurationResult::NOTHING_TO_DO => ReconfigurationOutcome::NothingToDo,
            ReconfigurationResult::DENIED => ReconfigurationOutcome::Denied,
            _ => ReconfigurationOutcome::Failed,
        };
        if association {
            self.end_association_reset(cx, halves, response, outcome)?;
        } else {
            self.conclude(cx, halves, request, single, outcome);
        }
        Ok(true)
    }

    //= RFC 6525 5.1.5-1 5.2.7-7 5.2.7-8
    /// What an answer means.
    fn conclude(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        request: RequestNumber,
        single: SingleRequest,
        outcome: ReconfigurationOutcome,
    ) {
        let success = outcome.is_success();
        match &single {
            SingleRequest::Outgoing(_) => halves.sender.streams_mut().unpark(success),
            // RFC 6525 §5.2.7 H6: "the endpoint MUST add the additional streams to the association".
            SingleRequest::AddOutgoing(streams) if success => {
                halves.sender.streams_mut().add(*streams);
            }
            // RFC 6525 §5.2.3: "process the Incoming SSN Reset Request Parameter normally, responding to the peer with an
            // acknowledgment". The request of the peer that follows will tell; RTO.Max is how long it may take to send that
            // again.
            SingleRequest::Incoming(_) | SingleRequest::AddIncoming(_)
                if outcome == ReconfigurationOutcome::Performed =>
            {
                let until = cx.now + cx.profile().rto.max();
                self.requests.promised(request, single, until);
                return;
            }
            _ => {}
        }
        cx.journal.event(halves.outcome_of(&single, outcome));
    }

    /// The peer has answered whether it resets the association.
    fn end_association_reset(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        response: &ReconfigurationResponse,
        outcome: ReconfigurationOutcome,
    ) -> Result<(), End> {
        if !outcome.is_success() {
            let was_idle = halves.receiver.ready() == 0;
            let result = halves.receiver.end_barrier();
            let readable = was_idle && halves.receiver.ready() > 0;
            halves.sender.streams_mut().unpark(false);
            cx.journal.event(halves.association_event(outcome));
            return after_held(cx, readable, result);
        }
        let Some((senders_next, receivers_next)) = response.next_tsns else {
            cx.journal.event(halves.association_event(ReconfigurationOutcome::Failed));
            return Err(End::violation("an SSN/TSN reset without TSNs"));
        };
        let was_idle = halves.receiver.ready() == 0;
        let before = halves.receiver.let_through(senders_next.wrapping_sub(1));
        halves.receiver.flush(&StreamSet::All);
        halves.sender.streams_mut().jump(receivers_next);
        halves.sender.streams_mut().unpark(true);
        // What comes before the event is what arrived before; what comes behind it waits in the barrier.
        let event = halves.association_event(outcome);
        self.tell_after_reading(cx, halves, event);
        let after = halves.receiver.follow_reset(senders_next);
        let readable = was_idle && halves.receiver.ready() > 0;
        after_held(cx, readable, before.and(after))
    }

    /// While it is not known whether the peer has reset the association, what arrives is kept. The peer says that it has
    /// not, and may wait for room itself. What it had sent then is from before, and its answer names the next TSN (RFC
    /// 6525 §5.1.7 D3), however late that comes: later answers may have been lost. Without a TSN, what had come when it was
    /// asked for the last time but one is taken for that, where there is little room.
    fn make_room_for_association_reset(
        &mut self,
        cx: &mut Common<'_>,
        receiver: &mut Receiver,
        response: &ReconfigurationResponse,
    ) -> Result<(), End> {
        if !self.requests.has_asked_for_reset() {
            return Ok(());
        }
        let arrived = self.requests.arrived();
        let before = match response.next_tsns {
            Some((senders_next, _)) => Some(senders_next.wrapping_sub(1)),
            None => arrived.filter(|_| receiver.is_half_full()),
        };
        let was_idle = receiver.ready() == 0;
        let result = before.map_or(Ok(()), |before| receiver.let_through(before));
        let readable = was_idle && receiver.ready() > 0;
        after_held(cx, readable, result)
    }

    /// The request of ours that one of the peer answers: it is over.
    pub(super) fn take_answered(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        answered: impl Fn(RequestNumber, &SingleRequest) -> bool,
    ) -> Option<SingleRequest> {
        if let Some(single) = self.requests.take_promised(&answered) {
            return Some(single);
        }
        let (path, sent) = self.requests.sent_on()?;
        let single = self.requests.take_if(answered)?;
        cx.answered(path, sent, sender);
        Some(single)
    }

    /// The chunk under way leaves once more, for the peer has asked again; its timer goes on.
    pub(super) fn repeat_request(&self, cx: &mut Common<'_>, path: PathId) {
        if let Some(parameters) = self.requests.parameters() {
            cx.push(path, Control::ReConfig(parameters, None));
        }
    }

    /// Incoming streams begin again: what came before on them was delivered.
    pub(super) fn tell_of_incoming(
        &mut self,
        cx: &mut Common<'_>,
        halves: &Halves<'_>,
        streams: &StreamSet,
    ) {
        let outcome = ReconfigurationOutcome::Performed;
        let event = reset_event(ResetDirection::Incoming, streams, outcome);
        self.tell_after_reading(cx, halves, event);
    }
}

/// Whether the state is one in which the application may ask.
pub(in crate::association) fn may_ask_in(state: State) -> Result<(), ReconfigurationError> {
    match state {
        State::Established => Ok(()),
        State::CookieWait | State::CookieEchoed => Err(ReconfigurationError::NotEstablished),
        _ => Err(ReconfigurationError::ShuttingDown),
    }
}

/// Streams that a chunk with both requests has room for.
fn listable(paths: &Paths) -> usize {
    (paths.amdcs() - RESETS_LEN) / 2 / size_of::<u16>()
}

/// Bytes that the parameters of a chunk may have, for one packet on every path.
pub(super) fn room_for_parameters(cx: &Common<'_>) -> usize {
    cx.paths.amdcs() - CHUNK_HEADER_LEN
}
