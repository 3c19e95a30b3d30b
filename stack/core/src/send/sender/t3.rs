//! T3-rtx: when it starts, and what its expiration means (RFC 9260 §6.3.2, §6.3.3).

use std::time::Duration;

use super::Sender;
use crate::event::TraceEvent;
use crate::ids::{LossCause, PathId};
use crate::recovery::Recovery;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::scoreboard::AckOutcome;
use crate::send::context::Context;
use crate::time::Time;

/// An expiration of T3-rtx, for those who count errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct T3Expiration {
    path: PathId,
    /// When the earliest chunk was sent.
    sent: Time,
    /// RFC 9260 would not have sent it again yet.
    premature: bool,
    excused: bool,
    error: bool,
    path_error: bool,
}

impl T3Expiration {
    /// The peer has answered, and keeps its window closed: that is no error.
    pub(crate) const fn is_excused(&self) -> bool {
        self.excused
    }

    /// It is an error of the association.
    pub(crate) const fn is_error(&self) -> bool {
        self.error
    }

    /// It is an error of its path.
    pub(crate) const fn is_path_error(&self) -> bool {
        self.path_error
    }

    /// When the earliest chunk on the path was sent.
    pub(crate) const fn sent(&self) -> Time {
        self.sent
    }
}

impl Sender {
    /// RFC 9260 §6.3.2 R2 to R4.
    pub(super) fn update_timers(&mut self, cx: &mut Context<'_>, outcome: &AckOutcome) {
        for path in cx.paths.ids() {
            let owed = self.abandonment.owed(path).is_some();
            let outstanding = self.data.board().earliest(path).is_some() || owed;
            let earliest = outcome.paths.get(usize::from(path.0)).is_some_and(|p| p.earliest);
            let earliest = earliest || (owed && outcome.passed > 0);
            match t3_rtx::after_sack(outstanding, earliest, cx.paths[path].t3.is_running()) {
                TimerAction::Keep => {}
                TimerAction::Stop => cx.paths[path].t3.stop(),
                TimerAction::Restart => self.restart_t3(cx, path),
            }
        }
    }

    /// Starts T3-rtx again because of a SACK.
    fn restart_t3(&mut self, cx: &mut Context<'_>, path: PathId) {
        let now = cx.now;
        let board = self.data.board();
        let outstanding = || {
            let earliest = board.earliest(path).and_then(|seq| board.get(seq));
            let age = earliest.map_or(Duration::ZERO, |chunk| now.since(chunk.last_sent));
            (age, board.packets_outstanding() + self.data.queue().messages())
        };
        let wait = Recovery::restart(cx.profile(), cx.paths[path].rto(), &outstanding);
        let Some(wait) = wait.filter(|_| !self.zero_window.is_probing()) else {
            cx.arm_t3(path, &self.zero_window);
            return;
        };
        let at = cx.paths[path].rtt.expiry(now, now + wait);
        cx.start_t3(path, at);
    }

    //= RFC 6951 5.5-2
    /// T3-rtx expired for `path` (RFC 9260 §6.3.3).
    pub(crate) fn on_t3(&mut self, cx: &mut Context<'_>, path: PathId) -> Option<T3Expiration> {
        let now = cx.now;
        let board = self.data.board();
        if !cx.may_send_data() {
            return None;
        }
        let earliest = board.earliest(path);
        // RFC 3758 §3.5 C5: the timer is that of a FORWARD TSN chunk, too.
        let chunk = earliest.and_then(|seq| board.get(seq));
        let sent = chunk.map(|chunk| chunk.last_sent).or_else(|| self.abandonment.owed(path))?;
        let premature = self.bounded_until(cx, path, sent);
        let guess_at = earliest.and_then(|seq| self.guess_at(cx, path, seq));
        let allowed = || earliest.and_then(|seq| self.premature_guess_at(cx, path, seq));
        if let Some(at) = premature.map(|due| allowed().map_or(due, |at| at.min(due)))
            && at > now
        {
            cx.start_t3(path, at);
            return None;
        }
        let profile = cx.profile();
        cx.journal.stats.timeouts += 1;
        cx.paths[path].t3.on_expired();
        let expiry = self.zero_window.on_timeout(self.data.peer_room());
        if !expiry.is_probe_answered() {
            let thin = self.is_thin();
            let p = &mut cx.paths[path];
            p.t3.on_unanswered();
            p.window.abandon_reduction();
            self.note_timeout(cx, path);
            let p = &mut cx.paths[path];
            let in_a_row = p.t3.in_a_row();
            if guess_at.is_some() && self.recovery.keeps_rto(profile, thin, in_a_row) {
                self.recovery.on_rto_kept(path, self.data.next_sequence() - 1);
            } else {
                // E2
                p.t3.on_doubled(now, profile.t3_rtx.backs_off_late.then(|| p.rtt.rto()));
                p.rtt.back_off(profile);
            }
        }
        let error = cx.is_error();
        let rto = cx.paths[path].rto();
        cx.journal.trace(now, || TraceEvent::TimerExpired { path, rto });
        // Nor does probing affect cwnd.
        if !expiry.is_probe_answered() {
            // E1
            cx.collapse_window(&self.data, path);
        }
        let excused = expiry.is_excused();
        if excused {
            cx.renew_wait(&self.data);
        }
        let path_error = !excused && cx.is_path_error(path, sent, error);
        let premature = premature.is_some();
        Some(T3Expiration { path, sent, premature, excused, error, path_error })
    }

    /// What an expiration that was accounted for means for what is outstanding.
    pub(crate) fn lose_expired(&mut self, cx: &mut Context<'_>, expired: &T3Expiration) {
        let T3Expiration { path, sent, premature, .. } = *expired;
        let now = cx.now;
        self.recovery.on_timeout();
        let recovering = cx.strategy.recovering_with(path.bit());
        for p in cx.paths.iter_mut().filter(|p| recovering & p.id.bit() != 0) {
            p.window.abandon_recovery();
        }
        cx.paths[path].timed.cancel();
        //= RFC 9260 6.3.3-2
        // E3: everything outstanding on the path is lost; one packet of it leaves at once.
        for seq in self.data.in_flight(path) {
            // RFC 8985 §6.3: what was sent just now is not lost yet. What left with the earliest chunk, in
            // one packet perhaps, shares its fate.
            let left = self.data.board().get(seq).map_or(now, |c| c.last_sent);
            if left == sent || !self.recovery.spares(now, path, left) {
                let lost = self.lose(cx, seq, LossCause::Timeout) != 0;
                if lost && premature {
                    self.recovery.on_premature_timeout(seq);
                }
            }
        }
        self.overrides.retransmit(cx.profile());
        self.forward_after_timeout(cx, path);
        cx.paths.begin_opportunity(cx.profile());
    }
}
