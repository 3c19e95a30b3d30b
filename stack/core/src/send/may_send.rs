//! What may be sent now, and where (RFC 9260 §6.1, §6.4): windows, bursts, Nagle, room in a packet.

use tresse_wire::TIMESTAMP_CHUNK_LEN;

use super::{Context, Sender, zero_window};
use crate::path::{Path, PathId, Paths};
use crate::state::State;

impl Sender {
    /// A detector of spurious timeouts waits for a SACK. If none can come it waits for nothing.
    pub(super) fn holds_retransmissions(&self, cx: &Context<'_>) -> bool {
        self.recovery.holds_retransmissions()
            && (self.board.total_flight() > 0
                || self.overrides.retransmits_now()
                || self.may_send_somewhere(cx))
    }

    /// The lowest lost chunk that may leave now, and its path. `now_or_never` lets one leave
    /// whatever cwnd says (RFC 9260 §7.2.4 rule 3, §6.3.3 E3).
    pub(super) fn next_lost(
        &self,
        cx: &Context<'_>,
        answer: Option<PathId>,
        now_or_never: bool,
    ) -> Option<(u64, PathId)> {
        let board = &self.board;
        let first = board.first_lost()?;
        let mut views = cx.strategy.views(self, cx);
        let lost = std::iter::successors(Some(first), |seq| board.next_lost(*seq));
        for seq in lost.take(cx.strategy.scanned()) {
            let chunk = board.get(seq)?;
            let path = answer.unwrap_or_else(|| cx.strategy.retransmission_path(cx, &views, chunk));
            let path = cx.paths.living(path);
            if now_or_never || self.cwnd_allows(cx, path) {
                return Some((seq, path));
            }
            // It waits for that path, before those behind it.
            for view in views.iter_mut().filter(|view| view.id == path) {
                view.flight += chunk.size();
            }
        }
        None
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
    pub(crate) fn header_len(&self) -> usize {
        self.board.header_len()
    }

    /// Bytes for chunks in one packet on `path`.
    pub(crate) fn room_for_chunks(&self, path: &Path) -> usize {
        path.pmdcs() - self.timestamp_len()
    }

    const fn timestamp_len(&self) -> usize {
        if self.extensions.timestamp { TIMESTAMP_CHUNK_LEN } else { 0 }
    }

    //= RFC 9260 6.1-10 6.1-11 6.1-12 7.2-1 7.2-2 7.2.1-4
    /// §6.1 B: a packet may breach cwnd if flight has not reached it.
    pub(super) fn cwnd_allows(&self, cx: &Context<'_>, path: PathId) -> bool {
        // §7.2.3: after a timeout, "no more than one SCTP packet will be in flight for that
        // address until the endpoint receives acknowledgement".
        let flight = self.board.flight(path);
        let more =
            !cx.paths[path].window.is_one_packet() && !cx.strategy.is_held_back(&cx.paths[path]);
        flight == 0 || (more && flight < cx.strategy.window(&cx.paths[path]))
    }

    /// After a timeout new chunks fill the one packet up, in packets of their own.
    pub(super) fn fills_lone_packet(&self, cx: &Context<'_>, path: PathId) -> bool {
        cx.paths[path].window.is_one_packet() && cx.profile().congestion.fill_packet_after_timeout
    }

    /// Whether a chunk with `len` bytes of user data still has room there.
    pub(super) fn fits_lone_packet(&self, cx: &Context<'_>, path: PathId, len: usize) -> bool {
        let flight = self.board.flight(path) + self.board.chunk_len(len);
        flight <= cx.strategy.window(&cx.paths[path]).min(cx.paths[path].pmdcs())
            && !cx.strategy.is_held_back(&cx.paths[path])
    }

    //= RFC 8260 2.2.2-4
    //= RFC 9260 6.1-17
    /// Whether a packet may begin with a new chunk on `path`.
    pub(super) fn may_send_new(&self, cx: &Context<'_>, path: PathId) -> bool {
        let Some(len) = self.queue.next_len(self.max_payload(cx.paths)) else { return false };
        let window = self.zero_window.takes_new(len, self.peer_window(), self.board.total_flight());
        let fills = self.fills_lone_packet(cx, path) && self.fits_lone_packet(cx, path, len);
        let cwnd = fills || self.cwnd_allows(cx, path);
        let cwnd = (cwnd || self.overrides.has_extra()) && cx.strategy.share_allows(self, cx, path);
        let p = &cx.paths[path];
        // Pacing does away with bursts by itself.
        let burst = p.bursts.has_credit() || cx.strategy.is_paced(p);
        // Once the application shuts down, it can add nothing that would be worth waiting for.
        window && cwnd && burst && !(cx.state == State::Established && self.nagle_holds(cx))
    }

    //= RFC 9260 6.4.1-1
    /// The path that the next message names, while it works.
    ///
    /// RFC 9260 §6.4.1: "where the SCTP user explicitly requests to send data to an inactive destination transport
    /// address", an alternate active one takes it.
    pub(super) fn named_path(&self, cx: &Context<'_>) -> Option<PathId> {
        let path = cx.paths.find(self.queue.next_destination()?)?;
        cx.paths[path].preferred().then_some(path)
    }

    /// New data may leave.
    fn may_send_somewhere(&self, cx: &Context<'_>) -> bool {
        match self.named_path(cx) {
            Some(path) => self.may_send_new(cx, path),
            None => cx.strategy.may_send_new(self, cx),
        }
    }

    /// Whether the next chunk may be in a packet that takes `path`.
    pub(super) fn may_carry(&self, cx: &Context<'_>, path: PathId) -> bool {
        self.named_path(cx).is_none_or(|named| named == path)
    }

    /// Nothing leaves any more: paths that could carry more say nothing of what they could carry. A peer that has no
    /// room is as good as a path that has none (draft-ietf-ccwg-bbr-06 §4.1.1).
    pub(super) fn note_app_limited(&mut self, cx: &Context<'_>) {
        if !self.board.samples_delivery_rates() {
            return;
        }
        let next = self.queue.next_len(self.max_payload(cx.paths));
        let closed = next.is_some_and(|len| len > self.peer_window());
        if closed || self.board.first_lost().is_some() {
            return;
        }
        for p in cx.paths.iter().filter(|p| p.window.control().samples_rate()) {
            let flight = self.board.flight(p.id);
            if flight < cx.strategy.window(p) && !cx.strategy.is_held_back(p) {
                self.board.note_app_limited(p.id);
            }
        }
    }

    /// Notices a closed window (RFC 9260 §6.1 A).
    pub(super) fn watch_window(&mut self, cx: &mut Context<'_>) {
        let max_payload = self.fragmentation_point(cx.paths);
        let room = self.peer_window();
        let is_closed =
            || self.queue.next_len(max_payload).is_some_and(|len| zero_window::is_probe(len, room));
        // Where any chunk has room it does not matter which is next.
        if !(room < max_payload && is_closed()) {
            self.zero_window.on_open();
            return;
        }
        let rto = || cx.paths[cx.paths.data_path()].rto();
        let half_open = self.buffer.is_half_open();
        self.zero_window.on_closed(cx.now, &self.board, half_open, rto, cx.profile().rto.max());
    }

    //= RFC 9260 6.1-9
    /// Nagle: a packet that is not full waits while data is in flight (RFC 9260 §6.1, RFC 1122
    /// §4.2.3.4), unless the application turned that off.
    fn nagle_holds(&self, cx: &Context<'_>) -> bool {
        // Without bundling a packet would not become any fuller.
        if cx.config.no_delay || !cx.config.bundling || self.board.total_flight() == 0 {
            return false;
        }
        let queue = &self.queue;
        // The tail of a message of which the rest has left makes no tinygram of its own: one larger
        // than a packet leaves whole, as Minshall has it for TCP.
        if queue.mid_message() {
            return false;
        }
        queue.bytes() + queue.messages() * self.header_len() < self.room_for_payload(cx.paths)
    }
}
