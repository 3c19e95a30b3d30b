//! What was not acknowledged in full, message by message, when the association ends or begins again.

use std::collections::BTreeMap;

use super::Outbound;
use crate::event::{Message, SendFailure};
use crate::scoreboard::NewChunk;

impl Outbound {
    /// Takes out all messages that are not acknowledged in full, oldest first.
    pub(in crate::send) fn drain(&mut self) -> Vec<SendFailure> {
        let mut messages = if self.queue.is_interleaving() {
            self.drain_interleaved()
        } else {
            self.drain_consecutive()
        };
        messages.extend(self.queue.drain_unsent());
        messages
    }

    fn drain_consecutive(&mut self) -> Vec<SendFailure> {
        let mut messages: Vec<SendFailure> = Vec::new();
        let mut parts: Vec<NewChunk> = Vec::new();
        let mut all_kept = true;
        for (chunk, kept) in self.board.drain() {
            if chunk.flags.beginning {
                // A message that the receiver keeps as a whole is as good as acknowledged.
                messages.extend(join(&mut parts).filter(|_| !all_kept));
                all_kept = true;
            }
            all_kept &= kept;
            parts.push(chunk);
        }
        // The queue returns a message of which it still holds a part whole.
        if !self.queue.mid_message() {
            messages.extend(join(&mut parts).filter(|_| !all_kept));
        }
        messages
    }

    /// Messages that are not acknowledged as a whole, where chunks of others come in between.
    fn drain_interleaved(&mut self) -> Vec<SendFailure> {
        let mut found: Vec<(Vec<NewChunk>, bool)> = Vec::new();
        let mut places = BTreeMap::new();
        for (chunk, kept) in self.board.drain() {
            let key = (chunk.stream.0, chunk.flags.unordered, chunk.mid.0);
            let place = *places.entry(key).or_insert(found.len());
            if place == found.len() {
                found.push((Vec::new(), true));
            }
            let (parts, all_kept) = &mut found[place];
            parts.push(chunk);
            *all_kept &= kept;
        }
        let queue = &self.queue;
        let is_over = |(mut parts, all_kept): (Vec<NewChunk>, bool)| {
            let first = parts.first()?;
            let whole = !queue.holds_rest(first.stream, first.flags.unordered, first.mid);
            join(&mut parts).filter(|_| whole && !all_kept)
        };
        found.into_iter().filter_map(is_over).collect()
    }
}

/// Joins the fragments of one message; those acknowledged before are gone from it.
pub(in crate::send) fn join(parts: &mut Vec<NewChunk>) -> Option<SendFailure> {
    let first = parts.first()?;
    let (stream, ppid, unordered) = (first.stream, first.ppid, first.flags.unordered);
    let (context, whole) = (first.context, first.flags.beginning);
    let payload = if parts.len() == 1 {
        first.payload.clone()
    } else {
        let slices: Vec<&[u8]> = parts.iter().map(|p| &p.payload[..]).collect();
        slices.concat().into()
    };
    parts.clear();
    let message = Message { stream, ppid, unordered, payload };
    Some(SendFailure { message, whole, context, sent: true })
}
