//! What is kept of messages that may be given up: those that were sent in part, what the peer is told, and how many were.
//!
//! It sees the scoreboard, and nothing else of the sending half, which does what follows.

use std::time::Duration;

use tresse_wire::{Mid, PacketWriter, SkippedStream, Ssn, StreamId, Tsn};

use super::forward::Forward;
use super::ledger::{Ledger, Partly};
use super::tally::Tally;
use crate::ids::PathId;
use crate::path::Paths;
use crate::reliability::{AbandonPolicy, AbandonedMessages};
use crate::scoreboard::{ChunkState, Outstanding, Scoreboard};
use crate::streams::send_queue::Policy;
use crate::time::Time;

#[derive(Debug, Default)]
struct Kept {
    ledger: Ledger,
    forward: Forward,
    tally: Tally,
    /// Something was given up, and left room, since the association looked last.
    left_room: bool,
}

/// It takes no memory before a message was sent that may be given up.
#[derive(Debug, Default)]
pub(crate) struct Abandonment(Option<Box<Kept>>);

impl Abandonment {
    /// After a restart of the peer: only what was counted holds on.
    pub(in crate::send) fn restarted(self) -> Abandonment {
        let counted = |kept: Box<Kept>| Box::new(Kept { tally: kept.tally, ..Kept::default() });
        Abandonment(self.0.map(counted))
    }

    /// Nothing is outstanding any more.
    pub(in crate::send) fn clear(&mut self) {
        if let Some(kept) = &mut self.0 {
            (kept.ledger, kept.forward) = (Ledger::default(), Forward::default());
        }
    }

    /// Bytes of memory.
    pub(in crate::send) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| {
            size_of::<Kept>() + kept.ledger.memory() + kept.forward.memory() + kept.tally.memory()
        })
    }

    /// There is nothing of it so far.
    #[inline]
    pub(super) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The chunk `seq` of a message with this policy has left for the first time.
    pub(super) fn on_new(
        &mut self,
        board: &mut Scoreboard,
        seq: u64,
        stream: StreamId,
        policy: (Policy, Time),
        ends: (bool, bool),
    ) {
        let kept = self.0.get_or_insert_default();
        kept.ledger.on_sent(seq, stream, policy, ends);
        if kept.ledger.is_last_try(seq, 1) {
            board.spend(seq);
        }
    }

    /// The chunk `seq` has left again.
    #[inline]
    pub(in crate::send) fn on_again(&self, board: &mut Scoreboard, seq: u64) {
        if let Some(kept) = &self.0 {
            let times = board.get(seq).map_or(0, Outstanding::times_sent);
            if kept.ledger.is_last_try(seq, times) {
                board.spend(seq);
            }
        }
    }

    /// Whether the chunk `seq`, which was declared lost, is to be given up with its message.
    #[inline]
    pub(super) fn is_over(&self, board: &Scoreboard, now: Time, seq: u64) -> bool {
        let Some(kept) = &self.0 else { return false };
        let lost = board.get(seq).filter(|chunk| chunk.state == ChunkState::Lost);
        lost.is_some_and(|chunk| kept.ledger.is_over(now, seq, chunk.times_sent()))
    }

    /// When the lifetime of a message ends of which a part was sent.
    #[inline]
    pub(in crate::send) fn deadline(&self) -> Option<Time> {
        self.0.as_ref().and_then(|kept| kept.ledger.deadline())
    }

    /// A message whose lifetime has ended by `now`. Each is told once.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<Partly> {
        let kept = self.0.as_mut()?;
        while let Some(first) = kept.ledger.take_expired(now) {
            if let Some(message) = kept.ledger.get(first) {
                return Some(message);
            }
        }
        None
    }

    /// The message of the chunk `seq`.
    pub(super) fn message(&self, seq: u64) -> Option<Partly> {
        self.0.as_ref().and_then(|kept| kept.ledger.get(seq))
    }

    /// Messages with a priority of which a part was sent, the least important first: their numbers and their first chunks.
    pub(super) fn by_priority(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.0.iter().flat_map(|kept| kept.ledger.by_priority())
    }

    /// The message of the chunk `seq` is given up from now on. `None` if it was before.
    pub(super) fn give_up(&mut self, seq: u64) -> Option<Partly> {
        self.0.as_mut().and_then(|kept| kept.ledger.give_up(seq))
    }

    /// One more TSN, `last`, stands for the end of the message that begins with `first`.
    pub(super) fn extend(&mut self, first: u64, last: u64) {
        if let Some(kept) = &mut self.0 {
            kept.ledger.extend(first, last);
        }
    }

    /// A message of this stream was given up; `sent` if a part of it had left.
    pub(super) fn count(&mut self, stream: StreamId, policy: Option<AbandonPolicy>, sent: bool) {
        let kept = self.0.get_or_insert_default();
        kept.left_room = true;
        if let Some(policy) = policy {
            kept.tally.count(stream, policy, sent);
        }
    }

    /// Something was given up since this was asked last.
    #[inline]
    pub(in crate::send) fn take_left_room(&mut self) -> bool {
        self.0.as_mut().is_some_and(|kept| std::mem::take(&mut kept.left_room))
    }

    /// How many messages were given up, of a stream and by a policy, or of all.
    pub(crate) fn counted(
        &self,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> AbandonedMessages {
        let counts = self.0.as_ref().map(|kept| kept.tally.of(stream, policy));
        counts.unwrap_or_default()
    }

    /// Moves the Advanced.Peer.Ack.Point, as far as chunks of `room` bytes tell; `true` if the peer is to be told of it. `wait`
    /// says how long a path may take to answer.
    pub(super) fn advance(
        &mut self,
        board: &Scoreboard,
        room: usize,
        now: Time,
        wait: impl Fn(PathId) -> Duration,
    ) -> bool {
        self.0.as_mut().is_some_and(|kept| kept.forward.advance(board, room, now, wait))
    }

    /// Everything up to `cumulative` is acknowledged: the path whose answer that is, if it was asked for by FORWARD TSN, and
    /// when that left there first, if that is known for sure.
    pub(super) fn on_ack(&mut self, cumulative: u64) -> Option<(PathId, Option<Time>)> {
        let kept = self.0.as_mut()?;
        kept.ledger.release(cumulative);
        kept.forward.on_ack(cumulative)
    }

    /// What the peer was said to have from the chunk `first` on, it may not have any more.
    pub(super) fn look_again(&mut self, first: u64) {
        if let Some(kept) = &mut self.0 {
            kept.forward.look_again(first);
        }
    }

    /// The peer has not got as far: it may not know. `wait` says how long a path may take to answer, and the longest that
    /// is waited; `heard` when what was acknowledged of a path had left there.
    pub(super) fn repeat(
        &mut self,
        now: Time,
        wait: impl Fn(PathId) -> [Duration; 2],
        heard: impl Fn(PathId) -> Option<Time>,
    ) {
        if let Some(kept) = &mut self.0 {
            kept.forward.repeat(now, wait, heard);
        }
    }

    /// FORWARD TSN leaves again over `path` if it is not answered.
    pub(super) fn tell_again(&mut self, board: &Scoreboard, path: PathId) {
        if let Some(kept) = &mut self.0 {
            kept.forward.on_timeout(board, path);
        }
    }

    /// When a FORWARD TSN chunk left last that `path` owes an answer to.
    #[inline]
    pub(in crate::send) fn owed(&self, path: PathId) -> Option<Time> {
        self.0.as_ref().and_then(|kept| kept.forward.owed(path))
    }

    #[inline]
    fn due(&self) -> Option<&Forward> {
        self.0.as_ref().map(|kept| &kept.forward).filter(|forward| forward.is_due())
    }

    /// The path of a packet that has to carry a FORWARD TSN chunk, whatever else it carries.
    #[inline]
    pub(crate) fn due_on(&self, paths: &Paths) -> Option<PathId> {
        let elsewhere = self.due()?.path();
        Some(elsewhere.map_or_else(|| paths.data_path(), |path| paths.living(path)))
    }

    /// Bytes of a FORWARD TSN chunk that leaves beside the next DATA on `path`, if that leaves room for it; 0 if none does.
    #[inline]
    pub(crate) fn len_beside_data(&self, path: PathId) -> usize {
        let forward = self.0.as_ref().map(|kept| &kept.forward);
        let is_due = |f: &Forward| f.is_due() && f.path().is_none_or(|own| own == path);
        forward.filter(|f| is_due(f) || f.is_once_more(path)).map_or(0, Forward::len)
    }

    //= RFC 8260 2.3.1-1 2.3.1-6 2.3.1-7
    //= RFC 3758 3.2-1 3.5-8 3.5-13 3.5-15 3.5-17 3.5-18
    /// Writes the FORWARD TSN chunks into a packet on `path`. `wrote` is told of each how far it goes, and how many streams it
    /// lists.
    pub(super) fn write(
        &mut self,
        writer: &mut PacketWriter<'_>,
        interleaved: bool,
        (now, path): (Time, PathId),
        mut wrote: impl FnMut(Tsn, usize),
    ) -> bool {
        let Some(kept) = &mut self.0 else { return false };
        for (point, messages) in kept.forward.chunks() {
            let (tsn, listed) = (Scoreboard::tsn(point), messages.len());
            if interleaved {
                writer.i_forward_tsn(tsn, messages);
            } else {
                let ssn = |mid: Mid| Ssn(mid.0 as u16); // They are the same but for the bits that it lacks.
                let streams = messages.map(|m| SkippedStream { stream: m.stream, ssn: ssn(m.mid) });
                writer.forward_tsn(tsn, streams);
            }
            wrote(tsn, listed);
        }
        kept.forward.on_sent(now, path);
        true
    }
}
