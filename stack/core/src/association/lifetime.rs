//! Messages that are not worth sending any more.

use super::Association;
use crate::time::Time;

impl Association {
    /// Gives up the messages whose lifetime has ended (RFC 9260 §11.1.5, RFC 3758 §4.1), and tells.
    #[inline]
    pub(super) fn expire_messages(&mut self, now: Time) {
        if self.sender.is_overdue(now) {
            self.expire_overdue(now);
        }
    }

    /// Tells who waits for room of what was given up.
    #[inline]
    pub(super) fn after_giving_up(&mut self, now: Time) {
        if self.sender.take_left_room() && !self.is_closed() {
            self.notify_dry();
            self.notify_writer();
            self.shutdown_progress(now);
        }
    }

    fn expire_overdue(&mut self, now: Time) {
        let (sender, mut cx) = self.sending(now);
        sender.expire(&mut cx);
        self.notify_dry();
        self.notify_writer();
        self.continue_reconfiguration(now);
        // §9.2: what waited for the last of them waits no more.
        self.shutdown_progress(now);
    }
}
