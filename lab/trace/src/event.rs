//! What the analysis finds, packet by packet, and who is told.

use std::net::IpAddr;

use crate::sender::SenderState;
use crate::statistics::Class;
use crate::summary::Summary;
use crate::terms::{Identity, Place, Proof, Side, Until};

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
        /// In an I-DATA chunk (RFC 8260).
        interleaved: bool,
        /// If it was sent before.
        again: Option<Again>,
        /// Bytes in flight of this side after it.
        flight: u64,
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
        /// Its payload protocol identifier.
        ppid: u32,
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
