//! What is lost, what only seemed to be, and what follows for the congestion windows
//! (RFC 9260 §7.2.4; RFC 4015).

use std::time::Duration;

use smallvec::SmallVec;

use super::{SackSigns, Sender, Work};
use crate::event::TraceEvent;
use crate::ids::{LossCause, PathId, WindowCause};
use crate::path::LostChunk;
use crate::recovery::{
    Buffers, Copies, Cut, Decisions, Recovery, SackFacts, SpuriousFinding, Trigger,
};
use crate::scoreboard::{AckOutcome, Outstanding, Scoreboard};
use crate::send::context::Context;

impl Sender {
    /// Miss indications and what the recovery algorithms make of a SACK (RFC 9260 §7.2.4); their
    /// decisions are left in `work`. Returns whether an earlier loss turned out spurious.
    pub(super) fn recover(
        &mut self,
        cx: &mut Context<'_>,
        work: &mut Work,
        signs: SackSigns,
        was_in_recovery: bool,
    ) -> bool {
        let Work { outcome, decisions, duplicates } = work;
        let now = cx.now;
        let strikes = cx.strategy.strikes(cx.profile(), outcome, signs.packets, was_in_recovery);
        let struck = strikes.apply(self.data.board_mut(), outcome);
        decisions.clear();
        let quiet = self.data.board().missing().next().is_none() && outcome.newly_acked == 0;
        if quiet && !outcome.cumulative_advanced && duplicates.is_empty() {
            return false;
        }
        // What an expiration without backoff sent again had arrived: it was spurious.
        let profile = cx.profile();
        let late = self.recovery.late_backoffs(profile, duplicates);
        for path in cx.paths.iter_mut().filter(|path| late & path.id.bit() != 0) {
            path.rtt.back_off(profile);
        }
        let data_path = cx.paths.data_path();
        let new_data_ready = self.data.is_ready(cx.paths);
        let srtt: SmallVec<[Option<Duration>; 4]> = cx.paths.iter().map(|p| p.rtt.srtt()).collect();
        let least: SmallVec<[Option<Duration>; 4]> =
            cx.paths.iter().map(|p| p.calm.least()).collect();
        let facts = SackFacts {
            now,
            board: self.data.board(),
            outcome,
            duplicates,
            struck: struck || !outcome.reneged.is_empty(),
            new_data_ready,
            in_order: cx.strategy.keeps_order(),
            smss: cx.paths[data_path].pmdcs(),
            in_fast_recovery: cx.paths.in_fast_recovery(),
            thin: self.recovery.is_thin(self.data.board()),
            timestamp_echo: signs.timestamp_echo,
            retransmit_bit: signs.retransmit_bit,
            srtt: &srtt,
            least: &least,
            round_trip: cx.paths[data_path].rtt.round_trip(),
        };
        let finding = self.recovery.judge(&facts, decisions);
        self.recovery.on_sack(&facts, decisions);
        let spared = |seq: u64| cx.paths[data_path].window.marks().spares(seq);
        if decisions.repaired.is_some_and(|seq| !spared(seq)) {
            // RFC 8985 §7.4.2: what was sent early repaired a loss, which was congestion all the same.
            cx.cut_window(&self.data, data_path, WindowCause::Loss);
        }
        let spurious = finding.is_some();
        if let Some(finding) = finding {
            self.respond(cx, outcome, &finding);
        }
        spurious
    }

    /// Carries out what the recovery algorithms decided.
    pub(super) fn act_on_losses(&mut self, cx: &mut Context<'_>, decisions: &mut Decisions) {
        self.overrides.add_extra(decisions.send_new);
        if let Some(cause) = decisions.new_early {
            cx.journal.stats.count_if_it_probes(cause);
        }
        let repeat = decisions
            .repeat
            .filter(|repeat| self.abandonment.lets_repeat(cx, &mut self.data, *repeat));
        self.overrides.repeat(repeat);
        let mut cuts = SmallVec::new();
        let mut paths = 0u32; // Bit set of paths that lost something.
        let mut fresh = 0u32; // The same for losses that no mark has answered for.
        let mut twice = 0u32; // The same for those that lost a retransmission of this recovery.
        let room = self.data.peer_room();
        let mut copies = Copies::new(cx.paths.amdcs());
        for (start, end, cause) in decisions.lost.drain(..) {
            for seq in start..=end {
                let chunk = self.data.board().get(seq);
                if !chunk.is_none_or(|chunk| room.takes_repeated(chunk)) {
                    continue;
                }
                if chunk.is_some_and(|chunk| !copies.lets(chunk, cause)) {
                    continue;
                }
                let path = chunk.map(|c| c.path);
                let again_lost = chunk.is_some_and(|c| is_lost_again(cx, c, cause));
                // Before anything is taken from the flight: RFC 4015 step 0.
                if let Some(path) = path
                    && paths & path.bit() == 0
                    && self.data.board().is_in_flight(seq)
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
            cx.lower_again(&self.data, path);
        }
    }

    /// Declares `seq` lost; returns the bit of its path, 0 if it was not in flight.
    pub(super) fn lose(&mut self, cx: &mut Context<'_>, seq: u64, cause: LossCause) -> u32 {
        let now = cx.now;
        if !self.data.board_mut().mark_lost(seq, cause) {
            return 0;
        }
        let Some(chunk) = self.data.board().get(seq) else { return 0 };
        let (path, misses) = (chunk.path, chunk.misses);
        if cause.is_loss()
            && let Some(lost) = self.data.board_mut().loss_sample(seq)
        {
            cx.paths[path].window.control_mut().on_lost(&lost);
        }
        let tsn = Scoreboard::tsn(seq);
        cx.journal.trace(now, || TraceEvent::Lost { tsn, path, cause, misses });
        cx.journal.stats.lost_chunks[cause.index()] += 1;
        cx.paths[path].counters.lost_chunks += 1;
        if cause.is_loss() {
            cx.paths[path].window.on_lost();
            if let Some(chunk) = self.data.board().get(seq) {
                let lost = LostChunk::of(self.data.board(), chunk, cause == LossCause::Timeout);
                if self.data.peer_room().is_closed() {
                    cx.paths[path].on_dropped_chunk(now, lost);
                } else {
                    cx.paths[path].on_lost_chunk(now, lost);
                }
            }
        }
        //= RFC 7496 3.1-2
        self.abandonment.judge_lost(cx, &mut self.data, seq);
        path.bit()
    }

    /// What a spurious loss of `path` would have to give back.
    fn cut(&self, cx: &Context<'_>, path: PathId, timeouts: u32) -> Cut {
        let p = &cx.paths[path];
        let flight = self.data.board().flight(path);
        let marks = p.window.marks();
        // What a mark has taken does not come back: the flight is from before it.
        let marked = self.data.board().earliest(path).is_some_and(|seq| marks.spares(seq));
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
        let random = |path: &PathId| cx.paths[*path].window.is_random(cx.paths[*path].pmdcs());
        let random = cx.paths.ids().filter(random).fold(0, |bits, path| bits | path.bit());
        let (random, paths) = (paths & random, paths & !random);
        if random != 0 {
            // A fast retransmit leaves at once (RFC 9260 §7.2.4 rule 3), whatever follows from it.
            self.overrides.retransmit(cx.profile());
        }
        if paths == 0 {
            return; // What is marked leaves as cwnd allows; cwnd is not cut again.
        }
        let (cumulative, highest) =
            (self.data.board().cumulative(), self.data.board().next_seq() - 1);
        let recovery = &mut self.recovery;
        cuts.retain(|cut| paths & fresh & cut.path.bit() != 0);
        recovery.on_cut(Trigger::FastRetransmit, cuts, cumulative, highest);
        recovery.on_fast_recovery();
        let profile = cx.profile();
        for path in cx.paths.ids() {
            if paths & fresh & path.bit() != 0 {
                cx.cut_window(&self.data, path, WindowCause::Loss);
                cx.strategy.begin_low(&mut cx.paths[path], profile);
                cx.paths[path].window.begin_reduction(profile);
            }
        }
        self.overrides.retransmit(profile);
        cx.journal.stats.fast_recoveries += 1;
        if profile.fast_retransmit.fast_recovery {
            let recovering = cx.strategy.recovering_with(paths);
            for p in cx.paths.iter_mut().filter(|p| recovering & p.id.bit() != 0) {
                p.window.enter_recovery(highest);
            }
        }
    }

    /// T3-rtx of `path` is about to cut its window.
    pub(super) fn note_timeout(&mut self, cx: &mut Context<'_>, path: PathId) {
        let timeouts = cx.paths[path].t3.in_a_row();
        let cut = self.cut(cx, path, timeouts);
        let board = self.data.board();
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
    fn respond(&mut self, cx: &mut Context<'_>, outcome: &AckOutcome, finding: &SpuriousFinding) {
        let now = cx.now;
        let SpuriousFinding { episode, by } = finding;
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
                if cx.paths.is_living(path) && cx.paths[path].on_spurious_timeout(profile) {
                    cx.journal.path_changed(cx.paths, path);
                }
            } else {
                counters.spurious_fast_retransmits += 1;
            }
            cx.journal.trace(now, || TraceEvent::Spurious { path, timeout, by });
        }
        if !Recovery::gives_back(profile) {
            return;
        }
        if timeout {
            // Step 8: resume with previously unsent data.
            for seq in self
                .data
                .board_mut()
                .restore_lost(episode.highest(), |path| cx.paths.is_living(path))
            {
                let Some(chunk) = self.data.board().get(seq) else { continue };
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
        for cut in episode.cuts() {
            let flight = self.data.board().flight(cut.path);
            let p = &mut cx.paths[cut.path];
            let marked = p.window.marks().told() != cut.marks;
            let is_standing = |times: f64| p.calm.is_standing(times);
            if marked || Recovery::leaves_cut(profile, cut, is_standing) {
                continue;
            }
            p.window.abandon_reduction();
            let control = p.window.control_mut();
            let before = (control.cwnd(), control.ssthresh());
            let (initial, acked) = (control.initial_window(), outcome.newly_acked);
            let (cwnd, ssthresh) = Recovery::restored(profile, cut, before, flight, acked, initial);
            control.undo(cwnd, ssthresh);
            cx.trace_window(self.data.board(), cut.path, WindowCause::Undo);
        }
    }

    /// Sends again, over another path, what holds up the buffers.
    pub(super) fn reschedule(&mut self, cx: &mut Context<'_>) {
        let buffer = self.data.buffer();
        let buffers = Buffers {
            sending: self.data.buffered(),
            send_limit: buffer.limit(),
            receiving: buffer.peer_holds(),
            receive_limit: buffer.peer_buffer(),
        };
        let (now, profile) = (cx.now, cx.profile());
        let paths = &cx.paths;
        let srtt = |path: PathId| paths[path].rtt.srtt().unwrap_or_else(|| paths[path].rto());
        let found = self.recovery.detours(now, profile, &buffers, self.data.board(), &srtt);
        let Some((range, cause)) = found else { return };
        let blocking = self.data.board().get(range.start).map(|c| c.path);
        for seq in range {
            let chunk = self.data.board().get(seq);
            // What may not be sent again is left where it is.
            let stays = chunk.is_some_and(Outstanding::is_spent);
            if chunk.map(|c| c.path) == blocking && !stays {
                self.lose(cx, seq, cause);
            }
        }
    }
}

/// A retransmission of this recovery is lost.
fn is_lost_again(cx: &Context<'_>, chunk: &Outstanding, cause: LossCause) -> bool {
    cause.sees_retransmissions()
        && chunk.transmissions > 1
        && cx.paths[chunk.path].window.is_lost_again(chunk.last_sent)
}
