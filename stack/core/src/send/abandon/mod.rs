//! Partial reliability: messages that are given up, and how the peer passes over them (RFC 3758, RFC 7496).
//!
//! Idea: a message that was sent with a policy is noted as long as it is outstanding. It is given up when a chunk of it
//! is declared lost and its policy does not let it be sent again, when its time is over and a part of it waits to be
//! sent, or when the send buffer is needed for what matters more. What is in flight just then, undisturbed, may arrive.
//!
//! What was sent as often as it may be, or whose time is over, is *spent* on the scoreboard: nothing that repeats what is
//! in flight (copies beside other chunks and over other paths, what an early timer sends) looks at policies.
//!
//! All chunks of a message are given up together (RFC 3758 §3.5 A3), whether acknowledged or not. If its end was not
//! sent, one more TSN stands for that: the peer may have got all that was sent, and would wait for the end for ever, since
//! a FORWARD TSN that does not go beyond its Cumulative TSN Ack says nothing to it.
//!
//! A chunk in flight that is given up goes on counting for cwnd until it is acknowledged, declared lost, or passed over.
//! RFC 7496 §5: no association behaves "more aggressively than an SCTP association not using PR-SCTP"; who
//! gave up what is in flight before a round trip is over, again and again, would never fill its window. Its loss is
//! congestion as any other (RFC 3758 §3.5 F5), its acknowledgement opens no window and measures no round trip (A2).

mod abandonment;
mod forward;
mod ledger;
mod tally;

use tresse_wire::{PacketWriter, StreamId};

use super::context::Context;
use super::outbound::{Outbound, join};
use crate::event::{Event, SendFailure, TraceEvent};
use crate::ids::{LossCause, PathId};
use crate::path::LostChunk;
use crate::reliability::Reliability;
use crate::scoreboard::{AckOutcome, ChunkState, NewChunk, Outstanding, Scoreboard};
use crate::streams::send_queue::Policy;
use crate::time::Time;
pub(crate) use abandonment::Abandonment;

/// A message that may make room for another one.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// None of it has left; the number of its place in the queue.
    Waiting,
    /// Its first chunk.
    Sent(u64),
}

//= RFC 3758 3.3.2-5 3.3.3-2 3.3.3-3 4.1-1
/// Messages can be given up after a part of them was sent.
#[inline]
fn is_partial(data: &Outbound) -> bool {
    data.capabilities().chosen.partial_reliability
}

impl Abandonment {
    /// The chunk `seq` of a message with this policy has left for the first time.
    pub(in crate::send) fn note_policy(
        &mut self,
        data: &mut Outbound,
        seq: u64,
        stream: StreamId,
        policy: (Policy, Time),
        ends: (bool, bool),
    ) {
        if !is_partial(data) {
            return;
        }
        self.on_new(data.board_mut(), seq, stream, policy, ends);
    }

    /// The chunk `seq` was declared lost: its message is given up if its policy says so.
    #[inline]
    pub(in crate::send) fn judge_lost(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Outbound,
        seq: u64,
    ) {
        if self.is_over(data.board(), cx.now, seq) {
            self.give_up_sent(cx, data, seq);
        }
    }

    //= RFC 3758 4.1-3 4.1-4
    /// Gives up the messages whose time is over: those that wait, and those of which a part was sent and the rest, or
    /// what is lost of it, waits to be.
    pub(in crate::send) fn expire(&mut self, cx: &mut Context<'_>, data: &mut Outbound) {
        let now = cx.now;
        if data.queue().deadline().is_some_and(|deadline| deadline <= now) {
            for (policy, failure) in data.queue_mut().expire(now) {
                if policy == Policy::Timed {
                    self.report(cx, policy, failure);
                } else {
                    cx.journal.stats.messages_expired += 1;
                    cx.journal.event(Event::Expired(failure));
                }
            }
        }
        while let Some(message) = self.take_expired(now) {
            let lost = |seq| data.board().get(seq).is_some_and(|c| c.state == ChunkState::Lost);
            if message.is_leaving() || message.seqs().any(lost) {
                self.give_up_sent(cx, data, message.first());
                continue;
            }
            //= RFC 3758 4.1-5
            // TR4: what is in flight may arrive; nothing sends it again.
            for seq in message.seqs() {
                data.board_mut().spend(seq);
            }
        }
    }

    //= RFC 3758 4.1-6
    /// An early timer wants to send the chunk `seq` again for `cause`. `false` if that may not be: nothing else in flight may
    /// either then, all of it is given up, and FORWARD TSN takes its place. It brings a SACK as data does; what had
    /// arrived before it stays delivered, since it says nothing of what the peer has.
    pub(in crate::send) fn lets_repeat(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Outbound,
        (seq, cause): (u64, LossCause),
    ) -> bool {
        let board = data.board();
        if board.get(seq).is_none_or(|chunk| !chunk.is_spent()) {
            return true;
        }
        let is_over = |seq: &u64| board.get(*seq).is_some_and(Outstanding::is_over);
        let over: Vec<u64> = (board.cumulative() + 1..board.next_seq()).filter(is_over).collect();
        for seq in over {
            self.give_up_sent(cx, data, seq);
        }
        cx.journal.stats.count_if_it_probes(cause);
        false
    }

    /// Gives up messages that matter less than one of `size` bytes which there is no room for. `false` if that would not
    /// make room; then nothing is given up.
    pub(in crate::send) fn make_room(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Outbound,
        stream: StreamId,
        size: usize,
        reliability: Reliability,
    ) -> bool {
        if !is_partial(data) {
            return false;
        }
        let most = if let Reliability::Priority(value) = reliability { Some(value) } else { None };
        let matters_less = |value: u32| most.is_none_or(|most| value > most);
        // One that is larger than the buffer has it for itself.
        let needed = (data.buffered() + size).saturating_sub(data.buffer().send_limit());
        let needed = needed.min(data.buffered());
        let waiting = data.queue().bytes_of_those(matters_less);
        let sent = self.by_priority().take_while(|(value, _)| matters_less(*value));
        let sent: usize = sent.filter_map(|(_, first)| self.bytes_of(data, first)).sum();
        if waiting + sent < needed {
            return false;
        }
        while !data.fits(stream, size) {
            let Some(victim) = self.victim(data, matters_less) else { return false };
            match victim {
                Victim::Waiting => {
                    if let Some((policy, failure)) = data.queue_mut().take_least() {
                        self.report(cx, policy, failure);
                    }
                }
                Victim::Sent(first) => self.give_up_sent(cx, data, first),
            }
        }
        true
    }

    /// The message that goes first.
    fn victim(&self, data: &Outbound, matters_less: impl Fn(u32) -> bool) -> Option<Victim> {
        let waiting = data.queue().least();
        let mut sent = self.by_priority();
        let sent = sent.find(|(_, first)| self.bytes_of(data, *first).is_some());
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
    fn bytes_of(&self, data: &Outbound, first: u64) -> Option<usize> {
        let message = self.message(first)?;
        let chunks = message.seqs().filter_map(|seq| data.board().get(seq));
        let is_open = |chunk: &Outstanding| chunk.state != ChunkState::GapAcked;
        let sent = chunks.fold((message.is_leaving(), 0), |(open, bytes), chunk| {
            (open || is_open(chunk), bytes + chunk.chunk.payload.len())
        });
        let rest =
            if message.is_leaving() { data.queue().begun_bytes(message.stream()) } else { 0 };
        sent.0.then_some(sent.1 + rest)
    }

    //= RFC 3758 3.4-1 3.5-1 3.5-2 3.5-4 4.3-2
    /// Gives up the message of the chunk `seq`, of which a part was sent.
    fn give_up_sent(&mut self, cx: &mut Context<'_>, data: &mut Outbound, seq: u64) {
        let now = cx.now;
        let Some(message) = self.give_up(seq) else { return };
        let (stream, policy) = (message.stream(), message.policy());
        for path in cx.paths.iter_mut() {
            path.timed.spoil(|timed| message.contains(timed));
        }
        let mut parts: Vec<NewChunk> = Vec::new();
        for seq in message.seqs() {
            // A closed window has all dropped, of whatever size.
            if data.board().is_in_flight(seq)
                && !data.peer_room().is_closed()
                && let Some(chunk) = data.board().get(seq)
            {
                // So late it is as good as lost.
                if now.since(chunk.last_sent) >= cx.paths[chunk.path].rto() {
                    let lost = LostChunk::of(data.board(), chunk, false);
                    cx.paths[chunk.path].on_lost_chunk(now, lost);
                }
                cx.paths[chunk.path].on_given_up(now);
            }
            if let Some(part) = data.board_mut().abandon(seq) {
                data.queue_mut().on_abandoned(stream, part.payload.len());
                parts.push(part);
            }
        }
        let path = data.board().get(message.last()).map_or(PathId::default(), |chunk| chunk.path);
        let rest = if message.is_leaving() { data.queue_mut().give_up_begun(stream) } else { None };
        let chunks = parts.len();
        let failure = match rest {
            Some((failure, end)) => {
                let last = data.board_mut().record_abandoned(now, path, end);
                self.extend(message.first(), last);
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
        self.move_on(cx, data);
        cx.paths.begin_opportunity(cx.profile());
    }

    /// A message was given up: it is counted, and the application told.
    fn report(&mut self, cx: &mut Context<'_>, policy: Policy, failure: SendFailure) {
        let (stream, sent) = (failure.message.stream, failure.sent);
        self.count(stream, policy.name(), sent);
        let stats = &mut cx.journal.stats;
        *if sent {
            &mut stats.messages_abandoned_sent
        } else {
            &mut stats.messages_abandoned_unsent
        } += 1;
        cx.journal.event(Event::Abandoned(failure));
    }

    /// Moves the Advanced.Peer.Ack.Point; `true` if the peer is to be told of it.
    fn move_on(&mut self, cx: &Context<'_>, data: &Outbound) -> bool {
        // What fits any packet, a TIMESTAMP beside it.
        let room = data.room_for_payload(cx.paths) + data.header_len();
        let wait = |id: PathId| cx.paths[id].rtt.srtt().unwrap_or_default();
        self.advance(data.board(), room, cx.now, wait)
    }

    //= RFC 3758 3.5-5 3.5-6 3.5-7
    /// A SACK was processed, with this outcome.
    pub(in crate::send) fn forward_after_ack(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Outbound,
        outcome: &AckOutcome,
    ) {
        if self.is_none() {
            return;
        }
        if let Some(first) = outcome.reneged.iter().min() {
            self.give_up_reneged(cx, data, outcome, *first);
        }
        let behind = self.move_on(cx, data);
        let (now, cumulative) = (cx.now, data.board().cumulative());
        let answered = self.on_ack(cumulative);
        if behind {
            // C3
            // Where a round trip takes no time, every SACK would bring another one out at once.
            let (paths, least) = (&cx.paths, cx.profile().rto.granularity());
            let wait = |id: PathId| {
                let longest = paths[id].rto();
                [paths[id].rtt.srtt().unwrap_or(longest).max(least), longest]
            };
            let heard = |id: PathId| outcome.paths.get(usize::from(id.0))?.unambiguous;
            self.repeat(now, wait, heard);
        }
        if outcome.passed == 0 {
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

    /// The peer dropped what it had said that it had, from the chunk `first` on: what would not be sent again is given up.
    #[cold]
    fn give_up_reneged(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Outbound,
        outcome: &AckOutcome,
        first: u64,
    ) {
        self.look_again(first);
        for seq in &outcome.reneged {
            if data.board().get(*seq).is_some_and(Outstanding::is_over) {
                self.give_up_sent(cx, data, *seq);
            }
        }
    }

    //= RFC 3758 3.5-14
    /// T3-rtx of `path` expired: A5. Whether something was given up before.
    pub(in crate::send) fn forward_after_timeout(
        &mut self,
        cx: &Context<'_>,
        data: &Outbound,
        path: PathId,
    ) -> bool {
        if self.is_none() {
            return false;
        }
        self.move_on(cx, data);
        self.tell_again(data.board(), cx.paths.alternate(path));
        true
    }

    /// The first chunk that is outstanding was given up: FORWARD TSN leaves again, to a peer that lives and has not got it.
    pub(in crate::send) fn repeat_forward(&mut self, cx: &Context<'_>, data: &Outbound) -> bool {
        let board = data.board();
        let first = board.get(board.cumulative() + 1);
        let path = cx.paths.data_path();
        let is_abandoned = first.is_some_and(|chunk| chunk.is_abandoned());
        if is_abandoned {
            self.tell_again(board, path);
        }
        is_abandoned
    }

    /// Writes FORWARD TSN, which is due, into a packet on `path`. Whether there was anything to tell.
    pub(in crate::send) fn write_forward(
        &mut self,
        cx: &mut Context<'_>,
        data: &Outbound,
        writer: &mut PacketWriter<'_>,
        path: PathId,
    ) -> bool {
        let now = cx.now;
        self.write(writer, data.board().is_interleaved(), (now, path), |tsn, streams| {
            cx.journal.stats.forward_tsns_sent += 1;
            cx.journal.trace(now, || TraceEvent::Forwarded { tsn, path, streams });
        })
    }
}
