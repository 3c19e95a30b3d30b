//! How streams share an association, with units, defaults and sources.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::parameters::{choices, parameters};

choices! {
    /// Which stream sends its next message (RFC 8260 §3). It is chosen between messages only: in DATA chunks the
    /// fragments of one are not interleaved with others (RFC 9260 §6.9), so a message waits for what is left of the one
    /// that is leaving. Where user message interleaving was agreed on
    /// ([`Extensions::interleaving`](crate::Extensions::interleaving)) it is chosen for each chunk, and what is said of messages
    /// here holds for chunks, but for the first one.
    StreamScheduler {
        /// Messages leave in the order in which they came, whatever their streams (SCTP_SS_FCFS).
        FirstComeFirstServed,
        /// A message of each stream in turn (SCTP_SS_RR).
        RoundRobin,
        /// A packet of each stream in turn (SCTP_SS_RR_PKT): a lost one holds up one stream only.
        RoundRobinPerPacket,
        /// Streams of the least value first, those of one value in turn (SCTP_SS_PRIO). Others starve meanwhile.
        Priority,
        /// As many bytes of each stream that has some (SCTP_SS_FC, SCTP_SS_FB). One that wants less than its share
        /// waits for one message of each other one at most.
        FairCapacity,
        /// Bytes in proportion to the streams' values, of which 0 counts as 1 (SCTP_SS_WFQ).
        WeightedFairQueueing,
    }
}

parameters! {
    /// How streams share the association (RFC 8260 §3).
    StreamParameters {
        /// Which stream sends its next message. Default `first-come-first-served`. With another one a message
        /// no longer waits for all that others have in the send buffer; messages of different streams do not leave in the
        /// order in which they were sent. The values of streams are set by
        /// [`Endpoint::set_stream_value`](crate::Endpoint::set_stream_value).
        scheduler: StreamScheduler = StreamScheduler::FirstComeFirstServed,
        /// This share of the send buffer, 0 to 1, may be filled beyond it, by streams that hold no more than what is left
        /// of the share, so that none takes all of it. Default 0: what the buffer does not take waits until a half of it is
        /// free (with concurrent transfer an eighth). More lets the few thin streams beside bulk write meanwhile.
        reserve: f64 [0.0, 1.0] = 0.0,
    }
}
