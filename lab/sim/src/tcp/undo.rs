//! A window that was cut for nothing is restored: RFC 3522 (an echo older than the retransmission) and RFC 2883 (all
//! that was sent again is reported as duplicate).

use super::sender::Sender;

impl Sender {
    /// Nothing had to be sent again, as it seems.
    fn was_needless(&self, echo: u64) -> bool {
        let undo = &self.recovery.undo;
        // RFC 3522 §3.2 (5): the ACK was for what was sent before it was sent again.
        let original = undo.first_at.is_none_or(|first| echo < first);
        undo.from.is_some() && (undo.needed == 0 || original)
    }

    /// Restores the window, and the threshold too if `wholly`.
    fn restore(&mut self, wholly: bool) {
        let congestion = &mut self.congestion;
        match self.recovery.undo.ssthresh {
            Some(before) => {
                congestion.restore();
                if wholly {
                    congestion.ssthresh = congestion.ssthresh.max(before);
                }
            }
            None => congestion.cwnd = congestion.cwnd.max(congestion.ssthresh),
        }
        congestion.moderate(self.queue.in_flight());
    }

    /// Recovery or loss is over: restores the window if it was cut for nothing. Without SACK the state remains until
    /// more is acknowledged, as RFC 3782 §6 wants it against false fast retransmits: whether it does.
    pub(super) fn undo_or_end(&mut self, echo: u64) -> bool {
        if self.was_needless(echo) {
            self.restore(true);
            self.recovery.undo.from = None;
        }
        if self.una == self.recovery.high() && !self.options.sack {
            self.congestion.moderate(self.queue.in_flight());
            return true;
        }
        self.recovery.open();
        false
    }

    /// RFC 2883: all that was sent again has arrived twice.
    pub(super) fn undo_by_duplicates(&mut self) {
        if self.recovery.undo.from.is_some() && self.recovery.undo.needed == 0 {
            self.restore(true);
            self.recovery.undo.from = None;
        }
    }

    /// A partial ACK (RFC 3782 §3, step 5): whether the next segment is lost too.
    pub(super) fn is_partial_a_loss(&mut self, acked: u64, echo: u64) -> bool {
        let lost = !self.options.sack || self.queue.forward > self.recovery.reordering;
        if !self.was_needless(echo) {
            return lost;
        }
        // The segment was only late.
        if self.queue.resent() == 0 {
            self.recovery.undo.first_at = None;
        }
        let reach = if self.options.sack { self.queue.forward } else { self.queue.duplicates + 1 };
        self.recovery.reordered(reach + acked);
        self.restore(false);
        false
    }

    /// A timeout was needless: whether it was, and all is as before.
    pub(super) fn undo_loss(&mut self, echo: u64) -> bool {
        if !self.was_needless(echo) {
            return false;
        }
        self.queue.iter_mut().for_each(|sent| sent.lost = false);
        self.restore(true);
        self.recovery.undo.from = None;
        if self.options.sack {
            self.recovery.open();
        }
        true
    }
}
