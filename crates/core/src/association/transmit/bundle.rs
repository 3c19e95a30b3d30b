//! Packets with chunks that are in flight already: filled-up retransmissions, copies in front of new
//! data, and tail loss probes.

use tresse_wire::DATA_HEADER_LEN;

use super::super::Association;
use super::DataPacket;
use crate::event::LossCause;
use crate::path::PathId;
use crate::recovery::bundling;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::scoreboard::{ChunkState, Outstanding};
use crate::time::Time;

/// Which chunks in flight ride along.
struct Copies {
    /// Those with sequence numbers below this.
    end: u64,
    /// As many as fit so many bytes.
    room: usize,
    /// Only those that are overdue, by so many RTTVAR: [`bundling::overdue`].
    overdue: Option<f64>,
}

impl Association {
    /// Fills a packet of retransmissions of a thin stream (Pedersen 2006 §4.2.2).
    pub(super) fn fill_retransmission(&mut self, packet: &mut DataPacket<'_>) {
        let (thin, cause) = (self.sender.is_thin(), packet.carried.cause);
        let all_sent = self.sender.board.first_lost().is_none();
        if all_sent && bundling::fast_retransmit::fills(self.profile(), thin, cause) {
            let copies = Copies {
                end: self.sender.board.next_seq(),
                room: self.paths[packet.path].mtu.max_packet().saturating_sub(packet.writer.len()),
                overdue: self.profile().bundle_fast_retransmit.overdue(),
            };
            self.write_copies(packet, &copies);
        }
    }

    /// Puts what is outstanding in front of the new data of a thin stream (Pedersen 2006 §4.4).
    pub(super) fn bundle_before_new(&mut self, packet: &mut DataPacket<'_>) {
        let thin = self.sender.is_thin();
        let queue = &self.sender.queue;
        // An upper bound: headers and padding of every message.
        let new = queue.bytes() + queue.messages() * (DATA_HEADER_LEN + 3);
        let left = self.paths[packet.path].mtu.max_packet().saturating_sub(packet.writer.len());
        let room = bundling::new_data::room(self.profile(), thin, left, new);
        if room > 0 && !self.sender.board.is_empty() {
            let overdue = self.profile().bundle_new.overdue();
            let end = self.sender.board.next_seq();
            self.write_copies(packet, &Copies { end, room, overdue });
        }
    }

    /// A packet that sends again what a tail loss probe asks for.
    pub(super) fn write_probe(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        let seq = self.sender.probe.take()?;
        let chunk = self.sender.board.get(seq).filter(|c| c.state == ChunkState::InFlight)?;
        let (path, reserved) = (chunk.path, chunk.size());
        let mut packet = self.begin_data(now, path, buffer);
        // While thin the probe carries all that fits: the losses need not be asked about.
        let bundle = &self.profile().bundle_fast_retransmit;
        let left = self.paths[path].mtu.max_packet().saturating_sub(packet.writer.len());
        if bundle.enabled && self.sender.is_thin() && left > reserved {
            let overdue = bundle.overdue();
            let room = left - reserved;
            self.write_copies(&mut packet, &Copies { end: seq, room, overdue });
        }
        self.write_copy(&mut packet, seq, LossCause::TailLossProbe);
        self.finish_data(packet);
        self.journal.stats.tail_loss_probes += 1;
        Some(path)
    }

    /// A packet of a thin stream, once more over another path. The scoreboard goes on to follow the
    /// first one: this one is not in flight, and its loss changes nothing.
    pub(super) fn write_redundant(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        while let Some((path, seqs)) = self.sender.spread.take_copies() {
            if !self.paths[path].preferred()
                || !seqs.clone().any(|s| self.sender.board.is_in_flight(s))
            {
                continue;
            }
            let mut packet = self.begin_data(now, path, buffer);
            let max = self.paths[path].mtu.max_packet();
            for seq in seqs {
                let size = self.sender.board.get(seq).map_or(0, Outstanding::size);
                let fits = packet.writer.len() + size <= max || packet.carried.is_empty();
                if fits && self.sender.board.is_in_flight(seq) {
                    self.write_again(&mut packet, seq, Some(LossCause::Redundant));
                    packet.carried.copies += 1;
                }
            }
            self.finish_data(packet);
            return Some(path);
        }
        None
    }

    /// Writes chunks in flight, oldest first.
    fn write_copies(&mut self, packet: &mut DataPacket<'_>, copies: &Copies) {
        let Copies { end, mut room, overdue } = *copies;
        let (now, path) = (packet.now, packet.path);
        let p = &self.paths[path];
        let (srtt, rttvar, measured_at) = (p.rtt.srtt(), p.rtt.rttvar(), p.timed.measured_at());
        let overdue_age = overdue.map(|n| self.sender.recovery.overdue.age(path, srtt, rttvar, n));
        for seq in self.sender.board.cumulative() + 1..end {
            let Some(chunk) = self.sender.board.get(seq) else { break };
            // What is in this packet already, or on another path, is not added.
            if chunk.state != ChunkState::InFlight || chunk.last_sent == now || chunk.path != path {
                continue;
            }
            if overdue_age.is_some_and(|age| now.since(chunk.last_sent) <= age) {
                continue;
            }
            // A chunk that is sent again spoils its measurement (Karn, §6.3.1 C5). When none has
            // come for a while the one being timed is left alone.
            let starving = srtt.is_none_or(|srtt| now.since(measured_at) > 8 * srtt);
            let timed = self.paths[path].timed.is(seq);
            if timed && starving && overdue.is_none() && packet.carried.retransmitted == 0 {
                continue;
            }
            let size = chunk.size();
            if size > room {
                break;
            }
            if self.guess_at(now, path, seq).is_none_or(|at| at > now) {
                continue;
            }
            room -= size;
            self.write_copy(packet, seq, LossCause::Bundled);
        }
    }

    fn write_copy(&mut self, packet: &mut DataPacket<'_>, seq: u64, cause: LossCause) {
        self.write_again(packet, seq, Some(cause));
        let (now, path) = (packet.now, packet.path);
        self.sender.board.record_copy(now, path, seq);
        // §6.1: T3-rtx restarts if the earliest outstanding chunk is sent again. Only its first copy
        // does that: on a dead path a stream of new data would put the expiration off for ever.
        let first = self.sender.board.get(seq).is_some_and(|chunk| chunk.transmissions == 2);
        let earliest = first && self.sender.board.earliest(path) == Some(seq);
        let running = self.paths[path].t3.is_running();
        let profile = &self.config.profile;
        let action = t3_rtx::after_transmission(profile, Some(cause), earliest, running);
        packet.carried.restart_t3 |= action == TimerAction::Restart;
        for p in self.paths.iter_mut() {
            p.timed.spoil(|timed| timed == seq);
        }
        packet.carried.copies += 1;
    }
}
