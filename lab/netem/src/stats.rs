//! Counters of a link. They only grow.

use serde::Serialize;

use crate::time::Nanos;

/// Why a link did not deliver a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// Random early detection ([`RedConfig`](crate::RedConfig)) dropped it.
    Red,
    /// Controlled delay ([`CodelConfig`](crate::CodelConfig)) dropped it after it had waited.
    Codel,
    /// Random loss.
    Random,
    /// A `drop_*` list named it.
    Pattern,
    /// The link was or went down.
    Down,
}

impl DropCause {
    /// A short name for tables and captures.
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::Queue => "queue",
            DropCause::Red => "red",
            DropCause::Codel => "codel",
            DropCause::Random => "random",
            DropCause::Pattern => "pattern",
            DropCause::Down => "down",
        }
    }
}

/// What a link did so far.
///
/// At any moment `offered + duplicated == delivered + dropped() + in_transit`. Serialized without the
/// two integrals, which mean little without the link's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkStats {
    /// Packets offered.
    pub offered: u64,
    /// Those of them that carry user data.
    pub offered_data: u64,
    /// Those of them that carry an acknowledgment.
    pub offered_acks: u64,
    /// Bytes offered, link overhead not included.
    pub offered_bytes: u64,
    /// Packets delivered, copies and corrupted ones included.
    pub delivered: u64,
    /// Bytes delivered, link overhead not included.
    pub delivered_bytes: u64,
    /// Packets lost because the queue was full.
    pub dropped_queue: u64,
    /// Packets dropped by random early detection.
    pub dropped_red: u64,
    /// Packets dropped by controlled delay.
    pub dropped_codel: u64,
    /// Packets that `red` or `codel` marked instead of dropping them; they are not lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub marked: u64,
    /// Packets lost at random.
    pub dropped_random: u64,
    /// Packets lost because a list named them.
    pub dropped_pattern: u64,
    /// Packets lost because the link was or went down.
    pub dropped_down: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Corrupted packets delivered.
    pub corrupted: u64,
    /// Packets delivered after one that was offered later.
    pub reordered: u64,
    /// Packets inside the link now: waiting, being serialised, on the way or held back.
    pub in_transit: u64,
    /// The most packets that ever waited in the queue.
    pub max_queue_packets: u64,
    /// The most bytes that ever waited in the queue, link overhead included.
    pub max_queue_bytes: u64,
    /// Waiting packets integrated over time, in packet-nanoseconds.
    #[serde(skip)]
    pub queue_packet_nanos: u128,
    /// Waiting bytes integrated over time, in byte-nanoseconds.
    #[serde(skip)]
    pub queue_byte_nanos: u128,
}

impl LinkStats {
    /// Packets lost for any cause.
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue
            + self.dropped_red
            + self.dropped_codel
            + self.dropped_random
            + self.dropped_pattern
            + self.dropped_down
    }

    /// Average number of waiting packets over `span`, normally the age of the link.
    pub fn mean_queue_packets(&self, span: Nanos) -> f64 {
        mean(self.queue_packet_nanos, span)
    }

    /// Average number of waiting bytes over `span`, normally the age of the link.
    pub fn mean_queue_bytes(&self, span: Nanos) -> f64 {
        mean(self.queue_byte_nanos, span)
    }

    pub(crate) const fn count_drop(&mut self, cause: DropCause) {
        match cause {
            DropCause::Queue => self.dropped_queue += 1,
            DropCause::Red => self.dropped_red += 1,
            DropCause::Codel => self.dropped_codel += 1,
            DropCause::Random => self.dropped_random += 1,
            DropCause::Pattern => self.dropped_pattern += 1,
            DropCause::Down => self.dropped_down += 1,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn mean(integral: u128, span: Nanos) -> f64 {
    if span == Nanos::ZERO { 0.0 } else { integral as f64 / span.get() as f64 }
}
