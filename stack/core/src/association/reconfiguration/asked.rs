//! What the peer asks, and what it is answered (RFC 6525 §5.2).

use bytes::Bytes;
use smallvec::SmallVec;
use tresse_wire::{
    AddStreams, CauseWriter, IncomingSsnReset, OutgoingSsnReset, Parameter, ParameterWriter,
    ReConfig, ReconfigurationResponse, ReconfigurationResult, RequestNumber, padded,
};

use super::asking::room_for_parameters;
use super::association_reset::association_response;
use super::requests::{Ask, SingleRequest};
use super::responses::{Answer, Deferred, Seen, response};
use super::{Answers, Common, Control, End, Halves, Reconfiguration, after_held};
use crate::event::ReconfigurationOutcome;
use crate::ids::PathId;
use crate::receive::Receiver;
use crate::send::Sender;
use crate::streams::stream_set::StreamSet;

/// Bytes of unknown parameters that are reported.
const MAX_REPORT: usize = 256;
/// Bytes of an Outgoing SSN Reset Request without streams, and of the response that may stand before it.
const RESET_LEN: usize = 16 + 12;

/// The requests of a chunk, and what answers them; `None` for what was in progress when they were looked at.
type Answered = SmallVec<[(RequestNumber, Option<ReconfigurationResponse>); 2]>;

impl Reconfiguration {
    /// Something was acknowledged, or arrived, or was given up: what waited for that goes on.
    pub(in crate::association) fn go_on(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
    ) -> Result<(), End> {
        if !self.is_busy() {
            return Ok(());
        }
        if let Some(request) = self.perform_deferred(cx, halves)? {
            self.send_response(cx, request);
        }
        if let Some(request) = self.perform_association_reset(cx, halves) {
            self.send_response(cx, request);
        }
        if let Some(parameters) = self.pursue(cx, halves) {
            let path = cx.paths.data_path();
            self.send_request(cx, halves.receiver, path, parameters);
        }
        Ok(())
    }

    /// A RE-CONFIG chunk, which is answered on `path`.
    pub(in crate::association) fn on_chunk(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        path: PathId,
        chunk: &ReConfig<'_>,
    ) -> Result<Answers, End> {
        if !cx.state.may_reconfigure() {
            return Ok(Answers::default());
        }
        let (parameters, unknown) = known_of(chunk);
        //= RFC 6525 3.1-1
        // RFC 6525 §3.1: "If a sender transmits an unsupported combination, the receiver SHOULD send an ERROR
        // chunk with a Protocol Violation cause".
        if !may_stand_together(&parameters) {
            cx.journal.stats.malformed_chunks += 1;
            let causes = CauseWriter::new().protocol_violation(b"RE-CONFIG parameters").finish();
            return Ok(Answers { causes: Some(causes), parameters: None });
        }
        let mut replies = Answered::new();
        //= RFC 6525 5.2.1-1
        for parameter in &parameters {
            replies.extend(self.on_parameter(cx, halves, parameter)?);
        }
        //= RFC 6525 5.2.1-3
        // RFC 6525 §5.2.1: "a selective acknowledgment (SACK) chunk SHOULD be sent back".
        if !replies.is_empty() {
            halves.receiver.request_sack();
        }
        self.perform_deferred(cx, halves)?;
        self.perform_association_reset(cx, halves);
        let request = self.pursue(cx, halves);
        let parameters = self.answer(cx, halves, path, &replies, request);
        //= RFC 9260 3.2.2-2
        let reports = !unknown.is_empty();
        let report = || CauseWriter::new().unrecognized_parameters(&unknown).finish();
        Ok(Answers { parameters, causes: reports.then(report) })
    }

    //= RFC 6525 5.1.1-7 5.2.1-2 5.2.2-10 5.2.3-2 5.2.4-7
    /// RFC 6525 §5.2.1: "If multiple parameters have to be returned, they MUST be put into one RE_CONFIG chunk", as far as
    /// they may stand together.
    ///
    /// The parameters of that chunk come back; `request` is what we ask ourselves, which may leave with it.
    fn answer(
        &mut self,
        cx: &mut Common<'_>,
        halves: &Halves<'_>,
        path: PathId,
        replies: &Answered,
        request: Option<Bytes>,
    ) -> Option<Bytes> {
        let mut responses: SmallVec<[ReconfigurationResponse; 2]> = SmallVec::new();
        let mut repeats = false;
        for (number, reply) in replies {
            match (reply, self.responses.look_again(*number)) {
                (Some(done), _) => responses.push(*done),
                (None, Some(Answer::Done(done))) => responses.push(done),
                // Our request is the answer, and leaves again if the peer has not answered it.
                (None, Some(Answer::Request)) if self.requests.answers() == Some(*number) => {
                    repeats |= request.is_none();
                }
                (None, Some(Answer::Request)) => {
                    responses.push(response(*number, ReconfigurationResult::PERFORMED));
                }
                (None, _) if self.responses.is_association(*number) => {
                    let result = ReconfigurationResult::IN_PROGRESS;
                    responses.push(association_response(halves, *number, result));
                }
                (None, _) => responses.push(response(*number, ReconfigurationResult::IN_PROGRESS)),
            }
        }
        let mut writer = ParameterWriter::new();
        for response in &responses {
            writer.reconfiguration_response(response);
        }
        let mut parameters = writer.finish();
        let together = responses.len() == 1 && self.requests.may_follow_response();
        match request {
            Some(request) if together => {
                parameters.extend_from_slice(&request);
                self.start_timer(cx, halves.receiver, path);
            }
            Some(request) => self.send_request(cx, halves.receiver, path, request),
            None if repeats => self.repeat_request(cx, path),
            None => {}
        }
        (!parameters.is_empty()).then(|| parameters.into())
    }

    /// One parameter; a request comes back with its answer.
    fn on_parameter(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        parameter: &Parameter<'_>,
    ) -> Result<Option<(RequestNumber, Option<ReconfigurationResponse>)>, End> {
        let request = match parameter {
            Parameter::OutgoingSsnReset(reset) => reset.request,
            Parameter::IncomingSsnReset(reset) => reset.request,
            Parameter::SsnTsnReset(request) => *request,
            Parameter::AddOutgoingStreams(add) | Parameter::AddIncomingStreams(add) => add.request,
            Parameter::ReconfigurationResponse(response) => {
                if self.on_response(cx, halves, response)? {
                    cx.paths.begin_opportunity(cx.profile());
                    self.go_on(cx, halves)?;
                }
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let answer = match self.responses.look(request) {
            Seen::New => {
                cx.journal.stats.reconfigurations_received += 1;
                let answer = self.process(cx, halves, parameter);
                if let Answer::Done(done) = &answer
                    && !is_success(done.result)
                {
                    cx.journal.stats.reconfigurations_refused += 1;
                }
                self.responses.note(request, answer);
                answer
            }
            Seen::Again(answer) => {
                cx.journal.stats.reconfigurations_seen_again += 1;
                answer
            }
            Seen::Wrong => {
                cx.journal.stats.reconfigurations_refused += 1;
                let result = ReconfigurationResult::BAD_SEQUENCE_NUMBER;
                Answer::Done(match parameter {
                    Parameter::SsnTsnReset(_) => association_response(halves, request, result),
                    _ => response(request, result),
                })
            }
        };
        let done = match answer {
            Answer::Done(done) => Some(done),
            Answer::InProgress | Answer::Request => None,
        };
        Ok(Some((request, done)))
    }

    //= RFC 6525 5.2.1-5
    /// A request that was not seen before.
    fn process(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        parameter: &Parameter<'_>,
    ) -> Answer {
        match parameter {
            Parameter::OutgoingSsnReset(reset) => self.on_outgoing_reset(cx, halves, reset),
            Parameter::IncomingSsnReset(reset) => self.on_incoming_reset(cx, halves.sender, reset),
            Parameter::SsnTsnReset(request) => self.on_association_reset(cx, halves, *request),
            Parameter::AddOutgoingStreams(add) => {
                Answer::Done(response(add.request, self.on_add_outgoing(cx, halves, *add)))
            }
            Parameter::AddIncomingStreams(add) => self.on_add_incoming(cx, halves.sender, *add),
            _ => Answer::InProgress,
        }
    }

    /// The peer resets outgoing streams of its own.
    fn on_outgoing_reset(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        reset: &OutgoingSsnReset<'_>,
    ) -> Answer {
        // RFC 6525 §5.2.2 E1: it may answer a request of ours, which is over then, whatever becomes of this one.
        let answers = self.take_answered(cx, halves.sender, |open, single| {
            open == reset.response && matches!(single, SingleRequest::Incoming(_))
        });
        let streams = StreamSet::of(reset.streams.iter());
        if let Some(result) = self.refuses_reset(cx, halves.receiver, answers.as_ref(), &streams) {
            if let Some(single) = answers {
                cx.journal.event(halves.outcome_of(&single, ReconfigurationOutcome::Failed));
            }
            return Answer::Done(response(reset.request, result));
        }
        let OutgoingSsnReset { request, last_tsn, .. } = *reset;
        self.responses.defer(Deferred { request, streams, last_tsn, answers, keeps: false });
        Answer::InProgress
    }

    /// Why incoming streams are not to begin again, if so; `answers` is the request of ours that it answers.
    fn refuses_reset(
        &self,
        cx: &Common<'_>,
        receiver: &Receiver,
        answers: Option<&SingleRequest>,
        streams: &StreamSet,
    ) -> Option<ReconfigurationResult> {
        let inbound = receiver.streams();
        // RFC 6525 §5.1.2 A4: "the stream numbers MUST be copied from the Incoming SSN Reset Request Parameter". Others were
        // not asked for.
        let wanted = matches!(answers, Some(SingleRequest::Incoming(asked)) if asked.equals(streams, inbound));
        if !wanted && !cx.config.reconfiguration.reset_streams {
            return Some(ReconfigurationResult::DENIED);
        }
        if streams.beyond(inbound).is_some() {
            return Some(ReconfigurationResult::WRONG_SSN);
        }
        self.responses.is_deferred().then_some(ReconfigurationResult::ALREADY_IN_PROGRESS)
    }

    //= RFC 6525 5.2.2-3 5.2.2-5 5.2.2-9
    /// Resets incoming streams as soon as all has arrived that the peer had sent before. The request comes back that is
    /// answered by that.
    fn perform_deferred(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
    ) -> Result<Option<RequestNumber>, End> {
        let full = self.tells_too_much(cx);
        // What arrives is kept already while all streams may begin again.
        let asked = self.requests.has_asked_for_reset();
        let Some(deferred) = self.responses.deferred().filter(|_| !asked) else { return Ok(None) };
        let receiver = &mut *halves.receiver;
        if !receiver.has_all(deferred.last_tsn) || full {
            // RFC 6525 §5.2.2 E2: "the endpoint MUST enter 'deferred reset processing'".
            if !std::mem::replace(&mut deferred.keeps, true) {
                receiver.keep_behind(deferred.streams.clone(), deferred.last_tsn);
            }
            return Ok(None);
        }
        let Some(deferred) = self.responses.take_deferred() else { return Ok(None) };
        let Deferred { request, streams, .. } = deferred;
        let result = ReconfigurationResult::PERFORMED;
        self.responses.note(request, Answer::Done(response(request, result)));
        let was_idle = receiver.ready() == 0;
        // What comes before the event is what was sent before.
        receiver.flush(&streams);
        self.tell_of_incoming(cx, halves, &streams);
        let result = halves.receiver.begin_again(&streams);
        let readable = was_idle && halves.receiver.ready() > 0;
        after_held(cx, readable, result)?;
        Ok(Some(request))
    }

    /// The answer to something that was in progress leaves by itself; if it is lost, the peer asks again.
    fn send_response(&self, cx: &mut Common<'_>, request: RequestNumber) {
        let Some(Answer::Done(done)) = self.responses.look_again(request) else { return };
        let parameters = ParameterWriter::new().reconfiguration_response(&done).finish();
        let path = cx.paths.data_path();
        cx.push(path, Control::ReConfig(parameters.into(), None));
    }

    //= RFC 6525 5.2.3-1 5.2.3-3 5.2.3-4 5.2.3-5
    /// The peer asks us to reset outgoing streams.
    fn on_incoming_reset(
        &mut self,
        cx: &Common<'_>,
        sender: &Sender,
        reset: &IncomingSsnReset<'_>,
    ) -> Answer {
        let done = |result| Answer::Done(response(reset.request, result));
        if !cx.config.reconfiguration.reset_streams {
            return done(ReconfigurationResult::DENIED);
        }
        let streams = StreamSet::of(reset.streams.iter());
        if streams.beyond(sender.data().streams()).is_some() {
            return done(ReconfigurationResult::WRONG_SSN);
        }
        // RFC 6525 §5.2.3: if what we have just asked for "completely overlaps the received Incoming SSN Reset Request
        // Parameter, respond to the peer with an acknowledgment indicating that there was 'Nothing to do'". The same if
        // the streams stand at their beginning.
        let overlaps =
            self.requests.resetting().is_some_and(|resetting| resetting.covers(&streams));
        if overlaps || sender.data().is_fresh(&streams) {
            return done(ReconfigurationResult::NOTHING_TO_DO);
        }
        if RESET_LEN + size_of_val(streams.listed()) > room_for_parameters(cx) {
            return done(ReconfigurationResult::DENIED);
        }
        self.ask_in_answer(
            cx,
            reset.request,
            Ask::Reset { outgoing: Some(streams), incoming: None },
        )
    }

    /// A request of ours will be the answer. Two ends that both wait for a request of the other, and may not send one before
    /// their own is answered, would wait for ever: the one with the lower tag refuses.
    fn ask_in_answer(&mut self, cx: &Common<'_>, request: RequestNumber, ask: Ask) -> Answer {
        let refuses = cx.identity.local_tag.0 < cx.identity.peer_tag.0;
        let waits = self.requests.needs_request() && refuses;
        if !waits && self.responses.ask(request, ask) {
            Answer::InProgress
        } else {
            Answer::Done(response(request, ReconfigurationResult::ALREADY_IN_PROGRESS))
        }
    }

    //= RFC 6525 5.2.5-1 5.2.5-2 5.2.5-3
    /// The peer adds outgoing streams of its own.
    fn on_add_outgoing(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
        add: AddStreams,
    ) -> ReconfigurationResult {
        // RFC 6525 §5.2.6: "a corresponding Add Outgoing Streams Request Parameter" answers a request of ours, but has no
        // number to tell: one for as many streams is it, and no other one was asked for.
        let answers = self.take_answered(
            cx,
            halves.sender,
            |_, single| matches!(single, SingleRequest::AddIncoming(n) if *n == add.streams),
        );
        if add.streams == 0 && cx.config.reconfiguration.add_streams {
            return ReconfigurationResult::NOTHING_TO_DO;
        }
        // The application waits for the one event of its request.
        let may_tell = answers.is_some() || !cx.journal.is_full();
        let allowed = answers.is_some() || cx.config.reconfiguration.add_streams;
        let most = cx.config.inbound_streams;
        let streams = halves.receiver.streams().checked_add(add.streams);
        if !allowed || !may_tell || streams.is_none_or(|n| n > most) {
            if let Some(single) = answers {
                cx.journal.event(halves.outcome_of(&single, ReconfigurationOutcome::Failed));
            }
            return ReconfigurationResult::DENIED;
        }
        halves.receiver.add_streams(add.streams);
        cx.journal.event(halves.streams_event(ReconfigurationOutcome::Performed));
        ReconfigurationResult::PERFORMED
    }

    //= RFC 6525 5.2.6-1 5.2.6-2
    /// The peer asks us to add outgoing streams.
    fn on_add_incoming(&mut self, cx: &Common<'_>, sender: &Sender, add: AddStreams) -> Answer {
        let done = |result| Answer::Done(response(add.request, result));
        let most = cx.config.reconfiguration.most_outbound_streams;
        let streams = sender.data().streams().checked_add(add.streams);
        let accepted = cx.config.reconfiguration.add_streams && streams.is_some_and(|n| n <= most);
        if !accepted {
            return done(ReconfigurationResult::DENIED);
        }
        if add.streams == 0 {
            return done(ReconfigurationResult::NOTHING_TO_DO);
        }
        self.ask_in_answer(cx, add.request, Ask::Add { outgoing: add.streams, incoming: 0 })
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
