//! The Advanced.Peer.Ack.Point, and when the peer is told of it (RFC 3758 §3.5, C1 to C5, F1 to F3).

use std::collections::BTreeMap;
use std::time::Duration;

use tresse_wire::{FORWARD_TSN_HEADER_LEN, Mid, SKIPPED_MESSAGES_LEN, SkippedMessages, StreamId};

use crate::ids::PathId;
use crate::scoreboard::Scoreboard;
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

/// A chunk of no more bytes leaves once more; a longer one would take the place of data.
const SHORT: usize = 32;

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

/// The point, and what lies between it and the Cumulative TSN Ack Point.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// Advanced.Peer.Ack.Point; what is less than the Cumulative TSN Ack Point says nothing.
    point: u64,
    /// Streams of the ordered messages that are passed over, and with I-DATA of the unordered ones: the last of them in each,
    /// and the last of its chunks.
    skipped: BTreeMap<(u16, bool), (Mid, u64)>,
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
    /// Moves the point as far as it goes, in a chunk of `room` bytes. Returns whether it lies before the Cumulative TSN
    /// Ack Point of the peer.
    pub(super) fn advance(&mut self, board: &Scoreboard, room: usize) -> bool {
        let cumulative = board.cumulative();
        // C1
        self.point = self.point.max(cumulative);
        self.skipped.retain(|_, (_, last)| *last > cumulative);
        self.interleaved = board.is_interleaved();
        let most = room.saturating_sub(FORWARD_TSN_HEADER_LEN) / self.entry_len();
        let before = self.point;
        // Ends of messages that were given up may lie further: the peer takes such a point as little as such a chunk, and what is
        // behind it waits for the next SACK.
        let farthest = cumulative + MAX_TSNS as u64;
        let given_up = |seq| board.get(seq).filter(|chunk| chunk.is_abandoned());
        // C2
        while self.point < farthest
            && let Some(chunk) = given_up(self.point + 1)
        {
            let (flags, mid) = (chunk.chunk.flags, chunk.chunk.mid);
            let key = (chunk.chunk.stream.0, flags.unordered);
            if !flags.unordered || self.interleaved {
                // C4: what does not fit one packet has to wait.
                if self.skipped.len() >= most && !self.skipped.contains_key(&key) {
                    break;
                }
                self.skipped.insert(key, (mid, self.point + 1));
            }
            self.point += 1;
        }
        self.due |= self.point > before;
        self.due &= self.point > cumulative;
        self.point > cumulative
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
            let [wait, longest] = wait(sent.path);
            let doubled = wait.saturating_mul(1 << (sent.times - 1).min(MAX_DOUBLINGS));
            let waits = doubled.min(longest).min(LONGEST_DELAY);
            let is_lost = sent.times <= MOST_AT_ONCE
                && heard(sent.path).is_some_and(|heard| heard > sent.last);
            sent.point == self.point && now.since(sent.last) < waits && !is_lost
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

    /// Bytes of the chunk.
    pub(super) fn len(&self) -> usize {
        FORWARD_TSN_HEADER_LEN + self.skipped.len() * self.entry_len()
    }

    /// The point, and the messages that the chunk lists.
    pub(super) fn chunk(&self) -> (u64, impl ExactSizeIterator<Item = SkippedMessages> + '_) {
        let messages = self.skipped.iter().map(|((stream, unordered), (mid, _))| SkippedMessages {
            stream: StreamId(*stream),
            unordered: *unordered,
            mid: *mid,
        });
        (self.point, messages)
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
        self.skipped.len() * 2 * size_of::<(u16, bool, Mid, u64)>()
    }
}
