//! Segments that were sent and are not acknowledged, and what is known of each.

use std::collections::VecDeque;
use std::collections::vec_deque::{Iter, IterMut};

/// A segment.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) begin: u64,
    pub(super) end: u64,
    /// When it was sent last, in jiffies.
    pub(super) at: u64,
    /// A SACK block has it.
    pub(super) sacked: bool,
    /// It is taken for lost.
    pub(super) lost: bool,
    /// It was sent again, and that is in flight.
    pub(super) resent: bool,
    /// It was sent again at any time.
    pub(super) ever_resent: bool,
    /// What was to be sent next when it was sent again.
    pub(super) next_then: u64,
}

impl Sent {
    /// Nothing is known of it but that it was sent.
    pub(super) const fn is_untouched(&self) -> bool {
        !self.sacked && !self.lost && !self.resent
    }

    /// It has to be sent again and was not.
    pub(super) const fn is_due(&self) -> bool {
        self.lost && !self.sacked && !self.resent
    }
}

/// All of them, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    segments: VecDeque<Sent>,
    /// Without SACK: segments that duplicate ACKs stand for.
    pub(super) duplicates: u64,
    /// Segments up to the highest one in a SACK block.
    pub(super) forward: u64,
}

impl Queue {
    pub(super) fn len(&self) -> u64 {
        self.segments.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(super) fn iter(&self) -> Iter<'_, Sent> {
        self.segments.iter()
    }

    pub(super) fn iter_mut(&mut self) -> IterMut<'_, Sent> {
        self.segments.iter_mut()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Sent> {
        self.segments.get_mut(index)
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.segments.push_back(sent);
    }

    /// Takes the first one out if all of it is before `una`.
    pub(super) fn pop_before(&mut self, una: u64) -> Option<Sent> {
        self.segments.front().filter(|sent| sent.end <= una)?;
        self.forward = self.forward.saturating_sub(1);
        self.segments.pop_front()
    }

    fn count(&self, of: impl Fn(&Sent) -> bool) -> u64 {
        self.segments.iter().filter(|sent| of(sent)).count() as u64
    }

    /// Segments that have left the network although they are not acknowledged.
    pub(super) fn reported(&self) -> u64 {
        self.duplicates + self.count(|sent| sent.sacked)
    }

    /// Segments taken for lost.
    pub(super) fn lost(&self) -> u64 {
        self.count(|sent| sent.lost)
    }

    /// Segments sent again that are in flight.
    pub(super) fn resent(&self) -> u64 {
        self.count(|sent| sent.resent)
    }

    /// RFC 3517 §4, `pipe`: what is in the network, in segments.
    pub(super) fn in_flight(&self) -> u64 {
        (self.len() + self.resent()).saturating_sub(self.reported() + self.lost())
    }
}
