//! What the peer and the application ask of the extensions: authenticated chunks (RFC 4895), changes of addresses (RFC 5061) and
//! of streams (RFC 6525). Each is routed to its part, and what that leaves to do is done.

use std::net::IpAddr;
use std::sync::Arc;

use tresse_wire::{Asconf, AsconfAck, Auth, Cause, ChunkType, ReConfig, StreamId};

use super::asconf::{Affected, Performed, fitting};
use super::incoming::PacketInHand;
use super::outbox::Back;
use super::reconfiguration::{Reconfiguration, may_ask_in};
use super::{Association, Common, Control, Halves, KeyChange};
use crate::auth::AuthVerdict;
use crate::error::{AddressError, KeyError, ReconfigurationError};
use crate::event::{AddressChange, ResetDirection};
use crate::ids::PathId;
use crate::path::source::Host;
use crate::state::State;
use crate::time::Time;

/// Bytes of the common header.
const HEADER: usize = 12;

impl Association {
    /// Judges an AUTH chunk with the bytes of the packet behind it, and counts and tells of it.
    pub(crate) fn judge(&mut self, auth: &Auth<'_>, rest: &[u8]) -> AuthVerdict {
        self.extras.authenticator.judge(auth, rest, &mut self.journal)
    }

    /// The peer is known for good: no cookie changes what was agreed on, unless it has restarted.
    pub(crate) fn is_settled(&self) -> bool {
        self.phase.opening().is_none() && !self.is_closed()
    }

    /// Sets a shared key, or replaces it.
    pub(crate) fn set_shared_key(&mut self, key: u16, secret: &[u8]) -> Result<(), KeyError> {
        let known = self.receiver.initial_tsn().is_some();
        self.extras.authenticator.set_key(known, key, secret)
    }

    /// Does something else to one.
    pub(crate) fn change_key(&mut self, change: KeyChange, key: u16) -> Result<(), KeyError> {
        let known = self.receiver.initial_tsn().is_some();
        self.extras.authenticator.change_key(known, change, key, &mut self.journal)
    }

    /// A RE-CONFIG chunk. Returns `false` to discard the rest of the packet.
    pub(super) fn on_re_config(
        &mut self,
        now: Time,
        incoming: &mut PacketInHand<'_>,
        chunk: &ReConfig<'_>,
    ) -> bool {
        let (mut cx, mut parts) = self.parts(now);
        let Some(reconfiguration) = &mut parts.extras.reconfiguration else { return true };
        let path = incoming.path();
        let answers = match reconfiguration.on_chunk(&mut cx, &mut parts.halves, path, chunk) {
            Ok(answers) => answers,
            Err(end) => {
                self.abort_with(end);
                return false;
            }
        };
        if let Some(parameters) = answers.parameters {
            let source = incoming.answer_source(cx.paths, parts.monitor.addresses());
            incoming.reply(cx.outbox, cx.paths, path, Control::ReConfig(parameters, source));
        }
        if let Some(causes) = answers.causes {
            incoming.reply(cx.outbox, cx.paths, path, Control::Error(causes));
        }
        true
    }

    /// Asks that streams begin again.
    pub(crate) fn reset_streams(
        &mut self,
        now: Time,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigurationError> {
        self.change_streams(now, |r, cx, halves| r.reset_streams(cx, halves, direction, streams))
    }

    /// Asks that all streams and the TSNs begin again.
    pub(crate) fn reset_association(&mut self, now: Time) -> Result<(), ReconfigurationError> {
        self.change_streams(now, Reconfiguration::reset_association)
    }

    /// Asks for more streams.
    pub(crate) fn add_streams(
        &mut self,
        now: Time,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigurationError> {
        self.change_streams(now, |r, cx, halves| r.add_streams(cx, halves, outgoing, incoming))
    }

    fn change_streams(
        &mut self,
        now: Time,
        ask: impl FnOnce(
            &mut Reconfiguration,
            &Common<'_>,
            &mut Halves<'_>,
        ) -> Result<(), ReconfigurationError>,
    ) -> Result<(), ReconfigurationError> {
        may_ask_in(self.state())?;
        let (cx, mut parts) = self.parts(now);
        let reconfiguration = parts.extras.reconfiguration.as_deref_mut();
        let reconfiguration = reconfiguration.ok_or(ReconfigurationError::NotSupported)?;
        ask(reconfiguration, &cx, &mut parts.halves)?;
        self.continue_reconfiguration(now);
        Ok(())
    }

    //= RFC 5061 5.2-1 5.3.2-2
    /// Whether a packet with an ASCONF chunk, which comes from an address that is none of the peer's, may be for this
    /// association: its Address Parameter is one of them, or says nothing. Its tag was right.
    pub(crate) fn is_named_by(&self, lookup: IpAddr) -> bool {
        self.extras.changes.is_some()
            && self.state().may_change_addresses()
            && (lookup.is_unspecified() || self.paths.find(lookup).is_some())
    }

    /// An ASCONF chunk, which was authenticated.
    pub(super) fn on_asconf(
        &mut self,
        now: Time,
        incoming: &mut PacketInHand<'_>,
        asconf: &Asconf<'_>,
    ) {
        let acked = self.journal.stats.data_chunks_received > 0;
        let acked_on = Some(self.receiver.ack_path()).filter(|_| acked);
        let (mut cx, parts) = self.parts(now);
        let addresses = parts.monitor.addresses();
        let authenticator = &parts.extras.authenticator;
        let mut affected = Affected { halves: parts.halves, addresses, authenticator };
        let Some(changes) = &mut parts.extras.changes else { return };
        let performed = changes.on_asconf(&mut cx, &mut affected, incoming, asconf);
        let Some(Performed { responses, gone, moved }) = performed else { return };
        let lost = gone.iter().any(|gone| acked_on == Some(gone.path));
        for gone in gone {
            parts.phase.leave_path(gone.path, gone.instead);
            parts.origin.leave_path(gone.path, gone.instead);
        }
        if moved {
            self.listing.note_move();
        }
        // SACKs on their way to an address that has gone just now are lost: the peer learns at once what has arrived.
        if lost
            && self.state().may_send_data()
            && self.paths[self.receiver.ack_path()].is_confirmed()
        {
            self.receiver.request_sack();
        }
        // E6: back to where it came from, whether that is an address of the association or not.
        let path = self.paths.find(incoming.source());
        let local = Some(incoming.local()).filter(|local| self.addresses().may_leave_from(*local));
        let (address, encapsulation) = (incoming.source(), incoming.encapsulation());
        let back = Back { address, encapsulation, local };
        let path = path.unwrap_or_else(|| self.paths.data_path());
        if let Some(end) = self.fit_answer(incoming, path, &responses) {
            let responses = responses.slice(..end);
            self.outbox.push(&self.paths, path, Control::AsconfAck(asconf.number, responses, back));
        }
        incoming.follow(&self.paths);
    }

    /// How many bytes of the responses to a chunk may leave: E6, all acknowledgements of one packet fit one packet. Where the
    /// source may be forged, for it is no confirmed address of the peer, they are no longer than what they answer, but for the
    /// eight bytes of the longest response without a request. `None` for none at all: the peer repeats its chunk.
    fn fit_answer(
        &self,
        incoming: &mut PacketInHand<'_>,
        path: PathId,
        responses: &[u8],
    ) -> Option<usize> {
        let confirmed =
            self.paths.find(incoming.source()) == Some(path) && self.paths[path].is_confirmed();
        let packet = HEADER + self.paths[path].pmdcs();
        let most = if confirmed { packet } else { packet.min(incoming.bytes().len() + 8) };
        let head = HEADER + self.authenticator().len_before(ChunkType::ASCONF_ACK) + 8;
        let end = fitting(responses, incoming.left(most).saturating_sub(head));
        let leaves = end > 0 || responses.is_empty();
        (leaves && incoming.affords(head + end, most)).then_some(end)
    }

    /// An ASCONF-ACK chunk, which was authenticated.
    pub(super) fn on_asconf_ack(&mut self, now: Time, ack: &AsconfAck<'_>) {
        let (mut cx, parts) = self.parts(now);
        let Some(changes) = &mut parts.extras.changes else { return };
        let addresses = parts.monitor.addresses_mut();
        let result = changes.on_ack(&mut cx, parts.halves.sender, addresses, ack);
        self.goes_on(result);
    }

    /// An Unrecognized Chunk Type error cause may be about our ASCONF chunk.
    pub(super) fn on_unrecognized_chunk(&mut self, now: Time, cause: &Cause<'_>) {
        let (mut cx, parts) = self.parts(now);
        let Some(changes) = &mut parts.extras.changes else { return };
        let sources = parts.monitor.addresses_mut().sources_mut();
        changes.on_unrecognized_chunk(&mut cx, sources, cause);
    }

    /// Asks the peer to add an address of ours, delete it, or send to it.
    pub(crate) fn change_address(
        &mut self,
        now: Time,
        change: AddressChange,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        match self.state() {
            State::Established => {}
            State::CookieWait | State::CookieEchoed => return Err(AddressError::NotEstablished),
            _ => return Err(AddressError::ShuttingDown),
        }
        let (mut cx, parts) = self.parts(now);
        let Some(changes) = &mut parts.extras.changes else {
            return Err(AddressError::NotSupported);
        };
        changes.change(&mut cx, parts.monitor.addresses_mut(), change, address)
    }

    /// The addresses of our host have changed.
    pub(crate) fn on_host_change(&mut self, now: Time, host: &Arc<Host>) {
        let (mut cx, parts) = self.parts(now);
        parts.monitor.on_host_change(&mut cx, host);
        if let Some(changes) = &mut parts.extras.changes {
            changes.follow_host(&mut cx, parts.monitor.addresses_mut());
        }
    }
}
