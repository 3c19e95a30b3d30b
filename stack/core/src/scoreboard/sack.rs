//! Processing one SACK (RFC 9260 §6.2.1).

use smallvec::SmallVec;
use tresse_wire::{GapAckBlocks, Tsn};

use super::changed::{Changed, SackFault, edges};
use super::{ChunkState, Outstanding, Scoreboard};
use crate::ids::PathId;
use crate::ranges::{Range, difference, differing};
use crate::time::Time;

/// No honest peer acknowledges a TSN this far ahead.
const FAR: u64 = 1 << 30;

/// The chunk that was sent last, of those that a SACK acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestAck {
    /// Its sequence number.
    pub seq: u64,
    /// When it was last sent.
    pub sent: Time,
    /// How often it was sent.
    pub transmissions: u32,
}

/// What a SACK acknowledged on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathAck {
    /// Bytes acknowledged for the first time: headers and padding included.
    pub bytes: usize,
    /// Chunks acknowledged for the first time.
    pub chunks: usize,
    /// The earliest outstanding chunk of the path was acknowledged (RFC 9260 §6.3.2 R3).
    pub earliest: bool,
    /// Bytes in flight before the SACK.
    pub flight_before: usize,
    /// Of the chunks that were sent on this path only, when the last was first sent: the ack belongs to
    /// the path surely.
    pub unambiguous: Option<Time>,
    /// Of the chunks acknowledged for the first time, the one sent last.
    pub latest: Option<LatestAck>,
    /// One of them left once, in an ECT packet.
    pub ect: bool,
    /// The highest of the chunks acknowledged for the first time.
    pub highest_newly_acked: Option<u64>,
    /// The lowest of them.
    pub lowest_newly_acked: Option<u64>,
    /// The highest sequence number acknowledged before, of those sent on the path.
    pub highest_before: u64,
}

/// What one SACK changed. Reused from SACK to SACK.
#[derive(Debug, Default)]
pub struct AckOutcome {
    /// Per path, indexed by path number.
    pub paths: SmallVec<[PathAck; 4]>,
    /// The Cumulative TSN Ack Point advanced.
    pub cumulative_advanced: bool,
    /// Highest TSN Newly Acknowledged (RFC 9260 §7.2.4).
    pub highest_newly_acked: Option<u64>,
    /// When the latest sent of the newly acknowledged chunks was last sent.
    pub latest_sent: Time,
    /// Bytes newly acknowledged on all paths.
    pub newly_acked: usize,
    /// Chunks that are no longer acknowledged (RFC 9260 §6.2.1 D iii).
    pub reneged: Vec<u64>,
    /// The SACK had gap blocks.
    pub has_gaps: bool,
    /// A chunk sent once only arrived after one of the same path with a higher TSN.
    pub reordered: bool,
    /// Chunks that were acknowledged, taken back, and acknowledged again though they were not sent
    /// in between: of the three SACKs, one lied or came late.
    pub contradictions: usize,
    /// Chunks that were given up and lie before the Cumulative TSN Ack Point now.
    pub passed: usize,
    /// Chunks whose state changed: what the SACK cost.
    pub visited: usize,
}

impl AckOutcome {
    fn begin(&mut self, board: &Scoreboard) {
        self.paths.clear();
        self.paths.extend(board.paths.iter().map(|p| PathAck {
            flight_before: p.flight,
            highest_before: p.highest_acked,
            ..PathAck::default()
        }));
        self.cumulative_advanced = false;
        self.highest_newly_acked = None;
        self.latest_sent = Time::ZERO;
        self.newly_acked = 0;
        self.reneged.clear();
        self.has_gaps = false;
        self.reordered = false;
        self.contradictions = 0;
        self.passed = 0;
        self.visited = 0;
    }

    #[inline]
    fn note(&mut self, seq: u64, chunk: &Outstanding) {
        //= RFC 3758 3.5-3
        // RFC 3758 §3.5 A2: no credit for what was given up, though what it overtook may be lost (F5).
        if chunk.limits.abandoned {
            if !chunk.acks.ever {
                self.paths[usize::from(chunk.path.0)].note_highest(seq);
                self.note_highest(seq, chunk);
            }
            return;
        }
        let path = &mut self.paths[usize::from(chunk.path.0)];
        path.unambiguous = path.unambiguous.max(chunk.one_path.then_some(chunk.first_sent));
        if !chunk.acks.ever {
            // A newly acknowledged chunk is one not previously acknowledged in a SACK chunk.
            path.bytes += chunk.counted();
            path.chunks += 1;
            path.ect |= chunk.acks.ect;
            self.newly_acked += chunk.counted();
            self.reordered |= chunk.transmissions == 1 && seq < path.highest_before;
            if path.latest.is_none_or(|l| (l.sent, l.seq) < (chunk.last_sent, seq)) {
                let transmissions = chunk.transmissions;
                path.latest = Some(LatestAck { seq, sent: chunk.last_sent, transmissions });
            }
            path.note_highest(seq);
            self.note_highest(seq, chunk);
        }
    }

    fn note_highest(&mut self, seq: u64, chunk: &Outstanding) {
        self.highest_newly_acked = self.highest_newly_acked.max(Some(seq));
        self.latest_sent = self.latest_sent.max(chunk.last_sent);
    }
}

impl PathAck {
    #[inline]
    fn note_highest(&mut self, seq: u64) {
        self.highest_newly_acked = self.highest_newly_acked.max(Some(seq));
        self.lowest_newly_acked = Some(self.lowest_newly_acked.map_or(seq, |l| l.min(seq)));
    }
}

impl Scoreboard {
    //= RFC 3758 3.5-19
    pub(super) fn check_cumulative(&self, cumulative: Tsn) -> Result<u64, SackFault> {
        let cumulative = self.unwrap(cumulative);
        // What is half of the number space ahead is as far behind: from before the TSNs began again (RFC 6525 §5.2.4).
        if cumulative < self.cumulative() || cumulative > self.next_seq() + FAR {
            Err(SackFault::Stale)
        } else if cumulative >= self.next_seq() {
            Err(SackFault::Unsent)
        } else {
            Ok(cumulative)
        }
    }

    pub(super) fn apply(
        &mut self,
        cumulative: u64,
        changed: Changed,
        outcome: &mut AckOutcome,
        released: impl FnMut(&Outstanding),
    ) {
        outcome.begin(self);
        for path in &mut self.paths {
            path.missing.begin_sack();
        }
        self.advance_cumulative(cumulative, outcome, released);
        self.apply_runs(cumulative, changed, outcome);
        outcome.has_gaps = !self.runs.known.is_empty();
        for i in 0..outcome.paths.len() {
            let highest = outcome.paths[i].highest_newly_acked.unwrap_or(0);
            self.paths[i].highest_acked = self.paths[i].highest_acked.max(highest);
            if outcome.paths[i].earliest {
                let path = PathId(i as u8);
                let from = self.earliest(path).unwrap_or(self.base);
                self.advance_earliest(path, from);
            }
        }
        self.packets.forget_old();
    }

    /// Turns blocks into sorted, disjoint, absolute runs in `new`.
    pub(super) fn load_runs(
        &mut self,
        cumulative: u64,
        blocks: GapAckBlocks<'_>,
    ) -> Result<(), SackFault> {
        self.runs.new.clear();
        let next = self.next_seq();
        let mut sorted = true;
        for block in blocks {
            // RFC 9260 §3.3.4: blocks are offsets from the Cumulative TSN Ack.
            if block.start == 0 || block.start > block.end {
                return Err(SackFault::MalformedGap);
            }
            let run =
                Range::new(cumulative + u64::from(block.start), cumulative + u64::from(block.end));
            if run.end >= next {
                return Err(SackFault::Unsent);
            }
            match self.runs.new.last_mut() {
                Some(last) if run.start == last.end + 1 => last.end = run.end,
                Some(last) => {
                    sorted &= last.end < run.start;
                    self.runs.new.push(run);
                }
                None => self.runs.new.push(run),
            }
        }
        if !sorted {
            // Blocks in any order, even overlapping, say the same thing.
            self.runs.new.sort_unstable_by_key(|r| r.start);
            self.runs.new.dedup_by(|b, a| {
                let joined = b.start <= a.end + 1;
                if joined {
                    a.end = a.end.max(b.end);
                }
                joined
            });
        }
        Ok(())
    }

    //= RFC 9260 6.7-3
    fn advance_cumulative(
        &mut self,
        cumulative: u64,
        outcome: &mut AckOutcome,
        mut released: impl FnMut(&Outstanding),
    ) {
        if cumulative < self.base {
            return;
        }
        outcome.cumulative_advanced = true;
        for path in &mut self.paths {
            path.missing.remove_through(cumulative);
        }
        while self.base <= cumulative {
            let Some(chunk) = self.ring.front() else { break };
            outcome.visited += 1;
            let seq = self.base;
            self.base += 1;
            let (state, size, user_bytes) =
                (chunk.state, chunk.counted(), chunk.chunk.payload.len());
            let facts = &mut self.paths[usize::from(chunk.path.0)];
            outcome.passed += usize::from(chunk.limits.abandoned);
            if matches!(state, ChunkState::InFlight | ChunkState::Lost) {
                outcome.note(seq, chunk);
                facts.unacked -= 1;
                if facts.earliest == Some(seq) {
                    outcome.paths[usize::from(chunk.path.0)].earliest = true;
                }
            }
            match state {
                ChunkState::InFlight => {
                    facts.flight -= size;
                    self.user_bytes.leave_flight(user_bytes);
                }
                ChunkState::Lost => self.lost.remove(seq),
                ChunkState::GapAcked | ChunkState::Abandoned => {}
            }
            if state != ChunkState::Abandoned {
                self.packets.change(chunk.packet, |p| {
                    p.open -= 1;
                    match state {
                        ChunkState::InFlight => p.in_flight -= 1,
                        ChunkState::GapAcked => p.gap_acked -= 1,
                        ChunkState::Lost | ChunkState::Abandoned => {}
                    }
                });
            }
            self.user_bytes.release(user_bytes);
            facts.buffered -= user_bytes;
            released(chunk);
            self.ring.pop_front();
        }
        self.highest_acked = self.highest_acked.max(cumulative);
        self.holes_to = self.holes_to.max(cumulative);
    }

    /// Puts the `new` runs in the place of what they replace.
    fn apply_runs(&mut self, cumulative: u64, changed: Changed, outcome: &mut AckOutcome) {
        let mut runs = std::mem::take(&mut self.runs.known);
        let mut new = std::mem::take(&mut self.runs.new);
        let replaced = changed.from..changed.until;
        self.hear_in_part(&runs[replaced.clone()], &mut new, cumulative);
        let [old_part, new_part] = differing(&runs[replaced.clone()], &new);
        difference(new_part, old_part, |piece| {
            for seq in piece.start..=piece.end {
                self.gap_ack(seq, outcome);
            }
        });
        difference(old_part, new_part, |piece| {
            for seq in piece.start.max(cumulative + 1)..=piece.end {
                self.renege(seq, outcome);
            }
        });
        runs.splice(replaced.clone(), new.iter().copied());
        runs.drain(..changed.head);
        self.runs.edges.splice(replaced, new.iter().map(|run| edges(*run)));
        self.runs.edges.drain(..changed.head);
        self.find_new_holes(&runs);
        self.runs.known = runs;
        self.runs.new = new;
    }

    fn gap_ack(&mut self, seq: u64, outcome: &mut AckOutcome) {
        let i = (seq - self.base) as usize;
        let chunk = &mut self.ring[i];
        let state = chunk.state;
        if matches!(state, ChunkState::GapAcked | ChunkState::Abandoned) {
            return;
        }
        outcome.note(seq, chunk);
        outcome.visited += 1;
        outcome.contradictions += usize::from(std::mem::take(&mut chunk.acks.taken_back));
        chunk.state = ChunkState::GapAcked;
        chunk.acks.ever = true;
        let (path, packet, size) = (chunk.path, chunk.packet, chunk.counted());
        let user_bytes = chunk.chunk.payload.len();
        let facts = &mut self.paths[usize::from(path.0)];
        facts.unacked -= 1;
        if facts.earliest == Some(seq) {
            outcome.paths[usize::from(path.0)].earliest = true;
        }
        if state == ChunkState::InFlight {
            facts.flight -= size;
            facts.missing.remove(seq);
            self.user_bytes.leave_flight(user_bytes);
        } else {
            self.lost.remove(seq);
        }
        self.packets.change(packet, |p| {
            p.gap_acked += 1;
            if state == ChunkState::InFlight {
                p.in_flight -= 1;
            }
        });
    }

    fn renege(&mut self, seq: u64, outcome: &mut AckOutcome) {
        let i = (seq - self.base) as usize;
        if self.ring[i].limits.abandoned {
            self.renege_abandoned(seq);
            return;
        }
        let chunk = &mut self.ring[i];
        debug_assert_eq!(chunk.state, ChunkState::GapAcked);
        chunk.state = ChunkState::InFlight;
        chunk.acks.taken_back = true;
        outcome.visited += 1;
        let (path, packet, size) = (chunk.path, chunk.packet, chunk.counted());
        let eligible = !chunk.fast_retransmitted;
        let sent = chunk.struck_after();
        self.user_bytes.enter_flight(chunk.chunk.payload.len());
        let facts = &mut self.paths[usize::from(path.0)];
        facts.flight += size;
        facts.unacked += 1;
        facts.earliest = Some(facts.earliest.map_or(seq, |e| e.min(seq)));
        self.packets.change(packet, |p| {
            p.gap_acked -= 1;
            p.in_flight += 1;
        });
        // RFC 9260 §6.2.1 D iii: count one miss indication.
        if eligible && seq <= self.holes_to {
            self.facts(path).missing.strike_one(seq, sent);
        }
        outcome.reneged.push(seq);
    }

    //= RFC 9260 6.7-4 6.7-5
    /// Chunks between the old and the new highest acknowledged TSN are missing from now on; with a
    /// SACK window, only those within it.
    fn find_new_holes(&mut self, runs: &[Range]) {
        let limit = self.window.end(self.cumulative());
        let first = runs.partition_point(|r| r.end <= self.holes_to);
        let mut below = self.holes_to;
        for run in &runs[first..] {
            for seq in below + 1..run.start.min(limit + 1) {
                let chunk = &self.ring[(seq - self.base) as usize];
                if chunk.state == ChunkState::InFlight && !chunk.fast_retransmitted {
                    let missing = &mut self.paths[usize::from(chunk.path.0)].missing;
                    missing.insert(seq, 0, chunk.struck_after());
                }
            }
            below = run.end;
            if below >= limit {
                break;
            }
        }
        self.highest_acked = self.highest_acked.max(runs.last().map_or(0, |run| run.end));
        self.holes_to = self.holes_to.max(below.min(limit));
    }

    /// Adds one miss indication to every missing chunk below `limit` (RFC 9260 §7.2.4); `sent` is
    /// when the newest of the acknowledged chunks was sent. Returns whether any was struck.
    pub fn strike(&mut self, limit: u64, sent: Time) -> bool {
        // Every path: no short circuit.
        self.paths.iter_mut().fold(false, |any, path| path.missing.strike(limit, sent) | any)
    }

    /// The same for the chunks of one path.
    pub fn strike_on(&mut self, path: PathId, limit: u64, sent: Time) -> bool {
        self.facts(path).missing.strike(limit, sent)
    }
}
