//! Chunks that are given up: PR-SCTP (RFC 3758).
//!
//! Such a chunk has no payload any more. In flight it counts as it did, and fills the peer's window, until it is acknowledged or
//! declared lost; after that it is only a TSN that the peer is to pass over.

use super::{ChunkState, NewChunk, Outstanding, Scoreboard};
use crate::ids::PathId;
use crate::time::Time;

impl Outstanding {
    /// It was given up, wherever it is.
    pub const fn is_abandoned(&self) -> bool {
        self.limits.abandoned
    }

    /// Nothing sends it again: it was sent as often as it may be, or its time is over.
    pub const fn is_spent(&self) -> bool {
        !self.limits.repeatable || self.limits.abandoned
    }

    /// It is in flight, and nothing sends it again, although it is not given up.
    pub fn is_over(&self) -> bool {
        self.state == ChunkState::InFlight && !self.limits.repeatable && !self.limits.abandoned
    }

    /// How often it was sent, copies over other paths included.
    pub const fn times_sent(&self) -> u32 {
        self.transmissions + self.limits.elsewhere as u32
    }

    /// It is in flight, and a copy of it may be sent.
    pub fn is_repeatable(&self) -> bool {
        self.state == ChunkState::InFlight && !self.is_spent()
    }
}

impl Scoreboard {
    /// Gives up the chunk `seq`. Returns what it carried; `None` if that was done before, or it is acknowledged
    /// cumulatively.
    pub fn abandon(&mut self, seq: u64) -> Option<NewChunk> {
        let i = usize::try_from(seq.checked_sub(self.base)?).ok()?;
        let chunk = self.ring.get_mut(i).filter(|chunk| !chunk.limits.abandoned)?;
        chunk.limits.abandoned = true;
        let given_up = chunk.chunk.clone();
        chunk.chunk.payload.clear();
        let (state, path, len) = (chunk.state, chunk.path, given_up.payload.len());
        self.user_bytes.release(len);
        self.facts(path).buffered -= len;
        match state {
            // A chunk is no longer than 65 535 bytes.
            ChunkState::InFlight => self.ring[i].limits.coming = len as u32,
            ChunkState::Lost => {
                self.lost.remove(seq);
                self.lay_down(seq);
            }
            ChunkState::GapAcked | ChunkState::Abandoned => {}
        }
        self.pass_given_up();
        Some(given_up)
    }

    /// The first chunk that is not acknowledged cumulatively and was not given up. The next new one if there is none.
    pub(crate) const fn first_kept(&self) -> u64 {
        self.kept
    }

    /// The first chunk that waits for the peer's window: it was not given up, and the peer does not say that it has it. The next new
    /// one if there is none.
    pub(crate) fn first_awaited(&self) -> u64 {
        let mut seq = self.kept;
        while let Some(chunk) = self.get(seq) {
            let run = self.runs.known.partition_point(|run| run.end < seq);
            match self.runs.known.get(run) {
                Some(run) if run.start <= seq => seq = run.end + 1,
                _ if chunk.is_abandoned() => seq += 1,
                _ => break,
            }
        }
        seq
    }

    /// What comes first may have been acknowledged, or given up.
    #[inline]
    pub(super) fn pass_given_up(&mut self) {
        self.kept = self.kept.max(self.base);
        while self.get(self.kept).is_some_and(Outstanding::is_abandoned) {
            self.kept += 1;
        }
    }

    /// Adds a chunk that was given up before it was sent, the end of a message: its number.
    pub fn record_abandoned(&mut self, now: Time, path: PathId, chunk: NewChunk) -> u64 {
        let seq = self.next_seq();
        let header = self.header_len();
        self.facts(path);
        self.ring.push_back(Outstanding::unsent(now, path, chunk, header));
        self.pass_given_up();
        seq
    }

    /// A copy of the chunk `seq` left over another path. It is not in flight, and nothing waits for it.
    pub fn note_elsewhere(&mut self, seq: u64) {
        if let Some(i) = seq.checked_sub(self.base)
            && let Some(chunk) = self.ring.get_mut(i as usize)
        {
            chunk.limits.elsewhere = chunk.limits.elsewhere.saturating_add(1);
            chunk.acks.ect = false;
        }
    }

    /// The chunk `seq` was sent as often as it may be, or its time is over.
    pub fn spend(&mut self, seq: u64) {
        if let Some(i) = seq.checked_sub(self.base)
            && let Some(chunk) = self.ring.get_mut(i as usize)
        {
            chunk.limits.repeatable = false;
        }
    }

    /// A given-up chunk that was lost, or has just been declared so: nothing of it is waited for.
    pub(super) fn lay_down(&mut self, seq: u64) {
        let chunk = &mut self.ring[(seq - self.base) as usize];
        chunk.state = ChunkState::Abandoned;
        let (path, packet) = (chunk.path, chunk.packet);
        self.packets.change(packet, |p| p.open -= 1);
        self.facts(path).unacked -= 1;
        if self.earliest(path) == Some(seq) {
            self.advance_earliest(path, seq + 1);
        }
    }

    /// The receiver takes back what it had of a given-up chunk: it will not be sent again.
    pub(super) fn renege_abandoned(&mut self, seq: u64) {
        let chunk = &mut self.ring[(seq - self.base) as usize];
        if chunk.state == ChunkState::GapAcked {
            chunk.state = ChunkState::Abandoned;
            let packet = chunk.packet;
            self.packets.change(packet, |p| {
                p.gap_acked -= 1;
                p.open -= 1;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tresse_wire::{DataFlags, Fsn, GapAckBlock, GapAckBlocks, Mid, Ppid, StreamId, Tsn};

    use super::*;
    use crate::ids::LossCause;
    use crate::scoreboard::{AckOutcome, Eligibility};

    #[derive(Clone, Debug)]
    enum Step {
        Send(u8, usize),
        Sack(usize, Vec<(u16, u16)>),
        Lose(usize),
        Retransmit(u8),
        Abandon(usize),
        End,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let blocks = prop::collection::vec((1u16..10, 0u16..3), 0..4);
        let step = prop_oneof![
            4 => (0u8..3, 1usize..50).prop_map(|(path, len)| Step::Send(path, len)),
            3 => (0usize..4, blocks).prop_map(|(cumulative, blocks)| Step::Sack(cumulative, blocks)),
            2 => (0usize..20).prop_map(Step::Lose),
            1 => (0u8..3).prop_map(Step::Retransmit),
            2 => (0usize..20).prop_map(Step::Abandon),
            1 => Just(Step::End),
        ];
        prop::collection::vec(step, 1..120)
    }

    fn chunk(len: usize) -> NewChunk {
        let (stream, mid, fsn, ppid) = (StreamId(0), Mid(0), Fsn(0), Ppid(0));
        let payload = bytes::Bytes::from(vec![0; len]);
        NewChunk {
            stream,
            mid,
            fsn,
            ppid,
            flags: DataFlags::UNFRAGMENTED,
            context: 0,
            key: None,
            payload,
        }
    }

    /// What is counted, found by looking at every chunk.
    fn check(board: &Scoreboard) {
        let chunks = || (board.base..).zip(&board.ring);
        let in_flight = |c: &Outstanding| c.state == ChunkState::InFlight;
        for path in (0..3).map(PathId) {
            let here = || chunks().filter(move |(_, c)| c.path == path);
            let flight: usize =
                here().filter(|(_, c)| in_flight(c)).map(|(_, c)| c.counted()).sum();
            assert_eq!(board.flight(path), flight);
            let waits =
                |c: &Outstanding| matches!(c.state, ChunkState::InFlight | ChunkState::Lost);
            assert_eq!(board.earliest(path), here().find(|(_, c)| waits(c)).map(|(seq, _)| seq));
            let bytes: usize = here().map(|(_, c)| c.chunk.payload.len()).sum();
            assert_eq!(board.buffered_on(path), bytes);
        }
        let bytes = |wanted: &dyn Fn(&Outstanding) -> bool| -> usize {
            chunks().filter(|(_, c)| wanted(c)).map(|(_, c)| c.chunk.payload.len()).sum()
        };
        let coming: usize =
            chunks().filter(|(_, c)| in_flight(c)).map(|(_, c)| c.user_bytes()).sum();
        assert_eq!(board.flight_user_bytes(), coming);
        let kept =
            chunks().find(|(_, c)| !c.is_abandoned()).map_or(board.next_seq(), |(seq, _)| seq);
        assert_eq!(board.first_kept(), kept);
        let is_awaited = |c: &Outstanding| !c.is_abandoned() && c.state != ChunkState::GapAcked;
        let awaited =
            chunks().find(|(_, c)| is_awaited(c)).map_or(board.next_seq(), |(seq, _)| seq);
        assert_eq!(board.first_awaited(), awaited);
        assert_eq!(board.buffered_user_bytes(), bytes(&|_| true));
        let lost: Vec<u64> =
            chunks().filter(|(_, c)| c.state == ChunkState::Lost).map(|(seq, _)| seq).collect();
        assert!(board.lost.iter().eq(lost), "none that was given up");
        let packets = |wanted: &dyn Fn(&Outstanding) -> bool| {
            let of = chunks().filter(|(_, c)| wanted(c)).map(|(_, c)| c.packet);
            of.collect::<std::collections::BTreeSet<u64>>().len()
        };
        assert_eq!(board.packets_in_flight(), packets(&in_flight));
        assert_eq!(board.packets_outstanding(), packets(&|c| c.state != ChunkState::Abandoned));
        for (seq, c) in chunks() {
            assert!(
                !c.limits.abandoned || (c.chunk.payload.is_empty() && c.state != ChunkState::Lost)
            );
            let missing = board.missing().any(|r| (r.start..=r.end).contains(&seq));
            assert!(!missing || in_flight(c));
        }
    }

    proptest! {
        #[test]
        fn what_is_given_up_is_counted_nowhere_twice(steps in steps()) {
            let mut board = Scoreboard::new(Tsn(100));
            let (mut outcome, mut now) = (AckOutcome::default(), Time::ZERO);
            for step in steps {
                now += std::time::Duration::from_millis(1);
                let nth = |n: usize| board.base + n as u64;
                match step {
                    Step::Send(path, len) => {
                        board.begin_packet();
                        board.record_new(now, PathId(path), chunk(len));
                    }
                    Step::Sack(advance, blocks) => {
                        let advance = advance.min(board.len());
                        let left = (board.len() - advance) as u16;
                        let block = |(start, len): (u16, u16)| GapAckBlock { start: start + 1, end: start + 1 + len };
                        let fits = |b: &GapAckBlock| b.end <= left;
                        let list: Vec<[u8; 4]> = blocks.into_iter().map(block).filter(fits).map(GapAckBlock::to_bytes).collect();
                        let cumulative = Scoreboard::tsn(board.cumulative() + advance as u64);
                        let credit: usize = board.ring.iter().filter(|c| !c.limits.abandoned && !c.acks.ever).map(Outstanding::counted).sum();
                        let given_up = board.ring.iter().take(advance).filter(|c| c.limits.abandoned).count();
                        board.on_sack(cumulative, GapAckBlocks::new(&list), &mut outcome, |_| {}).unwrap();
                        prop_assert!(outcome.newly_acked <= credit);
                        prop_assert_eq!(outcome.passed, given_up);
                        let alive = |seq: &u64| board.get(*seq).is_some_and(|c| !c.limits.abandoned);
                        prop_assert!(outcome.reneged.iter().all(alive));
                    }
                    Step::Lose(n) => {
                        let seq = nth(n);
                        board.mark_lost(seq, LossCause::Timeout);
                    }
                    Step::Retransmit(path) => {
                        if let Some(seq) = board.first_lost() {
                            board.begin_packet();
                            board.record_retransmission(now, PathId(path), seq, Eligibility::Rule5);
                        }
                    }
                    Step::Abandon(n) => {
                        let seq = nth(n);
                        let before = board.get(seq).map(|c| (c.limits.abandoned, c.chunk.payload.len()));
                        let found = board.abandon(seq).map(|c| c.payload.len());
                        let expected = before.filter(|(given_up, _)| !given_up).map(|(_, len)| len);
                        prop_assert_eq!(found, expected);
                    }
                    Step::End => {
                        board.record_abandoned(now, PathId(0), chunk(0));
                    }
                }
                check(&board);
            }
        }
    }
}
