//! The packet being processed, and what has answered it so far.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::Timestamp;

use super::addresses::Addresses;
use super::authentication::Seal;
use super::outbox::{Control, Outbox};
use crate::ack::delayed::PacketFacts;
use crate::path::{PathId, Paths};

/// The packet being processed.
pub(super) struct PacketInHand<'a> {
    /// Its bytes, for payloads that share them.
    pub(super) bytes: &'a Bytes,
    pub(super) source: IpAddr,
    /// Our address that it was sent to.
    pub(super) local: IpAddr,
    /// The peer's UDP port, if it came in UDP.
    pub(super) encapsulation: Option<u16>,
    /// The path it came over; the data path if the address is not one of the peer's.
    pub(super) arrival: PathId,
    /// Where SACKs and errors that answer it go: the same, unless the address is unconfirmed.
    pub(super) path: PathId,
    /// What the acknowledgement rules need to know of its DATA chunks.
    pub(super) facts: PacketFacts,
    pub(super) has_data: bool,
    /// The last DATA chunk so far had come before.
    pub(super) ends_in_duplicate: bool,
    pub(super) has_sack: bool,
    /// The lowest TSN of its DATA chunks, unwrapped; 0 for one received before.
    pub(super) lowest: Option<u64>,
    /// A DATA chunk had the R bit.
    pub(super) retransmission: bool,
    /// Its TIMESTAMP chunk, if timestamps were agreed on.
    pub(super) timestamp: Option<Timestamp>,
    /// What the endpoint and its AUTH chunk have shown (RFC 4895).
    pub(super) seal: Seal,
    pub(super) replies: Replies,
}

/// What answers a packet so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Replies {
    /// Where the chunks that answer it go, and how many bytes they have.
    chunks: Option<(PathId, usize)>,
    /// Bytes of packets that acknowledge changes of addresses, each of which has one of its own.
    acknowledgements: usize,
}

impl PacketInHand<'_> {
    /// It came from a confirmed address of the peer, so that answers may go there.
    pub(super) fn is_from_confirmed(&self) -> bool {
        self.path == self.arrival
    }

    /// Paths have come and gone because of it.
    pub(super) fn follow(&mut self, paths: &Paths) {
        self.arrival = paths.find(self.source).unwrap_or_else(|| paths.data_path());
        let confirmed = paths[self.arrival].is_confirmed();
        self.path = if confirmed { self.arrival } else { paths.data_path() };
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

    /// It has a DATA chunk with this TSN, unwrapped; 0 for one received before.
    pub(super) fn note_tsn(&mut self, seq: u64) {
        self.lowest = Some(self.lowest.map_or(seq, |lowest| lowest.min(seq)));
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

    /// The source of what answers it on its path: where it arrived.
    pub(super) fn answer_source(&self, paths: &Paths, addresses: &Addresses) -> Option<IpAddr> {
        // To another address than it came from, that may be no way.
        let back = self.is_from_confirmed();
        addresses.reply_source(paths, self.path, self.local).filter(|_| back)
    }
}
