//! What the peer asks of us, and what it was answered (RFC 6525 §5.1.7, §5.2).

use std::collections::VecDeque;

use tresse_wire::{ReconfigurationResponse, ReconfigurationResult, RequestNumber, Tsn};

use super::requests::{Ask, SingleRequest};
use crate::streams::stream_set::StreamSet;

/// Answers that are kept, to be given again: a chunk has two requests at most, and one chunk at a time is under way.
const KEPT: usize = 4;
/// Requests of the peer that are answered by one of ours, and wait for that, at most: more than a chunk has.
const MAX_ASKED: usize = 2;

/// What a request of the peer was answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Done(ReconfigurationResponse),
    /// It will be done.
    InProgress,
    /// A request of ours is the answer.
    Request,
}

/// What is known of a request by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    New,
    Again(Answer),
    /// It is neither the next one nor one that was answered lately.
    Wrong,
}

/// A reset of incoming streams for which something is still missing.
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) request: RequestNumber,
    pub(super) streams: StreamSet,
    /// Sender's Last Assigned TSN.
    pub(super) last_tsn: Tsn,
    /// The request of ours that it answers.
    pub(super) answers: Option<SingleRequest>,
    /// Messages behind that are kept.
    pub(super) keeps: bool,
}

/// Requests of the peer.
#[derive(Debug)]
pub(super) struct Responses {
    expected: RequestNumber,
    answers: VecDeque<(RequestNumber, Answer)>,
    deferred: Option<Deferred>,
    /// A reset of the association that waits until all of ours is acknowledged.
    association: Option<RequestNumber>,
    /// What we have to ask in answer.
    asked: VecDeque<(RequestNumber, Ask)>,
}

impl Responses {
    /// The first request has the number of the peer's initial TSN (RFC 6525 §4.1).
    pub(super) fn new(peer_initial_tsn: Tsn) -> Responses {
        Responses {
            expected: RequestNumber(peer_initial_tsn.0),
            answers: VecDeque::new(),
            deferred: None,
            association: None,
            asked: VecDeque::new(),
        }
    }

    /// The last request that was taken.
    pub(super) fn last(&self) -> RequestNumber {
        self.expected.wrapping_sub(1)
    }

    //= RFC 6525 5.2.1-4
    /// What is known of a request. A new one is taken: it will be answered.
    ///
    /// RFC 6525 §5.2.1: "based on the analysis of the Re-configuration Request Sequence Numbers this is the last received
    /// RE-CONFIG chunk (i.e., a retransmission), the same RE-CONFIG chunk MUST to be sent back in response, as it was
    /// earlier."
    pub(super) fn look(&mut self, request: RequestNumber) -> Seen {
        if request == self.expected {
            self.expected = self.expected.wrapping_add(1);
            return Seen::New;
        }
        self.look_again(request).map_or(Seen::Wrong, Seen::Again)
    }

    /// What a request was answered that was taken before.
    pub(super) fn look_again(&self, request: RequestNumber) -> Option<Answer> {
        let known = self.answers.iter().find(|(known, _)| *known == request);
        known.map(|(_, answer)| *answer)
    }

    /// Notes what a request was answered.
    pub(super) fn note(&mut self, request: RequestNumber, answer: Answer) {
        match self.answers.iter_mut().find(|(known, _)| *known == request) {
            Some((_, noted)) => *noted = answer,
            None => {
                if self.answers.len() >= KEPT {
                    self.answers.pop_front();
                }
                self.answers.push_back((request, answer));
            }
        }
    }

    pub(super) fn deferred(&mut self) -> Option<&mut Deferred> {
        self.deferred.as_mut()
    }

    pub(super) fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    pub(super) fn defer(&mut self, deferred: Deferred) {
        self.deferred = Some(deferred);
    }

    pub(super) fn take_deferred(&mut self) -> Option<Deferred> {
        self.deferred.take()
    }

    /// The reset of the association that the peer has asked for.
    pub(super) fn association(&mut self) -> &mut Option<RequestNumber> {
        &mut self.association
    }

    /// A reset of the association is under way.
    pub(super) const fn resets_association(&self) -> bool {
        self.association.is_some()
    }

    /// It is what this request of the peer is about.
    pub(super) fn is_association(&self, request: RequestNumber) -> bool {
        self.association == Some(request)
    }

    /// A request of ours will be the answer; `false` if too many wait for that.
    pub(super) fn ask(&mut self, request: RequestNumber, ask: Ask) -> bool {
        let room = self.asked.len() < MAX_ASKED;
        if room {
            self.asked.push_back((request, ask));
        }
        room
    }

    pub(super) fn next_asked(&mut self) -> Option<(RequestNumber, Ask)> {
        self.asked.pop_front()
    }

    /// The peer has asked for something that holds up what we could ask.
    pub(super) fn has_asked(&self) -> bool {
        self.association.is_some() || !self.asked.is_empty()
    }

    /// Something waits that may go on.
    pub(super) fn is_busy(&self) -> bool {
        self.deferred.is_some() || self.association.is_some() || !self.asked.is_empty()
    }

    pub(super) fn memory(&self) -> usize {
        let deferred = self.deferred.as_ref().map_or(0, |deferred| {
            deferred.streams.memory() + deferred.answers.as_ref().map_or(0, SingleRequest::memory)
        });
        self.answers.capacity() * size_of::<(RequestNumber, Answer)>()
            + self.asked.capacity() * size_of::<(RequestNumber, Ask)>()
            + deferred
            + self.asked.iter().map(|(_, ask)| ask.memory()).sum::<usize>()
    }
}

//= RFC 6525 5.1.7-1 5.1.7-2 5.1.7-4 5.1.7-7
/// An answer without TSNs.
pub(super) const fn response(
    request: RequestNumber,
    result: ReconfigurationResult,
) -> ReconfigurationResponse {
    ReconfigurationResponse { request, result, next_tsns: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 6525 5.2.1-4
    #[test]
    fn the_last_requests_get_their_answers_again() {
        let mut responses = Responses::new(Tsn(u32::MAX));
        let number = |n: u32| RequestNumber(u32::MAX.wrapping_add(n));
        assert_eq!(responses.last(), RequestNumber(u32::MAX - 1));
        for n in 0..6 {
            assert!(matches!(responses.look(number(n + 1)), Seen::Wrong));
            assert!(matches!(responses.look(number(n)), Seen::New));
            responses.note(number(n), Answer::InProgress);
            let done = response(number(n), ReconfigurationResult(n));
            responses.note(number(n), Answer::Done(done));
        }
        for n in 2..6 {
            let Seen::Again(Answer::Done(again)) = responses.look(number(n)) else {
                panic!("request {n} was answered")
            };
            assert_eq!(again.result, ReconfigurationResult(n));
        }
        assert!(matches!(responses.look(number(1)), Seen::Wrong), "too long ago");
    }
}
