//! The responder's half of the handshake: INIT and COOKIE ECHO (RFC 9260 §5.1, §5.2).

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::{CauseWriter, CommonHeader, InitFields, Packet, ParameterWriter, Parameters};

use super::claims::RequestRates;
use super::cookie::{Cookie, CookieKeys};
use super::desk::Desk;
use super::echo::admits_echo;
use super::init_ack::{InitAckAnswer, init_ack_parameters};
use super::reply::room;
use super::rival::Rival;
use crate::association::{Association, Blueprint};
use crate::config::AssociationConfig;
use crate::datagram::Datagram;
use crate::handshake::{InitRefusal, PeerInit, read_init};
use crate::ids::AssociationId;
use crate::profile::LimitParameters;
use crate::rng::Rng;
use crate::state::State;

/// Who answers INIT and COOKIE ECHO. It keeps no state for those who send them, but how often
/// their addresses ask.
#[derive(Debug)]
pub(super) struct Greeter {
    keys: CookieKeys,
    requests: RequestRates,
}

impl Greeter {
    pub(super) fn new(rng: &mut Rng) -> Greeter {
        Greeter { keys: CookieKeys::new(rng), requests: RequestRates::new(rng) }
    }

    //= RFC 9260 3.3.2-4 5.1-6
    /// INIT. Nothing is kept: all that matters goes into the cookie.
    pub(super) fn on_init(
        &mut self,
        cx: &mut Desk<'_>,
        datagram: &Datagram,
        header: CommonHeader,
        fields: InitFields,
        parameters: Parameters<'_>,
    ) {
        // Before anything is looked at: a flood is to cost little.
        if !self.admits_init(cx, datagram.source, header.destination_port) {
            return;
        }
        let mut init = match read_init(fields, parameters, datagram.source) {
            Ok(init) => init,
            //= RFC 9260 3.3.2-7
            // §3.3.2: "the receiver MUST silently discard the packet".
            Err(InitRefusal::ZeroTag) => {
                cx.stats.invalid_packets += 1;
                return;
            }
            //= RFC 9260 5.1-15 5.1-16 5.1-17
            Err(refusal) => {
                let causes = match refusal {
                    InitRefusal::Abort(causes) => causes,
                    _ => CauseWriter::new().invalid_mandatory_parameter().finish(),
                };
                cx.replies.abort(datagram, header, fields.initiate_tag, false, &causes);
                return;
            }
        };
        let known = cx
            .roll
            .called(header, init.peer.tag)
            .or_else(|| cx.roll.find_any(&init.peer.addresses, datagram, header));
        let answer = match known {
            None if cx.roll.called_elsewhere(header, init.peer.tag) => None,
            Some(id) => answer_known(cx, id, datagram, header, &mut init),
            None => match cx.roll.rival(cx.now, cx.ports, datagram, header) {
                Rival::Nobody => answer_stranger(cx, datagram, header, &mut init),
                Rival::Unknown => None,
                Rival::Restarted(id) => answer_known(cx, id, datagram, header, &mut init),
            },
        };
        if let Some(mut answer) = answer {
            answer.addresses.retain(|a| init.families.include(*a));
            if let Err(InitRefusal::Abort(causes)) = init.settle(&answer.config) {
                cx.replies.abort(datagram, header, fields.initiate_tag, false, &causes);
                return;
            }
            // Who has offered nothing needs no answer to it.
            answer.offer = answer.offer.filter(|_| init.peer.offer.is_some());
            //= RFC 9260 3.3.3-11
            // §3.3.3: OS "MUST NOT be greater than the MIS value sent in the INIT chunk".
            let streams = &mut answer.fields.outbound_streams;
            *streams = init.peer.inbound_streams.min(*streams);
            self.send_init_ack(cx, datagram, header, init, &answer);
        }
    }

    fn send_init_ack(
        &mut self,
        cx: &mut Desk<'_>,
        datagram: &Datagram,
        header: CommonHeader,
        init: PeerInit<'_>,
        answer: &InitAckAnswer,
    ) {
        let Some(port) = cx.ports.get(header.destination_port) else { return };
        let life = answer.config.profile.limits.cookie_life();
        // A longer life makes replay easier: it is at most doubled.
        let extension = Duration::from_millis(u64::from(init.preservative_ms));
        let life = (life + extension).min(port.longest_cookie_life());
        let peer_tag = init.peer.tag;
        let agreed = answer.config.extensions.and(init.peer.extensions.chosen);
        let cookie = Cookie {
            local_port: header.destination_port,
            remote_port: header.source_port,
            local_tag: answer.fields.initiate_tag,
            local_tie_tag: answer.tie_tags.0,
            peer_tie_tag: answer.tie_tags.1,
            initial_tsn: answer.fields.initial_tsn,
            peer: init.peer,
            offer: answer.offer.clone(),
            outbound_streams: answer.fields.outbound_streams,
            inbound_streams: answer.fields.inbound_streams,
            created: cx.now,
            life,
        };
        let sealed = self.keys.seal(cx.now, cx.numbers.rng(), &cookie);
        cx.stats.inits_answered += 1;
        let room = room(datagram, answer.to);
        let parameters = init_ack_parameters(&sealed, answer, &init.report, room);
        // Of the packet that is answered only the addresses matter.
        let packet = bytes::Bytes::new();
        let to = Datagram { source: answer.to, destination: answer.from, packet, ..*datagram };
        let chunk = (&answer.fields, &parameters[..]);
        let how = (answer.config.labels, agreed.zero_checksum);
        cx.replies.init_ack(&to, room, header, peer_tag, chunk, how);
    }

    /// COOKIE ECHO (§5.1.5, §5.2.4) of a packet. Returns the association that the rest of it is for, and whether that was
    /// found to be authentic already.
    pub(super) fn on_cookie_echo(
        &mut self,
        cx: &mut Desk<'_>,
        datagram: &Datagram,
        header: CommonHeader,
        (packet, sealed): (&Packet<'_>, &[u8]),
        known: Option<AssociationId>,
    ) -> Option<(AssociationId, bool)> {
        //= RFC 9260 4-1 5.1.5-2 5.1.5-3
        // Rules 1 to 3: authentic, and for these ports, this tag and this host.
        let cookie = self.keys.open(sealed).filter(|c| {
            c.local_port == header.destination_port
                && c.remote_port == header.source_port
                && c.local_tag == header.verification_tag
                && (c.peer.addresses.contains(&datagram.source) || c.peer.omitted)
        });
        let Some(cookie) = cookie else {
            cx.stats.bad_cookies += 1;
            return None;
        };
        let known = known
            .or_else(|| cx.roll.called(header, cookie.peer.tag))
            .or_else(|| cx.roll.find_any(&cookie.peer.addresses, datagram, header))
            .or_else(|| cx.roll.restarted_elsewhere(datagram, header, &cookie));
        let tags = known.and_then(|id| cx.roll.get(id)).map(|a| {
            (a.identity().local_tag == cookie.local_tag, a.identity().peer_tag == cookie.peer.tag)
        });
        let authentic = admits_echo(cx, packet, &cookie, known)?;
        //= RFC 9260 4-2 5.1.5-4 5.2.4-1 5.2.4-2
        // Rule 4, §5.2.4 rule 3: stale, unless both tags match.
        if let Some(staleness) = cookie.staleness(cx.now).filter(|_| tags != Some((true, true))) {
            cx.stats.stale_cookies += 1;
            // §3.3.10.3: rounded up in microseconds.
            let micros = staleness.as_nanos().div_ceil(1000);
            let micros = u32::try_from(micros).unwrap_or(u32::MAX);
            let causes = CauseWriter::new().stale_cookie(micros).finish();
            cx.replies.error(datagram, header, cookie.peer.tag, &causes);
            return None;
        }
        let id = match (known, tags) {
            // C: the peer has left this tag behind, by a restart, since the cookie was made.
            (Some(_), Some((_, false))) if cx.roll.is_over(cx.now, &cookie) => None,
            (Some(id), Some(tags)) => self.cookie_for_known(cx, datagram, &cookie, id, tags),
            _ if cx.roll.is_over(cx.now, &cookie) => {
                // §5.3.1: a new tag MUST be used each time an association is reestablished. This
                // one is over, so the packet is out of the blue (§8.4 rule 8).
                cx.stats.out_of_the_blue += 1;
                cx.replies.abort(datagram, header, header.verification_tag, true, &[]);
                None
            }
            // C, in another shard of this endpoint.
            _ if cx.roll.called_elsewhere(header, cookie.peer.tag) => None,
            // It was made by an association that another host has joined since.
            _ if cx.roll.tagged(header).is_some() => None,
            _ => open_association(cx, datagram, header, &cookie),
        };
        id.map(|id| (id, authentic))
    }

    //= RFC 9260 5.1.5-8 5.2.4-3 5.2.4-7 5.2.4-8 5.2.4-9 5.2.4-10
    /// Table 12.
    fn cookie_for_known(
        &mut self,
        cx: &mut Desk<'_>,
        datagram: &Datagram,
        cookie: &Cookie,
        id: AssociationId,
        tags: (bool, bool),
    ) -> Option<AssociationId> {
        let a = cx.roll.get_mut(id)?;
        let before = a.identity();
        let (source, local) = (datagram.source, datagram.destination);
        let ties = cookie.local_tie_tag == a.identity().local_tie_tag
            && cookie.peer_tie_tag == a.identity().peer_tie_tag;
        // Table 12 takes this for B, where the tag of the peer is all that changes. But its TSNs
        // begin again too, so it is a restart.
        let reborn = tags.0 && a.is_from_another_life(&cookie.accepted());
        match tags {
            // B, but from a life of the peer that was over when it brought another cookie.
            (true, false) if a.origin().has_newer_cookie(cookie.created) => return None,
            // B and D
            (true, _) if !reborn => a.on_matching_cookie(cx.now, &cookie.accepted(), source, local),
            // A
            (_, false) if reborn || (ties && !tags.0) => {
                if a.state() == State::ShutdownAckSent {
                    a.refuse_restart(&cookie.accepted(), source);
                    cx.roll.settle(cx.now, cx.ports, id);
                    return None;
                }
                let rate = a.config().profile.limits.restarts_per_source;
                if !self.admits_restart(cx, source, rate) {
                    return None;
                }
                cx.roll.restart(cx.now, id, &cookie.accepted(), (source, local));
            }
            // C: "The cookie SHOULD be silently discarded".
            (false, true) => {
                a.echo_cookie_to(cx.now, &cookie.accepted(), source, local);
                cx.roll.settle(cx.now, cx.ports, id);
                return None;
            }
            // Everything that the table does not show.
            _ => return None,
        }
        if before.peer_tag != cookie.peer.tag {
            cx.roll.remember(cx.now, cx.ports, before);
        }
        Some(id)
    }

    /// Whether an INIT from this address to this port is answered.
    fn admits_init(&mut self, cx: &mut Desk<'_>, address: IpAddr, port: u16) -> bool {
        let Some(port) = cx.ports.get(port) else { return true };
        let rate = cx.numbers.share_of(port.association.profile.limits.inits_per_source);
        let admitted = self.requests.admit_init(cx.now, address, rate);
        cx.stats.inits_limited += u64::from(!admitted);
        admitted
    }

    /// Whether a peer at this address may restart an association.
    fn admits_restart(&mut self, cx: &mut Desk<'_>, address: IpAddr, rate: u32) -> bool {
        let rate = cx.numbers.share_of(rate);
        let admitted = self.requests.admit_restart(cx.now, address, rate);
        cx.stats.restarts_limited += u64::from(!admitted);
        admitted
    }
}

/// Whether a peer at this address, which a cookie has confirmed, may open one more association.
fn admits_association(cx: &Desk<'_>, address: IpAddr, limits: &LimitParameters) -> bool {
    let most = cx.numbers.share_of(limits.associations_per_source);
    most == 0 || cx.roll.claimed_by(address) < most
}

//= RFC 9260 5.2.2-10
fn answer_stranger(
    cx: &mut Desk<'_>,
    datagram: &Datagram,
    header: CommonHeader,
    init: &mut PeerInit<'_>,
) -> Option<InitAckAnswer> {
    let full = !cx.roll.has_room();
    let port = cx.ports.get(header.destination_port);
    let port = port.filter(|port| port.accepts(datagram.source, header.source_port) && !full);
    let Some(port) = port else {
        //= RFC 9260 8.4-3 8.4-4
        // §8.4 rule 3: ABORT with the Initiate Tag and the T bit clear.
        let causes = if full { CauseWriter::new().out_of_resource().finish() } else { Vec::new() };
        cx.stats.refused += 1;
        cx.replies.abort(datagram, header, init.peer.tag, false, &causes);
        return None;
    };
    let families = port.families_for(datagram.source);
    let config = AssociationConfig { families, ..port.association.clone() };
    let bound = port.local_addresses.clone();
    let sources = cx.ports.sources(&bound, &init.peer.addresses, datagram.destination, families);
    let usable = sources.usable_peers(&init.peer.addresses);
    init.peer.omitted |= usable.len() < init.peer.addresses.len();
    init.peer.addresses = usable;
    let AssociationConfig { receive_buffer, outbound_streams, inbound_streams, .. } = config;
    let fields = InitFields {
        initiate_tag: cx.numbers.fresh_tag(cx.roll.index()),
        a_rwnd: cx.roll.allowance().window(receive_buffer),
        outbound_streams,
        inbound_streams,
        initial_tsn: cx.numbers.fresh_tsn(),
    };
    let (to, from) = (datagram.source, datagram.destination);
    let addresses = sources.told(to, Some(from));
    let offer = cx.numbers.fresh_offer(&config);
    Some(InitAckAnswer { fields, tie_tags: (0, 0), addresses, config, to, from, offer })
}

/// An INIT for an association that exists (§5.2.1, §5.2.2, §9.2).
fn answer_known(
    cx: &mut Desk<'_>,
    id: AssociationId,
    datagram: &Datagram,
    header: CommonHeader,
    init: &mut PeerInit<'_>,
) -> Option<InitAckAnswer> {
    let a = cx.roll.get_mut(id)?;
    // Its tag shows that the peer has not restarted, and whose addresses these are.
    let same = a.identity().peer_tag == init.peer.tag;
    if a.addresses().are_omitted() && !same {
        // It had more addresses than are remembered: they are no new ones, and left out again.
        a.paths().find(datagram.source)?;
        init.peer.addresses.retain(|x| a.paths().find(*x).is_some());
        init.peer.omitted = true;
    }
    let added: Vec<IpAddr> =
        init.peer.addresses.iter().copied().filter(|x| a.paths().find(*x).is_none()).collect();
    let tie_tags = (a.identity().local_tie_tag, a.identity().peer_tie_tag);
    // §5.2.1, §5.2.2: the parameters of the association, whatever those of the port are by now. But a
    // peer that calls an address which it was not told of would take that one for the only one.
    let mut sources = a.addresses().sources().clone();
    sources.learn(datagram.destination);
    let answer = InitAckAnswer {
        fields: a.init_fields(),
        tie_tags,
        addresses: sources.told(datagram.source, Some(datagram.destination)),
        config: a.config().clone(),
        to: datagram.source,
        from: datagram.destination,
        offer: a.authenticator().offer(),
    };
    match a.state() {
        //= RFC 9260 5.2.1-1 5.2.1-2 5.2.1-3 5.2.1-4 5.2.1-5 5.2.1-6 5.2.1-10 5.2.1-11 5.2.1-12
        // §5.2.1 rules 1 to 3: the INIT ACK goes only to an address that the upper layer gave and the
        // INIT reports; to the source of the INIT, if that is one.
        State::CookieWait => {
            let called = |x: &&IpAddr| a.paths().find(**x).is_some();
            let mut called = init.peer.addresses.iter().filter(called);
            let first = *called.next()?;
            // Of several, the one that is our INIT's turn: not each of them may be reached.
            let turn = called.copied().find(|x| *x == a.calls());
            let to = turn.filter(|_| first != datagram.source).unwrap_or(first);
            // §5.4 rule 2: the first one is confirmed, for there the INIT ACK goes.
            init.peer.addresses.sort_by_key(|x| *x != to);
            // To another address than the INIT came from it leaves from where our own INIT does, whose
            // turn that is, too: the address at which the INIT arrived may have no way there, or be of
            // another family. §5.1.2: what the INIT ACK does not list is what its own addresses show.
            let ours = a.paths().find(to).and_then(|path| a.paths()[path].address.local());
            let from = ours.filter(|_| to != datagram.source).unwrap_or(answer.from);
            let addresses = sources.told(to, Some(from));
            return Some(InitAckAnswer { tie_tags: (0, 0), addresses, to, from, ..answer });
        }
        State::CookieEchoed if added.is_empty() || same => return Some(answer),
        //= RFC 9260 9.2-22
        // §9.2: discard the INIT and send SHUTDOWN ACK again.
        State::ShutdownAckSent => {
            a.resend_shutdown_ack();
            cx.roll.settle(cx.now, cx.ports, id);
            return None;
        }
        _ if added.is_empty() => {}
        // It was under way for long: an ABORT would end the association that came of it.
        _ if same => return None,
        //= RFC 9260 5.2.1-7 5.2.1-8 5.2.1-9 5.2.2-2 5.2.2-3 5.2.2-4
        // §5.2.2: new addresses could hijack the association.
        _ => {
            let mut list = ParameterWriter::new();
            for address in added {
                match address {
                    IpAddr::V4(x) => list.ipv4(x),
                    IpAddr::V6(x) => list.ipv6(x),
                };
            }
            let causes = CauseWriter::new().restart_with_new_addresses(&list.finish()).finish();
            cx.replies.abort(datagram, header, init.peer.tag, false, &causes);
            return None;
        }
    }
    //= RFC 9260 5.2.2-1 5.2.2-5 5.2.2-6 5.2.2-7 5.2.2-8 5.2.2-9
    // §5.2.2: a new tag, the other parameters from the existing association.
    let (initiate_tag, initial_tsn) =
        (cx.numbers.fresh_tag(cx.roll.index()), cx.numbers.fresh_tsn());
    let offer = cx.numbers.fresh_offer(&answer.config);
    let fields = InitFields { initiate_tag, initial_tsn, ..answer.fields };
    Some(InitAckAnswer { fields, offer, ..answer })
}

fn open_association(
    cx: &mut Desk<'_>,
    datagram: &Datagram,
    header: CommonHeader,
    cookie: &Cookie,
) -> Option<AssociationId> {
    let full = !cx.roll.has_room();
    let port = cx.ports.get(cookie.local_port);
    // §5.4 rule 2: the INIT ACK with this cookie went there, so the peer is there.
    let confirmed = cookie.peer.addresses.first().copied().unwrap_or(datagram.source);
    let port = port.filter(|port| {
        let limits = &port.association.profile.limits;
        port.accepts(datagram.source, header.source_port)
            && !full
            && admits_association(cx, confirmed, limits)
    });
    let Some(port) = port else {
        let causes = CauseWriter::new().out_of_resource().finish();
        cx.stats.refused += 1;
        cx.replies.abort(datagram, header, cookie.peer.tag, false, &causes);
        return None;
    };
    let families = port.families_for(confirmed);
    let config = AssociationConfig {
        encapsulation: datagram.encapsulation,
        families,
        outbound_streams: cookie.outbound_streams,
        inbound_streams: cookie.inbound_streams,
        ..port.association.clone()
    };
    let bound = port.local_addresses.clone();
    let sources = cx.ports.sources(&bound, &cookie.peer.addresses, datagram.destination, families);
    let blueprint = Blueprint {
        local_port: cookie.local_port,
        remote_port: cookie.remote_port,
        local_tag: cookie.local_tag,
        initial_tsn: cookie.initial_tsn,
        sources,
        config,
        rng: cx.numbers.fork_rng(),
    };
    let a = Association::accept(
        cx.now,
        blueprint,
        &cookie.accepted(),
        datagram.source,
        datagram.destination,
    );
    Some(cx.roll.accept(a, confirmed))
}

#[cfg(test)]
impl Greeter {
    /// Those that it seals cookies with.
    pub(super) const fn keys(&self) -> &CookieKeys {
        &self.keys
    }

    pub(super) const fn keys_mut(&mut self) -> &mut CookieKeys {
        &mut self.keys
    }
}
