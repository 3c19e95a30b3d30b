//! What the peer asks, and what it is answered (RFC 6525 §5.2).

use bytes::Bytes;
use smallvec::SmallVec;
use tresse_wire::{
    AddStreams, CauseWriter, ChunkType, IncomingSsnReset, OutgoingSsnReset, Parameter,
    ParameterWriter, ReConfig, ReconfigurationResponse, ReconfigurationResult, RequestNumber,
    padded,
};

use super::Association;
use super::requests::{Ask, Part};
use super::responses::{Answer, Deferred, Seen, response};
use crate::association::Control;
use crate::association::input::Incoming;
use crate::event::{Event, ReconfigurationOutcome};
use crate::streams::chunk::InboundError;
use crate::streams::stream_set::StreamSet;
use crate::time::Time;

/// Bytes of unknown parameters that are reported.
const MAX_REPORT: usize = 256;
/// Bytes of an Outgoing SSN Reset Request without streams, and of the response that may stand before it.
const RESET_LEN: usize = 16 + 12;

/// The requests of a chunk, and what answers them; `None` for what was in progress when they were looked at.
type Replies = SmallVec<[(RequestNumber, Option<ReconfigurationResponse>); 2]>;

impl Association {
    /// A RE-CONFIG chunk. Returns `false` to discard the rest of the packet.
    pub(in crate::association) fn on_re_config(
        &mut self,
        now: Time,
        incoming: &mut Incoming<'_>,
        chunk: &ReConfig<'_>,
    ) -> bool {
        if self.reconfiguration.is_none() {
            // Not agreed on: as if we did not know the type.
            return self.on_unknown_chunk(ChunkType::RE_CONFIG, &[], incoming);
        }
        if !self.may_reconfigure() {
            return true;
        }
        let (parameters, unknown) = known_of(chunk);
        //= RFC 6525 3.1-1
        // RFC 6525 §3.1: "If a sender transmits an unsupported combination, the receiver SHOULD send an ERROR
        // chunk with a Protocol Violation cause".
        if !may_stand_together(&parameters) {
            self.journal.stats.malformed_chunks += 1;
            let causes = CauseWriter::new().protocol_violation(b"RE-CONFIG parameters").finish();
            self.reply(incoming, incoming.path, Control::Error(causes));
            return true;
        }
        let mut replies = Replies::new();
        //= RFC 6525 5.2.1-1
        for parameter in &parameters {
            replies.extend(self.on_parameter(now, parameter));
            if self.is_closed() {
                return false;
            }
        }
        //= RFC 6525 5.2.1-3
        // RFC 6525 §5.2.1: "a selective acknowledgment (SACK) chunk SHOULD be sent back".
        if !replies.is_empty() {
            self.receiver.request_sack();
        }
        self.perform_deferred_quietly();
        self.perform_association_reset_quietly();
        if self.is_closed() {
            return false;
        }
        let request = self.pursue(now);
        self.send_replies(now, incoming, &replies, request);
        //= RFC 9260 3.2.2-2
        if !unknown.is_empty() {
            let causes = CauseWriter::new().unrecognized_parameters(&unknown).finish();
            self.reply(incoming, incoming.path, Control::Error(causes));
        }
        true
    }

    //= RFC 6525 5.1.1-7 5.2.1-2 5.2.2-10 5.2.3-2 5.2.4-7
    /// RFC 6525 §5.2.1: "If multiple parameters have to be returned, they MUST be put into one RE_CONFIG chunk", as far as
    /// they may stand together.
    fn send_replies(
        &mut self,
        now: Time,
        incoming: &mut Incoming<'_>,
        replies: &Replies,
        request: Option<Bytes>,
    ) {
        let Some(r) = &self.reconfiguration else { return };
        let mut responses: SmallVec<[ReconfigurationResponse; 2]> = SmallVec::new();
        let mut repeats = false;
        for (number, reply) in replies {
            match (reply, r.responses.look_again(*number)) {
                (Some(done), _) => responses.push(*done),
                (None, Some(Answer::Done(done))) => responses.push(done),
                // Our request is the answer, and leaves again if the peer has not answered it.
                (None, Some(Answer::Request)) if r.requests.answers() == Some(*number) => {
                    repeats |= request.is_none();
                }
                (None, Some(Answer::Request)) => {
                    responses.push(response(*number, ReconfigurationResult::PERFORMED));
                }
                (None, _) if r.responses.is_association(*number) => {
                    let result = ReconfigurationResult::IN_PROGRESS;
                    responses.push(self.association_response(*number, result));
                }
                (None, _) => responses.push(response(*number, ReconfigurationResult::IN_PROGRESS)),
            }
        }
        let mut writer = ParameterWriter::new();
        for response in &responses {
            writer.reconfiguration_response(response);
        }
        let mut parameters = writer.finish();
        let path = incoming.path;
        let together = responses.len() == 1 && r.requests.may_follow_response();
        match request {
            Some(request) if together => {
                parameters.extend_from_slice(&request);
                self.start_reconfiguration_timer(now, path);
            }
            Some(request) => self.send_request(now, path, request),
            None if repeats => self.repeat_request(path),
            None => {}
        }
        if !parameters.is_empty() {
            // From where the request arrived, as every answer: the source of the path may be one that leads nowhere, and
            // nothing else that is sent would tell.
            let source = self.answer_source(incoming);
            self.reply(incoming, path, Control::ReConfig(parameters.into(), source));
        }
    }

    /// One parameter; a request comes back with its answer.
    fn on_parameter(
        &mut self,
        now: Time,
        parameter: &Parameter<'_>,
    ) -> Option<(RequestNumber, Option<ReconfigurationResponse>)> {
        let request = match parameter {
            Parameter::OutgoingSsnReset(reset) => reset.request,
            Parameter::IncomingSsnReset(reset) => reset.request,
            Parameter::SsnTsnReset(request) => *request,
            Parameter::AddOutgoingStreams(add) | Parameter::AddIncomingStreams(add) => add.request,
            Parameter::ReconfigurationResponse(response) => {
                self.on_response(now, response);
                return None;
            }
            _ => return None,
        };
        let stats = &mut self.journal.stats;
        let answer = match self.reconfiguration.as_mut()?.responses.look(request) {
            Seen::New => {
                stats.reconfigurations_received += 1;
                let answer = self.process(parameter);
                if let Answer::Done(done) = &answer
                    && !is_success(done.result)
                {
                    self.journal.stats.reconfigurations_refused += 1;
                }
                self.reconfiguration.as_mut()?.responses.note(request, answer);
                answer
            }
            Seen::Again(answer) => {
                stats.reconfigurations_seen_again += 1;
                answer
            }
            Seen::Wrong => {
                stats.reconfigurations_refused += 1;
                let result = ReconfigurationResult::BAD_SEQUENCE_NUMBER;
                Answer::Done(match parameter {
                    Parameter::SsnTsnReset(_) => self.association_response(request, result),
                    _ => response(request, result),
                })
            }
        };
        let done = match answer {
            Answer::Done(done) => Some(done),
            Answer::InProgress | Answer::Request => None,
        };
        Some((request, done))
    }

    //= RFC 6525 5.2.1-5
    /// A request that was not seen before.
    fn process(&mut self, parameter: &Parameter<'_>) -> Answer {
        let done = |request, result| Answer::Done(response(request, result));
        match parameter {
            Parameter::OutgoingSsnReset(reset) => self.on_outgoing_reset(reset),
            Parameter::IncomingSsnReset(reset) => self.on_incoming_reset(reset),
            Parameter::SsnTsnReset(request) => self.on_association_reset(*request),
            Parameter::AddOutgoingStreams(add) => done(add.request, self.on_add_outgoing(*add)),
            Parameter::AddIncomingStreams(add) => self.on_add_incoming(*add),
            _ => Answer::InProgress,
        }
    }

    /// The peer resets outgoing streams of its own.
    fn on_outgoing_reset(&mut self, reset: &OutgoingSsnReset<'_>) -> Answer {
        // RFC 6525 §5.2.2 E1: it may answer a request of ours, which is over then, whatever becomes of this one.
        let answers = self.take_answered(|open, part| {
            open == reset.response && matches!(part, Part::Incoming(_))
        });
        let streams = StreamSet::of(reset.streams.iter());
        if let Some(result) = self.refuses_reset(answers.as_ref(), &streams) {
            if let Some(part) = answers {
                self.tell_of_part(&part, ReconfigurationOutcome::Failed);
            }
            return Answer::Done(response(reset.request, result));
        }
        if let Some(r) = &mut self.reconfiguration {
            let OutgoingSsnReset { request, last_tsn, .. } = *reset;
            r.responses.defer(Deferred { request, streams, last_tsn, answers, keeps: false });
        }
        Answer::InProgress
    }

    /// Why incoming streams are not to begin again, if so; `answers` is the request of ours that it answers.
    fn refuses_reset(
        &self,
        answers: Option<&Part>,
        streams: &StreamSet,
    ) -> Option<ReconfigurationResult> {
        let inbound = self.receiver.streams();
        // RFC 6525 §5.1.2 A4: "the stream numbers MUST be copied from the Incoming SSN Reset Request Parameter". Others were
        // not asked for.
        let wanted =
            matches!(answers, Some(Part::Incoming(asked)) if asked.equals(streams, inbound));
        if !wanted && !self.config.reconfiguration.reset_streams {
            return Some(ReconfigurationResult::DENIED);
        }
        if streams.beyond(inbound).is_some() {
            return Some(ReconfigurationResult::WRONG_SSN);
        }
        let is_deferred = self.reconfiguration.as_ref().is_some_and(|r| r.responses.is_deferred());
        is_deferred.then_some(ReconfigurationResult::ALREADY_IN_PROGRESS)
    }

    //= RFC 6525 5.2.2-3 5.2.2-5 5.2.2-9
    /// Resets incoming streams as soon as all has arrived that the peer had sent before, and tells it.
    pub(super) fn perform_deferred(&mut self) {
        if let Some(request) = self.perform_deferred_quietly() {
            self.send_response(request);
        }
    }

    fn perform_deferred_quietly(&mut self) -> Option<RequestNumber> {
        let full = self.tells_too_much();
        let r = self.reconfiguration.as_mut()?;
        // What arrives is kept already while all streams may begin again.
        let asked = r.requests.has_asked_for_reset();
        let deferred = r.responses.deferred().filter(|_| !asked)?;
        if !self.receiver.has_all(deferred.last_tsn) || full {
            // RFC 6525 §5.2.2 E2: "the endpoint MUST enter 'deferred reset processing'".
            if !std::mem::replace(&mut deferred.keeps, true) {
                self.receiver.keep_behind(deferred.streams.clone(), deferred.last_tsn);
            }
            return None;
        }
        let Deferred { request, streams, .. } = r.responses.take_deferred()?;
        let result = ReconfigurationResult::PERFORMED;
        r.responses.note(request, Answer::Done(response(request, result)));
        let was_idle = self.receiver.ready() == 0;
        // What comes before the event is what was sent before.
        self.receiver.flush(&streams);
        self.tell_of_incoming(&streams);
        let result = self.receiver.begin_again(&streams);
        let readable = was_idle && self.receiver.ready() > 0;
        self.after_held(readable, result);
        Some(request)
    }

    /// Messages that were kept are there.
    pub(super) fn after_held(&mut self, readable: bool, result: Result<(), InboundError>) {
        if readable {
            self.journal.event(Event::Readable);
        }
        self.after_data(result);
    }

    /// The answer to something that was in progress leaves by itself; if it is lost, the peer asks again.
    pub(super) fn send_response(&mut self, request: RequestNumber) {
        let Some(r) = &mut self.reconfiguration else { return };
        let Some(Answer::Done(done)) = r.responses.look_again(request) else { return };
        let parameters = ParameterWriter::new().reconfiguration_response(&done).finish();
        let path = self.paths.data_path();
        self.push_control(path, Control::ReConfig(parameters.into(), None));
    }

    //= RFC 6525 5.2.3-1 5.2.3-3 5.2.3-4 5.2.3-5
    /// The peer asks us to reset outgoing streams.
    fn on_incoming_reset(&mut self, reset: &IncomingSsnReset<'_>) -> Answer {
        let done = |result| Answer::Done(response(reset.request, result));
        if !self.config.reconfiguration.reset_streams {
            return done(ReconfigurationResult::DENIED);
        }
        let streams = StreamSet::of(reset.streams.iter());
        if streams.beyond(self.sender.streams()).is_some() {
            return done(ReconfigurationResult::WRONG_SSN);
        }
        let room = self.room_for_parameters();
        let Some(r) = &mut self.reconfiguration else { return Answer::InProgress };
        // RFC 6525 §5.2.3: if what we have just asked for "completely overlaps the received Incoming SSN Reset Request
        // Parameter, respond to the peer with an acknowledgment indicating that there was 'Nothing to do'". The same if
        // the streams stand at their beginning.
        let overlaps = r.requests.resetting().is_some_and(|resetting| resetting.covers(&streams));
        if overlaps || self.sender.is_fresh(&streams) {
            return done(ReconfigurationResult::NOTHING_TO_DO);
        }
        if RESET_LEN + size_of_val(streams.listed()) > room {
            return done(ReconfigurationResult::DENIED);
        }
        self.ask_in_answer(reset.request, Ask::Reset { outgoing: Some(streams), incoming: None })
    }

    /// A request of ours will be the answer. Two ends that both wait for a request of the other, and may not send one before
    /// their own is answered, would wait for ever: the one with the lower tag refuses.
    fn ask_in_answer(&mut self, request: RequestNumber, ask: Ask) -> Answer {
        let refuses = self.identity.local_tag.0 < self.identity.peer_tag.0;
        let Some(r) = &mut self.reconfiguration else { return Answer::InProgress };
        let waits = r.requests.needs_request() && refuses;
        if !waits && r.responses.ask(request, ask) {
            Answer::InProgress
        } else {
            Answer::Done(response(request, ReconfigurationResult::ALREADY_IN_PROGRESS))
        }
    }

    //= RFC 6525 5.2.5-1 5.2.5-2 5.2.5-3
    /// The peer adds outgoing streams of its own.
    fn on_add_outgoing(&mut self, add: AddStreams) -> ReconfigurationResult {
        // RFC 6525 §5.2.6: "a corresponding Add Outgoing Streams Request Parameter" answers a request of ours, but has no
        // number to tell: one for as many streams is it, and no other one was asked for.
        let answers =
            self.take_answered(|_, part| matches!(part, Part::AddIncoming(n) if *n == add.streams));
        if add.streams == 0 && self.config.reconfiguration.add_streams {
            return ReconfigurationResult::NOTHING_TO_DO;
        }
        // The application waits for the one event of its request.
        let may_tell = answers.is_some() || !self.journal.is_full();
        let allowed = answers.is_some() || self.config.reconfiguration.add_streams;
        let most = self.config.inbound_streams;
        let streams = self.receiver.streams().checked_add(add.streams);
        if !allowed || !may_tell || streams.is_none_or(|n| n > most) {
            if let Some(part) = answers {
                self.tell_of_part(&part, ReconfigurationOutcome::Failed);
            }
            return ReconfigurationResult::DENIED;
        }
        self.receiver.add_streams(add.streams);
        let event = self.streams_event(ReconfigurationOutcome::Performed);
        self.journal.event(event);
        ReconfigurationResult::PERFORMED
    }

    //= RFC 6525 5.2.6-1 5.2.6-2
    /// The peer asks us to add outgoing streams.
    fn on_add_incoming(&mut self, add: AddStreams) -> Answer {
        let done = |result| Answer::Done(response(add.request, result));
        let most = self.config.reconfiguration.most_outbound_streams;
        let streams = self.sender.streams().checked_add(add.streams);
        let accepted =
            self.config.reconfiguration.add_streams && streams.is_some_and(|n| n <= most);
        if !accepted {
            return done(ReconfigurationResult::DENIED);
        }
        if add.streams == 0 {
            return done(ReconfigurationResult::NOTHING_TO_DO);
        }
        self.ask_in_answer(add.request, Ask::Add { outgoing: add.streams, incoming: 0 })
    }
}

fn is_success(result: ReconfigurationResult) -> bool {
    matches!(result, ReconfigurationResult::PERFORMED | ReconfigurationResult::NOTHING_TO_DO)
}

/// The parameters of a chunk that are known, as many as tell whether they may stand together, and those of which the peer
/// is to be told that they are not: up to [`MAX_REPORT`] bytes.
///
/// RFC 9260 §3.2.1: the highest bits of the type of an unknown one say whether it is skipped, or nothing behind it is
/// processed.
fn known_of<'a>(chunk: &ReConfig<'a>) -> (SmallVec<[Parameter<'a>; 3]>, Vec<u8>) {
    let (mut known, mut unknown) = (SmallVec::new(), Vec::new());
    for parameter in chunk.parameters.parsed().map_while(Result::ok) {
        let Parameter::Unknown(raw) = parameter else {
            if known.len() < 3 {
                known.push(parameter);
            }
            continue;
        };
        let action = raw.parameter_type.unknown_action();
        if action.reports() && padded(unknown.len()) + raw.bytes.len() <= MAX_REPORT {
            // RFC 9260 §3.2: the padding of the last one is that of the cause, and not part of it.
            unknown.resize(padded(unknown.len()), 0);
            unknown.extend_from_slice(raw.bytes);
        }
        if action.stops() {
            break;
        }
    }
    (known, unknown)
}

/// RFC 6525 §3.1: "Only the following combinations are allowed", whatever comes first.
fn may_stand_together(parameters: &[Parameter<'_>]) -> bool {
    use Parameter::{
        AddIncomingStreams, AddOutgoingStreams, IncomingSsnReset, OutgoingSsnReset,
        ReconfigurationResponse, SsnTsnReset,
    };
    matches!(
        parameters,
        [] | [OutgoingSsnReset(_)
            | IncomingSsnReset(_)
            | SsnTsnReset(_)
            | AddOutgoingStreams(_)
            | AddIncomingStreams(_)
            | ReconfigurationResponse(_)]
            | [OutgoingSsnReset(_), IncomingSsnReset(_) | ReconfigurationResponse(_)]
            | [IncomingSsnReset(_), OutgoingSsnReset(_)]
            | [AddOutgoingStreams(_), AddIncomingStreams(_)]
            | [AddIncomingStreams(_), AddOutgoingStreams(_)]
            | [ReconfigurationResponse(_), OutgoingSsnReset(_) | ReconfigurationResponse(_)]
    )
}
