//! Messages that a program writes in several calls (SCTP_EXPLICIT_EOR, RFC 6458 §8.1.26).
//!
//! They are collected here, and the core gets each of them as a whole once SCTP_EOR has come: it cuts a message into chunks
//! of which the first ones could leave before, but has no message whose length is not known, and a peer that has half of one
//! waits for the other half with its stream. So a message may be larger than the send buffer, and never larger than others.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use tresse_socket_protocol::protocol::TxHeader;

/// What was written of a message whose end has not come.
pub(super) struct Unended {
    /// Of its first piece, which says what the message is like.
    header: TxHeader,
    payload: Vec<u8>,
    /// Bytes of all such messages of the socket.
    all: Rc<Cell<usize>>,
}

impl Unended {
    pub(super) fn begin(header: TxHeader, all: Rc<Cell<usize>>) -> Unended {
        Unended { header, payload: Vec::new(), all }
    }

    pub(super) fn append(&mut self, piece: &[u8]) {
        self.payload.extend_from_slice(piece);
        self.all.set(self.all.get() + piece.len());
    }

    /// Bytes that were written.
    pub(super) fn len(&self) -> usize {
        self.payload.len()
    }

    /// Whether a piece of this stream goes on with it.
    pub(super) fn is_of(&self, stream: u16) -> bool {
        self.header.stream == stream
    }

    /// Its association has another socket now, which counts so.
    pub(super) fn move_to(&mut self, all: &Rc<Cell<usize>>) {
        self.all.set(self.all.get() - self.payload.len());
        all.set(all.get() + self.payload.len());
        self.all = Rc::clone(all);
    }

    /// The message as far as it was written.
    pub(super) fn take(mut self) -> (TxHeader, Bytes) {
        self.all.set(self.all.get() - self.payload.len());
        (self.header, std::mem::take(&mut self.payload).into())
    }
}

impl Drop for Unended {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.payload.len());
    }
}
