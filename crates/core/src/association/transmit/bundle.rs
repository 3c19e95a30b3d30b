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
            self.write_copies(now, writer, path, room, carried);
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
            self.write_copies(now, writer, path, room, carried);
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
            self.write_copies_below(now, &mut writer, path, left - reserved, &mut carried, seq);
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
    ) {
        let end = self.sender.board.next_seq();
        self.write_copies_below(now, writer, path, room, carried, end);
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
        end: u64,
    ) {
        for seq in self.sender.board.cumulative() + 1..end {
            let Some(chunk) = self.sender.board.get(seq) else { break };
            // What is in this packet already, or on another path, is not added.
            if chunk.state != ChunkState::InFlight || chunk.last_sent == now || chunk.path != path {
                continue;
            }
            // A chunk that is being timed would spoil the measurement (Karn, §6.3.1 C5), and
            // streams whose packets are always bundled would never be measured.
            let timed = self.paths[path].rtt_probe.is_some_and(|probe| probe.seq == seq);
            if timed && carried.retransmitted == 0 && self.sender.probe.is_none() {
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
