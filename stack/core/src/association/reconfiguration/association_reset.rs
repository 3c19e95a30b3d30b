//! The peer asks that all streams and the TSNs begin again (RFC 6525 §5.2.4).

use tresse_wire::{ReconfigurationResponse, ReconfigurationResult, RequestNumber};

use super::Association;
use super::responses::Answer;
use crate::event::ReconfigurationOutcome;
use crate::streams::stream_set::StreamSet;

impl Association {
    /// The peer asks that all streams and the TSNs begin again.
    pub(super) fn on_association_reset(&mut self, request: RequestNumber) -> Answer {
        if !self.config.reconfiguration.reset_association {
            let result = ReconfigurationResult::DENIED;
            return Answer::Done(self.association_response(request, result));
        }
        let Some(r) = &mut self.reconfiguration else { return Answer::InProgress };
        // Of two that cross, neither could know which TSNs are the new ones.
        let busy = !r.requests.is_idle() || r.responses.has_asked() || r.responses.is_deferred();
        if busy {
            let result = ReconfigurationResult::ALREADY_IN_PROGRESS;
            return Answer::Done(self.association_response(request, result));
        }
        *r.responses.association() = Some(request);
        self.sender.park(StreamSet::All);
        Answer::InProgress
    }

    //= RFC 6525 5.1.7-3 5.1.7-5
    /// What a reset of the association is answered that is not done, or not yet: with both TSNs, too (RFC 6525 §5.1.7 D3, D4).
    /// The peer does not use them: "If the Result field does not indicate successful processing, the processing of this
    /// response is complete" (§5.2.7 H3).
    pub(super) fn association_response(
        &self,
        request: RequestNumber,
        result: ReconfigurationResult,
    ) -> ReconfigurationResponse {
        let next_tsns = Some((self.sender.next_tsn(), self.receiver.next_after_reset()));
        ReconfigurationResponse { request, result, next_tsns }
    }

    /// Resets the association once nothing of ours is outstanding: what the RFC would give up arrives first.
    pub(super) fn perform_association_reset(&mut self) {
        if let Some(request) = self.perform_association_reset_quietly() {
            self.send_response(request);
        }
    }

    //= RFC 6525 5.1.7-3 5.2.4-2 5.2.4-3 5.2.4-5 5.2.4-6
    pub(super) fn perform_association_reset_quietly(&mut self) -> Option<RequestNumber> {
        let full = self.tells_too_much();
        let Association { reconfiguration, receiver, sender, .. } = self;
        let r = reconfiguration.as_mut()?;
        let request = (*r.responses.association()).filter(|_| !full && sender.is_drained())?;
        *r.responses.association() = None;
        let was_idle = receiver.ready() == 0;
        // RFC 6525 §5.2.4 G2: our next TSN follows the highest one sent. With that nothing is left for G3 to acknowledge.
        let (senders_next, receivers_next) = (sender.next_tsn(), receiver.next_after_reset());
        receiver.jump(receivers_next);
        let readable = was_idle && receiver.ready() > 0;
        // RFC 6525 §5.2.4 G5: "The next expected and outgoing SSNs MUST be reset to 0 for all incoming and outgoing
        // streams."
        sender.unpark(true);
        let result = ReconfigurationResult::PERFORMED;
        let next_tsns = Some((senders_next, receivers_next));
        let done = ReconfigurationResponse { request, result, next_tsns };
        r.responses.note(request, Answer::Done(done));
        self.after_held(readable, Ok(()));
        let event = self.association_event(ReconfigurationOutcome::Performed);
        self.tell_after_reading(event);
        self.opportunity();
        Some(request)
    }
}
