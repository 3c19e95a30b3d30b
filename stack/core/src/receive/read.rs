//! What the application reads.

use super::Receiver;
use crate::event::{NextMessage, ReceivedMessage};
use crate::time::Time;

impl Receiver {
    /// Messages and parts of messages that can be read.
    pub(crate) fn readable(&self) -> usize {
        self.reading.messages() + self.ready()
    }

    /// Those of them that came before a restart of the peer.
    pub(crate) fn unread_of_first_life(&self) -> usize {
        self.reading.messages()
    }

    /// Messages of which the end was handed over, and those of which it waits for that.
    pub(crate) fn ends(&self) -> (u64, u64) {
        let waiting = self.reading.messages() + self.inbound.ends();
        (self.reading.ended(), self.reading.ended() + waiting as u64)
    }

    /// Nothing more comes of messages that are handed over in parts.
    pub(crate) fn end_partial_delivery(&mut self) {
        self.inbound.end_partial_delivery();
    }

    /// What [`read`](Self::read) gives next.
    pub(crate) fn next_message(&self) -> Option<NextMessage> {
        self.reading.peek().or_else(|| self.inbound.peek())
    }

    //= RFC 9260 6.2-11 6.2-22
    /// The next message for the application.
    ///
    /// §6.2: additional SACKs SHOULD be sent when the window opens up.
    #[inline]
    pub(crate) fn read(&mut self, pmdcs: usize) -> Option<ReceivedMessage> {
        let message = self.reading.take().or_else(|| self.inbound.pop());
        if let Some(message) = &message {
            self.reading.on_read(message.part.ends());
            self.bound_window();
            if self.is_update_due(pmdcs) {
                self.delayed.request();
            }
        }
        message
    }

    /// It is time to note again how much is read.
    #[inline(always)]
    pub(crate) fn is_epoch_over(&self, now: Time) -> bool {
        self.reading.is_epoch_over(now)
    }

    /// User data that waits, as far as the application is about to read it.
    pub(crate) fn moving(&self) -> usize {
        self.buffered().min(self.reading.ahead())
    }
}
