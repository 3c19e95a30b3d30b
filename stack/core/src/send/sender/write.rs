//! Writes DATA chunks: what is lost, what is new, and what rides along (RFC 9260 §6.1, §6.10).

mod bundle;
mod chunk;
mod packet;

use tresse_wire::{DataFlags, padded};

use super::Sender;
use crate::datagram::Ecn;
use crate::event::TraceEvent;
use crate::ids::PathId;
use crate::path::Paths;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::recovery::{NewData, Sent};
use crate::scoreboard::{ChunkState, Outstanding, Scoreboard};
use crate::send::context::Context;
use crate::send::gate::Gate;
use crate::send::outbound::Outbound;
use crate::send::zero_window;
use crate::state::State;
pub(super) use chunk::write_chunk;
use packet::{Carried, What};
pub(crate) use packet::{DataPacket, Plan};

impl Sender {
    //= RFC 9260 6.1-1
    /// The next packet with DATA: of lost chunks, which answer on `answer` if given, or of new ones.
    pub(crate) fn plan(&mut self, cx: &mut Context<'_>, answer: Option<PathId>) -> Option<Plan> {
        // A detector may want new data first, to learn whether the rest is lost at all.
        let held = self.holds_retransmissions(cx);
        let now_or_never = self.overrides.retransmits_now();
        // A SACK is waited for while one can come: no longer once the path is gone that all was in flight on.
        let rest_waits = self.overrides.rest_waits() && self.data.board().total_flight() > 0;
        let waits = (held || rest_waits) && !now_or_never;
        let lost = if waits { None } else { self.gate().next_lost(cx, answer, now_or_never) };
        if let Some((seq, path)) = lost.filter(|(seq, _)| self.data.peer_room().takes_again(*seq)) {
            cx.decay_idle(&self.data, path);
            return Some(Plan { path, what: What::Lost(seq) });
        }
        if let Some(plan) = self.plan_repeat().or_else(|| self.plan_copies(cx)) {
            return Some(plan);
        }
        // §6.1 C: what is lost goes before what is new, if it could take the same path.
        let waiting = self.data.board().first_lost().is_some() && !held;
        if waiting && !cx.strategy.passes_waiting() {
            return None;
        }
        let gate = Gate::new(&self.data, &self.overrides, &self.zero_window);
        let path = gate.new_data_path(cx, &mut self.distribution)?;
        Some(Plan { path, what: What::New })
    }

    /// A detector of spurious timeouts waits for a SACK. If none can come it waits for nothing.
    fn holds_retransmissions(&self, cx: &Context<'_>) -> bool {
        self.recovery.holds_retransmissions()
            && (self.data.board().total_flight() > 0
                || self.overrides.retransmits_now()
                || self.gate().may_send_somewhere(cx))
    }

    /// Bytes of the first chunk of a packet.
    pub(crate) fn first_chunk(&self, paths: &Paths, plan: &Plan) -> Option<usize> {
        // The first one that is lost may wait for another path.
        if let What::Lost(seq) = plan.what {
            self.data.board().get(seq).map(Outstanding::size)
        } else {
            self.data.next_len(paths).map(|len| self.data.board().chunk_len(len))
        }
    }

    /// Writes the chunks of a packet.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>, plan: &Plan) {
        match &plan.what {
            What::Lost(seq) => {
                self.write_lost(cx, packet, *seq);
                self.overrides.on_retransmitted();
                self.fill_retransmission(cx, packet);
                if self.data.board().first_lost().is_none()
                    && self.gate().may_send_new(cx, plan.path)
                {
                    self.write_new(cx, packet);
                }
            }
            What::New => {
                self.bundle_before_new(cx, packet);
                // With nothing added, what was planned holds.
                if packet.carried.is_empty() || self.gate().may_send_new(cx, plan.path) {
                    self.write_new(cx, packet);
                }
            }
            What::Repeat(seq, cause) => self.write_repeat(cx, packet, *seq, *cause),
            What::Copies(copies) => self.write_elsewhere(cx, packet, copies),
        }
    }

    /// Adds chunks to a packet with COOKIE ECHO, or with other control chunks.
    pub(crate) fn write_beside(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>) {
        // §6.1 C: what left with a lost COOKIE ECHO goes before what is new.
        if let Some(seq) = self.data.board().first_lost() {
            self.write_lost(cx, packet, seq);
        }
        if self.data.board().first_lost().is_none() && self.gate().may_send_new(cx, packet.path) {
            self.write_new(cx, packet);
        }
    }

    /// Nothing leaves any more: what Max.Burst left is not saved up (§6.1 D).
    pub(crate) fn end_opportunity(&mut self, cx: &mut Context<'_>) {
        cx.strategy.on_opportunity_over(cx.paths, &self.data, &mut self.distribution);
        cx.note_app_limited(&mut self.data);
        for path in cx.paths.iter_mut() {
            path.bursts.expire();
        }
        self.overrides.expire();
    }

    /// Writes lost chunks, the one numbered `from` first.
    fn write_lost(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>, from: u64) {
        let max = cx.paths[packet.path].mtu.max_packet();
        // A chunk made for a larger PMTU is left to IP (§6.9), but not behind a COOKIE ECHO.
        let always_first = cx.may_send_data();
        let views = self.gate().views(cx);
        let room = self.data.peer_room();
        let mut next = Some(from);
        while let Some(seq) = next {
            let Some(chunk) = self.data.board().get(seq) else { break };
            debug_assert_eq!(chunk.state, ChunkState::Lost);
            let first = packet.carried.retransmitted == 0;
            let fits = packet.writer.len() + chunk.size() <= max || (first && always_first);
            if !fits || !packet.carried.takes(chunk.chunk.key) || !(first || room.takes_more()) {
                break;
            }
            if !first
                && !cx.strategy.rides_along(cx.paths, cx.profile(), &views, chunk, packet.path)
            {
                if !cx.strategy.passes_waiting() {
                    break;
                }
                next = self.data.board().next_lost(seq);
                continue;
            }
            let (cause, moved) = (chunk.cause, chunk.path != packet.path);
            self.write_again(cx, packet, seq, cause);
            let path = packet.path;
            self.recovery.on_retransmission(cx.now, seq);
            let eligibility = cx.strategy.eligibility(cx.profile(), moved);
            self.data.board_mut().record_retransmission(cx.now, path, seq, eligibility);
            self.abandonment.on_again(self.data.board_mut(), seq);
            let strategy = cx.strategy;
            for p in cx.paths.iter_mut() {
                p.timed.spoil(|timed| strategy.spoils(seq, timed));
            }
            let earliest = self.data.board().earliest(path) == Some(seq);
            let running = cx.paths[path].t3.is_running();
            let action = t3_rtx::after_transmission(cx.profile(), cause, earliest, running);
            packet.carried.restart_t3 |= action == TimerAction::Restart;
            packet.carried.retransmitted += 1;
            next = self.data.board().next_lost(seq);
        }
    }

    //= RFC 9260 6.10-1 6.10-2 6.10-4 6.10-5
    /// Fills the rest of the packet with new chunks, as rules A and B of §6.1 allow: they let the first one go, if it has
    /// room.
    fn write_new(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>) {
        let DataPacket { path, writer, carried } = packet;
        let (now, path) = (cx.now, *path);
        let max = cx.paths[path].mtu.max_packet().max(padded(writer.len()));
        let max_payload = self.data.max_payload(cx.paths);
        let mut full = false;
        // A packet that is full need not know what would be next.
        while writer.len() + self.data.header_len() < max
            && let Some(len) = self.data.queue().next_len(max_payload)
        {
            let allowed = carried.new == 0
                || !cx.fills_lone_packet(path)
                || cx.fits_lone_packet(&self.data, path, len);
            let probes_window = zero_window::is_probe(len, self.data.peer_window());
            if !allowed
                || (probes_window && carried.new > 0)
                || !carried.takes(self.data.queue().next_key())
                || !self.data.may_carry(cx.paths, path)
            {
                break;
            }
            if writer.len() + self.data.board().chunk_len(len) > max {
                full = carried.copies == 0 && cx.config.bundling;
                break;
            }
            if carried.is_empty() {
                self.data.board_mut().begin_packet();
            }
            if carried.new > 0 && !cx.config.bundling {
                break;
            }
            let policy = self.data.queue().next_policy();
            let Some(mut chunk) = self.data.queue_mut().next(max_payload) else { break };
            let (stream, flags) = (chunk.stream, chunk.flags);
            carried.key = chunk.key;
            // RFC 9260 §6.1: the I bit MAY be set in SHUTDOWN-PENDING, to be done sooner, and where a chunk fills the window.
            let last = self.data.queue().rests();
            let hurry = last && cx.state == State::ShutdownPending;
            let alone = fills_window_alone(cx, &self.data, path, len);
            let asks = hurry
                || (last || alone) && {
                    let calm = self.is_calm(cx, path);
                    self.recovery.asks(cx.profile(), self.data.board(), alone, calm)
                };
            let seq = self.data.board().next_seq();
            let asking = DataFlags { immediate: flags.immediate || asks, ..flags };
            carried.asks_for_sack |= asking.immediate;
            chunk.flags.immediate = false;
            let ends = (flags.beginning, flags.ending);
            let interleaved = self.data.board().is_interleaved();
            write_chunk(writer, interleaved, Scoreboard::tsn(seq), &chunk, asking);
            self.data.board_mut().record_new(now, path, chunk);
            if let Some(policy) = policy {
                self.abandonment.note_policy(&mut self.data, seq, stream, policy, ends);
            }
            self.note_new(cx, path, (seq, len), (probes_window, asking.immediate), carried);
            if probes_window {
                break;
            }
        }
        full |=
            carried.new > 0 && carried.copies == 0 && writer.len() + self.data.header_len() >= max;
        self.data.queue_mut().end_packet();
        if full {
            cx.paths.on_full_packet(now);
        }
        let new = u64::from(carried.new);
        if new > 0 {
            let end = self.data.board().next_seq();
            let thin = || self.recovery.is_thin(self.data.board());
            let seqs = end - new..end;
            cx.strategy.on_new(cx.paths, &mut self.distribution, &thin, path, &seqs);
        }
    }

    fn note_new(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        (seq, bytes): (u64, usize),
        (probes_window, asks): (bool, bool),
        carried: &mut Carried,
    ) {
        let now = cx.now;
        if carried.new == 0 {
            // What the window or pacing would not have let go.
            let beyond = self.data.board().flight(path) > cx.strategy.window(&cx.paths[path]);
            if self.overrides.has_extra() && (beyond || cx.strategy.is_held_back(&cx.paths[path])) {
                self.overrides.use_extra();
                cx.journal.stats.count_extra_packet();
                cx.journal.trace(now, || TraceEvent::extra_packet(path));
            }
        }
        if probes_window {
            self.zero_window.on_probe_sent();
            carried.unmarked = true;
            cx.journal.stats.zero_window_probes += 1;
        }
        let (size, end, calm) =
            (self.data.board().chunk_len(bytes), seq + 1, self.is_calm(cx, path));
        carried.new += 1;
        carried.bytes += size;
        carried.highest = carried.highest.max(seq);
        let sent = Sent { now, path, seq, again: None, bytes: size, end, calm, asks };
        self.recovery.on_sent(&sent);
        cx.journal.stats.data_chunks_sent += 1;
        let (profile, p) = (cx.profile(), &mut cx.paths[path]);
        p.bursts.spend(size);
        p.counters.data_chunks_sent += 1;
        p.timed.on_sent(now, seq, asks);
        let action = t3_rtx::after_transmission(profile, None, false, p.t3.is_running());
        carried.restart_t3 |= action == TimerAction::Restart;
        cx.journal.trace(now, || TraceEvent::Sent {
            tsn: Scoreboard::tsn(seq),
            path,
            bytes,
            transmission: 1,
            cause: None,
        });
    }

    /// The packet is complete. Returns the shared key to authenticate it with, if its chunks name one, and whether it may be
    /// marked.
    pub(crate) fn finish(
        &mut self,
        cx: &mut Context<'_>,
        packet: DataPacket<'_>,
    ) -> (Option<u16>, Ecn) {
        let DataPacket { path, writer, carried } = packet;
        writer.finish_without_checksum();
        let mut ecn = Ecn::NotEct;
        if !carried.is_empty() {
            if carried.retransmitted + carried.copies == 0 && !carried.unmarked {
                let lowest = carried.highest + 1 - u64::from(carried.new);
                ecn = cx.mark_capable(&mut self.data, path, lowest);
            }
            self.on_left(cx, path, &carried);
        }
        (carried.key, ecn)
    }

    /// A packet with these chunks leaves.
    fn on_left(&mut self, cx: &mut Context<'_>, path: PathId, carried: &Carried) {
        cx.journal.data_at = Some(cx.now);
        if let Some(cause) = carried.cause {
            cx.journal.stats.retransmitted_packets[cause.index()] += 1;
        }
        let flight = self.data.board().flight(path);
        let unsent = !self.data.queue().rests();
        let waits = self.data.board().first_lost().is_some() || unsent;
        cx.paths.on_left(cx.now, unsent);
        let profile = cx.profile();
        let p = &mut cx.paths[path];
        let first_of_flight = flight <= carried.bytes;
        if first_of_flight {
            p.reachability.owes_from(cx.now); // No answer was owed before.
        }
        if self.data.board().samples_delivery_rates() {
            if first_of_flight && self.data.board().is_app_limited(path) {
                p.window.control_mut().on_restart(cx.now);
            }
            self.data.board_mut().note_departure(cx.now, path, carried.highest, first_of_flight);
        }
        p.window.on_sent(cx.now, carried.bytes, flight, waits);
        p.pace(cx.now, carried.bytes, profile);
        let round_trip = p.rtt.round_trip();
        let recovering = cx.paths.in_fast_recovery();
        self.recovery.on_packet(carried.highest);
        if carried.new > 0 {
            let (now, board, asks_for_sack) = (cx.now, self.data.board(), carried.asks_for_sack);
            let sent = NewData { now, board, round_trip, asks_for_sack, recovering };
            self.recovery.on_new_data(&sent);
        }
        // T3-rtx only runs once the association is established; T1-cookie covers what left before.
        if carried.restart_t3 && cx.may_send_data() {
            cx.arm_t3(path, &self.zero_window);
        }
    }
}

/// Whether it is a new chunk with `len` bytes of user data that leaves no room in a window of one packet: no second packet follows
/// that would bring its SACK.
fn fills_window_alone(cx: &Context<'_>, data: &Outbound, path: PathId, len: usize) -> bool {
    let before = data.flight(path) + data.header_len();
    let filled = before + data.board().chunk_len(len);
    let (window, packet) = (cx.strategy.window(&cx.paths[path]), cx.paths[path].pmdcs());
    window <= packet && before < window && filled >= window
}
