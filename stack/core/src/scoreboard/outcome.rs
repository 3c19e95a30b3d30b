//! What one SACK changed: the facts that the sender, recovery and congestion control are told.

use smallvec::SmallVec;

use super::{Outstanding, Scoreboard};
use crate::time::Time;

/// The chunk that was sent last, of those that a SACK acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestAck {
    /// Its sequence number.
    pub seq: u64,
    /// When it was last sent.
    pub sent: Time,
    /// How often it was sent.
    pub transmissions: u32,
    /// Bytes of all chunks in its packet, if it was sent once and no copy of it left elsewhere; else 0.
    pub once: usize,
    /// The number of that packet.
    pub packet: u64,
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
    pub(super) fn begin(&mut self, board: &Scoreboard) {
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
    pub(super) fn note(&mut self, seq: u64, chunk: &Outstanding) {
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
        let is_sure = chunk.one_path && chunk.limits.elsewhere == 0;
        path.unambiguous = path.unambiguous.max(is_sure.then_some(chunk.first_sent));
        if !chunk.acks.ever {
            // A newly acknowledged chunk is one not previously acknowledged in a SACK chunk.
            path.bytes += chunk.counted();
            path.chunks += 1;
            path.ect |= chunk.acks.ect;
            self.newly_acked += chunk.counted();
            self.reordered |= chunk.transmissions == 1 && seq < path.highest_before;
            if path.latest.is_none_or(|l| (l.sent, l.seq) < (chunk.last_sent, seq)) {
                let transmissions = chunk.transmissions;
                let single = transmissions == 1 && chunk.limits.elsewhere == 0;
                let once = if single { chunk.size() } else { 0 };
                let (sent, packet) = (chunk.last_sent, chunk.packet);
                path.latest = Some(LatestAck { seq, sent, transmissions, once, packet });
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
