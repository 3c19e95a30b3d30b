//! Which association a packet is for, and whether its tag is right (RFC 9260 §8.4, §8.5).

use tresse_wire::{
    Cause, Causes, Chunk, ChunkError, ChunkType, CommonHeader, Packet, PacketError, RawChunk,
    VerificationTag,
};

use super::desk::Desk;
use super::handshake::Greeter;
use super::{Endpoint, drops};
use crate::association::sets_up;
use crate::datagram::Datagram;
use crate::ids::AssociationId;
use crate::path::source::is_unicast;
use crate::state::State;
use crate::time::Time;

/// The facts of a packet that decide what happens to it as a whole.
struct Survey<'a> {
    first: Option<ChunkType>,
    chunks: usize,
    init: Option<Chunk<'a>>,
    cookie: Option<&'a [u8]>,
    abort: Option<bool>,
    /// There is an ABORT, well-formed or not.
    has_abort: bool,
    shutdown_complete: Option<bool>,
    shutdown_ack: bool,
    /// INIT ACK or SHUTDOWN COMPLETE.
    loner: bool,
    /// The Initiate Tag of an INIT ACK.
    init_ack: Option<VerificationTag>,
    silent: bool,
    /// There is an AUTH chunk.
    auth: bool,
}

fn survey<'a>(packet: &Packet<'a>) -> Survey<'a> {
    let mut survey = Survey {
        first: None,
        chunks: 0,
        init: None,
        cookie: None,
        abort: None,
        has_abort: false,
        shutdown_complete: None,
        shutdown_ack: false,
        loner: false,
        init_ack: None,
        silent: false,
        auth: false,
    };
    for raw in packet.chunks() {
        survey.has_abort |= is_abort(&raw);
        let Ok(raw) = raw else { break };
        //= RFC 4895 6.3-11 6.3-12 6.3-13 6.3-14
        // RFC 4895 §6.3: what is decided here is "based on the packet without taking the AUTH chunk into account".
        if raw.chunk_type == ChunkType::AUTH {
            survey.auth = true;
            continue;
        }
        survey.first.get_or_insert(raw.chunk_type);
        survey.chunks += 1;
        // Data and unknown chunks say nothing here; their contents are parsed later, once.
        if matches!(
            raw.chunk_type,
            ChunkType::DATA | ChunkType::I_DATA | ChunkType::SACK | ChunkType::NR_SACK
        ) {
            continue;
        }
        survey.loner |=
            matches!(raw.chunk_type, ChunkType::INIT_ACK | ChunkType::SHUTDOWN_COMPLETE);
        match Chunk::parse(raw) {
            Ok(chunk @ Chunk::Init(_)) => survey.init = Some(chunk),
            Ok(Chunk::InitAck(init)) => survey.init_ack = Some(init.initiate_tag),
            Ok(Chunk::CookieEcho(echo)) if survey.chunks == 1 => survey.cookie = Some(echo.cookie),
            Ok(Chunk::Abort(abort)) => {
                survey.abort.get_or_insert(abort.tag_reflected);
            }
            Ok(Chunk::ShutdownComplete(c)) => survey.shutdown_complete = Some(c.tag_reflected),
            Ok(Chunk::ShutdownAck) => survey.shutdown_ack = true,
            Ok(Chunk::CookieAck) => survey.silent = true,
            Ok(Chunk::Error(error)) => survey.silent |= has_stale_cookie(error.causes),
            _ => {}
        }
    }
    survey
}

fn is_abort(raw: &Result<RawChunk<'_>, ChunkError>) -> bool {
    match raw {
        Ok(RawChunk { chunk_type, .. })
        | Err(
            ChunkError::LengthTooSmall { chunk_type, .. }
            | ChunkError::LengthBeyondEnd { chunk_type, .. },
        ) => *chunk_type == ChunkType::ABORT,
        Err(_) => false,
    }
}

fn has_stale_cookie(causes: Causes<'_>) -> bool {
    causes
        .iter()
        .map_while(Result::ok)
        .any(|raw| matches!(Cause::parse(raw), Ok(Cause::StaleCookie { .. })))
}

impl Endpoint {
    /// Who answers strangers, and what it works with.
    fn desk(&mut self, now: Time) -> (&mut Greeter, Desk<'_>) {
        let Endpoint { ports, roll, numbers, greeter, replies, stats } = self;
        (greeter, Desk { now, ports, roll, numbers, replies, stats })
    }

    pub(super) fn route(&mut self, now: Time, datagram: &Datagram) {
        let unicast = is_unicast(datagram.source) && is_unicast(datagram.destination);
        let packet = match self.verify(datagram) {
            Ok(packet) => packet,
            Err(error) => {
                let zero = matches!(error, PacketError::Checksum { received: 0, .. });
                self.stats.zero_checksums_refused += u64::from(zero);
                self.stats.invalid_packets += 1;
                if matches!(error, PacketError::Checksum { .. }) && unicast {
                    drops::report(&mut self.roll, &self.ports, now, datagram);
                }
                return;
            }
        };
        let header = packet.header();
        let foreign = self.ports.get(header.destination_port).is_none();
        if !unicast || (foreign && datagram.encapsulation.is_none()) {
            //= RFC 9260 8.4-1
            // §8.4 rule 1: to or from a non-unicast address: silently discarded. On raw IP,
            // another port is another endpoint's.
            self.stats.out_of_the_blue += 1;
            return;
        }
        let survey = survey(&packet);
        if foreign {
            self.wrong_port(datagram, header, &survey);
            return;
        }
        if survey.chunks == 0 {
            self.stats.invalid_packets += 1;
            return;
        }
        if let Some(Chunk::Init(init)) = &survey.init {
            //= RFC 9260 8.5.1-2 8.5.1-3 12.3-2
            // §8.5.1 A: the tag MUST be 0 and the INIT alone; otherwise discarded silently.
            if survey.chunks == 1 && !survey.auth && header.verification_tag.0 == 0 {
                let (greeter, mut cx) = self.desk(now);
                greeter.on_init(&mut cx, datagram, header, init.fields(), init.parameters);
            } else {
                self.stats.invalid_packets += 1;
            }
            return;
        }
        // §8.5.1 A: only an INIT has the tag 0. §6.10: INIT ACK and SHUTDOWN COMPLETE are alone.
        if header.verification_tag.0 == 0 || (survey.loner && survey.chunks > 1) {
            self.stats.invalid_packets += 1;
            return;
        }
        let id = self.roll.find(datagram, header).or_else(|| self.roll.named(header, &packet));
        //= RFC 9260 8.4-5
        // §8.4: rule 2 comes before rule 4.
        if let Some(cookie) = survey.cookie.filter(|_| !survey.has_abort) {
            let echo = (&packet, cookie);
            let (greeter, mut cx) = self.desk(now);
            let taken = greeter.on_cookie_echo(&mut cx, datagram, header, echo, id);
            let Some((id, authentic)) = taken else { return };
            // Chunks bundled behind the COOKIE ECHO are processed as usual (§5.1.5 rule 7).
            self.deliver(now, id, datagram, &packet, authentic);
            return;
        }
        match id {
            Some(id) if self.tag_is_right(id, header, &survey) => {
                let in_setup = self
                    .roll
                    .get(id)
                    .is_some_and(|a| matches!(a.state(), State::CookieWait | State::CookieEchoed));
                if survey.shutdown_ack && in_setup {
                    //= RFC 9260 8.5.1-13 9.2-23
                    // §8.5.1 E: treated as out of the blue.
                    self.out_of_the_blue(datagram, header, &survey);
                } else if survey.init_ack.is_some_and(|tag| self.roll.ends_call(id, header, tag)) {
                    self.roll.settle(now, &self.ports, id);
                } else {
                    self.deliver(now, id, datagram, &packet, false);
                }
            }
            Some(id) => {
                if survey.shutdown_ack && self.is_in_setup(id) {
                    self.out_of_the_blue(datagram, header, &survey);
                } else if let Some(a) = self.roll.get_mut(id) {
                    // §8.5: silently discarded.
                    a.journal.stats.wrong_tag += 1;
                }
            }
            //= RFC 9260 8.4-10
            // The association is known, but the address is none of the peer's. An ABORT that reflects the
            // tag would end it, although nothing is wrong with it: a host has sent from an address
            // that it did not list.
            None if self.roll.tagged(header).is_some() => self.stats.out_of_the_blue += 1,
            None => self.out_of_the_blue(datagram, header, &survey),
        }
    }

    //= RFC 9653 5.3-1 5.3-2
    /// Reads a packet, if its checksum is right, or zero where we have told the peer of its association that this will do.
    fn verify<'a>(&self, datagram: &'a Datagram) -> Result<Packet<'a>, PacketError> {
        let bytes = &datagram.packet;
        let packet = Packet::parse_unverified(bytes)?;
        let header = packet.header();
        let offered = || match self.roll.find(datagram, header).and_then(|id| self.roll.get(id)) {
            // Whether the peer sends such packets is up to it.
            Some(association) => association.config().extensions.zero_checksum,
            // RFC 9653 §5.3: "MAY also process OOTB packets having an incorrect zero checksum". Who lost our SHUTDOWN COMPLETE
            // would end in failure without.
            None => {
                let port = self.ports.get(header.destination_port);
                port.is_some_and(|port| port.association.extensions.zero_checksum)
            }
        };
        let zero = packet.received_checksum() == 0 && offered();
        // What sets up an association is for none that exists.
        if zero && !sets_up(bytes) {
            Packet::parse_zero_checksum(bytes)
        } else {
            Packet::parse(bytes)
        }
    }

    /// Behind a UDP port of ours no other endpoint can answer for this SCTP port (RFC 6951).
    fn wrong_port(&mut self, datagram: &Datagram, header: CommonHeader, survey: &Survey<'_>) {
        match &survey.init {
            Some(Chunk::Init(init)) if survey.chunks == 1 && init.initiate_tag.0 != 0 => {
                // §8.4 rule 3: ABORT with the Initiate Tag and the T bit clear.
                self.stats.out_of_the_blue += 1;
                self.replies.abort(datagram, header, init.initiate_tag, false, &[]);
            }
            Some(_) => self.stats.invalid_packets += 1,
            // §8.4 rule 4, §5.1.5: a cookie of ours is for a port that we have, so this is none.
            None if survey.cookie.is_some() => self.stats.bad_cookies += 1,
            None => self.out_of_the_blue(datagram, header, survey),
        }
    }

    fn is_in_setup(&self, id: AssociationId) -> bool {
        let state = self.roll.get(id).map(|a| a.state());
        matches!(state, Some(State::CookieWait | State::CookieEchoed))
    }

    //= RFC 9260 8.5-2 8.5-3 8.5.1-6 8.5.1-7 8.5.1-10 9.1-5
    /// §8.5 and the exceptions of §8.5.1 B and C.
    fn tag_is_right(&self, id: AssociationId, header: CommonHeader, survey: &Survey<'_>) -> bool {
        let Some(a) = self.roll.get(id) else { return false };
        let tag = header.verification_tag;
        let reflected = survey.abort.or(survey.shutdown_complete);
        match reflected {
            // ABORT and SHUTDOWN COMPLETE: with the T bit, the tag is the one that we send.
            // What stands before that chunk would need our own tag.
            Some(true) => {
                matches!(survey.first, Some(ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE))
                    && a.identity().peer_tag != VerificationTag(0)
                    && tag == a.identity().peer_tag
            }
            _ => tag == a.identity().local_tag,
        }
    }

    /// Whether what follows an AUTH chunk was found to be `authentic` already.
    fn deliver(
        &mut self,
        now: Time,
        id: AssociationId,
        datagram: &Datagram,
        packet: &Packet<'_>,
        authentic: bool,
    ) {
        self.roll.deliver(now, &self.ports, id, |a| {
            a.handle_packet(now, datagram, packet, authentic);
        });
    }

    /// §8.4, rules 2 to 8; INIT and COOKIE ECHO were handled before.
    fn out_of_the_blue(&mut self, datagram: &Datagram, header: CommonHeader, survey: &Survey<'_>) {
        self.stats.out_of_the_blue += 1;
        //= RFC 9260 3.3.7-3 3.3.7-4 8.4-2 8.4-8 8.4-9 9.1-4
        // Rule 2: a packet with ABORT; rule 6: SHUTDOWN COMPLETE; rule 7: Stale Cookie, COOKIE ACK.
        // §3.3.7: "under any circumstances, an endpoint that receives an ABORT chunk MUST NOT respond
        // to that ABORT chunk by sending an ABORT chunk of its own", malformed as it may be.
        let silent = survey.shutdown_complete.is_some() || survey.silent;
        if survey.has_abort {
            return;
        }
        if survey.shutdown_ack {
            // Rule 5 comes before rules 6 and 7.
            self.replies.shutdown_complete(datagram, header);
        } else if !silent {
            //= RFC 9260 6-3 6-6 8.4-12
            // Rule 8.
            self.replies.abort(datagram, header, header.verification_tag, true, &[]);
        }
    }
}
