//! What COOKIE ECHO and COOKIE ACK bring, and a cookie that is stale (RFC 9260 §5.1 D and E, §5.2.4 to §5.2.6).

use std::net::IpAddr;

use tresse_wire::VerificationTag;

use super::{AcceptedCookie, Association, Control, Phase, State};
use crate::event::CloseReason;
use crate::ids::LossCause;
use crate::time::Time;

impl Association {
    /// COOKIE ACK (§5.1 E).
    pub(super) fn on_cookie_ack(&mut self, now: Time) {
        //= RFC 9260 5.2.5-1
        // §5.2.5: at any state other than COOKIE-ECHOED it SHOULD be discarded.
        let Phase::CookieEchoed(opening, _) = &self.phase else { return };
        let opening = *opening;
        if let Some(sent) = opening.sample() {
            self.sample_setup(now, sent);
        }
        self.establish(now, opening.is_to_be_closed());
    }

    //= RFC 9260 5.2.6-1 5.2.6-2
    /// ERROR with Stale Cookie (§5.2.6): asks once for a longer life, then gives up.
    pub(super) fn on_stale_cookie(&mut self, now: Time) {
        let Phase::CookieEchoed(opening, echo) = &self.phase else { return };
        //= RFC 9260 5.2.6-3
        // The extension SHOULD use the measured RTT and add no more than one second.
        let rtt = now.since(echo.sent()).as_millis();
        let extension = u32::try_from(rtt).unwrap_or(u32::MAX).saturating_add(1000);
        let Some(again) = opening.after_stale(extension) else {
            self.close(CloseReason::SetupFailed);
            return;
        };
        self.outbox.clear();
        let (sender, mut cx) = self.sending(now);
        sender.lose_all(&mut cx, LossCause::Timeout);
        self.identity.peer_tag = VerificationTag(0);
        self.receiver.forget(&self.config);
        self.send_init(now, again);
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
        self.join_addresses(now, cookie);
        if let Some(path) = self.paths.find(source).filter(|path| self.paths[*path].is_confirmed())
        {
            self.monitor.addresses_mut().learn(&mut self.paths, path, source, local);
            if let Some(opening) = self.phase.opening_mut() {
                opening.forget_sample();
            }
            self.origin.call(path);
            self.outbox.push(&self.paths, path, Control::CookieEcho);
        }
    }

    /// Takes the addresses of the peer's INIT beside those of its INIT ACK. A cookie that comes again once addresses were deleted is
    /// older than that: it brings none back, and the paths keep their numbers.
    fn join_addresses(&mut self, now: Time, cookie: &AcceptedCookie) {
        if self.paths.have_gone() {
            return;
        }
        let (mut cx, parts) = self.parts(now);
        let joined = parts.monitor.addresses_mut().join(&mut cx, &cookie.peer.addresses);
        parts.extras.authenticator.reserve(cx.paths);
        if joined {
            self.listing.note_move();
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
            self.join_addresses(now, cookie);
            peer.addresses = self.paths.iter().map(|p| p.address.remote()).collect();
        }
        if let Some(opening) = opening {
            self.outbox.clear();
            self.monitor.addresses_mut().sources_mut().learn(local);
            self.extras.authenticator.take_offer(cookie.offer.as_deref());
            self.adopt_peer(&peer);
            let (sender, mut cx) = self.sending(now);
            sender.lose_all(&mut cx, LossCause::Timeout);
            self.establish(now, opening.is_to_be_closed());
        }
        // B: the peer's tag MUST be updated from the cookie.
        self.identity.peer_tag = cookie.peer.tag;
        self.origin.bring(cookie);
        if !self.is_closed() {
            let path = self.paths.find(source).unwrap_or_else(|| self.paths.data_path());
            if opening.is_none() {
                // The one before was lost on that way. The peer takes it at any of its addresses, in turn.
                let other = self.paths.alternate(self.origin.path());
                self.origin.call(other);
                if other != path && self.paths[other].is_confirmed() {
                    self.outbox.push(&self.paths, other, Control::CookieAck(None));
                }
            }
            self.send_cookie_ack(now, path, local);
        }
    }
}
