//! What SACK blocks say of the segments in the queue (RFC 2018 §5, RFC 2883 §4).

use super::options::MSS;
use super::sender::{Acknowledgement, Sender};
use super::state::News;

impl Sender {
    /// Marks segments by the blocks of an ACK. `before` was acknowledged before it.
    pub(super) fn mark(&mut self, ack: Acknowledgement<'_>, before: u64, news: &mut News) {
        let forward_before = self.queue.forward;
        // The lowest segment that arrived later than a higher one.
        let mut late = u64::MAX;
        // Up to where something arrived that was sent after a retransmission.
        let mut after_resent: Option<u64> = None;
        for (position, block) in ack.blocks.iter().enumerate() {
            let duplicate = position == 0 && is_duplicate(ack);
            let (begin, end) = *block;
            let from = self.recovery.undo.from;
            if duplicate && end <= before && from.is_some_and(|from| end > from) {
                self.recovery.undo.needed -= 1;
            }
            news.beyond |= end > self.recovery.high();
            let (mut forward, mut needless) = (self.queue.forward, 0);
            let una = self.una;
            for (count, sent) in (1u64..).zip(self.queue.iter_mut()) {
                if sent.begin >= end {
                    break;
                }
                let inside = begin <= sent.begin && sent.end <= end;
                if duplicate
                    && inside
                    && sent.ever_resent
                    && from.is_some_and(|from| sent.end > from)
                {
                    needless += 1;
                }
                if sent.end <= una {
                    let was_hole = !sent.ever_resent && !sent.sacked && count < forward_before;
                    let twice = sent.ever_resent && duplicate && inside && sent.sacked;
                    if was_hole || twice {
                        late = late.min(count);
                    }
                    continue;
                }
                if sent.resent && end > sent.next_then {
                    after_resent = after_resent.max(Some(end));
                }
                if !inside {
                    continue;
                }
                if sent.sacked {
                    if duplicate && sent.ever_resent {
                        late = late.min(count);
                    }
                } else {
                    if sent.resent {
                        // If it was not taken for lost, what was sent again is believed to be in flight.
                        sent.resent = !sent.lost;
                    } else if !sent.ever_resent && count < forward_before {
                        late = late.min(count);
                    }
                    sent.lost = false;
                    sent.sacked = true;
                    news.sacked = true;
                    forward = forward.max(count);
                }
                if duplicate {
                    sent.resent = false;
                }
            }
            self.queue.forward = forward;
            self.recovery.undo.needed -= needless;
        }
        if let Some(end) = after_resent.filter(|_| self.recovery.is_recovering()) {
            self.find_lost_again(end, news);
        }
        if late < self.queue.forward && !self.recovery.is_in_loss() {
            self.recovery.reordered(self.queue.forward + 1 - late);
        }
    }

    /// What was sent again is lost again if something arrived that was sent later (FACK), or enough later.
    fn find_lost_again(&mut self, arrived: u64, news: &mut News) {
        let margin = if self.recovery.has_fack() { 0 } else { self.recovery.reordering * MSS };
        let una = self.una;
        for sent in self.queue.iter_mut().take_while(|sent| sent.begin <= arrived) {
            let later = arrived > sent.next_then && arrived >= sent.next_then + margin;
            if sent.end > una && sent.resent && later {
                sent.resent = false;
                if !sent.lost && !sent.sacked {
                    sent.lost = true;
                    news.sacked = true;
                }
            }
        }
    }
}

/// RFC 2883 §4: the first block is about a duplicate if it is acknowledged, or within the second one.
fn is_duplicate(ack: Acknowledgement<'_>) -> bool {
    let Some((begin, end)) = ack.blocks.first() else { return false };
    *begin < ack.number || ack.blocks.get(1).is_some_and(|(b, e)| b <= begin && end <= e)
}
