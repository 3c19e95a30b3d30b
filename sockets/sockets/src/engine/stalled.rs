//! Messages that wait for room in the send buffer of their association.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use tresse_socket_protocol::protocol::TxHeader;

/// A message as the program wrote it.
type Written = (TxHeader, Bytes);

/// Messages of one association, in their order.
#[derive(Default)]
struct Queue {
    messages: VecDeque<Written>,
    bytes: usize,
}

/// How many bytes the program may write to an association of a one-to-many socket before it asks again.
pub(super) const ALLOWED: usize = 1 << 20;

/// More bytes of several messages are there only if threads were allowed theirs at the same time, or a program asks for
/// nothing. A single message may be as large as it likes.
const OVERFULL: usize = 4 * ALLOWED;

/// With this many bytes of all associations nothing more is allowed: four of the largest messages.
const ENOUGH: usize = 64 << 20;

/// Those of a socket, by their associations: "Each association should conceptually have as much buffer space as it would
/// have if it had its own socket" (RFC 6458 §3.3).
#[derive(Default)]
pub(crate) struct Stalled {
    queues: BTreeMap<u32, Queue>,
    overfull: BTreeSet<u32>,
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
        queue.bytes += message.1.len();
        self.bytes += message.1.len();
        place(&mut queue.messages, message);
        self.look_at(association);
    }

    /// The first message of an association.
    pub(super) fn pop(&mut self, association: u32) -> Option<Written> {
        let queue = self.queues.get_mut(&association)?;
        let message = queue.messages.pop_front();
        let len = message.as_ref().map_or(0, |(_, payload)| payload.len());
        queue.bytes -= len;
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
        if queue.is_some_and(|queue| queue.messages.len() > 1 && queue.bytes > OVERFULL) {
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
        assert!(!stalled.is_overfull(), "one message is as large as it likes");
        stalled.push(2, message(OVERFULL / 2, 1));
        stalled.push(2, message(OVERFULL / 2, 2));
        assert!(!stalled.is_overfull());
        stalled.push(2, message(1, 3));
        assert!(stalled.is_overfull());
        let first = stalled.pop(2).unwrap();
        assert_eq!(first.0.context, 1);
        assert!(!stalled.is_overfull());
        stalled.put_back(2, first);
        assert!(stalled.is_overfull());
        assert_eq!((stalled.len(), stalled.associations()), (4, vec![1, 2]));
        let order: Vec<u32> = stalled.remove(2).iter().map(|(header, _)| header.context).collect();
        assert_eq!(order, [1, 2, 3]);
        assert!(!stalled.is_overfull() && !stalled.waits(2) && stalled.waits(1));
        assert!(!stalled.is_enough());
        stalled.push(3, message(ENOUGH, 1));
        assert!(stalled.is_enough());
        stalled.remove(3);
        assert!(!stalled.is_enough());
        stalled.pop(1);
        assert!(stalled.is_empty() && stalled.bytes == 0);
    }
}
