//! The queue between the packets that the core writes one by one and the system calls that send
//! many at once.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use crate::{CarrierStats, Ecn, IpFragments, IpLabels};

/// The most bytes that one segmented send may carry: an IPv4 packet's payload less the UDP header.
const MAX_BATCH_BYTES: usize = 65_535 - 20 - 8;

/// Bytes waiting beyond which [`SendQueue::is_full`] asks the producer to stop.
const HIGH_WATER: usize = 512 * 1024;

/// What all datagrams of one segmented send share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) destination: SocketAddr,
    pub(crate) source: Option<IpAddr>,
    /// The interface to leave by; 0 leaves it to the system.
    pub(crate) interface: u32,
    pub(crate) ecn: Ecn,
    pub(crate) labels: IpLabels,
    /// Whether IP may fragment it. Such a datagram is a batch of its own.
    pub(crate) fragments: IpFragments,
}

/// One system call's worth: datagrams of `segment` bytes each, the last one perhaps shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) target: Target,
    pub(crate) segment: usize,
    start: usize,
    len: usize,
}

impl Batch {
    /// How many datagrams there are.
    pub(crate) fn datagrams(&self) -> usize {
        self.len.div_ceil(self.segment)
    }

    fn takes(&self, target: &Target, len: usize, max_segments: usize) -> bool {
        self.target == *target
            && !target.fragments.are_allowed()
            && len <= self.segment
            // Only the last datagram of a segmented send may be shorter than the others.
            && self.len.is_multiple_of(self.segment)
            && self.len / self.segment < max_segments
            && self.len + len <= MAX_BATCH_BYTES
    }
}

/// Packets that wait for the system, in order, neighbours of equal size and target coalesced.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    bytes: Vec<u8>,
    batches: VecDeque<Batch>,
}

impl SendQueue {
    /// Appends a packet. `max_segments` is how many the system takes in one call, 1 if it cannot
    /// segment.
    pub(crate) fn push(&mut self, target: Target, packet: &[u8], max_segments: usize) {
        if packet.is_empty() {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(packet);
        if let Some(last) = self.batches.back_mut()
            && last.takes(&target, packet.len(), max_segments)
        {
            last.len += packet.len();
            return;
        }
        self.batches.push_back(Batch { target, segment: packet.len(), start, len: packet.len() });
    }

    /// The batch to send next, and its bytes.
    pub(crate) fn front(&self) -> Option<(Batch, &[u8])> {
        let batch = *self.batches.front()?;
        Some((batch, &self.bytes[batch.start..batch.start + batch.len]))
    }

    /// All batches and their bytes, in order.
    #[cfg(target_os = "linux")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Batch, &[u8])> {
        self.batches.iter().map(|b| (*b, &self.bytes[b.start..b.start + b.len]))
    }

    /// How many datagrams wait.
    pub(crate) fn len(&self) -> usize {
        self.batches.iter().map(Batch::datagrams).sum()
    }

    /// Drops the first `datagrams` datagrams of the front batch: they were sent or given up.
    pub(crate) fn advance(&mut self, datagrams: usize) {
        let Some(batch) = self.batches.front_mut() else { return };
        let bytes = (datagrams * batch.segment).min(batch.len);
        batch.start += bytes;
        batch.len -= bytes;
        if batch.len == 0 {
            self.batches.pop_front();
        }
        if self.batches.is_empty() {
            self.bytes.clear();
        }
    }

    /// The system's buffer is full: ready when there is room, as `writable` says. `blocked` says that it has been so
    /// since the flush began.
    pub(crate) fn poll_room(
        &mut self,
        cx: &mut Context<'_>,
        blocked: &mut bool,
        stats: &mut CarrierStats,
        writable: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<()> {
        stats.send_blocked += 1;
        if std::mem::replace(blocked, true) {
            cx.waker().wake_by_ref(); // Others first: ICMP may wait to be read.
            return Poll::Pending;
        }
        writable(cx).map(|writable| {
            // No descriptor is left, or the runtime is going away; packets may be lost at any time.
            if writable.is_err() {
                stats.send_failed += self.len() as u64;
                *self = SendQueue::default();
            }
        })
    }

    /// Whether so much waits that nothing should be added. The memory is reclaimed when the queue
    /// has drained, so this stays true until then.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= HIGH_WATER
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(port: u16) -> Target {
        Target {
            destination: SocketAddr::from(([127, 0, 0, 1], port)),
            source: None,
            interface: 0,
            ecn: Ecn::NotEct,
            labels: IpLabels::default(),
            fragments: IpFragments::Forbidden,
        }
    }

    fn shape(queue: &mut SendQueue) -> Vec<(u16, usize, usize)> {
        let mut shape = Vec::new();
        while let Some((batch, bytes)) = queue.front() {
            assert_eq!(bytes.len(), batch.len);
            shape.push((batch.target.destination.port(), batch.segment, batch.datagrams()));
            queue.advance(batch.datagrams());
        }
        shape
    }

    #[test]
    fn equal_neighbours_share_a_batch_and_a_shorter_one_ends_it() {
        let mut queue = SendQueue::default();
        for (port, len) in [(1, 100), (1, 100), (1, 60), (1, 60), (1, 61), (2, 61), (1, 61)] {
            queue.push(target(port), &vec![0; len], 64);
        }
        queue.push(Target { ecn: Ecn::Ect0, ..target(1) }, &[0; 61], 64);
        queue.push(target(1), &[], 64);
        (0..2).for_each(|_| {
            queue.push(Target { fragments: IpFragments::Allowed, ..target(1) }, &[0; 9], 64);
        });
        assert_eq!(queue.len(), 10);
        assert_eq!(
            shape(&mut queue),
            [
                (1, 100, 3),
                (1, 60, 1),
                (1, 61, 1),
                (2, 61, 1),
                (1, 61, 1),
                (1, 61, 1),
                (1, 9, 1),
                (1, 9, 1)
            ]
        );
        assert!(queue.is_empty() && queue.bytes.is_empty());
    }

    #[test]
    fn segments_and_bytes_are_limited() {
        let mut queue = SendQueue::default();
        (0..130).for_each(|_| queue.push(target(1), &[0; 20], 64));
        (0..50).for_each(|_| queue.push(target(1), &[0; 1472], 64));
        (0..2).for_each(|_| queue.push(target(1), &[0; 9], 1));
        assert_eq!(
            shape(&mut queue),
            [
                (1, 20, 64),
                (1, 20, 64),
                (1, 20, 2),
                (1, 1472, 44),
                (1, 1472, 6),
                (1, 9, 1),
                (1, 9, 1)
            ]
        );
    }

    #[test]
    fn a_batch_can_be_sent_piece_by_piece() {
        let mut queue = SendQueue::default();
        for byte in 0..3u8 {
            queue.push(target(1), &[byte; 10][..10 - usize::from(byte / 2)], 64);
        }
        queue.advance(1);
        let (batch, bytes) = queue.front().unwrap();
        assert_eq!((batch.datagrams(), bytes[0], bytes[10]), (2, 1, 2));
        queue.advance(1);
        assert_eq!(queue.front().unwrap().1, &[2; 9]);
        queue.advance(1);
        assert!(queue.is_empty());
        queue.advance(1);
    }

    #[test]
    fn fullness_ends_only_with_emptiness() {
        let mut queue = SendQueue::default();
        while !queue.is_full() {
            queue.push(target(1), &[0; 1400], 64);
        }
        queue.advance(1);
        assert!(queue.is_full());
        shape(&mut queue);
        assert!(!queue.is_full());
    }
}
