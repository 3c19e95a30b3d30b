//! Concurrent multipath transfer: which path carries what, while several do at once
//! (draft-tuexen-tsvwg-sctp-multipath; Sarnow 2017 §3.2).

use smallvec::SmallVec;

use super::Association;
use crate::event::LossCause;
use crate::path::scheduler::{PathView, View};
use crate::path::{Path, PathId, rtx_policy};
use crate::profile::{BufferSplitting, RetransmissionPolicy};
use crate::recovery::chunk_rescheduling::Buffers;
use crate::scoreboard::{Eligibility, Outstanding, PathAck};
use crate::time::Time;

/// Lost chunks that are looked at for one whose path has room. Those beyond have their turn when
/// some of these have left.
const MAX_LOST_SCANNED: usize = 64;

pub(super) type PathViews = SmallVec<[PathView; 4]>;

impl Association {
    /// Several paths may carry data at once.
    pub(super) fn is_concurrent(&self) -> bool {
        self.config.concurrent_transfer && self.paths.len() > 1
    }

    /// Bytes that may be in flight on `path`.
    pub(super) fn window(&self, path: PathId) -> usize {
        let p = &self.paths[path];
        if self.is_concurrent() { p.window.limited() } else { p.window.cwnd() }
    }

    /// After a cut: with several paths the window need not fall below what this one holds without a queue.
    pub(super) fn spare_window(&mut self, path: PathId) {
        if self.is_concurrent() {
            self.paths[path].window.spare();
        }
    }

    /// Measures the path by what a SACK acknowledged on it.
    pub(super) fn watch_queue(&mut self, now: Time, path: PathId, ack: &PathAck, next: u64) {
        if self.is_concurrent() {
            self.paths[path].window.watch_queue(now, ack, next);
        }
    }

    /// Whether pacing holds packets back on `path`.
    pub(super) fn is_held_back(&self, path: PathId) -> bool {
        self.is_concurrent() && self.paths[path].bursts.is_held_back()
    }

    /// The paths that carry data: those that can, or the one that RFC 9260 §6.4 names.
    fn carriers(&self) -> impl Iterator<Item = PathId> {
        let any = self.paths.iter().any(Path::preferred);
        let fallback = self.paths.data_path();
        self.paths
            .iter()
            .filter(move |p| if any { p.preferred() } else { p.id == fallback })
            .map(|p| p.id)
    }

    fn path_views(&self, now: Time) -> PathViews {
        let fastest = self.paths.iter().filter(|p| p.usable()).filter_map(|p| p.rtt.srtt()).min();
        let view = |id: PathId| {
            let p = &self.paths[id];
            PathView {
                id,
                open: self.may_send_new(id),
                srtt: p.round_trip(now).or(fastest).unwrap_or_default(),
                rttvar: p.rtt.rttvar(),
                cwnd: p.window.limited(),
                ssthresh: p.window.ssthresh(),
                flight: self.sender.board.flight(id),
                loss: p.loss_rate(),
            }
        };
        self.carriers().map(view).collect()
    }

    fn sending_view<'a>(&self, paths: &'a [PathView]) -> View<'a> {
        let sender = &self.sender;
        View {
            paths,
            primary: self.paths.primary(),
            queued: sender.queue.bytes(),
            window: sender
                .room
                .limit()
                .min(sender.room.a_rwnd() + sender.board.flight_user_bytes()),
            mss: self.paths.amdcs(),
            blocked: sender.spread.blocked(),
        }
    }

    /// Where the next packet of new data goes; `None` if none may leave now.
    pub(super) fn new_data_path(&mut self, now: Time) -> Option<PathId> {
        if !self.is_concurrent() {
            let path = self.paths.data_path();
            self.decay_idle(now, path);
            return self.may_send_new(path).then_some(path);
        }
        for i in 0..self.paths.len() {
            self.decay_idle(now, PathId(i as u8));
        }
        let paths = self.path_views(now);
        if paths.iter().all(|p| !p.open) {
            return None;
        }
        let view = self.sending_view(&paths);
        // Nobody hands over a path that is not open.
        self.sender.spread.choose(&view).filter(|id| self.may_send_new(*id))
    }

    /// A packet of new data may leave on some path.
    pub(super) fn may_send_new_somewhere(&self) -> bool {
        if self.is_concurrent() {
            self.carriers().any(|id| self.may_send_new(id))
        } else {
            self.may_send_new(self.paths.data_path())
        }
    }

    /// When pacing lets the next packet go.
    pub(super) fn pacing_deadline(&self) -> Option<Time> {
        self.paths.iter().filter_map(|p| p.bursts.deadline()).min()
    }

    /// The opportunity to send is over. Notes what kept data from a path with room.
    pub(super) fn note_blocking(&mut self) {
        if !self.is_concurrent() {
            return;
        }
        let next = self.sender.queue.next_len(self.max_payload());
        let blocked = match next {
            Some(len) => len > self.sender.peer_window(),
            None => self.sender.room.writer_waits(),
        };
        if blocked && self.carriers().any(|id| self.cwnd_allows(id)) {
            self.sender.spread.on_blocked();
        }
        let waiting = next.is_some() || self.sender.board.first_lost().is_some();
        for i in 0..self.paths.len() {
            let flight = self.sender.board.flight(PathId(i as u8));
            let p = &mut self.paths[PathId(i as u8)];
            let room = flight < p.window.limited();
            p.bursts.wait(room && waiting);
            if room && !p.bursts.is_held_back() {
                p.window.on_starved();
            }
        }
    }

    /// Whether the path is within its share of the buffers.
    pub(super) fn share_allows(&self, path: PathId) -> bool {
        // §6.1 A: "Senders MUST support zero window probing": the shares of no room at all are nothing.
        let probes = self.sender.zero_window.may_probe(self.sender.board.total_flight());
        if !self.is_concurrent() || probes {
            return true;
        }
        let (board, n) = (&self.sender.board, self.carriers().count().max(1));
        let send_share = self.sender.room.limit() / n;
        let receive_share = (self.sender.room.a_rwnd() + board.flight_user_bytes()) / n;
        match self.profile().multipath.buffer_splitting {
            BufferSplitting::None => true,
            BufferSplitting::Outstanding => board.flight(path) < send_share.min(receive_share),
            BufferSplitting::Buffered => {
                board.buffered_on(path) < send_share && board.flight(path) < receive_share
            }
        }
    }

    /// The lowest lost chunk that may leave now, and its path. `now_or_never` lets one leave
    /// whatever cwnd says (RFC 9260 §7.2.4 rule 3, §6.3.3 E3).
    pub(super) fn next_lost(&self, now: Time, now_or_never: bool) -> Option<(u64, PathId)> {
        let board = &self.sender.board;
        let first = board.first_lost()?;
        let scanned = if self.is_concurrent() { MAX_LOST_SCANNED } else { 1 };
        let paths = self.retransmission_views(now);
        std::iter::successors(Some(first), |seq| board.next_lost(*seq))
            .take(scanned)
            .filter_map(|seq| {
                let chunk = board.get(seq)?;
                let path = || self.retransmission_path(&paths, chunk);
                Some((seq, self.shutdown.answer.unwrap_or_else(path)))
            })
            .find(|(_, path)| now_or_never || self.cwnd_allows(*path))
    }

    /// What [`retransmission_path`](Self::retransmission_path) chooses from; empty unless several
    /// paths carry data.
    pub(super) fn retransmission_views(&self, now: Time) -> PathViews {
        if self.is_concurrent() { self.path_views(now) } else { PathViews::new() }
    }

    /// Where a lost chunk goes when several paths carry data.
    pub(super) fn concurrent_retransmission_path(
        &self,
        paths: &[PathView],
        chunk: &Outstanding,
    ) -> PathId {
        let last = chunk.path;
        if chunk.cause == Some(LossCause::Rescheduled) {
            // The point is to take another one, the fastest.
            let others: PathViews = paths.iter().copied().filter(|p| p.id != last).collect();
            let fastest = rtx_policy::choose(RetransmissionPolicy::MinRtt, last, &others);
            return fastest.unwrap_or(last);
        }
        let paths = self.promising(paths);
        if chunk.cause == Some(LossCause::Timeout) && self.is_in_vain(chunk) {
            let next = rtx_policy::choose(RetransmissionPolicy::Alternate, last, &paths);
            return next.filter(|id| *id != last).unwrap_or_else(|| self.paths.alternate(last));
        }
        let policy = self.profile().multipath.retransmission;
        rtx_policy::choose(policy, last, &paths).unwrap_or_else(|| self.paths.data_path())
    }

    /// Those of the paths where something comes through, as far as is known: they have not timed out
    /// twice since anything sent there was acknowledged. If there is none, all of them.
    ///
    /// The policies of the papers compare paths that work. Of one that does not, a good round-trip time
    /// or window is a memory: it would be chosen for ever, while another one works.
    fn promising(&self, paths: &[PathView]) -> PathViews {
        let comes_through = |p: &&PathView| self.paths[p.id].t3.in_a_row() <= 1;
        let found: PathViews = paths.iter().filter(comes_through).copied().collect();
        if found.is_empty() { paths.into() } else { found }
    }

    //= RFC 9260 6.4.1-2
    /// Whether what timed out has had its chance: it was sent twice, or twice nothing came through on its
    /// path. Then it goes round the paths, whatever the policy, as with one path at a time (RFC 9260
    /// §6.4.1).
    fn is_in_vain(&self, chunk: &Outstanding) -> bool {
        chunk.transmissions > 1 || self.paths[chunk.path].t3.in_a_row() > 1
    }

    /// Whether chunks that leave again can be struck again.
    pub(super) fn eligibility(&self) -> Eligibility {
        let multipath = &self.profile().multipath;
        if self.profile().fast_retransmit.repeat {
            Eligibility::Repeat
        } else if self.is_concurrent() {
            Eligibility::Multipath {
                smart: multipath.smart_fast_retransmit,
                same_path: multipath.fast_retransmit_again,
            }
        } else {
            Eligibility::Rule5
        }
    }

    /// Sends again, over another path, what holds up the buffers.
    pub(super) fn reschedule(&mut self, now: Time) {
        if !self.is_concurrent() {
            return;
        }
        let sender = &mut self.sender;
        let buffers = Buffers {
            sending: sender.buffered(),
            send_limit: sender.room.limit(),
            receiving: sender.room.peer_holds(),
            receive_limit: sender.room.peer_buffer(),
        };
        let parameters = &self.config.profile.multipath;
        let paths = &self.paths;
        let srtt = |path: PathId| paths[path].rtt.srtt().unwrap_or_else(|| paths[path].rto());
        let found = sender.spread.reschedule(now, parameters, &buffers, &sender.board, srtt);
        let Some(range) = found else { return };
        let blocking = sender.board.get(range.start).map(|c| c.path);
        for seq in range {
            if self.sender.board.get(seq).map(|c| c.path) == blocking {
                self.lose(now, seq, LossCause::Rescheduled);
            }
        }
    }

    /// A thin stream goes over all paths at once: copies of the packet that has just left.
    pub(super) fn plan_copies(&mut self, path: PathId, seqs: &std::ops::Range<u64>) {
        let thin = self.sender.is_thin();
        if self.is_concurrent() && self.sender.spread.duplicates(thin) {
            let others: SmallVec<[PathId; 4]> = self.carriers().filter(|id| *id != path).collect();
            self.sender.spread.plan_copies(others.into_iter(), seqs);
        }
    }
}
