//! The reference's way to handle a SACK, after Sarnow 2017 §5.1.4, §5.2 and Figures 5.5, 5.6, A.3
//! and A.4: every outstanding chunk is an object of its own in a queue, which three loops walk from
//! its first element; or, in the thesis' efficient form, the first of them lists what the others need
//! to see. For comparison only.

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
    /// `outstanding_tsn_arr` of the efficient form: where the chunks are that no block of the SACK
    /// reports, up to its last block.
    outstanding: Option<Vec<usize>>,
    /// Bytes in flight on each path.
    pub(crate) flight: [usize; 2],
}

/// `net.inet.sctp.outstanding_arr_max_size`: chunks beyond are not listed.
const ARRAY: usize = 1024;

impl Walk {
    /// The reference: every loop walks over all.
    pub(crate) fn new(first: u64) -> Walk {
        Walk { queue: VecDeque::new(), next: first, outstanding: None, flight: [0; 2] }
    }

    /// The efficient form (§5.2).
    pub(crate) fn with_array(first: u64) -> Walk {
        Walk { outstanding: Some(Vec::with_capacity(ARRAY)), ..Walk::new(first) }
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

    /// Marks what the blocks report, and lists what they do not; the highest TSN newly acknowledged on
    /// each path.
    fn handle_segments(
        &mut self,
        cumulative: u64,
        blocks: impl Iterator<Item = GapAckBlock>,
    ) -> [Option<u64>; 2] {
        // What is marked must be told from what was before, unless only the list is looked at.
        let reported = if self.outstanding.is_some() { State::Acked } else { State::Marked };
        self.outstanding.iter_mut().for_each(Vec::clear);
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
                    chunk.state = reported;
                } else if let Some(list) = self.outstanding.as_mut().filter(|l| l.len() < ARRAY) {
                    list.push(at);
                }
                at += 1;
            }
        }
        newest
    }

    /// Looks at every chunk up to `htna`, or at those of them that are listed.
    fn visit(&mut self, htna: u64, look: impl Fn(&mut Chunk, &mut [usize; 2])) {
        let (queue, flight) = (&mut self.queue, &mut self.flight);
        match &self.outstanding {
            None => {
                let up_to = queue.iter_mut().take_while(|chunk| chunk.tsn <= htna);
                up_to.for_each(|chunk| look(chunk, flight));
            }
            Some(list) => {
                for at in list {
                    let Some(chunk) = queue.get_mut(*at).filter(|c| c.tsn <= htna) else { break };
                    look(chunk, flight);
                }
            }
        }
    }

    /// What is still `Acked` was not reported again.
    fn check_for_revoked(&mut self, htna: u64) {
        self.visit(htna, |chunk, flight| match chunk.state {
            State::Acked => {
                chunk.state = State::Sent(0);
                flight[chunk.path] += chunk.size;
            }
            State::Marked => chunk.state = State::Acked,
            _ => {}
        });
    }

    /// Counts miss indications, as Split Fast Retransmit does: by what the chunk's own path brought.
    fn strike_gap_ack_blocks(&mut self, newest: [Option<u64>; 2], htna: u64) {
        self.visit(htna, |chunk, flight| {
            let State::Sent(misses) = chunk.state else { return };
            if newest[chunk.path].is_some_and(|newest| newest > chunk.tsn) {
                chunk.state = State::Sent(misses + 1);
                if misses == 2 {
                    chunk.state = State::Resend;
                    flight[chunk.path] -= chunk.size;
                }
            }
        });
    }
}
