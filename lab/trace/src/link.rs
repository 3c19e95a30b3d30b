//! From a captured frame to the IP packet in it: link layers.

use etherparse::EtherType;

use crate::capture::{Frame, LinkType};

pub(crate) const NOT_IP: &str = "frames that are not IP";
const UNKNOWN_LINK: &str = "frames of a link type that is not known";
const PRIVATE_LINK: &str =
    "frames of a link type for private use (DLT_USER): what they carry is not said";
const ENCRYPTED: &str = "IEEE 802.11 frames that are encrypted";

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried<'a> {
    /// An IP packet.
    Ip(&'a [u8]),
    /// An SCTP packet without the IP header.
    Sctp(&'a [u8]),
}

/// What is behind the link layer of a frame; otherwise why it is passed over. Numbers are those of
/// <https://www.tcpdump.org/linktypes.html>.
pub(crate) fn carried<'a>(frame: &Frame<'a>) -> Result<Carried<'a>, &'static str> {
    let data = frame.data;
    let LinkType(link) = frame.link;
    let ip = match link {
        // NULL, LOOP: the address family differs between systems; the version of IP is told by its
        // first byte.
        0 | 108 => data.get(4..),
        // ETHERNET, SLL.
        1 => by_type(data, 12)?,
        113 => by_type(data, 14)?,
        // PPP, PPP_HDLC.
        9 | 50 => ppp(data),
        // PPP_ETHER.
        51 => pppoe(data),
        // PPP_PPPD, PPP_WITH_DIR: one byte says the direction.
        166 | 204 => data.get(1..).and_then(ppp),
        // RAW, and what OpenBSD and others write for it, IPV4, IPV6.
        101 | 12 | 14 | 228 | 229 => Some(data),
        // C_HDLC.
        104 => by_type(data, 2)?,
        // IEEE802_11, and with a radiotap header.
        105 => wireless(data)?,
        127 => data
            .get(2..4)
            .and_then(|length| data.get(usize::from(u16::from_le_bytes([length[0], length[1]]))..))
            .map_or(Ok(None), wireless)?,
        // ENC.
        109 => data.get(12..),
        // PFLOG: its length, without padding to four bytes, stands first.
        117 => data.first().and_then(|length| data.get(usize::from(*length).next_multiple_of(4)..)),
        239 => nflog(data),
        248 => return Ok(Carried::Sctp(data)),
        // SLL2.
        276 => by_type_then(data, 0, 20)?,
        147..=162 => return Err(PRIVATE_LINK),
        _ => return Err(UNKNOWN_LINK),
    };
    ip.filter(|ip| !ip.is_empty()).map(Carried::Ip).ok_or(NOT_IP)
}

/// The EtherType, or the length of IEEE 802.3, at a place.
fn ether_type(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}

/// Behind the EtherType at `at`.
fn by_type(data: &[u8], at: usize) -> Result<Option<&[u8]>, &'static str> {
    by_type_then(data, at, at + 2)
}

/// By the EtherType at `at`, the IP packet at `then`, behind VLAN tags, MPLS labels, PPPoE or LLC.
fn by_type_then(
    data: &[u8],
    mut at: usize,
    mut then: usize,
) -> Result<Option<&[u8]>, &'static str> {
    loop {
        let kind = ether_type(data, at).ok_or(NOT_IP)?;
        match EtherType(kind) {
            EtherType::IPV4 | EtherType::IPV6 => return Ok(data.get(then..)),
            EtherType::VLAN_TAGGED_FRAME
            | EtherType::PROVIDER_BRIDGING
            | EtherType::VLAN_DOUBLE_TAGGED_FRAME => (at, then) = (then + 2, then + 4),
            // MPLS, RFC 3032 §2.1: the last label has the S bit. RFC 3032 §2.2: what follows is not
            // said; IP is told by its version.
            EtherType(0x8847 | 0x8848) => {
                let mut labels = data.get(then..).unwrap_or_default().chunks_exact(4);
                let last = labels.position(|label| label[2] & 1 != 0).ok_or(NOT_IP)?;
                let packet = data.get(then + 4 * (last + 1)..);
                let version =
                    |packet: &&[u8]| matches!(packet.first().map(|b| b >> 4), Some(4 | 6));
                return Ok(packet.filter(version));
            }
            // PPPoE session, RFC 2516 §4.
            EtherType(0x8864) => return Ok(data.get(then..).and_then(pppoe)),
            // IEEE 802.3: a length, then LLC.
            EtherType(0..=1500) => return Ok(data.get(then..).and_then(snap)),
            _ => return Err(NOT_IP),
        }
    }
}

/// Behind the PPPoE header (RFC 2516 §4).
fn pppoe(data: &[u8]) -> Option<&[u8]> {
    data.get(6..).and_then(ppp)
}

/// Behind the PPP header (RFC 1661 §2, RFC 1662 §3.1).
fn ppp(data: &[u8]) -> Option<&[u8]> {
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    match data {
        // IPv4 and IPv6; RFC 1661 §6.5: the field may be one byte.
        [0, 0x21 | 0x57, rest @ ..] | [0x21 | 0x57, rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Behind LLC and SNAP (RFC 1042).
fn snap(data: &[u8]) -> Option<&[u8]> {
    let rest = data.strip_prefix(&[0xaa, 0xaa, 0x03, 0, 0, 0])?;
    let kind = EtherType(ether_type(rest, 0)?);
    if matches!(kind, EtherType::IPV4 | EtherType::IPV6) { rest.get(2..) } else { None }
}

/// Behind the header of an IEEE 802.11 frame with data.
fn wireless(data: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let [first, second, ..] = *data else { return Ok(None) };
    // IEEE 802.11 §9.2.4.1: type data, of a subtype that carries some.
    if first & 0x0c != 0x08 || first & 0x40 != 0 {
        return Ok(None);
    }
    if second & 0x40 != 0 {
        return Err(ENCRYPTED);
    }
    let addresses = if second & 0x03 == 0x03 { 30 } else { 24 };
    let quality = first & 0x80 != 0;
    // Several packets in one frame are not taken apart.
    if quality && data.get(addresses).is_none_or(|control| control & 0x80 != 0) {
        return Ok(None);
    }
    let high_throughput = if quality && second & 0x80 != 0 { 4 } else { 0 };
    let length = addresses + if quality { 2 } else { 0 } + high_throughput;
    Ok(data.get(length..).and_then(snap))
}

/// The packet in a message of Linux' netfilter log: values with length and type, in the byte order of
/// the machine, of which type 9 is the packet.
fn nflog(data: &[u8]) -> Option<&[u8]> {
    let mut rest = data.get(4..)?;
    loop {
        let (head, _) = rest.split_first_chunk::<4>()?;
        let little = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let big = |at: usize| usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
        // Types are small numbers.
        let (length, kind) =
            if little(2) & 0x7fff < 0x100 { (little(0), little(2)) } else { (big(0), big(2)) };
        let value = rest.get(4..length.min(rest.len()))?;
        if kind & 0x7fff == 9 {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 4] = [0x45, 0, 0, 20];

    fn of(link: u32, parts: &[&[u8]]) -> Result<Vec<u8>, &'static str> {
        let data = parts.concat();
        let frame = Frame {
            at: 0,
            link: LinkType(link),
            interface: 0,
            data: &data,
            original: data.len(),
            id: 0,
            bound: None,
            note: None,
        };
        match carried(&frame)? {
            Carried::Ip(ip) => Ok(ip.to_vec()),
            Carried::Sctp(sctp) => Ok([b"sctp", sctp].concat()),
        }
    }

    #[test]
    fn ip_is_found_behind_every_link_layer() {
        let llc = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let radiotap = [0, 0, 10, 0, 0, 0, 0, 0, 0, 0];
        let frames: &[(u32, &[&[u8]])] = &[
            (0, &[&[2, 0, 0, 0]]),
            (1, &[&[0; 12], &[8, 0]]),
            (1, &[&[0; 12], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0]]),
            (1, &[&[0; 12], &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]]),
            (1, &[&[0; 12], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 6, 0, 0x21]]),
            (1, &[&[0; 12], &[0, 28], &llc]),
            (9, &[&[0xff, 3, 0, 0x21]]),
            (9, &[&[0x21]]),
            (51, &[&[0x11, 0, 0, 1, 0, 6, 0, 0x57]]),
            (204, &[&[1, 0xff, 3, 0, 0x21]]),
            (101, &[]),
            (104, &[&[0x0f, 0, 8, 0]]),
            (105, &[&[8, 1], &[0; 22], &llc]),
            (127, &[&radiotap, &[0x88, 2], &[0; 24], &llc]),
            (127, &[&radiotap, &[8, 3], &[0; 28], &llc]),
            (113, &[&[0; 14], &[8, 0]]),
            (117, &[&[61], &[0; 63]]),
            (239, &[&[2, 0, 0, 1], &[6, 0, 10, 0, b'x', 0, 0, 0], &[8, 0, 9, 0]]),
            (276, &[&[8, 0], &[0; 18]]),
        ];
        for (link, parts) in frames {
            let parts = [*parts, &[&IP[..]]].concat();
            assert_eq!(of(*link, &parts), Ok(IP.to_vec()), "{link}: {parts:?}");
            let whole = parts.concat();
            // Cut off anywhere.
            for length in 0..whole.len() {
                let _ = of(*link, &[&whole[..length]]);
            }
        }
        assert_eq!(of(248, &[b"!"]), Ok(b"sctp!".to_vec()));
    }

    #[test]
    fn what_is_not_ip_says_so() {
        assert_eq!(of(1, &[&[0; 12], &[8, 6], &IP]), Err(NOT_IP));
        assert_eq!(of(150, &[&IP]), Err(PRIVATE_LINK));
        assert_eq!(of(999, &[&IP]), Err(UNKNOWN_LINK));
        assert_eq!(of(105, &[&[8, 0x41], &[0; 40]]), Err(ENCRYPTED));
        assert_eq!(of(105, &[&[0x80, 0], &[0; 40]]), Err(NOT_IP));
    }
}
