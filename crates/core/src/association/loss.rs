//! What is lost, what only seemed to be, and what follows for the congestion windows
//! (RFC 9260 §7.2.4; RFC 4015).

use std::time::Duration;

use smallvec::SmallVec;

use super::Association;
use super::sack::SackMarks;
use crate::event::{LossCause, TraceEvent, WindowCause};
use crate::path::{Path, PathId};
use crate::recovery::spurious::response::{TimerAdaption, windows};
use crate::recovery::spurious::{Cut, Trigger, Verdict};
use crate::recovery::timer::thin_no_backoff;
use crate::recovery::{SackFacts, TimerFacts};
use crate::scoreboard::{AckOutcome, Outstanding, Scoreboard};
use crate::send::Strikes;
use crate::time::Time;

impl Association {
    /// Miss indications and what the recovery algorithms make of a SACK (RFC 9260 §7.2.4); their
    /// decisions wait in `sender.decisions`. Returns whether an earlier loss turned out spurious.
    pub(super) fn recover(
        &mut self,
        now: Time,
        outcome: &AckOutcome,
        marks: SackMarks,
        was_in_recovery: bool,
    ) -> bool {
        let multipath = &self.profile().multipath;
        let strikes = if self.is_concurrent() && multipath.split_fast_retransmit {
            Strikes::Split { packets: if multipath.dac { marks.packets } else { 0 } }
        } else if self.profile().fast_retransmit.htna {
            Strikes::Newly { in_recovery: was_in_recovery }
        } else {
            Strikes::Every
        };
        let struck = self.sender.strike(outcome, strikes);
        let sender = &mut self.sender;
        let mut decisions = std::mem::take(&mut sender.decisions);
        decisions.clear();
        let quiet = sender.board.missing().next().is_none() && outcome.newly_acked == 0;
        if quiet && !outcome.cumulative_advanced && sender.duplicates.is_empty() {
            self.sender.decisions = decisions;
            return false;
        }
        self.make_backoff_good();
        let data_path = self.paths.data_path();
        let new_data_ready = self.new_data_ready();
        let srtt: SmallVec<[Option<Duration>; 4]> =
            self.paths.iter().map(|p| p.rtt.srtt()).collect();
        let least: SmallVec<[Option<Duration>; 4]> =
            self.paths.iter().map(|p| p.calm.least()).collect();
        let sender = &mut self.sender;
        let facts = SackFacts {
            now,
            board: &sender.board,
            outcome,
            duplicates: &sender.duplicates,
            struck: struck || !outcome.reneged.is_empty(),
            new_data_ready,
            smss: self.paths[data_path].pmdcs(),
            in_fast_recovery: self.paths.in_fast_recovery(),
            thin: sender.recovery.thin.is_thin(&sender.board),
            timestamp_echo: marks.timestamp_echo,
            retransmit_bit: marks.retransmit_bit,
            srtt: &srtt,
            least: &least,
        };
        let verdict = sender.recovery.spurious.on_sack(&facts, &mut decisions);
        sender.recovery.on_sack(&facts, &mut decisions);
        let round_trip = self.paths[data_path].rtt.round_trip();
        let probe = sender.recovery.probe.as_mut();
        let repaired = probe.is_some_and(|probe| probe.on_sack(&facts, round_trip));
        self.sender.decisions = decisions;
        if repaired {
            // RFC 8985 §7.4.2: the probe repaired a loss, which was congestion all the same.
            self.cut_window(now, data_path);
        }
        let spurious = verdict.is_some();
        if let Some(verdict) = verdict {
            self.respond(now, outcome, &verdict);
        }
        spurious
    }

    /// What an expiration without backoff sent again had arrived: the timer was early
    /// (`thin_no_backoff.backs_off_if_early`).
    fn make_backoff_good(&mut self) {
        let profile = std::sync::Arc::clone(&self.config.profile);
        if !profile.thin_no_backoff.backs_off_if_early {
            return;
        }
        for path in self.paths.iter_mut() {
            let early = |until: u64| self.sender.duplicates.iter().any(|seq| *seq <= until);
            if path.t3.was_early(early) {
                path.rtt.back_off(&profile);
            }
        }
    }

    /// Unsent user data waits, and the peer's window has room for it.
    pub(super) fn new_data_ready(&self) -> bool {
        let next = self.sender.queue.next_len(self.max_payload());
        next.is_some_and(|len| len <= self.sender.peer_window())
    }

    /// Carries out what the recovery algorithms decided.
    pub(super) fn act_on_losses(&mut self, now: Time) {
        let mut decisions = std::mem::take(&mut self.sender.decisions);
        self.sender.permits.add_extra(decisions.send_new);
        if decisions.probes_new {
            self.journal.stats.tail_loss_probes += 1;
        }
        self.sender.probe = decisions.probe.or(self.sender.probe);
        let mut cuts = SmallVec::new();
        let mut paths = 0u32; // Bit set of paths that lost something.
        let mut twice = 0u32; // The same for those that lost a retransmission of this recovery.
        // A receiver that has no room drops what is sent again, and says so in a SACK: repeating it
        // for each of them would go on until there is room. T3-rtx sees to that.
        let closed = self.sender.is_window_closed();
        let (mut again, mut again_on) = (self.paths.amdcs(), None);
        for (start, end, cause) in decisions.lost.drain(..) {
            for seq in start..=end {
                let chunk = self.sender.board.get(seq);
                if closed && chunk.is_some_and(|c| c.transmissions > 1) {
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
                let again_lost = chunk.is_some_and(|c| self.is_lost_again(c, cause));
                // Before anything is taken from the flight: RFC 4015 step 0.
                if let Some(path) = path
                    && paths & (1 << path.0) == 0
                    && self.sender.board.is_in_flight(seq)
                {
                    cuts.push(self.cut(path, 0));
                }
                let lost = self.lose(now, seq, cause);
                paths |= lost;
                twice |= if again_lost { lost } else { 0 };
            }
        }
        self.sender.decisions = decisions;
        if paths != 0 {
            self.start_fast_recovery(now, paths, cuts);
        }
        for i in (0..self.paths.len()).filter(|i| twice & (1 << i) != 0) {
            self.lower_again(now, PathId(i as u8));
        }
    }

    /// Declares `seq` lost; returns the bit of its path, 0 if it was not in flight.
    pub(super) fn lose(&mut self, now: Time, seq: u64, cause: LossCause) -> u32 {
        if !self.sender.board.mark_lost(seq, cause) {
            return 0;
        }
        let Some(chunk) = self.sender.board.get(seq) else { return 0 };
        let (path, misses) = (chunk.path, chunk.misses);
        let tsn = Scoreboard::tsn(seq);
        self.journal.trace(now, || TraceEvent::Lost { tsn, path, cause, misses });
        self.journal.stats.lost_chunks[cause.index()] += 1;
        self.paths[path].counters.lost_chunks += 1;
        1 << path.0
    }

    /// What a spurious loss of `path` would have to give back.
    fn cut(&self, path: PathId, timeouts: u32) -> Cut {
        let p = &self.paths[path];
        let flight = self.sender.board.flight(path);
        let pipe_prev = flight.max(p.window.ssthresh());
        Cut { path, pipe_prev, timeouts, srtt: p.rtt.srtt(), rttvar: p.rtt.rttvar() }
    }

    //= RFC 9260 7.2.4-5
    /// RFC 9260 §7.2.4 rules 2, 3 and 6.
    fn start_fast_recovery(&mut self, now: Time, paths: u32, mut cuts: SmallVec<[Cut; 2]>) {
        // Each path has a Fast Recovery of its own with concurrent transfer, otherwise the
        // association has one.
        let concurrent = self.is_concurrent();
        let recovering = |p: &Path| p.window.is_recovering();
        let paths = if concurrent {
            let fresh = self.paths.iter().filter(|p| !recovering(p));
            paths & fresh.fold(0, |bits, p| bits | 1 << p.id.0)
        } else if self.paths.in_fast_recovery() {
            0
        } else {
            paths
        };
        if paths == 0 {
            return; // What is marked leaves as cwnd allows; cwnd is not cut again.
        }
        let (cumulative, highest) =
            (self.sender.board.cumulative(), self.sender.board.next_seq() - 1);
        let recovery = &mut self.sender.recovery;
        cuts.retain(|cut| paths & (1 << cut.path.0) != 0);
        recovery.spurious.begin(Trigger::FastRetransmit, cuts, cumulative, highest);
        if let Some(dynamic) = &mut recovery.dynamic_rto_min {
            dynamic.on_fast_retransmit();
        }
        if let Some(probe) = &mut recovery.probe {
            probe.reset();
        }
        let profile = std::sync::Arc::clone(&self.config.profile);
        for i in 0..self.paths.len() {
            if paths & (1 << i) != 0 {
                let path = PathId(i as u8);
                self.cut_window(now, path);
                if profile.prr.enabled && profile.fast_retransmit.fast_recovery {
                    self.paths[path].window.begin_reduction();
                }
            }
        }
        self.sender.retransmit_now(&profile);
        self.journal.stats.fast_recoveries += 1;
        if profile.fast_retransmit.fast_recovery {
            for p in self.paths.iter_mut().filter(|p| !concurrent || paths & (1 << p.id.0) != 0) {
                p.window.enter_recovery(highest);
            }
        }
    }

    /// A retransmission of this recovery is lost, which nothing but RACK sees.
    fn is_lost_again(&self, chunk: &Outstanding, cause: LossCause) -> bool {
        cause == LossCause::Rack
            && chunk.transmissions > 1
            && self.paths[chunk.path].window.is_lost_again(chunk.last_sent)
    }

    /// A retransmission of this recovery is lost ([`floor`](crate::congestion::floor)).
    fn lower_again(&mut self, now: Time, path: PathId) {
        let p = &mut self.paths[path];
        p.window.lower_again(now, p.mtu.pmdcs());
        self.spare_window(path);
        self.trace_window(now, path, WindowCause::Loss);
    }

    fn cut_window(&mut self, now: Time, path: PathId) {
        self.paths[path].window.on_loss(now);
        self.tell_control(now, path, |control, coupled| control.on_loss(&coupled));
        self.spare_window(path);
        self.trace_window(now, path, WindowCause::Loss);
    }

    /// Ends Fast Recovery where its exit point is reached (RFC 9260 §6.2.1 D iv).
    pub(super) fn end_fast_recovery(&mut self, now: Time) {
        let concurrent = self.is_concurrent();
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            let board = &self.sender.board;
            let reached = |exit: u64| {
                if concurrent {
                    // The Cumulative TSN Ack Point that the path would have for itself.
                    board.earliest(path).is_none_or(|earliest| earliest > exit)
                } else {
                    board.cumulative() >= exit
                }
            };
            if !self.paths[path].window.leave_recovery(reached) {
                continue;
            }
            if self.paths[path].window.end_reduction() {
                // By now the path is measured better.
                self.spare_window(path);
                self.trace_window(now, path, WindowCause::RateReduction);
            }
            self.restore_floor(path);
        }
    }

    /// [`lower_again`](Self::lower_again) may have gone below the floor of ssthresh.
    fn restore_floor(&mut self, path: PathId) {
        if self.is_concurrent() {
            return; // Coupled controls divide the floor among the paths.
        }
        let floor = self.profile().congestion.ssthresh_floor;
        let p = &mut self.paths[path];
        let floor = (floor * p.pmdcs() as f64) as usize;
        p.window.restore_floor(floor);
    }

    /// T3-rtx of `path` is about to cut its window.
    pub(super) fn note_timeout(&mut self, path: PathId) {
        let timeouts = self.paths[path].t3.in_a_row();
        let cut = self.cut(path, timeouts);
        let board = &self.sender.board;
        let (cumulative, highest) = (board.cumulative(), board.next_seq() - 1);
        let recovering = self.paths.in_fast_recovery();
        // F-RTO reads the order of what arrives, which says nothing between paths: SACKs for what
        // another one carries would make every timeout look spurious.
        let readable = !self.is_concurrent();
        let spurious = &mut self.sender.recovery.spurious;
        if readable {
            spurious.on_timeout(cumulative, highest, recovering);
        }
        spurious.begin(Trigger::Timeout, SmallVec::from_iter([cut]), cumulative, highest);
    }

    /// Nothing was lost: what the loss cost is given back (RFC 4015; Ladha et al. §5).
    fn respond(&mut self, now: Time, outcome: &AckOutcome, verdict: &Verdict) {
        let Verdict { episode, by } = verdict;
        let timeout = episode.trigger == Trigger::Timeout;
        let stats = &mut self.journal.stats;
        if timeout {
            stats.spurious_timeouts += 1;
        } else {
            stats.spurious_fast_retransmits += 1;
            self.sender.recovery.on_spurious_loss();
        }
        let profile = std::sync::Arc::clone(&self.config.profile);
        for cut in &episode.cuts {
            let (path, by) = (cut.path, *by);
            let counters = &mut self.paths[path].counters;
            if timeout {
                counters.spurious_timeouts += 1;
            } else {
                counters.spurious_fast_retransmits += 1;
            }
            self.journal.trace(now, || TraceEvent::Spurious { path, timeout, by });
        }
        if !profile.spurious_response.enabled {
            return;
        }
        if timeout {
            // Step 8: resume with previously unsent data.
            for seq in self.sender.board.restore_lost(episode.highest) {
                let Some(chunk) = self.sender.board.get(seq) else { continue };
                self.sender.recovery.on_restored(chunk.path, seq, chunk.last_sent);
            }
            for cut in &episode.cuts {
                self.paths[cut.path].window.allow_more();
            }
            let granularity = profile.rto.granularity();
            let adaption = episode.cuts.first();
            self.sender.timer_adaption =
                adaption.and_then(|cut| TimerAdaption::new(cut, episode.highest + 1, granularity));
        } else {
            for path in self.paths.iter_mut() {
                path.window.abandon_recovery();
            }
        }
        for cut in &episode.cuts {
            let flight = self.sender.board.flight(cut.path);
            let p = &mut self.paths[cut.path];
            p.window.abandon_reduction();
            let control = p.window.control_mut();
            let before = (control.cwnd(), control.ssthresh());
            let (initial, acked) = (control.initial_window(), outcome.newly_acked);
            let response = &profile.spurious_response;
            let (cwnd, ssthresh) = windows(response, cut, before, flight, acked, initial);
            control.set_window(cwnd, ssthresh);
            self.trace_window(now, cut.path, WindowCause::Undo);
        }
    }

    /// Timers of the recovery algorithms (RFC 8985 §6.2 step 5, §7.3).
    pub(super) fn on_recovery_timer(&mut self, now: Time) {
        let new_data_ready = self.new_data_ready();
        let path = self.paths.data_path();
        let probe_due = self.probe_deadline().is_some_and(|at| at <= now);
        let earliest = self.sender.board.earliest(path);
        let guess_at = earliest.and_then(|seq| self.guess_at(now, path, seq));
        let t3_due = self.paths[path].t3.is_due(now);
        let sender = &mut self.sender;
        let mut decisions = std::mem::take(&mut sender.decisions);
        decisions.clear();
        let p = &self.paths[path];
        let overdue = &sender.recovery.overdue;
        let round_trip = p
            .rtt
            .srtt()
            .map_or(Duration::ZERO, |srtt| overdue.age(path, Some(srtt), Duration::ZERO, 0.0));
        let facts = TimerFacts { now, board: &sender.board, new_data_ready, round_trip };
        sender.recovery.on_deadline(&facts, &mut decisions);
        if probe_due && let Some(probe) = &mut sender.recovery.probe {
            match guess_at {
                Some(at) if at <= now => probe.on_deadline(&facts, &mut decisions),
                at => probe.put_off(at),
            }
            if decisions.probe.is_some() || decisions.probes_new {
                let (thin, p) = (self.sender.is_thin(), &mut self.paths[path]);
                let in_a_row = p.t3.in_a_row().saturating_add(1);
                if t3_due && !thin_no_backoff::keeps_rto(&self.config.profile, thin, in_a_row) {
                    // RFC 9260 §6.3.3 E2: the probe stands for this expiration.
                    p.rtt.back_off(&self.config.profile);
                }
                // RFC 8985 §7.3: T3-rtx is the last resort, should the probe fail.
                self.arm_t3(now, path);
            }
        }
        self.sender.decisions = decisions;
        self.act_on_losses(now);
        self.opportunity();
    }

    /// From when on a chunk in flight may be sent again on `path` although that is perhaps in vain
    /// ([`budget`](crate::recovery::budget)); `None`: not before RFC 9260 would.
    pub(super) fn guess_at(&self, now: Time, path: PathId, seq: u64) -> Option<Time> {
        let recovery = &self.sender.recovery;
        if !recovery.budget.is_enabled() {
            return Some(now);
        }
        let chunk = self.sender.board.get(seq)?;
        if !self.paths[path].calm.is_calm() || !recovery.budget.affords() {
            return None;
        }
        let Path { rtt, calm, .. } = &self.paths[path];
        let behind_repair = calm.behind_repair(recovery.budget.knows_repairs())?;
        let longest = recovery.overdue.longest(path)?.max(rtt.srtt()?).max(behind_repair);
        let late = longest + self.profile().rto.granularity();
        let pending = recovery.budget.answer_due(now, seq, late + 4 * rtt.rttvar());
        Some(pending.unwrap_or(now).max(chunk.last_sent + late))
    }

    /// Whether a budget that is kept finds no queue on `path`.
    pub(super) fn is_calm(&self, path: PathId) -> bool {
        !self.sender.recovery.budget.is_enabled() || self.paths[path].calm.is_calm()
    }

    /// When a tail loss probe is due: no later than T3-rtx, whose place it takes (RFC 8985 §7.2).
    pub(super) fn probe_deadline(&self) -> Option<Time> {
        let at = self.sender.recovery.probe.as_ref()?.deadline()?;
        let t3 = self.paths[self.paths.data_path()].t3.deadline();
        Some(t3.map_or(at, |t3| t3.min(at)))
    }
}
