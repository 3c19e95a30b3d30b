//! Concurrent multipath transfer: which path carries what, while several do at once
//! (draft-tuexen-tsvwg-sctp-multipath; Sarnow 2017 §3.2).

use smallvec::SmallVec;

use super::{Context, Sender};
use crate::event::LossCause;
use crate::path::scheduler::{PathView, View};
use crate::path::{PathId, Paths, rtx_policy};
use crate::profile::{BufferSplitting, RetransmissionPolicy};
use crate::recovery::Buffers;
use crate::scoreboard::{Eligibility, Outstanding};

/// Lost chunks that are looked at for one whose path has room. Those beyond have their turn when
/// some of these have left.
const MAX_LOST_SCANNED: usize = 64;

pub(super) type PathViews = SmallVec<[PathView; 4]>;

impl Sender {
    fn path_views(&self, cx: &Context<'_>) -> PathViews {
        let now = cx.now;
        let fastest = cx.paths.iter().filter(|p| p.usable()).filter_map(|p| p.rtt.srtt()).min();
        let view = |id: PathId| {
            let p = &cx.paths[id];
            PathView {
                id,
                open: self.may_send_new(cx, id),
                srtt: p.round_trip(now).or(fastest).unwrap_or_default(),
                rttvar: p.rtt.rttvar(),
                cwnd: p.window.limited(),
                ssthresh: p.window.ssthresh(),
                flight: self.board.flight(id),
                loss: p.loss_rate(),
            }
        };
        cx.carriers().map(view).collect()
    }

    fn sending_view<'a>(&self, cx: &Context<'_>, paths: &'a [PathView]) -> View<'a> {
        View {
            paths,
            primary: cx.paths.primary(),
            queued: self.queue.bytes(),
            window: self.room.limit().min(self.room.a_rwnd() + self.board.flight_user_bytes()),
            mss: cx.paths.amdcs(),
            blocked: self.spread.blocked(),
        }
    }

    /// Where the next packet of new data goes; `None` if none may leave now.
    pub(super) fn new_data_path(&mut self, cx: &mut Context<'_>) -> Option<PathId> {
        if !cx.is_concurrent() {
            let path = cx.paths.data_path();
            self.decay_idle(cx, path);
            return self.may_send_new(cx, path).then_some(path);
        }
        for i in 0..cx.paths.len() {
            self.decay_idle(cx, PathId(i as u8));
        }
        let paths = self.path_views(cx);
        if paths.iter().all(|p| !p.open) {
            return None;
        }
        let view = self.sending_view(cx, &paths);
        // Nobody hands over a path that is not open.
        self.spread.choose(&view).filter(|id| self.may_send_new(cx, *id))
    }

    /// A packet of new data may leave on some path.
    pub(super) fn may_send_new_somewhere(&self, cx: &Context<'_>) -> bool {
        if cx.is_concurrent() {
            cx.carriers().any(|id| self.may_send_new(cx, id))
        } else {
            self.may_send_new(cx, cx.paths.data_path())
        }
    }

    /// The opportunity to send is over. Notes what kept data from a path with room.
    pub(super) fn note_blocking(&mut self, cx: &mut Context<'_>) {
        if !cx.is_concurrent() {
            return;
        }
        let next = self.queue.next_len(self.max_payload(cx.paths));
        let blocked = match next {
            Some(len) => len > self.peer_window(),
            None => self.room.writer_waits(),
        };
        if blocked && cx.carriers().any(|id| self.cwnd_allows(cx, id)) {
            self.spread.on_blocked();
        }
        let waiting = next.is_some() || self.board.first_lost().is_some();
        for i in 0..cx.paths.len() {
            let flight = self.board.flight(PathId(i as u8));
            let p = &mut cx.paths[PathId(i as u8)];
            let room = flight < p.window.limited();
            p.bursts.wait(room && waiting);
            if room && !p.bursts.is_held_back() {
                p.window.on_starved();
            }
        }
    }

    /// Whether the path is within its share of the buffers.
    pub(super) fn share_allows(&self, cx: &Context<'_>, path: PathId) -> bool {
        // §6.1 A: "Senders MUST support zero window probing": the shares of no room at all are nothing.
        let probes = self.zero_window.may_probe(self.board.total_flight());
        if !cx.is_concurrent() || probes {
            return true;
        }
        let (board, n) = (&self.board, cx.carriers().count().max(1));
        let send_share = self.room.limit() / n;
        let receive_share = (self.room.a_rwnd() + board.flight_user_bytes()) / n;
        match cx.profile().multipath.buffer_splitting {
            BufferSplitting::None => true,
            BufferSplitting::Outstanding => board.flight(path) < send_share.min(receive_share),
            BufferSplitting::Buffered => {
                board.buffered_on(path) < send_share && board.flight(path) < receive_share
            }
        }
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
        let scanned = if cx.is_concurrent() { MAX_LOST_SCANNED } else { 1 };
        let paths = self.retransmission_views(cx);
        std::iter::successors(Some(first), |seq| board.next_lost(*seq))
            .take(scanned)
            .filter_map(|seq| {
                let chunk = board.get(seq)?;
                let path = || self.retransmission_path(cx, &paths, chunk);
                Some((seq, answer.unwrap_or_else(path)))
            })
            .find(|(_, path)| now_or_never || self.cwnd_allows(cx, *path))
    }

    /// What [`retransmission_path`](Self::retransmission_path) chooses from; empty unless several
    /// paths carry data.
    pub(super) fn retransmission_views(&self, cx: &Context<'_>) -> PathViews {
        if cx.is_concurrent() { self.path_views(cx) } else { PathViews::new() }
    }

    /// Where a lost chunk goes when several paths carry data.
    pub(super) fn concurrent_retransmission_path(
        &self,
        cx: &Context<'_>,
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
        let paths = promising(cx.paths, paths);
        if chunk.cause == Some(LossCause::Timeout) && is_in_vain(cx.paths, chunk) {
            let next = rtx_policy::choose(RetransmissionPolicy::Alternate, last, &paths);
            return next.filter(|id| *id != last).unwrap_or_else(|| cx.paths.alternate(last));
        }
        let policy = cx.profile().multipath.retransmission;
        rtx_policy::choose(policy, last, &paths).unwrap_or_else(|| cx.paths.data_path())
    }

    /// Whether chunks that leave again can be struck again.
    pub(super) fn eligibility(&self, cx: &Context<'_>) -> Eligibility {
        let multipath = &cx.profile().multipath;
        if cx.profile().fast_retransmit.repeat {
            Eligibility::Repeat
        } else if cx.is_concurrent() {
            Eligibility::Multipath {
                smart: multipath.smart_fast_retransmit,
                same_path: multipath.fast_retransmit_again,
            }
        } else {
            Eligibility::Rule5
        }
    }

    /// Sends again, over another path, what holds up the buffers.
    pub(super) fn reschedule(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        if !cx.is_concurrent() {
            return;
        }
        let buffers = Buffers {
            sending: self.buffered(),
            send_limit: self.room.limit(),
            receiving: self.room.peer_holds(),
            receive_limit: self.room.peer_buffer(),
        };
        let parameters = &cx.profile().multipath;
        let paths = &cx.paths;
        let srtt = |path: PathId| paths[path].rtt.srtt().unwrap_or_else(|| paths[path].rto());
        let found = self.spread.reschedule(now, parameters, &buffers, &self.board, srtt);
        let Some(range) = found else { return };
        let blocking = self.board.get(range.start).map(|c| c.path);
        for seq in range {
            if self.board.get(seq).map(|c| c.path) == blocking {
                self.lose(cx, seq, LossCause::Rescheduled);
            }
        }
    }

    /// A thin stream goes over all paths at once: copies of the packet that has just left.
    pub(super) fn plan_copies(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        seqs: &std::ops::Range<u64>,
    ) {
        let thin = self.is_thin();
        if cx.is_concurrent() && self.spread.duplicates(thin) {
            let others: SmallVec<[PathId; 4]> = cx.carriers().filter(|id| *id != path).collect();
            self.spread.plan_copies(others.into_iter(), seqs);
        }
    }
}

/// Those of the paths where something comes through, as far as is known: they have not timed out
/// twice since anything sent there was acknowledged. If there is none, all of them.
///
/// The policies of the papers compare paths that work. Of one that does not, a good round-trip time
/// or window is a memory: it would be chosen for ever, while another one works.
fn promising(all: &Paths, paths: &[PathView]) -> PathViews {
    let comes_through = |p: &&PathView| all[p.id].t3.in_a_row() <= 1;
    let found: PathViews = paths.iter().filter(comes_through).copied().collect();
    if found.is_empty() { paths.into() } else { found }
}

//= RFC 9260 6.4.1-2
/// Whether what timed out has had its chance: it was sent twice, or twice nothing came through on its
/// path. Then it goes round the paths, whatever the policy, as with one path at a time (RFC 9260
/// §6.4.1).
fn is_in_vain(paths: &Paths, chunk: &Outstanding) -> bool {
    chunk.transmissions > 1 || paths[chunk.path].t3.in_a_row() > 1
}
