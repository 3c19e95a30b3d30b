//! Pieces of messages that a program writes in several calls, as they come (SCTP_EXPLICIT_EOR, RFC 6458 §8.1.26).

use std::rc::Rc;

use bytes::Bytes;
use tresse_socket_protocol::abi::{errno, sinfo};
use tresse_socket_protocol::protocol::TxHeader;

use super::unended::Unended;
use super::{Engine, Fallible};

/// Bytes of all messages of a socket without an end: as many as of those that wait for room.
const MOST: usize = 64 << 20;

impl Engine {
    /// Whether a piece has to wait until those before it are read: whether it may follow them is not known before.
    pub(super) fn is_behind(&mut self, id: u64, header: &TxHeader, len: usize) -> Fallible<bool> {
        let socket = self.socket(id)?;
        let reads = !socket.is_held_up() && !socket.connecting;
        let is_piece = len > 0 || header.sinfo_flags & sinfo::EOR != 0;
        let behind = socket.options.explicit_end && is_piece && !reads;
        let behind = behind && header.sinfo_flags & (sinfo::ABORT | sinfo::SENDALL) == 0;
        if behind {
            socket.refuse();
        }
        Ok(behind)
    }

    //= RFC 6458 8.1.26-1
    /// How long a message is with a piece of `len` bytes that is about to be written. EINVAL if it is of another stream than the
    /// one whose end has not come, or ends none; EMSGSIZE above what a message may have, ENOBUFS if all such messages of the
    /// socket would have too much, but for a piece that makes it less.
    pub(super) fn check_piece(
        &self,
        id: u64,
        number: u32,
        header: &TxHeader,
        len: usize,
    ) -> Fallible<usize> {
        let Some(socket) = self.sockets.get(&id) else { return Err(errno::EBADF) };
        let unended = self.associations.get(&number).and_then(|a| a.unended.as_ref());
        // These have bytes of their own, or none.
        if header.sinfo_flags & (sinfo::ABORT | sinfo::SENDALL) != 0 {
            return Ok(len);
        }
        let explicit = socket.options.explicit_end;
        let ends = !explicit || header.sinfo_flags & (sinfo::EOR | sinfo::EOF) != 0;
        let too_much = !ends && socket.unended.get() + len > MOST;
        let Some(unended) = unended else {
            let nothing = explicit && len == 0 && header.sinfo_flags & sinfo::EOF == 0;
            return match (nothing, too_much) {
                (true, _) => Err(errno::EINVAL),
                (false, true) => Err(errno::ENOBUFS),
                (false, false) => Ok(len),
            };
        };
        if len > 0 && !unended.is_of(header.stream) {
            return Err(errno::EINVAL);
        }
        let total = unended.len() + len;
        if total > socket.options.max_message() {
            return Err(errno::EMSGSIZE);
        }
        if too_much {
            return Err(errno::ENOBUFS);
        }
        Ok(total)
    }

    /// What is to be sent now that a program has written something: all of a message whose end it is, or what needs none.
    pub(super) fn gather(
        &mut self,
        id: u64,
        header: TxHeader,
        piece: Bytes,
    ) -> Option<(TxHeader, Bytes)> {
        let passes = header.sinfo_flags & sinfo::ABORT != 0
            || (piece.is_empty() && header.sinfo_flags & sinfo::EOR == 0);
        let Some(socket) = self.sockets.get(&id).filter(|_| !passes) else {
            return Some((header, piece));
        };
        let own = socket.associations.first().copied().filter(|_| !socket.many);
        let number = own.unwrap_or(header.association);
        let (explicit, all) = (socket.options.explicit_end, Rc::clone(&socket.unended));
        let most = socket.options.max_message();
        let Some(association) = self.associations.get_mut(&number).filter(|a| !a.ended) else {
            return Some((header, piece));
        };
        let ends = !explicit || header.sinfo_flags & (sinfo::EOR | sinfo::EOF) != 0;
        if ends && association.unended.is_none() {
            return Some((header, piece));
        }
        let begun = association.unended.get_or_insert_with(|| Unended::begin(header, all));
        let too_long = begun.len() + piece.len() > most;
        if !piece.is_empty() && (!begun.is_of(header.stream) || too_long) {
            // Another thread was allowed to begin a message at the same time, or to go on with it.
            self.give_back(id, &header, piece);
            return None;
        }
        begun.append(&piece);
        if !ends {
            return None;
        }
        let (mut whole, message) = association.unended.take()?.take();
        whole.sinfo_flags |= header.sinfo_flags & sinfo::EOF;
        Some((whole, message))
    }

    /// The end of a message will not come any more: it comes back as far as it was written.
    pub(super) fn return_unended(&mut self, id: u64, number: u32) {
        let unended = self.associations.get_mut(&number).and_then(|a| a.unended.take());
        if let Some((header, payload)) = unended.map(Unended::take) {
            self.give_back(id, &header, payload);
        }
    }
}
