//! What the analysis finds, packet by packet, and who is told.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use crate::sender::SenderState;
use crate::statistics::Class;
use crate::summary::Summary;

/// One end of an association or connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Who opened it; where that was not captured, whose packet was seen first.
    A,
    /// The other one.
    B,
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `A` or `B`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// Where a packet was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The only place, or the host whose captures come first.
    #[default]
    Here,
    /// The host at the other end.
    There,
}

impl Place {
    /// The other place.
    #[must_use]
    pub const fn other(self) -> Place {
        match self {
            Place::Here => Place::There,
            Place::There => Place::Here,
        }
    }
}

/// The packet in which something was found.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// When it was captured, in nanoseconds.
    pub at: u64,
    /// Which packet of the capture it is, counted from 1.
    pub packet: u64,
    /// Number of the association or connection, counted from 1.
    pub association: u64,
    /// Who sent it.
    pub from: Side,
    /// Index of the pair of addresses, in the order in which they appeared.
    pub path: u16,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Where it was captured.
    pub place: Place,
    /// What tells it from others that look alike: [`Frame::id`](crate::capture::Frame::id), or the
    /// identification in its IPv4 header; 0 if there is neither.
    pub id: u64,
}

/// Why a retransmission was unnecessary for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// The receiver reported the TSN as a duplicate (RFC 3708); it cannot be told from a duplicate
    /// that the network made.
    DuplicateReport,
    /// The acknowledgement does not carry the retransmit bit (draft-proshin-tsvwg-sctp-rtx-bit).
    RetransmitBit,
    /// The acknowledgement echoes a time before the retransmission (RFC 3522).
    Timestamp,
    /// An earlier transmission arrived, as the capture at the other end shows.
    Arrival,
}

impl Proof {
    /// All of them.
    pub const ALL: [Proof; 4] =
        [Proof::DuplicateReport, Proof::RetransmitBit, Proof::Timestamp, Proof::Arrival];

    /// As it stands in tables and listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Proof::DuplicateReport => "duplicate-report",
            Proof::RetransmitBit => "retransmit-bit",
            Proof::Timestamp => "timestamp",
            Proof::Arrival => "arrival",
        }
    }
}

/// A chunk or segment that was sent before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Again {
    /// For the how manyeth time it is sent again.
    pub count: u32,
    /// Why; `None` if it was acknowledged already.
    pub class: Option<Class>,
    /// Milliseconds since its first transmission; 0 where that is forgotten.
    pub delay_ms: f64,
    /// Milliseconds since its last transmission, likewise.
    pub since_last_ms: f64,
}

/// What tells that a user message is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// It can be delivered at the receiver: all of it arrived there, and what comes before it in
    /// its stream was delivered.
    Delivery,
    /// The acknowledgements that arrive near the sender cover all of it. That is later than its
    /// arrival by the way back and by delayed SACKs, and knows nothing of the order of delivery.
    Acknowledgement,
}

impl Until {
    /// As it stands in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Until::Delivery => "delivery",
            Until::Acknowledgement => "acknowledgement",
        }
    }
}

/// What a packet holds. Numbers are TSNs counted from the first one of the direction, or bytes of
/// the stream for TCP; those before it, in a capture that begins in the middle, are negative.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// User data.
    Data {
        /// First number.
        number: i64,
        /// One more than the last number.
        end: i64,
        /// User data in bytes.
        bytes: u32,
        /// Stream, and SSN or MID in it, for SCTP.
        stream: Option<(u16, u32)>,
        /// If it was sent before.
        again: Option<Again>,
    },
    /// An acknowledgement.
    Sack {
        /// All numbers up to this one have arrived.
        cumulative: i64,
        /// What arrived beyond, first and last number.
        gaps: &'a [(i64, i64)],
        /// How many duplicates it reports.
        duplicates: u32,
        /// The window that it advertises, in bytes.
        window: u64,
        /// Bytes in flight of the other side after it.
        flight: u64,
        /// User data of the other side in bytes that it acknowledges for the first time, in gap
        /// blocks also.
        newly: u64,
        /// Round-trip time that it measures, in milliseconds.
        rtt_ms: Option<f64>,
        /// What RTO would be now by the standard, in milliseconds.
        rto_ms: Option<f64>,
    },
    /// Proof that a retransmission of the other side was unnecessary.
    Spurious {
        /// Number of the chunk or segment.
        number: i64,
        /// Which of its retransmissions.
        count: u32,
        /// The proof.
        proof: Proof,
    },
    /// A transmission of a chunk was lost, as captures of both ends show.
    Lost {
        /// Who sent it, which may be the sender of this packet or its receiver.
        from: Side,
        /// Number of the chunk.
        number: i64,
        /// Which of its retransmissions; 0 for its first transmission.
        count: u32,
        /// When it was sent, in nanoseconds.
        sent_at: u64,
        /// Which way, as in [`Head::path`].
        path: u16,
    },
    /// A user message is through.
    Message {
        /// Who sent it, which may be the sender of this packet or its receiver.
        from: Side,
        /// Number of its first chunk.
        number: i64,
        /// Its stream.
        stream: u16,
        /// Its SSN, or its MID (RFC 8260).
        sequence: u32,
        /// Whether it is unordered.
        unordered: bool,
        /// User data in bytes.
        bytes: u64,
        /// Milliseconds since the first transmission of its first chunk, if that was captured.
        transfer_ms: Option<f64>,
        /// What tells that it is through.
        until: Until,
    },
    /// What the sender says of itself, where its log is read.
    Sender {
        /// Number of its path, in its own count.
        path: u16,
        /// The chunk that it says that of.
        number: Option<i64>,
        /// What it says.
        state: &'a SenderState,
    },
    /// Any other chunk, or the flags of a segment.
    Control {
        /// Its name.
        name: &'a str,
    },
}

/// Who an association or connection is between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Its number, counted from 1.
    pub association: u64,
    /// `sctp` or `tcp`.
    pub protocol: &'static str,
    /// Address and port of A in the first packet.
    pub a: SocketAddr,
    /// Address and port of B in the first packet.
    pub b: SocketAddr,
}

/// Is told what the analysis finds.
pub trait Observer {
    /// An association or connection appears.
    fn begins(&mut self, _identity: &Identity) {}

    /// Something is found in a packet.
    fn event(&mut self, _head: &Head, _event: &Event<'_>) {}

    /// An association or connection has ended, or the capture has.
    fn ends(&mut self, _summary: &Summary) {}
}

impl Observer for () {}

/// Tells several.
impl Observer for Vec<&mut dyn Observer> {
    fn begins(&mut self, identity: &Identity) {
        self.iter_mut().for_each(|observer| observer.begins(identity));
    }

    fn event(&mut self, head: &Head, event: &Event<'_>) {
        self.iter_mut().for_each(|observer| observer.event(head, event));
    }

    fn ends(&mut self, summary: &Summary) {
        self.iter_mut().for_each(|observer| observer.ends(summary));
    }
}
