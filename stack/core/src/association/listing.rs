//! Where an association stands in the lists of its endpoint, which keeps them in step (`endpoint/roll.rs`, `endpoint/agenda.rs`,
//! `endpoint/index.rs`, `endpoint/account.rs`). The association itself only says that a port or an address of the peer
//! has changed.

use std::net::IpAddr;

use tresse_wire::VerificationTag;

use super::PeerKey;
use crate::time::Time;

/// One association in the lists of its endpoint.
#[derive(Debug)]
pub(crate) struct Listing {
    /// What the endpoint finds the association by.
    indexed: Vec<PeerKey>,
    indexed_tag: VerificationTag,
    /// The peer's UDP port, or one of its addresses, has changed since.
    moved: bool,
    /// Among those that may have something to send.
    queued: bool,
    /// Its last event was polled: it goes once everything has left and was read.
    leaving: bool,
    /// The deadline that is on the list of deadlines.
    registered: Option<Time>,
    /// The confirmed address of the peer that opened it: it counts among the associations of that source.
    claimed_by: Option<IpAddr>,
    /// Bytes of memory as they stand in the account.
    held: usize,
    /// That is no longer right.
    touched: bool,
    /// Where it stands among the largest; 0 if not at all.
    size_class: u16,
}

impl Default for Listing {
    /// In no list.
    fn default() -> Listing {
        Listing {
            indexed: Vec::new(),
            indexed_tag: VerificationTag(0),
            moved: false,
            queued: false,
            leaving: false,
            registered: None,
            claimed_by: None,
            held: 0,
            touched: false,
            size_class: 0,
        }
    }
}

impl Listing {
    /// What the endpoint finds the association by.
    pub(crate) fn keys(&self) -> &[PeerKey] {
        &self.indexed
    }

    /// It is found by these from now on.
    pub(crate) fn index(&mut self, keys: Vec<PeerKey>) {
        self.indexed = keys;
        self.moved = false;
    }

    /// It is found by none of them any more.
    pub(crate) fn take_keys(&mut self) -> impl Iterator<Item = PeerKey> {
        self.indexed.drain(..)
    }

    /// The peer's UDP port, or one of its addresses, has changed.
    pub(crate) fn note_move(&mut self) {
        self.moved = true;
    }

    /// It is found by as many keys as there are `paths`, none of which has changed.
    #[inline]
    pub(crate) fn is_indexed(&self, paths: usize) -> bool {
        self.indexed.len() == paths && !self.moved
    }

    /// The peer's tag that it is found by; 0 for none.
    #[inline]
    pub(crate) const fn tag(&self) -> VerificationTag {
        self.indexed_tag
    }

    pub(crate) fn set_tag(&mut self, tag: VerificationTag) {
        self.indexed_tag = tag;
    }

    /// It may have something to send; `false` if it stood among those already.
    #[inline]
    pub(crate) fn enqueue(&mut self) -> bool {
        !std::mem::replace(&mut self.queued, true)
    }

    /// It has nothing.
    pub(crate) fn dequeue(&mut self) {
        self.queued = false;
    }

    pub(crate) const fn is_queued(&self) -> bool {
        self.queued
    }

    /// Its last event was polled.
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
    }

    #[inline]
    pub(crate) const fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The deadline that is on the list of deadlines.
    #[inline]
    pub(crate) const fn registered(&self) -> Option<Time> {
        self.registered
    }

    /// Another one is, or none; the one before comes back.
    #[inline]
    pub(crate) fn register(&mut self, deadline: Option<Time>) -> Option<Time> {
        std::mem::replace(&mut self.registered, deadline)
    }

    /// The confirmed address of the peer that opened it.
    pub(crate) const fn claimed_by(&self) -> Option<IpAddr> {
        self.claimed_by
    }

    pub(crate) fn claim(&mut self, address: IpAddr) {
        self.claimed_by = Some(address);
    }

    /// Bytes of memory as they stand in the account.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// As many are held now; as many were.
    pub(crate) fn hold(&mut self, bytes: usize) -> usize {
        std::mem::replace(&mut self.held, bytes)
    }

    /// Something has happened, so that they may be others.
    #[inline]
    pub(crate) const fn is_touched(&self) -> bool {
        self.touched
    }

    pub(crate) fn set_touched(&mut self, touched: bool) {
        self.touched = touched;
    }

    /// Where it stands among the largest; 0 if not at all.
    pub(crate) const fn size_class(&self) -> u16 {
        self.size_class
    }

    pub(crate) fn set_size_class(&mut self, class: u16) {
        self.size_class = class;
    }
}
