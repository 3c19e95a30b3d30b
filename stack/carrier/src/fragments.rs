//! Packets that leave by raw IPv6 in fragments, which the carrier writes itself.
//!
//! RFC 9260 §6.9 leaves it to IP to fragment what was made for a larger path MTU. Over IPv6 no router does (RFC 8200 §4.5), and
//! the system of this end only what its interface, or an ICMP message, finds too large: it says nothing of a router that drops
//! without a word. So no fragment is larger than what every link takes.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tresse_wire::IpHeaders;

use crate::RAW_MARK;
use crate::batch::Target;
use crate::labelled::{HEADER, header};

/// RFC 8200 §5: every link takes packets of this many bytes.
const LEAST_MTU: usize = 1280;
/// The header of a fragment (RFC 8200 §4.5).
const FRAGMENT: usize = 8;
/// Its number in the header before it.
const NEXT_IS_FRAGMENT: u8 = 44;
/// Bytes of the packet in every fragment but the last one. They are counted in units of eight (RFC 8200 §4.5).
const PART: usize = (LEAST_MTU - HEADER - FRAGMENT) / 8 * 8;

/// Bytes of an SCTP packet that passes whole wherever IPv6 does.
pub(crate) const PASSES: usize = LEAST_MTU - HEADER;

/// A packet that leaves in fragments.
#[derive(Debug)]
pub(crate) struct Fragments {
    source: Ipv6Addr,
    /// RFC 7739 §5.2: random, so that nobody guesses it, and two of late between the same ends have hardly the same.
    identification: u32,
    /// How many of them have left.
    sent: usize,
}

impl Fragments {
    //= RFC 9260 6.9-6
    /// Those of a packet for this target.
    ///
    /// # Errors
    /// Those of the system, if it has no random number, or no source where it is to choose one.
    pub(crate) fn begin(target: &Target) -> io::Result<Fragments> {
        let given = target.source.filter(|source| !source.is_unspecified());
        let IpAddr::V6(source) = given.map_or_else(|| source_towards(target.destination), Ok)?
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let identification = getrandom::u32().map_err(io::Error::other)?;
        Ok(Fragments { source, identification, sent: 0 })
    }

    /// The fragments that have not left: the headers of each, and its part of the packet. `None` if the packet is larger than
    /// what can be put together again (RFC 8200 §4.5: 65 535 bytes).
    pub(crate) fn rest<'a>(
        &self,
        target: &Target,
        packet: &'a [u8],
    ) -> Option<Vec<([u8; HEADER + FRAGMENT], &'a [u8])>> {
        const MORE: u16 = 1;
        u16::try_from(packet.len()).ok()?;
        let parts = packet.chunks(PART).enumerate().skip(self.sent);
        let fragments = parts.map(|(n, part)| {
            let offset = n * PART;
            let more = if offset + part.len() < packet.len() { MORE } else { 0 };
            let mut bytes = [0; HEADER + FRAGMENT];
            let (ip, fragment) = bytes.split_at_mut(HEADER);
            let len = (FRAGMENT + part.len()) as u16;
            ip.copy_from_slice(&header(target, self.source, NEXT_IS_FRAGMENT, len)?);
            fragment[0] = IpHeaders::SCTP;
            // The offset has 13 bits and stands for eight bytes, so that it is where its lower three bits would be.
            fragment[2..4].copy_from_slice(&(offset as u16 | more).to_be_bytes());
            fragment[4..].copy_from_slice(&self.identification.to_be_bytes());
            Some((bytes, part))
        });
        fragments.collect()
    }

    /// So many more have left; whether all have.
    pub(crate) fn have_left(&mut self, fragments: usize, packet: &[u8]) -> bool {
        self.sent += fragments;
        self.sent >= packet.len().div_ceil(PART)
    }
}

/// The address that the system would send from. A UDP socket is told that, and sends nothing.
fn source_towards(destination: SocketAddr) -> io::Result<IpAddr> {
    const ANY_PORT: u16 = 9;
    let socket = Socket::new(Domain::for_address(destination), Type::DGRAM, Some(Protocol::UDP))?;
    // The way may depend on it; best effort, as for what carries the packets.
    let _ = socket.set_mark(RAW_MARK);
    let mut destination = destination;
    destination.set_port(ANY_PORT);
    socket.connect(&destination.into())?;
    let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok(local.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dscp, Ecn, FlowLabel, IpFragments, IpLabels};

    const SOURCE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    const DESTINATION: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

    fn target() -> Target {
        let dscp = Dscp::new(46).unwrap();
        Target {
            destination: SocketAddr::new(DESTINATION.into(), 0),
            source: Some(SOURCE.into()),
            interface: 0,
            ecn: Ecn::Ect0,
            labels: IpLabels { dscp, flow: FlowLabel::new(0xa_bcde).unwrap() },
            fragments: IpFragments::Needed,
        }
    }

    fn packet(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn fragments_have_the_headers_of_rfc_8200_and_make_the_packet() {
        for len in [1241, 2464, 2465, 9000, 65_535] {
            let packet = packet(len);
            let fragments = Fragments::begin(&target()).unwrap();
            let rest = fragments.rest(&target(), &packet).unwrap();
            let mut whole = Vec::new();
            for (n, (headers, part)) in rest.iter().enumerate() {
                let is_last = n + 1 == rest.len();
                assert!(headers.len() + part.len() <= 1280, "{} bytes", headers.len() + part.len());
                assert!(is_last || part.len() == 1232);
                // Version 6, the class of the packet, its flow label; payload length, next header, hop limit.
                assert_eq!(headers[..4], [0x6b, 0xaa, 0xbc, 0xde]);
                assert_eq!(headers[4..6], (part.len() as u16 + 8).to_be_bytes());
                assert_eq!(headers[6..8], [44, 64]);
                assert_eq!(
                    (&headers[8..24], &headers[24..40]),
                    (&SOURCE.octets()[..], &DESTINATION.octets()[..])
                );
                // Next header, reserved; offset in units of eight, M; identification.
                assert_eq!(headers[40..42], [132, 0]);
                let word = u16::from_be_bytes([headers[42], headers[43]]);
                assert_eq!(
                    (usize::from(word >> 3) * 8, word & 7),
                    (whole.len(), u16::from(!is_last))
                );
                assert_eq!(headers[44..], rest[0].0[44..]);
                whole.extend_from_slice(part);
            }
            assert_eq!(whole, packet);
        }
        assert!(Fragments::begin(&target()).unwrap().rest(&target(), &packet(65_536)).is_none());
    }

    #[test]
    fn what_has_left_does_not_leave_again() {
        let packet = packet(3000);
        let mut fragments = Fragments::begin(&target()).unwrap();
        let all = fragments.rest(&target(), &packet).unwrap();
        assert!(!fragments.have_left(1, &packet));
        assert_eq!(fragments.rest(&target(), &packet).unwrap(), all[1..]);
        assert!(!fragments.have_left(1, &packet));
        assert!(fragments.have_left(1, &packet));
    }

    #[test]
    fn each_packet_has_an_identification_of_its_own() {
        let draw = || Fragments::begin(&target()).unwrap().identification;
        let [a, b, c] = [draw(), draw(), draw()];
        // By chance, one in four thousand million is equal to the one before, or follows it.
        assert!(b.wrapping_sub(a) > 1 || c.wrapping_sub(b) > 1, "{a} {b} {c}");
    }
}
