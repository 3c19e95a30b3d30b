//! Which ASCONF chunk of the peer is new, and what was answered to those before (RFC 5061 §5.2).

use std::collections::VecDeque;

use bytes::Bytes;
use tresse_wire::{AsconfNumber, Tsn};

/// This many answers are kept. A peer has one chunk under way, and may put those that wait behind it into the packet when it
/// sends it again (RFC 5061 §5.5).
const MAX_KEPT: usize = 8;

/// What the sequence number of an ASCONF chunk says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SequenceCheck {
    /// It is the next one.
    New,
    /// It came before, and this was answered, if that is still known: encoded responses.
    Again(Option<Bytes>),
    /// It is none that a peer would send now.
    Stray,
}

/// The ASCONF-ACK chunks that are kept, to be sent again.
#[derive(Debug)]
pub(crate) struct AsconfAckCache {
    /// Peer-Sequence-Number: that of the last chunk that was processed.
    last: AsconfNumber,
    kept: VecDeque<(AsconfNumber, Bytes)>,
}

impl AsconfAckCache {
    //= RFC 5061 5.1-5
    pub(crate) fn new(peer_initial_tsn: Tsn) -> AsconfAckCache {
        let last = AsconfNumber(peer_initial_tsn.0).wrapping_sub(1);
        AsconfAckCache { last, kept: VecDeque::new() }
    }

    //= RFC 5061 3-1 3-2 3-3
    /// Whether a chunk with this number is the next one (E1 to E5).
    pub(crate) fn check(&self, number: AsconfNumber) -> SequenceCheck {
        match number.distance(self.last) {
            1 => SequenceCheck::New,
            ..=0 => {
                let kept = self.kept.iter().find(|(other, _)| *other == number);
                SequenceCheck::Again(kept.map(|(_, responses)| responses.clone()))
            }
            _ => SequenceCheck::Stray,
        }
    }

    /// The next chunk was processed, and these are the responses (E4, V5).
    pub(crate) fn keep(&mut self, responses: Bytes) {
        self.last = self.last.wrapping_add(1);
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((self.last, responses));
    }

    pub(crate) fn memory(&self) -> usize {
        let responses: usize = self.kept.iter().map(|(_, responses)| responses.len()).sum();
        self.kept.capacity() * size_of::<(AsconfNumber, Bytes)>() + responses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 5061 3-1 3-2 3-3 5.1-5
    #[test]
    fn numbers_begin_with_the_initial_tsn_and_wrap_around() {
        let mut answers = AsconfAckCache::new(Tsn(u32::MAX));
        assert_eq!(answers.check(AsconfNumber(u32::MAX)), SequenceCheck::New);
        assert_eq!(answers.check(AsconfNumber(0)), SequenceCheck::Stray);
        assert_eq!(answers.check(AsconfNumber(u32::MAX - 1)), SequenceCheck::Again(None));
        answers.keep(Bytes::from_static(b"one"));
        assert_eq!(answers.check(AsconfNumber(0)), SequenceCheck::New);
        let one = SequenceCheck::Again(Some(Bytes::from_static(b"one")));
        assert_eq!(answers.check(AsconfNumber(u32::MAX)), one);
        answers.keep(Bytes::new());
        assert_eq!(answers.check(AsconfNumber(u32::MAX)), one);
        assert_eq!(answers.check(AsconfNumber(0)), SequenceCheck::Again(Some(Bytes::new())));
        assert_eq!(answers.check(AsconfNumber(5)), SequenceCheck::Stray);
        assert_eq!(answers.check(AsconfNumber(1 << 31)), SequenceCheck::Again(None), "long ago");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut answers = AsconfAckCache::new(Tsn(1));
        for _ in 0..1000 {
            answers.keep(Bytes::from_static(b"x"));
        }
        let known = |n| matches!(answers.check(AsconfNumber(n)), SequenceCheck::Again(Some(_)));
        assert_eq!((1..=1000).filter(|n| known(*n)).count(), MAX_KEPT);
        assert!(known(1000) && answers.check(AsconfNumber(1001)) == SequenceCheck::New);
    }
}
