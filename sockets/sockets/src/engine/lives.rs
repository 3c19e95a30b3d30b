//! Lives of a peer that restarts before the program has read what it said (RFC 9260 §5.2.4 A): that comes before what is told of
//! its next life, as in the kernel, where both wait in one queue.

use std::collections::VecDeque;

use super::waiting::Waiting;

/// So many are told apart. What a later one says counts as said by the last of them.
const MOST: usize = 8;

/// Those that are over, the first one first.
#[derive(Default)]
pub(super) struct Lives(VecDeque<Life>);

#[derive(Default)]
struct Life {
    /// Messages of it that were not handed over yet.
    unread: usize,
    /// What is told then.
    told: Waiting,
}

impl Lives {
    /// The peer has restarted, and this many messages of all its lives before are unread.
    pub(super) fn end_one(&mut self, unread: usize) {
        let before: usize = self.0.iter().map(|life| life.unread).sum();
        let unread = unread.saturating_sub(before);
        if unread > 0 && self.0.len() < MOST {
            self.0.push_back(Life { unread, ..Life::default() });
        } else if let Some(last) = self.0.back_mut() {
            last.unread += unread;
        }
    }

    /// Where that waits which is told from now on, unless all of them was read.
    pub(super) fn waiting(&mut self) -> Option<&mut Waiting> {
        self.0.back_mut().map(|last| &mut last.told)
    }

    /// A message was handed over, or a part of one: what is told next.
    pub(super) fn on_read(&mut self) -> Option<Waiting> {
        let first = self.0.front_mut()?;
        first.unread = first.unread.saturating_sub(1);
        if first.unread > 0 {
            return None;
        }
        self.0.pop_front().map(|life| life.told)
    }

    /// Nothing is left to read: what is told.
    pub(super) fn end(&mut self) -> Waiting {
        let mut told = Waiting::default();
        for mut life in self.0.drain(..) {
            told.append(&mut life.told);
        }
        told
    }

    /// Whether something waits that a peer can cause at will.
    pub(super) fn are_cheap(&self) -> bool {
        self.0.iter().any(|life| life.told.is_cheap())
    }
}
