//! The peer asks that all streams and the TSNs begin again (RFC 6525 §5.2.4).

use tresse_wire::{ReconfigurationResponse, ReconfigurationResult, RequestNumber};

use super::responses::Answer;
use super::{Common, Halves, Reconfiguration};
use crate::event::{Event, ReconfigurationOutcome};
use crate::streams::stream_set::StreamSet;

impl Reconfiguration {
    /// The peer asks that all streams and the TSNs begin again.
    pub(super) fn on_association_reset(
        &mut self,
        cx: &Common<'_>,
        halves: &mut Halves<'_>,
        request: RequestNumber,
    ) -> Answer {
        if !cx.config.reconfiguration.reset_association {
            let result = ReconfigurationResult::DENIED;
            return Answer::Done(association_response(halves, request, result));
        }
        // Of two that cross, neither could know which TSNs are the new ones.
        let Reconfiguration { requests, responses, .. } = self;
        let busy = !requests.is_idle() || responses.has_asked() || responses.is_deferred();
        if busy {
            let result = ReconfigurationResult::ALREADY_IN_PROGRESS;
            return Answer::Done(association_response(halves, request, result));
        }
        *responses.association() = Some(request);
        halves.sender.streams_mut().park(StreamSet::All);
        Answer::InProgress
    }

    //= RFC 6525 5.1.7-3 5.2.4-2 5.2.4-3 5.2.4-5 5.2.4-6
    /// Resets the association once nothing of ours is outstanding: what the RFC would give up arrives first.
    /// The request comes back that is answered by that.
    pub(super) fn perform_association_reset(
        &mut self,
        cx: &mut Common<'_>,
        halves: &mut Halves<'_>,
    ) -> Option<RequestNumber> {
        let full = self.tells_too_much(cx);
        let Halves { sender, receiver } = halves;
        let asked = *self.responses.association();
        let request = asked.filter(|_| !full && sender.streams_mut().is_drained())?;
        *self.responses.association() = None;
        let was_idle = receiver.ready() == 0;
        // RFC 6525 §5.2.4 G2: our next TSN follows the highest one sent. With that nothing is left for G3 to acknowledge.
        let (senders_next, receivers_next) =
            (sender.data().next_tsn(), receiver.next_after_reset());
        receiver.jump(receivers_next);
        let readable = was_idle && receiver.ready() > 0;
        // RFC 6525 §5.2.4 G5: "The next expected and outgoing SSNs MUST be reset to 0 for all incoming and outgoing
        // streams."
        sender.streams_mut().unpark(true);
        let result = ReconfigurationResult::PERFORMED;
        let next_tsns = Some((senders_next, receivers_next));
        let done = ReconfigurationResponse { request, result, next_tsns };
        self.responses.note(request, Answer::Done(done));
        if readable {
            cx.journal.event(Event::Readable);
        }
        let event = halves.association_event(ReconfigurationOutcome::Performed);
        self.tell_after_reading(cx, halves, event);
        cx.paths.begin_opportunity(cx.profile());
        Some(request)
    }
}

//= RFC 6525 5.1.7-3 5.1.7-5
/// What a reset of the association is answered that is not done, or not yet: with both TSNs, too (RFC 6525 §5.1.7 D3, D4).
/// The peer does not use them: "If the Result field does not indicate successful processing, the processing of this
/// response is complete" (§5.2.7 H3).
pub(super) fn association_response(
    halves: &Halves<'_>,
    request: RequestNumber,
    result: ReconfigurationResult,
) -> ReconfigurationResponse {
    let next_tsns = Some((halves.sender.data().next_tsn(), halves.receiver.next_after_reset()));
    ReconfigurationResponse { request, result, next_tsns }
}
