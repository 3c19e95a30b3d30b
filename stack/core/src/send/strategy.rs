//! One path at a time, or several at once: what differs. Which of the two holds is chosen once, where a
//! [`Context`](super::context::Context) is made. Neither knows more of the sending half than what it is shown.

use std::ops::Range;

use smallvec::SmallVec;

use super::distribution::Distribution;
use super::outbound::Outbound;
use super::strikes::Strikes;
use crate::ids::PathId;
use crate::path::scheduler::PathView;
use crate::path::{Path, Paths};
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, Eligibility, Outstanding, PathAck, Scoreboard};
use crate::time::Time;

pub(super) type PathViews = SmallVec<[PathView; 4]>;

/// Whether a packet may begin with new data on a path.
pub(super) type MayBegin<'a> = &'a dyn Fn(PathId) -> bool;

/// How data is spread over the paths.
pub(super) trait Strategy {
    /// Packets take one way, in one order: what arrives later was sent later.
    fn keeps_order(&self) -> bool;
    /// Timers of several paths run for what RFC 9260 would send round the paths, under one of them at a time.
    fn expires_side_by_side(&self) -> bool;
    /// Whether a congestion control that is coupled to those of other paths takes this one into account.
    fn couples(&self, path: &Path) -> bool;
    /// What is in flight leaves a path that stops answering, for another one.
    fn watches_silence(&self, profile: &Profile) -> bool;
    /// Bytes of a send buffer of `limit` that have to be free before the application is told so, which was refused.
    fn free_before_writable(&self, limit: usize) -> usize;

    // What may be in flight on a path.

    /// Bytes that may.
    fn window(&self, path: &Path) -> usize;
    /// After a cut: the window need not fall below what the path holds without a queue.
    fn spare_window(&self, paths: &mut Paths, path: PathId);
    /// After a loss has cut it: nor below what round trips show of that.
    fn keep_window(&self, path: &mut Path);
    /// A recovery has begun, and cut the window.
    fn begin_low(&self, path: &mut Path, profile: &Profile);
    /// A retransmission of a recovery is lost.
    fn lower_again(&self, now: Time, paths: &mut Paths, path: PathId, profile: &Profile);
    /// What a recovery has lowered below the floor of ssthresh is raised to that again, now that it is over.
    fn restore_floor(&self, path: &mut Path, profile: &Profile);
    /// Measures the path by what a SACK acknowledged on it.
    fn watch_queue(&self, now: Time, path: &mut Path, ack: &PathAck, next: u64);
    /// Whether pacing holds packets back.
    fn is_held_back(&self, path: &Path) -> bool;
    /// Whether pacing does away with bursts.
    fn is_paced(&self, path: &Path) -> bool;
    /// Whether the path is within its share of the buffers; `probes`: a closed window may be probed now.
    fn share_allows(
        &self,
        data: &Outbound,
        paths: &Paths,
        profile: &Profile,
        path: PathId,
        probes: bool,
    ) -> bool;
    //= RFC 9260 6.1-10 6.1-11 6.1-12 7.2-1 7.2-2 7.2.1-4
    /// §6.1 B: a packet may breach cwnd if `flight`, what is in flight on the path, has not reached it.
    fn cwnd_allows(&self, flight: usize, path: &Path) -> bool {
        // §7.2.3: after a timeout, "no more than one SCTP packet will be in flight for that
        // address until the endpoint receives acknowledgement".
        let more = !path.window.is_one_packet() && !self.is_held_back(path);
        flight == 0 || (more && flight < self.window(path))
    }

    // New data.

    /// Whether new data may go to a path; while none does, its window decays.
    fn may_carry_new(&self, paths: &Paths, path: PathId) -> bool;
    /// Where the next packet goes; `None` if none may leave now.
    fn new_data_path(
        &self,
        now: Time,
        paths: &Paths,
        data: &Outbound,
        distribution: &mut Distribution,
        may: MayBegin<'_>,
    ) -> Option<PathId>;
    /// A packet may leave on some path.
    fn may_send_somewhere(&self, paths: &Paths, may: MayBegin<'_>) -> bool;
    /// Whether it may leave on `path` beside control chunks.
    fn joins_control(&self, paths: &Paths, path: PathId) -> bool;
    /// These chunks have just left on `path`.
    fn on_new(
        &self,
        paths: &Paths,
        distribution: &mut Distribution,
        is_thin: &dyn Fn() -> bool,
        path: PathId,
        seqs: &Range<u64>,
    );
    /// The opportunity to send is over.
    fn on_opportunity_over(
        &self,
        paths: &mut Paths,
        data: &Outbound,
        distribution: &mut Distribution,
    );

    // What is lost.

    /// What is lost and waits for another path lets what is behind it leave before, be that lost or new.
    fn passes_waiting(&self) -> bool;
    /// This many lost chunks are looked at for one that may leave.
    fn scanned(&self) -> usize;
    /// What [`retransmission_path`](Self::retransmission_path) chooses from.
    fn views(&self, now: Time, paths: &Paths, data: &Outbound, may: MayBegin<'_>) -> PathViews;
    /// Where a lost chunk goes.
    fn retransmission_path(
        &self,
        paths: &Paths,
        profile: &Profile,
        views: &[PathView],
        chunk: &Outstanding,
    ) -> PathId;
    /// Whether a lost chunk may leave in a packet with another one, which takes `path`.
    fn rides_along(
        &self,
        paths: &Paths,
        profile: &Profile,
        views: &[PathView],
        chunk: &Outstanding,
        path: PathId,
    ) -> bool {
        self.retransmission_path(paths, profile, views, chunk) == path
    }
    /// Whether a chunk that leaves again, on another path than before if it `moved`, can be struck again.
    fn eligibility(&self, profile: &Profile, moved: bool) -> Eligibility;
    /// Whether the measurement of the chunk `timed` is worth nothing, now that `again` left once more.
    fn spoils(&self, again: u64, timed: u64) -> bool;

    // SACKs and timeouts.

    /// Which chunks a SACK strikes that answers this many packets; 0 if it does not say.
    fn strikes(
        &self,
        profile: &Profile,
        outcome: &AckOutcome,
        packets: u8,
        in_recovery: bool,
    ) -> Strikes;
    /// Whether a SACK advanced what a path waits for, as its controller sees it.
    fn advanced(&self, profile: &Profile, outcome: &AckOutcome, path: PathId) -> bool;
    /// The paths, as a set of bits, that are in Fast Recovery together with these, or leave it with them.
    fn recovering_with(&self, paths: u32) -> u32;
    /// Of the paths that lost something, a set of bits, those where Fast Recovery begins.
    fn fresh_recoveries(&self, paths: &Paths, lost: u32) -> u32;
    /// Whether Fast Recovery of `path` ends, which was to end at `exit`.
    fn has_recovered(&self, board: &Scoreboard, path: PathId, exit: u64) -> bool;
    /// What holds up the buffers may be sent again over another path.
    fn reschedules(&self) -> bool;
}
