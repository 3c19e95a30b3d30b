//! Messages that are not worth sending any more.

use super::Association;
use crate::event::Event;
use crate::time::Time;

impl Association {
    /// Takes the messages out of the queue whose lifetime has ended (RFC 9260 §11.1.5), and tells.
    pub(super) fn expire_messages(&mut self, now: Time) {
        let Some(expired) = self.sender.expire(now) else { return };
        for failure in expired {
            self.journal.stats.messages_expired += 1;
            self.journal.event(Event::Expired(failure));
        }
        self.notify_dry();
        self.notify_writer();
        self.continue_reconfiguration(now);
        // §9.2: what waited for the last of them waits no more.
        self.shutdown_progress(now);
    }
}
