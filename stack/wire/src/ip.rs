//! IP and UDP headers around an SCTP packet or a TCP segment, put together for captures so that analysers dissect it;
//! and what the stack itself has to do with an IP header: its ECN field, its DSCP and its flow label.

use std::net::IpAddr;

const PROTOCOL_UDP: u8 = 17;
const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

//= RFC 6951 5.8-1
/// The ECN field of an IP packet (RFC 3168 §5). RFC 6951 §5.8: the ECN bits MUST NOT be changed
/// during sending and receiving, so a carrier passes them on in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// 00: it cannot be marked. The default.
    #[default]
    NotEct,
    /// 01, ECT(1): it may be marked. Not sent.
    Ect1,
    /// 10, ECT(0): it may be marked.
    Ect0,
    /// 11, CE: it was marked, for there was congestion on its way.
    Ce,
}

impl Ecn {
    /// The two bits as they stand in the IP header.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }
}

/// Whether a packet may travel in fragments of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpFragments {
    /// It may not: it leaves with DF set. The default.
    #[default]
    Forbidden,
    /// It may, where a link on its way takes less.
    Allowed,
    /// It may, and is larger than what the way is known to take (RFC 9260 §6.9).
    Needed,
}

impl IpFragments {
    /// Whether it may.
    #[must_use]
    pub const fn are_allowed(self) -> bool {
        !matches!(self, IpFragments::Forbidden)
    }
}

/// A Differentiated Services Code Point (RFC 2474): how routers are to treat a packet, beside its ECN field. Six bits; 0, the
/// default, is best effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Dscp = Dscp(0);

    /// That of this number; `None` above 63.
    #[must_use]
    pub const fn new(number: u8) -> Option<Dscp> {
        if number < 64 { Some(Dscp(number)) } else { None }
    }

    /// That of a TOS byte or a Traffic Class, whose upper six bits it is.
    #[must_use]
    pub const fn of_class(class: u8) -> Dscp {
        Dscp(class >> 2)
    }

    /// Its number, 0 to 63.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// A flow label of IPv6 (RFC 6437): packets with the same one and the same addresses are one flow for routers that spread load.
/// 20 bits; 0, the default, is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// None.
    pub const NONE: FlowLabel = FlowLabel(0);

    /// That of this number; `None` above 0xfffff.
    #[must_use]
    pub const fn new(number: u32) -> Option<FlowLabel> {
        if number < 1 << 20 { Some(FlowLabel(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// What the IP header of a packet says to routers, beside its ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpLabels {
    /// How they are to treat it.
    pub dscp: Dscp,
    /// Which flow it belongs to. IPv4 has none.
    pub flow: FlowLabel,
}

impl IpLabels {
    /// The TOS byte of IPv4 or the Traffic Class of IPv6.
    #[must_use]
    pub const fn class(self, ecn: Ecn) -> u8 {
        self.dscp.0 << 2 | ecn.bits()
    }

    /// The first four bytes of the header of IPv6.
    #[must_use]
    pub const fn first_word(self, ecn: Ecn) -> [u8; 4] {
        (6 << 28 | (self.class(ecn) as u32) << 20 | self.flow.0).to_be_bytes()
    }
}

/// What stands in the headers around a packet that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeaders {
    /// Source address; written in the family of the destination.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source and destination port of UDP, if the packet is encapsulated (RFC 6951).
    pub udp: Option<(u16, u16)>,
    /// What the packet is, such as [`IpHeaders::SCTP`], unless it is in UDP.
    pub protocol: u8,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP and flow label.
    pub labels: IpLabels,
}

impl IpHeaders {
    /// The protocol number of SCTP (IANA).
    pub const SCTP: u8 = 132;

    /// Replaces `buffer` by the whole IP packet. Lengths that no field can hold saturate.
    pub fn write(&self, packet: &[u8], buffer: &mut Vec<u8>) {
        buffer.clear();
        let (protocol, udp) = match self.udp {
            Some(_) => (PROTOCOL_UDP, 8),
            None => (self.protocol, 0),
        };
        let payload = packet.len() + udp;
        if self.destination.is_ipv4() {
            buffer.extend_from_slice(&[0x45, self.labels.class(self.ecn)]);
            buffer.extend_from_slice(&field(payload + 20));
            buffer.extend_from_slice(&[0, 0]);
            buffer.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
            buffer.extend_from_slice(&[HOP_LIMIT, protocol, 0, 0]);
            self.push_addresses(buffer);
            let checksum = !sum(0, buffer);
            buffer[10..12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            buffer.extend_from_slice(&self.labels.first_word(self.ecn));
            buffer.extend_from_slice(&field(payload));
            buffer.extend_from_slice(&[protocol, HOP_LIMIT]);
            self.push_addresses(buffer);
        }
        if let Some((source, destination)) = self.udp {
            let begin = buffer.len();
            buffer.extend_from_slice(&source.to_be_bytes());
            buffer.extend_from_slice(&destination.to_be_bytes());
            buffer.extend_from_slice(&field(payload));
            let checksum = self.udp_checksum(&buffer[begin..], packet);
            buffer.extend_from_slice(&checksum.to_be_bytes());
        }
        buffer.extend_from_slice(packet);
    }

    /// Over the pseudo-header, the UDP header without its checksum, and the packet.
    fn udp_checksum(&self, udp: &[u8], packet: &[u8]) -> u16 {
        // RFC 768, RFC 8200 §8.1: the checksum covers a pseudo-header of addresses, protocol, length.
        let mut pseudo = Vec::with_capacity(36);
        self.push_addresses(&mut pseudo);
        pseudo.extend_from_slice(&[0, PROTOCOL_UDP]);
        pseudo.extend_from_slice(&field(packet.len() + 8));
        let total = sum(sum(sum(0, &pseudo), udp), packet);
        // RFC 768: a checksum of zero is sent as all ones.
        if total == u16::MAX { u16::MAX } else { !total }
    }

    fn push_addresses(&self, buffer: &mut Vec<u8>) {
        for address in [self.source, self.destination] {
            match (address, self.destination) {
                (IpAddr::V4(a), IpAddr::V4(_)) => buffer.extend_from_slice(&a.octets()),
                (IpAddr::V6(a), IpAddr::V6(_)) => buffer.extend_from_slice(&a.octets()),
                (IpAddr::V4(a), IpAddr::V6(_)) => {
                    buffer.extend_from_slice(&a.to_ipv6_mapped().octets());
                }
                // Only the unspecified address of a dual-stack socket.
                (IpAddr::V6(_), IpAddr::V4(_)) => buffer.extend_from_slice(&[0; 4]),
            }
        }
    }
}

/// A 16-bit length.
fn field(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

/// Adds the 16-bit words of `bytes` to a ones' complement sum (RFC 1071). All but the last slice
/// of a sum must have an even length.
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

    fn packet(source: &str, destination: &str, udp: Option<(u16, u16)>) -> Vec<u8> {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        let mut buffer = vec![9; 3];
        let protocol = IpHeaders::SCTP;
        let labels = IpLabels { dscp: Dscp(46), flow: FlowLabel(0xa_bcde) };
        IpHeaders { source, destination, udp, protocol, ecn: Ecn::Ect0, labels }
            .write(b"odd packet!!!", &mut buffer);
        buffer
    }

    #[test]
    fn sums_as_in_the_rfc() {
        // RFC 1071 §3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2.
        assert_eq!(sum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(sum(0, &[0x12]), 0x1200);
        assert_eq!(sum(0xffff, &[0, 1]), 1);
    }

    #[test]
    fn headers_add_up() {
        let v4 = packet("192.0.2.2", "192.0.2.1", Some((1234, 9899)));
        assert_eq!(v4.len(), 20 + 8 + 13);
        assert_eq!(sum(0, &v4[..20]), 0xffff);
        assert_eq!((v4[1], &v4[12..20]), (46 << 2 | 2, &[192, 0, 2, 2, 192, 0, 2, 1][..]));
        assert_eq!(v4[20..24], [0x04, 0xd2, 0x26, 0xab]);
        let pseudo = [&v4[12..20], &[0, 17, 0, 21]].concat();
        assert_eq!(sum(sum(0, &pseudo), &v4[20..]), 0xffff);

        let v6 = packet("2001:db8::1", "2001:db8::2", Some((9899, 1234)));
        assert_eq!(v6.len(), 40 + 8 + 13);
        assert_eq!(v6[..8], [0x6b, 0xaa, 0xbc, 0xde, 0, 21, 17, 64]);
        let pseudo = [&v6[8..40], &[0, 17, 0, 21]].concat();
        assert_eq!(sum(sum(0, &pseudo), &v6[40..]), 0xffff);
    }

    #[test]
    fn numbers_fit_their_fields() {
        assert_eq!((Dscp::new(63).map(Dscp::number), Dscp::new(64)), (Some(63), None));
        let (most, more) = (FlowLabel::new(0xf_ffff), FlowLabel::new(0x10_0000));
        assert_eq!((most.map(FlowLabel::number), more), (Some(0xf_ffff), None));
        assert_eq!(Dscp::of_class(46 << 2 | 3), Dscp(46));
    }

    #[test]
    fn raw_ip_has_no_udp_header() {
        let v4 = packet("192.0.2.1", "192.0.2.2", None);
        assert_eq!((v4.len(), v4[9], &v4[20..]), (20 + 13, 132, &b"odd packet!!!"[..]));
        let v6 = packet("2001:db8::1", "2001:db8::2", None);
        assert_eq!((v6.len(), v6[6], v6[5]), (40 + 13, 132, 13));
    }
}
