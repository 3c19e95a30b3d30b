//! Timers of the sending half, but for T3-rtx.

use super::Sender;
use super::silence::Silent;
use crate::config::AssociationConfig;
use crate::path::Paths;
use crate::recovery::{Decisions, TimerFacts};
use crate::send::context::Context;
use crate::state::State;
use crate::time::Time;

impl Sender {
    /// When the window of the peer is probed, if it is closed.
    pub(crate) const fn window_probe_deadline(&self) -> Option<Time> {
        self.zero_window.deadline()
    }

    /// The earliest of the other deadlines.
    pub(crate) fn deadline(
        &self,
        paths: &Paths,
        config: &AssociationConfig,
        state: State,
    ) -> Option<Time> {
        let deadlines = [
            self.recovery_deadline(paths),
            paths.departure_deadline(),
            self.silence_deadline(paths, config, state),
            self.data.queue().deadline(),
            self.abandonment.deadline(),
            paths.question_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Runs what is due. Returns the paths that are to be asked by a heartbeat.
    pub(crate) fn on_timer(&mut self, cx: &mut Context<'_>) -> Silent {
        let now = cx.now;
        let due = |t: Option<Time>| t.is_some_and(|t| t <= now);
        if self.zero_window.on_timer(now) {
            cx.paths.begin_opportunity(cx.profile());
        }
        if due(cx.paths.question_deadline()) {
            let path = cx.paths.data_path();
            if cx.paths[path].address.take_question() {
                self.recovery.on_source_change(now);
            }
            // Of other paths heartbeats ask.
            for path in cx.paths.iter_mut() {
                path.address.take_question();
            }
        }
        if due(self.recovery_deadline(cx.paths)) {
            self.on_recovery_timer(cx);
        }
        let silent = if due(self.silence_deadline(cx.paths, cx.config, cx.state)) {
            self.leave_silent(cx)
        } else {
            Silent::new()
        };
        if due(cx.paths.departure_deadline()) {
            for path in cx.paths.iter_mut() {
                path.bursts.wake();
            }
        }
        silent
    }

    /// Timers of the recovery algorithms (RFC 8985 §6.2 step 5, §7.3).
    fn on_recovery_timer(&mut self, cx: &mut Context<'_>) {
        let (now, profile) = (cx.now, cx.profile());
        let new_data_ready = self.data.is_ready(cx.paths);
        let path = cx.paths.data_path();
        let earliest = self.data.board().earliest(path);
        let guess_at = earliest.and_then(|seq| self.guess_at(cx, path, seq));
        let t3 = cx.paths[path].t3.deadline();
        let mut decisions = Decisions::default();
        let round_trip = self.recovery.answered_from(path, cx.paths[path].rtt.srtt());
        let board = self.data.board();
        let facts = TimerFacts { now, board, new_data_ready, round_trip, guess_at, t3 };
        self.recovery.on_deadline(&facts, &mut decisions);
        if self.recovery.on_early(&facts, &mut decisions) {
            let (thin, p) = (self.is_thin(), &mut cx.paths[path]);
            let in_a_row = p.t3.in_a_row().saturating_add(1);
            if p.t3.is_due(now) && !self.recovery.keeps_rto(profile, thin, in_a_row) {
                // RFC 9260 §6.3.3 E2: what is sent early stands for this expiration.
                p.rtt.back_off(profile);
            }
            // RFC 8985 §7.3: T3-rtx is the last resort, should that fail.
            cx.arm_t3(path, &self.zero_window);
        }
        self.act_on_losses(cx, &mut decisions);
        cx.paths.begin_opportunity(cx.profile());
    }

    /// That of the recovery algorithms.
    fn recovery_deadline(&self, paths: &Paths) -> Option<Time> {
        self.recovery.deadline(paths[paths.data_path()].t3.deadline())
    }
}
