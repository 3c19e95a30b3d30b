//! Setting up: INIT and INIT ACK, the timers T1, and what is taken over from the peer (RFC 9260 §5.1). What cookies
//! bring is in `cookie.rs`.

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::{CauseWriter, ChunkType, InitFields, ParameterType, ParameterWriter};

use super::addresses::source_beside;
use super::asconf::AddressChanges;
use super::incoming::PacketInHand;
use super::opening::{EchoedCookie, Opening};
use super::reconfiguration::Reconfiguration;
use super::{Abort, AcceptedCookie, Association, Blueprint, Control, Paths, Phase};
use crate::event::{CloseReason, Event};
use crate::handshake::{Capabilities, InitRefusal, PeerInit, PeerParameters, read_init};
use crate::ids::{LossCause, PathId};
use crate::path::{DOUBTED_AFTER, Path};
use crate::time::Time;

/// Bytes of a packet with an INIT that has no parameters (RFC 9260 §3.1, §3.3.2).
const INIT_LEN: usize = 12 + 20;

impl Association {
    /// The initiator: sends INIT (RFC 9260 §5.1 A).
    pub(crate) fn connect(now: Time, blueprint: Blueprint, remotes: &[IpAddr]) -> Association {
        let config = blueprint.config.clone();
        let sources = &blueprint.sources;
        let make = |id: PathId, remote: IpAddr, others: &[Path]| {
            let local = source_beside(sources, remote, &others.iter());
            let mut path = Path::new(id, remote, local, config.encapsulation, &config);
            // §5.4 rule 1: addresses given by the upper layer are confirmed.
            path.reachability.confirm();
            path
        };
        // Where no packet of ours could go there is no path, unless there would be none at all.
        let reached = |r: &IpAddr| sources.reach(*r) || sources.reach_unseen(*r);
        let remotes: Vec<IpAddr> = match remotes.iter().any(reached) {
            true => remotes.iter().copied().filter(reached).collect(),
            false => remotes.to_vec(),
        };
        let mut paths = Paths::new(make(PathId(0), remotes[0], &[]));
        paths.become_those_to(&remotes, make);
        let mut association = Association::new(blueprint, paths);
        let Association { extras, config, rng, .. } = &mut association;
        extras.authenticator.make_offer(config, rng);
        association.send_init(now, Opening::default());
        association
    }

    /// The responder: a valid COOKIE ECHO arrived from `source` (RFC 9260 §5.1 D).
    pub(crate) fn accept(
        now: Time,
        blueprint: Blueprint,
        cookie: &AcceptedCookie,
        source: IpAddr,
        local: IpAddr,
    ) -> Association {
        let config = blueprint.config.clone();
        // §5.4 rule 2: confirmed is only the address that the INIT ACK was sent to.
        let confirmed = cookie.peer.addresses.first().copied().unwrap_or(source);
        let mut first = Path::new(PathId(0), confirmed, None, config.encapsulation, &config);
        first.reachability.confirm();
        let mut association = Association::new(blueprint, Paths::new(first));
        association.origin.accept(cookie);
        let Association { monitor, paths, extras, .. } = &mut association;
        monitor.addresses_mut().learn(paths, PathId(0), source, local);
        extras.authenticator.take_offer(cookie.offer.as_deref());
        association.adopt_peer(&cookie.peer);
        association.establish(now, false);
        let path = association.paths.find(source).unwrap_or_default();
        association.send_cookie_ack(now, path, local);
        association
    }

    /// The peer's address that our INIT goes to at present.
    pub(crate) fn calls(&self) -> IpAddr {
        self.paths[self.origin.path()].address.remote()
    }

    pub(super) fn send_init(&mut self, now: Time, opening: Opening) {
        self.phase = Phase::CookieWait(opening.sent(now));
        self.outbox.push(&self.paths, self.origin.path(), Control::Init);
        self.start_t1(now);
    }

    /// Starts T1-init or T1-cookie.
    fn start_t1(&mut self, now: Time) {
        let path = self.origin.path();
        let rto = self.init_rto(path);
        let (mut cx, parts) = self.parts(now);
        if let Some(opening) = parts.phase.opening_mut() {
            opening.repeat_at(cx.expires_again(path, rto));
        }
    }

    /// The RTO of T1-init and T1-cookie. RFC 6458 §8.1.3: sinit_max_init_timeo is "the largest timeout or
    /// RTO value (in milliseconds) to use in attempting an INIT".
    fn init_rto(&self, path: PathId) -> Duration {
        let rto = self.paths[path].rto();
        self.config.profile.limits.max_init_rto().map_or(rto, |most| rto.min(most))
    }

    /// The INIT chunk, the same at each retransmission.
    pub(super) fn init_chunk(&self) -> (InitFields, Vec<u8>) {
        let mut writer = ParameterWriter::new();
        let told = self.addresses().sources().told(self.paths[PathId(0)].address.remote(), None);
        let offer = self.authenticator().offer();
        PeerParameters::write_ours(&told, &self.config, offer.as_deref(), &mut writer);
        PeerParameters::write_preference(&told, &self.config, usize::MAX, &mut writer);
        // RFC 9260 §3.3.2, note 4: without Supported Address Types we can support any address type, and
        // so we do. Some peers refuse an INIT that has this parameter.
        let preservative_ms = self.phase.opening().map_or(0, Opening::preservative_ms);
        if preservative_ms > 0 {
            writer.cookie_preservative(preservative_ms);
        }
        //= RFC 4820 4-2
        // RFC 4820 §4: "The receiver of the parameter MUST silently discard this parameter".
        let missing = self.config.init_size.saturating_sub(INIT_LEN + writer.len());
        if missing > 0 {
            writer.padding(missing);
        }
        (self.init_fields(), writer.finish())
    }

    //= RFC 9260 5.1.1-1
    /// What we say of ourselves in INIT, and in INIT ACK after a collision (§5.2.1).
    pub(crate) fn init_fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.identity.local_tag,
            a_rwnd: self.config.receive_buffer,
            outbound_streams: self.config.outbound_streams,
            inbound_streams: self.config.inbound_streams,
            initial_tsn: self.origin.initial_tsn(),
        }
    }

    //= RFC 9260 4-3 4-4 4-5 4-6 4-7 4-8 5.1.4-3
    /// T1-init or T1-cookie expired (§5.1.6, §5.1.4).
    pub(super) fn on_t1(&mut self, now: Time) {
        // Who asked for a ceiling means this many attempts of that length.
        let ceiling = self.config.profile.limits.max_init_rto().is_some();
        let path = self.origin.path();
        let (mut cx, parts) = self.parts(now);
        let Some(opening) = parts.phase.opening_mut() else { return };
        let mut sending = cx.sending();
        let later = parts.halves.sender.put_off_control(&sending, path);
        if let Some(at) = later.filter(|_| !ceiling) {
            opening.repeat_at(at);
            return;
        }
        let counts = sending.is_error() || ceiling;
        let attempts = opening.on_t1(counts);
        if attempts > cx.profile().limits.max_init_retransmits {
            self.close(CloseReason::SetupFailed);
            return;
        }
        //= RFC 9260 5.1-12 5.1.6-1
        let profile = cx.profile();
        cx.paths[path].rtt.back_off(profile);
        // What has answered our INIT may be gone: one packet can be lost, two are a reason to try others.
        if attempts >= DOUBTED_AFTER {
            cx.paths[path].address.doubt();
        }
        parts.monitor.doubt(&mut cx, path, now);
        //= RFC 9260 5.1-14
        // §5.1: retransmissions of INIT and COOKIE ECHO SHOULD use all addresses of the peer.
        let path = cx.paths.alternate(path);
        parts.origin.call(path);
        if let Phase::CookieEchoed(_, echo) = parts.phase {
            echo.repeat(now);
            // DATA that was bundled with the lost COOKIE ECHO goes with the next one.
            parts.halves.sender.lose_all(&mut cx.sending(), LossCause::Timeout);
            if attempts > 1 {
                parts.monitor.echo_unconfirmed(&mut cx, echo.memory());
            }
            cx.push(path, Control::CookieEcho);
        } else {
            cx.push(path, Control::Init);
        }
        let rto = self.init_rto(path);
        let (mut cx, parts) = self.parts(now);
        if let Some(opening) = parts.phase.opening_mut() {
            opening.repeat_at(now + cx.sending().start_wait(path, rto));
        }
    }

    /// INIT ACK (§5.1 C), already checked to carry our tag.
    pub(super) fn on_init_ack(
        &mut self,
        now: Time,
        fields: InitFields,
        parameters: tresse_wire::Parameters<'_>,
        incoming: &PacketInHand<'_>,
    ) {
        //= RFC 9260 3.3.3-7 3.3.3-13 3.3.3-16 5.2.3-1
        // §5.2.3: in any state other than COOKIE-WAIT it SHOULD be discarded.
        let Phase::CookieWait(opening) = &self.phase else { return };
        let opening = *opening;
        let source = incoming.source();
        let mut init = match read_init(fields, parameters, source) {
            Ok(init) => init,
            Err(refusal) => {
                self.refuse_init_ack(incoming.path(), fields, refusal, "unusable INIT ACK");
                return;
            }
        };
        if let Err(refusal) = init.settle(&self.config) {
            self.refuse_init_ack(
                incoming.path(),
                fields,
                refusal,
                "INIT ACK without authentication",
            );
            return;
        }
        let PeerInit { peer, cookie, report, .. } = init;
        let Some(cookie) = cookie else {
            let types = [ParameterType::STATE_COOKIE];
            let causes = CauseWriter::new().missing_mandatory_parameter(&types).finish();
            let refusal = InitRefusal::Abort(causes);
            self.refuse_init_ack(incoming.path(), fields, refusal, "INIT ACK without cookie");
            return;
        };
        if let Some(sent) = opening.sample() {
            self.sample_setup(now, sent);
        }
        //= RFC 9260 3.2.2-2 3.3.11-2
        // §3.2.2: what is not recognised is reported in an ERROR chunk bundled with the COOKIE ECHO.
        let error = (!report.is_empty())
            .then(|| CauseWriter::new().unrecognized_parameters(&report).finish());
        let echo = EchoedCookie::new(now, cookie, error);
        // §5.1: it was sent to the address that our INIT came from.
        self.monitor.addresses_mut().sources_mut().learn(incoming.local());
        self.adopt_peer(&peer);
        //= RFC 9260 5.4-5 5.4-6
        if let Some(path) = self.paths.find(source) {
            // An uncalled address may answer, for one that is none of the peer's: then it must do.
            let alone = self.paths.iter().all(|p| !p.is_confirmed());
            if alone {
                self.paths[path].reachability.confirm();
            }
            if self.paths[path].is_confirmed() {
                self.origin.call(path);
                let addresses = self.monitor.addresses_mut();
                addresses.learn(&mut self.paths, path, source, incoming.local());
            }
        }
        //= RFC 9260 3.3.3-19 5.1.4-1 5.1.4-2
        self.phase = Phase::CookieEchoed(opening.answered(now), echo);
        self.outbox.clear();
        self.outbox.push(&self.paths, self.origin.path(), Control::CookieEcho);
        self.start_t1(now);
        self.paths.begin_opportunity(&self.config.profile);
    }

    //= RFC 9260 5.1-15 5.1-16 5.1-17
    /// Answers an INIT ACK that cannot be used with ABORT, and gives up where that is asked for.
    fn refuse_init_ack(
        &mut self,
        path: PathId,
        fields: InitFields,
        refusal: InitRefusal,
        what: &'static str,
    ) {
        let (tag, fatal) = (fields.initiate_tag, refusal != InitRefusal::SmallWindow);
        let abort = match refusal {
            //= RFC 9260 3.3.3-6
            // §3.3.3: with an Initiate Tag of 0, "it MUST destroy the TCB and SHOULD send an ABORT
            // chunk with the T bit set".
            InitRefusal::ZeroTag => {
                Abort { tag: self.identity.local_tag, reflected: true, causes: Vec::new() }
            }
            //= RFC 9260 3.3.3-9
            // §3.3.3: a small a_rwnd "MUST NOT change the state of any existing association".
            InitRefusal::SmallWindow => {
                let causes = CauseWriter::new().invalid_mandatory_parameter().finish();
                Abort { tag, reflected: false, causes }
            }
            // §5.1: the tag is the Initiate Tag of the INIT ACK.
            InitRefusal::Abort(causes) => Abort { tag, reflected: false, causes },
        };
        self.outbox.push(&self.paths, path, Control::Abort(abort));
        if fatal {
            self.close(CloseReason::ProtocolViolation(what));
        }
    }

    /// Takes over tag, TSN, window, streams and addresses of the peer.
    pub(super) fn adopt_peer(&mut self, peer: &PeerParameters) {
        self.identity.peer_tag = peer.tag;
        self.origin.adapt(peer.adaptation);
        //= RFC 9260 5.1.1-2 5.1.1-3
        // §5.1.1: min(our OS, the peer's MIS), and the other way round.
        let outbound = self.config.outbound_streams.min(peer.inbound_streams);
        let inbound = self.config.inbound_streams.min(peer.outbound_streams);
        for failure in self.sender.begin(peer.a_rwnd, outbound) {
            self.journal.event(Event::SendFailed(failure));
        }
        let capabilities = Capabilities::of(&self.config).and(peer.extensions);
        self.receiver.begin(peer.initial_tsn, inbound, capabilities, &self.config);
        self.sender.agree(capabilities, &self.config);
        self.extras.reconfiguration = capabilities
            .chosen
            .stream_reconfiguration
            .then(|| Box::new(Reconfiguration::new(self.origin.initial_tsn(), peer.initial_tsn)));
        self.adopt_addresses(peer);
        let authenticator = &mut self.extras.authenticator;
        authenticator.agree(peer, &mut self.paths);
        self.monitor.set_auth_len(authenticator.len_before(ChunkType::HEARTBEAT));
        let may_change = capabilities.chosen.address_reconfiguration && authenticator.is_guarded();
        self.end_changes();
        let initial_tsn = self.origin.initial_tsn();
        let changes = || AddressChanges::new(initial_tsn, peer.initial_tsn, peer.primary);
        self.extras.changes = may_change.then(|| Box::new(changes()));
        self.outbox.set_changes(may_change);
        self.notify_writer(); // What was refused for its stream left room.
    }

    /// What is outstanding names its path: nothing changes then.
    fn adopt_addresses(&mut self, peer: &PeerParameters) {
        let outstanding = self.sender.data().outstanding() > 0;
        let target = self.calls();
        let addresses = self.monitor.addresses_mut();
        addresses.omit(peer.omitted);
        if addresses.adopt(&mut self.paths, &self.config, &peer.addresses, outstanding) {
            self.origin.call(self.paths.find(target).unwrap_or_default());
            self.listing.note_move();
        }
    }

    pub(super) fn establish(&mut self, now: Time, to_be_closed: bool) {
        self.phase = Phase::Established;
        self.standard.stop();
        self.errors.clear();
        self.journal.event(Event::Connected {
            outbound_streams: self.sender.data().streams(),
            inbound_streams: self.receiver.streams(),
            accepted: self.origin.was_accepted(),
        });
        self.begin_work(now);
        let (sender, mut cx) = self.sending(now);
        sender.establish(&mut cx);
        self.paths.begin_opportunity(&self.config.profile);
        if to_be_closed {
            self.begin_shutdown(now);
        }
    }

    /// Queues a COOKIE ACK for `path`; the COOKIE ECHO arrived at `local`.
    pub(super) fn send_cookie_ack(&mut self, now: Time, path: PathId, local: IpAddr) {
        let (mut cx, parts) = self.parts(now);
        parts.monitor.heard_at(&mut cx, path, local);
        let source = parts.monitor.addresses().reply_source(cx.paths, path, local);
        //= RFC 9260 5.4-3
        // §5.4: to an UNCONFIRMED address, "it MUST be bundled with a HEARTBEAT chunk": that stands next to
        // it, whatever else waits.
        if !cx.paths[path].is_confirmed() {
            parts.monitor.send_heartbeat(&mut cx, parts.halves.sender, path);
            cx.outbox.put_last_first();
        }
        cx.push(path, Control::CookieAck(source));
    }

    /// Goes through the agreement on capabilities once more, as after calls that cross.
    #[cfg(test)]
    pub(crate) fn agree_again(&mut self) {
        let capabilities = self.sender.data().capabilities();
        self.sender.agree(capabilities, &self.config);
    }

    /// INIT or COOKIE ECHO, which was sent at `sent`, is answered.
    pub(super) fn sample_setup(&mut self, now: Time, sent: Time) {
        let path = self.origin.path();
        let (sender, mut cx) = self.sending(now);
        sender.sample_rtt(&mut cx, path, sent);
    }

    /// The association is established, for the first time or with a peer that restarted: tells what was agreed on, and
    /// begins what waited for that.
    pub(super) fn begin_work(&mut self, now: Time) {
        if let Some(code) = self.origin.adaptation() {
            self.journal.peer_event(Event::PeerAdaptation(code));
        }
        self.extras.authenticator.warn_if_in_vain(&mut self.journal);
        let (mut cx, parts) = self.parts(now);
        if let Some(changes) = &mut parts.extras.changes {
            changes.heed(&mut cx);
        }
        parts.monitor.start(&mut cx, parts.halves.sender);
    }
}
