//! What is lost, what only seemed to be, and what follows for the congestion windows
//! (RFC 9260 §7.2.4; RFC 4015).

use std::time::Duration;

use smallvec::SmallVec;

use super::{Context, SackMarks, Sender, Work};
use crate::event::{LossCause, TraceEvent, WindowCause};
use crate::path::{Path, PathId};
use crate::recovery::{Cut, Decisions, Guess, Recovery, SackFacts, Trigger, Verdict, windows};
use crate::scoreboard::{AckOutcome, Outstanding, Scoreboard};
use crate::time::Time;

impl Sender {
    /// Miss indications and what the recovery algorithms make of a SACK (RFC 9260 §7.2.4); their
    /// decisions are left in `work`. Returns whether an earlier loss turned out spurious.
    pub(super) fn recover(
        &mut self,
        cx: &mut Context<'_>,
        work: &mut Work,
        marks: SackMarks,
        was_in_recovery: bool,
    ) -> bool {
        let Work { outcome, decisions, duplicates } = work;
        let now = cx.now;
        let strikes = cx.strategy.strikes(cx.profile(), marks.packets, was_in_recovery);
        let struck = strikes.apply(&mut self.board, outcome);
        decisions.clear();
        let quiet = self.board.missing().next().is_none() && outcome.newly_acked == 0;
        if quiet && !outcome.cumulative_advanced && duplicates.is_empty() {
            return false;
        }
        Self::make_backoff_good(cx, duplicates);
        let data_path = cx.paths.data_path();
        let new_data_ready = self.new_data_ready(cx);
        let srtt: SmallVec<[Option<Duration>; 4]> = cx.paths.iter().map(|p| p.rtt.srtt()).collect();
        let least: SmallVec<[Option<Duration>; 4]> =
            cx.paths.iter().map(|p| p.calm.least()).collect();
        let facts = SackFacts {
            now,
            board: &self.board,
            outcome,
            duplicates,
            struck: struck || !outcome.reneged.is_empty(),
            new_data_ready,
            in_order: cx.strategy.keeps_order(),
            smss: cx.paths[data_path].pmdcs(),
            in_fast_recovery: cx.paths.in_fast_recovery(),
            thin: self.recovery.is_thin(&self.board),
            timestamp_echo: marks.timestamp_echo,
            retransmit_bit: marks.retransmit_bit,
            srtt: &srtt,
            least: &least,
            round_trip: cx.paths[data_path].rtt.round_trip(),
        };
        let verdict = self.recovery.judge(&facts, decisions);
        let spared = |seq: u64| cx.paths[data_path].window.marks().spares(seq);
        if decisions.repaired.is_some_and(|seq| !spared(seq)) {
            // RFC 8985 §7.4.2: what was sent early repaired a loss, which was congestion all the same.
            self.cut_window(cx, data_path, WindowCause::Loss);
        }
        let spurious = verdict.is_some();
        if let Some(verdict) = verdict {
            self.respond(cx, outcome, &verdict);
        }
        spurious
    }

    /// What an expiration without backoff sent again had arrived: it was spurious.
    fn make_backoff_good(cx: &mut Context<'_>, duplicates: &[u64]) {
        let profile = cx.profile();
        if !Recovery::makes_backoff_good(profile) {
            return;
        }
        for path in cx.paths.iter_mut() {
            let repeats = |until: u64| duplicates.iter().any(|seq| *seq <= until);
            if path.t3.was_spurious(repeats) {
                path.rtt.back_off(profile);
            }
        }
    }

    /// Unsent user data waits, and the peer's window has room for it.
    pub(super) fn new_data_ready(&self, cx: &Context<'_>) -> bool {
        let next = self.queue.next_len(self.max_payload(cx.paths));
        next.is_some_and(|len| len <= self.peer_window())
    }

    /// Carries out what the recovery algorithms decided.
    pub(super) fn act_on_losses(&mut self, cx: &mut Context<'_>, decisions: &mut Decisions) {
        self.overrides.add_extra(decisions.send_new);
        if let Some(cause) = decisions.new_early {
            cx.journal.stats.count_loss_probe(cause);
        }
        let repeat = decisions.repeat.filter(|repeat| self.lets_repeat(cx, *repeat));
        self.overrides.repeat(repeat);
        let mut cuts = SmallVec::new();
        let mut paths = 0u32; // Bit set of paths that lost something.
        let mut fresh = 0u32; // The same for losses that no mark has answered for.
        let mut twice = 0u32; // The same for those that lost a retransmission of this recovery.
        let room = self.peer_room();
        let (mut again, mut again_on) = (cx.paths.amdcs(), None);
        for (start, end, cause) in decisions.lost.drain(..) {
            for seq in start..=end {
                let chunk = self.board.get(seq);
                if !chunk.is_none_or(|chunk| room.takes_repeated(chunk)) {
                    continue;
                }
                // What `fast_retransmit.repeat` sends once more brings a SACK, which lets no more go than that
                // packet: or copies would multiply, where there is a window of them or several paths.
                let repeats =
                    |c: &&Outstanding| cause == LossCause::FastRetransmit && c.fast_retransmitted;
                if let Some(chunk) = chunk.filter(repeats) {
                    // One packet takes one path.
                    let elsewhere = *again_on.get_or_insert(chunk.path) != chunk.path;
                    if elsewhere || chunk.size() > again {
                        continue;
                    }
                    again -= chunk.size();
                }
                let path = chunk.map(|c| c.path);
                let again_lost = chunk.is_some_and(|c| self.is_lost_again(cx, c, cause));
                // Before anything is taken from the flight: RFC 4015 step 0.
                if let Some(path) = path
                    && paths & path.bit() == 0
                    && self.board.is_in_flight(seq)
                {
                    cuts.push(self.cut(cx, path, 0));
                }
                let lost = self.lose(cx, seq, cause);
                paths |= lost;
                let spared = path.is_some_and(|path| cx.paths[path].window.marks().spares(seq));
                fresh |= if spared { 0 } else { lost };
                twice |= if again_lost { lost } else { 0 };
            }
        }
        if paths != 0 {
            self.start_fast_recovery(cx, paths, fresh, cuts);
        }
        for path in cx.paths.ids().filter(|path| twice & path.bit() != 0) {
            self.lower_again(cx, path);
        }
    }

    /// Declares `seq` lost; returns the bit of its path, 0 if it was not in flight.
    pub(super) fn lose(&mut self, cx: &mut Context<'_>, seq: u64, cause: LossCause) -> u32 {
        let now = cx.now;
        if !self.board.mark_lost(seq, cause) {
            return 0;
        }
        let Some(chunk) = self.board.get(seq) else { return 0 };
        let (path, misses) = (chunk.path, chunk.misses);
        if cause.is_loss()
            && let Some(lost) = self.board.loss_sample(seq)
        {
            cx.paths[path].window.control_mut().on_lost(&lost);
        }
        let tsn = Scoreboard::tsn(seq);
        cx.journal.trace(now, || TraceEvent::Lost { tsn, path, cause, misses });
        cx.journal.stats.lost_chunks[cause.index()] += 1;
        cx.paths[path].counters.lost_chunks += 1;
        //= RFC 7496 3.1-2
        self.judge_lost(cx, seq);
        path.bit()
    }

    /// What a spurious loss of `path` would have to give back.
    fn cut(&self, cx: &Context<'_>, path: PathId, timeouts: u32) -> Cut {
        let p = &cx.paths[path];
        let flight = self.board.flight(path);
        let marks = p.window.marks();
        // What a mark has taken does not come back: the flight is from before it.
        let marked = self.board.earliest(path).is_some_and(|seq| marks.spares(seq));
        let most = if marked { p.window.cwnd() } else { usize::MAX };
        let pipe_prev = flight.min(most).max(p.window.ssthresh());
        let full = flight + p.mtu.pmdcs() > p.window.cwnd() && !self.is_thin();
        let (marks, srtt, rttvar) = (marks.told(), p.rtt.srtt(), p.rtt.rttvar());
        Cut { path, pipe_prev, most, marks, full, timeouts, srtt, rttvar }
    }

    //= RFC 9260 7.2.4-5
    /// RFC 9260 §7.2.4 rules 2, 3 and 6. Of the `paths` the windows of those are cut that `fresh` has.
    fn start_fast_recovery(
        &mut self,
        cx: &mut Context<'_>,
        paths: u32,
        fresh: u32,
        mut cuts: SmallVec<[Cut; 2]>,
    ) {
        let paths = cx.strategy.fresh_recoveries(cx.paths, paths);
        if paths == 0 {
            return; // What is marked leaves as cwnd allows; cwnd is not cut again.
        }
        let (cumulative, highest) = (self.board.cumulative(), self.board.next_seq() - 1);
        let recovery = &mut self.recovery;
        cuts.retain(|cut| paths & fresh & cut.path.bit() != 0);
        recovery.on_cut(Trigger::FastRetransmit, cuts, cumulative, highest);
        recovery.on_fast_recovery();
        let profile = cx.profile();
        for path in cx.paths.ids() {
            if paths & fresh & path.bit() != 0 {
                self.cut_window(cx, path, WindowCause::Loss);
                cx.strategy.begin_low(&mut cx.paths[path], profile);
                cx.paths[path].window.begin_reduction(profile);
            }
        }
        self.retransmit_now(profile);
        cx.journal.stats.fast_recoveries += 1;
        if profile.fast_retransmit.fast_recovery {
            let recovering = cx.strategy.recovering_with(paths);
            for p in cx.paths.iter_mut().filter(|p| recovering & p.id.bit() != 0) {
                p.window.enter_recovery(highest);
            }
        }
    }

    /// A retransmission of this recovery is lost.
    fn is_lost_again(&self, cx: &Context<'_>, chunk: &Outstanding, cause: LossCause) -> bool {
        cause.sees_retransmissions()
            && chunk.transmissions > 1
            && cx.paths[chunk.path].window.is_lost_again(chunk.last_sent)
    }

    /// A retransmission of this recovery is lost.
    fn lower_again(&mut self, cx: &mut Context<'_>, path: PathId) {
        let (now, profile) = (cx.now, cx.profile());
        cx.strategy.lower_again(now, cx.paths, path, profile);
        cx.trace_window(&self.board, path, WindowCause::Loss);
    }

    /// A loss, or a mark that stands for one, cuts the window of `path`.
    pub(super) fn cut_window(&mut self, cx: &mut Context<'_>, path: PathId, cause: WindowCause) {
        let (now, until) = (cx.now, self.board.next_seq() - 1);
        let marked = cause == WindowCause::Mark;
        let window = &mut cx.paths[path].window;
        let most = window.cwnd();
        window.on_loss(now);
        if marked {
            window.marks_mut().on_mark(until);
        } else {
            window.marks_mut().on_loss(until);
        }
        self.tell_control(cx, path, |control, coupled| match marked {
            true => control.on_mark(&coupled),
            false => control.on_loss(&coupled),
        });
        //= RFC 3168 6.1.2-3
        if marked {
            cx.paths[path].window.lower_to(most);
        }
        cx.strategy.spare_window(cx.paths, path);
        cx.trace_window(&self.board, path, cause);
    }

    /// Ends Fast Recovery where its exit point is reached (RFC 9260 §6.2.1 D iv).
    pub(super) fn end_fast_recovery(&mut self, cx: &mut Context<'_>) {
        let (strategy, profile) = (cx.strategy, cx.profile());
        for path in cx.paths.ids() {
            let reached = |exit: u64| strategy.has_recovered(&self.board, path, exit);
            if !cx.paths[path].window.leave_recovery(reached) {
                continue;
            }
            if cx.paths[path].window.end_reduction() {
                // By now the path is measured better.
                cx.strategy.spare_window(cx.paths, path);
                cx.trace_window(&self.board, path, WindowCause::RateReduction);
            }
            strategy.restore_floor(&mut cx.paths[path], profile);
        }
    }

    /// T3-rtx of `path` is about to cut its window.
    pub(super) fn note_timeout(&mut self, cx: &mut Context<'_>, path: PathId) {
        let timeouts = cx.paths[path].t3.in_a_row();
        let cut = self.cut(cx, path, timeouts);
        let board = &self.board;
        let (cumulative, highest) = (board.cumulative(), board.next_seq() - 1);
        let recovering = cx.paths.in_fast_recovery();
        // A detector reads the order of what arrives, which says nothing between paths: SACKs for what
        // another one carries would make every timeout look spurious.
        if cx.strategy.keeps_order() {
            self.recovery.on_readable_timeout(cumulative, highest, recovering);
        }
        self.recovery.on_cut(Trigger::Timeout, SmallVec::from_iter([cut]), cumulative, highest);
    }

    /// Nothing was lost: what the loss cost is given back (RFC 4015; Ladha et al. §5).
    fn respond(&mut self, cx: &mut Context<'_>, outcome: &AckOutcome, verdict: &Verdict) {
        let now = cx.now;
        let Verdict { episode, by } = verdict;
        let timeout = episode.trigger() == Trigger::Timeout;
        let stats = &mut cx.journal.stats;
        if timeout {
            stats.spurious_timeouts += 1;
        } else {
            stats.spurious_fast_retransmits += 1;
            self.recovery.on_spurious_loss();
        }
        let profile = cx.profile();
        for cut in episode.cuts() {
            let (path, by) = (cut.path, *by);
            let counters = &mut cx.paths[path].counters;
            if timeout {
                counters.spurious_timeouts += 1;
                let forgives = profile.limits.pf_forgives_spurious && cx.paths.is_living(path);
                if forgives && cx.paths[path].forgive_timeout() {
                    cx.journal.path_changed(cx.paths, path);
                }
            } else {
                counters.spurious_fast_retransmits += 1;
            }
            cx.journal.trace(now, || TraceEvent::Spurious { path, timeout, by });
        }
        if !profile.spurious_response.enabled {
            return;
        }
        if timeout {
            // Step 8: resume with previously unsent data.
            for seq in self.board.restore_lost(episode.highest(), |path| cx.paths.is_living(path)) {
                let Some(chunk) = self.board.get(seq) else { continue };
                self.recovery.on_restored(chunk.path, seq, chunk.last_sent);
            }
            for cut in episode.cuts() {
                cx.paths[cut.path].window.allow_more();
            }
            self.recovery.adapt_timer(episode, profile.rto.granularity());
        } else {
            for path in cx.paths.iter_mut() {
                path.window.abandon_recovery();
            }
        }
        let response = &profile.spurious_response;
        for cut in episode.cuts() {
            let flight = self.board.flight(cut.path);
            let p = &mut cx.paths[cut.path];
            let marked = p.window.marks().told() != cut.marks;
            if marked || cut.full && p.calm.is_standing(response.standing_queue) {
                continue;
            }
            p.window.abandon_reduction();
            let control = p.window.control_mut();
            let before = (control.cwnd(), control.ssthresh());
            let (initial, acked) = (control.initial_window(), outcome.newly_acked);
            let (cwnd, ssthresh) = windows(response, cut, before, flight, acked, initial);
            control.undo(cwnd, ssthresh);
            cx.trace_window(&self.board, cut.path, WindowCause::Undo);
        }
    }

    /// From when on a chunk in flight may be sent again on `path` although that is perhaps in vain; `None`: not before RFC
    /// 9260 would.
    pub(super) fn guess_at(&self, cx: &Context<'_>, path: PathId, seq: u64) -> Option<Time> {
        let Path { rtt, calm, .. } = &cx.paths[path];
        let guess = Guess {
            now: cx.now,
            path,
            seq,
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            calm: calm.is_calm(),
            granularity: cx.profile().rto.granularity(),
        };
        let behind_repair = |known: bool| calm.behind_repair(known);
        self.recovery.guess_at(&guess, behind_repair, || self.answered_from(cx, seq))
    }

    /// From when on the peer does not delay the SACK of a chunk: it was asked for, another packet has followed, or the
    /// delay is over (RFC 9260 §6.2).
    fn answered_from(&self, cx: &Context<'_>, seq: u64) -> Option<Time> {
        let chunk = self.board.get(seq)?;
        let follower = self.board.follower(seq);
        let asked = self.recovery.asked(&(seq..follower.unwrap_or(self.board.next_seq())));
        if asked || chunk.transmissions > 1 {
            return Some(chunk.last_sent);
        }
        let latest = chunk.last_sent + cx.profile().max_sack_delay();
        let followed = follower.and_then(|seq| self.board.get(seq)).map(|chunk| chunk.last_sent);
        Some(followed.map_or(latest, |at| at.clamp(chunk.last_sent, latest)))
    }

    /// No queue is found on `path`, or none is looked for, since guesses are not bounded.
    pub(super) fn is_calm(&self, cx: &Context<'_>, path: PathId) -> bool {
        !self.recovery.bounds_guesses() || cx.paths[path].calm.is_calm()
    }
}
