//! A received packet: its chunks in their order (RFC 9260 §6.10), each to its procedure.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{
    Abort, Cause, CauseWriter, Chunk, ChunkError, ChunkType, GapAckBlocks, Packet, RawChunk,
    UnknownAction,
};

use super::authentication::{Admission, Seal};
use super::errors::End;
use super::incoming::PacketInHand;
use super::{Association, Control, State, drops};
use crate::datagram::{Datagram, headers};
use crate::event::{CloseReason, Event};
use crate::ids::PathId;
use crate::streams::chunk::widened;
use crate::time::Time;

impl Association {
    /// Takes a packet whose verification tag was checked (RFC 9260 §8.5). Its AUTH chunk may have been found `authentic`, too.
    pub(crate) fn handle_packet(
        &mut self,
        now: Time,
        datagram: &Datagram,
        packet: &Packet<'_>,
        authentic: bool,
    ) {
        let Datagram { source, destination: local, encapsulation, ecn, packet: ref bytes } =
            *datagram;
        self.journal.stats.packets_received += 1;
        self.journal.stats.bytes_received += bytes.len() as u64;
        self.journal.stats.zero_checksums_received += u64::from(packet.received_checksum() == 0);
        let paid = bytes.len() + headers(source, encapsulation);
        self.monitor.pay(now, &mut self.paths, paid);
        let known = self.paths.find(source);
        if let Some(id) = known {
            if self.paths[id].doubts_source() {
                let (mut cx, parts) = self.parts(now);
                if let Some(changes) = &parts.extras.changes {
                    changes.heard_at(&mut cx, parts.monitor.addresses_mut(), local);
                }
                parts.monitor.heard_at(&mut cx, id, local);
            }
            let path = &mut self.paths[id];
            path.heartbeat.on_heard(now);
            path.counters.packets_received += 1;
            path.counters.bytes_received += bytes.len() as u64;
            //= RFC 6951 5.4-1 5.4-2
            // RFC 6951 §5.4: the peer's port may change, for example by a NAT, or it leaves UDP; only
            // now, with the tag checked.
            if path.encapsulate(encapsulation) {
                self.listing.note_move();
            }
        }
        let mut incoming = PacketInHand::new(datagram, known, &self.paths);
        let seal = self.seal_of(known, authentic);
        let marked = self.note_ecn(ecn);
        self.receiver.begin_packet(bytes.len(), marked);
        self.handle_chunks(now, &mut incoming, packet, seal);
        if !self.is_closed() {
            self.after_packet(now, &incoming);
            self.after_giving_up(now);
        }
    }

    //= RFC 5061 4.1.1-3 4.1.2-2 5.2-2 5.2-3
    //= RFC 9260 6.10-6
    fn handle_chunks(
        &mut self,
        now: Time,
        incoming: &mut PacketInHand<'_>,
        packet: &Packet<'_>,
        mut seal: Seal,
    ) {
        let mut chunks = packet.chunks();
        // The endpoint has handled a COOKIE ECHO that is the first chunk, AUTH apart.
        let mut may_be_echo = true;
        while let Some(raw) = chunks.next() {
            if self.is_closed() {
                return;
            }
            let Ok(raw) = raw else {
                //= RFC 9260 6.10-7
                // §6.10: a partial chunk MUST be dropped; nothing comes after it.
                self.journal.stats.malformed_chunks += 1;
                return;
            };
            let is_echo = raw.chunk_type == ChunkType::COOKIE_ECHO && may_be_echo;
            may_be_echo &= raw.chunk_type == ChunkType::AUTH;
            if is_echo {
                continue;
            }
            // RFC 5061 §5.2 D5: of a stranger, only what stands behind an AUTH chunk that is right.
            let admits = raw.chunk_type == ChunkType::AUTH;
            if seal == Seal::Stranger && !admits {
                self.journal.stats.unauthenticated_chunks += 1;
                return;
            }
            if self.authenticator().is_guarded() {
                match self.admit(&mut seal, raw, chunks.rest()) {
                    Admission::Take => {}
                    Admission::Skip => continue,
                    Admission::Stop => return,
                    Admission::Refuse(causes) => {
                        incoming.refuse(&mut self.outbox, &self.paths, causes);
                        return;
                    }
                }
            }
            match Chunk::parse(raw) {
                Ok(chunk) => {
                    if !self.handle_chunk(now, incoming, raw.bytes, chunk) {
                        return;
                    }
                }
                Err(error @ ChunkError::NoUserData { tsn })
                    if self.authenticator().may_end_it(seal, &error) =>
                {
                    //= RFC 9260 6.2-31
                    // §6.2: a DATA chunk with no user data SHOULD be answered with ABORT.
                    let causes = CauseWriter::new().no_user_data(tsn).finish();
                    let reason = CloseReason::ProtocolViolation("empty DATA chunk");
                    self.abort_with(End { causes, reason });
                    return;
                }
                // Without authentication an AUTH chunk is an unknown one, even if malformed.
                Err(ChunkError::InvalidLength { chunk_type: ChunkType::AUTH, .. }) => return,
                Err(_) => self.journal.stats.malformed_chunks += 1,
            }
        }
    }

    //= RFC 5061 4.1.1-7 5.3-9 5.3-10 5.3-27 5.3.1-1
    /// Returns `false` to discard the rest of the packet.
    fn handle_chunk(
        &mut self,
        now: Time,
        incoming: &mut PacketInHand<'_>,
        bytes: &[u8],
        chunk: Chunk<'_>,
    ) -> bool {
        match chunk {
            Chunk::Data(data) => self.on_user_data(now, incoming, &widened(&data), false),
            Chunk::IData(data) => self.on_user_data(now, incoming, &data, true),
            Chunk::Sack(sack) => {
                incoming.note_sack();
                self.on_sack(now, &sack, GapAckBlocks::default(), incoming.tsecr());
            }
            Chunk::NrSack(nr) if self.sender.data().capabilities().nr_sack => {
                incoming.note_sack();
                self.on_sack(now, &nr.sack, nr.nr_gap_blocks(), incoming.tsecr());
            }
            // Not agreed on: as if we did not know the type.
            Chunk::NrSack(_) => return self.on_unknown_chunk(ChunkType::NR_SACK, &[], incoming),
            Chunk::ForwardTsn(_) if self.sender.data().capabilities().chosen.interleaving => {
                self.refuse_forward("a FORWARD TSN chunk where I-DATA was agreed on");
            }
            Chunk::IForwardTsn(forward) => {
                let chosen = self.sender.data().capabilities().chosen;
                if chosen.interleaving && chosen.partial_reliability {
                    self.on_i_forward_tsn(now, &forward);
                } else {
                    self.refuse_forward("an I-FORWARD-TSN chunk that was not agreed on");
                }
            }
            Chunk::ForwardTsn(forward)
                if self.sender.data().capabilities().chosen.partial_reliability =>
            {
                self.on_forward_tsn(now, &forward);
            }
            //= RFC 3758 3.3.1-1 3.3.2-3
            // RFC 3758 §3.3.1: "act as if it does NOT support the FORWARD TSN chunk, returning an ERROR".
            Chunk::ForwardTsn(_) => {
                return self.on_unknown_chunk(ChunkType::FORWARD_TSN, bytes, incoming);
            }
            Chunk::InitAck(init) => {
                self.on_init_ack(now, init.fields(), init.parameters, incoming);
            }
            Chunk::CookieAck => self.on_cookie_ack(now),
            Chunk::Heartbeat(heartbeat) => {
                //= RFC 9260 3.3.6-1 3.3.6-2 8.3-2 8.3-8
                // §8.3: MUST be answered from COOKIE-ECHOED or ESTABLISHED on; the parameters are
                // copied unchanged.
                if self.state() != State::CookieWait {
                    let echo = Bytes::copy_from_slice(heartbeat.parameters);
                    // From where it arrived: the peer learns of that pair of addresses.
                    let (arrival, local) = (incoming.arrival(), incoming.local());
                    let from = self.addresses().reply_source(&self.paths, arrival, local);
                    let ack = Control::HeartbeatAck(echo, from);
                    incoming.reply(&mut self.outbox, &self.paths, arrival, ack);
                }
            }
            Chunk::HeartbeatAck(ack) => self.on_heartbeat_ack(now, ack.info, incoming.local()),
            Chunk::Shutdown(shutdown) => {
                self.on_shutdown(now, incoming, shutdown.cumulative_tsn_ack);
            }
            Chunk::ShutdownAck => self.on_shutdown_ack(incoming),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            // RFC 5061 §5.3 F4: one that comes to an address that is being deleted "MUST be ignored".
            // And one that reflects our tag answers what was sent from there before it was deleted.
            Chunk::Abort(abort)
                if self.addresses().sources().is_leaving(incoming.local())
                    || (abort.tag_reflected
                        && self.addresses().sources().is_deleted(incoming.local())) =>
            {
                return false;
            }
            Chunk::Abort(abort) => {
                self.on_abort(abort);
                return false;
            }
            Chunk::Error(error) => self.on_error(now, error.causes),
            Chunk::ReConfig(chunk) if self.extras.reconfiguration.is_some() => {
                return self.on_re_config(now, incoming, &chunk);
            }
            // Not agreed on: as if we did not know the type.
            Chunk::ReConfig(_) => {
                return self.on_unknown_chunk(ChunkType::RE_CONFIG, &[], incoming);
            }
            // INIT and COOKIE ECHO never get here: the endpoint handles them. Anywhere but at the
            // head of a packet they MUST NOT be (§6.10, §5.1).
            Chunk::Init(_) | Chunk::CookieEcho(_) => self.journal.stats.malformed_chunks += 1,
            //= RFC 4820 3-4
            //= RFC 8899 4.1-1
            // RFC 4820 §3: "MUST discard this chunk and continue processing the rest of the chunks in the packet".
            Chunk::Pad(_) => {}
            Chunk::Ecne(ecne) if self.sender.data().has_ecn() => self.on_ecne(now, incoming, &ecne),
            Chunk::Cwr(cwr) if self.sender.data().has_ecn() => self.on_cwr(incoming, &cwr),
            // Not agreed on: as if we did not know the types.
            Chunk::Ecne(_) => return self.on_unknown_chunk(ChunkType::ECNE, &[], incoming),
            Chunk::Cwr(_) => return self.on_unknown_chunk(ChunkType::CWR, &[], incoming),
            // Where it was agreed on it never gets here.
            Chunk::Auth(_) => return self.on_unknown_chunk(ChunkType::AUTH, &[], incoming),
            Chunk::Asconf(asconf) if self.extras.changes.is_some() => {
                self.on_asconf(now, incoming, &asconf);
            }
            Chunk::AsconfAck(ack) if self.extras.changes.is_some() => {
                self.on_asconf_ack(now, &ack);
            }
            // RFC 5061 §4.1.1: who does not have it reports the chunk.
            Chunk::Asconf(_) => return self.on_unknown_chunk(ChunkType::ASCONF, bytes, incoming),
            Chunk::AsconfAck(_) => {
                return self.on_unknown_chunk(ChunkType::ASCONF_ACK, bytes, incoming);
            }
            Chunk::PacketDrop(report) if self.sender.data().has_drop_reports() => {
                let (mut cx, mut parts) = self.parts(now);
                drops::on_report(&mut cx, &mut parts.halves, incoming, &report);
            }
            // Never negotiated: skipped like an unknown chunk of its type (§3.2, highest bits 10).
            // One that was not agreed on is skipped, as its type says.
            Chunk::Timestamp(t) if self.sender.data().capabilities().timestamp => {
                incoming.note_timestamp(t);
            }
            Chunk::Timestamp(_) | Chunk::PacketDrop(_) => {}
            Chunk::Unknown(raw) => {
                return self.on_unknown_chunk(raw.chunk_type, raw.bytes, incoming);
            }
        }
        true
    }

    /// What is known of a packet on the path `known`, whose AUTH chunk may have been found `authentic`.
    fn seal_of(&self, known: Option<PathId>, authentic: bool) -> Seal {
        if authentic {
            Seal::Judged
        } else if known.is_none()
            && self.extras.changes.is_some()
            && !self.addresses().are_omitted()
        {
            Seal::Stranger
        } else {
            Seal::None
        }
    }

    /// Whether a chunk may be processed; `rest` is what is behind it in its packet.
    fn admit(&mut self, seal: &mut Seal, raw: RawChunk<'_>, rest: &[u8]) -> Admission {
        let (state, journal) = (self.state(), &mut self.journal);
        self.extras.authenticator.admit(seal, raw, rest, state, journal)
    }

    /// HEARTBEAT ACK, with this information, arrived at `local`.
    fn on_heartbeat_ack(&mut self, now: Time, info: &[u8], local: IpAddr) {
        let (mut cx, parts) = self.parts(now);
        let sender = parts.halves.sender;
        let confirmed = parts.monitor.on_heartbeat_ack(&mut cx, sender, info, local);
        if let (Some(path), Some(changes)) = (confirmed, &mut parts.extras.changes) {
            changes.on_confirmed(&mut cx, path);
        }
    }

    fn on_abort(&mut self, abort: Abort<'_>) {
        // §8.4 rule 8: the T bit says that the peer has no association (any more). Once it sent
        // SHUTDOWN and all data of both sides was acknowledged, this means that our SHUTDOWN ACK
        // arrived: a straggler was answered by ABORT, which overtook SHUTDOWN COMPLETE.
        let reason = if abort.tag_reflected && self.state() == State::ShutdownAckSent {
            CloseReason::Shutdown
        } else {
            let (cause, value) = first_cause(abort.causes);
            CloseReason::PeerAborted { cause, value }
        };
        self.close(reason);
    }

    /// RFC 9260 §3.2, Table 2: the highest two bits say what to do.
    fn on_unknown_chunk(
        &mut self,
        kind: ChunkType,
        bytes: &[u8],
        incoming: &mut PacketInHand<'_>,
    ) -> bool {
        let action = kind.unknown_action();
        if matches!(action, UnknownAction::StopAndReport | UnknownAction::SkipAndReport)
            && !self.state().is_opening()
        {
            let reported = &bytes[..bytes.len().min(MAX_REPORTED_CHUNK)];
            let causes = CauseWriter::new().unrecognized_chunk_type(reported).finish();
            incoming.refuse(&mut self.outbox, &self.paths, causes);
        }
        matches!(action, UnknownAction::Skip | UnknownAction::SkipAndReport)
    }

    fn on_error(&mut self, now: Time, causes: tresse_wire::Causes<'_>) {
        for raw in causes.iter() {
            let Ok(raw) = raw else {
                self.journal.stats.malformed_chunks += 1;
                return;
            };
            if let Ok(cause) = Cause::parse(raw) {
                self.on_unrecognized_chunk(now, &cause);
            }
            if let Ok(Cause::StaleCookie { .. }) = Cause::parse(raw) {
                // §5.2.6: discarded unless in COOKIE-ECHOED; nothing to tell the application yet.
                self.on_stale_cookie(now);
                continue;
            }
            // §11.2.6: COMMUNICATION ERROR.
            if !self.is_closed() {
                let value = Bytes::copy_from_slice(raw.value);
                self.journal.peer_event(Event::PeerError { cause: raw.code.0, value });
            }
        }
    }

    /// What the whole packet means, once all its chunks were processed.
    fn after_packet(&mut self, now: Time, incoming: &PacketInHand<'_>) {
        let (paths, addresses) = (&self.paths, self.monitor.addresses());
        let way = || incoming.way(paths, addresses);
        let data = self.receiver.end_packet(now, incoming.tsval(), way);
        self.continue_reconfiguration(now);
        self.shutdown_after_packet(now, incoming, data);
    }
}

/// Bytes of an unrecognised chunk that are sent back: a reply is never larger than the request.
const MAX_REPORTED_CHUNK: usize = 512;

fn first_cause(causes: tresse_wire::Causes<'_>) -> (u16, Bytes) {
    match causes.iter().next() {
        //= RFC 9260 9.1-7
        // §3.3.10.12: the Upper Layer Abort Reason is the value.
        Some(Ok(raw)) => (raw.code.0, Bytes::copy_from_slice(raw.value)),
        _ => (0, Bytes::new()),
    }
}
