//! Proof that retransmissions were unnecessary: duplicate-TSN reports (RFC 3708), and the Eifel
//! algorithm with the retransmit bit or with timestamps (Ladha et al., figure 6; RFC 3522).
//!
//! An *episode* begins with a retransmission and ends with the first acknowledgement that covers
//! all that was sent again in it, the *cover ack*. The cover ack proves that the retransmissions
//! were unnecessary if it answers an original transmission: it echoes a time before the first
//! retransmission, or lacks the bit that every answer to a retransmission has. An earlier
//! acknowledgement that answers a retransmission ends the matter: something was lost.

use std::collections::BTreeMap;

use crate::terms::Proof;

/// This many chunks that were sent again are remembered, the newest ones.
const REMEMBERED: usize = 4096;

/// What the packet with an acknowledgement says beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// It carries the retransmit bit.
    pub(crate) bit: bool,
    /// The time that it echoes.
    pub(crate) echo: Option<u32>,
}

/// A chunk or segment that is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resent {
    /// Of the chunk, or of the segment's first byte.
    pub(crate) number: u64,
    /// Of the chunk, or of the segment's last byte.
    pub(crate) last: u64,
    /// For the how manyeth time.
    pub(crate) count: u32,
    /// Time that its packet carries.
    pub(crate) value: Option<u32>,
    /// Whether it carries the retransmit bit.
    pub(crate) bit: bool,
}

#[derive(Debug)]
struct Episode {
    /// Highest number that was sent again.
    highest: u64,
    /// Time that the first retransmission carried.
    value: Option<u32>,
    /// Whether it carried the bit.
    bit: bool,
    /// Numbers and counts of what was sent again.
    sent: Vec<(u64, u32)>,
}

/// What was sent again in one direction, and what became of it.
#[derive(Debug, Default)]
pub(crate) struct Spurious {
    /// How often each chunk was sent again and how often it was reported twice.
    chunks: BTreeMap<u64, (u32, u32)>,
    episode: Option<Episode>,
}

impl Spurious {
    /// Something is sent again.
    pub(crate) fn sent_again(&mut self, sent: Resent) {
        let Resent { number, last, count, value, bit } = sent;
        self.chunks.entry(number).or_default().0 = count;
        if self.chunks.len() > REMEMBERED {
            self.chunks.pop_first();
        }
        if !bit && value.is_none() {
            return;
        }
        let episode = self.episode.get_or_insert_with(|| Episode {
            highest: last,
            value,
            bit,
            sent: Vec::new(),
        });
        episode.highest = episode.highest.max(last);
        if episode.sent.len() < REMEMBERED {
            episode.sent.push((number, count));
        }
    }

    /// The receiver reports a duplicate. The retransmission that this proves to be unnecessary.
    pub(crate) fn duplicate(&mut self, number: u64) -> Option<(u64, u32, Proof)> {
        let (again, reported) = self.chunks.get_mut(&number)?;
        *reported += 1;
        (*reported <= *again).then_some((number, *reported, Proof::DuplicateReport))
    }

    /// An acknowledgement of all before `next`; calls `proven` for each retransmission that was
    /// unnecessary.
    pub(crate) fn acknowledged(
        &mut self,
        next: u64,
        answer: Answer,
        mut proven: impl FnMut(u64, u32, Proof),
    ) {
        let Some(episode) = &self.episode else { return };
        let covers = next > episode.highest;
        // RFC 3522 §3.2: older than the retransmission, in serial number arithmetic.
        let before = match (answer.echo, episode.value) {
            (Some(echo), Some(value)) => Some(echo.wrapping_sub(value).cast_signed() < 0),
            _ => None,
        };
        let proof = match before {
            Some(true) => Some(Proof::Timestamp),
            None if episode.bit && !answer.bit => Some(Proof::RetransmitBit),
            _ => None,
        };
        if covers && let Some(proof) = proof {
            for (number, count) in &episode.sent {
                proven(*number, *count, proof);
            }
        }
        if covers || proof.is_none() {
            self.episode = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resent(number: u64, count: u32, value: Option<u32>, bit: bool) -> Resent {
        Resent { number, last: number, count, value, bit }
    }

    fn proven(s: &mut Spurious, next: u64, bit: bool, echo: Option<u32>) -> Vec<(u64, u32, Proof)> {
        let mut found = Vec::new();
        s.acknowledged(next, Answer { bit, echo }, |n, c, p| found.push((n, c, p)));
        found
    }

    #[test]
    fn as_many_duplicates_prove_as_many_retransmissions() {
        let mut s = Spurious::default();
        s.sent_again(resent(5, 1, None, false));
        s.sent_again(resent(5, 2, None, false));
        assert_eq!(s.duplicate(5), Some((5, 1, Proof::DuplicateReport)));
        assert_eq!(s.duplicate(5), Some((5, 2, Proof::DuplicateReport)));
        assert_eq!(s.duplicate(5), None);
        assert_eq!(s.duplicate(6), None);
    }

    #[test]
    fn the_cover_ack_decides() {
        let mut s = Spurious::default();
        s.sent_again(resent(5, 1, Some(100), false));
        s.sent_again(resent(7, 1, Some(101), false));
        assert!(proven(&mut s, 6, false, Some(50)).is_empty());
        let expected = [(5, 1, Proof::Timestamp), (7, 1, Proof::Timestamp)];
        assert_eq!(proven(&mut s, 8, false, Some(99)), expected);
        // Something was lost: the first answer is to the retransmission.
        s.sent_again(resent(9, 1, Some(200), false));
        s.sent_again(resent(10, 1, Some(200), false));
        assert!(proven(&mut s, 10, false, Some(200)).is_empty());
        assert!(proven(&mut s, 11, false, Some(150)).is_empty());
        // Bits.
        s.sent_again(resent(12, 1, None, true));
        assert_eq!(proven(&mut s, 13, false, None), [(12, 1, Proof::RetransmitBit)]);
        s.sent_again(resent(13, 1, None, true));
        assert!(proven(&mut s, 14, true, None).is_empty());
    }
}
