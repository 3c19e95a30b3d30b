//! What will happen when.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tresse_core::Time;

/// Something that will happen. Numbers are indices of hosts, links and changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A host begins its n-th life.
    Start { host: u32, life: u32 },
    /// A link may have a packet to deliver. Void unless the generation is the link's.
    Link { link: u32, generation: u32 },
    /// An endpoint's timer may be due. Void unless the generation is the endpoint's.
    Endpoint { host: u32, generation: u32 },
    /// A timer of an application or node. Void unless the host still lives that life.
    Timer { host: u32, life: u32, token: u64 },
    /// A host's processor is done with a packet. Void unless the host still lives that life.
    Processed { host: u32, life: u32 },
    /// An ICMP message reaches a host.
    Report { index: u32 },
    /// A scheduled change.
    Change { index: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Time,
    /// Breaks ties: first scheduled, first served.
    sequence: u64,
    happening: Happening,
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed: the heap's greatest element is the first to happen.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

/// Happenings in the order of time, ties in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    scheduled: u64,
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Time, happening: Happening) {
        self.scheduled += 1;
        self.heap.push(Entry { at, sequence: self.scheduled, happening });
    }

    pub(crate) fn peek(&self) -> Option<(Time, Happening)> {
        self.heap.peek().map(|entry| (entry.at, entry.happening))
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Happening)> {
        self.heap.pop().map(|entry| (entry.at, entry.happening))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_keep_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        for (at, index) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            queue.push(Time::from_millis(at), Happening::Change { index });
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, h)| h).collect();
        let change = |index| Happening::Change { index };
        assert_eq!(order, [change(1), change(3), change(0), change(2)]);
    }
}
