//! What an Ethernet frame carries, as far as links ask.

use tresse_netem::{Class, EcnField};
use tresse_wire::{ChunkType, Packet};

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// Registered UDP port of SCTP (RFC 6951 §4.1).
const SCTP_OVER_UDP: u16 = 9899;

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Passes beside the links.
    Aside,
    /// An IP packet, for a link.
    Packet {
        class: Class,
        /// Where in the frame the part begins that corruption may hit.
        payload: usize,
    },
}

/// Looks at a frame. SCTP is recognised in UDP at port 9899 and at `udp_ports`.
pub(crate) fn classify(frame: &[u8], udp_ports: &[u16]) -> Kind {
    let Some((ethernet, packet)) = frame.split_at_checked(ETHERNET) else { return Kind::Aside };
    let (protocol, header) = match (ethernet[12], ethernet[13]) {
        (0x08, 0x00) if packet.len() >= 20 => (packet[9], usize::from(packet[0] & 15) * 4),
        (0x86, 0xdd) if packet.len() >= 40 => upper_layer(packet),
        _ => return Kind::Aside,
    };
    let payload = packet.get(header..).unwrap_or_default();
    let ect = if ecn(packet) == NOT_ECT { Class::NONE } else { Class::ECT };
    let class = ect
        | match protocol {
            6 => tcp(payload),
            17 => udp(payload, udp_ports),
            58 if is_housekeeping(payload) => return Kind::Aside,
            132 => sctp(payload),
            _ => Class::NONE,
        };
    Kind::Packet { class, payload: (ETHERNET + header).min(frame.len()) }
}

/// The ECN field of an IP packet (RFC 3168 §5): the two lowest bits of what was TOS and is the traffic class.
const fn ecn(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => packet[1] & CE,
        _ => (packet[1] >> 4) & CE,
    }
}

const NOT_ECT: u8 = 0b00;
const CE: u8 = 0b11;

/// Does to the ECN field of the IP packet in a frame what a link says.
pub(crate) fn change_ecn(frame: &mut [u8], field: EcnField) {
    let Some(packet) = frame.get_mut(ETHERNET..).filter(|packet| packet.len() >= 20) else {
        return;
    };
    let before = ecn(packet);
    let after = match field {
        EcnField::Clear => NOT_ECT,
        EcnField::Mark if before != NOT_ECT => CE,
        EcnField::Mark | EcnField::Keep => before,
    };
    if packet[0] >> 4 != 4 {
        packet[1] = packet[1] & !(CE << 4) | after << 4;
        return;
    }
    packet[1] = packet[1] & !CE | after;
    // RFC 1624, equation 3: what the checksum of the header loses and gains.
    let sum = !u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(sum) + u32::from(!u16::from(before)) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Protocol and beginning of what is in an IPv6 packet, behind a hop-by-hop header.
fn upper_layer(packet: &[u8]) -> (u8, usize) {
    match (packet[6], packet.get(40..42)) {
        // RFC 8200 §4.3: the length does not count the first 8 bytes.
        (0, Some(&[next, length])) => (next, 40 + 8 + usize::from(length) * 8),
        (next, _) => (next, 40),
    }
}

/// Neighbour discovery (RFC 4861 §4) and multicast listener reports (RFC 2710 §3, RFC 3810 §5).
fn is_housekeeping(icmp: &[u8]) -> bool {
    matches!(icmp.first(), Some(130..=137 | 143))
}

/// DATA with a payload; ACK without one and with nothing else but the acknowledgment.
fn tcp(segment: &[u8]) -> Class {
    const FIN_SYN_RST: u8 = 0b111;
    const ACK: u8 = 0x10;
    let (Some(offset), Some(flags)) = (segment.get(12), segment.get(13)) else {
        return Class::NONE;
    };
    if segment.len() > usize::from(offset >> 4) * 4 {
        Class::DATA
    } else if flags & ACK != 0 && flags & FIN_SYN_RST == 0 {
        Class::ACK
    } else {
        Class::NONE
    }
}

fn udp(datagram: &[u8], ports: &[u16]) -> Class {
    let Some((header, payload)) = datagram.split_at_checked(8) else { return Class::NONE };
    let is_sctp = [[header[0], header[1]], [header[2], header[3]]].into_iter().any(|port| {
        let port = u16::from_be_bytes(port);
        port == SCTP_OVER_UDP || ports.contains(&port)
    });
    if is_sctp {
        sctp(payload)
    } else if payload.is_empty() {
        Class::NONE
    } else {
        Class::DATA
    }
}

fn sctp(packet: &[u8]) -> Class {
    let Ok(packet) = Packet::parse_unverified(packet) else { return Class::NONE };
    let mut class = Class::NONE;
    for chunk in packet.chunks().map_while(Result::ok) {
        match chunk.chunk_type {
            // RFC 9260 §6.10: DATA chunks come last in a packet.
            ChunkType::DATA | ChunkType::I_DATA => return class | Class::DATA,
            ChunkType::SACK | ChunkType::NR_SACK => class = class | Class::ACK,
            _ => {}
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet and IPv4 headers of a packet.
    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 20];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[ETHERNET + 9] = protocol;
        frame.extend_from_slice(payload);
        frame
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
        frame[ETHERNET + 6] = next;
        frame.extend_from_slice(payload);
        frame
    }

    fn class_of(frame: &[u8]) -> Option<Class> {
        match classify(frame, &[4000]) {
            Kind::Aside => None,
            Kind::Packet { class, .. } => Some(class),
        }
    }

    #[test]
    fn frames_have_the_classes_that_patterns_tell_apart() {
        let segment = |flags: u8, data: &[u8]| {
            let mut segment = vec![0; 20];
            (segment[12], segment[13]) = (0x50, flags);
            segment.extend_from_slice(data);
            ipv4(6, &segment)
        };
        assert_eq!(class_of(&segment(0x10, b"")), Some(Class::ACK));
        assert_eq!(class_of(&segment(0x18, b"x")), Some(Class::DATA));
        assert_eq!(class_of(&segment(0x12, b"")), Some(Class::NONE));
        // A SACK and a DATA chunk behind a common header.
        let mut both = vec![0; 12];
        both.extend_from_slice(&[3, 0, 0, 16, 0, 0, 0, 1, 0, 0, 9, 0, 0, 0, 0, 0]);
        both.extend_from_slice(&[0, 3, 0, 17, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(class_of(&ipv4(132, &both)), Some(Class::ACK | Class::DATA));
        assert_eq!(class_of(&ipv4(132, &both[..28])), Some(Class::ACK));
        let datagram = |port: u16, payload: &[u8]| {
            let [high, low] = port.to_be_bytes();
            ipv4(17, &[&[high, low, 0, 0, 0, 0, 0, 0], payload].concat())
        };
        assert_eq!(class_of(&datagram(9899, &both[..28])), Some(Class::ACK));
        assert_eq!(class_of(&datagram(4000, &both[..28])), Some(Class::ACK));
        assert_eq!(class_of(&datagram(4001, &both[..28])), Some(Class::DATA));
        assert_eq!(class_of(&datagram(4001, b"")), Some(Class::NONE));
    }

    #[test]
    fn the_ecn_field_changes_and_the_checksum_with_it() {
        let sum = |header: &[u8]| {
            let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
            let sum: u32 = words.sum();
            (sum & 0xffff) + (sum >> 16)
        };
        for fill in 0..=255 {
            for before in 0..4u8 {
                let mut v4 = ipv4(132, &[0; 12]);
                let header = &mut v4[ETHERNET..ETHERNET + 20];
                header[1] = 0xb8 | before;
                header[12..20].fill(fill);
                header[10..12].fill(0);
                let checksum = !(sum(header) as u16);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                let mut v6 = ipv6(132, &[0; 12]);
                v6[ETHERNET + 1] = 0x8f | before << 4;
                for (field, after) in [
                    (EcnField::Keep, before),
                    (EcnField::Clear, 0),
                    (EcnField::Mark, if before == 0 { 0 } else { 3 }),
                ] {
                    let (mut v4, mut v6) = (v4.clone(), v6.clone());
                    change_ecn(&mut v4, field);
                    change_ecn(&mut v6, field);
                    assert_eq!(
                        (v4[ETHERNET + 1], v6[ETHERNET + 1]),
                        (0xb8 | after, 0x8f | after << 4)
                    );
                    assert_eq!(sum(&v4[ETHERNET..ETHERNET + 20]), 0xffff);
                    let class = class_of(&v4).map(|class| class.contains(Class::ECT));
                    assert_eq!(class, Some(after != 0));
                }
            }
        }
        change_ecn(&mut [0; 20], EcnField::Mark);
    }

    #[test]
    fn address_resolution_passes_aside() {
        let mut arp = vec![0; 42];
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(class_of(&arp), None);
        assert_eq!(class_of(&ipv6(58, &[135, 0])), None);
        assert_eq!(class_of(&ipv6(0, &[58, 0, 5, 2, 0, 0, 1, 0, 143, 0])), None);
        assert_eq!(class_of(&ipv6(58, &[128, 0])), Some(Class::NONE));
        assert_eq!(class_of(&ipv6(17, &[0, 1, 0, 2, 0, 9, 0, 0, 1])), Some(Class::DATA));
    }

    #[test]
    fn nothing_that_a_program_sends_can_stop_it() {
        let long = ipv4(6, &[0xff; 60]);
        for length in 0..long.len() {
            classify(&long[..length], &[]);
        }
        let mut options = ipv4(132, &[]);
        options[ETHERNET] = 0x4f;
        let kind = classify(&options, &[]);
        assert_eq!(kind, Kind::Packet { class: Class::NONE, payload: options.len() });
        for next in 0..=255 {
            classify(&ipv6(next, &[0xff; 3]), &[]);
        }
    }
}
