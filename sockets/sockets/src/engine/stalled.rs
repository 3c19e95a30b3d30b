//! Messages that wait for room in the send buffer of their association.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use tresse_socket_protocol::protocol::{MAX_PIECE, TxHeader};

/// A message as the program wrote it.
type Written = (TxHeader, Bytes);

/// Messages of one association, in their order.
#[derive(Default)]
struct Queue {
    messages: VecDeque<Written>,
    bytes: usize,
    /// Of those that may have come in one frame.
    short: usize,
}

/// Whether a message may have come in one frame, and not in several that were agreed on before.
fn is_short(len: usize) -> bool {
    len <= MAX_PIECE
}

/// How many bytes the program may write to an association of a one-to-many socket before it asks again.
pub(super) const ALLOWED: usize = 1 << 20;

/// More bytes of messages of one frame are there only if threads were allowed theirs at the same time, or a program asks for
/// nothing. Larger messages are not begun while others wait, and come one after the other if they have more bytes together.
const OVERFULL: usize = 4 * ALLOWED;

/// With this many bytes of all associations nothing more is allowed: four of the largest messages.
const ENOUGH: usize = 64 << 20;

//= RFC 6458 3.3-3 3.3-4
/// Those of a socket, by their associations: "Each association should conceptually have as much buffer space as it would
/// have if it had its own socket" (RFC 6458 §3.3).
#[derive(Default)]
pub(crate) struct Stalled {
    queues: BTreeMap<u32, Queue>,
    overfull: BTreeSet<u32>,
    /// Bytes of messages of several frames that have begun to come.
    coming: BTreeMap<u32, usize>,
    /// Of all queues.
    bytes: usize,
}

impl Stalled {
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Messages, of all associations.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queues.values().map(|queue| queue.messages.len()).sum()
    }

    /// Whether some of this association wait.
    pub(super) fn waits(&self, association: u32) -> bool {
        self.queues.contains_key(&association)
    }

    /// Whether an association has more than it should.
    pub(super) fn is_overfull(&self) -> bool {
        !self.overfull.is_empty()
    }

    /// Whether a message of this many bytes has to wait until others have come that would fill an association together with it.
    pub(super) fn waits_for_long(&self, association: u32, len: usize) -> bool {
        let coming = self.coming.get(&association);
        !is_short(len) && coming.is_some_and(|coming| coming + len > OVERFULL)
    }

    /// A message of several frames begins to come.
    pub(super) fn begin(&mut self, association: u32, len: usize) {
        *self.coming.entry(association).or_default() += len;
    }

    /// It has come, or nothing more of it does.
    pub(super) fn end(&mut self, association: u32, len: usize) {
        if let Some(coming) = self.coming.get_mut(&association) {
            *coming = coming.saturating_sub(len);
            self.coming.retain(|_, coming| *coming > 0);
        }
    }

    /// Whether so much waits that nothing more should.
    pub(super) fn is_enough(&self) -> bool {
        self.bytes >= ENOUGH
    }

    /// The associations, with the first one in front.
    pub(super) fn associations(&self) -> Vec<u32> {
        self.queues.keys().copied().collect()
    }

    /// A message behind those of its association.
    pub(super) fn push(&mut self, association: u32, message: Written) {
        self.enter(association, message, VecDeque::push_back);
    }

    /// A message in front of those of its association: it was there before.
    pub(super) fn put_back(&mut self, association: u32, message: Written) {
        self.enter(association, message, VecDeque::push_front);
    }

    fn enter(
        &mut self,
        association: u32,
        message: Written,
        place: fn(&mut VecDeque<Written>, Written),
    ) {
        let queue = self.queues.entry(association).or_default();
        let len = message.1.len();
        queue.bytes += len;
        queue.short += if is_short(len) { len } else { 0 };
        self.bytes += len;
        place(&mut queue.messages, message);
        self.look_at(association);
    }

    /// The first message of an association.
    pub(super) fn pop(&mut self, association: u32) -> Option<Written> {
        let queue = self.queues.get_mut(&association)?;
        let message = queue.messages.pop_front();
        let len = message.as_ref().map_or(0, |(_, payload)| payload.len());
        queue.bytes -= len;
        queue.short -= if is_short(len) { len } else { 0 };
        self.bytes -= len;
        self.look_at(association);
        message
    }

    /// All messages of an association.
    pub(super) fn remove(&mut self, association: u32) -> VecDeque<Written> {
        let queue = self.queues.remove(&association).unwrap_or_default();
        self.overfull.remove(&association);
        self.bytes -= queue.bytes;
        queue.messages
    }

    fn look_at(&mut self, association: u32) {
        let queue = self.queues.get(&association);
        if queue.is_some_and(|queue| queue.short > OVERFULL) {
            self.overfull.insert(association);
        } else {
            self.overfull.remove(&association);
        }
        if queue.is_some_and(|queue| queue.messages.is_empty()) {
            self.queues.remove(&association);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(len: usize, context: u32) -> Written {
        (TxHeader { context, ..TxHeader::default() }, vec![0; len].into())
    }

    #[test]
    fn each_association_has_its_own_order_and_its_own_limit() {
        let mut stalled = Stalled::default();
        assert!(stalled.is_empty() && !stalled.waits(1) && stalled.pop(1).is_none());
        stalled.push(1, message(2 * OVERFULL, 1));
        stalled.push(1, message(2 * OVERFULL, 2));
        assert!(!stalled.is_overfull(), "long messages are as large as they like");
        let most = OVERFULL / MAX_PIECE;
        for context in 0..most as u32 {
            stalled.push(2, message(MAX_PIECE, context));
        }
        assert!(!stalled.is_overfull());
        stalled.push(2, message(MAX_PIECE, most as u32));
        assert!(stalled.is_overfull());
        let first = stalled.pop(2).unwrap();
        assert_eq!(first.0.context, 0);
        assert!(!stalled.is_overfull());
        stalled.put_back(2, first);
        assert!(stalled.is_overfull());
        assert_eq!((stalled.len(), stalled.associations()), (most + 3, vec![1, 2]));
        let order = stalled.remove(2).into_iter().map(|(header, _)| header.context);
        assert!(order.eq(0..=most as u32));
        assert!(!stalled.is_overfull() && !stalled.waits(2) && stalled.waits(1));
        assert!(!stalled.is_enough());
        stalled.push(3, message(ENOUGH, 1));
        assert!(stalled.is_enough());
        stalled.remove(3);
        assert!(!stalled.is_enough());
        stalled.pop(1);
        stalled.pop(1);
        assert!(stalled.is_empty() && stalled.bytes == 0);
    }

    #[test]
    fn long_messages_come_together_while_they_are_few_bytes() {
        let mut stalled = Stalled::default();
        assert!(!stalled.waits_for_long(1, 2 * OVERFULL), "one is as large as it likes");
        stalled.begin(1, OVERFULL / 2);
        assert!(!stalled.waits_for_long(1, OVERFULL / 2));
        stalled.begin(1, OVERFULL / 2);
        assert!(stalled.waits_for_long(1, MAX_PIECE + 1));
        assert!(!stalled.waits_for_long(1, MAX_PIECE) && !stalled.waits_for_long(2, OVERFULL));
        stalled.end(1, OVERFULL / 2);
        assert!(!stalled.waits_for_long(1, OVERFULL / 2));
        stalled.end(1, OVERFULL / 2);
        assert!(stalled.coming.is_empty());
    }
}
