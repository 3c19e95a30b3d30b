//! Messages that are put together, and how one is taken out (RFC 8260 §2.1).

use super::Interleaved;
use super::message::{Key, OPEN_CHARGE, OpenMessage, Piece, piece_charge};

impl Interleaved {
    pub(super) fn is_complete(&self, key: Key) -> bool {
        self.open.get(&key).is_some_and(|open| open.completed_at.is_some())
    }

    /// Takes a message out: its fragments are done with.
    pub(super) fn remove(&mut self, key: Key) -> Option<(OpenMessage, Vec<Piece>)> {
        let open = self.open.remove(&key)?;
        if let Some(parts) = &mut self.extra.parts {
            parts.forget(key);
        }
        self.charge -= OPEN_CHARGE + open.buffer.len();
        self.buffers -= open.buffer.capacity();
        let mut pieces = Vec::new();
        while let Some((&at, _)) = self.pieces.range((key, 0)..=(key, u64::MAX)).next() {
            let Some(piece) = self.pieces.remove(&at) else { break };
            let charge = piece_charge(piece.payload.len());
            self.charge -= charge;
            if self.beyond.remove(&piece.seq).is_some() {
                self.beyond_charge -= charge;
            }
            self.note_done(piece.seq);
            pieces.push(piece);
        }
        Some((open, pieces))
    }

    /// A chunk will never be dropped.
    pub(in super::super) fn note_done(&mut self, seq: u64) {
        if let Some(done) = self.extra.done.as_mut().filter(|_| seq >= self.edge) {
            done.insert(seq);
        }
    }
}
