//! What the application reads.

use std::collections::VecDeque;

use crate::event::ReceivedMessage;
use crate::memory::Throughput;
use crate::time::Time;

/// What is there to read from before a restart of the peer, and how much is read.
#[derive(Debug)]
pub(super) struct Reading {
    retained: VecDeque<ReceivedMessage>,
    /// How much of the peer's data the application takes.
    taken: Throughput,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { retained: VecDeque::new(), taken: Throughput::NONE }
    }
}

impl Reading {
    /// Keeps messages from the life of the peer that is over.
    pub(super) fn retain(&mut self, messages: impl Iterator<Item = ReceivedMessage>) {
        self.retained.extend(messages);
    }

    /// The messages from earlier lives.
    pub(super) fn retained(&self) -> &VecDeque<ReceivedMessage> {
        &self.retained
    }

    /// The first of them.
    pub(super) fn take_retained(&mut self) -> Option<ReceivedMessage> {
        if self.retained.is_empty() { None } else { self.retained.pop_front() }
    }

    /// None of them will be read.
    pub(super) fn forget(&mut self) {
        self.retained = VecDeque::new();
    }

    /// The application has read `total` bytes so far.
    pub(super) fn note(&mut self, now: Time, total: u64) {
        self.taken.note(now, total);
    }

    /// It is time to note that again.
    #[inline(always)]
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.taken.is_over(now)
    }

    /// How much it will read in the near future.
    pub(super) fn ahead(&self) -> usize {
        self.taken.ahead()
    }
}
