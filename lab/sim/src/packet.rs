//! A packet on the simulated network.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_core::wire::{ChunkType, Packet as SctpPacket};
use tresse_core::{Dscp, Ecn, FlowLabel, IpFragments, IpLabels};
use tresse_netem::Class;

/// The registered UDP port of encapsulated SCTP (RFC 6951 §4.1): the source port of every
/// encapsulated packet that a simulated endpoint sends.
pub const ENCAPSULATION_PORT: u16 = 9899;

/// UDP ports of an encapsulated packet (RFC 6951).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPorts {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// What is in an IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// SCTP, as endpoints send it.
    #[default]
    Sctp,
    /// TCP, as the hosts of [`tcp`](crate::tcp) send it.
    Tcp,
}

impl Protocol {
    /// Its number in an IP header.
    pub const fn number(self) -> u8 {
        match self {
            Protocol::Sctp => 132,
            Protocol::Tcp => 6,
        }
    }
}

/// An SCTP packet or a TCP segment in IP, the former optionally in UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// UDP ports if the packet is encapsulated.
    pub udp: Option<UdpPorts>,
    /// What it is.
    pub protocol: Protocol,
    /// The SCTP packet or TCP segment, from its header on.
    pub payload: Bytes,
    /// Whether IP may fragment it (DF is not set).
    pub fragments: IpFragments,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP and flow label, which simulated networks do not look at.
    pub labels: IpLabels,
}

impl Packet {
    /// An SCTP packet on raw IP that must not be fragmented and cannot be marked.
    pub const fn sctp(source: IpAddr, destination: IpAddr, payload: Bytes) -> Packet {
        let protocol = Protocol::Sctp;
        let (udp, fragments, ecn) = (None, IpFragments::Forbidden, Ecn::NotEct);
        let labels = IpLabels { dscp: Dscp::DEFAULT, flow: FlowLabel::NONE };
        Packet { source, destination, udp, protocol, payload, fragments, ecn, labels }
    }

    /// Bytes of the IP packet: payload, IP header and UDP header.
    pub fn ip_size(&self) -> usize {
        let ip = if self.destination.is_ipv4() { 20 } else { 40 };
        self.payload.len() + ip + if self.udp.is_some() { 8 } else { 0 }
    }

    /// What loss patterns and queues of links can tell packets apart by.
    pub fn class(&self) -> Class {
        let ect = if self.ecn == Ecn::NotEct { Class::NONE } else { Class::ECT };
        self.content() | ect
    }

    fn content(&self) -> Class {
        if self.protocol == Protocol::Tcp {
            return tcp_class(&self.payload);
        }
        let Ok(packet) = SctpPacket::parse_unverified(&self.payload) else { return Class::NONE };
        let mut class = Class::NONE;
        for chunk in packet.chunks() {
            let Ok(chunk) = chunk else { break };
            match chunk.chunk_type {
                // RFC 9260 §6.10: DATA chunks come last in a packet.
                ChunkType::DATA | ChunkType::I_DATA => return class | Class::DATA,
                ChunkType::SACK | ChunkType::NR_SACK => class = class | Class::ACK,
                _ => {}
            }
        }
        class
    }
}

/// A segment carries data, or it only acknowledges; others are neither (RFC 793 §3.1).
fn tcp_class(segment: &[u8]) -> Class {
    let Some(header) = segment.get(..20) else { return Class::NONE };
    let data = segment.len() > usize::from(header[12] >> 4) * 4;
    let (syn_fin_rst, ack) = (header[13] & 0x07 != 0, header[13] & 0x10 != 0);
    match (data, ack && !syn_fin_rst) {
        (true, _) => Class::DATA,
        (false, true) => Class::ACK,
        (false, false) => Class::NONE,
    }
}
