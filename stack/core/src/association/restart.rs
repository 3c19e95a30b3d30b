//! A peer that crashed and came back while we kept the association (RFC 9260 §5.2.4 action A).

use std::net::IpAddr;

use tresse_wire::CauseWriter;

use super::{AcceptedCookie, Association, Control, Identity, Phase, State};
use crate::event::Event;
use crate::ids::PathId;
use crate::time::Time;

impl Association {
    /// Whether a cookie with our tag is from another life of the peer than the one that we are
    /// associated with: it crashed and connected again while we were setting up, so that the cookie
    /// looks like one of a collision.
    pub(crate) fn is_from_another_life(&self, cookie: &AcceptedCookie) -> bool {
        self.phase.opening().is_none()
            && cookie.peer.tag != self.identity.peer_tag
            && self.receiver.initial_tsn().is_some_and(|tsn| tsn != cookie.peer.initial_tsn)
    }

    //= RFC 9260 5.2.4-5
    /// The peer restarted (§5.2.4, Table 12 A): everything begins again, on those paths that it still
    /// has.
    pub(crate) fn restart(
        &mut self,
        now: Time,
        cookie: &AcceptedCookie,
        source: IpAddr,
        local: IpAddr,
    ) {
        // The application asked once and will not ask again.
        let shutdown = matches!(self.state(), State::ShutdownPending | State::ShutdownSent);
        self.outbox.clear();
        self.end_life();
        self.identity = Identity {
            local_tag: cookie.local_tag,
            peer_tag: cookie.peer.tag,
            local_tie_tag: self.rng.next_nonzero_u32(),
            peer_tie_tag: self.rng.next_nonzero_u32(),
            ..self.identity
        };
        self.origin.restart(cookie);
        self.sender.restart(cookie.initial_tsn, &self.config);
        self.paths.reset(&self.config);
        self.errors.clear();
        //= RFC 9260 5.2.4-4
        self.journal.event(Event::Restarted);
        // It may have called an address that it was not told of in its first life.
        self.monitor.addresses_mut().sources_mut().learn(local);
        // RFC 4895 §6.3: "After this operation, both endpoints have to use the new association shared key."
        self.extras.authenticator.take_offer(cookie.offer.as_deref());
        // Messages that were complete stay readable: DATA MAY be retained.
        self.adopt_peer(&cookie.peer);
        self.phase = Phase::Established;
        if let Some(path) = self.confirm_offered(cookie) {
            self.monitor.addresses_mut().learn(&mut self.paths, path, source, local);
        }
        self.begin_work(now);
        let path = self.paths.find(source).unwrap_or_else(|| self.paths.data_path());
        self.send_cookie_ack(now, path, local);
        if shutdown {
            self.begin_shutdown(now);
        }
    }

    /// Confirms the address that the INIT ACK with this cookie was sent to, and returns its path. §5.4
    /// rule 2: who brings the cookie has received it there.
    fn confirm_offered(&mut self, cookie: &AcceptedCookie) -> Option<PathId> {
        let path = self.paths.find(*cookie.peer.addresses.first()?)?;
        self.paths[path].reachability.confirm();
        Some(path)
    }

    //= RFC 9260 5.2.4-6
    /// The peer restarted while we wait for SHUTDOWN COMPLETE (§5.2.4 A, last paragraph). It is told at
    /// the `source` of its cookie, if that is confirmed to be its own.
    pub(crate) fn refuse_restart(&mut self, cookie: &AcceptedCookie, source: IpAddr) {
        let offered = self.confirm_offered(cookie);
        let from = self.paths.find(source).filter(|p| self.paths[*p].is_confirmed());
        let path = from.or(offered).unwrap_or_else(|| self.paths.data_path());
        self.outbox.push(&self.paths, path, Control::ShutdownAck(None));
        let causes = CauseWriter::new().cookie_received_while_shutting_down().finish();
        self.outbox.push(&self.paths, path, Control::Error(causes));
    }
}
