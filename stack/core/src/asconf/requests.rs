//! What this end asks, one ASCONF chunk at a time (RFC 5061 §5.1), and what the acknowledgement says of each request.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{
    AddressRequest, AsconfAck, AsconfNumber, CauseCode, Parameter, ParameterType, ParameterWriter,
    Parameters, Tsn,
};

use super::change::{AddressChange, AddressOutcome};
use crate::ids::PathId;
use crate::time::Time;

/// Requests of one chunk, at most: with IPv6 addresses some more than 400 bytes, which fits every packet.
const MAX_TOGETHER: usize = 12;
/// Requests that wait, at most, beside those that follow from the addresses of the host.
const MAX_WAITING: usize = 64;

/// One change that the peer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) change: AddressChange,
    /// Our address that it is about.
    pub(crate) address: IpAddr,
    /// The peer knows it as another one, that of a NAT: the chunk has a wildcard, which means where it comes from. To delete one
    /// is then to delete all others.
    pub(crate) unseen: bool,
}

/// The peer does not delete the only address that it has (RFC 5061 §5.3 F7).
const LAST: AddressOutcome =
    AddressOutcome::Refused { cause: CauseCode::REQUEST_TO_DELETE_LAST_ADDRESS.0 };

impl Request {
    /// It has a wildcard, which means the address that it comes from.
    fn means_its_source(&self) -> bool {
        self.unseen && self.change != AddressChange::Delete
    }

    /// It has a wildcard, which means all addresses but the one that it comes from.
    fn deletes_others(&self) -> bool {
        self.unseen && self.change == AddressChange::Delete
    }

    /// Whether one packet can have both. A wildcard means where it comes from: that is the address which is added or made the
    /// primary one, and none that is deleted, for all others are.
    fn goes_with(&self, other: &Request) -> bool {
        let deletes = |request: &Request| request.change == AddressChange::Delete;
        let same = self.address == other.address;
        match (deletes(self), deletes(other)) {
            _ if !(self.unseen && other.unseen) => true,
            (true, true) => true,
            (false, false) => same,
            _ => !same,
        }
    }
}

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    /// Nobody has asked for it: it follows from the addresses that the host has.
    follows: bool,
}

/// The chunk that is not acknowledged.
#[derive(Debug)]
struct Flight {
    number: AsconfNumber,
    /// The correlation of the first request; the others have those that follow.
    first: u32,
    asked: Vec<Request>,
    /// As they stand in the chunk.
    encoded: Bytes,
    lookup: IpAddr,
    path: PathId,
    /// Where it left from, if the system did not choose.
    source: Option<IpAddr>,
    sent: Time,
    /// How often on each path, where it could be answered.
    times: Vec<(PathId, u32)>,
    /// Some of it left from elsewhere: nobody knows which address the peer has taken a wildcard for.
    elsewhere: bool,
    /// When the T-4 RTO timer expires.
    due: Option<Time>,
}

/// What an ASCONF-ACK chunk means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It was acknowledged before.
    Old,
    /// It acknowledges what was never sent.
    Illegal,
    /// This became of the requests.
    Answers(Vec<(Request, AddressOutcome)>),
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct AsconfRequests {
    next: AsconfNumber,
    next_correlation: u32,
    waiting: VecDeque<Waiting>,
    flight: Option<Flight>,
    /// The peer does not know the chunk, or these requests.
    unknown: bool,
    knows_no_changes: bool,
    knows_no_primary: bool,
    /// What the peer has refused since the addresses of our host have changed.
    refused: Vec<Request>,
}

impl AsconfRequests {
    pub(crate) fn new(initial_tsn: Tsn) -> AsconfRequests {
        AsconfRequests {
            next: AsconfNumber(initial_tsn.0),
            next_correlation: 1,
            waiting: VecDeque::new(),
            flight: None,
            unknown: false,
            knows_no_changes: false,
            knows_no_primary: false,
            refused: Vec::new(),
        }
    }

    /// The peer has refused just that; or so much that it is asked no more.
    pub(crate) fn was_refused(&self, request: &Request) -> bool {
        self.refused.len() >= MAX_WAITING || self.refused.contains(request)
    }

    /// What was refused may be asked for again.
    pub(crate) fn forget_refusals(&mut self) {
        self.refused.clear();
    }

    /// The peer has shown that it does not know such a request.
    pub(crate) const fn are_unknown(&self, change: AddressChange) -> bool {
        self.unknown
            || match change {
                AddressChange::Add | AddressChange::Delete => self.knows_no_changes,
                AddressChange::SetPrimary => self.knows_no_primary,
            }
    }

    /// One more; `false` if too many wait.
    pub(crate) fn push(&mut self, request: Request) -> bool {
        let fits = self.waiting.iter().filter(|one| !one.follows).count() < MAX_WAITING;
        if fits {
            self.waiting.push_back(Waiting { request, follows: false });
        }
        fits
    }

    /// One more, which follows from the addresses that the host has: there are no more of them than addresses.
    pub(crate) fn follow(&mut self, request: Request) {
        self.waiting.push_back(Waiting { request, follows: true });
    }

    /// The host has other addresses: of what followed from those before, nothing more leaves.
    pub(crate) fn forget_those_that_follow(&mut self) {
        self.waiting.retain(|one| !one.follows);
    }

    /// Those that are not answered.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Request> {
        self.under_way().chain(self.waiting.iter().map(|one| &one.request))
    }

    /// Those that are under way.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Request> {
        self.flight.iter().flat_map(|flight| &flight.asked)
    }

    /// None is under way, and some wait.
    pub(crate) fn may_begin(&self) -> bool {
        self.flight.is_none() && !self.waiting.is_empty()
    }

    //= RFC 5061 3-3 4.1.1-1 5.1-1 5.1-2 5.1-3 5.1-4 5.1-5 5.1.1-1 5.1.1-2 5.5-5
    /// Makes a chunk of those that wait; the peer finds the association by `lookup`.
    ///
    /// Those that must come from different addresses are told one after the other.
    pub(crate) fn begin(&mut self, lookup: IpAddr) {
        if !self.may_begin() {
            return;
        }
        let mut asked: Vec<Request> = Vec::new();
        while let Some(next) = self.waiting.front().filter(|_| asked.len() < MAX_TOGETHER) {
            if asked.iter().any(|one| !one.goes_with(&next.request)) {
                break;
            }
            asked.extend(self.waiting.pop_front().map(|one| one.request));
        }
        let first = self.next_correlation;
        let mut writer = ParameterWriter::new();
        for (correlation, request) in (first..).zip(&asked) {
            let address = if request.unseen { wildcard(request.address) } else { request.address };
            let one = AddressRequest { correlation, address };
            match request.change {
                AddressChange::Add => writer.add_ip_address(one),
                AddressChange::Delete => writer.delete_ip_address(one),
                AddressChange::SetPrimary => writer.set_primary_address(one),
            };
        }
        self.next_correlation = first.wrapping_add(asked.len() as u32);
        let number = self.next;
        self.next = number.wrapping_add(1);
        let (path, encoded) = (PathId::default(), writer.finish().into());
        self.flight = Some(Flight {
            number,
            first,
            asked,
            encoded,
            lookup,
            path,
            source: None,
            sent: Time::ZERO,
            times: Vec::new(),
            elsewhere: false,
            due: None,
        });
    }

    /// The chunk that is not acknowledged: number, Address Parameter and encoded requests.
    pub(crate) fn chunk(&self) -> Option<(AsconfNumber, IpAddr, Bytes)> {
        self.flight.as_ref().map(|flight| (flight.number, flight.lookup, flight.encoded.clone()))
    }

    /// It leaves on `path`, from `source`.
    pub(crate) fn on_sent(&mut self, now: Time, path: PathId, source: Option<IpAddr>, due: Time) {
        if let Some(flight) = &mut self.flight {
            (flight.path, flight.source) = (path, source);
            (flight.sent, flight.due) = (now, Some(due));
            match flight.times.iter_mut().find(|(on, _)| *on == path) {
                Some((_, times)) => *times += 1,
                None => flight.times.push((path, 1)),
            }
            flight.elsewhere |=
                flight.asked.iter().any(|r| r.means_its_source() && source != Some(r.address));
        }
    }

    /// It left from an address that is gone: that was no question.
    pub(crate) fn was_in_vain(&mut self) {
        if let Some(flight) = &mut self.flight
            && let Some((_, times)) = flight.times.iter_mut().find(|(on, _)| *on == flight.path)
        {
            *times = times.saturating_sub(1);
        }
    }

    /// How often it has left on `path`, and was not answered.
    pub(crate) fn unanswered(&self, path: PathId) -> u32 {
        let times = self.flight.iter().flat_map(|flight| &flight.times);
        times.filter(|(on, _)| *on == path).map(|(_, times)| *times).sum()
    }

    /// Where it left from last.
    pub(crate) fn sent_from(&self) -> Option<IpAddr> {
        self.flight.as_ref()?.source
    }

    /// Where it was sent last, and when.
    pub(crate) fn sent_on(&self) -> Option<(PathId, Time)> {
        self.flight.as_ref().map(|flight| (flight.path, flight.sent))
    }

    /// When the T-4 RTO timer expires.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.flight.as_ref()?.due
    }

    //= RFC 5061 5.1-8 5.3-2
    /// An acknowledgement.
    pub(crate) fn on_ack(&mut self, ack: &AsconfAck<'_>) -> Meaning {
        // F0: "greater than or equal to the next Sequence Number to be used".
        if ack.number.distance(self.next) >= 0 {
            return Meaning::Illegal;
        }
        let Some(flight) = self.flight.take_if(|flight| flight.number == ack.number) else {
            return Meaning::Old;
        };
        let mut outcomes: Vec<Option<AddressOutcome>> = vec![None; flight.asked.len()];
        let mut failed = None;
        for parameter in ack.responses.parsed().map_while(Result::ok) {
            let (correlation, outcome) = match parameter {
                Parameter::SuccessIndication(correlation) => (correlation, AddressOutcome::Done),
                Parameter::ErrorCauseIndication(indication) => {
                    let cause = indication.causes.iter().next().and_then(Result::ok);
                    if let Some(cause) =
                        cause.filter(|c| c.code == CauseCode::UNRECOGNIZED_PARAMETERS)
                    {
                        self.note_unknown(cause.value);
                    }
                    let code = cause.map_or(0, |cause| cause.code.0);
                    (indication.correlation, AddressOutcome::Refused { cause: code })
                }
                _ => continue,
            };
            let at = correlation.wrapping_sub(flight.first) as usize;
            if let Some(slot) = outcomes.get_mut(at) {
                *slot = Some(outcome);
                if outcome != AddressOutcome::Done {
                    failed = Some(failed.map_or(at, |first: usize| first.min(at)));
                }
            }
        }
        // A7, A8: what is before the first that failed is done if nothing else is said, what is behind it is not.
        let implied = |at: usize| match failed {
            Some(failed) if at > failed => AddressOutcome::Failed,
            _ => AddressOutcome::Done,
        };
        let outcomes = outcomes.into_iter().enumerate().map(|(at, o)| o.unwrap_or(implied(at)));
        let mut answers: Vec<_> = flight.asked.iter().copied().zip(outcomes).collect();
        // Where a NAT shows one address for all of ours, the peer may say F7 to a wildcard: nothing but where it came from is left.
        let is_alone = |(request, outcome): &(Request, AddressOutcome)| {
            request.deletes_others() && *outcome == LAST
        };
        if answers.iter().all(|answer| answer.1 == AddressOutcome::Done || is_alone(answer)) {
            answers.iter_mut().for_each(|(_, outcome)| *outcome = AddressOutcome::Done);
        }
        // Which address a wildcard was taken for is not known where it left from several: it is asked for again.
        for (request, outcome) in &mut answers {
            if *outcome == AddressOutcome::Done && flight.elsewhere && request.means_its_source() {
                *outcome = AddressOutcome::Failed;
            }
        }
        for (request, outcome) in &answers {
            if matches!(outcome, AddressOutcome::Refused { .. }) && !self.was_refused(request) {
                self.refused.push(*request);
            }
        }
        Meaning::Answers(answers)
    }

    //= RFC 5061 5.3-6 5.3-7
    /// F3a, F3b: the peer did not understand these requests.
    fn note_unknown(&mut self, parameters: &[u8]) {
        for raw in Parameters::new(parameters).iter().map_while(Result::ok) {
            match raw.parameter_type {
                ParameterType::ADD_IP_ADDRESS | ParameterType::DELETE_IP_ADDRESS => {
                    self.knows_no_changes = true;
                }
                ParameterType::SET_PRIMARY_ADDRESS => self.knows_no_primary = true,
                _ => {}
            }
        }
    }

    /// Nothing will be answered any more: those that were not. `unknown`: since the peer does not know the chunk.
    pub(crate) fn give_up(&mut self, unknown: bool) -> Vec<Request> {
        self.unknown |= unknown;
        let flight = self.flight.take().map(|flight| flight.asked).unwrap_or_default();
        let waiting = self.waiting.drain(..).map(|one| one.request);
        flight.into_iter().chain(waiting).collect()
    }

    pub(crate) fn memory(&self) -> usize {
        let flight = self.flight.as_ref();
        let flight = flight.map_or(0, |f| {
            f.encoded.len()
                + f.asked.capacity() * size_of::<Request>()
                + f.times.capacity() * size_of::<(PathId, u32)>()
        });
        let waiting = self.waiting.capacity() * size_of::<Waiting>();
        waiting + self.refused.capacity() * size_of::<Request>() + flight
    }
}

/// The wildcard of the address' family.
fn wildcard(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests;
