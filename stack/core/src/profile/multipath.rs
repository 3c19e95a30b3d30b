//! Parameters of concurrent multipath transfer (CMT), with units, defaults and sources. They are in
//! force for associations that ask for it
//! ([`AssociationConfig::concurrent_transfer`](crate::AssociationConfig::concurrent_transfer)), but for the window of
//! what SACKs report, which bounds those of all associations.
//!
//! The defaults are CMT as draft-tuexen-tsvwg-sctp-multipath describes it.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::parameters::{choices, parameters};

choices! {
    /// Which path a packet of new data takes.
    Scheduler {
        /// The primary path alone, as long as it is active (RFC 9260 §6.4).
        Primary,
        /// One path after the other, as far as their windows allow.
        RoundRobin,
        /// The path with the smallest smoothed RTT whose window has room.
        MinRtt,
        /// Earliest Completion First (Lim et al. 2017): waits for the faster path if that is sooner.
        Ecf,
        /// Blocking Estimation (Ferlin et al. 2016): does not use a slow path that would block the
        /// fast one by filling the send window.
        Blest,
        /// `blest`, with what all other paths would send, not only the fastest.
        BlestAll,
        /// Thin streams go over all paths at once; others as with `min-rtt`.
        Redundant,
    }
}

/// Which path a retransmission takes (Iyengar et al. 2006 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum RetransmissionPolicy {
    /// The same path, until it fails (RTX-SAME).
    Same,
    /// Another active path; a timeout counts as RFC 9260 §6.4 says.
    Alternate,
    /// The one with the largest congestion window (RTX-CWND).
    LargestCwnd,
    /// The one with the largest slow start threshold (RTX-SSTHRESH), FreeBSD's choice.
    LargestSsthresh,
    /// The one that lost least, of what was sent there (RTX-LOSSRATE).
    LowestLoss,
    /// The one with the smallest smoothed RTT.
    MinRtt,
    /// The one that delivers it first: by its smoothed RTT, and the time until its congestion window has
    /// room for it, behind what is lost before it.
    Earliest,
}

/// Whether a path may use only its share of the buffers (Dreibholz et al. 2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum BufferSplitting {
    /// It may use all.
    None,
    /// Its share of bytes in flight.
    Outstanding,
    /// Its share of bytes that are not cumulatively acknowledged.
    Buffered,
}

/// What is sent again over another path when it blocks the buffers (Dreibholz et al. 2010; Sarnow
/// 2017 §6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum ChunkRescheduling {
    /// Nothing.
    Off,
    /// The lowest missing TSN, once per round trip of the blocking path.
    Lowest,
    /// All missing TSNs of the blocking path before the first one acknowledged by a gap block.
    Blocking,
}

parameters! {
    /// Concurrent multipath transfer (Sarnow 2017 §3.2; draft-tuexen-tsvwg-sctp-multipath).
    MultipathParameters {
        /// Which path a packet of new data takes. Default `round-robin`.
        scheduler: Scheduler = Scheduler::RoundRobin,
        /// Congestion windows grow as if each path had a Cumulative TSN Ack Point of its own (CUC).
        /// Default true.
        cwnd_update: bool = true,
        /// A chunk is missing only if a higher one *of the same path* was newly acknowledged.
        /// Default true.
        split_fast_retransmit: bool = true,
        /// A chunk that was sent again over another path is not struck any more. Default true.
        smart_fast_retransmit: bool = true,
        /// A chunk that was fast-retransmitted over the same path can be so again: the
        /// `no_fr_allowed` fix (Sarnow 2017 §6.2.1). Default false, as RFC 9260 §7.2.4 rule 5 has it.
        fast_retransmit_again: bool = false,
        /// Which path a retransmission takes. Default `same`.
        retransmission: RetransmissionPolicy = RetransmissionPolicy::Same,
        /// Whether a path may use only its share of the buffers. Default `none`.
        buffer_splitting: BufferSplitting = BufferSplitting::None,
        /// What is sent again when it blocks the buffers. Default `off`.
        chunk_rescheduling: ChunkRescheduling = ChunkRescheduling::Off,
        /// The part of the send buffer, or of the peer's receive buffer, that must be occupied
        /// before chunks are rescheduled, 0 to 1. Default 0.5.
        rescheduling_threshold: f64 [0.0, 1.0] = 0.5,
        /// What is in flight on a path that stops answering leaves again over another one after
        /// about two round trips, instead of after RTO; until the path answers a HEARTBEAT it gets no
        /// new data. Needs `heartbeat.enabled`. Default false.
        silent_path: bool = false,
        /// The receiver does not answer at once because of a gap, once data has come over two paths,
        /// and SACKs say how many packets they answer (DAC); the sender counts a miss for each.
        /// Halves the SACKs of concurrent transfer; both ends should have it. Default false.
        dac: bool = false,
        /// The SACK window `swnd`, in TSNs, 0 for none (Sarnow 2017 §6.2.2). Bounds the work of a
        /// SACK, and leaves what is beyond it in flight for longer. Default 0.
        sack_window: u32 = 0,
        /// 0: the receiver reports no TSN more than `sack_window` beyond the Cumulative TSN Ack.
        /// Otherwise it reports all, and the sender looks at the first `sack_window` of them and at
        /// one of this many pieces of the rest in turn (§6.3.2); only in the window do chunks count as
        /// missing. RACK, which needs the whole picture, should be off. Default 0.
        sack_window_pieces: u32 = 0,
        /// Keeps the queue of each path short: once a path was seen full, packets leave at the rate that it was
        /// measured to carry, and twice its bandwidth-delay product is in flight at most, and an eighth of
        /// it, but no more than this many packets (docs/adr/0014); 0 leaves it to congestion control.
        /// Default 0. Yields to flows that fill the queue of a shared bottleneck, and takes more than one share
        /// where others do not.
        queue_limit_packets: u32 = 0,
        /// Pacing: packets leave at this many times the rate of the congestion window, twice that in
        /// slow start; 0 turns pacing off, and Max.Burst holds. Default 0.
        pacing: f64 [0.0, 100.0] = 0.0,
    }
}
