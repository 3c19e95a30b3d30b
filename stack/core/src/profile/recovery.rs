//! Parameters of the recovery mechanisms, with units, defaults and sources. Every mechanism has a
//! switch of its own; all are off in `rfc9260`.

use std::time::Duration;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::parameters::{millis, parameters};

parameters! {
    /// Fast Retransmit (RFC 9260 §7.2.4).
    FastRetransmitParameters {
        /// Miss indications that declare a chunk lost; 0 turns fast retransmit off. Default 3.
        threshold: u32 = 3,
        /// Miss indications follow Highest TSN Newly Acknowledged; otherwise every SACK strikes
        /// every TSN that it reports missing (RFC 2960). Default true.
        htna: bool = true,
        /// Fast Recovery: no second cut of cwnd until the exit point. Default true.
        fast_recovery: bool = true,
        /// A TSN can be fast-retransmitted again after `threshold` further miss indications.
        /// Default false (rule 5: ineligible). Each SACK sends no more than one packet in this way.
        repeat: bool = false,
        /// T3-rtx restarts when the earliest outstanding TSN is fast-retransmitted (rule 4).
        /// Default true.
        restart_t3: bool = true,
        /// Fast retransmissions go to another active address, if there is one (RFC 2960 §6.4).
        /// Default false: to the same one (RFC 9260 §6.4).
        alternate_path: bool = false,
    }
}

parameters! {
    /// Early Retransmit counted in bytes (RFC 5827 §3.1).
    EarlyRetransmitBytesParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
    }
}

/// What "outstanding packets" counts in packet-based Early Retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum OutstandingCount {
    /// Packets neither cumulatively nor gap acknowledged, as an SCTP sender counts its flight.
    InFlight,
    /// Packets not cumulatively acknowledged; gap-acknowledged ones count (RFC 5827 §3.2).
    NotCumulativelyAcked,
}

parameters! {
    /// Early Retransmit counted in packets (Hurtig & Brunstrom §2.3; RFC 5827 §3.2).
    EarlyRetransmitPacketsParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// What counts as outstanding. Default `in-flight`: with it the mechanism "lowers its
        /// threshold when the amount of outstanding data gets below four packets" as SACKs
        /// arrive, which Figures 2 and 4 of the paper show.
        count: OutstandingCount = OutstandingCount::InFlight,
    }
}

parameters! {
    /// Limited Transmit (RFC 3042).
    LimitedTransmitParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// New packets it may send in one loss episode. Default 2.
        packets: u32 = 2,
        /// Only while the stream is thin, and few SACKs can come. A queue that has just overflowed is spared; a
        /// loss among five packets is found as late as without Limited Transmit. Default false.
        only_thin: bool = false,
    }
}

parameters! {
    /// The T3-rtx timer (RFC 9260 §6.3.2, §6.3.3).
    T3RtxParameters {
        /// RTO is multiplied by this at each expiration (rule E2). Default 2.
        backoff: f64 [1.0, 10.0] = 2.0,
        /// An expiration backs off only after it has sent again and armed the timer: the next one comes
        /// after the RTO of before, as in Linux 2.6.15 (Pedersen 2006, Tables 3.2 to 3.5: second
        /// expirations exactly 1000 ms after the first). Default false.
        backs_off_late: bool = false,
    }
}

/// How packets in flight are counted to tell whether a stream is thin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum ThinDetector {
    /// The estimate of Pedersen 2006 §4.1.2: a SACK with gap blocks stands for one packet.
    Estimate,
    /// Exactly, from the scoreboard.
    Exact,
}

parameters! {
    /// What makes a stream thin (Pedersen 2006 §4.1).
    ThinStreamParameters {
        /// How packets are counted. Default `exact`.
        detector: ThinDetector = ThinDetector::Exact,
        /// Thin while fewer packets than this are in flight. Default 5: a lost packet and the
        /// four whose SACKs RFC 2960 needs to fast-retransmit it.
        below_packets: u32 = 5,
    }
}

/// A mechanism that is on or off and has no other parameter.
macro_rules! switch {
    ($(#[$doc:meta])* $name:ident) => {
        parameters! {
            $(#[$doc])*
            $name {
                /// Whether it runs. Default false.
                enabled: bool = false,
            }
        }
    };
}

switch! {
    /// Fast retransmit after one SACK while thin (Pedersen 2006 §4.2.1).
    ThinFastRetransmitParameters
}
parameters! {
    /// While thin, a fast retransmission carries all outstanding chunks that fit its packet
    /// (Pedersen 2006 §4.2.2).
    BundleFastRetransmitParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// Only chunks whose SACK is overdue: sent longer than SRTT + `overdue_rttvar` RTTVAR ago.
        /// Default false: all, as in the paper. Avoids most duplicates, and helps a little less.
        overdue_only: bool = false,
        /// How late a SACK must be for its chunk to be overdue, in multiples of RTTVAR. Default 4:
        /// when T3-rtx would have expired but for RTO.Min. Less repairs more losses before they are
        /// declared, and sends more of what is only late.
        overdue_rttvar: f64 [0.0, 100.0] = 4.0,
    }
}

impl BundleFastRetransmitParameters {
    /// By how many RTTVAR a chunk must be overdue; `None` if it need not be.
    pub(crate) fn overdue(&self) -> Option<f64> {
        self.overdue_only.then_some(self.overdue_rttvar)
    }
}

parameters! {
    /// While thin, a packet of new data carries the outstanding chunks that fit (Pedersen 2006 §4.4).
    BundleNewParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// As [`BundleFastRetransmitParameters::overdue_only`]. Default false.
        overdue_only: bool = false,
        /// As [`BundleFastRetransmitParameters::overdue_rttvar`]. Default 4.
        overdue_rttvar: f64 [0.0, 100.0] = 4.0,
    }
}

impl BundleNewParameters {
    /// As [`BundleFastRetransmitParameters::overdue`].
    pub(crate) fn overdue(&self) -> Option<f64> {
        self.overdue_only.then_some(self.overdue_rttvar)
    }
}

parameters! {
    /// A lower RTO.Min while thin (Pedersen 2006 §4.3.1).
    ThinRtoMinParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// RTO.Min of a thin stream in milliseconds. Default 200.
        min_ms: f64 [0.0, 3.6e6] = 200.0,
    }
}

impl ThinRtoMinParameters {
    /// RTO.Min of a thin stream.
    pub fn min(&self) -> Duration {
        millis(self.min_ms)
    }
}

parameters! {
    /// No exponential backoff while thin (Pedersen 2006 §4.3.4).
    ThinNoBackoffParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// Expirations in a row that do not back off; 0 is no limit, as in the paper. Default 0.
        expirations: u32 = 0,
        /// RTO is doubled after all if the peer twice reports as a duplicate what was sent again, and
        /// the RTT was not measured in between. Default true; the paper has no such rule.
        backs_off_if_spurious: bool = true,
    }
}

parameters! {
    /// RTO restart (Pedersen 2006 §4.3.3; RFC 7765).
    RtoRestartParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// Only while fewer packets than this are outstanding or waiting; RFC 7765 says 4. 0 is
        /// always, as in the paper. Default 4.
        below_packets: u32 = 4,
    }
}

switch! {
    /// One budget for everything that may be sent in vain: bundled copies, retransmissions after one
    /// SACK, tail loss probes, timers that expire before those of RFC 9260 (which `limits.patience` follows).
    /// Without it each mechanism does what its paper says, however congested the path is.
    BudgetParameters
}

/// How the dynamic RTO.Min computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum Arithmetic {
    /// Integers and whole clock ticks, as in Listing 1.
    Integer,
    /// Floating point.
    Float,
}

parameters! {
    /// Dynamic RTO.Min (Gonzalez, Peng & McClellan 2015 §6).
    DynamicRtoMinParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// How it computes. Default `integer`, as the paper.
        arithmetic: Arithmetic = Arithmetic::Integer,
        /// Length of a clock tick in milliseconds. Default 4: a jiffy of the paper's kernel
        /// (Debian's 2.6.32, 250 Hz).
        tick_ms: f64 [0.001, 1000.0] = 4.0,
        /// RTO.Min rises with every measurement while the ratio is at most this. Default 1.
        bootstrap: f64 [0.0, 1e6] = 1.0,
        /// RTO.Min of a new association, milliseconds. Default 0: Figures 14 and 15 start there.
        start_ms: f64 [0.0, 3.6e6] = 0.0,
        /// The lowest RTO.Min, milliseconds. Default 0.
        floor_ms: f64 [0.0, 3.6e6] = 0.0,
    }
}

parameters! {
    /// Early Retransmit turned off after it was wrong (Hurtig & Brunstrom §2.2).
    EarlyRetransmitSwitchOffParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
    }
}

parameters! {
    /// Eifel detection by TIMESTAMP chunks (Ladha et al. §4, Figure 6 I; RFC 3522).
    EifelTimestampParameters {
        /// Whether TIMESTAMP chunks are offered to the peer and used if it offers them too. They
        /// cost 12 bytes in every packet. Default false.
        enabled: bool = false,
        /// Wait for a SACK that covers everything retransmitted ("cover ack"). Without it bundled
        /// retransmissions fool the algorithm (Figure 5). Default true.
        cover_ack: bool = true,
        /// Remember whether a SACK came before the cover ack (`AckRcvd`), for the case that all
        /// SACKs of the originals were lost. Default true.
        ack_rcvd: bool = true,
    }
}

parameters! {
    /// Eifel detection by retransmit bits (Ladha et al. §4, Figure 6 II).
    EifelRetransmitBitParameters {
        /// Whether the R bits are offered to the peer and used if it offers them too. Default false.
        enabled: bool = false,
        /// As [`EifelTimestampParameters::cover_ack`]. Default true.
        cover_ack: bool = true,
    }
}

switch! {
    /// Detection by duplicate TSN reports (RFC 3708). With Eifel it takes over where that cannot
    /// decide (Ladha et al., Figure 6, "Multihoming Considerations").
    DupTsnParameters
}
switch! {
    /// Forward RTO-Recovery (RFC 5682).
    FRtoParameters
}

parameters! {
    /// What is done about a spurious retransmission (RFC 4015).
    SpuriousResponseParameters {
        /// Whether cwnd, ssthresh and the timer are restored. Default true; without a detection
        /// algorithm it has nothing to answer.
        enabled: bool = true,
        /// ssthresh gives back this fraction of what was lost at the first timeout in a row, its
        /// square at the second, and so on ("a decay factor", Ladha et al. §5). Default 1: all of
        /// it, as RFC 4015 §3.2.
        decay: f64 [0.0, 1.0] = 1.0,
        /// Nothing is given back where the latest round trip was more than this many times the shortest one of the
        /// last minutes, and all of cwnd was in flight: a queue of the sender's own that lasts, and no spike. 0 to 1000; default 0: it is in any case.
        standing_queue: f64 [0.0, 1000.0] = 0.0,
    }
}

parameters! {
    /// RACK loss detection (RFC 8985 §6).
    RackParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// Reordering window at first, as a fraction of the minimum RTT. Default 1/4.
        reordering_window: f64 [0.0, 4.0] = 0.25,
        /// Whether miss indications (RFC 9260 §7.2.4) still declare losses after reordering was seen, as long as no new data
        /// waits that fits the window of the peer, and data takes one path at a time. Default false (RFC 8985 §6.2 step 4).
        count_while_app_limited: bool = false,
    }
}

parameters! {
    /// Tail loss probes (RFC 8985 §7).
    TailLossProbeParameters {
        /// Whether they are sent. Default false.
        enabled: bool = false,
        /// Whether that is left out where the packet asked for its SACK at once (RFC 7053), as long
        /// as the peer is seen to grant it. Default false.
        trust_immediate_sack: bool = false,
        /// How many may follow each other without an answer, each after twice the time of the one before (RFC 9002
        /// §6.2.1). Default 1 (RFC 8985 §7.3); 1 to 16.
        in_a_row: u32 [1.0, 16.0] = 1,
    }
}

switch! {
    /// Proportional Rate Reduction (RFC 6937).
    PrrParameters
}
