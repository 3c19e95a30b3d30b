//! Concurrent multipath transfer: which path carries what, while several do at once
//! (draft-tuexen-tsvwg-sctp-multipath; Sarnow 2017 §3.2).

use std::ops::Range;

use smallvec::SmallVec;

use super::distribution::Distribution;
use super::outbound::Outbound;
use super::strategy::{MayBegin, PathViews, Strategy};
use super::strikes::Strikes;
use crate::congestion::has_advanced;
use crate::ids::{LossCause, PathId};
use crate::path::scheduler::{PathView, View};
use crate::path::{Path, Paths, rtx_policy, share_allows};
use crate::profile::Profile;
use crate::recovery::Recovery;
use crate::scoreboard::{AckOutcome, Eligibility, Outstanding, PathAck, Scoreboard};
use crate::time::Time;

/// Lost chunks that are looked at for one whose path has room. Those beyond have their turn when
/// some of these have left.
const MAX_LOST_SCANNED: usize = 64;

/// All paths that can.
pub(super) struct Concurrent;

impl Strategy for Concurrent {
    /// The order between paths says nothing.
    fn keeps_order(&self) -> bool {
        false
    }

    fn expires_side_by_side(&self) -> bool {
        true
    }

    /// Not with paths that carry what they can.
    fn couples(&self, path: &Path) -> bool {
        path.window.is_pressed()
    }

    fn watches_silence(&self, profile: &Profile) -> bool {
        Recovery::watches_silence(profile)
    }

    /// The rest may be held by what one path is late with.
    fn free_before_writable(&self, limit: usize) -> usize {
        limit / 8
    }

    fn window(&self, path: &Path) -> usize {
        path.window.limited()
    }

    fn spare_window(&self, paths: &mut Paths, path: PathId) {
        let among = paths.iter().filter(|p| p.usable() && p.window.is_pressed()).count();
        paths[path].window.spare(among);
    }

    /// Here the limit of the queue has measured it.
    fn keep_window(&self, _path: &mut Path) {}

    fn begin_low(&self, _path: &mut Path, _profile: &Profile) {}

    fn lower_again(&self, now: Time, paths: &mut Paths, path: PathId, _profile: &Profile) {
        let pmdcs = paths[path].mtu.pmdcs();
        paths[path].window.lower_again(now, pmdcs);
        self.spare_window(paths, path);
    }

    /// Coupled controls divide the floor among the paths.
    fn restore_floor(&self, _path: &mut Path, _profile: &Profile) {}

    fn watch_queue(&self, now: Time, path: &mut Path, ack: &PathAck, next: u64) {
        path.window.watch_queue(now, ack, next);
    }

    fn is_held_back(&self, path: &Path) -> bool {
        path.bursts.is_held_back()
    }

    fn is_paced(&self, path: &Path) -> bool {
        path.bursts.is_paced()
    }

    fn share_allows(
        &self,
        data: &Outbound,
        paths: &Paths,
        profile: &Profile,
        path: PathId,
        probes: bool,
    ) -> bool {
        // §6.1 A: "Senders MUST support zero window probing": the shares of no room at all are nothing.
        if probes {
            return true;
        }
        let (board, n) = (data.board(), paths.data_paths().count().max(1));
        let send_share = data.buffer().limit() / n;
        let receive_share = (data.buffer().a_rwnd() + board.flight_user_bytes()) / n;
        share_allows(profile, board, path, send_share, receive_share)
    }

    fn may_carry_new(&self, _paths: &Paths, _path: PathId) -> bool {
        true
    }

    fn new_data_path(
        &self,
        now: Time,
        paths: &Paths,
        data: &Outbound,
        distribution: &mut Distribution,
        may: MayBegin<'_>,
    ) -> Option<PathId> {
        let views = self.views(now, paths, data, may);
        if views.iter().all(|p| !p.open) {
            return None;
        }
        let view = sending_view(paths, data, &views, distribution.blocked());
        // Nobody hands over a path that is not open.
        distribution.choose(&view).filter(|id| may(*id))
    }

    fn may_send_somewhere(&self, paths: &Paths, may: MayBegin<'_>) -> bool {
        paths.data_paths().any(may)
    }

    /// Where it goes is for the scheduler to say.
    fn joins_control(&self, _paths: &Paths, _path: PathId) -> bool {
        false
    }

    /// A thin stream goes over all paths at once: copies of the packet that has just left.
    fn on_new(
        &self,
        paths: &Paths,
        distribution: &mut Distribution,
        is_thin: &dyn Fn() -> bool,
        path: PathId,
        seqs: &Range<u64>,
    ) {
        if let Some(cause) = distribution.duplicates(is_thin()) {
            let others: SmallVec<[PathId; 4]> =
                paths.data_paths().filter(|id| *id != path).collect();
            distribution.plan_copies(others.into_iter(), seqs, cause);
        }
    }

    /// Notes what kept data from a path with room.
    fn on_opportunity_over(
        &self,
        paths: &mut Paths,
        data: &Outbound,
        distribution: &mut Distribution,
    ) {
        let next = data.next_len(paths);
        let blocked = match next {
            Some(len) => len > data.peer_window(),
            None => data.buffer().writer_waits(),
        };
        if blocked && paths.data_paths().any(|id| self.cwnd_allows(data.flight(id), &paths[id])) {
            distribution.on_blocked();
        }
        let waiting = next.is_some() || data.board().first_lost().is_some();
        for p in paths.iter_mut() {
            let room = data.flight(p.id) < p.window.limited();
            p.bursts.wait(room && waiting);
            if room && !p.bursts.is_held_back() {
                p.window.on_starved();
            }
        }
    }

    fn passes_waiting(&self) -> bool {
        true
    }

    fn scanned(&self) -> usize {
        MAX_LOST_SCANNED
    }

    fn views(&self, now: Time, paths: &Paths, data: &Outbound, may: MayBegin<'_>) -> PathViews {
        let fastest = paths.iter().filter(|p| p.usable()).filter_map(|p| p.rtt.srtt()).min();
        let view = |id: PathId| {
            let p = &paths[id];
            PathView {
                id,
                open: may(id),
                srtt: p.round_trip(now).or(fastest).unwrap_or_default(),
                rttvar: p.rtt.rttvar(),
                cwnd: p.window.limited(),
                ssthresh: p.window.ssthresh(),
                flight: data.flight(id),
                rate: p.rate(),
                loss: p.loss_rate(),
            }
        };
        paths.data_paths().map(view).collect()
    }

    fn retransmission_path(
        &self,
        paths: &Paths,
        profile: &Profile,
        views: &[PathView],
        chunk: &Outstanding,
    ) -> PathId {
        let last = chunk.path;
        if chunk.cause.is_some_and(LossCause::takes_another_path) {
            // The point is to take another one, the fastest.
            let others: PathViews = views.iter().copied().filter(|p| p.id != last).collect();
            let fastest = rtx_policy::fastest(last, &others);
            return fastest.unwrap_or(last);
        }
        let views = promising(paths, views);
        if chunk.cause == Some(LossCause::Timeout) && is_in_vain(paths, chunk) {
            let next = rtx_policy::next(last, &views);
            return next.filter(|id| *id != last).unwrap_or_else(|| paths.alternate(last));
        }
        rtx_policy::wanted(profile, last, &views).unwrap_or_else(|| paths.data_path())
    }

    /// Where that is the policy a lost chunk joins the packet that leaves now.
    fn rides_along(
        &self,
        paths: &Paths,
        profile: &Profile,
        views: &[PathView],
        chunk: &Outstanding,
        path: PathId,
    ) -> bool {
        (rtx_policy::joins_any(profile) && !chunk.cause.is_some_and(LossCause::takes_another_path))
            || self.retransmission_path(paths, profile, views, chunk) == path
    }

    fn eligibility(&self, profile: &Profile, moved: bool) -> Eligibility {
        Recovery::eligibility(profile, Some(moved))
    }

    /// The order between paths says nothing: the chunk alone.
    fn spoils(&self, again: u64, timed: u64) -> bool {
        timed == again
    }

    fn strikes(
        &self,
        profile: &Profile,
        outcome: &AckOutcome,
        packets: u8,
        in_recovery: bool,
    ) -> Strikes {
        let own = Recovery::misses(profile, outcome, packets);
        own.map_or_else(|| Strikes::of(profile, in_recovery), Strikes::Each)
    }

    fn advanced(&self, profile: &Profile, outcome: &AckOutcome, path: PathId) -> bool {
        has_advanced(profile, outcome, path)
    }

    /// Each path has a Fast Recovery of its own.
    fn recovering_with(&self, paths: u32) -> u32 {
        paths
    }

    fn fresh_recoveries(&self, paths: &Paths, lost: u32) -> u32 {
        let fresh = paths.iter().filter(|p| !p.window.is_recovering());
        lost & fresh.fold(0, |bits, p| bits | p.id.bit())
    }

    /// The Cumulative TSN Ack Point that the path would have for itself.
    fn has_recovered(&self, board: &Scoreboard, path: PathId, exit: u64) -> bool {
        board.earliest(path).is_none_or(|earliest| earliest > exit)
    }

    fn reschedules(&self) -> bool {
        true
    }
}

fn sending_view<'a>(all: &Paths, data: &Outbound, paths: &'a [PathView], blocked: u64) -> View<'a> {
    let buffer = data.buffer();
    View {
        paths,
        primary: all.primary(),
        queued: data.queue().bytes(),
        window: buffer.limit().min(buffer.a_rwnd() + data.board().flight_user_bytes()),
        mss: all.amdcs(),
        blocked,
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
