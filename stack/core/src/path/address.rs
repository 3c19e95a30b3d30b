//! The addresses of a path: the peer's, the one of ours that packets leave from, and the peer's UDP port.

use std::net::IpAddr;

use super::source::reaches;
use crate::time::Time;

/// Errors in a row after which a source that has worked is left for another. One that never has is left
/// at the first.
pub(crate) const DOUBTED_AFTER: u32 = 2;

/// The addresses of one path.
#[derive(Debug)]
pub(crate) struct Address {
    remote: IpAddr,
    /// Our source address towards it, one that the peer knows of; `None` leaves it to the carrier.
    local: Option<IpAddr>,
    /// Since when.
    since: Time,
    /// The peer has answered what left from there.
    proven: bool,
    //= RFC 6951 5.1-1
    /// The peer's UDP port (RFC 6951).
    encapsulation: Option<u16>,
    /// T3-rtx expirations since what left from `local` was acknowledged for sure. Heartbeats do not count: where
    /// they get through, what is larger need not.
    unanswered: u32,
    /// A source that was left because of that, though heartbeats from there were answered: they do not bring it
    /// back.
    shunned: Option<IpAddr>,
    /// What was sent before left from sources of which the last is gone: so are answers that were under way to it.
    lost_until: Time,
    /// Data is to ask for others.
    asks: bool,
}

impl Address {
    pub(super) const fn new(
        remote: IpAddr,
        local: Option<IpAddr>,
        encapsulation: Option<u16>,
    ) -> Address {
        Address {
            remote,
            local,
            since: Time::ZERO,
            proven: false,
            encapsulation,
            unanswered: 0,
            shunned: None,
            lost_until: Time::ZERO,
            asks: false,
        }
    }

    /// The address after a restart of the peer.
    pub(super) const fn restarted(&self) -> Address {
        let Address { remote, local, encapsulation, proven, .. } = *self;
        Address { proven, ..Address::new(remote, local, encapsulation) }
    }

    /// The peer's address.
    #[inline]
    pub(crate) const fn remote(&self) -> IpAddr {
        self.remote
    }

    /// Where packets leave from; `None` leaves it to the carrier.
    #[inline]
    pub(crate) const fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// The peer's UDP port; `None` on raw IP.
    #[inline]
    pub(crate) const fn encapsulation(&self) -> Option<u16> {
        self.encapsulation
    }

    /// The peer has answered what left from this source.
    pub(crate) const fn is_proven(&self) -> bool {
        self.proven
    }

    /// Whether what was sent at `sent` left from the source of today.
    pub(crate) fn is_since(&self, sent: Time) -> bool {
        sent >= self.since
    }

    /// What was sent at `sent` left from a source that is gone: an answer says nothing of the one of today, and may have been
    /// said before.
    pub(crate) fn is_from_lost(&self, sent: Time) -> bool {
        sent < self.lost_until
    }

    /// When the source was taken; `None` if it is the first one.
    pub(crate) fn taken_at(&self) -> Option<Time> {
        Some(self.since).filter(|since| *since != Time::ZERO)
    }

    /// Whether `local` is another source that packets to the peer could leave from.
    pub(crate) fn could_leave_from(&self, local: IpAddr) -> bool {
        self.local != Some(local) && reaches(local, self.remote)
    }

    /// Only small packets get away from `local`.
    pub(crate) fn shuns(&self, local: IpAddr) -> bool {
        self.shunned == Some(local)
    }

    /// A source to begin with.
    pub(crate) fn begin_from(&mut self, local: Option<IpAddr>) {
        self.local = local;
    }

    /// The peer has answered at `local`.
    pub(crate) fn on_answer_at(&mut self, local: IpAddr) {
        self.local = Some(local);
        self.proven = true;
    }

    /// Something that was first sent at `sent` was answered. Earlier it left from another source, of which alone
    /// the answer tells.
    pub(super) fn on_answer(&mut self, sent: Time) {
        self.proven |= self.is_since(sent);
    }

    /// Data that was first sent at `sent`, and on this path alone, is acknowledged.
    pub(crate) fn on_ack(&mut self, sent: Time) {
        if self.is_since(sent) {
            self.unanswered = 0;
        }
    }

    /// T3-rtx has expired.
    pub(crate) fn on_timeout(&mut self) {
        self.unanswered += 1;
    }

    /// That the source has worked counts no more.
    pub(crate) fn doubt(&mut self) {
        self.proven = false;
    }

    /// Whether the source is to be left for another, after this many failures in a row.
    pub(super) fn is_doubtful(&self, failures: u32) -> bool {
        !self.proven || failures.max(self.unanswered) >= DOUBTED_AFTER
    }

    /// The source is left, after this many failures in a row.
    pub(super) fn shun(&mut self, failures: u32) {
        self.shunned =
            self.local.filter(|_| self.unanswered >= DOUBTED_AFTER && failures < DOUBTED_AFTER);
    }

    /// Packets leave from `local` from now on.
    pub(super) fn leave_from(&mut self, now: Time, local: IpAddr) {
        self.local = Some(local);
        self.since = now;
        self.proven = false;
        self.unanswered = 0;
    }

    /// The source before this one is gone, with the answers that were under way to it.
    pub(crate) fn ask(&mut self) {
        (self.lost_until, self.asks) = (self.since, true);
    }

    /// When data is to ask for other answers, if it has not yet.
    pub(crate) fn asks_at(&self) -> Option<Time> {
        self.asks.then_some(self.since)
    }

    /// It asks; `false` if there is no need to.
    pub(crate) fn take_question(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    /// Sends to another UDP port of the peer, or on raw IP; `true` if that is news.
    pub(super) fn encapsulate(&mut self, port: Option<u16>) -> bool {
        std::mem::replace(&mut self.encapsulation, port) != port
    }
}
