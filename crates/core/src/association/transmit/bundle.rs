//! Packets with chunks that are in flight already: filled-up retransmissions, copies in front of new
//! data, and tail loss probes.

use tresse_wire::{DATA_HEADER_LEN, DataFlags, PacketWriter};

use super::super::Association;
use super::Carried;
use crate::event::{LossCause, TraceEvent};
use crate::path::PathId;
use crate::recovery::{Sent, bundling};
use crate::scoreboard::{ChunkState, Scoreboard};
use crate::time::Time;

impl Association {
    /// Fills a packet of retransmissions of a thin stream (Pedersen 2006 §4.2.2).
    pub(super) fn fill_retransmission(
        &mut self,
        now: Time,
        writer: &mut PacketWriter<'_>,
        path: PathId,
        carried: &mut Carried,
    ) {
        let thin = self.sender.is_thin();
        let all_sent = self.sender.board.first_lost().is_none();
        if all_sent && bundling::fast_retransmit::fills(self.profile(), thin, carried.cause) {
            let room = self.paths[path].max_packet.saturating_sub(writer.len());
            let overdue_only = self.profile().bundle_fast_retransmit.overdue_only;
            self.write_copies(now, writer, path, room, carried, overdue_only);
        }
    }

    /// Puts what is outstanding in front of the new data of a thin stream (Pedersen 2006 §4.4).
    pub(super) fn bundle_before_new(
        &mut self,
        now: Time,
        writer: &mut PacketWriter<'_>,
        path: PathId,
        carried: &mut Carried,
    ) {
        let thin = self.sender.is_thin();
        let queue = &self.sender.queue;
        // An upper bound: headers and padding of every message.
        let new = queue.bytes() + queue.messages() * (DATA_HEADER_LEN + 3);
        let left = self.paths[path].max_packet.saturating_sub(writer.len());
        let room = bundling::new_data::room(self.profile(), thin, left, new);
        if room > 0 && !self.sender.board.is_empty() {
            let overdue_only = self.profile().bundle_new.overdue_only;
            self.write_copies(now, writer, path, room, carried, overdue_only);
        }
    }

    /// A packet that sends again what a tail loss probe asks for.
    pub(super) fn write_probe(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        let seq = self.sender.probe.take()?;
        let chunk = self.sender.board.get(seq).filter(|c| c.state == ChunkState::InFlight)?;
        let path = chunk.path;
        let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
        self.write_timestamp(now, &mut writer, path);
        let mut carried = Carried::default();
        // While thin the probe carries all that fits: the losses need not be asked about.
        let thin = self.sender.is_thin() && self.profile().bundle_fast_retransmit.enabled;
        let left = self.paths[path].max_packet.saturating_sub(writer.len());
        let reserved = self.sender.board.get(seq).map_or(0, |c| c.size());
        if thin && left > reserved {
            let only = self.profile().bundle_fast_retransmit.overdue_only;
            let room = left - reserved;
            self.write_copies_below(now, &mut writer, path, room, &mut carried, (seq, only));
        }
        self.write_copy(now, &mut writer, path, seq, LossCause::TailLossProbe, &mut carried);
        writer.finish();
        self.journal.stats.tail_loss_probes += 1;
        self.after_data(now, path, &carried);
        Some(path)
    }

    fn write_copies(
        &mut self,
        now: Time,
        writer: &mut PacketWriter<'_>,
        path: PathId,
        room: usize,
        carried: &mut Carried,
        overdue_only: bool,
    ) {
        let end = self.sender.board.next_seq();
        self.write_copies_below(now, writer, path, room, carried, (end, overdue_only));
    }

    /// Writes chunks in flight with sequence numbers below `end`, oldest first, until `room` bytes
    /// are full.
    fn write_copies_below(
        &mut self,
        now: Time,
        writer: &mut PacketWriter<'_>,
        path: PathId,
        mut room: usize,
        carried: &mut Carried,
        (end, overdue_only): (u64, bool),
    ) {
        let p = &self.paths[path];
        let (srtt, rttvar, measured_at) = (p.rtt.srtt(), p.rtt.rttvar(), p.measured_at);
        for seq in self.sender.board.cumulative() + 1..end {
            let Some(chunk) = self.sender.board.get(seq) else { break };
            // What is in this packet already, or on another path, is not added.
            if chunk.state != ChunkState::InFlight || chunk.last_sent == now || chunk.path != path {
                continue;
            }
            let age = now.since(chunk.last_sent);
            if !bundling::overdue::is_eligible(overdue_only, age, srtt, rttvar) {
                continue;
            }
            // A chunk that is sent again spoils its measurement (Karn, §6.3.1 C5). When none has
            // come for a while the one being timed is left alone.
            let starving = srtt.is_none_or(|srtt| now.since(measured_at) > 8 * srtt);
            let timed = self.paths[path].rtt_probe.is_some_and(|probe| probe.seq == seq);
            if timed && starving && !overdue_only && carried.retransmitted == 0 {
                continue;
            }
            let size = chunk.size();
            if size > room {
                break;
            }
            room -= size;
            self.write_copy(now, writer, path, seq, LossCause::Bundled, carried);
        }
    }

    fn write_copy(
        &mut self,
        now: Time,
        writer: &mut PacketWriter<'_>,
        path: PathId,
        seq: u64,
        cause: LossCause,
        carried: &mut Carried,
    ) {
        let Some(chunk) = self.sender.board.get(seq) else { return };
        let data = &chunk.chunk;
        let (bytes, size) = (data.payload.len(), chunk.size());
        writer.data(
            Scoreboard::tsn(seq),
            data.stream,
            data.ssn,
            data.ppid,
            DataFlags { retransmission: self.sender.extensions.retransmit_bit, ..data.flags },
            &data.payload,
        );
        if carried.is_empty() {
            self.sender.board.begin_packet();
        }
        self.sender.board.record_copy(now, path, seq);
        self.sender.recovery.on_sent(&Sent { now, path, seq });
        for p in self.paths.iter_mut() {
            p.rtt_probe = p.rtt_probe.filter(|probe| probe.seq != seq);
        }
        carried.copies += 1;
        carried.bytes += size;
        carried.highest = carried.highest.max(seq);
        carried.cause = carried.cause.or(Some(cause));
        if let Some(i) = LossCause::ALL.iter().position(|c| *c == cause) {
            self.journal.stats.retransmitted_chunks[i] += 1;
        }
        let transmission = self.sender.board.get(seq).map_or(0, |c| c.transmissions);
        self.journal.trace(now, || TraceEvent::Sent {
            tsn: Scoreboard::tsn(seq),
            path,
            bytes,
            transmission,
            cause: Some(cause),
        });
    }
}
