//! Fast Retransmit (RFC 9260 §7.2.4; RFC 2960 §7.2.4 with a threshold of 4).
//!
//! Idea: a chunk that `threshold` SACKs reported missing is lost; there is no need to wait for
//! T3-rtx. A fast-retransmitted chunk is not eligible again until a timeout.
//!
//! `lost(c) <=> misses(c) >= threshold`, evaluated on SACKs that struck `c`.
//!
//! Difference: with `repeat`, the fault of Linux 2.6.15 (Pedersen 2006, §3.4.1): a fast-retransmitted
//! chunk begins again, so `threshold` further miss indications send it again, though they are of data
//! sent before (Figure 3.9). One packet for each SACK, or copies would multiply, since each of them
//! brings a SACK.

use crate::ids::{LossCause, PathId};
use crate::profile::Profile;
use crate::recovery::{Algorithm, Decisions, Evidence, Rule, SackFacts};
use crate::scoreboard::{Eligibility, Outstanding};

#[derive(Debug)]
pub(in crate::recovery) struct FastRetransmit {
    threshold: u32,
}

impl Algorithm for FastRetransmit {
    fn of(profile: &Profile, _: bool) -> Option<FastRetransmit> {
        let threshold = profile.fast_retransmit.threshold;
        (threshold > 0).then_some(FastRetransmit { threshold })
    }

    fn evidence(&self) -> Evidence {
        Evidence::Count
    }

    //= RFC 9260 7.2.4-2
    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        if !facts.struck {
            return;
        }
        for range in facts.missing().filter(|r| r.struck && r.misses >= self.threshold) {
            decisions.lose(range, LossCause::FastRetransmit);
        }
    }
}

/// What was fast-retransmitted begins again.
pub(in crate::recovery) struct Repetition;

impl Rule for Repetition {
    fn eligibility(profile: &Profile, _: Option<bool>) -> Option<Eligibility> {
        profile.fast_retransmit.repeat.then_some(Eligibility::Repeat)
    }
}

/// What may begin again for one SACK: a packet, on one path. It brings a SACK of its own: where there is a window of copies, or several
/// paths, they would multiply.
#[derive(Debug)]
pub(crate) struct Copies {
    room: usize,
    path: Option<PathId>,
}

impl Copies {
    /// Of a packet with `room` bytes for chunks.
    pub(crate) const fn new(room: usize) -> Copies {
        Copies { room, path: None }
    }

    /// Whether `chunk` may be declared lost for `cause`.
    pub(crate) fn lets(&mut self, chunk: &Outstanding, cause: LossCause) -> bool {
        if cause != LossCause::FastRetransmit || !chunk.fast_retransmitted {
            return true;
        }
        if *self.path.get_or_insert(chunk.path) != chunk.path || chunk.size() > self.room {
            return false;
        }
        self.room -= chunk.size();
        true
    }
}
