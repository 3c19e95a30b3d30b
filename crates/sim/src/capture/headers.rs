//! IP and UDP headers around a simulated packet, so that analysers dissect it.

use std::net::IpAddr;

use crate::packet::{Packet, UdpPorts};

const PROTOCOL_SCTP: u8 = 132;
const PROTOCOL_UDP: u8 = 17;
const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// Replaces `buffer` by the whole IP packet.
pub(super) fn write(packet: &Packet, buffer: &mut Vec<u8>) {
    buffer.clear();
    let protocol = if packet.udp.is_some() { PROTOCOL_UDP } else { PROTOCOL_SCTP };
    let udp_len = if packet.udp.is_some() { 8 } else { 0 };
    let length = packet.payload.len() + udp_len;
    match packet.destination {
        IpAddr::V4(_) => {
            buffer.extend_from_slice(&[0x45, 0]);
            buffer.extend_from_slice(&field(length + 20));
            buffer.extend_from_slice(&[0, 0]);
            buffer.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
            buffer.extend_from_slice(&[HOP_LIMIT, protocol, 0, 0]);
            push_addresses(packet, buffer);
            let checksum = !sum(0, buffer);
            buffer[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        IpAddr::V6(_) => {
            buffer.extend_from_slice(&[0x60, 0, 0, 0]);
            buffer.extend_from_slice(&field(length));
            buffer.extend_from_slice(&[protocol, HOP_LIMIT]);
            push_addresses(packet, buffer);
        }
    }
    if let Some(ports) = packet.udp {
        push_udp(packet, ports, length, buffer);
    }
    buffer.extend_from_slice(&packet.payload);
}

fn push_addresses(packet: &Packet, buffer: &mut Vec<u8>) {
    for address in [packet.source, packet.destination] {
        match address {
            IpAddr::V4(address) => buffer.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => buffer.extend_from_slice(&address.octets()),
        }
    }
}

fn push_udp(packet: &Packet, ports: UdpPorts, length: usize, buffer: &mut Vec<u8>) {
    let header = buffer.len();
    buffer.extend_from_slice(&ports.source.to_be_bytes());
    buffer.extend_from_slice(&ports.destination.to_be_bytes());
    buffer.extend_from_slice(&field(length));
    // RFC 768, RFC 8200 §8.1: the checksum covers a pseudo-header of addresses, protocol, length.
    let mut pseudo = Vec::with_capacity(48);
    push_addresses(packet, &mut pseudo);
    pseudo.extend_from_slice(&[0, PROTOCOL_UDP]);
    pseudo.extend_from_slice(&field(length));
    let total = sum(sum(sum(0, &pseudo), &buffer[header..]), &packet.payload);
    // RFC 768: a checksum of zero is sent as all ones.
    let checksum = if total == u16::MAX { u16::MAX } else { !total };
    buffer.extend_from_slice(&checksum.to_be_bytes());
}

/// A 16-bit length. A packet too long for it cannot exist; should a node make one, the field
/// saturates.
fn field(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

/// Adds the 16-bit words of `bytes` to a ones' complement sum (RFC 1071). All but the last slice
/// must have an even length.
fn sum(start: u16, bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let mut total = u64::from(start);
    total += words.iter().map(|w| u64::from(u16::from_be_bytes(*w))).sum::<u64>();
    total += rest.first().map_or(0, |b| u64::from(*b) << 8);
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    total as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_as_in_the_rfc() {
        // RFC 1071 §3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2.
        assert_eq!(sum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(sum(0, &[0x12]), 0x1200);
        assert_eq!(sum(0xffff, &[0, 1]), 1);
    }
}
