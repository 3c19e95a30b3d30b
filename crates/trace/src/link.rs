//! From a captured frame to what IP carries: link layer, IPv4 and IPv6, UDP encapsulation.

use std::net::IpAddr;

use etherparse::{EtherType, IpNumber, LaxIpSlice};

use crate::Skipped;
use crate::capture::{Frame, LinkType};

const NULL: u32 = 0;
const ETHERNET: u32 = 1;
const LOOP: u32 = 108;
const SLL: u32 = 113;
const SLL2: u32 = 276;
/// Raw IP: LINKTYPE_RAW, what OpenBSD and others write for it, LINKTYPE_IPV4, LINKTYPE_IPV6.
const RAW: [u32; 5] = [101, 12, 14, 228, 229];

const NOT_IP: &str = "frames that are not IP";
const BAD_IP: &str = "packets with a malformed IP header";
const UNKNOWN_LINK: &str = "frames of a link type that is not known";
const FRAGMENT: &str = "IP fragments";
const OTHER: &str = "IP packets that are neither SCTP nor TCP";
const SHORT: &str = "packets cut off before the ports";

/// What is analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// SCTP, on IP or in UDP (RFC 6951).
    Sctp,
    /// TCP.
    Tcp,
}

/// The payload of an IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: Protocol,
    /// As much as was captured.
    pub(crate) bytes: &'a [u8],
    /// How many bytes there were.
    pub(crate) original: usize,
}

/// Finds what frames carry.
#[derive(Debug)]
pub(crate) struct Links {
    /// UDP ports that carry SCTP.
    udp_ports: Vec<u16>,
}

impl Links {
    pub(crate) fn new(udp_ports: &[u16]) -> Links {
        Links { udp_ports: udp_ports.to_vec() }
    }

    /// What the frame carries; otherwise why it is passed over.
    pub(crate) fn datagram<'a>(
        &'a mut self,
        frame: &Frame<'a>,
        _skipped: &mut Skipped,
    ) -> Result<Datagram<'a>, &'static str> {
        let packet = ip_packet(frame)?;
        let (ip, _) = LaxIpSlice::from_slice(packet).map_err(|_| BAD_IP)?;
        let (source, destination, length) = match &ip {
            LaxIpSlice::Ipv4(v4) => {
                let header = v4.header();
                let length = usize::from(header.total_len());
                (IpAddr::V4(header.source_addr()), IpAddr::V4(header.destination_addr()), length)
            }
            LaxIpSlice::Ipv6(v6) => {
                let header = v6.header();
                let length = header.slice().len() + usize::from(header.payload_length());
                (IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()), length)
            }
        };
        let payload = ip.payload();
        if payload.fragmented {
            return Err(FRAGMENT);
        }
        // A length of 0, which some systems write before they cut a large packet into pieces, adds nothing.
        let original = payload.payload.len() + length.saturating_sub(packet.len());
        let (protocol, bytes, original) = match payload.ip_number {
            IpNumber::SCTP => (Protocol::Sctp, payload.payload, original),
            IpNumber::TCP => (Protocol::Tcp, payload.payload, original),
            IpNumber::UDP => {
                let (bytes, original) = udp(payload.payload, original, &self.udp_ports)?;
                (Protocol::Sctp, bytes, original)
            }
            _ => return Err(OTHER),
        };
        Ok(Datagram { source, destination, protocol, bytes, original })
    }
}

/// What a UDP datagram of one of the ports carries.
fn udp<'a>(
    bytes: &'a [u8],
    original: usize,
    ports: &[u16],
) -> Result<(&'a [u8], usize), &'static str> {
    let Some((header, rest)) = bytes.split_first_chunk::<8>() else { return Err(SHORT) };
    let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if !ports.contains(&field(0)) && !ports.contains(&field(2)) {
        return Err(OTHER);
    }
    let length = match usize::from(field(4)) {
        0..8 => original,
        length => length.min(original),
    };
    Ok((&rest[..rest.len().min(length - 8)], length - 8))
}

/// The IP packet in a frame.
fn ip_packet<'a>(frame: &Frame<'a>) -> Result<&'a [u8], &'static str> {
    let data = frame.data;
    let LinkType(link) = frame.link;
    match link {
        ETHERNET => ethernet(data, 12),
        SLL => ethernet(data, 14),
        SLL2 => {
            let kind = ether_type(data, 0).ok_or(NOT_IP)?;
            is_ip(kind).then(|| data.get(20..)).flatten().ok_or(NOT_IP)
        }
        // The address family differs between systems; the version of IP is told by its first byte.
        NULL | LOOP => data.get(4..).ok_or(NOT_IP),
        link if RAW.contains(&link) => Ok(data),
        _ => Err(UNKNOWN_LINK),
    }
}

fn ether_type(data: &[u8], at: usize) -> Option<EtherType> {
    Some(EtherType(u16::from_be_bytes(*data.get(at..)?.first_chunk()?)))
}

fn is_ip(kind: EtherType) -> bool {
    matches!(kind, EtherType::IPV4 | EtherType::IPV6)
}

/// Behind the EtherType at `at` and any VLAN tags.
fn ethernet(data: &[u8], mut at: usize) -> Result<&[u8], &'static str> {
    loop {
        match ether_type(data, at).ok_or(NOT_IP)? {
            kind if is_ip(kind) => return data.get(at + 2..).ok_or(NOT_IP),
            EtherType::VLAN_TAGGED_FRAME
            | EtherType::PROVIDER_BRIDGING
            | EtherType::VLAN_DOUBLE_TAGGED_FRAME => at += 4,
            _ => return Err(NOT_IP),
        }
    }
}
