//! What the application reads.

use std::collections::VecDeque;

use super::Receiver;
use crate::event::ReceivedMessage;
use crate::memory::Throughput;
use crate::streams::charge;
use crate::time::Time;

/// What is there to read from before a restart of the peer, and how much is read.
#[derive(Debug)]
pub(super) struct Reading {
    retained: VecDeque<ReceivedMessage>,
    /// What those messages count, in bytes.
    past: usize,
    /// How much of the peer's data the application takes.
    taken: Throughput,
    /// Messages of which the end was handed over.
    ended: u64,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { retained: VecDeque::new(), past: 0, taken: Throughput::NONE, ended: 0 }
    }
}

impl Reading {
    /// Keeps messages from the life of the peer that is over.
    pub(super) fn retain(&mut self, messages: impl Iterator<Item = ReceivedMessage>) {
        for message in messages {
            self.past += charge(message.payload.len());
            self.retained.push_back(message);
        }
    }

    /// The same, with nothing left to read.
    pub(super) fn without_messages(&self) -> Reading {
        Reading { taken: self.taken, ended: self.ended, ..Reading::default() }
    }

    /// Bytes of messages from before a restart of the peer that the application has not read.
    #[inline]
    pub(super) const fn past(&self) -> usize {
        self.past
    }

    fn take_retained(&mut self) -> Option<ReceivedMessage> {
        let message = self.retained.pop_front()?;
        self.past -= charge(message.payload.len());
        Some(message)
    }

    /// The application has read `total` bytes so far.
    pub(super) fn note(&mut self, now: Time, total: u64) {
        self.taken.note(now, total);
    }

    /// How much it will read in the near future.
    pub(super) fn ahead(&self) -> usize {
        self.taken.ahead()
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.past + self.retained.capacity() * size_of::<ReceivedMessage>()
    }
}

impl Receiver {
    /// Messages and parts of messages that can be read.
    pub(crate) fn readable(&self) -> usize {
        self.reading.retained.len() + self.ready()
    }

    /// Messages of which the end was handed over, and those of which it waits for that.
    pub(crate) fn ends(&self) -> (u64, u64) {
        let waiting = self.reading.retained.len() + self.inbound.ends();
        (self.reading.ended, self.reading.ended + waiting as u64)
    }

    /// Nothing more comes of messages that are handed over in parts.
    pub(crate) fn end_partial_delivery(&mut self) {
        self.inbound.end_partial_delivery();
    }

    //= RFC 9260 6.2-11 6.2-22
    /// The next message for the application.
    ///
    /// §6.2: additional SACKs SHOULD be sent when the window opens up.
    #[inline]
    pub(crate) fn read(&mut self, pmdcs: usize) -> Option<ReceivedMessage> {
        let message = self.reading.take_retained().or_else(|| self.inbound.pop());
        if let Some(message) = &message {
            self.reading.ended += u64::from(message.part.ends());
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
        self.reading.taken.is_over(now)
    }

    /// User data that waits, as far as the application is about to read it.
    pub(crate) fn moving(&self) -> usize {
        self.buffered().min(self.reading.ahead())
    }
}
