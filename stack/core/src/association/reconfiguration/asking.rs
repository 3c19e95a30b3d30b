//! What we ask, and what the answers mean (RFC 6525 §5.1, §5.2.7).

use std::time::Duration;

use bytes::Bytes;
use tresse_wire::{
    CHUNK_HEADER_LEN, ReconfigurationResponse, ReconfigurationResult, RequestNumber, StreamId,
};

use super::requests::{Ask, Part};
use super::{Association, reset_event};
use crate::association::errors::Errors;
use crate::association::{Control, State};
use crate::error::ReconfigurationError;
use crate::event::{ReconfigurationOutcome, ResetDirection};
use crate::path::PathId;
use crate::streams::stream_set::StreamSet;
use crate::time::Time;

/// Bytes of both requests of a chunk, but for what they list (RFC 6525 §4.1, §4.2).
const RESETS_LEN: usize = CHUNK_HEADER_LEN + 16 + 8 + 4;

impl Association {
    /// Asks that streams begin again.
    pub(crate) fn reset_streams(
        &mut self,
        now: Time,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigurationError> {
        self.may_ask()?;
        let set = StreamSet::of(streams.iter().copied());
        let (outgoing, incoming) = match direction {
            ResetDirection::Outgoing => (true, false),
            ResetDirection::Incoming => (false, true),
            ResetDirection::Both => (true, true),
        };
        let (ours, theirs) = (self.sender.streams(), self.receiver.streams());
        for (wanted, streams) in [(outgoing, ours), (incoming, theirs)] {
            if let Some(stream) = set.beyond(streams).filter(|_| wanted) {
                return Err(ReconfigurationError::NoStream { stream: stream.0, streams });
            }
        }
        let limit = self.listable();
        if set.listed().len() > limit {
            return Err(ReconfigurationError::TooManyStreams { limit });
        }
        let incoming = incoming.then(|| set.clone());
        self.ask(now, Ask::Reset { outgoing: outgoing.then_some(set), incoming });
        Ok(())
    }

    /// Streams that a chunk with both requests has room for.
    pub(super) fn listable(&self) -> usize {
        (self.paths.amdcs() - RESETS_LEN) / 2 / size_of::<u16>()
    }

    /// Asks that all streams and the TSNs begin again.
    pub(crate) fn reset_association(&mut self, now: Time) -> Result<(), ReconfigurationError> {
        self.may_ask()?;
        let r = self.reconfiguration.as_ref();
        if !r.is_some_and(|r| r.requests.may_reset_association(now)) {
            return Err(ReconfigurationError::TooSoon);
        }
        self.ask(now, Ask::ResetAssociation);
        Ok(())
    }

    /// Asks for more streams.
    pub(crate) fn add_streams(
        &mut self,
        now: Time,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigurationError> {
        self.may_ask()?;
        let inbound = self.receiver.streams();
        // The request of the peer that adds incoming streams would be denied beyond our own limit.
        let (most, room) = (u16::MAX, self.config.inbound_streams.saturating_sub(inbound));
        for (more, limit) in [(outgoing, most - self.sender.streams()), (incoming, room)] {
            if more > limit {
                return Err(ReconfigurationError::TooManyStreams { limit: usize::from(limit) });
            }
        }
        if (outgoing, incoming) == (0, 0) {
            return Err(ReconfigurationError::Nothing);
        }
        self.ask(now, Ask::Add { outgoing, incoming });
        Ok(())
    }

    //= RFC 6525 5.1.1-2 5.1.1-3 5.1.1-4 5.1.1-5
    /// Whether the application may ask for a change now.
    fn may_ask(&self) -> Result<(), ReconfigurationError> {
        match self.state() {
            State::Established => {}
            State::CookieWait | State::CookieEchoed => {
                return Err(ReconfigurationError::NotEstablished);
            }
            _ => return Err(ReconfigurationError::ShuttingDown),
        }
        let r = self.reconfiguration.as_ref().ok_or(ReconfigurationError::NotSupported)?;
        // RFC 6525 §5.1.1: "At any given time, there MUST NOT be more than one request in flight."
        let idle = r.requests.is_settled() && !r.responses.has_asked();
        if idle { Ok(()) } else { Err(ReconfigurationError::InProgress) }
    }

    fn ask(&mut self, now: Time, ask: Ask) {
        self.begin(ask, None);
        self.continue_reconfiguration(now);
    }

    fn begin(&mut self, ask: Ask, answers: Option<RequestNumber>) {
        if let Some(streams) = ask.parks() {
            self.sender.park(streams);
        }
        if let Some(r) = &mut self.reconfiguration {
            r.requests.begin(ask, answers);
        }
    }

    /// The next request, if it may leave now: the parameters of its chunk.
    pub(super) fn pursue(&mut self, now: Time) -> Option<Bytes> {
        if !self.may_send_data() {
            return None;
        }
        let r = self.reconfiguration.as_mut()?;
        if r.requests.is_idle() && !r.responses.resets_association() {
            let (request, ask) = r.responses.next_asked()?;
            self.begin(ask, Some(request));
        }
        let r = self.reconfiguration.as_mut()?;
        // Nothing of an outgoing stream may wait or be outstanding. While all incoming streams may begin again, no other
        // reset of them can be pending.
        let association = r.requests.resets_association();
        if !r.requests.drains()
            || !self.sender.is_drained()
            || (association && r.responses.is_deferred())
        {
            return None;
        }
        let arrived = self.receiver.cumulative();
        let last_tsn = self.sender.next_tsn().wrapping_sub(1);
        let parameters = r.requests.write(now, r.responses.last(), last_tsn, arrived)?;
        if association {
            self.receiver.keep_behind(StreamSet::All, arrived);
        }
        if let Some(request) = r.requests.answers() {
            r.responses.note(request, super::responses::Answer::Request);
        }
        self.journal.stats.reconfigurations_asked += 1;
        Some(parameters)
    }

    //= RFC 6525 5.1.1-8
    pub(super) fn start_reconfiguration_timer(&mut self, now: Time, path: PathId) {
        let rto = self.paths[path].rto();
        let wait = self.context(now).start_patience(path, rto);
        let arrived = self.receiver.cumulative();
        if let Some(r) = &mut self.reconfiguration {
            r.requests.sent(now, path, now + wait, arrived);
        }
    }

    //= RFC 6525 5.1.1-9 5.2.7-3
    /// The Re-configuration Timer expired.
    ///
    /// RFC 6525 §5.1.1: "the sender MUST retransmit the RE-CONFIG chunk, increment the appropriate error counts (for both the
    /// association and the destination), and perform threshold management".
    pub(in crate::association) fn on_reconfiguration_timer(&mut self, now: Time) {
        let Some(r) = &mut self.reconfiguration else { return };
        if let Some(part) = r.requests.give_up(now) {
            self.tell_of_part(&part, ReconfigurationOutcome::Failed);
        }
        let Some(r) = self.reconfiguration.as_mut().filter(|r| r.requests.is_due(now)) else {
            return;
        };
        let counts = r.requests.expired();
        let Some((last, _)) = r.requests.sent_on() else { return };
        let Some(parameters) = r.requests.parameters() else { return };
        let mut path = last;
        if counts {
            if !self.outlives_silence(now, last) {
                return;
            }
            path = self.paths.alternate(last);
        }
        self.journal.stats.reconfigurations_repeated += 1;
        self.send_request(now, path, parameters);
    }

    //= RFC 6525 5.2.7-1 5.2.7-2
    /// A Re-configuration Response.
    pub(super) fn on_response(&mut self, now: Time, response: &ReconfigurationResponse) {
        let Some((path, sent)) = self.reconfiguration.as_ref().and_then(|r| r.requests.sent_on())
        else {
            return;
        };
        let request = response.request;
        if response.result == ReconfigurationResult::IN_PROGRESS {
            let due = now + self.paths[path].rtt.fresh().max(Duration::from_millis(1));
            let Some(r) = &mut self.reconfiguration else { return };
            if r.requests.wait(request, due) {
                self.answered(path, sent);
                self.make_room_for_association_reset(response);
            }
            return;
        }
        let Some(r) = &mut self.reconfiguration else { return };
        let association = r.requests.has_asked_for_reset();
        let Some(part) = r.requests.take(request) else { return };
        self.answered(path, sent);
        let outcome = match response.result {
            ReconfigurationResult::PERFORMED => ReconfigurationOutcome::Performed,
            ReconfigurationResult::NOTHING_TO_DO => ReconfigurationOutcome::NothingToDo,
            ReconfigurationResult::DENIED => ReconfigurationOutcome::Denied,
            _ => ReconfigurationOutcome::Failed,
        };
        if association {
            self.end_association_reset(response, outcome);
        } else {
            self.conclude(now, request, part, outcome);
        }
        self.opportunity();
        self.continue_reconfiguration(now);
    }

    /// The peer has answered what was sent on `path`.
    pub(in crate::association) fn answered(&mut self, path: PathId, sent: Time) {
        if self.paths[path].clear_errors(sent) {
            self.path_changed(path);
        }
        self.errors = Errors::default();
        if self.sender.outstanding() == 0 {
            self.patience.stop();
        }
    }

    //= RFC 6525 5.1.5-1 5.2.7-7 5.2.7-8
    /// What an answer means.
    fn conclude(
        &mut self,
        now: Time,
        request: RequestNumber,
        part: Part,
        outcome: ReconfigurationOutcome,
    ) {
        let success = outcome.is_success();
        match &part {
            Part::Outgoing(_) => self.sender.unpark(success),
            // RFC 6525 §5.2.7 H6: "the endpoint MUST add the additional streams to the association".
            Part::AddOutgoing(streams) if success => self.sender.add_streams(*streams),
            // RFC 6525 §5.2.3: "process the Incoming SSN Reset Request Parameter normally, responding to the peer with an
            // acknowledgment". The request of the peer that follows will tell; RTO.Max is how long it may take to send that
            // again.
            Part::Incoming(_) | Part::AddIncoming(_)
                if outcome == ReconfigurationOutcome::Performed =>
            {
                let until = now + self.config.profile.rto.max();
                if let Some(r) = &mut self.reconfiguration {
                    r.requests.promised(request, part, until);
                }
                return;
            }
            _ => {}
        }
        self.tell_of_part(&part, outcome);
    }

    /// The peer has answered whether it resets the association.
    fn end_association_reset(
        &mut self,
        response: &ReconfigurationResponse,
        outcome: ReconfigurationOutcome,
    ) {
        if !outcome.is_success() {
            let was_idle = self.receiver.ready() == 0;
            let result = self.receiver.end_barrier();
            let readable = was_idle && self.receiver.ready() > 0;
            self.sender.unpark(false);
            let event = self.association_event(outcome);
            self.journal.event(event);
            self.after_held(readable, result);
            return;
        }
        let Some((senders_next, receivers_next)) = response.next_tsns else {
            let event = self.association_event(ReconfigurationOutcome::Failed);
            self.journal.event(event);
            self.abort_violation("an SSN/TSN reset without TSNs");
            return;
        };
        let was_idle = self.receiver.ready() == 0;
        let before = self.receiver.let_through(senders_next.wrapping_sub(1));
        self.receiver.flush(&StreamSet::All);
        self.sender.jump(receivers_next);
        self.sender.unpark(true);
        // What comes before the event is what arrived before; what comes behind it waits in the barrier.
        let event = self.association_event(outcome);
        self.tell_after_reading(event);
        let after = self.receiver.follow_reset(senders_next);
        let readable = was_idle && self.receiver.ready() > 0;
        self.after_held(readable, before.and(after));
    }

    /// While it is not known whether the peer has reset the association, what arrives is kept. The peer says that it has
    /// not, and may wait for room itself. What it had sent then is from before, and its answer names the next TSN (RFC
    /// 6525 §5.1.7 D3), however late that comes: later answers may have been lost. Without a TSN, what had come when it was
    /// asked for the last time but one is taken for that, where there is little room.
    fn make_room_for_association_reset(&mut self, response: &ReconfigurationResponse) {
        let Some(r) = self.reconfiguration.as_ref().filter(|r| r.requests.has_asked_for_reset())
        else {
            return;
        };
        let arrived = r.requests.arrived();
        let before = match response.next_tsns {
            Some((senders_next, _)) => Some(senders_next.wrapping_sub(1)),
            None => arrived.filter(|_| self.receiver.is_half_full()),
        };
        let was_idle = self.receiver.ready() == 0;
        let result = before.map_or(Ok(()), |before| self.receiver.let_through(before));
        let readable = was_idle && self.receiver.ready() > 0;
        self.after_held(readable, result);
    }

    /// The request of ours that one of the peer answers: it is over.
    pub(super) fn take_answered(
        &mut self,
        answered: impl Fn(RequestNumber, &Part) -> bool,
    ) -> Option<Part> {
        let r = self.reconfiguration.as_mut()?;
        if let Some(part) = r.requests.take_promised(&answered) {
            return Some(part);
        }
        let (path, sent) = r.requests.sent_on()?;
        let part = r.requests.take_if(answered)?;
        self.answered(path, sent);
        Some(part)
    }

    /// Bytes that the parameters of a chunk may have, for one packet on every path.
    pub(super) fn room_for_parameters(&self) -> usize {
        self.paths.amdcs() - CHUNK_HEADER_LEN
    }

    /// The chunk under way leaves once more, for the peer has asked again; its timer goes on.
    pub(super) fn repeat_request(&mut self, path: PathId) {
        let parameters = self.reconfiguration.as_ref().and_then(|r| r.requests.parameters());
        if let Some(parameters) = parameters {
            self.push_control(path, Control::ReConfig(parameters, None));
        }
    }

    /// Incoming streams begin again: what came before on them was delivered.
    pub(super) fn tell_of_incoming(&mut self, streams: &StreamSet) {
        let outcome = ReconfigurationOutcome::Performed;
        self.tell_after_reading(reset_event(ResetDirection::Incoming, streams, outcome));
    }
}
