//! What may be sent now, and where (RFC 9260 §6.1, §6.4): windows, bursts, Nagle, room in a packet.

use tresse_wire::{DATA_HEADER_LEN, TIMESTAMP_CHUNK_LEN, data_chunk_len};

use super::super::{Association, State};
use crate::event::LossCause;
use crate::path::PathId;
use crate::path::scheduler::PathView;
use crate::scoreboard::Outstanding;

impl Association {
    /// DATA may be sent in this state.
    pub(in crate::association) fn may_send_data(&self) -> bool {
        self.state.may_send_data()
    }

    /// F-RTO waits for a SACK. If none can come it waits for nothing.
    pub(super) fn holds_retransmissions(&self) -> bool {
        self.sender.recovery.spurious.holds_retransmissions()
            && (self.sender.board.total_flight() > 0
                || self.sender.permits.retransmits_now()
                || self.may_send_new_somewhere())
    }

    //= RFC 9260 6.4-4 6.4-5
    /// §6.4: what timed out goes to another active address, a fast retransmission to the same one.
    pub(in crate::association) fn retransmission_path(
        &self,
        views: &[PathView],
        chunk: &Outstanding,
    ) -> PathId {
        let last = chunk.path;
        if self.is_concurrent() {
            return self.concurrent_retransmission_path(views, chunk);
        }
        match chunk.cause {
            Some(LossCause::Timeout) => self.paths.alternate(last),
            // §7.3: a path that says what fits through it works, and takes it in fragments.
            Some(LossCause::PathFailure) if self.paths[last].usable() => last,
            // RFC 2960 §6.4 made no difference.
            Some(_) if self.profile().fast_retransmit.alternate_path => self.paths.alternate(last),
            _ if self.paths[last].preferred() => last,
            _ => self.paths.data_path(),
        }
    }

    //= RFC 9260 6.9-7
    /// The largest user data that fits a chunk on every path (AMDCS, §6.9).
    pub(in crate::association) fn max_payload(&self) -> usize {
        let timestamp = if self.sender.extensions.timestamp { TIMESTAMP_CHUNK_LEN } else { 0 };
        self.paths.amdcs() - DATA_HEADER_LEN - timestamp
    }

    //= RFC 9260 6.1-10 6.1-11 6.1-12 7.2-1 7.2-2 7.2.1-4
    /// §6.1 B: a packet may breach cwnd if flight has not reached it.
    pub(in crate::association) fn cwnd_allows(&self, path: PathId) -> bool {
        // §7.2.3: after a timeout, "no more than one SCTP packet will be in flight for that
        // address until the endpoint receives acknowledgement".
        let flight = self.sender.board.flight(path);
        let more = !self.paths[path].window.is_one_packet() && !self.is_held_back(path);
        flight == 0 || (more && flight < self.window(path))
    }

    /// After a timeout new chunks fill the one packet up, in packets of their own.
    pub(super) fn fills_lone_packet(&self, path: PathId) -> bool {
        self.paths[path].window.is_one_packet()
            && self.profile().congestion.fill_packet_after_timeout
    }

    /// Whether a chunk with `len` bytes of user data still has room there.
    pub(super) fn fits_lone_packet(&self, path: PathId, len: usize) -> bool {
        let flight = self.sender.board.flight(path) + data_chunk_len(len);
        flight <= self.window(path).min(self.paths[path].pmdcs()) && !self.is_held_back(path)
    }

    //= RFC 9260 6.1-17
    /// Whether a packet may begin with a new chunk on `path`.
    pub(in crate::association) fn may_send_new(&self, path: PathId) -> bool {
        let sender = &self.sender;
        let Some(len) = sender.queue.next_len(self.max_payload()) else { return false };
        //= RFC 9260 6.1-2 6.1-3
        // §6.1 A: no new data beyond the peer's window, except zero window probes.
        let window = len <= sender.peer_window()
            || sender.zero_window.may_probe(sender.board.total_flight());
        let fills = self.fills_lone_packet(path) && self.fits_lone_packet(path, len);
        let cwnd = fills || self.cwnd_allows(path);
        let cwnd = (cwnd || sender.permits.has_extra()) && self.share_allows(path);
        let p = &self.paths[path];
        // Pacing does away with bursts by itself.
        let burst = p.bursts.has_credit() || (p.bursts.is_paced() && self.is_concurrent());
        // Once the application shuts down, it can add nothing that would be worth waiting for.
        window && cwnd && burst && !(self.state == State::Established && self.nagle_holds())
    }

    //= RFC 9260 6.1-9
    /// Nagle: a packet that is not full waits while data is in flight (RFC 9260 §6.1, RFC 1122
    /// §4.2.3.4), unless the application turned that off.
    fn nagle_holds(&self) -> bool {
        // Without bundling a packet would not become any fuller.
        if self.config.no_delay || !self.config.bundling || self.sender.board.total_flight() == 0 {
            return false;
        }
        let queue = &self.sender.queue;
        // The tail of a message of which the rest has left makes no tinygram of its own: one larger
        // than a packet leaves whole, as Minshall has it for TCP.
        if queue.mid_message() {
            return false;
        }
        queue.bytes() + queue.messages() * DATA_HEADER_LEN < self.max_payload()
    }

    //= RFC 9260 6.1-16 6.9-8
    /// A SACK is bundled unless it would push the first chunk out of the packet; one that must go
    /// then leaves alone, before the data.
    pub(super) fn sack_leaves_room(&self, path: PathId, lost: bool) -> bool {
        let Some(receiver) = &self.receiver else { return false };
        let chunk = if lost {
            let first = self.sender.board.first_lost();
            first.and_then(|seq| self.sender.board.get(seq)).map(|c| c.size())
        } else {
            self.sender.queue.next_len(self.max_payload()).map(data_chunk_len)
        };
        let sack = receiver.sack_bound();
        let timestamp = if self.sender.extensions.timestamp { TIMESTAMP_CHUNK_LEN } else { 0 };
        let room = self.paths[path].pmdcs() - timestamp;
        chunk.is_none_or(|chunk| chunk + sack <= room)
    }
}
