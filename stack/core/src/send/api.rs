//! What the association asks of its sending half, and tells it.

use bytes::Bytes;
use tresse_wire::{StreamId, Tsn};

use super::{Context, Sender, Work, context};
use crate::config::AssociationConfig;
use crate::event::{LossCause, SendFailure, SendOptions};
use crate::handshake::Capabilities;
use crate::path::{PathId, Paths};
use crate::scoreboard::Outstanding;
use crate::time::Time;

impl Sender {
    /// INIT or INIT ACK told the peer's window, and with it how many streams there are. Returns the messages whose
    /// stream is not among them.
    pub(crate) fn begin(&mut self, a_rwnd: u32, streams: u16) -> Vec<SendFailure> {
        self.buffer.begin(a_rwnd);
        self.queue.set_streams(streams)
    }

    /// The peer has restarted. What was outstanding or waited was taken out before.
    pub(crate) fn restart(&mut self, initial_tsn: Tsn, config: &AssociationConfig) {
        let buffer = self.buffer.restarted(config.send_buffer);
        let new = Sender::new(initial_tsn, config);
        let old = std::mem::replace(self, new);
        self.abandonment = old.abandonment.restarted();
        self.queue = old.queue.restarted(config.outbound_streams, config.profile.streams.scheduler);
        self.buffer = buffer;
    }

    /// The application has other settings from now on.
    pub(crate) fn configure(&mut self, config: &AssociationConfig) {
        let streams = &config.profile.streams;
        self.buffer.configure(config.send_buffer, streams.reserve);
        self.queue.set_scheduler(streams.scheduler);
        self.max_segment = config.max_segment.unwrap_or(usize::MAX);
    }

    /// What the stream scheduler shall know of a stream.
    pub(crate) fn set_stream_value(&mut self, stream: StreamId, value: u16) {
        self.queue.set_value(stream, value);
    }

    /// What was set for it; 0 if nothing.
    pub(crate) fn stream_value(&self, stream: StreamId) -> u16 {
        self.queue.value(stream)
    }

    /// What was agreed with the peer.
    #[inline]
    pub(crate) const fn extensions(&self) -> Capabilities {
        self.extensions
    }

    /// Outbound streams.
    pub(crate) fn streams(&self) -> u16 {
        self.queue.streams()
    }

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
        self.queue.push(cx.now, stream, payload, options);
        if self.board.is_empty() {
            self.watch_window(cx);
        }
        if cx.paths.iter().all(|p| !p.bursts.has_credit()) {
            cx.paths.opportunity(cx.profile());
        }
    }

    /// There was no room for a message: the application waits for some.
    pub(crate) fn on_refused(&mut self) {
        self.buffer.on_refused();
    }

    /// Free bytes in the send buffer.
    pub(crate) fn space(&self) -> usize {
        self.buffer.send_limit().saturating_sub(self.buffered())
    }

    /// Whether the application that waits for room has some.
    pub(crate) fn has_made_room(&mut self, paths: &Paths, config: &AssociationConfig) -> bool {
        let limit = self.buffer.send_limit();
        let free = context::chosen(paths, config).free_before_writable(limit);
        let has_room = self.buffer.writer_waits() && self.buffered() <= limit - free;
        if has_room {
            self.buffer.on_writable();
        }
        has_room
    }

    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        let work = self.work.as_ref().map_or(0, |_| size_of::<Work>());
        self.queue.memory() + self.board.memory() + work + self.abandonment.memory()
    }

    /// User data that waits, as far as the peer is about to take it.
    pub(crate) fn moving(&self) -> usize {
        self.buffered().min(self.buffer.ahead())
    }

    /// The part of the endpoint's memory that is its own; no bound while there is plenty.
    #[inline(always)]
    pub(crate) const fn share(&self) -> usize {
        self.buffer.share()
    }

    /// Learns how short memory is, after this many bytes of user data.
    pub(crate) fn obey(&mut self, now: Time, share: usize, sent: u64) {
        let taken = sent.saturating_sub(self.buffered() as u64);
        self.buffer.obey(now, share, taken);
    }

    /// Gives memory back that is not needed.
    pub(crate) fn shrink_if_idle(&mut self) {
        self.board.shrink_if_idle();
    }

    /// The last TSN that is acknowledged with all before it, unwrapped.
    pub(crate) fn cumulative(&self) -> u64 {
        self.board.cumulative()
    }

    /// The sequence number of the next chunk, unwrapped.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.board.next_seq()
    }

    /// Chunks that are not acknowledged for good.
    pub(crate) fn outstanding(&self) -> usize {
        self.board.len()
    }

    /// Bytes in flight on `path`.
    pub(crate) fn flight(&self, path: PathId) -> usize {
        self.board.flight(path)
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
            && self.board.first_lost().is_none()
    }

    /// The association is established: data that left with the COOKIE ECHO now has its retransmission timer.
    pub(crate) fn establish(&mut self, cx: &mut Context<'_>) {
        for path in cx.paths.ids() {
            if self.board.earliest(path).is_some() {
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
            for seq in self.in_flight(path) {
                self.lose(cx, seq, cause);
            }
            cx.paths[path].timed.cancel();
        }
    }

    /// `path` is gone: what is in flight there leaves again over another one.
    pub(crate) fn leave_path(&mut self, cx: &mut Context<'_>, path: PathId) {
        for seq in self.in_flight(path) {
            self.lose(cx, seq, LossCause::PathFailure);
        }
        cx.paths[path].timed.cancel();
        self.distribution.leave_path(path);
        if self.abandonment.owed(path).is_some() {
            self.forward_after_timeout(cx, path);
        }
        cx.paths.opportunity(cx.profile());
    }

    /// What is in flight on `path` and larger than `room` leaves again at once: it cannot have arrived.
    pub(crate) fn lose_larger(&mut self, cx: &mut Context<'_>, path: PathId, room: usize) {
        for seq in self.in_flight(path) {
            if self.board.get(seq).is_some_and(|chunk| chunk.size() > room) {
                self.lose(cx, seq, LossCause::PathFailure);
            }
        }
        cx.paths.opportunity(cx.profile());
    }

    /// The first chunk that is outstanding is larger than `room`, and was sent three times: more than by chance is it lost.
    pub(crate) fn repeats_larger(&self, room: usize) -> bool {
        let first = self.board.get(self.board.cumulative() + 1);
        first.is_some_and(|chunk| chunk.size() > room && chunk.transmissions >= 3)
    }

    /// The peer lives, and lacks the first chunk that is outstanding: it leaves again if it is older than an RTO
    /// that is not backed off. `false` if it is not.
    pub(crate) fn resend_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let first = self.board.cumulative() + 1;
        let chunk = self.board.get(first).filter(|_| !self.peer_room().is_closed());
        let paths: &Paths = cx.paths;
        let late = |c: &Outstanding| cx.now.since(c.last_sent) >= paths[c.path].rtt.fresh();
        if !chunk.is_some_and(late) {
            return false;
        }
        if self.repeat_forward(cx) {
            return true;
        }
        self.lose(cx, first, LossCause::Timeout);
        self.overrides.retransmit_one();
        true
    }
}
