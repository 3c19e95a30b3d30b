//! What is counted for the data of one direction, SCTP's and TCP's alike.

use std::collections::BTreeMap;

use crate::rto::Rto;
use crate::statistics::{Class, Delays, Retransmissions};
use crate::terms::Proof;

/// Classes of the number of TSNs in the gap blocks of a SACK (Sarnow 2017, figure 5.2): the largest
/// number of each, without the last class, which has no end.
pub const GAP_ACKED_CLASSES: [u64; 6] = [0, 100, 250, 500, 750, 1000];

/// Milliseconds between two times in nanoseconds; 0 if the clock went backwards.
pub(crate) fn ms(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}

/// Counters of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// First and last user data.
    pub(crate) first_at: Option<u64>,
    pub(crate) last_at: u64,
    /// Last acknowledgement of something new.
    pub(crate) acked_at: u64,
    /// DATA chunks or segments with data, and their user data.
    pub(crate) units: u64,
    pub(crate) bytes: u64,
    /// Those of them that were sent before.
    pub(crate) again: u64,
    pub(crate) again_bytes: u64,
    /// Those of them that were acknowledged before they were sent again.
    pub(crate) after_ack: u64,
    /// Cumulatively acknowledged user data.
    pub(crate) acked_bytes: u64,
    /// Acknowledged, but never seen.
    pub(crate) unseen: u64,
    /// Acknowledgements for this direction, their gap blocks and duplicate reports.
    pub(crate) sacks: u64,
    pub(crate) gap_blocks: u64,
    pub(crate) gap_block_counts: BTreeMap<u32, u64>,
    pub(crate) gap_acked: [u64; GAP_ACKED_CLASSES.len() + 1],
    pub(crate) duplicates: u64,
    pub(crate) retransmissions: Retransmissions,
    /// Since the last transmission, of chunks that a timeout sent again.
    pub(crate) timer: Delays,
    /// Since the last transmission, of all that was sent again.
    pub(crate) since_last: Delays,
    pub(crate) most_again: u32,
    pub(crate) rtt: Delays,
    pub(crate) rto: Rto,
    pub(crate) flight_max: u64,
    flight_sum: u128,
    flight_samples: u64,
    pub(crate) spurious: BTreeMap<Proof, u64>,
    /// User messages that are through, and how long that took.
    pub(crate) messages: u64,
    pub(crate) transfer: Delays,
}

impl Flow {
    pub(crate) fn new(rto_min_ms: f64) -> Flow {
        Flow {
            first_at: None,
            last_at: 0,
            acked_at: 0,
            units: 0,
            bytes: 0,
            again: 0,
            again_bytes: 0,
            after_ack: 0,
            acked_bytes: 0,
            unseen: 0,
            sacks: 0,
            gap_blocks: 0,
            gap_block_counts: BTreeMap::new(),
            gap_acked: [0; GAP_ACKED_CLASSES.len() + 1],
            duplicates: 0,
            retransmissions: Retransmissions::default(),
            timer: Delays::default(),
            since_last: Delays::default(),
            most_again: 0,
            rtt: Delays::default(),
            rto: Rto::new(rto_min_ms),
            flight_max: 0,
            flight_sum: 0,
            flight_samples: 0,
            spurious: BTreeMap::new(),
            messages: 0,
            transfer: Delays::default(),
        }
    }

    /// User data is sent.
    pub(crate) fn sent(&mut self, now: u64, bytes: u64) {
        self.first_at.get_or_insert(now);
        self.last_at = now;
        self.units += 1;
        self.bytes += bytes;
    }

    /// It was sent before: at `first` for the first time, at `last` for the last.
    pub(crate) fn sent_again(&mut self, count: u32, class: Class, delay_ms: f64, last_ms: f64) {
        self.retransmissions.note(count, class, delay_ms);
        self.since_last.note(last_ms);
        self.most_again = self.most_again.max(count);
        if class == Class::Timeout {
            self.timer.note(last_ms);
        }
    }

    /// An acknowledgement with this many gap blocks, which report this many TSNs.
    pub(crate) fn sack(&mut self, blocks: u32, reported: u64, duplicates: u64) {
        self.sacks += 1;
        self.gap_blocks += u64::from(blocks);
        *self.gap_block_counts.entry(blocks).or_default() += 1;
        self.duplicates += duplicates;
        let class = GAP_ACKED_CLASSES.iter().position(|most| reported <= *most);
        self.gap_acked[class.unwrap_or(GAP_ACKED_CLASSES.len())] += 1;
    }

    /// Bytes in flight after an acknowledgement or a transmission.
    pub(crate) fn flight(&mut self, bytes: u64) {
        self.flight_max = self.flight_max.max(bytes);
        self.flight_sum += u128::from(bytes);
        self.flight_samples += 1;
    }

    /// Mean of the bytes in flight.
    pub(crate) fn flight_mean(&self) -> f64 {
        self.flight_sum as f64 / self.flight_samples.max(1) as f64
    }

    /// A round-trip time, of data sent at `sent`; in milliseconds.
    pub(crate) fn round_trip(&mut self, now: u64, sent: u64) -> f64 {
        let rtt = ms(sent, now);
        self.rtt.note(rtt);
        self.rto.sample(now, sent, rtt);
        rtt
    }

    /// Adds what is counted of another direction to a total.
    pub(crate) fn merge(&mut self, other: &Flow) {
        self.units += other.units;
        self.bytes += other.bytes;
        self.again += other.again;
        self.again_bytes += other.again_bytes;
        self.after_ack += other.after_ack;
        self.acked_bytes += other.acked_bytes;
        self.unseen += other.unseen;
        self.sacks += other.sacks;
        self.gap_blocks += other.gap_blocks;
        for (blocks, count) in &other.gap_block_counts {
            *self.gap_block_counts.entry(*blocks).or_default() += count;
        }
        for (own, count) in self.gap_acked.iter_mut().zip(other.gap_acked) {
            *own += count;
        }
        self.duplicates += other.duplicates;
        self.retransmissions.merge(&other.retransmissions);
        self.timer.merge(&other.timer);
        self.since_last.merge(&other.since_last);
        self.most_again = self.most_again.max(other.most_again);
        self.rtt.merge(&other.rtt);
        self.flight_max = self.flight_max.max(other.flight_max);
        self.flight_sum += other.flight_sum;
        self.flight_samples += other.flight_samples;
        self.messages += other.messages;
        self.transfer.merge(&other.transfer);
        for (proof, count) in &other.spurious {
            *self.spurious.entry(*proof).or_default() += count;
        }
    }
}
