//! What the association asks of its sending half, and tells it.

use std::time::Duration;

use bytes::Bytes;
use tresse_wire::StreamId;

use super::{DataPacket, Sender, Work};
use crate::config::AssociationConfig;
use crate::event::{SendFailure, SendOptions};
use crate::ids::{LossCause, PathId};
use crate::path::Paths;
use crate::reliability::Reliability;
use crate::scoreboard::Outstanding;
use crate::send::abandon::Abandonment;
use crate::send::context::{self, Context};
use crate::send::gate;
use crate::send::outbound::OutgoingStreams;
use crate::time::Time;

impl Sender {
    /// A message of the application.
    pub(crate) fn push(
        &mut self,
        cx: &mut Context<'_>,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) {
        let reliability = options.reliability.unwrap_or(cx.config.reliability);
        let options = SendOptions { reliability: Some(reliability), ..options };
        self.data.push(cx.now, stream, payload, options);
        if self.data.board().total_flight() == 0 {
            gate::watch_window(&mut self.zero_window, cx, &self.data);
        }
        if cx.paths.iter().all(|p| !p.bursts.has_credit()) {
            cx.paths.begin_opportunity(cx.profile());
        }
    }

    /// INIT or INIT ACK told the peer's window, and with it how many streams there are. Returns the messages whose stream is not
    /// among them.
    pub(crate) fn begin(&mut self, a_rwnd: u32, streams: u16) -> Vec<SendFailure> {
        self.data.begin(a_rwnd, streams)
    }

    /// Its streams, for what changes them.
    pub(crate) const fn streams_mut(&mut self) -> OutgoingStreams<'_> {
        self.data.streams_mut()
    }

    /// There was no room for a message: the application waits for some.
    pub(crate) fn on_refused(&mut self) {
        self.data.on_refused();
    }

    /// Whether the application that waits for room has some.
    pub(crate) fn has_made_room(&mut self, paths: &Paths, config: &AssociationConfig) -> bool {
        let limit = self.data.buffer().send_limit();
        let free = context::chosen(paths, config).free_before_writable(limit);
        let has_room = self.data.buffer().writer_waits() && self.data.buffered() <= limit - free;
        if has_room {
            self.data.on_writable();
        }
        has_room
    }

    /// Takes out all messages that are not acknowledged in full, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<SendFailure> {
        let messages = self.data.drain();
        self.abandonment.clear();
        messages
    }

    /// The application has other settings from now on.
    pub(crate) fn configure(&mut self, config: &AssociationConfig) {
        self.data.configure(config);
    }

    /// Learns how short memory is, after this many bytes of user data; where it `is_short`, what is not needed is given back.
    pub(crate) fn keep_within(&mut self, now: Time, share: usize, sent: u64, is_short: bool) {
        self.data.keep_within(now, share, sent);
        if is_short {
            self.data.shrink_if_idle();
        }
    }

    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        let work = self.work.as_ref().map_or(0, |_| size_of::<Work>());
        self.data.memory() + work + self.abandonment.memory()
    }

    /// Whether new chunks may leave on `path` in a packet of control chunks: nothing waits to be sent again, and they would go
    /// there in any case.
    pub(crate) fn joins_control(
        &self,
        paths: &Paths,
        config: &AssociationConfig,
        path: PathId,
    ) -> bool {
        context::chosen(paths, config).joins_control(paths, path)
            && self.data.board().first_lost().is_none()
    }

    /// The association is established: data that left with the COOKIE ECHO now has its retransmission timer.
    pub(crate) fn establish(&mut self, cx: &mut Context<'_>) {
        for path in cx.paths.ids() {
            if self.data.board().earliest(path).is_some() {
                cx.arm_t3(path, &self.zero_window);
            }
        }
    }

    /// No timer of its own runs any more; those of the paths are stopped apart.
    pub(crate) fn stop_timers(&mut self) {
        self.zero_window.stop_timer();
    }

    /// Declares everything in flight lost: the packets that carried it are known to be void.
    pub(crate) fn lose_all(&mut self, cx: &mut Context<'_>, cause: LossCause) {
        for path in cx.paths.ids() {
            for seq in self.data.in_flight(path) {
                self.lose(cx, seq, cause);
            }
            cx.paths[path].timed.cancel();
        }
    }

    /// `path` is gone: what is in flight there leaves again over another one.
    pub(crate) fn leave_path(&mut self, cx: &mut Context<'_>, path: PathId) {
        for seq in self.data.in_flight(path) {
            self.lose(cx, seq, LossCause::PathFailure);
        }
        cx.paths[path].timed.cancel();
        self.distribution.leave_path(path);
        self.recovery.on_path_gone(path);
        if self.abandonment.owed(path).is_some() {
            self.forward_after_timeout(cx, path);
        }
        cx.paths.begin_opportunity(cx.profile());
    }

    /// What is in flight on `path`, in packets with more than `room` bytes of chunks that left at least `age` ago, leaves again at
    /// once: it cannot have arrived.
    pub(crate) fn lose_larger(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        room: usize,
        age: Duration,
    ) {
        let mut any = false;
        for seq in self.data.in_flight(path) {
            let board = self.data.board();
            let is_lost = |chunk: &Outstanding| {
                board.bundle_len(chunk) > room && cx.now.since(chunk.last_sent) >= age
            };
            if board.get(seq).is_some_and(is_lost) {
                any |= self.lose(cx, seq, LossCause::PathFailure) != 0;
            }
        }
        if any {
            // Who waits for an answer to it would wait for ever.
            self.overrides.retransmit_one();
        }
        cx.paths.begin_opportunity(cx.profile());
    }

    /// The peer lives, and lacks the first chunk that is outstanding: it leaves again if it is older than an RTO
    /// that is not backed off, and on the path that is asked for. `false` if it is not.
    pub(crate) fn resend_overdue(&mut self, cx: &mut Context<'_>, on: Option<PathId>) -> bool {
        let first = self.data.board().cumulative() + 1;
        // What was given up needs no room.
        let may_leave = |c: &&Outstanding| {
            (c.is_abandoned() || !self.data.peer_room().is_closed())
                && on.is_none_or(|path| path == c.path)
        };
        let chunk = self.data.board().get(first).filter(may_leave);
        let paths: &Paths = cx.paths;
        let late = |c: &Outstanding| cx.now.since(c.last_sent) >= paths[c.path].rtt.fresh();
        if !chunk.is_some_and(late) {
            return false;
        }
        if self.abandonment.repeat_forward(cx, &self.data) {
            return true;
        }
        self.lose(cx, first, LossCause::Timeout);
        self.overrides.retransmit_one();
        true
    }

    /// T3-rtx of `path` expired, or the path is gone, and it owes an answer to FORWARD TSN: that is told again.
    pub(super) fn forward_after_timeout(&mut self, cx: &mut Context<'_>, path: PathId) {
        // What was lost is given up, and nothing leaves again.
        if self.abandonment.forward_after_timeout(cx, &self.data, path)
            && self.data.board().first_lost().is_none()
        {
            self.overrides.on_retransmitted();
        }
    }

    /// Gives up the messages whose time is over.
    pub(crate) fn expire(&mut self, cx: &mut Context<'_>) {
        self.abandonment.expire(cx, &mut self.data);
    }

    /// Some message may be too old by now.
    #[inline]
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        let is_past = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        is_past(self.data.queue().deadline()) || is_past(self.abandonment.deadline())
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
        self.abandonment.make_room(cx, &mut self.data, stream, size, reliability)
    }

    /// Messages that are given up.
    #[inline]
    pub(crate) const fn abandonment(&self) -> &Abandonment {
        &self.abandonment
    }

    /// Something was given up since this was asked last.
    #[inline]
    pub(crate) fn take_left_room(&mut self) -> bool {
        self.abandonment.take_left_room()
    }

    /// Writes a FORWARD TSN chunk, which is due, into a packet on `path`.
    pub(crate) fn write_forward(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>) {
        let path = packet.path();
        let written = self.abandonment.write_forward(cx, &self.data, packet.writer(), path);
        // RFC 3758 §3.5 C5
        if written && !cx.paths[path].t3.is_running() {
            cx.arm_t3(path, &self.zero_window);
        }
    }
}
