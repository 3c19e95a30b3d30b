//! One path at a time carries data (RFC 9260 §6.4).

use std::ops::Range;

use super::distribution::Distribution;
use super::outbound::Outbound;
use super::strategy::{MayBegin, PathViews, Strategy};
use super::strikes::Strikes;
use crate::ids::{LossCause, PathId};
use crate::path::scheduler::PathView;
use crate::path::{Path, Paths};
use crate::profile::Profile;
use crate::recovery::Recovery;
use crate::scoreboard::{AckOutcome, Eligibility, Outstanding, PathAck, Scoreboard};
use crate::time::Time;

/// The primary path, or an alternate.
pub(super) struct Single;

impl Strategy for Single {
    fn keeps_order(&self) -> bool {
        true
    }

    fn expires_side_by_side(&self) -> bool {
        false
    }

    /// There is nothing to couple.
    fn couples(&self, _path: &Path) -> bool {
        false
    }

    fn watches_silence(&self, _profile: &Profile) -> bool {
        false
    }

    fn free_before_writable(&self, limit: usize) -> usize {
        limit / 2
    }

    fn window(&self, path: &Path) -> usize {
        path.window.cwnd()
    }

    fn spare_window(&self, _paths: &mut Paths, _path: PathId) {}

    fn keep_window(&self, path: &mut Path) {
        path.window.keep();
    }

    fn begin_low(&self, path: &mut Path, profile: &Profile) {
        let (pmdcs, calm) = (path.pmdcs(), path.calm.is_calm());
        path.window.begin_low(&profile.congestion, pmdcs, calm);
    }

    fn lower_again(&self, now: Time, paths: &mut Paths, path: PathId, profile: &Profile) {
        let path = &mut paths[path];
        let pmdcs = path.pmdcs();
        if path.calm.is_calm() {
            path.window.lower_calm(now, &profile.congestion, pmdcs);
        } else {
            path.window.lower_again(now, pmdcs);
        }
    }

    fn restore_floor(&self, path: &mut Path, profile: &Profile) {
        let pmdcs = path.pmdcs();
        path.window.restore_floor(&profile.congestion, pmdcs);
    }

    fn watch_queue(&self, _now: Time, _path: &mut Path, _ack: &PathAck, _next: u64) {}

    fn is_held_back(&self, path: &Path) -> bool {
        path.bursts.is_held_back() && path.sets_rate()
    }

    /// One path at a time is paced by its congestion control alone.
    fn is_paced(&self, path: &Path) -> bool {
        path.sets_rate()
    }

    fn share_allows(
        &self,
        _data: &Outbound,
        _paths: &Paths,
        _profile: &Profile,
        _path: PathId,
        _probes: bool,
    ) -> bool {
        true
    }

    fn may_carry_new(&self, paths: &Paths, path: PathId) -> bool {
        path == paths.data_path()
    }

    fn new_data_path(
        &self,
        _now: Time,
        paths: &Paths,
        _data: &Outbound,
        _distribution: &mut Distribution,
        may: MayBegin<'_>,
    ) -> Option<PathId> {
        Some(paths.data_path()).filter(|path| may(*path))
    }

    fn may_send_somewhere(&self, paths: &Paths, may: MayBegin<'_>) -> bool {
        may(paths.data_path())
    }

    fn joins_control(&self, paths: &Paths, path: PathId) -> bool {
        path == paths.data_path()
    }

    fn on_new(
        &self,
        _paths: &Paths,
        _distribution: &mut Distribution,
        _is_thin: &dyn Fn() -> bool,
        _path: PathId,
        _seqs: &Range<u64>,
    ) {
    }

    fn on_opportunity_over(
        &self,
        paths: &mut Paths,
        data: &Outbound,
        _distribution: &mut Distribution,
    ) {
        let waiting = !data.queue().rests() || data.board().first_lost().is_some();
        for p in paths.iter_mut().filter(|p| p.sets_rate()) {
            let room = data.flight(p.id) < p.window.cwnd();
            p.bursts.wait(room && waiting);
        }
    }

    //= RFC 9260 6.1-13
    /// §6.1 C: what is lost goes before what is new.
    fn passes_waiting(&self) -> bool {
        false
    }

    fn scanned(&self) -> usize {
        1
    }

    fn views(&self, _now: Time, _paths: &Paths, _data: &Outbound, _may: MayBegin<'_>) -> PathViews {
        PathViews::new()
    }

    //= RFC 9260 6.4-4 6.4-5
    /// §6.4: what timed out goes to another active address, a fast retransmission to the same one.
    fn retransmission_path(
        &self,
        paths: &Paths,
        profile: &Profile,
        _views: &[PathView],
        chunk: &Outstanding,
    ) -> PathId {
        let last = chunk.path;
        match chunk.cause {
            Some(LossCause::Timeout) => paths.alternate(last),
            // §7.3: a path that says what fits through it works, and takes it in fragments.
            Some(LossCause::PathFailure) if paths[last].usable() => last,
            // RFC 2960 §6.4 made no difference.
            Some(_) if profile.fast_retransmit.alternate_path => paths.alternate(last),
            _ if paths[last].preferred() => last,
            _ => paths.data_path(),
        }
    }

    fn eligibility(&self, profile: &Profile, _moved: bool) -> Eligibility {
        Recovery::eligibility(profile, None)
    }

    //= RFC 9260 6.3.1-5
    /// Karn: no sample from anything at or beyond a retransmitted TSN (§6.3.1 C5).
    fn spoils(&self, again: u64, timed: u64) -> bool {
        timed >= again
    }

    fn strikes(
        &self,
        profile: &Profile,
        _outcome: &AckOutcome,
        _packets: u8,
        in_recovery: bool,
    ) -> Strikes {
        Strikes::of(profile, in_recovery)
    }

    fn advanced(&self, _profile: &Profile, outcome: &AckOutcome, _path: PathId) -> bool {
        outcome.cumulative_advanced
    }

    /// The association has one Fast Recovery.
    fn recovering_with(&self, _paths: u32) -> u32 {
        u32::MAX
    }

    fn fresh_recoveries(&self, paths: &Paths, lost: u32) -> u32 {
        if paths.in_fast_recovery() { 0 } else { lost }
    }

    fn has_recovered(&self, board: &Scoreboard, _path: PathId, exit: u64) -> bool {
        board.cumulative() >= exit
    }

    fn reschedules(&self) -> bool {
        false
    }
}
