//! The congestion windows of the paths: what they let go, how they grow, and what cuts them (RFC 9260 §6.1, §7.2).

use super::context::Context;
use super::outbound::Outbound;
use crate::congestion::AckFacts;
use crate::ids::{PathId, WindowCause};
use crate::scoreboard::{AckOutcome, PathAck, RateSample};

impl Context<'_> {
    /// §6.1 B: whether cwnd, and the pace, let a packet go on `path`.
    pub(super) fn cwnd_allows(&self, data: &Outbound, path: PathId) -> bool {
        self.strategy.cwnd_allows(data.flight(path), &self.paths[path])
    }

    /// After a timeout new chunks fill the one packet up, in packets of their own.
    pub(super) fn fills_lone_packet(&self, path: PathId) -> bool {
        self.paths[path].window.is_one_packet()
            && self.profile().congestion.fill_packet_after_timeout
    }

    /// Whether a chunk with `len` bytes of user data still has room there.
    pub(super) fn fits_lone_packet(&self, data: &Outbound, path: PathId, len: usize) -> bool {
        let flight = data.flight(path) + data.board().chunk_len(len);
        flight <= self.strategy.window(&self.paths[path]).min(self.paths[path].pmdcs())
            && !self.strategy.is_held_back(&self.paths[path])
    }

    /// §7.2.1: cwnd decays while nothing is sent on an address.
    pub(super) fn decay_idle(&mut self, data: &Outbound, path: PathId) {
        let (now, profile) = (self.now, self.profile());
        let p = &mut self.paths[path];
        if p.window.is_idle(data.flight(path)) && p.window.decay(now, p.idle_after(profile)) {
            self.trace_window(data.board(), path, WindowCause::Idle);
        }
    }

    /// Nothing leaves any more: paths that could carry more say nothing of what they could carry. A peer that has no
    /// room is as good as a path that has none (draft-ietf-ccwg-bbr-06 §4.1.1).
    pub(super) fn note_app_limited(&self, data: &mut Outbound) {
        if !data.board().samples_delivery_rates() {
            return;
        }
        let closed = data.next_len(self.paths).is_some_and(|len| len > data.peer_window());
        if closed || data.board().first_lost().is_some() {
            return;
        }
        for p in self.paths.iter().filter(|p| p.window.control().samples_rate()) {
            let flight = data.flight(p.id);
            if flight < self.strategy.window(p) && !self.strategy.is_held_back(p) {
                data.board_mut().note_app_limited(p.id);
            }
        }
    }

    /// The windows of the paths over which something was acknowledged grow.
    pub(super) fn grow_windows(
        &mut self,
        data: &mut Outbound,
        outcome: &AckOutcome,
        spurious: bool,
    ) {
        for (i, ack) in outcome.paths.iter().enumerate() {
            // RFC 4015 §3.4: cwnd must not be changed any further by the ack that restored it.
            if ack.chunks == 0 {
                continue;
            }
            let path = PathId(i as u8);
            let samples = data.board().samples_delivery_rates();
            let rate =
                if samples { data.board_mut().rate_sample(self.now, path, ack) } else { None };
            if !spurious {
                self.grow_window(data, path, (ack, rate.as_ref()), outcome);
            }
        }
    }

    //= RFC 9260 7.2.1-9
    fn grow_window(
        &mut self,
        data: &mut Outbound,
        path: PathId,
        (ack, rate): (&PathAck, Option<&RateSample>),
        outcome: &AckOutcome,
    ) {
        let (now, strategy, profile) = (self.now, self.strategy, self.profile());
        let flight = data.flight(path);
        let p = &mut self.paths[path];
        if p.window.reduce(ack.bytes, flight, p.mtu.max_packet()) {
            self.trace_window(data.board(), path, WindowCause::RateReduction);
            return;
        }
        //= RFC 3168 6.1.2-2
        // RFC 3168 §6.1.2: "the TCP sender SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo
        // ACK packet."
        if p.window.marks().is_echoed() && !p.window.control().is_model_based() {
            return;
        }
        let cumulative_advanced = strategy.advanced(profile, outcome, path);
        let before = p.window.cwnd();
        let flight_before = p.window.flight_at_send();
        let in_fast_recovery = p.window.is_recovering();
        let srtt = p.rtt.srtt();
        let measured = ack.latest.filter(|latest| latest.transmissions == 1);
        let (rtt, next) = (measured.map(|latest| now.since(latest.sent)), data.next_sequence());
        let paced = strategy.is_paced(p);
        self.tell_control(data, path, |control, coupled| {
            control.on_ack(&AckFacts {
                now,
                srtt,
                rtt,
                newest: ack.highest_newly_acked,
                next,
                paced,
                rate,
                bytes: ack.bytes,
                flight_before,
                cumulative_advanced,
                in_fast_recovery,
                all_acked: flight == 0,
                coupled,
            });
        });
        let window = &self.paths[path].window;
        if data.board().samples_delivery_rates() && window.control().holds_back() {
            data.board_mut().note_app_limited(path);
        }
        if window.cwnd() != before {
            self.trace_window(data.board(), path, WindowCause::Growth);
        }
    }

    /// A loss, or a mark that stands for one, cuts the window of `path`.
    pub(super) fn cut_window(&mut self, data: &Outbound, path: PathId, cause: WindowCause) {
        let (now, until) = (self.now, data.next_sequence() - 1);
        let marked = cause == WindowCause::Mark;
        let window = &mut self.paths[path].window;
        let most = window.cwnd();
        window.on_loss(now);
        if marked {
            window.marks_mut().on_mark(until);
        } else {
            window.marks_mut().on_loss(until);
        }
        self.tell_control(data, path, |control, coupled| match marked {
            true => control.on_mark(&coupled),
            false => control.on_loss(&coupled),
        });
        //= RFC 3168 6.1.2-3
        if marked {
            self.paths[path].window.lower_to(most);
        }
        self.strategy.spare_window(self.paths, path);
        if !marked {
            self.strategy.keep_window(&mut self.paths[path]);
        }
        self.trace_window(data.board(), path, cause);
    }

    /// A retransmission of this recovery is lost.
    pub(super) fn lower_again(&mut self, data: &Outbound, path: PathId) {
        let (now, profile) = (self.now, self.profile());
        self.strategy.lower_again(now, self.paths, path, profile);
        self.trace_window(data.board(), path, WindowCause::Loss);
    }

    /// Ends Fast Recovery where its exit point is reached (RFC 9260 §6.2.1 D iv).
    pub(super) fn end_fast_recovery(&mut self, data: &Outbound) {
        let (strategy, profile) = (self.strategy, self.profile());
        for path in self.paths.ids() {
            let reached = |exit: u64| strategy.has_recovered(data.board(), path, exit);
            if !self.paths[path].window.leave_recovery(reached) {
                continue;
            }
            if self.paths[path].window.end_reduction() {
                // By now the path is measured better.
                strategy.spare_window(self.paths, path);
                self.trace_window(data.board(), path, WindowCause::RateReduction);
            }
            strategy.restore_floor(&mut self.paths[path], profile);
        }
    }

    /// T3-rtx of `path` expired, without an answer to what was sent: cwnd is one packet (RFC 9260 §6.3.3 E1).
    pub(super) fn collapse_window(&mut self, data: &Outbound, path: PathId) {
        let profile = self.profile();
        let again = self.paths[path].t3.in_a_row();
        if again <= 1 {
            self.paths[path].window.keep_threshold();
        }
        self.tell_control(data, path, |control, coupled| control.on_timeout(again > 1, &coupled));
        let marks = self.paths[path].window.marks_mut();
        marks.on_loss(data.next_sequence() - 1);
        marks.on_timeout(again);
        self.paths[path].window.on_timeout(profile.congestion.one_packet_after_timeout);
        self.trace_window(data.board(), path, WindowCause::Timeout);
    }
}
