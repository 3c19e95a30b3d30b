//! What COOKIE ECHO and COOKIE ACK bring, and a cookie that is stale (RFC 9260 §5.1 D and E, §5.2.4 to §5.2.6).

use std::net::IpAddr;

use tresse_wire::VerificationTag;

use super::phase::Opening;
use super::setup::AcceptedCookie;
use super::{Association, Control, Phase, State};
use crate::event::CloseReason;
use crate::path::PathId;
use crate::time::Time;

impl Association {
    /// Queues a COOKIE ACK for `path`; the COOKIE ECHO arrived at `local`.
    pub(super) fn send_cookie_ack(&mut self, now: Time, path: PathId, local: IpAddr) {
        self.heard_at(now, path, local);
        let source = self.reply_source(path, local);
        //= RFC 9260 5.4-3
        // §5.4: to an UNCONFIRMED address, "it MUST be bundled with a HEARTBEAT chunk": that stands next to
        // it, whatever else waits.
        if !self.paths[path].is_confirmed() {
            self.send_heartbeat(now, path);
            self.outbox.put_last_first();
        }
        self.push_control(path, Control::CookieAck(source));
    }

    /// COOKIE ACK (§5.1 E).
    pub(super) fn on_cookie_ack(&mut self, now: Time) {
        //= RFC 9260 5.2.5-1
        // §5.2.5: at any state other than COOKIE-ECHOED it SHOULD be discarded.
        let Phase::CookieEchoed(opening, _) = &self.phase else { return };
        let Opening { sent_once, to_be_closed, .. } = *opening;
        if let Some(sent) = sent_once {
            self.sample_setup(now, sent);
        }
        self.establish(now, to_be_closed);
    }

    //= RFC 9260 5.2.6-1 5.2.6-2
    /// ERROR with Stale Cookie (§5.2.6): asks once for a longer life, then gives up.
    pub(super) fn on_stale_cookie(&mut self, now: Time) {
        let Phase::CookieEchoed(opening, echo) = &mut self.phase else { return };
        if opening.stale_retried {
            self.close(CloseReason::SetupFailed);
            return;
        }
        //= RFC 9260 5.2.6-3
        // The extension SHOULD use the measured RTT and add no more than one second.
        let rtt = now.since(echo.sent).as_millis();
        let again = Opening {
            preservative_ms: u32::try_from(rtt).unwrap_or(u32::MAX).saturating_add(1000),
            stale_retried: true,
            to_be_closed: opening.to_be_closed,
            ..Opening::default()
        };
        self.outbox.clear();
        self.lose_all(now);
        self.identity.peer_tag = VerificationTag(0);
        self.receiver.forget(&self.config);
        self.send_init(now, again);
    }

    /// Whether the peer has brought a cookie that was made after `created`. Each life of the peer brings those
    /// that were made in it.
    pub(crate) fn has_newer_cookie(&self, created: Time) -> bool {
        self.origin.brought.is_some_and(|brought| brought > created)
    }

    /// A COOKIE ECHO came late (§5.2.4, Table 12 C): the peer calls, too, and has answered our INIT. Our own
    /// COOKIE ECHO decides. It may have been lost where it went: if the peer's came from an address that is
    /// new to us, ours goes there, for the cookie shows that it is the peer's (§5.4 rule 2).
    pub(crate) fn echo_cookie_to(
        &mut self,
        now: Time,
        cookie: &AcceptedCookie,
        source: IpAddr,
        local: IpAddr,
    ) {
        if self.state() != State::CookieEchoed || self.paths.find(source).is_some() {
            return;
        }
        self.join_addresses(now, &cookie.peer.addresses);
        if let Some(path) = self.paths.find(source).filter(|path| self.paths[*path].is_confirmed())
        {
            self.learn_source(path, source, local);
            if let Some(opening) = self.phase.opening_mut() {
                opening.sent_once = None;
            }
            self.origin.path = path;
            self.push_control(path, Control::CookieEcho);
        }
    }

    //= RFC 9260 5.2.4-11
    /// A valid cookie for this association (§5.2.4, Table 12 B and D): the tags are adopted or
    /// the same, and the peer waits for a COOKIE ACK on `path`.
    pub(crate) fn on_matching_cookie(
        &mut self,
        now: Time,
        cookie: &AcceptedCookie,
        source: IpAddr,
        local: IpAddr,
    ) {
        let opening = self.phase.opening().copied();
        let mut peer = cookie.peer.clone();
        // D: the peer that answered our INIT is the one that sent this.
        if self.identity.peer_tag == peer.tag && !self.is_closed() {
            self.join_addresses(now, &peer.addresses);
            peer.addresses = self.paths.iter().map(|p| p.address.remote()).collect();
        }
        if let Some(Opening { to_be_closed, .. }) = opening {
            self.outbox.clear();
            self.addresses.sources.learn(local);
            self.take_offer(cookie.offer.as_deref());
            self.adopt_peer(&peer);
            self.lose_all(now);
            self.establish(now, to_be_closed);
        }
        // B: the peer's tag MUST be updated from the cookie.
        self.identity.peer_tag = cookie.peer.tag;
        self.origin.brought = Some(cookie.created);
        if !self.is_closed() {
            let path = self.paths.find(source).unwrap_or_else(|| self.paths.data_path());
            if opening.is_none() {
                // The one before was lost on that way. The peer takes it at any of its addresses, in turn.
                let other = self.paths.alternate(self.origin.path);
                self.origin.path = other;
                if other != path && self.paths[other].is_confirmed() {
                    self.push_control(other, Control::CookieAck(None));
                }
            }
            self.send_cookie_ack(now, path, local);
        }
    }
}
