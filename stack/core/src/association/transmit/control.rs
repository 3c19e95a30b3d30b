//! Packets that begin with control chunks, and SACKs (RFC 9260 §6.2, §6.10).

use tresse_wire::{
    AsconfAck, ChunkType, PacketWriter, Parameters, TIMESTAMP_CHUNK_LEN, VerificationTag,
};

use super::super::{Association, Control, State};
use crate::path::PathId;
use crate::receive::SackForm;
use crate::recovery::ticks;
use crate::send::DataPacket;
use crate::time::Time;

impl Association {
    /// Control chunks, but for heartbeats that look for another source. Several of them leave at once when
    /// T3-rtx expires, and a short queue on the way has room for one or two packets: the first of them is what
    /// is sent again (RFC 9260 §6.3.3 E3).
    pub(super) fn write_control_packet(
        &mut self,
        now: Time,
        buffer: &mut Vec<u8>,
    ) -> Option<PathId> {
        self.outbox.first().filter(|(_, first)| !first.is_search())?;
        self.write_outbox(now, buffer)
    }

    //= RFC 9260 6-10 6.10-3
    /// A packet that begins with the first control chunk that waits.
    pub(super) fn write_outbox(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        let (path, first) = self.outbox.take_first()?;
        if let Control::Init = first {
            //= RFC 9260 3.1-4 8.5.1-1 12.3-1
            // §5.1: INIT MUST be alone; its packet has the tag 0.
            let (fields, parameters) = self.init_chunk();
            let mut writer = PacketWriter::new(buffer, self.header(VerificationTag(0)));
            writer.init(&fields, &parameters);
            writer.finish_without_checksum();
            return Some(path);
        }
        if let Control::Probe(info, len) = &first {
            self.outbox.leave_from(None);
            self.outbox.leave_whole();
            let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
            writer.heartbeat(info);
            // Of the size that it shall have in the end.
            let later = self.authentication_len(ChunkType::HEARTBEAT);
            writer.pad(len.saturating_sub(writer.len() + later));
            writer.finish_without_checksum();
            return Some(path);
        }
        let source = first.source();
        self.outbox.leave_from(source);
        if first.is_alone() {
            return self.write_alone(path, &first, buffer);
        }
        let tag = match &first {
            Control::Abort(abort) => abort.tag,
            _ => self.identity.peer_tag,
        };
        let mut writer = PacketWriter::new(buffer, self.header(tag));
        //= RFC 9260 3-1 3.3.7-2 5.1-9 5.1-10 6.10-8
        let alone = matches!(first, Control::ShutdownComplete(_) | Control::Abort(_));
        let echo = matches!(first, Control::CookieEcho) && self.paths[path].is_confirmed();
        let may_be_marked = matches!(first, Control::Cwr(_));
        let ends = matches!(first, Control::Shutdown(_) | Control::ShutdownAck(_));
        // §9.2: SHUTDOWN MAY be bundled with a SACK, which must come first to report gaps.
        if ends {
            self.write_sack(&mut writer, path);
        }
        self.write_control(&mut writer, first);
        if alone {
            writer.finish_without_checksum();
            return Some(path);
        }
        let max = self.paths[path].mtu.max_packet();
        while let Some((next_path, next)) = self.outbox.first() {
            let fits = writer.len() + next.len_bound() <= max;
            let bundles = !matches!(
                next,
                Control::Init
                    | Control::Probe(..)
                    | Control::ShutdownComplete(_)
                    | Control::Abort(_)
            ) && !next.is_alone();
            if *next_path != path || next.source() != source || !fits || !bundles || echo {
                break;
            }
            let Some((_, next)) = self.outbox.take_first() else { break };
            self.write_control(&mut writer, next);
        }
        // §6.10: DATA cannot be bundled with SHUTDOWN or SHUTDOWN ACK.
        let data_fits = !ends
            && self.may_send_data()
            && source.is_none()
            && self.sender.joins_control(&self.paths, &self.config, path);
        let mut packet = DataPacket::new(path, writer);
        if !may_be_marked {
            packet.leave_unmarked();
        }
        if echo || data_fits {
            self.write_timestamp(now, packet.writer(), path);
            self.write_sack(packet.writer(), path);
            let (sender, mut cx) = self.sending(now);
            sender.write_beside(&mut cx, &mut packet);
        } else if !ends && self.sack_belongs(path) {
            // What answers one packet stays together (§12.4).
            self.write_timestamp(now, packet.writer(), path);
            self.write_sack(packet.writer(), path);
        }
        let (sender, mut cx) = self.sending(now);
        sender.finish(&mut cx, packet);
        Some(path)
    }

    /// A packet with one chunk; `None` if that is no more to be said.
    fn write_alone(
        &mut self,
        path: PathId,
        control: &Control,
        buffer: &mut Vec<u8>,
    ) -> Option<PathId> {
        let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
        match control {
            Control::Asconf(_) => self.write_asconf(&mut writer),
            Control::AsconfAck(number, list, back) => {
                self.outbox.go_back(*back);
                let (number, responses) = (*number, Parameters::new(list));
                writer.asconf_ack(&AsconfAck { number, responses });
            }
            _ => {}
        }
        let empty = writer.is_empty();
        writer.finish_without_checksum();
        (!empty).then_some(path)
    }

    fn write_control(&mut self, writer: &mut PacketWriter<'_>, control: Control) {
        match control {
            // Alone in its packet: written by the caller.
            Control::Init | Control::Probe(..) | Control::Asconf(_) | Control::AsconfAck(..) => {}
            Control::CookieEcho => {
                let echo = self.phase.echo();
                writer.cookie_echo(echo.map_or(&[], |echo| &echo.cookie));
                if let Some(causes) = echo.and_then(|echo| echo.error.as_deref()) {
                    writer.error(causes);
                }
            }
            Control::CookieAck(_) => writer.cookie_ack(),
            Control::Heartbeat(info, _) => writer.heartbeat(&info),
            Control::HeartbeatAck(parameters, _) => writer.heartbeat_ack(&parameters),
            Control::Shutdown(_) => writer.shutdown(self.receiver.cumulative()),
            Control::ShutdownAck(_) => writer.shutdown_ack(),
            Control::ShutdownComplete(_) => writer.shutdown_complete(false),
            Control::ReConfig(parameters, _) => writer.re_config(&parameters),
            Control::Cwr(cwr) => {
                self.journal.stats.cwrs_sent += 1;
                writer.cwr(cwr);
            }
            Control::Error(causes) => writer.error(&causes),
            Control::Abort(abort) => writer.abort(abort.reflected, &abort.causes),
        }
    }

    /// A SACK may leave, and goes to `path`.
    fn sack_belongs(&self, path: PathId) -> bool {
        self.may_send_data() && self.receiver.owes_sack(path)
    }

    /// Adds a SACK if data is unacknowledged and it belongs on `path` (§6.1, §6.7).
    pub(super) fn write_sack(&mut self, writer: &mut PacketWriter<'_>, path: PathId) {
        let max = self.paths[path].mtu.max_packet();
        let window = self.profile().multipath.reported_tsns();
        if !self.receiver.owes_sack(path) {
            return;
        }
        let retransmit_bit = self.sender.extensions().retransmit_bit;
        let echoes = self.receiver.echoes() as u64;
        if self.receiver.write_sack(writer, SackForm::new(max, window, retransmit_bit)) {
            self.journal.stats.sacks_sent += 1;
            self.journal.stats.ecn_echoes_sent += echoes;
        }
    }

    /// Adds the timestamp that every packet with DATA or SACK carries, if it was agreed on.
    pub(super) fn write_timestamp(&self, now: Time, writer: &mut PacketWriter<'_>, path: PathId) {
        let fits = writer.len() + TIMESTAMP_CHUNK_LEN <= self.paths[path].mtu.max_packet();
        if self.sender.extensions().timestamp && fits {
            writer.timestamp(ticks(now), self.receiver.timestamp_echo());
        }
    }

    pub(super) fn write_sack_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<PathId> {
        let open = self.may_send_data() || self.state() == State::ShutdownSent;
        if !self.receiver.is_sack_due() || !open || !self.has_confirmed_path() {
            return None;
        }
        let path = self.receiver.ack_path();
        self.outbox.leave_from(self.receiver.ack_source());
        let mut writer = PacketWriter::new(buffer, self.header(self.identity.peer_tag));
        self.write_timestamp(now, &mut writer, path);
        self.write_sack(&mut writer, path);
        debug_assert!(!writer.is_empty());
        writer.finish_without_checksum();
        Some(path)
    }
}
