//! The packet being processed: where it came from, and what has answered it so far.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::Timestamp;

use super::addresses::Addresses;
use super::outbox::{Control, Outbox};
use crate::datagram::Datagram;
use crate::ids::PathId;
use crate::path::Paths;
use crate::receive::Way;

/// The packet being processed.
pub(super) struct PacketInHand<'a> {
    datagram: &'a Datagram,
    /// The path it came over; the data path if the address is not one of the peer's.
    arrival: PathId,
    /// Where what answers it goes: the same, unless the address is unconfirmed.
    path: PathId,
    has_sack: bool,
    /// Its TIMESTAMP chunk, if timestamps were agreed on.
    timestamp: Option<Timestamp>,
    replies: Replies,
}

/// What answers a packet so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Replies {
    /// Where the chunks that answer it go, and how many bytes they have.
    chunks: Option<(PathId, usize)>,
    /// Bytes of packets that acknowledge changes of addresses, each of which has one of its own.
    acknowledgements: usize,
}

impl<'a> PacketInHand<'a> {
    /// A packet that came over the path `known`, if its source is an address of the peer.
    pub(super) fn new(
        datagram: &'a Datagram,
        known: Option<PathId>,
        paths: &Paths,
    ) -> PacketInHand<'a> {
        let arrival = known.unwrap_or_else(|| paths.data_path());
        let path = answer_path(paths, arrival);
        let (has_sack, timestamp, replies) = (false, None, Replies::default());
        PacketInHand { datagram, arrival, path, has_sack, timestamp, replies }
    }

    /// Its bytes, for payloads that share them.
    #[inline]
    pub(super) const fn bytes(&self) -> &'a Bytes {
        &self.datagram.packet
    }

    pub(super) const fn source(&self) -> IpAddr {
        self.datagram.source
    }

    /// Our address that it was sent to.
    pub(super) const fn local(&self) -> IpAddr {
        self.datagram.destination
    }

    /// The peer's UDP port, if it came in UDP.
    pub(super) const fn encapsulation(&self) -> Option<u16> {
        self.datagram.encapsulation
    }

    /// The path it came over; the data path if the address is not one of the peer's.
    pub(super) const fn arrival(&self) -> PathId {
        self.arrival
    }

    /// Where SACKs and errors that answer it go: the path it came over, unless that is unconfirmed.
    pub(super) const fn path(&self) -> PathId {
        self.path
    }

    /// It has a SACK.
    #[inline]
    pub(super) const fn note_sack(&mut self) {
        self.has_sack = true;
    }

    pub(super) const fn has_sack(&self) -> bool {
        self.has_sack
    }

    /// It has this TIMESTAMP chunk.
    pub(super) const fn note_timestamp(&mut self, timestamp: Timestamp) {
        self.timestamp = Some(timestamp);
    }

    /// What its TIMESTAMP chunk echoes.
    #[inline]
    pub(super) fn tsecr(&self) -> Option<u32> {
        self.timestamp.map(|timestamp| timestamp.tsecr)
    }

    /// What its TIMESTAMP chunk tells of the peer's clock.
    #[inline]
    pub(super) fn tsval(&self) -> Option<u32> {
        self.timestamp.map(|timestamp| timestamp.tsval)
    }

    /// It came from a confirmed address of the peer, so that answers may go there.
    pub(super) fn is_from_confirmed(&self) -> bool {
        self.path == self.arrival
    }

    /// Paths have come and gone because of it.
    pub(super) fn follow(&mut self, paths: &Paths) {
        self.arrival = paths.find(self.source()).unwrap_or_else(|| paths.data_path());
        self.path = answer_path(paths, self.arrival);
        self.replies.chunks = self.replies.chunks.filter(|(path, _)| paths.is_living(*path));
    }

    /// Whether one more packet of this many bytes may acknowledge a change of addresses, where `of` bytes may in all.
    pub(super) fn affords(&mut self, bytes: usize, of: usize) -> bool {
        let fits = self.replies.acknowledgements + bytes <= of;
        self.replies.acknowledgements += if fits { bytes } else { 0 };
        fits
    }

    /// How many of these `of` bytes are left.
    pub(super) const fn left(&self, of: usize) -> usize {
        of.saturating_sub(self.replies.acknowledgements)
    }

    //= RFC 9260 9.1-6 12.4-2
    /// Answers a chunk of it. RFC 9260 §12.4: all answers to one packet fit one packet; those that do not are left out.
    pub(super) fn reply(
        &mut self,
        outbox: &mut Outbox,
        paths: &Paths,
        path: PathId,
        control: Control,
    ) {
        let (to, bytes) = self.replies.chunks.unwrap_or((path, 0));
        let len = control.len_bound();
        if to == path && (bytes == 0 || bytes + len <= paths[path].pmdcs()) {
            self.replies.chunks = Some((path, bytes + len));
            outbox.push(paths, path, control);
        }
    }

    /// Error causes answer it.
    pub(super) fn refuse(&mut self, outbox: &mut Outbox, paths: &Paths, causes: Vec<u8>) {
        self.reply(outbox, paths, self.path, Control::Error(causes));
    }

    /// The source of what answers it on its path: where it arrived.
    pub(super) fn answer_source(&self, paths: &Paths, addresses: &Addresses) -> Option<IpAddr> {
        // To another address than it came from, that may be no way.
        let back = self.is_from_confirmed();
        addresses.reply_source(paths, self.path, self.local()).filter(|_| back)
    }

    /// The way that a SACK for it takes.
    pub(super) fn way(&self, paths: &Paths, addresses: &Addresses) -> Way {
        let source = self.answer_source(paths, addresses);
        Way { arrival: self.arrival, path: self.path, source }
    }
}

//= RFC 9260 5.4-2
/// Where what answers a packet goes that came over `arrival`. RFC 9260 §5.4: "An endpoint MUST NOT send any chunks to an
/// UNCONFIRMED address", but heartbeats.
fn answer_path(paths: &Paths, arrival: PathId) -> PathId {
    if paths[arrival].is_confirmed() { arrival } else { paths.data_path() }
}
