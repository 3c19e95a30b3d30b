//! A received packet: its chunks in their order (RFC 9260 §6.10), each to its procedure.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{
    Abort, Cause, CauseWriter, Chunk, ChunkError, ChunkType, GapAckBlocks, Packet, Timestamp,
    UnknownAction,
};

use super::authentication::{Admission, Seal};
use super::{Association, Control, State};
use crate::ack::delayed::PacketFacts;
use crate::datagram::{Datagram, headers};
use crate::event::{CloseReason, Event};
use crate::path::{PathId, Paths};
use crate::receive::ReceivedPacket;
use crate::streams::chunk::widened;
use crate::time::Time;

/// The packet being processed.
pub(super) struct Incoming<'a> {
    /// Its bytes, for payloads that share them.
    pub(super) bytes: &'a Bytes,
    pub(super) source: IpAddr,
    /// Our address that it was sent to.
    pub(super) local: IpAddr,
    /// The peer's UDP port, if it came in UDP.
    pub(super) encapsulation: Option<u16>,
    /// The path it came over; the data path if the address is not one of the peer's.
    pub(super) arrival: PathId,
    /// Where SACKs and errors that answer it go: the same, unless the address is unconfirmed.
    pub(super) path: PathId,
    /// What the acknowledgement rules need to know of its DATA chunks.
    pub(super) facts: PacketFacts,
    pub(super) has_data: bool,
    /// The last DATA chunk so far had come before.
    pub(super) ends_in_duplicate: bool,
    pub(super) has_sack: bool,
    /// The lowest TSN of its DATA chunks, unwrapped; 0 for one received before.
    pub(super) lowest: Option<u64>,
    /// A DATA chunk had the R bit.
    pub(super) retransmission: bool,
    /// Its TIMESTAMP chunk, if timestamps were agreed on.
    pub(super) timestamp: Option<Timestamp>,
    /// What the endpoint and its AUTH chunk have shown (RFC 4895).
    pub(super) seal: Seal,
    pub(super) replies: Replies,
}

/// What answers a packet so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Replies {
    /// Where the chunks that answer it go, and how many bytes they have.
    chunks: Option<(PathId, usize)>,
    /// Bytes of packets that acknowledge changes of addresses, each of which has one of its own.
    acknowledgements: usize,
}

impl Incoming<'_> {
    /// It came from a confirmed address of the peer, so that answers may go there.
    pub(super) fn is_from_confirmed(&self) -> bool {
        self.path == self.arrival
    }

    /// Paths have come and gone because of it.
    pub(super) fn follow(&mut self, paths: &Paths) {
        self.arrival = paths.find(self.source).unwrap_or_else(|| paths.data_path());
        let confirmed = paths[self.arrival].is_confirmed();
        self.path = if confirmed { self.arrival } else { paths.data_path() };
        self.replies.chunks = self.replies.chunks.filter(|(path, _)| paths.is_living(*path));
    }

    /// Whether one more packet of this many bytes may acknowledge a change of addresses, where `of` bytes may in all.
    pub(super) fn affords(&mut self, bytes: usize, of: usize) -> bool {
        let fits = self.replies.acknowledgements + bytes <= of;
        self.replies.acknowledgements += if fits { bytes } else { 0 };
        fits
    }

    /// How many of these `of` bytes are left.
    pub(super) const fn left(&self, of: usize) -> usize {
        of.saturating_sub(self.replies.acknowledgements)
    }

    /// It has a DATA chunk with this TSN, unwrapped; 0 for one received before.
    pub(super) fn note_tsn(&mut self, seq: u64) {
        self.lowest = Some(self.lowest.map_or(seq, |lowest| lowest.min(seq)));
    }
}

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
        self.pay_for_verification(now, bytes.len() + headers(source, encapsulation));
        let known = self.paths.find(source);
        if let Some(id) = known {
            self.heard_at(now, id, local);
            let path = &mut self.paths[id];
            path.heartbeat.on_heard(now);
            path.counters.packets_received += 1;
            path.counters.bytes_received += bytes.len() as u64;
            //= RFC 6951 5.4-1 5.4-2
            // RFC 6951 §5.4: the peer's port may change, for example by a NAT, or it leaves UDP; only
            // now, with the tag checked.
            if path.encapsulate(encapsulation) {
                self.listing.moved = true;
            }
        }
        let gap = self.receiver.has_gaps();
        let arrival = known.unwrap_or_else(|| self.paths.data_path());
        //= RFC 9260 5.4-2
        // §5.4: "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but heartbeats.
        let confirmed = self.paths[arrival].is_confirmed();
        let mut incoming = Incoming {
            bytes,
            source,
            local,
            encapsulation,
            arrival,
            path: if confirmed { arrival } else { self.paths.data_path() },
            facts: PacketFacts { gap, ..PacketFacts::default() },
            has_data: false,
            ends_in_duplicate: false,
            has_sack: false,
            lowest: None,
            retransmission: false,
            timestamp: None,
            seal: self.seal_of(known, authentic),
            replies: Replies::default(),
        };
        let marked = self.note_ecn(ecn);
        self.receiver.begin_packet(bytes.len(), marked);
        self.handle_chunks(now, &mut incoming, packet);
        if !self.is_closed() {
            self.after_packet(now, &incoming);
            self.after_giving_up(now);
        }
    }

    //= RFC 5061 4.1.1-3 4.1.2-2 5.2-2 5.2-3
    //= RFC 9260 6.10-6
    fn handle_chunks(&mut self, now: Time, incoming: &mut Incoming<'_>, packet: &Packet<'_>) {
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
            if incoming.seal == Seal::Stranger && !admits {
                self.journal.stats.unauthenticated_chunks += 1;
                return;
            }
            if self.is_guarded() {
                match self.admit(&mut incoming.seal, raw, chunks.rest()) {
                    Admission::Take => {}
                    Admission::Skip => continue,
                    Admission::Stop => return,
                    Admission::Refuse(causes) => {
                        self.reply(incoming, incoming.path, Control::Error(causes));
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
                    if self.may_end_it(incoming.seal, &error) =>
                {
                    //= RFC 9260 6.2-31
                    // §6.2: a DATA chunk with no user data SHOULD be answered with ABORT.
                    let causes = CauseWriter::new().no_user_data(tsn).finish();
                    self.abort_with(causes, CloseReason::ProtocolViolation("empty DATA chunk"));
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
        incoming: &mut Incoming<'_>,
        bytes: &[u8],
        chunk: Chunk<'_>,
    ) -> bool {
        match chunk {
            Chunk::Data(data) => self.on_user_data(now, incoming, &widened(&data), false),
            Chunk::IData(data) => self.on_user_data(now, incoming, &data, true),
            Chunk::Sack(sack) => {
                incoming.has_sack = true;
                let none = GapAckBlocks::default();
                self.on_sack(now, &sack, none, incoming.timestamp.map(|t| t.tsecr));
            }
            Chunk::NrSack(nr) if self.sender.extensions().nr_sack => {
                incoming.has_sack = true;
                let echo = incoming.timestamp.map(|t| t.tsecr);
                self.on_sack(now, &nr.sack, nr.nr_gap_blocks(), echo);
            }
            // Not agreed on: as if we did not know the type.
            Chunk::NrSack(_) => return self.on_unknown_chunk(ChunkType::NR_SACK, &[], incoming),
            Chunk::ForwardTsn(_) if self.sender.extensions().chosen.interleaving => {
                self.refuse_forward("a FORWARD TSN chunk where I-DATA was agreed on");
            }
            Chunk::IForwardTsn(forward) => {
                let chosen = self.sender.extensions().chosen;
                if chosen.interleaving && chosen.partial_reliability {
                    self.on_i_forward_tsn(incoming, &forward);
                } else {
                    self.refuse_forward("an I-FORWARD-TSN chunk that was not agreed on");
                }
            }
            Chunk::ForwardTsn(forward) if self.sender.extensions().chosen.partial_reliability => {
                self.on_forward_tsn(now, incoming, &forward);
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
                    let from = self.reply_source(incoming.arrival, incoming.local);
                    self.reply(incoming, incoming.arrival, Control::HeartbeatAck(echo, from));
                }
            }
            Chunk::HeartbeatAck(ack) => self.on_heartbeat_ack(now, ack.info, incoming.local),
            Chunk::Shutdown(shutdown) => {
                self.on_shutdown(now, incoming, shutdown.cumulative_tsn_ack);
            }
            Chunk::ShutdownAck => self.on_shutdown_ack(incoming),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            // RFC 5061 §5.3 F4: one that comes to an address that is being deleted "MUST be ignored".
            // And one that reflects our tag answers what was sent from there before it was deleted.
            Chunk::Abort(abort)
                if self.sources().is_leaving(incoming.local)
                    || (abort.tag_reflected && self.sources().is_deleted(incoming.local)) =>
            {
                return false;
            }
            Chunk::Abort(abort) => {
                self.on_abort(abort);
                return false;
            }
            Chunk::Error(error) => self.on_error(now, error.causes),
            Chunk::ReConfig(chunk) => return self.on_re_config(now, incoming, &chunk),
            // INIT and COOKIE ECHO never get here: the endpoint handles them. Anywhere but at the
            // head of a packet they MUST NOT be (§6.10, §5.1).
            Chunk::Init(_) | Chunk::CookieEcho(_) => self.journal.stats.malformed_chunks += 1,
            //= RFC 4820 3-4
            //= RFC 8899 4.1-1
            // RFC 4820 §3: "MUST discard this chunk and continue processing the rest of the chunks in the packet".
            Chunk::Pad(_) => {}
            Chunk::Ecne(ecne) if self.has_ecn() => self.on_ecne(now, incoming, &ecne),
            Chunk::Cwr(cwr) if self.has_ecn() => self.on_cwr(incoming, &cwr),
            // Not agreed on: as if we did not know the types.
            Chunk::Ecne(_) => return self.on_unknown_chunk(ChunkType::ECNE, &[], incoming),
            Chunk::Cwr(_) => return self.on_unknown_chunk(ChunkType::CWR, &[], incoming),
            // Where it was agreed on it never gets here.
            Chunk::Auth(_) => return self.on_unknown_chunk(ChunkType::AUTH, &[], incoming),
            Chunk::Asconf(asconf) if self.has_changes() => self.on_asconf(now, incoming, &asconf),
            Chunk::AsconfAck(ack) if self.has_changes() => self.on_asconf_ack(now, &ack),
            // RFC 5061 §4.1.1: who does not have it reports the chunk.
            Chunk::Asconf(_) => return self.on_unknown_chunk(ChunkType::ASCONF, bytes, incoming),
            Chunk::AsconfAck(_) => {
                return self.on_unknown_chunk(ChunkType::ASCONF_ACK, bytes, incoming);
            }
            // Never negotiated: skipped like an unknown chunk of its type (§3.2, highest bits 10).
            // One that was not agreed on is skipped, as its type says.
            Chunk::Timestamp(t) if self.sender.extensions().timestamp => {
                incoming.timestamp = Some(t);
            }
            Chunk::Timestamp(_) => {}
            Chunk::Unknown(raw) => {
                return self.on_unknown_chunk(raw.chunk_type, raw.bytes, incoming);
            }
        }
        true
    }

    //= RFC 9260 9.1-6 12.4-2
    /// Answers a chunk of `incoming`. RFC 9260 §12.4: all answers to one packet fit one packet; those
    /// that do not are left out.
    pub(super) fn reply(&mut self, incoming: &mut Incoming<'_>, path: PathId, control: Control) {
        let (to, bytes) = incoming.replies.chunks.unwrap_or((path, 0));
        let len = control.len_bound();
        if to == path && (bytes == 0 || bytes + len <= self.paths[path].pmdcs()) {
            incoming.replies.chunks = Some((path, bytes + len));
            self.push_control(path, control);
        }
    }

    /// The source of what answers `incoming` on its path: where it arrived.
    pub(super) fn answer_source(&self, incoming: &Incoming<'_>) -> Option<IpAddr> {
        // To another address than it came from, that may be no way.
        let back = incoming.is_from_confirmed();
        self.reply_source(incoming.path, incoming.local).filter(|_| back)
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
    pub(super) fn on_unknown_chunk(
        &mut self,
        kind: ChunkType,
        bytes: &[u8],
        incoming: &mut Incoming<'_>,
    ) -> bool {
        let action = kind.unknown_action();
        if matches!(action, UnknownAction::StopAndReport | UnknownAction::SkipAndReport)
            && !matches!(self.state(), State::CookieWait | State::CookieEchoed)
        {
            let reported = &bytes[..bytes.len().min(MAX_REPORTED_CHUNK)];
            let causes = CauseWriter::new().unrecognized_chunk_type(reported).finish();
            self.reply(incoming, incoming.path, Control::Error(causes));
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
                self.on_unrecognized_chunk(&cause);
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
    fn after_packet(&mut self, now: Time, incoming: &Incoming<'_>) {
        if incoming.has_data {
            let source = self.answer_source(incoming);
            let sack = &self.config.profile.sack;
            let filled = incoming.facts.gap && sack.when_filled;
            let repeated = incoming.ends_in_duplicate && sack.if_last_is_duplicate;
            let packet = ReceivedPacket {
                path: incoming.path,
                arrival: incoming.arrival,
                source,
                filled,
                facts: PacketFacts {
                    immediate: incoming.facts.immediate || repeated,
                    ..incoming.facts
                },
                retransmission: incoming.retransmission,
            };
            self.receiver.on_packet(now, &packet);
        }
        if let Some(timestamp) = incoming.timestamp {
            self.receiver.on_timestamp(timestamp.tsval, incoming.lowest);
        }
        self.continue_reconfiguration(now);
        self.shutdown_after_packet(now, incoming);
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
