//! Partial reliability: messages that are given up, and how the peer passes over them (RFC 3758, RFC 7496).
//!
//! Idea: a message that was sent with a policy is noted as long as it is outstanding. It is given up when a chunk of it
//! is declared lost and its policy does not let it be sent again, when its time is over and a part of it waits to be
//! sent, or when the send buffer is needed for what matters more. What is in flight just then, undisturbed, may arrive.
//!
//! What was sent as often as it may be, or whose time is over, is *spent* on the scoreboard: nothing that repeats what is
//! in flight (copies beside other chunks and over other paths, probes of the tail) looks at policies.
//!
//! All chunks of a message are given up together (RFC 3758 §3.5 A3), whether acknowledged or not. If its end was not
//! sent, one more TSN stands for that: the peer may have got all that was sent, and would wait for the end for ever, since
//! a FORWARD TSN that does not go beyond its Cumulative TSN Ack says nothing to it.
//!
//! A chunk in flight that is given up goes on counting for cwnd until it is acknowledged, declared lost, or passed over.
//! RFC 7496 §5: no association behaves "more aggressively than an SCTP association not using PR-SCTP"; who
//! gave up what is in flight before a round trip is over, again and again, would never fill its window. Its loss is
//! congestion as any other (RFC 3758 §3.5 F5), its acknowledgement opens no window and measures no round trip (A2).

mod forward;
mod ledger;
mod tally;

use tresse_wire::{Mid, PacketWriter, SkippedStream, Ssn, StreamId};

use super::drain::join;
use super::{Context, DataPacket, Sender};
use crate::event::{Event, SendFailure, TraceEvent};
use crate::path::{PathId, Paths};
use crate::reliability::{AbandonPolicy, AbandonedMessages, Reliability};
use crate::scoreboard::{ChunkState, NewChunk, Outstanding, Scoreboard};
use crate::streams::send_queue::Policy;
use crate::time::Time;
use forward::Forward;
use ledger::Ledger;
use tally::Tally;

/// What is kept for it, once a message was sent with a policy.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    ledger: Ledger,
    forward: Forward,
    tally: Tally,
    /// Something was given up, and left room, since the association looked last.
    left_room: bool,
}

impl Partial {
    /// After a restart of the peer: only what was counted holds on.
    pub(super) fn restarted(self) -> Partial {
        Partial { tally: self.tally, ..Partial::default() }
    }

    /// Nothing is outstanding any more.
    pub(super) fn clear(&mut self) {
        (self.ledger, self.forward) = (Ledger::default(), Forward::default());
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of::<Partial>() + self.ledger.memory() + self.forward.memory() + self.tally.memory()
    }
}

/// A message that may make room for another one.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// None of it has left; the number of its place in the queue.
    Waiting,
    /// Its first chunk.
    Sent(u64),
}

impl Sender {
    //= RFC 3758 3.3.2-5 3.3.3-2 3.3.3-3 4.1-1
    /// Messages can be given up after a part of them was sent.
    #[inline]
    fn is_partial(&self) -> bool {
        self.extensions.chosen.partial_reliability
    }

    /// The chunk `seq` of a message with this policy has left for the first time.
    pub(super) fn note_policy(
        &mut self,
        seq: u64,
        stream: StreamId,
        policy: (Policy, Time),
        ends: (bool, bool),
    ) {
        if !self.is_partial() {
            return;
        }
        let partial = self.partial.get_or_insert_default();
        partial.ledger.on_sent(seq, stream, policy, ends);
        if partial.ledger.is_last_try(seq, 1) {
            self.board.spend(seq);
        }
    }

    /// The chunk `seq` has left again.
    #[inline]
    pub(super) fn note_sent_again(&mut self, seq: u64) {
        if let Some(partial) = &self.partial {
            let times = self.board.get(seq).map_or(0, Outstanding::times_sent);
            if partial.ledger.is_last_try(seq, times) {
                self.board.spend(seq);
            }
        }
    }

    /// The chunk `seq` was declared lost: its message is given up if its policy says so.
    #[inline]
    pub(super) fn judge_lost(&mut self, cx: &mut Context<'_>, seq: u64) {
        let Some(partial) = &self.partial else { return };
        let lost = self.board.get(seq).filter(|chunk| chunk.state == ChunkState::Lost);
        if lost.is_some_and(|chunk| partial.ledger.is_over(cx.now, seq, chunk.times_sent())) {
            self.give_up_sent(cx, seq);
        }
    }

    /// Some message may be too old by now.
    #[inline]
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        let sent = self.partial.as_ref().and_then(|partial| partial.ledger.deadline());
        let is_past = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        is_past(self.queue.deadline()) || is_past(sent)
    }

    /// When the lifetime of a message ends of which a part was sent.
    pub(super) fn lifetime_deadline(&self) -> Option<Time> {
        self.partial.as_ref().and_then(|partial| partial.ledger.deadline())
    }

    //= RFC 3758 4.1-3 4.1-4
    /// Gives up the messages whose time is over: those that wait, and those of which a part was sent and the rest, or
    /// what is lost of it, waits to be.
    pub(crate) fn expire(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        if self.queue.deadline().is_some_and(|deadline| deadline <= now) {
            for (policy, failure) in self.queue.expire(now) {
                if policy == Policy::Timed {
                    self.report(cx, policy, failure);
                } else {
                    cx.journal.stats.messages_expired += 1;
                    cx.journal.event(Event::Expired(failure));
                }
            }
        }
        while let Some(first) = self.partial.as_mut().and_then(|p| p.ledger.take_expired(now)) {
            let Some(message) = self.partial.as_ref().and_then(|p| p.ledger.get(first)) else {
                continue;
            };
            let lost = |seq| self.board.get(seq).is_some_and(|c| c.state == ChunkState::Lost);
            if message.is_leaving() || message.seqs().any(lost) {
                self.give_up_sent(cx, first);
                continue;
            }
            //= RFC 3758 4.1-5
            // TR4: what is in flight may arrive; nothing sends it again.
            for seq in message.seqs() {
                self.board.spend(seq);
            }
        }
    }

    //= RFC 3758 4.1-6
    /// A probe of the tail wants to send the chunk `seq` again. `false` if that may not be: nothing else in flight may
    /// either then, all of it is given up, and FORWARD TSN is the probe. It brings a SACK as data does; what had
    /// arrived before it stays delivered, since it says nothing of what the peer has.
    pub(super) fn lets_probe(&mut self, cx: &mut Context<'_>, seq: u64) -> bool {
        let board = &self.board;
        if board.get(seq).is_none_or(|chunk| !chunk.is_spent()) {
            return true;
        }
        let is_over = |seq: &u64| board.get(*seq).is_some_and(Outstanding::is_over);
        let over: Vec<u64> = (board.cumulative() + 1..board.next_seq()).filter(is_over).collect();
        for seq in over {
            self.give_up_sent(cx, seq);
        }
        cx.journal.stats.count_tail_probe();
        false
    }

    /// Gives up messages that matter less than one of `size` bytes which there is no room for. `false` if that would not
    /// make room; then nothing is given up.
    pub(crate) fn make_room(
        &mut self,
        cx: &mut Context<'_>,
        stream: StreamId,
        size: usize,
        reliability: Reliability,
    ) -> bool {
        if !self.is_partial() {
            return false;
        }
        let most = if let Reliability::Priority(value) = reliability { Some(value) } else { None };
        let matters_less = |value: u32| most.is_none_or(|most| value > most);
        let needed = (self.buffered() + size).saturating_sub(self.buffer.send_limit());
        let waiting = self.queue.by_priority().take_while(|(value, _)| matters_less(*value));
        let waiting: usize = waiting.map(|(_, bytes)| bytes).sum();
        let partial = self.partial.as_ref();
        let sent = partial.into_iter().flat_map(|partial| partial.ledger.by_priority());
        let sent = sent.take_while(|(value, _)| matters_less(*value));
        let sent: usize = sent.filter_map(|(_, first)| self.bytes_of(first)).sum();
        if waiting + sent < needed {
            return false;
        }
        while !self.fits(stream, size) {
            let Some(victim) = self.victim(matters_less) else { return false };
            match victim {
                Victim::Waiting => {
                    if let Some((policy, failure)) = self.queue.take_least() {
                        self.report(cx, policy, failure);
                    }
                }
                Victim::Sent(first) => self.give_up_sent(cx, first),
            }
        }
        true
    }

    /// The message that goes first.
    fn victim(&self, matters_less: impl Fn(u32) -> bool) -> Option<Victim> {
        let waiting = self.queue.by_priority().next().map(|(value, _)| value);
        let partial = self.partial.as_ref();
        let mut sent = partial.into_iter().flat_map(|partial| partial.ledger.by_priority());
        let sent = sent.find(|(_, first)| self.bytes_of(*first).is_some());
        let (value, victim) = match (waiting, sent) {
            (waiting, Some((value, first))) if waiting.is_none_or(|waiting| waiting < value) => {
                (value, Victim::Sent(first))
            }
            (Some(value), _) => (value, Victim::Waiting),
            (None, _) => return None,
        };
        matters_less(value).then_some(victim)
    }

    /// What giving up a message frees of which a part was sent; `None` if the peer has all of it, as far as is known.
    fn bytes_of(&self, first: u64) -> Option<usize> {
        let message = self.partial.as_ref().and_then(|partial| partial.ledger.get(first))?;
        let chunks = message.seqs().filter_map(|seq| self.board.get(seq));
        let is_open = |chunk: &Outstanding| chunk.state != ChunkState::GapAcked;
        let sent = chunks.fold((message.is_leaving(), 0), |(open, bytes), chunk| {
            (open || is_open(chunk), bytes + chunk.chunk.payload.len())
        });
        let rest = if message.is_leaving() { self.queue.begun_bytes(message.stream()) } else { 0 };
        sent.0.then_some(sent.1 + rest)
    }

    //= RFC 3758 3.4-1 3.5-1 3.5-2 3.5-4 4.3-2
    /// Gives up the message of the chunk `seq`, of which a part was sent.
    fn give_up_sent(&mut self, cx: &mut Context<'_>, seq: u64) {
        let now = cx.now;
        let message = self.partial.as_mut().and_then(|partial| partial.ledger.give_up(seq));
        let Some(message) = message else { return };
        let (stream, policy) = (message.stream(), message.policy());
        for path in cx.paths.iter_mut() {
            path.timed.spoil(|timed| message.contains(timed));
        }
        let mut parts: Vec<NewChunk> = Vec::new();
        for seq in message.seqs() {
            if let Some(part) = self.board.abandon(seq) {
                self.queue.on_abandoned(stream, part.payload.len());
                parts.push(part);
            }
        }
        let path = self.board.get(message.last()).map_or(PathId::default(), |chunk| chunk.path);
        let rest = if message.is_leaving() { self.queue.give_up_begun(stream) } else { None };
        let chunks = parts.len();
        let failure = match rest {
            Some((failure, end)) => {
                let last = self.board.record_abandoned(now, path, end);
                if let Some(partial) = &mut self.partial {
                    partial.ledger.extend(message.first(), last);
                }
                Some(failure)
            }
            None => join(&mut parts),
        };
        let tsn = Scoreboard::tsn(message.first());
        cx.journal.trace(now, || TraceEvent::Abandoned { tsn, chunks });
        cx.journal.stats.chunks_abandoned += chunks as u64;
        if let Some(failure) = failure {
            self.report(cx, policy, failure);
        }
        self.advance(cx);
        cx.opportunity();
    }

    /// A message was given up: it is counted, and the application told.
    fn report(&mut self, cx: &mut Context<'_>, policy: Policy, failure: SendFailure) {
        let (stream, sent) = (failure.message.stream, failure.sent);
        let partial = self.partial.get_or_insert_default();
        partial.left_room = true;
        if let Some(policy) = policy.name() {
            partial.tally.count(stream, policy, sent);
        }
        let stats = &mut cx.journal.stats;
        *if sent {
            &mut stats.messages_abandoned_sent
        } else {
            &mut stats.messages_abandoned_unsent
        } += 1;
        cx.journal.event(Event::Abandoned(failure));
    }

    /// Something was given up since this was asked last.
    #[inline]
    pub(crate) fn take_left_room(&mut self) -> bool {
        self.partial.as_mut().is_some_and(|partial| std::mem::take(&mut partial.left_room))
    }

    /// How many messages were given up, of a stream and by a policy, or of all.
    pub(crate) fn abandoned(
        &self,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> AbandonedMessages {
        self.partial
            .as_ref()
            .map_or_else(AbandonedMessages::default, |partial| partial.tally.of(stream, policy))
    }

    /// Bytes of a FORWARD TSN chunk at most: what fits any packet, a TIMESTAMP beside it.
    fn forward_room(&self, paths: &Paths) -> usize {
        self.room_for_payload(paths) + self.header_len()
    }

    /// Moves the Advanced.Peer.Ack.Point; `true` if the peer is to be told of it.
    fn advance(&mut self, cx: &Context<'_>) -> bool {
        let room = self.forward_room(cx.paths);
        let (Some(partial), board) = (&mut self.partial, &self.board) else { return false };
        partial.forward.advance(board, room)
    }

    //= RFC 3758 3.5-5 3.5-6 3.5-7
    /// A SACK was processed, which has passed over this many given-up chunks.
    pub(super) fn forward_after_ack(&mut self, cx: &mut Context<'_>, passed: usize) {
        if self.partial.is_none() {
            return;
        }
        let behind = self.advance(cx);
        let (now, cumulative) = (cx.now, self.board.cumulative());
        let Some(partial) = &mut self.partial else { return };
        partial.ledger.release(cumulative);
        let answered = partial.forward.on_ack(cumulative);
        if behind {
            // C3
            // Where a round trip takes no time, every SACK would bring another one out at once.
            let (paths, least) = (&cx.paths, cx.profile().rto.granularity());
            let wait = |id: PathId| {
                let longest = paths[id].rto();
                [paths[id].rtt.srtt().unwrap_or(longest).max(least), longest]
            };
            partial.forward.repeat(now, wait);
        }
        if passed == 0 {
            return;
        }
        // What FORWARD TSN asked for is an answer like any other, of the path that carried it.
        if let Some((path, sent)) = answered {
            let p = &mut cx.paths[path];
            p.reachability.owes_from(now);
            p.window.allow_more();
            p.t3.on_ack();
            if let Some(sent) = sent {
                cx.path_answered(path, sent);
                cx.paths[path].address.on_ack(sent);
            }
        }
    }

    //= RFC 3758 3.5-14
    /// T3-rtx of `path` expired: A5.
    pub(super) fn forward_after_timeout(&mut self, cx: &mut Context<'_>, path: PathId) {
        if self.partial.is_none() {
            return;
        }
        self.advance(cx);
        let next = cx.paths.alternate(path);
        if let Some(partial) = &mut self.partial {
            partial.forward.on_timeout(&self.board, next);
        }
        // What was lost is given up, and nothing leaves again.
        if self.board.first_lost().is_none() {
            self.overrides.on_retransmitted();
        }
    }

    /// The first chunk that is outstanding was given up: FORWARD TSN leaves again, to a peer that lives and has not got it.
    pub(super) fn repeat_forward(&mut self, cx: &Context<'_>) -> bool {
        let first = self.board.get(self.board.cumulative() + 1);
        let path = cx.paths.data_path();
        let is_abandoned = first.is_some_and(|chunk| chunk.is_abandoned());
        if let Some(partial) = self.partial.as_mut().filter(|_| is_abandoned) {
            partial.forward.on_timeout(&self.board, path);
        }
        is_abandoned
    }

    /// When a FORWARD TSN chunk left last that `path` owes an answer to.
    #[inline]
    pub(super) fn forward_owed(&self, path: PathId) -> Option<Time> {
        self.partial.as_ref().and_then(|partial| partial.forward.owed(path))
    }

    /// The path of a packet that has to carry a FORWARD TSN chunk, whatever else it carries.
    #[inline]
    pub(crate) fn forward_path(&self, paths: &Paths) -> Option<PathId> {
        let partial = self.partial.as_ref().filter(|partial| partial.forward.is_due())?;
        Some(partial.forward.path().map_or_else(|| paths.data_path(), |path| paths.living(path)))
    }

    /// Bytes of a FORWARD TSN chunk that is to leave; 0 if none is.
    #[inline]
    pub(crate) fn forward_len(&self) -> usize {
        let partial = self.partial.as_ref().filter(|partial| partial.forward.is_due());
        partial.map_or(0, |partial| partial.forward.len())
    }

    //= RFC 8260 2.3.1-1 2.3.1-6 2.3.1-7
    //= RFC 3758 3.2-1 3.5-8 3.5-13 3.5-15 3.5-17 3.5-18
    /// Writes a FORWARD TSN chunk, which is due, into a packet on `path`.
    pub(crate) fn write_forward(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>) {
        let (now, path) = (cx.now, packet.path());
        let Some(partial) = &mut self.partial else { return };
        let (point, messages) = partial.forward.chunk();
        let (tsn, listed) = (Scoreboard::tsn(point), messages.len());
        let writer: &mut PacketWriter<'_> = packet.writer();
        if self.board.is_interleaved() {
            writer.i_forward_tsn(tsn, messages);
        } else {
            let ssn = |mid: Mid| Ssn(mid.0 as u16); // They are the same but for the bits that it lacks.
            let streams = messages.map(|m| SkippedStream { stream: m.stream, ssn: ssn(m.mid) });
            writer.forward_tsn(tsn, streams);
        }
        partial.forward.on_sent(now, path);
        cx.journal.stats.forward_tsns_sent += 1;
        cx.journal.trace(now, || TraceEvent::Forwarded { tsn, path, streams: listed });
        // C5
        if !cx.paths[path].t3.is_running() {
            cx.arm_t3(path, &self.zero_window);
        }
    }
}
