//! From a captured frame to what IP carries: IPv4 and IPv6, fragments, UDP encapsulation.

use std::net::{IpAddr, Ipv4Addr};

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpSlice};

use crate::Skipped;
use crate::capture::{Bound, Frame};
use crate::fragments::{Fragment, Fragments, Key};
use crate::link::{Carried, carried};
use crate::terms::Place;

const BAD_IP: &str = "packets with a malformed IP header";
const OTHER: &str = "IP packets that are neither SCTP nor TCP";
const OTHER_PORT: &str =
    "UDP datagrams of other ports (SCTP in UDP is looked for on 9899; --udp-port names others)";
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
    /// What tells it from others that look alike, or 0: see [`Head::id`](crate::event::Head::id).
    pub(crate) id: u64,
    /// Which way it went, or its last fragment.
    pub(crate) bound: Option<Bound>,
}

/// Finds what frames carry.
#[derive(Debug)]
pub(crate) struct Datagrams {
    /// UDP ports that carry SCTP.
    udp_ports: Vec<u16>,
    reassembly: Reassembly,
}

#[derive(Debug, Default)]
struct Reassembly {
    fragments: Fragments,
    /// The last packet that was put together.
    whole: Vec<u8>,
}

/// What an IP packet carries.
struct Payload<'a> {
    ends: (IpAddr, IpAddr),
    number: IpNumber,
    bytes: &'a [u8],
    original: usize,
    id: u64,
}

impl Datagrams {
    pub(crate) fn new(udp_ports: &[u16]) -> Datagrams {
        Datagrams { udp_ports: udp_ports.to_vec(), reassembly: Reassembly::default() }
    }

    /// What the frame carries, or what is whole with this last fragment. `None` if it is passed
    /// over, which is counted, or waits for other fragments.
    pub(crate) fn find<'a>(
        &'a mut self,
        place: Place,
        frame: &Frame<'a>,
        skipped: &mut Skipped,
    ) -> Option<Datagram<'a>> {
        let found = match carried(frame) {
            Ok(Carried::Ip(packet)) => self.reassembly.payload(place, frame, packet, skipped),
            Ok(Carried::Sctp(bytes)) => {
                let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                let original = frame.original.max(bytes.len());
                let (ends, number) = ((nowhere, nowhere), IpNumber::SCTP);
                Ok(Some(Payload { ends, number, bytes, original, id: counted(frame) }))
            }
            Err(reason) => Err(reason),
        };
        let datagram = found
            .and_then(|found| found.map(|p| p.datagram(frame.bound, &self.udp_ports)).transpose());
        datagram.unwrap_or_else(|reason| {
            skipped.add(reason);
            None
        })
    }

    /// The capture has ended.
    pub(crate) fn finish(&mut self, skipped: &mut Skipped) {
        self.reassembly.fragments.finish(skipped);
    }
}

impl Reassembly {
    /// What an IP packet carries; `None` if it is a fragment, and others are missing.
    fn payload<'a>(
        &'a mut self,
        place: Place,
        frame: &Frame<'_>,
        packet: &'a [u8],
        skipped: &mut Skipped,
    ) -> Result<Option<Payload<'a>>, &'static str> {
        let (ip, _) = LaxIpSlice::from_slice(packet).map_err(|_| BAD_IP)?;
        let (ends, length, identification) = match &ip {
            LaxIpSlice::Ipv4(v4) => {
                let header = v4.header();
                let ends = (header.source_addr().into(), header.destination_addr().into());
                (ends, usize::from(header.total_len()), u64::from(header.identification()))
            }
            LaxIpSlice::Ipv6(v6) => {
                let header = v6.header();
                let ends = (header.source_addr().into(), header.destination_addr().into());
                (ends, header.slice().len() + usize::from(header.payload_length()), 0)
            }
        };
        let payload = ip.payload();
        // A length of 0, which some systems write before they cut a large packet into pieces, adds
        // nothing.
        let original = payload.payload.len() + length.saturating_sub(packet.len());
        let (number, bytes) = (payload.ip_number, payload.payload);
        let Some((offset, more, id)) = fragment(&ip) else {
            let id = if frame.id == 0 { identification } else { counted(frame) };
            return Ok(Some(Payload { ends, number, bytes, original, id }));
        };
        let key = Key {
            source: ends.0,
            destination: ends.1,
            identification: id,
            protocol: if ends.0.is_ipv4() { number.0 } else { 0 },
            there: place == Place::There,
        };
        let fragment = Fragment { at: frame.at, offset, more, data: bytes, original };
        let Some(whole) = self.fragments.add(key, fragment, skipped) else { return Ok(None) };
        self.whole = whole;
        let original = self.whole.len();
        Ok(Some(Payload { ends, number, bytes: &self.whole, original, id: id.into() }))
    }
}

/// What the capture counts a frame as, apart from all numbers that IP gives; 0 if it does not.
fn counted(frame: &Frame<'_>) -> u64 {
    if frame.id == 0 { 0 } else { frame.id | 1 << 63 }
}

/// Of a fragment: offset in bytes, whether more follow, and what they have in common.
fn fragment(ip: &LaxIpSlice<'_>) -> Option<(usize, bool, u32)> {
    let (offset, more, identification) = match ip {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            let offset = usize::from(header.fragments_offset().value()) * 8;
            (offset, header.more_fragments(), header.identification().into())
        }
        LaxIpSlice::Ipv6(v6) => v6.extensions().clone().into_iter().find_map(|extension| {
            let Ipv6ExtensionSlice::Fragment(header) = extension else { return None };
            // RFC 8200 §4.5: 13 bits of offset in units of 8 bytes, two reserved ones, M. The
            // library takes the bits from other places.
            let offset = u16::from_be_bytes(*header.slice().get(2..)?.first_chunk()?);
            Some((usize::from(offset & !7), offset & 1 != 0, header.identification()))
        })?,
    };
    // RFC 6946: a fragment that is the whole packet is none.
    (offset > 0 || more).then_some((offset, more, identification))
}

impl<'a> Payload<'a> {
    /// SCTP or TCP; SCTP is looked for in UDP datagrams to or from `udp_ports`.
    fn datagram(
        self,
        bound: Option<Bound>,
        udp_ports: &[u16],
    ) -> Result<Datagram<'a>, &'static str> {
        let Payload { ends: (source, destination), number, bytes, original, id } = self;
        let (protocol, bytes, original) = match number {
            IpNumber::SCTP => (Protocol::Sctp, bytes, original),
            IpNumber::TCP => (Protocol::Tcp, bytes, original),
            IpNumber::UDP => {
                let (bytes, original) = udp(bytes, original, udp_ports)?;
                (Protocol::Sctp, bytes, original)
            }
            _ => return Err(OTHER),
        };
        Ok(Datagram { source, destination, protocol, bytes, original, id, bound })
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
        return Err(OTHER_PORT);
    }
    let length = match usize::from(field(4)) {
        0..8 => original,
        length => length.min(original),
    };
    Ok((&rest[..rest.len().min(length - 8)], length - 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;

    /// Two fragments of a packet with 24 bytes behind its IP header.
    fn fragments(six: bool) -> [Vec<u8>; 2] {
        let data: Vec<u8> = (0..24).collect();
        [(0u16, &data[..16]), (16, &data[16..])].map(|(offset, part)| {
            let more = u16::from(offset == 0);
            let mut packet = Vec::new();
            if six {
                packet.extend([0x60, 0, 0, 0, 0, part.len() as u8 + 8, 44, 64]);
                packet.extend([[1; 16], [2; 16]].concat());
                packet.extend([132, 0]);
                packet.extend((offset | more).to_be_bytes());
                packet.extend([0, 0, 0, 9]);
            } else {
                packet.extend([0x45, 0, 0, part.len() as u8 + 20, 0, 9]);
                packet.extend(((offset / 8) | (more << 13)).to_be_bytes());
                packet.extend([64, 132, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
            }
            packet.extend(part);
            packet
        })
    }

    #[test]
    fn fragments_of_both_versions_are_put_together() {
        for six in [false, true] {
            let mut datagrams = Datagrams::new(&[]);
            let mut skipped = Skipped::default();
            let mut found = Vec::new();
            for data in &fragments(six) {
                let frame = Frame {
                    at: 0,
                    link: LinkType(101),
                    interface: 0,
                    data,
                    original: data.len(),
                    id: 0,
                    bound: None,
                    note: None,
                };
                let datagram = datagrams.find(Place::Here, &frame, &mut skipped);
                found.extend(datagram.map(|d| (d.protocol, d.bytes.to_vec())));
            }
            let expected = [(Protocol::Sctp, (0..24).collect())];
            assert_eq!(found, expected, "IPv6: {six}, {skipped:?}");
            assert_eq!(skipped, Skipped::default());
        }
    }
}
