//! The reference's way to handle a SACK, after Sarnow 2017 §5.1.4, §5.2 and Figures 5.5, 5.6, A.3
//! and A.4: every outstanding chunk is an object of its own in a queue, which three loops walk from
//! its first element. For comparison only.

use std::collections::VecDeque;

use tresse_wire::{GapAckBlock, Sack};

/// Table 5.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Sent(u8),
    Resend,
    Acked,
    Marked,
}

struct Chunk {
    tsn: u64,
    path: usize,
    size: usize,
    state: State,
    _rest: [u64; 12],
}

/// The sender's queue. Boxes, because the reference allocates each chunk; in a ring, which is
/// quicker to walk than its linked list.
pub(crate) struct Walk {
    queue: VecDeque<Box<Chunk>>,
    next: u64,
    /// Bytes in flight on each path.
    pub(crate) flight: [usize; 2],
}

impl Walk {
    pub(crate) fn new(first: u64) -> Walk {
        Walk { queue: VecDeque::new(), next: first, flight: [0; 2] }
    }

    pub(crate) fn send(&mut self, path: u8, size: usize) {
        let (tsn, path) = (self.next, usize::from(path));
        let chunk = Chunk { tsn, path, size, state: State::Sent(0), _rest: [0; 12] };
        self.queue.push_back(Box::new(chunk));
        self.next += 1;
        self.flight[path] += size;
    }

    /// Whether `tsn` is acknowledged.
    pub(crate) fn is_acked(&self, tsn: u64) -> bool {
        let first = self.queue.front().map_or(self.next, |chunk| chunk.tsn);
        let chunk = tsn.checked_sub(first).and_then(|i| self.queue.get(i as usize));
        chunk.is_none_or(|chunk| chunk.state >= State::Acked)
    }

    pub(crate) fn on_sack(&mut self, sack: &Sack<'_>) {
        let cumulative = u64::from(sack.cumulative_tsn_ack.0);
        while let Some(chunk) = self.queue.pop_front_if(|chunk| chunk.tsn <= cumulative) {
            if chunk.state < State::Resend {
                self.flight[chunk.path] -= chunk.size;
            }
        }
        let newest = self.handle_segments(cumulative, sack.gap_blocks());
        let Some(htna) = newest.into_iter().flatten().max() else { return };
        self.check_for_revoked(htna);
        self.strike_gap_ack_blocks(newest, htna);
    }

    /// Marks what the blocks report; the highest TSN newly acknowledged on each path.
    fn handle_segments(
        &mut self,
        cumulative: u64,
        blocks: impl Iterator<Item = GapAckBlock>,
    ) -> [Option<u64>; 2] {
        let mut newest = [None; 2];
        let mut at = 0;
        for block in blocks {
            let (start, end) =
                (cumulative + u64::from(block.start), cumulative + u64::from(block.end));
            // A block out of order: from the beginning again.
            if self.queue.get(at).is_none_or(|chunk| chunk.tsn > start) {
                at = 0;
            }
            while let Some(chunk) = self.queue.get_mut(at).filter(|chunk| chunk.tsn <= end) {
                if chunk.tsn >= start && chunk.state != State::Marked {
                    if chunk.state < State::Acked {
                        newest[chunk.path] = newest[chunk.path].max(Some(chunk.tsn));
                        if chunk.state < State::Resend {
                            self.flight[chunk.path] -= chunk.size;
                        }
                    }
                    chunk.state = State::Marked;
                }
                at += 1;
            }
        }
        newest
    }

    /// What is still `Acked` was not reported again.
    fn check_for_revoked(&mut self, htna: u64) {
        for chunk in self.queue.iter_mut().take_while(|chunk| chunk.tsn <= htna) {
            match chunk.state {
                State::Acked => {
                    chunk.state = State::Sent(0);
                    self.flight[chunk.path] += chunk.size;
                }
                State::Marked => chunk.state = State::Acked,
                _ => {}
            }
        }
    }

    /// Counts miss indications, as Split Fast Retransmit does: by what the chunk's own path brought.
    fn strike_gap_ack_blocks(&mut self, newest: [Option<u64>; 2], htna: u64) {
        for chunk in self.queue.iter_mut().take_while(|chunk| chunk.tsn <= htna) {
            let State::Sent(misses) = chunk.state else { continue };
            if newest[chunk.path].is_some_and(|newest| newest > chunk.tsn) {
                chunk.state = State::Sent(misses + 1);
                if misses == 2 {
                    chunk.state = State::Resend;
                    self.flight[chunk.path] -= chunk.size;
                }
            }
        }
    }
}
