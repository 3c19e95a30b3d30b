//! What was sent and what became of it: facts only, no policy.
//!
//! TSNs are unwrapped to `u64` and assigned in sequence, so outstanding chunks live in a ring
//! indexed by `seq - base`. A SACK is compared with the one before it, whose common head and tail are
//! skipped undecoded (`changed.rs`); only chunks whose state changed are visited. Missing
//! chunks wait in a short list of ranges: each is struck at most until it is declared lost, so
//! every chunk costs O(1) over its life, however many are outstanding.

mod abandoned;
mod changed;
mod chunk_size;
mod delivery_rate;
mod departures;
mod kept;
mod loss;
mod missing;
mod outcome;
mod packets;
mod restart;
mod sack;
mod taken_back;
#[cfg(test)]
mod tests;
mod user_bytes;
mod window;

use std::collections::VecDeque;

use smallvec::SmallVec;
use tresse_wire::Tsn;

pub use crate::chunk::NewChunk;
pub use changed::SackFault;
pub use delivery_rate::{LossSample, RateSample};
pub use loss::Eligibility;
pub use missing::MissingRange;
pub use outcome::{AckOutcome, LatestAck, PathAck};

use crate::ids::{LossCause, PathId};
use crate::profile::MultipathParameters;
use crate::ranges::{Range, RangeSet};
use crate::time::Time;
use missing::MissingList;
use packets::SentPackets;
use user_bytes::UserBytes;
use window::SackScope;
pub(crate) use window::reported_tsns;

/// What mechanisms note of an outstanding chunk, at most: when it was sent, whether a repetition was
/// reported (DupTSN), its queueing delay.
const NOTES: usize = 64;

/// Where a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkState {
    /// Sent, and neither acknowledged nor declared lost.
    InFlight,
    /// Acknowledged by a gap block, so the receiver may still renege (RFC 9260 §6.2); unless it
    /// promised not to, which leaves the chunk without its payload.
    GapAcked,
    /// Declared lost and waiting to be sent again.
    Lost,
    /// Given up: neither in flight nor waiting to be sent again.
    Abandoned,
}

/// A DATA or I-DATA chunk that is not yet cumulatively acknowledged.
#[derive(Clone, Debug)]
pub struct Outstanding {
    /// What it carries.
    pub chunk: NewChunk,
    /// Path of its last transmission.
    pub path: PathId,
    /// When it was first sent.
    pub first_sent: Time,
    /// When it was last sent.
    pub last_sent: Time,
    /// How often it was sent.
    pub transmissions: u32,
    /// All transmissions took the same path.
    pub one_path: bool,
    /// Where it is now.
    pub state: ChunkState,
    /// Why it was last declared lost, if ever.
    pub cause: Option<LossCause>,
    /// Miss indications when it was last declared lost.
    pub misses: u32,
    /// RFC 9260 §7.2.4 rule 5: ineligible for another fast retransmit, until a timeout.
    pub fast_retransmitted: bool,
    limits: SendLimits,
    acks: Acks,
    /// Number of the packet that carried it last.
    packet: u64,
    /// Bytes in flight that it counts for.
    counted: u32,
    /// Bytes of its header.
    header: u8,
}

/// How often a chunk may be sent.
#[derive(Clone, Copy, Debug)]
struct SendLimits {
    /// It may be sent again, as far as its message is concerned.
    repeatable: bool,
    /// Copies that left over other paths beside its transmissions.
    elsewhere: u8,
    /// It was given up, wherever it is.
    abandoned: bool,
    /// User bytes of it that were in flight then, and still come to the peer.
    coming: u32,
}

/// What SACKs have said of a chunk, or may say.
#[derive(Clone, Copy, Debug, Default)]
struct Acks {
    /// It left once, in an ECT packet: its acknowledgement shows that such packets arrive.
    ect: bool,
    /// It was acknowledged before, even if the receiver reneged on it since.
    ever: bool,
    /// The receiver reneged on it, and it was not sent again since.
    taken_back: bool,
}

impl Outstanding {
    /// One that did not leave, and never will, unless more is said of it.
    fn unsent(now: Time, path: PathId, chunk: NewChunk, header: usize) -> Outstanding {
        Outstanding {
            chunk,
            path,
            first_sent: now,
            last_sent: now,
            transmissions: 0,
            one_path: true,
            state: ChunkState::Abandoned,
            cause: None,
            misses: 0,
            fast_retransmitted: false,
            limits: SendLimits { repeatable: false, elsewhere: 0, abandoned: true, coming: 0 },
            acks: Acks::default(),
            packet: u64::MAX, // In none.
            counted: 0,
            header: header as u8,
        }
    }

    /// Bytes in flight that it counts for: its size, or the user data alone.
    fn counted(&self) -> usize {
        self.counted as usize
    }

    /// User bytes that the peer's window must hold while it is in flight.
    fn user_bytes(&self) -> usize {
        self.chunk.payload.len() + self.limits.coming as usize
    }

    /// Only acks of data sent after this moment are miss indications: a SACK that was caused by
    /// data sent before a retransmission says nothing about that retransmission.
    fn struck_after(&self) -> Time {
        if self.transmissions > 1 { self.last_sent } else { Time::ZERO }
    }
}

/// Facts kept for each path.
#[derive(Debug, Default)]
struct PathFacts {
    /// Bytes in flight, with chunk headers and padding.
    flight: usize,
    /// User bytes acknowledged neither cumulatively nor for good, last sent on this path.
    buffered: usize,
    /// Chunks in flight or lost, last sent on this path.
    unacked: usize,
    /// The lowest of them.
    earliest: Option<u64>,
    /// The highest sequence number acknowledged of those last sent on this path.
    highest_acked: u64,
    /// Those of the path in flight below the highest acknowledged one of any path.
    missing: MissingList,
}

/// What SACKs reported beyond the Cumulative TSN Ack.
#[derive(Debug, Default)]
struct Runs {
    /// Gap-acknowledged runs, as the last SACK reported them.
    known: Vec<Range>,
    /// The edges of each, as blocks are compared with them.
    edges: Vec<[u16; 2]>,
    /// What of them the SACK being processed replaces; kept, so that it is not allocated again.
    new: Vec<Range>,
    /// Runs beyond the Cumulative TSN Ack Point that the receiver will never take back.
    kept: Vec<Range>,
    /// `kept` before the SACK being processed, and room for one more list: so that neither is
    /// allocated again.
    kept_before: Vec<Range>,
    spare: Vec<Range>,
}

impl Runs {
    /// Bytes of memory beside its own.
    fn memory(&self) -> usize {
        let lists = [&self.known, &self.new, &self.kept, &self.kept_before, &self.spare];
        let runs: usize = lists.iter().map(|list| list.capacity()).sum();
        runs * size_of::<Range>() + self.edges.capacity() * size_of::<[u16; 2]>()
    }
}

/// All chunks between the Cumulative TSN Ack Point and the highest TSN sent.
#[derive(Debug)]
pub struct Scoreboard {
    ring: VecDeque<Outstanding>,
    /// Sequence number of `ring[0]`; everything below is cumulatively acknowledged.
    base: u64,
    /// The first chunk that was not given up.
    kept: u64,
    packets: SentPackets,
    paths: SmallVec<[PathFacts; 4]>,
    user_bytes: UserBytes,
    lost: RangeSet,
    runs: Runs,
    /// The highest sequence number ever acknowledged.
    highest_acked: u64,
    /// Up to here, what lies between the runs is in the lists of missing chunks: up to the highest
    /// acknowledged one, or the end of the SACK window.
    holes_to: u64,
    window: SackScope,
    rates: Option<Box<departures::DeliveryRates>>,
    /// What is in flight counts with headers and padding.
    counts_headers: bool,
    /// Chunks are I-DATA.
    interleaved: bool,
}

impl Scoreboard {
    //= RFC 9260 5.1-20
    /// An empty scoreboard whose first chunk will carry `initial_tsn`.
    pub fn new(initial_tsn: Tsn) -> Scoreboard {
        // Far from zero, so that differences never underflow.
        let base = (1 << 32) | u64::from(initial_tsn.0);
        Scoreboard {
            ring: VecDeque::new(),
            base,
            kept: base,
            packets: SentPackets::default(),
            paths: SmallVec::new(),
            user_bytes: UserBytes::default(),
            lost: RangeSet::default(),
            runs: Runs::default(),
            highest_acked: base - 1,
            holes_to: base - 1,
            window: SackScope::default(),
            rates: None,
            counts_headers: true,
            interleaved: false,
        }
    }

    /// Looks at as much of every SACK as a profile says.
    pub(crate) fn watch_as(&mut self, multipath: &MultipathParameters) {
        self.window = SackScope::of(multipath);
    }

    /// Sequence number of the next new chunk.
    pub fn next_seq(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// The Cumulative TSN Ack Point.
    pub fn cumulative(&self) -> u64 {
        self.base - 1
    }

    /// The TSN on the wire of a sequence number.
    pub fn tsn(seq: u64) -> Tsn {
        Tsn(seq as u32) // Truncation is the wrap-around.
    }

    /// The sequence number of `tsn` that is nearest to the window.
    pub fn unwrap(&self, tsn: Tsn) -> u64 {
        let distance = tsn.distance(Scoreboard::tsn(self.base));
        self.base.wrapping_add_signed(i64::from(distance))
    }

    /// The chunk numbered `seq`, if not yet cumulatively acknowledged.
    pub fn get(&self, seq: u64) -> Option<&Outstanding> {
        self.ring.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Whether `seq` was acknowledged, cumulatively or by a gap block.
    pub fn is_acked(&self, seq: u64) -> bool {
        seq < self.base || self.get(seq).is_some_and(|c| c.state == ChunkState::GapAcked)
    }

    /// Whether `seq` is in flight.
    pub fn is_in_flight(&self, seq: u64) -> bool {
        self.get(seq).is_some_and(|c| c.state == ChunkState::InFlight)
    }

    /// The highest sequence number ever acknowledged.
    pub fn highest_acked(&self) -> u64 {
        self.highest_acked
    }

    /// No chunk waits for an acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Chunks not cumulatively acknowledged.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Bytes in flight on `path`: headers and padding included.
    pub fn flight(&self, path: PathId) -> usize {
        self.paths.get(usize::from(path.0)).map_or(0, |p| p.flight)
    }

    /// Bytes in flight on all paths.
    pub fn total_flight(&self) -> usize {
        self.paths.iter().map(|p| p.flight).sum()
    }

    /// Bytes of memory, with what recovery notes of each chunk.
    pub(crate) fn memory(&self) -> usize {
        let missing: usize = self.paths.iter().map(|path| path.missing.memory()).sum();
        self.user_bytes.buffered()
            + self.ring.capacity() * (size_of::<Outstanding>() + NOTES)
            + self.packets.memory()
            + self.runs.memory()
            + self.lost.memory()
            + self.rates.as_ref().map_or(0, |rates| rates.memory())
            + missing
    }

    /// Gives back what empty lists keep for the next flight.
    pub(crate) fn shrink_if_idle(&mut self) {
        if self.ring.is_empty() {
            self.ring = VecDeque::new();
            self.packets.shrink();
        }
    }

    /// User bytes in flight on all paths: what the peer's window must hold.
    pub fn flight_user_bytes(&self) -> usize {
        self.user_bytes.in_flight()
    }

    /// User bytes acknowledged neither cumulatively nor for good: what the send buffer must keep.
    pub fn buffered_user_bytes(&self) -> usize {
        self.user_bytes.buffered()
    }

    /// The lowest sequence number that was last sent on `path` and is not acknowledged.
    pub fn earliest(&self, path: PathId) -> Option<u64> {
        self.paths.get(usize::from(path.0)).and_then(|p| p.earliest)
    }

    /// The first chunk after `seq` that another packet carried last.
    pub fn follower(&self, seq: u64) -> Option<u64> {
        let packet = self.get(seq)?.packet;
        (seq + 1..self.next_seq()).find(|s| self.get(*s).is_some_and(|c| c.packet != packet))
    }

    /// Packets of which at least one chunk is in flight.
    pub fn packets_in_flight(&self) -> usize {
        self.packets.in_flight()
    }

    /// Packets of which at least one chunk is not cumulatively acknowledged.
    pub fn packets_outstanding(&self) -> usize {
        self.packets.open()
    }

    /// Packets whose open chunks are all acknowledged by gap blocks.
    pub fn packets_gap_acked(&self) -> usize {
        self.packets.gap_acked()
    }

    /// The lowest chunk that waits to be sent again.
    pub fn first_lost(&self) -> Option<u64> {
        self.lost.first()
    }

    /// User bytes acknowledged neither cumulatively nor for good, and last sent on `path`.
    pub fn buffered_on(&self, path: PathId) -> usize {
        self.paths.get(usize::from(path.0)).map_or(0, |p| p.buffered)
    }

    /// The lowest chunk that is acknowledged by a gap block.
    pub fn first_gap_acked(&self) -> Option<u64> {
        self.runs.known.first().map(|run| run.start)
    }

    /// The lowest chunk after `seq` that waits to be sent again.
    pub fn next_lost(&self, seq: u64) -> Option<u64> {
        self.lost.next_after(seq)
    }

    /// Ranges of in-flight chunks that SACKs reported missing: path by path, lowest first.
    pub fn missing(&self) -> impl Iterator<Item = &MissingRange> {
        self.paths.iter().flat_map(|p| p.missing.ranges())
    }

    fn facts(&mut self, path: PathId) -> &mut PathFacts {
        let i = usize::from(path.0);
        if i >= self.paths.len() {
            self.paths.resize_with(i + 1, PathFacts::default);
        }
        &mut self.paths[i]
    }

    /// Bytes of the chunks of the packet that carried this one last.
    pub fn bundle_len(&self, chunk: &Outstanding) -> usize {
        self.packets.bytes(chunk.packet)
    }

    /// Begins a packet that will carry chunks; those recorded from now on belong to it.
    pub fn begin_packet(&mut self) {
        self.packets.begin();
    }

    //= RFC 8260 2.2.2-6
    //= RFC 9260 3.3.1-12 3.3.1-13 6.9-11
    /// Records the first transmission of a chunk in the packet begun last; returns its number.
    pub fn record_new(&mut self, now: Time, path: PathId, chunk: NewChunk) -> u64 {
        let seq = self.next_seq();
        let user_bytes = chunk.payload.len();
        let packet = self.packets.add_chunk(self.chunk_len(user_bytes));
        let counted = if self.counts_headers { self.chunk_len(user_bytes) } else { user_bytes };
        let header = self.header_len();
        self.user_bytes.begin(user_bytes);
        let facts = self.facts(path);
        facts.flight += counted;
        facts.buffered += user_bytes;
        facts.unacked += 1;
        facts.earliest.get_or_insert(seq);
        self.ring.push_back(Outstanding {
            transmissions: 1,
            state: ChunkState::InFlight,
            limits: SendLimits { repeatable: true, elsewhere: 0, abandoned: false, coming: 0 },
            packet,
            counted: counted as u32, // No chunk is longer than 65 535 bytes.
            ..Outstanding::unsent(now, path, chunk, header)
        });
        seq
    }

    /// The packet with the new chunks from `first` on left ECT.
    pub(crate) fn mark_ect(&mut self, first: u64) {
        let from = first.saturating_sub(self.base) as usize;
        self.ring.range_mut(from.min(self.ring.len())..).for_each(|chunk| chunk.acks.ect = true);
    }

    /// Calls `found` for each chunk in flight on `path`, lowest first. Visits every outstanding
    /// chunk: for timeouts and path failures, never for a SACK.
    pub fn for_each_in_flight(&self, path: PathId, mut found: impl FnMut(u64)) {
        for (seq, chunk) in (self.base..).zip(&self.ring) {
            if chunk.path == path && chunk.state == ChunkState::InFlight {
                found(seq);
            }
        }
    }

    /// Moves the "earliest" mark of `path` to its first unacknowledged chunk at or after `from`.
    fn advance_earliest(&mut self, path: PathId, from: u64) {
        if self.facts(path).unacked == 0 {
            self.facts(path).earliest = None;
            return;
        }
        let mut seq = from.max(self.base);
        let found = loop {
            match self.get(seq) {
                None => break None,
                Some(c) if c.state == ChunkState::GapAcked => {
                    let i = self.runs.known.partition_point(|r| r.end < seq);
                    seq = self.runs.known.get(i).filter(|r| r.start <= seq).map_or(seq, |r| r.end)
                        + 1;
                }
                Some(c) if c.path == path && c.state != ChunkState::Abandoned => break Some(seq),
                Some(_) => seq += 1,
            }
        };
        debug_assert!(found.is_some(), "unacked > 0 but no chunk on the path");
        self.facts(path).earliest = found;
    }
}
