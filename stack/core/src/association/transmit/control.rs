//! Packets that begin with control chunks, and SACKs (RFC 9260 §6.2, §6.10).

use std::net::IpAddr;

use tresse_wire::{
    AsconfAck, CHUNK_HEADER_LEN, ChunkType, PacketDrop, PacketWriter, Parameters,
    TIMESTAMP_CHUNK_LEN, VerificationTag,
};

use super::super::opening::EchoedCookie;
use super::super::{Association, Control, State};
use super::Leaving;
use crate::event::TraceEvent;
use crate::ids::PathId;
use crate::path::Padding;
use crate::receive::SackForm;
use crate::recovery::ticks;
use crate::scoreboard::reported_tsns;
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
    ) -> Option<Leaving> {
        self.outbox.first().filter(|(_, first)| !first.is_search())?;
        self.write_outbox(now, buffer)
    }

    /// A packet that begins with the first control chunk that waits.
    pub(super) fn write_outbox(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Leaving> {
        let (path, first) = self.outbox.take_first()?;
        if first.is_alone() {
            self.write_alone(now, path, first, buffer)
        } else {
            Some(self.write_bundle(now, path, first, buffer))
        }
    }

    /// A packet with one chunk; `None` if that is no more to be said.
    fn write_alone(
        &mut self,
        now: Time,
        path: PathId,
        control: Control,
        buffer: &mut Vec<u8>,
    ) -> Option<Leaving> {
        let mut leaving = Leaving { source: control.source(), ..Leaving::on(path) };
        let tag = match &control {
            //= RFC 9260 3.1-4 8.5.1-1 12.3-1
            // §5.1: INIT MUST be alone; its packet has the tag 0.
            Control::Init => VerificationTag(0),
            Control::Abort(abort) => abort.tag,
            _ => self.identity.peer_tag,
        };
        let mut writer = PacketWriter::new(buffer, self.identity.header(tag));
        match control {
            Control::Init => {
                let (fields, parameters) = self.init_chunk();
                writer.init(&fields, &parameters);
            }
            Control::MtuProbe(info, length, padding) => {
                leaving.whole = true;
                // Of the size that it shall have in the end.
                let len = length - self.authenticator().len_before(ChunkType::HEARTBEAT);
                write_probe(&mut writer, &info, len, padding);
                let pad_chunk = padding == Padding::Chunk;
                let event = || TraceEvent::MtuProbe { path, length, pad_chunk };
                self.journal.trace(now, event);
            }
            Control::Asconf(_) => {
                self.extras.changes.iter().for_each(|changes| changes.write(&mut writer));
            }
            Control::AsconfAck(number, list, back) => {
                leaving.back = Some(back);
                writer.asconf_ack(&AsconfAck { number, responses: Parameters::new(&list) });
            }
            other => self.write_control(&mut writer, other),
        }
        let empty = writer.is_empty();
        writer.finish_without_checksum();
        (!empty).then_some(leaving)
    }

    //= RFC 9260 6-10 6.10-3
    /// A packet with a control chunk, others that wait for the same way, and a SACK or data behind them.
    fn write_bundle(
        &mut self,
        now: Time,
        path: PathId,
        first: Control,
        buffer: &mut Vec<u8>,
    ) -> Leaving {
        let source = first.source();
        let header = self.identity.header(self.identity.peer_tag);
        let mut writer = PacketWriter::new(buffer, header);
        let echo = matches!(first, Control::CookieEcho) && self.paths[path].is_confirmed();
        let may_be_marked = matches!(first, Control::Cwr(_));
        let ends = matches!(first, Control::Shutdown(_) | Control::ShutdownAck(_));
        // §9.2: SHUTDOWN MAY be bundled with a SACK, which must come first to report gaps.
        if ends {
            self.write_sack(&mut writer, path);
        }
        self.write_control(&mut writer, first);
        if !echo {
            self.bundle(&mut writer, path, source);
        }
        let mut packet = DataPacket::new(path, writer);
        if !may_be_marked {
            packet.leave_unmarked();
        }
        // §6.10: DATA cannot be bundled with SHUTDOWN or SHUTDOWN ACK.
        let data_fits = !ends
            && self.state().may_send_data()
            && source.is_none()
            && self.sender.joins_control(&self.paths, &self.config, path);
        // What answers one packet stays together (§12.4): a SACK goes along also without data.
        if echo || data_fits || (!ends && self.sack_belongs(path)) {
            self.write_timestamp(now, packet.writer(), path);
            self.write_sack(packet.writer(), path);
        }
        let with_echo = echo && self.phase.echo().is_some_and(EchoedCookie::may_bring_data);
        let (sender, mut cx) = self.sending(now);
        if with_echo || data_fits {
            sender.write_beside(&mut cx, &mut packet);
        }
        let (key, ecn) = sender.finish(&mut cx, packet);
        Leaving { source, key, ecn, ..Leaving::on(path) }
    }

    /// Adds the control chunks that wait and leave on the same path from the same source, as long as they fit.
    fn bundle(&mut self, writer: &mut PacketWriter<'_>, path: PathId, source: Option<IpAddr>) {
        let max = self.paths[path].mtu.max_packet();
        while let Some((on, next)) = self.outbox.first() {
            let fits = writer.len() + next.len_bound() <= max;
            if *on != path || next.source() != source || !fits || next.is_alone() {
                break;
            }
            let Some((_, next)) = self.outbox.take_first() else { break };
            self.write_control(writer, next);
        }
    }

    fn write_control(&mut self, writer: &mut PacketWriter<'_>, control: Control) {
        match control {
            // Written by the caller, which knows more of their packets.
            Control::Init | Control::MtuProbe(..) | Control::Asconf(_) | Control::AsconfAck(..) => {
            }
            Control::CookieEcho => match self.phase.echo() {
                Some(echo) => echo.write(writer),
                None => writer.cookie_echo(&[]),
            },
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
            Control::PacketDrop(report) => {
                self.journal.stats.packet_drop_reports_sent += 1;
                writer.packet_drop(&PacketDrop {
                    from_middle_box: false,
                    bad_checksum: true,
                    truncated_from: report.truncated_from,
                    bandwidth: self.config.receive_buffer,
                    queued: u32::try_from(self.receiver.buffered()).unwrap_or(u32::MAX),
                    packet: &report.packet,
                });
            }
            Control::Error(causes) => writer.error(&causes),
            Control::Abort(abort) => writer.abort(abort.reflected, &abort.causes),
        }
    }

    /// A SACK may leave, and goes to `path`.
    fn sack_belongs(&self, path: PathId) -> bool {
        self.state().may_send_data() && self.receiver.owes_sack(path)
    }

    /// Adds a SACK if data is unacknowledged and it belongs on `path` (§6.1, §6.7).
    pub(super) fn write_sack(&mut self, writer: &mut PacketWriter<'_>, path: PathId) {
        let max = self.paths[path].max_report();
        let window = reported_tsns(&self.config.profile.multipath);
        if !self.receiver.owes_sack(path) {
            return;
        }
        let retransmit_bit = self.sender.data().capabilities().retransmit_bit;
        let echoes = self.receiver.echoes() as u64;
        if self.receiver.write_sack(writer, SackForm::new(max, window, retransmit_bit)) {
            self.journal.stats.sacks_sent += 1;
            self.journal.stats.ecn_echoes_sent += echoes;
        }
    }

    /// Adds the timestamp that every packet with DATA or SACK carries, if it was agreed on.
    pub(super) fn write_timestamp(&self, now: Time, writer: &mut PacketWriter<'_>, path: PathId) {
        let fits = writer.len() + TIMESTAMP_CHUNK_LEN <= self.paths[path].mtu.max_packet();
        if self.sender.data().capabilities().timestamp && fits {
            writer.timestamp(ticks(now), self.receiver.timestamp_echo());
        }
    }

    /// A SACK that is due, and that nothing has taken along.
    pub(super) fn write_sack_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Leaving> {
        let state = self.state();
        let open = state.may_send_data() || state == State::ShutdownSent;
        if !self.receiver.is_sack_due() || !open || !self.outbox.has_way(&self.paths) {
            return None;
        }
        let path = self.receiver.ack_path();
        let source = self.receiver.ack_source();
        let header = self.identity.header(self.identity.peer_tag);
        let mut writer = PacketWriter::new(buffer, header);
        self.write_timestamp(now, &mut writer, path);
        self.write_sack(&mut writer, path);
        debug_assert!(!writer.is_empty());
        writer.finish_without_checksum();
        Some(Leaving { source, ..Leaving::on(path) })
    }
}

/// A HEARTBEAT that makes a packet of `len` bytes, a multiple of 4, with its padding.
fn write_probe(writer: &mut PacketWriter<'_>, info: &[u8], len: usize, padding: Padding) {
    match padding {
        Padding::Chunk => {
            writer.heartbeat(info);
            writer.pad(len.saturating_sub(writer.len()));
        }
        Padding::Info => {
            // The headers of the chunk and of its parameter.
            let before = writer.len() + 2 * CHUNK_HEADER_LEN;
            let mut info = info.to_vec();
            info.resize(len.saturating_sub(before).max(info.len()), 0);
            writer.heartbeat(&info);
        }
    }
}
