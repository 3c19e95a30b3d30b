//! A scoreboard that begins again.

use tresse_wire::Tsn;

use super::{NewChunk, Scoreboard};

impl Scoreboard {
    /// Takes out every chunk, lowest first, and whether the receiver promised to keep it, or it was given up: the
    /// association ends or restarts.
    pub fn drain(&mut self) -> impl Iterator<Item = (NewChunk, bool)> + use<> {
        let next = self.next_seq();
        let empty = Scoreboard {
            base: next,
            kept: next,
            highest_acked: next - 1,
            counts_headers: self.counts_headers,
            interleaved: self.interleaved,
            holes_to: next - 1,
            window: self.window,
            ..Scoreboard::new(Tsn(0))
        };
        let old = std::mem::replace(self, empty);
        let kept = old.runs.kept;
        (old.base..).zip(old.ring).map(move |(seq, outstanding)| {
            let i = kept.partition_point(|run| run.end < seq);
            let kept = kept.get(i).is_some_and(|run| run.start <= seq);
            (outstanding.chunk, kept || outstanding.limits.abandoned)
        })
    }

    /// Goes on with another TSN (RFC 6525 §5.2.7 H5). Nothing is outstanding.
    pub fn jump(&mut self, next: Tsn) {
        debug_assert!(self.ring.is_empty(), "what is outstanding has its TSN");
        let ahead = next.0.wrapping_sub(Scoreboard::tsn(self.base).0);
        self.base += u64::from(ahead);
        self.kept = self.base;
        self.highest_acked = self.base - 1;
        self.holes_to = self.base - 1;
        self.runs.known.clear();
        self.runs.edges.clear();
        self.runs.kept.clear();
    }
}
