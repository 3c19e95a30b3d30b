//! The errors that the association counts (RFC 9260 §8.1), and the end that it comes to by itself.

use tresse_wire::CauseWriter;

use crate::event::CloseReason;
use crate::streams::chunk::InboundError;

/// "The total number of consecutive retransmissions to its peer [...], including the number of unacknowledged
/// HEARTBEAT chunks observed on the path that is currently used for data transfer."
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errors {
    /// Expirations of T3-rtx since something was acknowledged.
    timeouts: u32,
    /// Requests (RFC 5061, RFC 6525) without an answer since one was answered.
    requests: u32,
    /// Heartbeats without an answer since one was answered.
    heartbeats: u32,
}

/// The association ends, and ABORT tells the peer why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Encoded error causes.
    pub(super) causes: Vec<u8>,
    pub(super) reason: CloseReason,
}

impl Errors {
    /// T3-rtx has expired.
    pub(super) fn on_timeout(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// A request was not answered; `counts` if that is an error.
    pub(super) fn on_lost_request(&mut self, counts: bool) {
        self.requests = self.requests.saturating_add(u32::from(counts));
    }

    /// One was answered, which says nothing of the data.
    pub(super) fn on_request_answered(&mut self) {
        self.requests = 0;
    }

    /// A heartbeat was not.
    pub(super) fn on_lost_heartbeat(&mut self) {
        self.heartbeats = self.heartbeats.saturating_add(1);
    }

    /// One was answered.
    pub(super) fn on_heartbeat_answered(&mut self) {
        self.heartbeats = 0;
    }

    /// The peer has answered.
    #[inline]
    pub(super) fn clear(&mut self) {
        *self = Errors::default();
    }

    //= RFC 9260 8.1-1 8.1-3 8.1-4
    /// Ends the association when there were too many consecutive errors.
    ///
    /// RFC 9260 §8.1: if the counter exceeds Association.Max.Retrans, the peer is unreachable.
    pub(super) fn judge(self, association_max_retrans: u32) -> Result<(), End> {
        let errors = self.timeouts.saturating_add(self.requests).saturating_add(self.heartbeats);
        if errors > association_max_retrans {
            return Err(End { causes: Vec::new(), reason: CloseReason::Unreachable });
        }
        Ok(())
    }
}

impl End {
    /// The peer broke the protocol.
    pub(super) fn violation(what: &'static str) -> End {
        let causes = CauseWriter::new().protocol_violation(what.as_bytes()).finish();
        End { causes, reason: CloseReason::ProtocolViolation(what) }
    }
}

/// The peer sends what no message can be.
impl From<InboundError> for End {
    fn from(error: InboundError) -> End {
        match error {
            InboundError::MessageTooLarge => {
                let causes = CauseWriter::new().out_of_resource().finish();
                let what = "message longer than max_message_size";
                End { causes, reason: CloseReason::ProtocolViolation(what) }
            }
            InboundError::Inconsistent(what) => End::violation(what),
        }
    }
}
