//! What goes on when something was acknowledged, has arrived, or was given up.

use super::Association;
use crate::event::Event;
use crate::time::Time;

impl Association {
    /// Gives up the messages whose lifetime has ended (RFC 9260 §11.1.5, RFC 3758 §4.1), and tells.
    #[inline]
    pub(super) fn expire_messages(&mut self, now: Time) {
        if self.sender.is_overdue(now) {
            let (sender, mut cx) = self.sending(now);
            sender.expire(&mut cx);
            self.notify();
            self.continue_reconfiguration(now);
            // §9.2: what waited for the last of them waits no more.
            self.continue_shutdown(now);
        }
    }

    /// Tells who waits for room of what was given up.
    #[inline]
    pub(super) fn after_giving_up(&mut self, now: Time) {
        if self.sender.take_left_room() && !self.is_closed() {
            self.notify();
            self.continue_shutdown(now);
        }
    }

    /// What waited to change streams until something was acknowledged, had arrived, or was given up.
    #[inline]
    pub(super) fn continue_reconfiguration(&mut self, now: Time) {
        if self.extras.reconfiguration.as_ref().is_some_and(|r| r.is_busy()) && !self.is_closed() {
            let (mut cx, mut parts) = self.parts(now);
            let Some(reconfiguration) = &mut parts.extras.reconfiguration else { return };
            let result = reconfiguration.go_on(&mut cx, &mut parts.halves);
            self.goes_on(result);
        }
    }

    /// A graceful end takes its next step once all outstanding data has been acknowledged.
    #[inline]
    pub(super) fn continue_shutdown(&mut self, now: Time) {
        if self.sender.data().is_empty() && self.phase.closing().is_some() {
            let (mut cx, parts) = self.parts(now);
            if let Some(closing) = parts.phase.closing_mut() {
                closing.progress(&mut cx);
            }
        }
    }

    /// What the application wants to know of the send buffer: that nothing is left in it, that there is room again.
    pub(super) fn notify(&mut self) {
        self.notify_dry();
        self.notify_writer();
    }

    /// SenderDry, if nothing is left and the application asked for it.
    pub(super) fn notify_dry(&mut self) {
        if self.config.report_dry && self.sender.data().buffered() == 0 {
            self.journal.event(Event::SenderDry);
        }
    }

    /// Writable, if the application waits for room and there is some.
    pub(super) fn notify_writer(&mut self) {
        if self.sender.has_made_room(&self.paths, &self.config) {
            self.journal.event(Event::Writable);
        }
    }
}
