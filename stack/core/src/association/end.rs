//! How an association ends (RFC 9260 §9).

use tresse_wire::VerificationTag;

use super::errors::End;
use super::{Abort, Association, Halves, Phase};
use crate::event::{CloseReason, Event};

impl Association {
    /// Ends the association without a word to the peer.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.phase = Phase::Closed;
        self.outbox.keep_last_words();
        self.end_life();
        self.journal.event(Event::Closed(reason));
    }

    //= RFC 9260 3.3.7-1 8.5.1-4 9.1-1 9.1-2
    /// Sends ABORT with the causes of this `end`.
    pub(super) fn abort_with(&mut self, end: End) {
        self.outbox.clear();
        // Without a tag the peer would discard it; it has no association yet anyway.
        let tag = self.identity.peer_tag;
        if tag != VerificationTag(0) {
            let path = self.paths.data_path();
            let abort = Abort { tag, reflected: false, causes: end.causes };
            self.outbox.abort(path, abort);
        }
        self.close(end.reason);
    }

    /// Whether it goes on; if `result` says that it ends, it is aborted so.
    pub(super) fn goes_on(&mut self, result: Result<(), End>) -> bool {
        match result {
            Ok(()) => true,
            Err(end) => {
                self.abort_with(end);
                false
            }
        }
    }

    /// The association ends or begins again: nothing more comes of what was under way, which is told.
    pub(super) fn end_life(&mut self) {
        self.end_partial_delivery();
        let mut halves = Halves { sender: &mut self.sender, receiver: &mut self.receiver };
        if let Some(reconfiguration) = self.extras.reconfiguration.take() {
            reconfiguration.end(&mut self.journal, &mut halves);
        }
        self.end_changes();
        self.outbox.set_changes(false);
        self.stop_timers();
        // SEND FAILURE for every message that was not acknowledged in full.
        for failure in self.sender.drain() {
            self.journal.event(Event::SendFailed(failure));
        }
    }

    /// Addresses do not change any more: what was asked for is not done.
    pub(super) fn end_changes(&mut self) {
        if let Some(changes) = self.extras.changes.take() {
            changes.end(&mut self.journal, self.monitor.addresses_mut().sources_mut());
        }
    }

    /// Nothing more comes of messages that are handed over in parts.
    fn end_partial_delivery(&mut self) {
        let was_idle = self.receiver.ready() == 0;
        self.receiver.end_partial_delivery();
        if was_idle && self.receiver.ready() > 0 {
            self.journal.event(Event::Readable);
        }
    }

    /// Those that do not belong to the phase.
    fn stop_timers(&mut self) {
        self.sender.stop_timers();
        self.standard.stop();
        for path in self.paths.iter_mut() {
            path.t3.stop();
            path.heartbeat.plan(None);
        }
    }
}
