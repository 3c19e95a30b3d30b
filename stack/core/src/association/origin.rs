//! How the association came to be.

use tresse_wire::{Tsn, VerificationTag};

use crate::auth::Offer;
use crate::handshake::PeerParameters;
use crate::ids::PathId;
use crate::time::Time;

/// How the association came to be, which is known for as long as it lasts.
#[derive(Debug)]
pub(crate) struct Origin {
    initial_tsn: Tsn,
    /// The peer's address that INIT, COOKIE ECHO or, again, COOKIE ACK goes to.
    path: PathId,
    /// When the cookie was made that the peer has brought us.
    brought: Option<Time>,
    accepted: bool,
    /// The peer's Adaptation Layer Indication.
    adaptation: Option<u32>,
}

/// A cookie that was found authentic and fresh.
#[derive(Clone, Debug)]
pub(crate) struct AcceptedCookie {
    pub(crate) local_tag: VerificationTag,
    pub(crate) initial_tsn: Tsn,
    pub(crate) peer: PeerParameters,
    /// What our INIT ACK has said of authenticated chunks.
    pub(crate) offer: Option<Box<Offer>>,
    pub(crate) created: Time,
}

impl Origin {
    /// We call the peer.
    pub(super) fn new(initial_tsn: Tsn) -> Origin {
        let path = PathId::default();
        Origin { initial_tsn, path, brought: None, accepted: false, adaptation: None }
    }

    /// The peer has called us, with this cookie.
    pub(super) fn accept(&mut self, cookie: &AcceptedCookie) {
        self.accepted = true;
        self.bring(cookie);
    }

    /// It has brought this one.
    pub(super) fn bring(&mut self, cookie: &AcceptedCookie) {
        self.brought = Some(cookie.created);
    }

    /// Everything begins again with this one, but who has called whom.
    pub(super) fn restart(&mut self, cookie: &AcceptedCookie) {
        let accepted = self.accepted;
        *self = Origin { accepted, ..Origin::new(cookie.initial_tsn) };
        self.bring(cookie);
    }

    /// What the peer has said of its adaptation layer.
    pub(super) fn adapt(&mut self, adaptation: Option<u32>) {
        self.adaptation = adaptation;
    }

    /// The peer's address that INIT, COOKIE ECHO or, again, COOKIE ACK goes to.
    #[inline]
    pub(super) const fn path(&self) -> PathId {
        self.path
    }

    /// It is this one now.
    pub(super) fn call(&mut self, path: PathId) {
        self.path = path;
    }

    /// A path is gone, and another one takes its place.
    pub(super) fn leave_path(&mut self, gone: PathId, instead: PathId) {
        if self.path == gone {
            self.path = instead;
        }
    }

    pub(super) const fn initial_tsn(&self) -> Tsn {
        self.initial_tsn
    }

    /// The peer's Adaptation Layer Indication.
    pub(super) const fn adaptation(&self) -> Option<u32> {
        self.adaptation
    }

    /// Whether the peer opened it.
    pub(crate) const fn was_accepted(&self) -> bool {
        self.accepted
    }

    /// Whether the peer has brought a cookie that was made after `created`. Each life of the peer brings those
    /// that were made in it.
    pub(crate) fn has_newer_cookie(&self, created: Time) -> bool {
        self.brought.is_some_and(|brought| brought > created)
    }
}
