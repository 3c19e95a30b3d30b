//! User data on its way: what waits, what is outstanding, and how much the peer takes.
//!
//! It knows no path but those that it is shown, and decides nothing: what may leave is for [`Gate`](super::gate::Gate) to say, what is
//! lost for the [`Sender`](super::Sender).

mod drain;
mod reset;
mod send_buffer;

use bytes::Bytes;
use tresse_wire::{GapAckBlocks, StreamId, TIMESTAMP_CHUNK_LEN, Tsn};

use super::zero_window::PeerRoom;
use crate::config::AssociationConfig;
use crate::congestion::Controller;
use crate::event::{SendFailure, SendOptions};
use crate::handshake::Capabilities;
use crate::ids::PathId;
use crate::path::{Path, Paths};
use crate::scoreboard::{AckOutcome, SackFault, Scoreboard};
use crate::streams::send_queue::SendQueue;
use crate::time::Time;
pub(super) use drain::join;
pub(crate) use reset::OutgoingStreams;
use send_buffer::SendBuffer;

//= RFC 8260 2.1-6 2.1-7 2.1-9
//= RFC 9260 1.6-3 6.1-22
/// TSNs outstanding at most: the reach of a Gap Ack Block (RFC 9260 §3.3.4). It is far from what MIDs and FSNs would allow
/// (RFC 8260 §2.1).
pub(super) const MAX_TSNS: usize = 65_535;

/// All of it, for one association.
#[derive(Debug)]
pub(crate) struct Outbound {
    queue: SendQueue,
    board: Scoreboard,
    buffer: SendBuffer,
    /// What was agreed with the peer.
    capabilities: Capabilities,
    /// The largest user data of a chunk, if the application has set one.
    max_segment: usize,
}

impl Outbound {
    pub(super) fn new(initial_tsn: Tsn, config: &AssociationConfig) -> Outbound {
        let mut board = Scoreboard::new(initial_tsn);
        board.watch_as(&config.profile.multipath);
        board.set_counts_headers(config.profile.congestion.counts_headers);
        // Until it is known what is agreed on, what will fit a chunk is what surely does.
        board.set_interleaved(config.extensions.interleaving);
        if Controller::samples_rate(&config.profile.congestion) {
            board.sample_delivery_rates();
        }
        Outbound {
            queue: SendQueue::new(config.outbound_streams, config.profile.streams.scheduler),
            board,
            buffer: SendBuffer::new(config.send_buffer, config.profile.streams.reserve),
            capabilities: Capabilities::NONE,
            max_segment: config.max_segment.unwrap_or(usize::MAX),
        }
    }

    /// The handshake has agreed on these capabilities.
    pub(super) fn agree(&mut self, capabilities: Capabilities) {
        self.capabilities = capabilities;
        self.board.set_interleaved(capabilities.chosen.interleaving);
        self.queue.set_interleaving(capabilities.chosen.interleaving);
    }

    /// INIT or INIT ACK told the peer's window, and with it how many streams there are. Returns the messages whose
    /// stream is not among them.
    pub(super) fn begin(&mut self, a_rwnd: u32, streams: u16) -> Vec<SendFailure> {
        self.buffer.begin(a_rwnd);
        self.queue.set_streams(streams)
    }

    /// The peer has restarted. What was outstanding or waited was taken out before.
    pub(super) fn restarted(self, initial_tsn: Tsn, config: &AssociationConfig) -> Outbound {
        let scheduler = config.profile.streams.scheduler;
        Outbound {
            queue: self.queue.restarted(config.outbound_streams, scheduler),
            buffer: self.buffer.restarted(config.send_buffer),
            ..Outbound::new(initial_tsn, config)
        }
    }

    /// The application has other settings from now on.
    pub(super) fn configure(&mut self, config: &AssociationConfig) {
        let streams = &config.profile.streams;
        self.buffer.configure(config.send_buffer, streams.reserve);
        self.queue.set_scheduler(streams.scheduler);
        self.max_segment = config.max_segment.unwrap_or(usize::MAX);
    }

    /// What was set for it; 0 if nothing.
    pub(crate) fn stream_value(&self, stream: StreamId) -> u16 {
        self.queue.value(stream)
    }

    /// What was agreed with the peer.
    #[inline]
    pub(crate) const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Both ends are ECN-capable.
    #[inline]
    pub(crate) const fn has_ecn(&self) -> bool {
        self.capabilities.chosen.ecn
    }

    /// Both ends have packet drop reports.
    #[inline]
    pub(crate) const fn has_drop_reports(&self) -> bool {
        self.capabilities.chosen.packet_drop_reports
    }

    /// Outbound streams.
    pub(crate) fn streams(&self) -> u16 {
        self.queue.streams()
    }

    /// What was sent.
    #[inline]
    pub(super) const fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// What was sent, to tell it what happened.
    #[inline]
    pub(super) const fn board_mut(&mut self) -> &mut Scoreboard {
        &mut self.board
    }

    /// What waits.
    #[inline]
    pub(super) const fn queue(&self) -> &SendQueue {
        &self.queue
    }

    /// What waits, to take something out.
    #[inline]
    pub(super) const fn queue_mut(&mut self) -> &mut SendQueue {
        &mut self.queue
    }

    /// How much there may be at both ends.
    #[inline]
    pub(super) const fn buffer(&self) -> &SendBuffer {
        &self.buffer
    }

    /// A message of the application.
    pub(super) fn push(
        &mut self,
        now: Time,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) {
        self.queue.push(now, stream, payload, options);
    }

    /// There was no room for a message: the application waits for some.
    pub(super) fn on_refused(&mut self) {
        self.buffer.on_refused();
    }

    /// The application was told that there is room.
    pub(super) fn on_writable(&mut self) {
        self.buffer.on_writable();
    }

    /// A SACK with these blocks, non-renegable ones among them: what it acknowledges, in `outcome`.
    pub(super) fn on_sack(
        &mut self,
        cumulative: Tsn,
        blocks: GapAckBlocks<'_>,
        nr_blocks: GapAckBlocks<'_>,
        outcome: &mut AckOutcome,
    ) -> Result<(), SackFault> {
        let queue = &mut self.queue;
        self.board.on_nr_sack(cumulative, blocks, nr_blocks, outcome, |chunk| {
            queue.on_acked(chunk.chunk.stream, chunk.chunk.flags, chunk.chunk.payload.len());
        })
    }

    /// A Cumulative TSN Ack alone: what it acknowledges, in `outcome`.
    pub(super) fn on_cumulative_ack(
        &mut self,
        cumulative: Tsn,
        outcome: &mut AckOutcome,
    ) -> Result<(), SackFault> {
        let queue = &mut self.queue;
        self.board.on_cumulative_ack(cumulative, outcome, |chunk| {
            queue.on_acked(chunk.chunk.stream, chunk.chunk.flags, chunk.chunk.payload.len());
        })
    }

    /// A SACK told the peer's window.
    #[inline]
    pub(super) fn note_window(&mut self, a_rwnd: u32) {
        self.buffer.on_sack(a_rwnd);
    }

    /// User bytes queued or not acknowledged for good.
    pub(crate) fn buffered(&self) -> usize {
        self.queue.bytes() + self.board.buffered_user_bytes()
    }

    /// Free bytes in the send buffer.
    pub(crate) fn space(&self) -> usize {
        self.buffer.send_limit().saturating_sub(self.buffered())
    }

    /// Whether there is room for a message of `size` bytes of a stream.
    pub(crate) fn fits(&self, stream: StreamId, size: usize) -> bool {
        let buffered = self.buffered();
        buffered == 0
            || buffered + size <= self.buffer.send_limit()
            || self.buffer.reserve_takes(buffered, self.queue.held(stream), size)
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
    pub(super) fn keep_within(&mut self, now: Time, share: usize, sent: u64) {
        let taken = sent.saturating_sub(self.buffered() as u64);
        self.buffer.keep_within(now, share, taken);
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.queue.memory() + self.board.memory()
    }

    /// Gives memory back that is not needed.
    pub(super) fn shrink_if_idle(&mut self) {
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
    #[inline]
    pub(crate) fn flight(&self, path: PathId) -> usize {
        self.board.flight(path)
    }

    /// What is in flight on `path`, lowest first.
    pub(super) fn in_flight(&self, path: PathId) -> Vec<u64> {
        let mut found = Vec::new();
        self.board.for_each_in_flight(path, |seq| found.push(seq));
        found
    }

    /// Nothing is queued and nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.board.is_empty()
    }

    //= RFC 9260 6.2.1-1
    /// The peer's window less what is in flight (RFC 9260 §6.2.1 B, C, D ii).
    pub(crate) fn peer_window(&self) -> usize {
        // A TSN that no Gap Ack Block can report would be dropped; once NR-SACKs have emptied the
        // send buffer, nothing else stops before it.
        if self.board.len() >= MAX_TSNS {
            return 0;
        }
        self.buffer.a_rwnd().saturating_sub(self.board.flight_user_bytes())
    }

    /// Whether the peer has room for what is outstanding.
    pub(super) fn peer_room(&self) -> PeerRoom {
        PeerRoom::of(&self.board, self.buffer.a_rwnd())
    }

    //= RFC 9260 6.9-7
    /// The largest user data that fits a chunk on every path (AMDCS, §6.9).
    pub(super) fn room_for_payload(&self, paths: &Paths) -> usize {
        paths.amdcs() - self.header_len() - self.timestamp_len()
    }

    /// The largest user data of a new chunk.
    pub(super) fn max_payload(&self, paths: &Paths) -> usize {
        self.room_for_payload(paths).min(self.max_segment)
    }

    /// The longest message that is not cut, as long as no TIMESTAMP chunk is beside it.
    pub(crate) fn fragmentation_point(&self, paths: &Paths) -> usize {
        (paths.amdcs() - self.header_len()).min(self.max_segment)
    }

    /// Bytes of a chunk in front of its user data: of I-DATA if it was agreed on or still may be, else of DATA.
    #[inline]
    pub(super) fn header_len(&self) -> usize {
        self.board.header_len()
    }

    /// Bytes for chunks in one packet on `path`.
    pub(crate) fn room_for_chunks(&self, path: &Path) -> usize {
        path.pmdcs() - self.timestamp_len()
    }

    const fn timestamp_len(&self) -> usize {
        if self.capabilities.timestamp { TIMESTAMP_CHUNK_LEN } else { 0 }
    }

    /// Bytes of user data of the chunk that is cut next; `None` if nothing waits.
    pub(super) fn next_len(&self, paths: &Paths) -> Option<usize> {
        self.queue.next_len(self.max_payload(paths))
    }

    /// Unsent user data waits, and the peer's window has room for it.
    pub(super) fn is_ready(&self, paths: &Paths) -> bool {
        self.next_len(paths).is_some_and(|len| len <= self.peer_window())
    }

    //= RFC 9260 6.4.1-1
    /// The path that the next message names, while it works.
    ///
    /// RFC 9260 §6.4.1: "where the SCTP user explicitly requests to send data to an inactive destination transport
    /// address", an alternate active one takes it.
    #[inline] // Where no message has named one, nothing else is asked.
    pub(super) fn named_path(&self, paths: &Paths) -> Option<PathId> {
        let path = paths.find(self.queue.next_destination()?)?;
        paths[path].preferred().then_some(path)
    }

    /// Whether the next chunk may be in a packet that takes `path`.
    pub(super) fn may_carry(&self, paths: &Paths, path: PathId) -> bool {
        self.named_path(paths).is_none_or(|named| named == path)
    }

    //= RFC 9260 6.1-9
    /// Nagle: a packet that is not full waits while data is in flight (RFC 9260 §6.1, RFC 1122
    /// §4.2.3.4), unless the application turned that off.
    pub(super) fn nagle_holds(&self, paths: &Paths, config: &AssociationConfig) -> bool {
        // Without bundling a packet would not become any fuller.
        if config.no_delay || !config.bundling || self.board.total_flight() == 0 {
            return false;
        }
        let queue = &self.queue;
        // The tail of a message of which the rest has left makes no tinygram of its own: one larger
        // than a packet leaves whole, as Minshall has it for TCP.
        if queue.mid_message() {
            return false;
        }
        queue.bytes() + queue.messages() * self.header_len() < self.room_for_payload(paths)
    }
}
