//! What we ask of the peer (RFC 6525 §5.1): one request at a time, which is sent again until it is answered.

use std::time::Duration;

use bytes::Bytes;
use smallvec::SmallVec;
use tresse_wire::{AddStreams, ParameterWriter, RequestNumber, Tsn};

use crate::ids::PathId;
use crate::streams::stream_set::StreamSet;
use crate::time::Time;

/// RFC 6525 §5.1.4: "Only one SSN/TSN Reset Request SHOULD be sent within 30 seconds, which is considered a maximum segment
/// lifetime (the IP MSL)."
const MAXIMUM_SEGMENT_LIFETIME: Duration = Duration::from_secs(30);

/// What is to change.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// Our outgoing streams begin again, those of the peer, or both.
    Reset { outgoing: Option<StreamSet>, incoming: Option<StreamSet> },
    /// All streams and the TSNs of both begin again.
    ResetAssociation,
    /// We get this many outgoing streams more, and the peer as many of its own.
    Add { outgoing: u16, incoming: u16 },
}

impl Ask {
    /// The streams on which nothing new may leave until it is answered.
    pub(super) fn parks(&self) -> Option<StreamSet> {
        match self {
            Ask::Reset { outgoing, .. } => outgoing.clone(),
            Ask::ResetAssociation => Some(StreamSet::All),
            Ask::Add { .. } => None,
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Ask::Reset { outgoing, incoming } => {
                [outgoing, incoming].into_iter().flatten().map(StreamSet::memory).sum()
            }
            _ => 0,
        }
    }
}

/// One of the requests of a chunk.
#[derive(Clone, Debug)]
pub(super) enum SingleRequest {
    Outgoing(StreamSet),
    Incoming(StreamSet),
    Association,
    AddOutgoing(u16),
    AddIncoming(u16),
}

impl SingleRequest {
    pub(super) fn memory(&self) -> usize {
        match self {
            SingleRequest::Outgoing(streams) | SingleRequest::Incoming(streams) => streams.memory(),
            SingleRequest::Association
            | SingleRequest::AddOutgoing(_)
            | SingleRequest::AddIncoming(_) => 0,
        }
    }
}

/// What is under way.
#[derive(Debug)]
struct Job {
    ask: Ask,
    /// The request of the peer that this answers.
    answers: Option<RequestNumber>,
    /// `None` while what was sent before is not acknowledged.
    flight: Option<Flight>,
}

/// A chunk that was sent and is not answered.
#[derive(Debug)]
struct Flight {
    open: SmallVec<[(RequestNumber, SingleRequest); 2]>,
    parameters: Bytes,
    path: PathId,
    /// When it was sent last.
    sent: Time,
    /// The Re-configuration Timer.
    due: Time,
    /// The peer has said that it will answer.
    in_progress: bool,
    /// Up to which TSN all had arrived when it was sent for the last time but one.
    arrived: [Tsn; 2],
}

/// The peer has answered that it does what it was asked for, with a request of its own that follows.
#[derive(Debug)]
struct Promise {
    request: RequestNumber,
    single: SingleRequest,
    /// Until when that is waited for.
    until: Time,
}

/// Our requests.
#[derive(Debug)]
pub(super) struct Requests {
    next: RequestNumber,
    job: Option<Job>,
    promise: Option<Promise>,
    /// When the association was last asked to be reset.
    association: Option<Time>,
}

impl Requests {
    /// RFC 6525 §4.1: the number "is initialized to the same value as the initial TSN".
    pub(super) fn new(initial_tsn: Tsn) -> Requests {
        Requests { next: RequestNumber(initial_tsn.0), job: None, promise: None, association: None }
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.job.is_none()
    }

    /// What the application has asked for last is over.
    pub(super) const fn is_settled(&self) -> bool {
        self.job.is_none() && self.promise.is_none()
    }

    /// Something is to be sent once what was sent before is acknowledged.
    pub(super) fn drains(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.flight.is_none())
    }

    /// It is the answer to a request of the peer.
    pub(super) fn answers(&self) -> Option<RequestNumber> {
        self.job.as_ref()?.answers
    }

    /// The application wants it, and what of it is not answered yet.
    pub(super) fn unanswered(&self) -> Vec<SingleRequest> {
        let Some(job) = &self.job else { return Vec::new() };
        match &job.flight {
            Some(flight) => flight.open.iter().map(|(_, single)| single.clone()).collect(),
            None => requests_of(&job.ask),
        }
    }

    /// All streams and TSNs are about to begin again.
    pub(super) fn resets_association(&self) -> bool {
        matches!(&self.job, Some(Job { ask: Ask::ResetAssociation, .. }))
    }

    /// It needs a request of the peer for an answer.
    pub(super) fn needs_request(&self) -> bool {
        let needs = |single: &SingleRequest| {
            matches!(single, SingleRequest::Incoming(_) | SingleRequest::AddIncoming(_))
        };
        self.unanswered().iter().any(needs)
    }

    /// The request for that has left.
    pub(super) fn has_asked_for_reset(&self) -> bool {
        self.resets_association() && !self.drains()
    }

    //= RFC 6525 5.1.2-10 5.1.3-6
    /// What is under way may stand behind a response. RFC 6525 §3.1, combination 9: "Re-configuration Response Parameter,
    /// Outgoing SSN Reset Request Parameter", and no third one.
    pub(super) fn may_follow_response(&self) -> bool {
        self.flight()
            .is_some_and(|flight| matches!(flight.open[..], [(_, SingleRequest::Outgoing(_))]))
    }

    /// Our outgoing streams that are being reset.
    pub(super) fn resetting(&self) -> Option<&StreamSet> {
        let job = self.job.as_ref()?;
        match (&job.ask, &job.flight) {
            (Ask::Reset { outgoing, .. }, None) => outgoing.as_ref(),
            (_, Some(flight)) => flight.open.iter().find_map(|(_, single)| match single {
                SingleRequest::Outgoing(streams) => Some(streams),
                _ => None,
            }),
            _ => None,
        }
    }

    pub(super) fn begin(&mut self, ask: Ask, answers: Option<RequestNumber>) {
        debug_assert!(self.job.is_none(), "one request at a time");
        self.job = Some(Job { ask, answers, flight: None });
    }

    //= RFC 6525 5.1.4-7
    /// Whether the association may be asked to be reset again.
    pub(super) fn may_reset_association(&self, now: Time) -> bool {
        self.association.is_none_or(|at| now.since(at) >= MAXIMUM_SEGMENT_LIFETIME)
    }

    //= RFC 6525 5.1.2-2 5.1.2-3 5.1.2-4 5.1.2-5 5.1.2-6 5.1.2-7 5.1.2-8 5.1.2-9 5.1.2-11
    //= RFC 6525 5.1.3-1 5.1.3-2 5.1.3-3 5.1.3-4 5.1.3-5 5.1.3-7 5.1.4-1 5.1.4-2 5.1.4-4 5.1.4-6
    /// The chunk is made: its parameters. `last_answered` is the last request of the peer, `last_tsn` the last TSN that
    /// was assigned.
    pub(super) fn write(
        &mut self,
        now: Time,
        last_answered: RequestNumber,
        last_tsn: Tsn,
        arrived: Tsn,
    ) -> Option<Bytes> {
        let job = self.job.as_mut()?;
        let mut writer = ParameterWriter::new();
        let mut open = SmallVec::new();
        for single in requests_of(&job.ask) {
            let request = self.next;
            self.next = self.next.wrapping_add(1);
            match &single {
                SingleRequest::Outgoing(streams) => {
                    // RFC 6525 §5.1.2 A4: in answer to a request, its number; otherwise "the next expected
                    // Re-configuration Request Sequence Number of the peer minus 1".
                    let response = job.answers.unwrap_or(last_answered);
                    let streams = streams.listed().iter().copied();
                    writer.outgoing_ssn_reset(request, response, last_tsn, streams)
                }
                SingleRequest::Incoming(streams) => {
                    writer.incoming_ssn_reset(request, streams.listed().iter().copied())
                }
                SingleRequest::Association => {
                    self.association = Some(now);
                    writer.ssn_tsn_reset(request)
                }
                SingleRequest::AddOutgoing(streams) => {
                    writer.add_outgoing_streams(AddStreams { request, streams: *streams })
                }
                SingleRequest::AddIncoming(streams) => {
                    writer.add_incoming_streams(AddStreams { request, streams: *streams })
                }
            };
            open.push((request, single));
        }
        let parameters = Bytes::from(writer.finish());
        job.flight = Some(Flight {
            open,
            parameters: parameters.clone(),
            path: PathId::default(),
            sent: now,
            due: Time::FAR_FUTURE,
            in_progress: false,
            arrived: [arrived; 2],
        });
        Some(parameters)
    }

    /// The chunk leaves on `path`, and is sent again at `due` if nobody answers.
    pub(super) fn sent(&mut self, now: Time, path: PathId, due: Time, arrived: Tsn) {
        if let Some(flight) = self.flight_mut() {
            (flight.path, flight.sent, flight.due) = (path, now, due);
            flight.arrived = [flight.arrived[1], arrived];
        }
    }

    fn flight(&self) -> Option<&Flight> {
        self.job.as_ref()?.flight.as_ref()
    }

    fn flight_mut(&mut self) -> Option<&mut Flight> {
        self.job.as_mut()?.flight.as_mut()
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let promised = self.promise.as_ref().map(|promise| promise.until);
        self.flight().map(|flight| flight.due).into_iter().chain(promised).min()
    }

    /// The Re-configuration Timer has expired.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.flight().is_some_and(|flight| flight.due <= now)
    }

    /// The request of the peer that does this is waited for.
    pub(super) fn promised(&mut self, request: RequestNumber, single: SingleRequest, until: Time) {
        self.promise = Some(Promise { request, single, until });
    }

    /// What the peer was waited for too long.
    pub(super) fn give_up(&mut self, now: Time) -> Option<SingleRequest> {
        self.promise.take_if(|promise| promise.until <= now).map(|promise| promise.single)
    }

    /// The chunk under way, to be sent again.
    pub(super) fn parameters(&self) -> Option<Bytes> {
        self.flight().map(|flight| flight.parameters.clone())
    }

    /// Where it was sent, and when.
    pub(super) fn sent_on(&self) -> Option<(PathId, Time)> {
        self.flight().map(|flight| (flight.path, flight.sent))
    }

    /// Before which TSN all had arrived when the answer that has just come may have been written.
    pub(super) fn arrived(&self) -> Option<Tsn> {
        self.flight().map(|flight| flight.arrived[0])
    }

    /// The Re-configuration Timer has expired. Whether that counts: it does not once after "In progress".
    pub(super) fn expired(&mut self) -> bool {
        self.flight_mut().is_some_and(|flight| !std::mem::take(&mut flight.in_progress))
    }

    //= RFC 6525 5.2.7-3
    /// The peer answers "In progress". `false` if it was not asked.
    ///
    /// RFC 6525 §5.2.7 H2: "the timer for the Re-configuration Request Sequence Number is started again."
    pub(super) fn wait(&mut self, request: RequestNumber, due: Time) -> bool {
        let Some(flight) = self.flight_mut() else { return false };
        let asked = flight.open.iter().any(|(open, _)| *open == request);
        if asked {
            (flight.in_progress, flight.due) = (true, due);
        }
        asked
    }

    //= RFC 6525 5.2.2-1 5.2.2-2 5.2.7-1 5.2.7-2
    /// A request is answered: which one. The timer stops with the last one.
    pub(super) fn take(&mut self, request: RequestNumber) -> Option<SingleRequest> {
        self.take_if(|open, _| open == request)
    }

    /// The one of our requests that was promised to be done, and is over with one of the peer.
    pub(super) fn take_promised(
        &mut self,
        answered: impl Fn(RequestNumber, &SingleRequest) -> bool,
    ) -> Option<SingleRequest> {
        let kept = self.promise.take_if(|promise| answered(promise.request, &promise.single));
        kept.map(|promise| promise.single)
    }

    /// A request for which `answered` holds is answered by one of the peer: which one. The timer stops with the last one.
    pub(super) fn take_if(
        &mut self,
        answered: impl Fn(RequestNumber, &SingleRequest) -> bool,
    ) -> Option<SingleRequest> {
        let flight = self.flight_mut()?;
        let at = flight.open.iter().position(|(open, single)| answered(*open, single))?;
        let (_, single) = flight.open.remove(at);
        if flight.open.is_empty() {
            self.job = None;
        }
        Some(single)
    }

    pub(super) fn memory(&self) -> usize {
        let flight = self.flight().map_or(0, |flight| 2 * flight.parameters.len());
        let promise = self.promise.as_ref().map_or(0, |promise| promise.single.memory());
        self.job.as_ref().map_or(0, |job| job.ask.memory()) + flight + promise
    }
}

//= RFC 6525 5.1.2-10 5.1.3-6 5.1.4-5
/// The requests that make up a chunk, in the order of RFC 6525 §3.1.
fn requests_of(ask: &Ask) -> Vec<SingleRequest> {
    let some = |streams: u16| Some(streams).filter(|streams| *streams > 0);
    let [first, second] = match ask {
        Ask::Reset { outgoing, incoming } => [
            outgoing.clone().map(SingleRequest::Outgoing),
            incoming.clone().map(SingleRequest::Incoming),
        ],
        Ask::ResetAssociation => [Some(SingleRequest::Association), None],
        Ask::Add { outgoing, incoming } => [
            some(*outgoing).map(SingleRequest::AddOutgoing),
            some(*incoming).map(SingleRequest::AddIncoming),
        ],
    };
    first.into_iter().chain(second).collect()
}
