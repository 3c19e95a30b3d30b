//! The only place that builds packets of an association (RFC 9260 §6.1, §6.10).
//!
//! Order: control chunks, then SACK, then DATA. Of DATA, what is lost comes first, then what is
//! new. One call writes one packet.

mod bundle;
mod control;
mod permission;

use tresse_wire::{CommonHeader, DataFlags, PacketWriter, data_chunk_len, padded};

use super::{Association, State};
use crate::endpoint::Transmit;
use crate::event::{LossCause, TraceEvent};
use crate::path::PathId;
use crate::recovery::Sent;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::recovery::timer::tail_loss_probe::NewData;
use crate::scoreboard::{ChunkState, NewChunk, Scoreboard};
use crate::streams::send_queue::OutChunk;
use crate::time::Time;

/// What a packet carried, for timers and counters.
#[derive(Default)]
struct Carried {
    new: u32,
    retransmitted: u32,
    /// Chunks in flight, sent once more.
    copies: u32,
    cause: Option<LossCause>,
    restart_t3: bool,
    /// The last new chunk asks for a SACK at once.
    asks_for_sack: bool,
    /// Bytes of DATA chunks.
    bytes: usize,
    /// The highest sequence number.
    highest: u64,
}

impl Carried {
    fn is_empty(&self) -> bool {
        self.new + self.retransmitted + self.copies == 0
    }
}

/// A packet with DATA that is being written.
struct DataPacket<'b> {
    now: Time,
    path: PathId,
    writer: PacketWriter<'b>,
    carried: Carried,
}

impl Association {
    /// Writes the next packet into `buffer`, if there is one to send.
    pub(crate) fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.expire_messages(now);
        self.other_source = None;
        for path in self.paths.iter_mut() {
            path.bursts.look(now);
        }
        let path = self
            .write_control_packet(now, buffer)
            .or_else(|| self.write_data_packet(now, buffer))
            .or_else(|| self.write_sack_packet(now, buffer))
            .or_else(|| self.write_outbox(now, buffer));
        let Some(path) = path else {
            // The opportunity is over: what Max.Burst left is not saved up (§6.1 D).
            self.note_blocking();
            for path in self.paths.iter_mut() {
                path.bursts.expire();
            }
            self.sender.permits.expire();
            return None;
        };
        self.journal.stats.packets_sent += 1;
        self.journal.stats.bytes_sent += buffer.len() as u64;
        let counters = &mut self.paths[path].counters;
        counters.packets_sent += 1;
        counters.bytes_sent += buffer.len() as u64;
        Some(self.transmit_to(path, self.other_source, buffer.len()))
    }

    /// An opportunity to send came. Credit that is not used is taken back by `poll_transmit`;
    /// several SACKs handled before it add up.
    pub(super) fn opportunity(&mut self) {
        let packets = self.profile().limits.max_burst as usize;
        for path in self.paths.iter_mut() {
            let bytes = packets * path.pmdcs();
            path.bursts.grant(Some(bytes).filter(|_| packets > 0));
        }
    }

    //= RFC 9260 3.1-3 3.3.2-6 3.3.3-4 5.1-4 8.5-1 8.5.1-12
    fn header(&self, tag: tresse_wire::VerificationTag) -> CommonHeader {
        CommonHeader {
            source_port: self.identity.local_port,
            destination_port: self.identity.remote_port,
            verification_tag: tag,
        }
    }

    //= RFC 9260 6.1-1
    /// A packet of lost chunks, or of new ones.
    fn write_data_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        if !self.may_send_data() {
            return None;
        }
        // F-RTO sends new data first, to learn whether the rest is lost at all.
        let held = self.holds_retransmissions();
        let now_or_never = self.sender.permits.retransmits_now();
        let waits = (held || self.sender.permits.rest_waits()) && !now_or_never;
        let lost = if waits { None } else { self.next_lost(now, now_or_never) };
        // §6.1 A: without room at the peer, "one DATA chunk in flight": the one that it waits for. Of
        // more it would take that one alone, and the rest would wait for T3-rtx.
        let closed = self.sender.is_window_closed();
        let awaited = self.sender.board.cumulative() + 1;
        let lost = lost.filter(|(seq, _)| !closed || *seq == awaited);
        let path = if let Some((_, path)) = lost {
            self.decay_idle(now, path);
            path
        } else {
            if let Some(path) =
                self.write_probe(now, buffer).or_else(|| self.write_redundant(now, buffer))
            {
                return Some(path);
            }
            //= RFC 9260 6.1-13
            // §6.1 C: what is lost goes before what is new, if it could take the same path.
            let waiting = self.sender.board.first_lost().is_some() && !held;
            if waiting && !self.is_concurrent() {
                return None;
            }
            self.new_data_path(now)?
        };
        let mut packet = self.begin_data(now, path, buffer);
        let before_sack = packet.writer.len();
        if self.sack_leaves_room(path, lost.is_some()) {
            self.write_sack(&mut packet.writer, path);
        }
        let sacks = packet.writer.len() > before_sack;
        if let Some((seq, _)) = lost {
            self.write_lost(&mut packet, seq);
            self.sender.permits.on_retransmitted();
            self.shutdown.answer = None;
            self.fill_retransmission(&mut packet);
        } else {
            self.bundle_before_new(&mut packet);
        }
        let all_sent = self.sender.board.first_lost().is_none();
        if lost.is_none() || (all_sent && self.may_send_new(path)) {
            self.write_new(&mut packet);
        }
        let empty = packet.carried.is_empty() && !sacks;
        self.finish_data(packet);
        // An empty packet would be offered for ever; the rules above never agree on one.
        debug_assert!(!empty);
        (!empty).then_some(path)
    }

    /// §7.2.1: cwnd decays while nothing is sent on an address.
    pub(super) fn decay_idle(&mut self, now: Time, path: PathId) {
        let p = &mut self.paths[path];
        if self.sender.board.flight(path) == 0 && p.window.decay(now, p.rtt.rto()) {
            self.trace_window(now, path, crate::event::WindowCause::Idle);
        }
    }

    /// Writes lost chunks, the one numbered `from` first.
    fn write_lost(&mut self, packet: &mut DataPacket<'_>, from: u64) {
        let max = self.paths[packet.path].mtu.max_packet();
        // A chunk made for a larger PMTU is left to IP (§6.9), but not behind a COOKIE ECHO.
        let always_first = self.may_send_data();
        let views = self.retransmission_views(packet.now);
        let closed = self.sender.is_window_closed();
        let mut next = Some(from);
        while let Some(seq) = next {
            let Some(chunk) = self.sender.board.get(seq) else { break };
            debug_assert_eq!(chunk.state, ChunkState::Lost);
            let first = packet.carried.retransmitted == 0;
            let fits = packet.writer.len() + chunk.size() <= max || (first && always_first);
            if !fits || (closed && !first) {
                break;
            }
            if !first && self.retransmission_path(&views, chunk) != packet.path {
                if !self.is_concurrent() {
                    break;
                }
                next = self.sender.board.next_lost(seq);
                continue;
            }
            let cause = chunk.cause;
            self.write_again(packet, seq, cause);
            let (now, path) = (packet.now, packet.path);
            self.sender.recovery.spurious.on_retransmission(now, seq);
            let eligibility = self.eligibility();
            self.sender.board.record_retransmission(now, path, seq, eligibility);
            //= RFC 9260 6.3.1-5
            // Karn: no sample from anything at or beyond a retransmitted TSN (§6.3.1 C5).
            // With concurrent transfer the order between paths says nothing: the chunk alone.
            let concurrent = self.is_concurrent();
            for p in self.paths.iter_mut() {
                let spoilt = |probe: u64| if concurrent { probe == seq } else { probe >= seq };
                p.timed.spoil(spoilt);
            }
            let earliest = self.sender.board.earliest(path) == Some(seq);
            let running = self.paths[path].t3.is_running();
            let action = t3_rtx::after_transmission(&self.config.profile, cause, earliest, running);
            packet.carried.restart_t3 |= action == TimerAction::Restart;
            packet.carried.retransmitted += 1;
            next = self.sender.board.next_lost(seq);
        }
    }

    /// Writes a chunk once more; the caller records what that means for the scoreboard.
    fn write_again(&mut self, packet: &mut DataPacket<'_>, seq: u64, cause: Option<LossCause>) {
        let DataPacket { now, path, writer, carried } = packet;
        let (now, path) = (*now, *path);
        if carried.is_empty() {
            self.sender.board.begin_packet();
        }
        let Some(chunk) = self.sender.board.get(seq) else { return };
        let data = &chunk.chunk;
        let flags = DataFlags {
            // Ladha et al., Figure 6, rule a.
            retransmission: self.sender.extensions.retransmit_bit,
            // What is repaired or probed waits for its SACK.
            immediate: !matches!(cause, None | Some(LossCause::Bundled | LossCause::Redundant))
                && self.profile().sack.ask_when_idle,
            ..data.flags
        };
        let tsn = Scoreboard::tsn(seq);
        writer.data(tsn, data.stream, data.ssn, data.ppid, flags, &data.payload);
        carried.bytes += chunk.size();
        carried.highest = carried.highest.max(seq);
        carried.cause = carried.cause.or(cause);
        if let Some(cause) = cause {
            self.journal.stats.retransmitted_chunks[cause.index()] += 1;
            self.paths[path].counters.retransmitted_chunks += 1;
        }
        let (bytes, transmission) = (data.payload.len(), chunk.transmissions + 1);
        let size = chunk.size();
        self.journal.trace(now, || TraceEvent::Sent {
            tsn: Scoreboard::tsn(seq),
            path,
            bytes,
            transmission,
            cause,
        });
        let end = self.sender.board.next_seq();
        let (calm, asks) = (self.is_calm(path), false);
        let sent = Sent { now, path, seq, again: cause, bytes: size, end, calm, asks };
        self.sender.recovery.on_sent(&sent);
    }

    //= RFC 9260 6.10-1 6.10-2 6.10-4 6.10-5
    /// Fills the rest of the packet with new chunks, as rules A and B of §6.1 allow.
    fn write_new(&mut self, packet: &mut DataPacket<'_>) {
        let DataPacket { now, path, writer, carried } = packet;
        let (now, path) = (*now, *path);
        let max = self.paths[path].mtu.max_packet().max(padded(writer.len()));
        let max_payload = self.max_payload();
        while let Some(len) = self.sender.queue.next_len(max_payload) {
            let allowed = if carried.new > 0 {
                !self.fills_lone_packet(path) || self.fits_lone_packet(path, len)
            } else {
                self.may_send_new(path)
            };
            let window = len <= self.sender.peer_window() || carried.new == 0;
            if !allowed || !window || writer.len() + data_chunk_len(len) > max {
                break;
            }
            if carried.is_empty() {
                self.sender.board.begin_packet();
            }
            if carried.new > 0 && !self.config.bundling {
                break;
            }
            let probe = len > self.sender.peer_window();
            let Some(chunk) = self.sender.queue.next(max_payload) else { break };
            let OutChunk { stream, ssn, ppid, flags, context, payload } = chunk;
            let last = self.sender.queue.is_empty();
            // §6.1: the I bit MAY be set in SHUTDOWN-PENDING, to be done sooner.
            let hurry = self.state == State::ShutdownPending;
            let (calm, enabled) = (self.is_calm(path), self.profile().sack.ask_when_idle);
            let sparse = enabled && self.sender.is_thin();
            let asks = last && (hurry || (sparse && self.sender.asking.asks(calm)));
            let seq = self.sender.board.next_seq();
            let asking = DataFlags { immediate: flags.immediate || asks, ..flags };
            carried.asks_for_sack = asking.immediate;
            writer.data(Scoreboard::tsn(seq), stream, ssn, ppid, asking, &payload);
            let flags = DataFlags { immediate: false, ..flags };
            let chunk = NewChunk { stream, ssn, ppid, flags, context, payload };
            self.sender.board.record_new(now, path, chunk);
            self.note_new(now, path, seq, len, probe, carried);
            if probe {
                break;
            }
        }
        let new = u64::from(carried.new);
        if new > 0 {
            let end = self.sender.board.next_seq();
            self.plan_copies(path, &(end - new..end));
        }
    }

    fn note_new(
        &mut self,
        now: Time,
        path: PathId,
        seq: u64,
        bytes: usize,
        probe: bool,
        carried: &mut Carried,
    ) {
        if carried.new == 0 {
            // What the window or pacing would not have let go.
            let beyond = self.sender.board.flight(path) > self.window(path);
            if self.sender.permits.has_extra() && (beyond || self.is_held_back(path)) {
                self.sender.permits.use_extra();
                self.journal.stats.limited_transmits += 1;
                self.journal.trace(now, || TraceEvent::LimitedTransmit { path });
            }
        }
        if probe {
            self.sender.zero_window.on_probe_sent();
            self.journal.stats.zero_window_probes += 1;
        }
        let p = &mut self.paths[path];
        p.bursts.spend(data_chunk_len(bytes));
        p.counters.data_chunks_sent += 1;
        carried.new += 1;
        carried.bytes += data_chunk_len(bytes);
        carried.highest = carried.highest.max(seq);
        let (size, end, calm) = (data_chunk_len(bytes), seq + 1, self.is_calm(path));
        let asks = carried.asks_for_sack;
        let sent = Sent { now, path, seq, again: None, bytes: size, end, calm, asks };
        self.sender.recovery.on_sent(&sent);
        self.journal.stats.data_chunks_sent += 1;
        self.paths[path].timed.on_sent(now, seq, carried.asks_for_sack);
        let running = self.paths[path].t3.is_running();
        let action = t3_rtx::after_transmission(&self.config.profile, None, false, running);
        carried.restart_t3 |= action == TimerAction::Restart;
        self.journal.trace(now, || TraceEvent::Sent {
            tsn: Scoreboard::tsn(seq),
            path,
            bytes,
            transmission: 1,
            cause: None,
        });
    }

    fn begin_data<'b>(&self, now: Time, path: PathId, buffer: &'b mut Vec<u8>) -> DataPacket<'b> {
        let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
        self.write_timestamp(now, &mut writer, path);
        DataPacket { now, path, writer, carried: Carried::default() }
    }

    fn finish_data(&mut self, packet: DataPacket<'_>) {
        let DataPacket { now, path, writer, carried } = packet;
        writer.finish();
        if carried.is_empty() {
            return;
        }
        if let Some(cause) = carried.cause {
            self.journal.stats.retransmitted_packets[cause.index()] += 1;
        }
        let flight = self.sender.board.flight(path);
        let waits = self.sender.board.first_lost().is_some() || !self.sender.queue.is_empty();
        let p = &mut self.paths[path];
        if flight <= carried.bytes {
            p.reachability.owes_from(now); // The first packet of a flight: no answer was owed before.
        }
        p.window.on_sent(now, carried.bytes, flight, waits);
        p.pace(now, carried.bytes, self.config.profile.multipath.pacing);
        let round_trip = p.rtt.round_trip();
        let recovering = self.paths.in_fast_recovery();
        let sender = &mut self.sender;
        sender.recovery.thin.on_sent(carried.highest);
        if carried.new > 0
            && let Some(probe) = &mut sender.recovery.probe
        {
            // RFC 8985 §7.2: unless other mechanisms are at work.
            let board = &sender.board;
            let quiet =
                !recovering && board.first_lost().is_none() && board.packets_gap_acked() == 0;
            let packets = board.packets_in_flight();
            let sent = NewData { packets, round_trip, asks_for_sack: carried.asks_for_sack };
            probe.on_new_data(now, &sent, quiet);
        }
        // T3-rtx only runs once the association is established; T1-cookie covers what left before.
        if carried.restart_t3 && self.may_send_data() {
            self.arm_t3(now, path);
        }
    }
}
