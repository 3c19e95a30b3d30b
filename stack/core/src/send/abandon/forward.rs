//! The Advanced.Peer.Ack.Point, and when the peer is told of it (RFC 3758 §3.5, C1 to C5, F1 to F3).
//!
//! Where several messages are lost within a round trip, the peer has what lies between them, and the point would wait behind each
//! of them for the Cumulative TSN Ack: a round trip for each, in which nothing is delivered. So the point goes on over what the
//! peer has said that it has, if that would be given up rather than sent again should the peer drop it. Behind such a gap
//! another FORWARD TSN chunk follows in the same packet, by when the peer has delivered what it had. It lists what lies in the
//! gap as well: a peer that has dropped it waits for none of it.
//!
//! Difference: C2 moves the point over abandoned chunks alone. A chunk that is acknowledged is told of as if it were one if it is
//! abandoned the moment a SACK lacks it. Whether the peer has dropped it after its last SACK nobody knows.

use std::collections::BTreeMap;
use std::time::Duration;

use tresse_wire::{FORWARD_TSN_HEADER_LEN, Mid, SKIPPED_MESSAGES_LEN, SkippedMessages, StreamId};

use crate::ids::PathId;
use crate::scoreboard::{ChunkState, Outstanding, Scoreboard};
use crate::send::outbound::MAX_TSNS;
use crate::time::Time;

/// Bytes of a stream in a FORWARD TSN chunk.
const STREAM_LEN: usize = 4;

/// A duplicate is not held back any longer, whatever the round trip (RFC 3758 §3.5 F3).
const LONGEST_DELAY: Duration = Duration::from_millis(500);

/// How often the time until a duplicate doubles at most.
const MAX_DOUBLINGS: u32 = 16;

/// So often at most it is told again as soon as DATA that left behind it is acknowledged: there are peers, and middleboxes, that
/// take DATA and never this.
const MOST_AT_ONCE: u32 = 3;

/// Chunks of no more bytes leave once more; longer ones would take the place of data.
const SHORT: usize = 40;

/// As the point moves on it is told this often at most in a round trip.
const MOST_STEPS: u32 = 16;

/// A point that moves on is not held back any longer.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// A FORWARD TSN chunk that has not been answered.
#[derive(Clone, Copy, Debug)]
struct Sent {
    point: u64,
    path: PathId,
    /// When this point was first told.
    first: Time,
    last: Time,
    /// How often it was told.
    times: u32,
    /// It was told over this path only.
    one_path: bool,
    /// The next packet with DATA on this path that has room tells it once more.
    once_more: bool,
}

/// Streams of the ordered messages that are passed over, and with I-DATA of the unordered ones: the last of them in each, and the
/// last of its chunks.
type Skipped = BTreeMap<(u16, bool), (Mid, u64)>;

/// What one chunk tells.
#[derive(Debug)]
struct Step {
    point: u64,
    skipped: Skipped,
}

/// The point, and what lies between it and the Cumulative TSN Ack Point.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// Advanced.Peer.Ack.Point; what is less than the Cumulative TSN Ack Point says nothing.
    point: u64,
    /// The chunks that tell of it; the last one has the point.
    steps: Vec<Step>,
    /// Up to here the peer has all that lies behind the point, and none of it would be sent again.
    had: u64,
    /// It is told with an I-FORWARD-TSN chunk.
    interleaved: bool,
    /// A chunk is to leave.
    due: bool,
    sent: Option<Sent>,
    /// Where the next one goes, if not where data does.
    elsewhere: Option<PathId>,
}

impl Forward {
    //= RFC 3758 3.5-9 3.5-10 3.5-11 3.5-12
    /// Moves the point as far as it goes, in chunks of `room` bytes together. Returns whether it lies before the Cumulative TSN
    /// Ack Point of the peer. `wait` says how long a path may take to answer.
    pub(super) fn advance(
        &mut self,
        board: &Scoreboard,
        room: usize,
        now: Time,
        wait: impl Fn(PathId) -> Duration,
    ) -> bool {
        let cumulative = board.cumulative();
        // C1
        self.point = self.point.max(cumulative);
        self.steps.retain_mut(|step| {
            step.skipped.retain(|_, (_, last)| *last > cumulative);
            step.point > cumulative
        });
        self.interleaved = board.is_interleaved();
        // Packets may have become smaller.
        while self.len() > room && self.steps.pop().is_some() {
            self.point = self.steps.last().map_or(cumulative, |step| step.point);
        }
        let before = self.point;
        // Ends of messages that were given up may lie further: the peer takes such a point as little as such a chunk, and what is
        // behind it waits for the next SACK.
        let farthest = cumulative + MAX_TSNS as u64;
        // C2; C4: what does not fit one packet has to wait.
        while let Some(next) = self.next(board).filter(|next| *next <= farthest)
            && self.go_on(board, next, room)
        {
            self.point = next;
        }
        self.due |= self.point > before && !self.has_just_left(now, wait);
        self.due &= self.point > cumulative;
        self.point > cumulative
    }

    /// Where many are lost, one after the other is found out: the chunks leave a few times in a round trip, and the next SACK
    /// brings them out (F3: with a delay of 200 ms at most).
    fn has_just_left(&self, now: Time, wait: impl Fn(PathId) -> Duration) -> bool {
        let pause = |sent: &Sent| (wait(sent.path) / MOST_STEPS).min(LONGEST_PAUSE);
        self.sent.is_some_and(|sent| now.since(sent.last) < pause(&sent))
    }

    /// What the peer was said to have from the chunk `first` on, it may not have any more.
    pub(super) fn look_again(&mut self, first: u64) {
        self.had = self.had.min(first.saturating_sub(1));
    }

    /// The next chunk that was given up, if the point may go on to it.
    fn next(&mut self, board: &Scoreboard) -> Option<u64> {
        let is_given_up = |seq| board.get(seq).is_some_and(Outstanding::is_abandoned);
        if is_given_up(self.point + 1) {
            return Some(self.point + 1);
        }
        if self.point == board.cumulative() {
            return None;
        }
        self.had = self.had.max(self.point);
        while board.get(self.had + 1).is_some_and(|chunk| self.is_had(chunk)) {
            self.had += 1;
        }
        Some(self.had + 1).filter(|seq| is_given_up(*seq))
    }

    /// The peer has the chunk, and would it drop it, it would be given up. With DATA chunks that is said of a message as a whole; of
    /// one in I-DATA chunks the rest may be behind what follows.
    fn is_had(&self, chunk: &Outstanding) -> bool {
        let flags = chunk.chunk.flags;
        let whole = flags.beginning && flags.ending;
        chunk.state == ChunkState::GapAcked && chunk.is_spent() && (whole || !self.interleaved)
    }

    /// Tells of all behind the point up to `next`: `false` if that does not fit into `room` bytes.
    fn go_on(&mut self, board: &Scoreboard, next: u64, room: usize) -> bool {
        let interleaved = self.interleaved;
        let passed = (self.point + 1..=next).filter_map(|seq| {
            let chunk = &board.get(seq)?.chunk;
            let unordered = chunk.flags.unordered;
            let is_listed = !unordered || interleaved;
            is_listed.then_some(((chunk.stream.0, unordered), (chunk.mid, seq)))
        });
        let (len, entry) = (self.len(), self.entry_len());
        if next == self.point + 1
            && let Some(step) = self.steps.last_mut()
        {
            for (key, last) in passed {
                if !step.skipped.contains_key(&key) && len + entry > room {
                    return false;
                }
                step.skipped.insert(key, last);
            }
            step.point = next;
            return true;
        }
        let mut skipped = Skipped::new();
        let fits = |listed: usize| len + FORWARD_TSN_HEADER_LEN + listed * entry <= room;
        for (key, last) in passed {
            skipped.insert(key, last);
            if !fits(skipped.len()) {
                return false;
            }
        }
        let fits = fits(skipped.len());
        if fits {
            self.steps.push(Step { point: next, skipped });
        }
        fits
    }

    /// A SACK came, and the peer has not got as far: it may not know. `wait` says how long a path may take to answer, and
    /// the longest that is waited; `heard` when what it acknowledges of a path had left there.
    ///
    /// F2: a duplicate waits for "a full RTT"; the next one twice as long, and so on. Each is answered by a SACK, and where
    /// these take longer than any round trip before, each SACK of the past would bring another one out. That of DATA that
    /// left later is none of the past: the chunk was lost, or overtaken. F3: "Any delay applied to the sending of FORWARD TSN chunk
    /// SHOULD NOT exceed 200ms and MUST NOT exceed 500ms."
    pub(super) fn repeat(
        &mut self,
        now: Time,
        wait: impl Fn(PathId) -> [Duration; 2],
        heard: impl Fn(PathId) -> Option<Time>,
    ) {
        let waits = |sent: &Sent| {
            if sent.point != self.point {
                return self.has_just_left(now, |path| wait(path)[0]);
            }
            let [wait, longest] = wait(sent.path);
            let doubled = wait.saturating_mul(1 << (sent.times - 1).min(MAX_DOUBLINGS));
            let waits = doubled.min(longest).min(LONGEST_DELAY);
            let is_lost = sent.times <= MOST_AT_ONCE
                && heard(sent.path).is_some_and(|heard| heard > sent.last);
            now.since(sent.last) < waits && !is_lost
        };
        self.due |= !self.sent.as_ref().is_some_and(waits);
    }

    /// T3-rtx expired, and the next one goes there: it leaves again now if it is not answered.
    pub(super) fn on_timeout(&mut self, board: &Scoreboard, path: PathId) {
        if self.point > board.cumulative() {
            self.due = true;
            self.elsewhere = Some(path);
        }
    }

    /// A FORWARD TSN chunk is to leave.
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// Where the next one goes, if not where data does.
    pub(super) const fn path(&self) -> Option<PathId> {
        self.elsewhere
    }

    /// The chunk has left, and leaves once more beside the next DATA on `path`, as it is short. Its loss would be
    /// noticed a round trip later, as that of DATA, and all that time the peer holds back what has arrived.
    pub(super) fn is_once_more(&self, path: PathId) -> bool {
        self.sent.is_some_and(|sent| sent.once_more && sent.path == path)
    }

    const fn entry_len(&self) -> usize {
        if self.interleaved { SKIPPED_MESSAGES_LEN } else { STREAM_LEN }
    }

    /// Bytes of the chunks.
    pub(super) fn len(&self) -> usize {
        let listed: usize = self.steps.iter().map(|step| step.skipped.len()).sum();
        self.steps.len() * FORWARD_TSN_HEADER_LEN + listed * self.entry_len()
    }

    /// The chunks: how far each goes, and the messages that it lists.
    pub(super) fn chunks(
        &self,
    ) -> impl Iterator<Item = (u64, impl ExactSizeIterator<Item = SkippedMessages>)> {
        self.steps.iter().map(|step| {
            let messages = step.skipped.iter();
            let messages = messages.map(|((stream, unordered), (mid, _))| SkippedMessages {
                stream: StreamId(*stream),
                unordered: *unordered,
                mid: *mid,
            });
            (step.point, messages)
        })
    }

    /// The chunk left on `path`.
    pub(super) fn on_sent(&mut self, now: Time, path: PathId) {
        let (point, before) = (self.point, self.sent.filter(|sent| sent.point == self.point));
        let first = before.map_or(now, |sent| sent.first);
        let once_more = self.due && self.len() <= SHORT;
        let times = before.map_or(1, |sent| sent.times.saturating_add(u32::from(self.due)));
        let one_path = before.is_none_or(|sent| sent.one_path && sent.path == path);
        self.sent = Some(Sent { point, path, first, last: now, times, one_path, once_more });
        self.due = false;
        self.elsewhere = None;
    }

    /// When the chunk left last that `path` owes an answer to.
    pub(super) fn owed(&self, path: PathId) -> Option<Time> {
        self.sent.filter(|sent| sent.path == path).map(|sent| sent.last)
    }

    /// Everything up to `cumulative` is acknowledged: the path whose answer that is, and when the chunk left there first, if
    /// that is known for sure.
    pub(super) fn on_ack(&mut self, cumulative: u64) -> Option<(PathId, Option<Time>)> {
        let sent = self.sent.take_if(|sent| sent.point <= cumulative)?;
        Some((sent.path, sent.one_path.then_some(sent.first)))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let listed: usize = self.steps.iter().map(|step| step.skipped.len()).sum();
        self.steps.capacity() * size_of::<Step>() + listed * 2 * size_of::<(u16, bool, Mid, u64)>()
    }
}
