//! SACK chunks received: facts into the scoreboard, decisions out of the recovery algorithms,
//! and what follows from both (RFC 9260 §6.2.1, §6.3, §7.2).

use std::time::Duration;

use tresse_wire::{GapAckBlocks, Sack, SackFlags, Tsn};

use super::errors::Errors;
use super::{Association, State};
use crate::congestion::AckFacts;
use crate::event::{Event, LossCause, TraceEvent, WindowCause};
use crate::path::PathId;
use crate::recovery::timer::rto_restart;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::scoreboard::{AckOutcome, LatestAck, SackFault, Scoreboard};
use crate::time::Time;

/// What a SACK carries beside acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct SackMarks {
    /// TSecr of the packet's TIMESTAMP chunk.
    pub(super) timestamp_echo: Option<u32>,
    /// The R bit.
    pub(super) retransmit_bit: bool,
    /// The PC bits: how many packets with DATA it answers, 0 if it does not say.
    pub(super) packets: u8,
}

impl Association {
    /// A SACK; or an NR-SACK, which has non-renegable blocks.
    pub(super) fn on_sack(
        &mut self,
        now: Time,
        sack: &Sack<'_>,
        nr_blocks: GapAckBlocks<'_>,
        timestamp_echo: Option<u32>,
    ) {
        //= RFC 9260 6-5 6-7
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
        let gap_blocks = blocks.len() + nr_blocks.len();
        let sender = &mut self.sender;
        sender.duplicates.clear();
        sender.duplicates.extend(sack.duplicates().map(|tsn| sender.board.unwrap(tsn)));
        let queue = &mut sender.queue;
        let (cumulative, outcome) = (sack.cumulative_tsn_ack, &mut sender.outcome);
        let result = sender.board.on_nr_sack(cumulative, blocks, nr_blocks, outcome, |chunk| {
            queue.on_acked(chunk.chunk.stream, chunk.chunk.flags);
        });
        if !self.accepted(now, result) {
            return;
        }
        self.journal.stats.duplicates_reported += duplicates as u64;
        self.sender.room.on_sack(sack.a_rwnd);
        let newly_acked = self.sender.outcome.newly_acked;
        self.journal.trace(now, || TraceEvent::Sacked {
            cumulative: sack.cumulative_tsn_ack,
            gap_blocks,
            duplicates,
            newly_acked,
            a_rwnd: sack.a_rwnd,
        });
        let SackFlags { retransmission: retransmit_bit, packets } = sack.flags;
        self.after_acks(now, SackMarks { timestamp_echo, retransmit_bit, packets });
        if self.is_closed() {
            return;
        }
        self.resend_dropped_probe(now);
        self.watch_window(now);
        self.opportunity();
        self.shutdown_progress(now);
    }

    //= RFC 9260 3.3.8-2
    /// The Cumulative TSN Ack of a SHUTDOWN chunk acknowledges too (RFC 9260 §9.2).
    pub(super) fn on_cumulative_ack(&mut self, now: Time, cumulative: Tsn) {
        let sender = &mut self.sender;
        sender.duplicates.clear();
        let queue = &mut sender.queue;
        let result = sender.board.on_cumulative_ack(cumulative, &mut sender.outcome, |chunk| {
            queue.on_acked(chunk.chunk.stream, chunk.chunk.flags);
        });
        if self.accepted(now, result) {
            // A SHUTDOWN has no room for marks: as if it answered a retransmission.
            let marks = SackMarks { timestamp_echo: None, retransmit_bit: true, packets: 0 };
            self.after_acks(now, marks);
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
                self.is_credible()
            }
            // §6.2.1 D i: drop it.
            Err(SackFault::Stale) => false,
            Err(SackFault::Unsent) => {
                //= RFC 9260 12.4-4
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

    /// Counts SACKs that contradict those before without telling anything new, and aborts after too
    /// many.
    ///
    /// RFC 9260 §6.2 lets a receiver drop what it acknowledged beyond a gap, as often as it is short of
    /// memory; but then that is sent again before it is acknowledged again. A SACK that comes late
    /// looks like a lie too: of those, no more are on the way than chunks are outstanding.
    fn is_credible(&mut self) -> bool {
        let outcome = &self.sender.outcome;
        if outcome.newly_acked > 0 {
            self.sender.contradictions = 0;
        } else if outcome.contradictions > 0 {
            self.journal.stats.contradictory_sacks += 1;
            self.sender.contradictions += 1;
            let limit = self.profile().limits.contradictory_sacks;
            let on_the_way = self.sender.board.len();
            if limit > 0 && self.sender.contradictions > on_the_way.max(limit as usize) {
                self.abort_violation("SACKs take back and repeat what was not sent again");
                return false;
            }
        }
        true
    }

    fn after_acks(&mut self, now: Time, marks: SackMarks) {
        let outcome = std::mem::take(&mut self.sender.outcome);
        if outcome.newly_acked > 0 {
            //= RFC 9260 8.1-5
            // §8.1: the counter MUST be reset each time a DATA chunk is acknowledged.
            self.errors = Errors::default();
            self.renew_patience(now);
            self.note_progress();
            self.sender.zero_window.on_progress();
        }
        self.sender.zero_window.on_answer();
        self.sender.permits.on_sack();
        let cumulative = self.sender.board.cumulative();
        let in_recovery = self.paths.in_fast_recovery();
        self.end_fast_recovery(now);
        self.sender.recovery.thin.on_sack(cumulative, outcome.has_gaps);
        for (i, ack) in outcome.paths.iter().enumerate() {
            let path = PathId(i as u8);
            if ack.chunks > 0 {
                self.paths[path].reachability.owes_from(now);
                self.paths[path].window.allow_more();
                self.paths[path].t3.on_ack();
                //= RFC 7829 3.2-17 3.2-18
                // §8.2: the ack of what was sent again on another path may belong to either: it
                // does not count. RFC 7829 §3.2 rule 10: chunks "that have been transmitted to one
                // destination address only MUST clear the error counter".
                if let Some(sent) = ack.unambiguous {
                    self.path_answered(path, sent);
                    self.paths[path].address.on_ack(sent);
                }
                self.take_rtt_sample(now, path, ack.latest);
            }
        }
        let next = self.sender.board.next_seq();
        for (i, ack) in outcome.paths.iter().enumerate() {
            self.watch_queue(now, PathId(i as u8), ack, next);
        }
        //= RFC 9260 7.2.4-6
        let verdict = self.recover(now, &outcome, marks, in_recovery);
        for (i, ack) in outcome.paths.iter().enumerate() {
            // RFC 4015 §3.4: cwnd must not be changed any further by the ack that restored it.
            if ack.chunks > 0 && !verdict {
                self.grow_window(now, PathId(i as u8), ack.bytes, &outcome);
            }
        }
        self.act_on_losses(now);
        self.reschedule(now);
        self.update_timers(now, &outcome);
        self.sender.outcome = outcome;
        if self.sender.board.is_empty() {
            self.sender.zero_window.stop_probing();
        }
        if self.sender.outcome.newly_acked > 0 {
            self.notify_dry();
        }
        self.notify_writer();
    }

    /// SenderDry, if nothing is left and the application asked for it.
    pub(super) fn notify_dry(&mut self) {
        if self.config.report_dry && self.sender.buffered() == 0 {
            self.journal.event(Event::SenderDry);
        }
    }

    //= RFC 9260 6.3.1-4
    /// RFC 9260 §6.3.1 C4, C5: one sample per round trip, never of a retransmitted chunk.
    fn take_rtt_sample(&mut self, now: Time, path: PathId, latest: Option<LatestAck>) {
        let board = &self.sender.board;
        if let Some(probe) = self.paths[path].timed.take_if(|seq| board.is_acked(seq)) {
            let delay = self.profile().tail_loss_probe.max_sack_delay();
            if probe.asked {
                self.paths[path].rtt.spare_delay(delay);
            }
            let delay = if probe.asked { Duration::ZERO } else { delay };
            // A SACK that was lost makes the round trip of the timed chunk long, and not that of the latest one.
            // If that was sent again, nothing is known.
            if let Some(latest) = latest.filter(|latest| latest.transmissions == 1) {
                let sent = latest.sent.max(probe.sent);
                self.paths[path].calm.sample(now, now.since(sent), delay);
            }
            self.sample_rtt(now, path, probe.sent);
            // RFC 4015 step 11: the first sample from data that was unsent at the timeout.
            if let Some(adaption) = self.sender.timer_adaption.filter(|a| probe.seq >= a.from) {
                self.sender.timer_adaption = None;
                let (srtt, rttvar) = adaption.estimate(now.since(probe.sent));
                self.paths[path].rtt.adapt(srtt, rttvar);
            }
        }
    }

    //= RFC 9260 7.2.1-9
    pub(super) fn grow_window(
        &mut self,
        now: Time,
        path: PathId,
        bytes: usize,
        outcome: &AckOutcome,
    ) {
        let flight = self.sender.board.flight(path);
        let cuc = self.is_concurrent() && self.profile().multipath.cwnd_update;
        let p = &mut self.paths[path];
        if p.window.reduce(bytes, flight, p.mtu.max_packet()) {
            self.trace_window(now, path, WindowCause::RateReduction);
            return;
        }
        // CUC: as if the path had a Cumulative TSN Ack Point of its own.
        let cumulative_advanced = if cuc {
            outcome.paths[usize::from(path.0)].earliest
        } else {
            outcome.cumulative_advanced
        };
        let before = p.window.cwnd();
        let flight_before = p.window.flight_at_send();
        let in_fast_recovery = p.window.is_recovering();
        self.tell_control(now, path, |control, coupled| {
            control.on_ack(&AckFacts {
                bytes,
                flight_before,
                cumulative_advanced,
                in_fast_recovery,
                all_acked: flight == 0,
                coupled,
            });
        });
        if self.paths[path].window.cwnd() != before {
            self.trace_window(now, path, WindowCause::Growth);
        }
    }

    pub(super) fn trace_window(&mut self, now: Time, path: PathId, cause: WindowCause) {
        let window = &self.paths[path].window;
        let (cwnd, ssthresh) = (window.cwnd(), window.ssthresh());
        let flight = self.sender.board.flight(path);
        self.journal.trace(now, || TraceEvent::Window { path, cwnd, ssthresh, flight, cause });
    }

    /// RFC 9260 §6.3.2 R2 to R4.
    fn update_timers(&mut self, now: Time, outcome: &AckOutcome) {
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            let outstanding = self.sender.board.earliest(path).is_some();
            let earliest = outcome.paths.get(i).is_some_and(|p| p.earliest);
            match t3_rtx::after_sack(outstanding, earliest, self.paths[path].t3.is_running()) {
                TimerAction::Keep => {}
                TimerAction::Stop => self.paths[path].t3.stop(),
                TimerAction::Restart => self.restart_t3(now, path),
            }
        }
    }

    /// Starts T3-rtx anew because of a SACK, with the age of what is outstanding (RFC 7765).
    fn restart_t3(&mut self, now: Time, path: PathId) {
        let parameters = &self.config.profile.rto_restart;
        let board = &self.sender.board;
        let earliest = board.earliest(path).and_then(|seq| board.get(seq));
        if !parameters.enabled || self.sender.zero_window.is_probing() {
            self.arm_t3(now, path);
            return;
        }
        let age = earliest.map_or(Duration::ZERO, |chunk| now.since(chunk.last_sent));
        let packets = board.packets_outstanding() + self.sender.queue.messages();
        let granularity = self.profile().rto.granularity();
        let rto = self.paths[path].rto();
        let wait = rto_restart::wait(parameters, rto, age, packets, granularity);
        let at = self.paths[path].rtt.expiry(now, now + wait);
        self.paths[path].t3.start(at);
        self.journal.trace(now, || TraceEvent::TimerArmed { path, at });
    }

    //= RFC 9260 6.1-21 6.3.3-1
    pub(super) fn arm_t3(&mut self, now: Time, path: PathId) {
        let undoubled = self.paths[path].t3.take_undoubled(now);
        let rto = undoubled.unwrap_or(self.paths[path].rto());
        // A probe of a closed window is owed an answer like anything else.
        let mut wait = self.start_patience(now, path, rto);
        if self.sender.zero_window.is_probing() {
            wait = self.sender.zero_window.wait(rto, self.profile().rto.max());
        }
        let at = self.paths[path].rtt.expiry(now, now + wait);
        self.paths[path].t3.start(at);
        self.journal.trace(now, || TraceEvent::TimerArmed { path, at });
    }

    /// Writable, once half of the send buffer is free again; with concurrent transfer an eighth, as
    /// the rest may be held by what one path is late with.
    pub(super) fn notify_writer(&mut self) {
        let limit = self.send_limit();
        let free = if self.is_concurrent() { limit / 8 } else { limit / 2 };
        if self.sender.room.writer_waits() && self.sender.buffered() <= limit - free {
            self.sender.room.on_writable();
            self.journal.event(Event::Writable);
        }
    }

    /// The window opened while probes are outstanding, or what was sent again after a timeout: the
    /// receiver had to drop them (RFC 9260 §6.2), so they leave again now and not after a
    /// backed-off T3-rtx.
    fn resend_dropped_probe(&mut self, now: Time) {
        let board = &self.sender.board;
        let first = board.cumulative() + 1;
        let closed = self.sender.is_window_closed() || board.get(first).is_none();
        if !self.sender.zero_window.is_probing() || closed {
            return;
        }
        self.sender.zero_window.stop_probing();
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

    /// Notices a closed window (RFC 9260 §6.1 A).
    pub(super) fn watch_window(&mut self, now: Time) {
        let rto = self.paths[self.paths.data_path()].rto();
        let sender = &mut self.sender;
        let max_payload = self.paths.amdcs() - tresse_wire::DATA_HEADER_LEN;
        let closed =
            sender.queue.next_len(max_payload).is_some_and(|len| len > sender.peer_window());
        //= RFC 9260 6.1-4
        let idle = sender.board.total_flight() == 0 && sender.board.first_lost().is_none();
        if !closed {
            sender.zero_window.on_open();
        } else if idle && sender.room.is_half_open() {
            // A chunk larger than half the peer's buffer.
            sender.zero_window.on_narrow();
        } else if idle {
            sender.zero_window.on_closed(now, rto, self.config.profile.rto.max());
        }
    }
}
