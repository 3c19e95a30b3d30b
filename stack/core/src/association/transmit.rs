//! The only place that builds packets of an association (RFC 9260 §6.1, §6.10).
//!
//! Order: control chunks, then SACK, then DATA. Of DATA, what is lost comes first, then what is
//! new. One call writes one packet.

mod control;

use tresse_wire::{CommonHeader, PacketWriter};

use super::Association;
use crate::datagram::{Ecn, Transmit};
use crate::path::PathId;
use crate::send::{DataPacket, Plan};
use crate::time::Time;

impl Association {
    /// Writes the next packet into `buffer`, if there is one to send.
    pub(crate) fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.expire_messages(now);
        self.outbox.leave_from(None);
        for path in self.paths.iter_mut() {
            path.bursts.look(now);
        }
        let path = self
            .write_control_packet(now, buffer)
            .or_else(|| self.write_data_packet(now, buffer))
            .or_else(|| self.write_forward_packet(now, buffer))
            .or_else(|| self.write_sack_packet(now, buffer))
            .or_else(|| self.write_outbox(now, buffer));
        let Some(path) = path else {
            let (sender, mut cx) = self.sending(now);
            sender.end_opportunity(&mut cx);
            return None;
        };
        self.authenticate(buffer);
        self.seal(buffer);
        self.journal.stats.packets_sent += 1;
        self.journal.stats.bytes_sent += buffer.len() as u64;
        let ect = self.paths[path].window.marks_mut().take_leaving();
        let counters = &mut self.paths[path].counters;
        counters.packets_sent += 1;
        counters.bytes_sent += buffer.len() as u64;
        let transmit = self.transmit_to(path, self.outbox.source(), buffer.len());
        Some(Transmit { ecn: if ect { Ecn::Ect0 } else { Ecn::NotEct }, ..transmit })
    }

    /// An opportunity to send came.
    pub(super) fn opportunity(&mut self) {
        self.paths.grant(self.config.profile.limits.max_burst);
    }

    /// DATA may be sent in this state.
    pub(super) fn may_send_data(&self) -> bool {
        self.state().may_send_data()
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
        if !self.may_send_data() || !self.has_confirmed_path() {
            return None;
        }
        let answer = self.phase.closing().and_then(|closing| closing.answer);
        let (sender, mut cx) = self.sending(now);
        let plan = sender.plan(&mut cx, answer)?;
        let path = plan.path();
        let mut packet = self.begin_data(now, path, buffer);
        let before_control = packet.writer().len();
        let forward = self.sender.forward_len();
        //= RFC 3758 3.5-16
        // RFC 3758 §3.5 F2: bundled with DATA, if that leaves room for it.
        if forward > 0 && self.leaves_room(&plan, forward) {
            let (sender, mut cx) = self.sending(now);
            sender.write_forward(&mut cx, &mut packet);
        }
        if self.receiver.owes_sack(path) {
            let bound = self.receiver.sack_bound();
            let written = packet.writer().len() - before_control;
            if self.leaves_room(&plan, written + bound) {
                self.write_sack(packet.writer(), path);
            }
        }
        let has_control = packet.writer().len() > before_control;
        if plan.is_retransmission()
            && let Some(closing) = self.phase.closing_mut()
        {
            closing.answer = None;
        }
        let (sender, mut cx) = self.sending(now);
        sender.write(&mut cx, &mut packet, &plan);
        let empty = packet.is_empty() && !has_control;
        sender.finish(&mut cx, packet);
        // An empty packet would be offered for ever; the rules of what may leave never agree on one.
        debug_assert!(!empty);
        (!empty).then_some(path)
    }

    fn begin_data<'b>(&self, now: Time, path: PathId, buffer: &'b mut Vec<u8>) -> DataPacket<'b> {
        let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
        self.write_timestamp(now, &mut writer, path);
        DataPacket::new(path, writer)
    }

    //= RFC 9260 6.1-16 6.9-8
    /// What is bundled must not push the first chunk out of the packet: a SACK that must go then leaves alone, after
    /// the data. Copies of what is in flight do without.
    fn leaves_room(&self, plan: &Plan, control: usize) -> bool {
        if plan.is_copy() {
            return false;
        }
        let chunk = self.sender.first_chunk(&self.paths, plan);
        let room = self.sender.room_for_chunks(&self.paths[plan.path()]);
        chunk.is_none_or(|chunk| chunk + control <= room)
    }

    /// A FORWARD TSN chunk that no packet with DATA has taken along, with a SACK if one is owed.
    fn write_forward_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        if !self.may_send_data() || !self.has_confirmed_path() {
            return None;
        }
        let path = self.sender.forward_path(&self.paths)?;
        let mut packet = self.begin_data(now, path, buffer);
        let (sender, mut cx) = self.sending(now);
        sender.write_forward(&mut cx, &mut packet);
        self.write_sack(packet.writer(), path);
        let (sender, mut cx) = self.sending(now);
        sender.finish(&mut cx, packet);
        Some(path)
    }
}
