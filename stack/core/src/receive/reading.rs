//! What is there to read from before a restart of the peer, and how much the application reads.

use std::collections::VecDeque;

use crate::event::{NextMessage, ReceivedMessage};
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

    /// How fast the application has read, with nothing left to read.
    pub(super) fn without_messages(&self) -> Reading {
        Reading { taken: self.taken, ended: self.ended, ..Reading::default() }
    }

    /// Bytes of messages from before a restart of the peer that the application has not read.
    #[inline]
    pub(super) const fn past(&self) -> usize {
        self.past
    }

    /// Messages from before a restart of the peer that it has not read.
    #[inline]
    pub(super) fn messages(&self) -> usize {
        self.retained.len()
    }

    /// What [`take`](Self::take) takes next.
    pub(super) fn peek(&self) -> Option<NextMessage> {
        self.retained.front().map(NextMessage::from)
    }

    /// The first of these.
    #[inline]
    pub(super) fn take(&mut self) -> Option<ReceivedMessage> {
        let message = self.retained.pop_front()?;
        self.past -= charge(message.payload.len());
        Some(message)
    }

    /// A message was handed over, or a part of one, which `ends` it or not.
    #[inline]
    pub(super) fn on_read(&mut self, ends: bool) {
        self.ended += u64::from(ends);
    }

    /// Messages of which the end was handed over.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }

    /// It is time to note again how much is read.
    #[inline(always)]
    pub(super) fn is_epoch_over(&self, now: Time) -> bool {
        self.taken.is_over(now)
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
