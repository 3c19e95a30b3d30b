//! Packets with chunks that are in flight already: filled-up retransmissions, copies in front of new
//! data, and what leaves before T3-rtx expires.

use super::packet::{DataPacket, Plan, What};
use crate::ids::LossCause;
use crate::recovery::timer::t3_rtx::{self, TimerAction};
use crate::recovery::{Recovery, Worth};
use crate::scoreboard::Outstanding;
use crate::send::context::Context;
use crate::send::distribution::Copies;
use crate::send::sender::Sender;

/// Which chunks in flight ride along.
struct Riders {
    /// Those with sequence numbers below this.
    end: u64,
    /// As many as fit this many bytes.
    room: usize,
    /// Those that are authenticated with this key.
    key: Option<u16>,
    worth: Worth,
}

impl Sender {
    /// Fills a packet of retransmissions of a thin stream (Pedersen 2006 §4.2.2).
    pub(super) fn fill_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut DataPacket<'_>,
    ) {
        let (thin, cause) = (self.is_thin(), packet.carried.cause);
        let all_sent = self.data.board().first_lost().is_none();
        let worth = Recovery::beside_lost(cx.profile(), thin, cause);
        if let Some(worth) = worth.filter(|_| all_sent) {
            let riders = Riders {
                end: self.data.board().next_seq(),
                room: cx.paths[packet.path].mtu.max_packet().saturating_sub(packet.writer.len()),
                key: packet.carried.key,
                worth,
            };
            self.write_riders(cx, packet, &riders);
        }
    }

    /// Puts what is outstanding in front of the new data of a thin stream (Pedersen 2006 §4.4).
    pub(super) fn bundle_before_new(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>) {
        let thin = self.is_thin();
        let queue = self.data.queue();
        // An upper bound: headers and padding of every message.
        let new = queue.bytes() + queue.messages() * (self.data.header_len() + 3);
        let left = cx.paths[packet.path].mtu.max_packet().saturating_sub(packet.writer.len());
        let beside = Recovery::beside_new(cx.profile(), thin, left, new);
        if let Some((room, worth)) = beside.filter(|_| !self.data.board().is_empty()) {
            let (end, key) = (self.data.board().next_seq(), self.data.queue().next_key());
            self.write_riders(cx, packet, &Riders { end, room, key, worth });
        }
    }

    /// A chunk in flight that an early timer wants to be sent again.
    pub(super) fn plan_repeat(&mut self) -> Option<Plan> {
        let (seq, cause) = self.overrides.take_repeat()?;
        let chunk = self.data.board().get(seq).filter(|chunk| chunk.is_repeatable())?;
        Some(Plan { path: chunk.path, what: What::Repeat(seq, cause) })
    }

    /// A packet that begins with it.
    pub(super) fn write_repeat(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut DataPacket<'_>,
        seq: u64,
        cause: LossCause,
    ) {
        let repeated = self.data.board().get(seq);
        let reserved = repeated.map_or(0, Outstanding::size);
        let key = repeated.and_then(|chunk| chunk.chunk.key);
        // While thin it carries all that fits: the losses need not be asked about.
        let worth = Recovery::beside_repeated(cx.profile(), self.is_thin());
        let max = cx.paths[packet.path].mtu.max_packet();
        let left = max.saturating_sub(packet.writer.len());
        if let Some(worth) = worth.filter(|_| left > reserved) {
            let room = left - reserved;
            self.write_riders(cx, packet, &Riders { end: seq, room, key, worth });
        }
        self.write_copy(cx, packet, seq, cause);
        cx.journal.stats.count_if_it_probes(cause);
    }

    /// A packet of a thin stream that waits to be sent once more over another path.
    pub(super) fn plan_copies(&mut self, cx: &Context<'_>) -> Option<Plan> {
        while let Some(copies) = self.distribution.take_copies() {
            let repeatable =
                |seq| self.data.board().get(seq).is_some_and(Outstanding::is_repeatable);
            let in_flight = copies.seqs.clone().any(repeatable);
            let path = copies.path;
            if in_flight && cx.paths[path].preferred() {
                return Some(Plan { path, what: What::Copies(copies) });
            }
        }
        None
    }

    /// Writes it. The scoreboard goes on to follow the first one: this one is not in flight, and its loss
    /// changes nothing.
    pub(super) fn write_elsewhere(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut DataPacket<'_>,
        copies: &Copies,
    ) {
        let max = cx.paths[packet.path].mtu.max_packet();
        for seq in copies.seqs.clone() {
            let chunk = self.data.board().get(seq).filter(|chunk| chunk.is_repeatable());
            let Some(chunk) = chunk.filter(|chunk| packet.carried.takes(chunk.chunk.key)) else {
                continue;
            };
            if packet.writer.len() + chunk.size() <= max || packet.carried.is_empty() {
                self.write_again(cx, packet, seq, Some(copies.cause));
                self.data.board_mut().note_elsewhere(seq);
                // Which of the two arrives is not known.
                cx.paths.iter_mut().for_each(|path| path.timed.spoil(|timed| timed == seq));
                self.abandonment.on_again(self.data.board_mut(), seq);
                packet.carried.copies += 1;
            }
        }
    }

    /// Writes chunks in flight, oldest first.
    fn write_riders(&mut self, cx: &mut Context<'_>, packet: &mut DataPacket<'_>, riders: &Riders) {
        let Riders { end, mut room, key, worth } = *riders;
        let (now, path) = (cx.now, packet.path);
        let p = &cx.paths[path];
        let (srtt, rttvar, measured_at) = (p.rtt.srtt(), p.rtt.rttvar(), p.timed.measured_at());
        let worth_from = self.recovery.worth_from(worth, path, srtt, rttvar);
        for seq in self.data.board().cumulative() + 1..end {
            let Some(chunk) = self.data.board().get(seq) else { break };
            // What is in this packet already, or on another path, is not added.
            if !chunk.is_repeatable() || chunk.last_sent == now || chunk.path != path {
                continue;
            }
            if chunk.chunk.key != key {
                continue;
            }
            if worth_from.is_some_and(|age| now.since(chunk.last_sent) <= age) {
                continue;
            }
            // A chunk that is sent again spoils its measurement (Karn, §6.3.1 C5). When none has
            // come for a while the one being timed is left alone.
            let starving = srtt.is_none_or(|srtt| now.since(measured_at) > 8 * srtt);
            let timed = cx.paths[path].timed.is(seq);
            if timed && starving && worth.is_any() && packet.carried.retransmitted == 0 {
                continue;
            }
            let size = chunk.size();
            if size > room {
                break;
            }
            if self.guess_at(cx, path, seq).is_none_or(|at| at > now) {
                continue;
            }
            room -= size;
            self.write_copy(cx, packet, seq, Worth::CAUSE);
        }
    }

    fn write_copy(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut DataPacket<'_>,
        seq: u64,
        cause: LossCause,
    ) {
        self.write_again(cx, packet, seq, Some(cause));
        let (now, path) = (cx.now, packet.path);
        self.data.board_mut().record_copy(now, path, seq);
        self.abandonment.on_again(self.data.board_mut(), seq);
        // §6.1: T3-rtx restarts if the earliest outstanding chunk is sent again. Only its first copy
        // does that: on a dead path a stream of new data would put the expiration off for ever.
        let first = self.data.board().get(seq).is_some_and(|chunk| chunk.transmissions == 2);
        let earliest = first && self.data.board().earliest(path) == Some(seq);
        let running = cx.paths[path].t3.is_running();
        let profile = &cx.profile();
        let action = t3_rtx::after_transmission(profile, Some(cause), earliest, running);
        packet.carried.restart_t3 |= action == TimerAction::Restart;
        for p in cx.paths.iter_mut() {
            p.timed.spoil(|timed| timed == seq);
        }
        packet.carried.copies += 1;
    }
}
