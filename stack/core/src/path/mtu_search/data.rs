//! What packets with data tell of the MTU, without any probe (RFC 8899 §4.3).

use smallvec::SmallVec;

use crate::scoreboard::{Outstanding, Scoreboard};
use crate::time::Time;

/// Packets are never made for less: a cookie must fit ([`AssociationConfig::check`]). Over IPv4, routers
/// fragment them where the path MTU is smaller still.
///
/// [`AssociationConfig::check`]: crate::AssociationConfig::check
pub(crate) const SMALLEST: usize = 512;

/// In so many round trips large packets were lost, and none is known to have got through: more than chance. T3-rtx counts twice,
/// since nothing else got through either.
const LOST_ROUNDS: u8 = 4;

/// So many proofs are kept.
const MOST_PROOFS: usize = 8;

/// What is known from data. *Large* is what is larger than a size that is thought to get through whatever happens: the base, or
/// where packets are not larger, [`SMALLEST`].
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// What left before says nothing.
    since: Time,
    /// Bytes of the largest packet with data that was acknowledged.
    proved: usize,
    /// Packets that got through, and when they left: of larger ones that left later, none is known.
    proofs: SmallVec<[(usize, Time); 4]>,
    /// For what is larger than each of these.
    above: [Above; 2],
    /// When the last round trip was counted in which data was lost.
    counted: Time,
}

/// Packets larger than a size.
#[derive(Clone, Copy, Debug, Default)]
struct Above {
    safe: usize,
    /// Bytes of the largest packet that has left since a large one was known to have got through.
    largest: usize,
    /// When the first large one of these has left.
    since: Time,
    /// Round trips in which large packets were lost, since one was known to have got through that was as large.
    lost_rounds: u8,
    /// Bytes of the largest of them.
    lost: usize,
    /// When the first of them left.
    begun: Time,
}

/// What was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostChunk {
    /// Bytes of the packet that it was in: first of its chunks, then of all of it.
    pub(crate) size: usize,
    /// When it left first.
    pub(crate) first: Time,
    /// When it left last.
    pub(crate) last: Time,
    /// How often it was sent.
    pub(crate) times: u32,
    /// T3-rtx says that it is lost, which waits longer each time.
    pub(crate) timeout: bool,
}

impl LostChunk {
    /// What is lost of those that were in flight; `timeout`: T3-rtx says so.
    pub(crate) fn of(board: &Scoreboard, chunk: &Outstanding, timeout: bool) -> LostChunk {
        LostChunk {
            size: board.bundle_len(chunk),
            first: chunk.first_sent,
            last: chunk.last_sent,
            times: chunk.transmissions,
            timeout,
        }
    }
}

impl Data {
    /// Nothing is known; what is larger than `base` is large.
    pub(super) fn new(base: usize) -> Data {
        let above = [base, SMALLEST].map(|safe| Above { safe, ..Above::default() });
        Data { above, ..Data::default() }
    }

    /// Nothing is known at `now`.
    pub(super) fn forget(&mut self, now: Time) {
        *self = Data { since: now, counted: now, ..Data::new(self.above[0].safe) };
    }

    /// Packets go another way, of which nothing is known; what was lost may be too large for that, too.
    pub(super) fn on_another_way(&self, now: Time) -> Data {
        Data { since: now, proved: 0, proofs: SmallVec::new(), ..self.clone() }
    }

    /// Bytes of the largest packet with data that was acknowledged.
    pub(super) const fn proved(&self) -> usize {
        self.proved
    }

    /// A packet of this size leaves.
    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, size: usize) {
        for above in self.above.iter_mut().filter(|above| size > above.largest) {
            if above.largest <= above.safe {
                above.since = now;
            }
            above.largest = size;
        }
    }

    /// Data was acknowledged that left at `sent` in a packet of this size. `false` if that says nothing.
    pub(super) fn on_acked(&mut self, sent: Time, size: usize) -> bool {
        if sent < self.since {
            return false;
        }
        self.proved = self.proved.max(size);
        for above in self.above.iter_mut().filter(|above| size > above.safe) {
            above.largest = 0;
            if size >= above.lost {
                (above.lost, above.lost_rounds) = (0, 0);
            }
        }
        if self.proved_at(size).is_none_or(|at| at < sent) {
            self.proofs.retain(|proof| proof.0 > size || proof.1 > sent);
            if self.proofs.len() == MOST_PROOFS {
                self.proofs.remove(0);
            }
            self.proofs.push((size, sent));
            self.proofs.sort_unstable();
        }
        true
    }

    /// When the newest packet left that is known to have got through, and as large.
    fn proved_at(&self, size: usize) -> Option<Time> {
        self.proofs.iter().filter(|proof| proof.0 >= size).map(|proof| proof.1).max()
    }

    fn above(&self, safe: usize) -> &Above {
        &self.above[usize::from(safe != self.above[0].safe)]
    }

    /// Whether a large packet has left of which nothing is known.
    pub(super) fn is_open(&self, safe: usize) -> bool {
        self.above(safe).largest > safe
    }

    /// When the first large packet has left since one is known to have got through.
    pub(super) fn open_since(&self, safe: usize) -> Option<Time> {
        self.is_open(safe).then(|| self.above(safe).since)
    }

    /// Whether a packet of this size is larger than any that is known to get through, by much.
    pub(super) fn is_untried(&self, size: usize) -> bool {
        let known = self.proved.max(SMALLEST);
        size > known + known / 4
    }

    /// A chunk is lost.
    pub(super) fn on_lost(&mut self, now: Time, lost: LostChunk) {
        let LostChunk { size, last, timeout, .. } = lost;
        let rounds = match (last >= self.counted, timeout) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        let proved_at = self.proved_at(size);
        for above in self.above.iter_mut().filter(|above| size > above.safe) {
            if above.lost_rounds == 0 || proved_at.is_some_and(|at| at > above.begun) {
                (above.lost, above.lost_rounds, above.begun) = (0, 0, last);
            }
            above.lost = above.lost.max(size);
            above.lost_rounds = above.lost_rounds.saturating_add(rounds);
            self.counted = if rounds > 0 { now } else { self.counted };
        }
    }

    /// Whether it is large packets that do not get through: this chunk was lost three times, and nothing as large as its packet got
    /// through meanwhile, or some were in several round trips, and none as large got through.
    pub(super) fn is_hole(&self, lost: LostChunk, safe: usize) -> bool {
        let got_through = || self.proved_at(lost.size).is_some_and(|at| at > lost.first);
        lost.size > safe
            && (self.above(safe).lost_rounds >= LOST_ROUNDS || lost.times >= 3 && !got_through())
    }
}
