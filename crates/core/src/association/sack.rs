//! SACK chunks received: facts into the scoreboard, decisions out of the recovery algorithms,
//! and what follows from both (RFC 9260 §6.2.1, §6.3, §7.2).

use tresse_wire::{Sack, Tsn};

use super::{Association, State};
use crate::congestion::AckFacts;
use crate::event::{Event, LossCause, TraceEvent, WindowCause};
use crate::path::PathId;
use crate::recovery::SackFacts;
use crate::recovery::t3_rtx::{self, TimerAction};
use crate::scoreboard::{AckOutcome, SackFault, Scoreboard};
use crate::time::Time;

impl Association {
    pub(super) fn on_sack(&mut self, now: Time, sack: &Sack<'_>) {
        let open = matches!(
            self.state,
            State::Established | State::ShutdownPending | State::ShutdownReceived
        );
        if !open {
            return;
        }
        self.journal.stats.sacks_received += 1;
        let duplicates = sack.duplicates().len();
        let blocks = sack.gap_blocks();
        let gap_blocks = blocks.len();
        let sender = &mut self.sender;
        let queue = &mut sender.queue;
        let result =
            sender.board.on_sack(sack.cumulative_tsn_ack, blocks, &mut sender.outcome, |chunk| {
                queue.on_acked(chunk.chunk.stream, chunk.chunk.flags);
            });
        if !self.accepted(now, result) {
            return;
        }
        self.journal.stats.duplicates_reported += duplicates as u64;
        self.sender.a_rwnd = sack.a_rwnd as usize;
        let newly_acked = self.sender.outcome.newly_acked;
        self.journal.trace(now, || TraceEvent::Sacked {
            cumulative: sack.cumulative_tsn_ack,
            gap_blocks,
            duplicates,
            newly_acked,
            a_rwnd: sack.a_rwnd,
        });
        self.after_acks(now);
        if self.is_closed() {
            return;
        }
        self.resend_dropped_probe(now);
        self.watch_window(now);
        self.opportunity();
        self.shutdown_progress(now);
    }

    /// The Cumulative TSN Ack of a SHUTDOWN chunk acknowledges too (RFC 9260 §9.2).
    pub(super) fn on_cumulative_ack(&mut self, now: Time, cumulative: Tsn) {
        let sender = &mut self.sender;
        let queue = &mut sender.queue;
        let result = sender.board.on_cumulative_ack(cumulative, &mut sender.outcome, |chunk| {
            queue.on_acked(chunk.chunk.stream, chunk.chunk.flags);
        });
        if self.accepted(now, result) {
            self.after_acks(now);
            // It tells no a_rwnd: what waits may need a probe to learn that the window is open.
            self.watch_window(now);
        }
    }

    /// Judges what the scoreboard made of an acknowledgement; `false` if it was refused.
    fn accepted(&mut self, now: Time, result: Result<(), SackFault>) -> bool {
        match result {
            Ok(()) => {
                for i in 0..self.sender.outcome.reneged.len() {
                    let tsn = Scoreboard::tsn(self.sender.outcome.reneged[i]);
                    self.journal.stats.reneged += 1;
                    self.journal.trace(now, || TraceEvent::Reneged { tsn });
                }
                true
            }
            // §6.2.1 D i: drop it.
            Err(SackFault::Stale) => false,
            Err(SackFault::Unsent) => {
                // An optimistic or broken receiver: nothing it says can be relied on any more.
                self.abort_violation("a TSN that was never sent is acknowledged");
                false
            }
            Err(SackFault::MalformedGap) => {
                self.journal.stats.malformed_chunks += 1;
                false
            }
        }
    }

    fn after_acks(&mut self, now: Time) {
        let outcome = std::mem::take(&mut self.sender.outcome);
        if outcome.newly_acked > 0 {
            // §8.1: the counter MUST be reset each time a DATA chunk is acknowledged.
            self.errors = 0;
        }
        self.sender.zero_window.answered = true;
        // §6.2.1 D iv: Fast Recovery ends once the exit point is reached.
        let cumulative = self.sender.board.cumulative();
        let in_recovery = self.sender.fast_recovery_exit.is_some();
        if self.sender.fast_recovery_exit.is_some_and(|exit| cumulative >= exit) {
            self.sender.fast_recovery_exit = None;
        }
        for (i, ack) in outcome.paths.iter().enumerate() {
            let path = PathId(i as u8);
            if ack.chunks > 0 {
                self.paths[path].one_packet = false;
                // §8.2: the ack of a retransmission may belong to another path: it does not count.
                if ack.unambiguous {
                    self.path_answered(path);
                }
                self.take_rtt_sample(now, path);
                self.grow_window(now, path, ack.bytes, &outcome);
            }
        }
        self.find_losses(now, &outcome, in_recovery);
        self.update_timers(now, &outcome);
        self.sender.outcome = outcome;
        self.sender.zero_window.probing &= !self.sender.board.is_empty();
        self.notify_writer();
    }

    /// RFC 9260 §6.3.1 C4, C5: one sample per round trip, never of a retransmitted chunk.
    fn take_rtt_sample(&mut self, now: Time, path: PathId) {
        let Some(probe) = self.paths[path].rtt_probe else { return };
        if self.sender.board.is_acked(probe.seq) {
            self.paths[path].rtt_probe = None;
            self.sample_rtt(now, path, probe.sent);
        }
    }

    fn grow_window(&mut self, now: Time, path: PathId, bytes: usize, outcome: &AckOutcome) {
        let flight = self.sender.board.flight(path);
        let p = &mut self.paths[path];
        let before = p.control.get().cwnd();
        p.control.get_mut().on_ack(&AckFacts {
            bytes,
            flight_before: p.flight_at_send,
            cumulative_advanced: outcome.cumulative_advanced,
            in_fast_recovery: self.sender.fast_recovery_exit.is_some(),
            all_acked: flight == 0,
        });
        if p.control.get().cwnd() != before {
            self.trace_window(now, path, WindowCause::Growth);
        }
    }

    pub(super) fn trace_window(&mut self, now: Time, path: PathId, cause: WindowCause) {
        let control = self.paths[path].control.get();
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        let flight = self.sender.board.flight(path);
        self.journal.trace(now, || TraceEvent::Window { path, cwnd, ssthresh, flight, cause });
    }

    /// Miss indications and what the recovery algorithms make of them (RFC 9260 §7.2.4).
    fn find_losses(&mut self, now: Time, outcome: &AckOutcome, was_in_recovery: bool) {
        let sender = &mut self.sender;
        let struck = strike(
            &mut sender.board,
            outcome,
            self.config.profile.fast_retransmit.htna,
            was_in_recovery,
        );
        if sender.board.missing().is_empty() && !outcome.cumulative_advanced {
            return;
        }
        let smss = self.paths[self.paths.data_path()].pmdcs();
        let next = sender.queue.next_len(self.paths.amdcs() - tresse_wire::DATA_HEADER_LEN);
        let mut decisions = std::mem::take(&mut sender.decisions);
        decisions.clear();
        let facts = SackFacts {
            board: &sender.board,
            struck: struck || !outcome.reneged.is_empty(),
            new_data_ready: next.is_some_and(|len| len <= sender.peer_window()),
            smss,
            in_fast_recovery: sender.fast_recovery_exit.is_some(),
        };
        sender.recovery.on_sack(&facts, &mut decisions);
        sender.extra_packets += decisions.send_new;
        let mut cut = 0u32; // Bit set of paths that lost something.
        for (start, end, cause) in decisions.lost.drain(..) {
            for seq in start..=end {
                cut |= self.lose(now, seq, cause);
            }
        }
        self.sender.decisions = decisions;
        if cut != 0 {
            self.start_fast_recovery(now, cut);
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
        1 << path.0
    }

    /// RFC 9260 §7.2.4 rules 2, 3 and 6.
    fn start_fast_recovery(&mut self, now: Time, cut: u32) {
        if self.sender.fast_recovery_exit.is_some() {
            return; // What is marked leaves as cwnd allows; cwnd is not cut again.
        }
        for i in 0..self.paths.len() {
            if cut & (1 << i) != 0 {
                let path = PathId(i as u8);
                self.paths[path].control.get_mut().on_loss();
                self.trace_window(now, path, WindowCause::Loss);
            }
        }
        self.sender.retransmit_now = true;
        self.journal.stats.fast_recoveries += 1;
        if self.config.profile.fast_retransmit.fast_recovery {
            self.sender.fast_recovery_exit = Some(self.sender.board.next_seq() - 1);
        }
    }

    /// RFC 9260 §6.3.2 R2 to R4.
    fn update_timers(&mut self, now: Time, outcome: &AckOutcome) {
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            let outstanding = self.sender.board.earliest(path).is_some();
            let earliest = outcome.paths.get(i).is_some_and(|p| p.earliest);
            match t3_rtx::after_sack(outstanding, earliest, self.paths[path].t3.is_some()) {
                TimerAction::Keep => {}
                TimerAction::Stop => self.paths[path].t3 = None,
                TimerAction::Restart => self.arm_t3(now, path),
            }
        }
    }

    pub(super) fn arm_t3(&mut self, now: Time, path: PathId) {
        let mut wait = self.paths[path].rto();
        if self.sender.zero_window.probing {
            // §6.1 A: the probe interval increases exponentially.
            let doublings = self.sender.zero_window.probes.saturating_sub(1).min(6);
            wait = (wait * (1 << doublings)).min(self.profile().rto.max());
        }
        let at = now + wait;
        self.paths[path].t3 = Some(at);
        self.journal.trace(now, || TraceEvent::TimerArmed { path, at });
    }

    /// Writable, once half of the send buffer is free again.
    pub(super) fn notify_writer(&mut self) {
        if self.sender.writer_waits && self.sender.buffered() <= self.sender.limit / 2 {
            self.sender.writer_waits = false;
            self.journal.event(Event::Writable);
        }
    }

    /// The window opened while probes are outstanding, or what was sent again after a timeout: the
    /// receiver had to drop them (RFC 9260 §6.2), so they leave again now and not after a
    /// backed-off T3-rtx.
    fn resend_dropped_probe(&mut self, now: Time) {
        let board = &self.sender.board;
        let first = board.cumulative() + 1;
        let closed = self.is_window_closed() || board.get(first).is_none();
        if !self.sender.zero_window.probing || closed {
            return;
        }
        self.sender.zero_window.probing = false;
        let probe = |seq: &u64| {
            *seq == first || board.get(*seq).is_some_and(|chunk| chunk.transmissions > 1)
        };
        let mut dropped = Vec::new();
        for path in self.paths.iter() {
            board.for_each_in_flight(path.id, |seq| dropped.extend(Some(seq).filter(probe)));
        }
        for seq in dropped {
            self.lose(now, seq, LossCause::ZeroWindowProbe);
        }
    }

    /// The peer has no room for the first chunk that is outstanding.
    pub(super) fn is_window_closed(&self) -> bool {
        let first = self.sender.board.get(self.sender.board.cumulative() + 1);
        first.is_some_and(|c| c.chunk.payload.len() > self.sender.a_rwnd)
    }

    /// Notices a closed window: the first probe leaves after one RTO (RFC 9260 §6.1 A).
    pub(super) fn watch_window(&mut self, now: Time) {
        let rto = self.paths[self.paths.data_path()].rto();
        let sender = &mut self.sender;
        let max_payload = self.paths.amdcs() - tresse_wire::DATA_HEADER_LEN;
        let closed =
            sender.queue.next_len(max_payload).is_some_and(|len| len > sender.peer_window());
        let idle = sender.board.total_flight() == 0 && sender.board.first_lost().is_none();
        if !closed {
            sender.zero_window.probe_at = None;
            sender.zero_window.probe_now = false;
            if !sender.zero_window.probing {
                sender.zero_window.probes = 0;
            }
        } else if idle && sender.a_rwnd > 0 && sender.a_rwnd * 2 >= sender.peer_buffer {
            // Not closed but too narrow for a chunk larger than half the peer's buffer: it will
            // hardly open further, so there is nothing to wait an RTO for (§6.1 A: SHOULD).
            // The last one was taken, or there was none: the interval does not grow.
            sender.zero_window.probe_at = None;
            sender.zero_window.probe_now = true;
            sender.zero_window.probes = 0;
        } else if idle && sender.zero_window.probe_at.is_none() && !sender.zero_window.probe_now {
            // The interval grows exponentially, bounded like any timeout.
            let wait = rto * (1 << sender.zero_window.probes.min(6));
            let wait = wait.min(self.config.profile.rto.max());
            sender.zero_window.probe_at = Some(now + wait);
        }
    }
}

/// Adds the miss indications of one SACK; returns whether any chunk was struck.
fn strike(board: &mut Scoreboard, outcome: &AckOutcome, htna: bool, in_recovery: bool) -> bool {
    if !htna {
        // RFC 2960 §7.2.4: every SACK strikes every TSN that it reports missing.
        return outcome.has_gaps && board.strike(board.highest_acked(), Time::FAR_FUTURE);
    }
    let Some(highest) = outcome.highest_newly_acked else { return false };
    if in_recovery && outcome.cumulative_advanced && outcome.has_gaps {
        // In Fast Recovery, a SACK that advances the Cumulative TSN Ack Point strikes all TSNs
        // reported missing.
        return board.strike(board.highest_acked(), outcome.latest_sent);
    }
    // Highest TSN Newly Acknowledged.
    board.strike(highest, outcome.latest_sent)
}
