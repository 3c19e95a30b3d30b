//! The terms in which all of the analysis speaks: sides, places, and what proves what.

use std::net::SocketAddr;

use serde::Serialize;

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

    /// What stands behind "transfer times".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Until::Delivery => " until delivery",
            Until::Acknowledgement => " until the acknowledgement",
        }
    }
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
