//! What is left of an association or connection when it has ended.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::flow::{Flow, GAP_ACKED_CLASSES};
use crate::sender::SenderSummary;
use crate::statistics::{DelaySummary, RetransmissionRow};
use crate::terms::{Identity, Side, Until};

/// How an association or connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// In order: SHUTDOWN COMPLETE, or FIN on both sides.
    Closed,
    /// By ABORT or RST.
    Aborted,
    /// Nothing was seen of it for so long that it was given up.
    Idle,
    /// It went on when the capture ended.
    Open,
}

impl Ending {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Ending::Closed => "closed",
            Ending::Aborted => "aborted",
            Ending::Idle => "silent, given up",
            Ending::Open => "open at the end",
        }
    }
}

/// One pair of addresses.
#[derive(Clone, Debug, Serialize)]
pub struct PathSummary {
    /// Who sends.
    pub from: Side,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Packets.
    pub packets: u64,
    /// Their bytes above IP or UDP.
    pub bytes: u64,
    /// DATA chunks or segments.
    pub data: u64,
    /// Packets that arrived, where both ends were captured.
    pub arrived: Option<u64>,
    /// Round-trip times of data that was sent this way.
    pub rtt: Option<DelaySummary>,
}

/// What captures at both ends say of the chunks of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct Arrivals {
    /// DATA chunks that left the sender, retransmissions included.
    pub sent: u64,
    /// Those of them that arrived at the receiver.
    pub arrived: u64,
    /// Those of them that were lost on the way.
    pub lost: u64,
    /// Those of them that may still have been under way when the captures ended.
    pub under_way: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Retransmissions of chunks of which an earlier transmission arrived.
    pub unnecessary: u64,
    /// Chunks of which no transmission arrived.
    pub never_arrived: u64,
    /// Copies that the network made.
    pub copies: u64,
    /// From the sender's place of capture to the receiver's. Only differences between these values
    /// are sure: clocks that differ shift all of them.
    pub one_way: Option<DelaySummary>,
    /// The longest pause in delivery, in milliseconds: between two deliveries, but not before what
    /// ends the pause was sent for the first time. After a failure, the time to failover.
    pub longest_gap_ms: f64,
}

/// The messages of one stream at their receiver.
#[derive(Clone, Debug, Serialize)]
pub struct StreamSummary {
    /// Stream identifier.
    pub stream: u16,
    /// Messages that can be delivered.
    pub messages: u64,
    /// Their user data in bytes.
    pub bytes: u64,
    /// Head-of-line delay: from the arrival of each chunk until its message can be delivered, after
    /// all those before it in the stream (RFC 9260 §6.6, RFC 8260 §2.2).
    pub blocked: Option<DelaySummary>,
}

/// The data of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionSummary {
    /// Who sends it.
    pub from: Side,
    /// First TSN or byte, which has the number 0.
    pub first_number: Option<u32>,
    /// DATA chunks or segments with data.
    pub data: u64,
    /// Their user data in bytes.
    pub data_bytes: u64,
    /// Those of them that had been sent before.
    pub retransmitted: u64,
    /// Their user data in bytes.
    pub retransmitted_bytes: u64,
    /// Those of them that had been acknowledged already when they were sent again.
    pub retransmitted_after_ack: u64,
    /// How often the same chunk or segment was sent again, at most.
    pub most_retransmissions: u32,
    /// What was acknowledged, in bytes of user data.
    pub acknowledged_bytes: u64,
    /// Chunks that were acknowledged although the capture does not have them.
    pub acknowledged_unseen: u64,
    /// Chunks that were neither acknowledged nor reported when it ended.
    pub outstanding: u64,
    /// Seconds from the first data to the last acknowledgement.
    pub duration_s: f64,
    /// Acknowledged user data by that time, in Mbit/s.
    pub goodput_mbps: Option<f64>,
    /// Acknowledgements from the other side.
    pub sacks: u64,
    /// Gap blocks in them.
    pub gap_blocks: u64,
    /// How many had this many gap blocks.
    pub gap_block_counts: BTreeMap<u32, u64>,
    /// How many reported this many TSNs in gap blocks, by class ("101-250").
    pub gap_acked: Vec<(String, u64)>,
    /// Duplicates that they report.
    pub duplicates: u64,
    /// Retransmissions that were unnecessary for certain, by proof.
    pub spurious: BTreeMap<&'static str, u64>,
    /// Cumulative retransmission delays by number and class.
    pub retransmissions: Vec<RetransmissionRow>,
    /// Time between a retransmission by timeout and the transmission before: how long the timer ran.
    pub timer: Option<DelaySummary>,
    /// Time between any retransmission and the transmission before.
    pub since_last: Option<DelaySummary>,
    /// Round-trip times at the place of capture.
    pub rtt: Option<DelaySummary>,
    /// What RTO would be at the end by the standard, in milliseconds.
    pub rto_ms: Option<f64>,
    /// Most bytes in flight.
    pub flight_max: u64,
    /// Mean of the bytes in flight, over packets.
    pub flight_mean: f64,
    /// User messages that are through (SCTP only).
    pub messages: u64,
    /// Message transfer time: from the first transmission of the first chunk until the message is
    /// through.
    pub transfer: Option<DelaySummary>,
    /// What that was, if there is such a message.
    pub transfer_until: Option<Until>,
    /// What became of each transmission, where both ends were captured.
    pub arrivals: Option<Arrivals>,
    /// What the sender says of itself, where its log was read.
    pub sender: Option<SenderSummary>,
    /// Delivery in each stream, where the receiver's end was captured.
    pub streams: Vec<StreamSummary>,
}

/// An association or connection, when it has ended.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Who it is between.
    #[serde(flatten)]
    pub identity: Identity,
    /// Whether its beginning was captured.
    pub from_the_beginning: bool,
    /// How it ended.
    pub ending: Ending,
    /// Time of the first packet, in seconds since the epoch of the capture.
    pub first_s: f64,
    /// Seconds from the first packet to the last.
    pub duration_s: f64,
    /// Packets.
    pub packets: u64,
    /// Whether both ends were captured.
    pub both_ends: bool,
    /// The end near which it was captured, by how soon each side answers; `None` if that does not tell, and
    /// where both ends were captured.
    pub near: Option<Side>,
    /// What the capture cannot tell.
    pub unknown: Vec<&'static str>,
    /// Pairs of addresses, in the order in which they appeared.
    pub paths: Vec<PathSummary>,
    /// From A to B, from B to A.
    pub directions: [DirectionSummary; 2],
}

impl DirectionSummary {
    pub(crate) fn new(from: Side, flow: &Flow) -> DirectionSummary {
        let seconds = flow.acked_at.saturating_sub(flow.first_at.unwrap_or(0)) as f64 / 1e9;
        let mut low = 0;
        let mut gap_acked = Vec::new();
        for (index, count) in flow.gap_acked.iter().enumerate() {
            let name = match GAP_ACKED_CLASSES.get(index) {
                Some(most) if *most == low => most.to_string(),
                Some(most) => format!("{low}-{most}"),
                None => format!("over-{}", low - 1),
            };
            low = GAP_ACKED_CLASSES.get(index).map_or(low, |most| most + 1);
            gap_acked.push((name, *count));
        }
        DirectionSummary {
            from,
            first_number: None,
            data: flow.units,
            data_bytes: flow.bytes,
            retransmitted: flow.again,
            retransmitted_bytes: flow.again_bytes,
            retransmitted_after_ack: flow.after_ack,
            most_retransmissions: flow.most_again,
            acknowledged_bytes: flow.acked_bytes,
            acknowledged_unseen: flow.unseen,
            outstanding: 0,
            duration_s: if flow.acked_bytes > 0 { seconds } else { 0.0 },
            goodput_mbps: (flow.acked_bytes > 0 && seconds > 0.0)
                .then(|| flow.acked_bytes as f64 * 8.0 / 1e6 / seconds),
            sacks: flow.sacks,
            gap_blocks: flow.gap_blocks,
            gap_block_counts: flow.gap_block_counts.clone(),
            gap_acked,
            duplicates: flow.duplicates,
            spurious: flow.spurious.iter().map(|(proof, count)| (proof.name(), *count)).collect(),
            retransmissions: flow.retransmissions.rows(),
            timer: flow.timer.summary(),
            since_last: flow.since_last.summary(),
            rtt: flow.rtt.summary(),
            rto_ms: flow.rto.ms(),
            flight_max: flow.flight_max,
            flight_mean: flow.flight_mean(),
            messages: flow.messages,
            transfer: flow.transfer.summary(),
            transfer_until: None,
            arrivals: None,
            sender: None,
            streams: Vec::new(),
        }
    }
}

/// The end near which a capture was taken, if one side answers much sooner than the other.
pub(crate) fn nearer(a_answers: f64, b_answers: f64) -> Option<Side> {
    match () {
        () if 4.0 * a_answers < b_answers => Some(Side::A),
        () if 4.0 * b_answers < a_answers => Some(Side::B),
        () => None,
    }
}

/// What a capture cannot tell that was taken near `near`, or at `both_ends`; `logged` if it is the
/// log of a sender.
pub(crate) fn unknown(
    near: Option<Side>,
    both_ends: bool,
    from_the_beginning: bool,
    logged: bool,
) -> Vec<&'static str> {
    let mut unknown = vec![match near {
        _ if both_ends => {
            "Captured at both ends: each direction is told as its sender saw it. Times of one way are as good as the clocks agree."
        }
        Some(Side::A) => {
            "Captured near A: which of A's packets arrived, and when, is not seen; of B's packets, those that were lost before A are not seen, so B's retransmissions can be too few."
        }
        Some(Side::B) => {
            "Captured near B: which of B's packets arrived, and when, is not seen; of A's packets, those that were lost before B are not seen, so A's retransmissions can be too few."
        }
        None => {
            "Where it was captured does not show: packets lost before that place are not seen, and round-trip times are from there."
        }
    }];
    if !from_the_beginning {
        unknown.push(
            "The capture begins in the middle: what was sent before, and how often, is not seen; numbers count from the first one that is.",
        );
    }
    if !logged {
        unknown.push("Causes are inferred from the packets: the sender's timers, window and state are not seen.");
    }
    unknown
}
