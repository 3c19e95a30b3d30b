//! Segments on the wire (RFC 793 §3.1) with the options of RFC 1323, RFC 2018 and RFC 2883.

use std::net::IpAddr;

use bytes::Bytes;

use crate::packet::{Packet, Protocol};

/// Control bits.
pub(super) const SYN: u8 = 0x02;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

/// Both ports: that of netperf, so that no analyser takes the data for something else.
pub(super) const PORT: u16 = 12_865;

const PROTOCOL_TCP: u8 = 6;
const HEADER: usize = 20;

/// A segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) ports: (u16, u16),
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    pub(super) flags: u8,
    pub(super) window: u16,
    /// Maximum segment size; a SYN has it.
    pub(super) mss: Option<u16>,
    pub(super) sack_permitted: bool,
    /// TSval and TSecr.
    pub(super) timestamp: Option<(u32, u32)>,
    /// SACK blocks.
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) payload: Bytes,
}

impl Segment {
    /// As it leaves the first address for the second.
    pub(super) fn packet(&self, (source, destination): (IpAddr, IpAddr)) -> Packet {
        let payload = self.write(source, destination);
        Packet { protocol: Protocol::Tcp, ..Packet::sctp(source, destination, payload) }
    }

    /// Its bytes, with a checksum for these addresses.
    pub(super) fn write(&self, source: IpAddr, destination: IpAddr) -> Bytes {
        let options = self.options();
        let length = HEADER + options.len();
        let mut bytes = Vec::with_capacity(length + self.payload.len());
        bytes.extend_from_slice(&self.ports.0.to_be_bytes());
        bytes.extend_from_slice(&self.ports.1.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.acknowledgement.to_be_bytes());
        bytes.extend_from_slice(&[(length as u8 / 4) << 4, self.flags]);
        bytes.extend_from_slice(&self.window.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&options);
        bytes.extend_from_slice(&self.payload);
        let checksum = !sum(source, destination, &bytes);
        bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
        bytes.into()
    }

    fn options(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(mss) = self.mss {
            options.extend_from_slice(&[2, 4]);
            options.extend_from_slice(&mss.to_be_bytes());
        }
        if self.sack_permitted {
            options.extend_from_slice(&[1, 1, 4, 2]);
        }
        if let Some((value, echo)) = self.timestamp {
            options.extend_from_slice(&[1, 1, 8, 10]);
            options.extend_from_slice(&value.to_be_bytes());
            options.extend_from_slice(&echo.to_be_bytes());
        }
        if !self.blocks.is_empty() {
            options.extend_from_slice(&[1, 1, 5, 2 + 8 * self.blocks.len() as u8]);
            for (left, right) in &self.blocks {
                options.extend_from_slice(&left.to_be_bytes());
                options.extend_from_slice(&right.to_be_bytes());
            }
        }
        options
    }

    /// The segment in `bytes`; `None` if it is damaged.
    pub(super) fn parse(source: IpAddr, destination: IpAddr, bytes: &Bytes) -> Option<Segment> {
        let header = bytes.get(..HEADER)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let length = usize::from(header[12] >> 4) * 4;
        let options = bytes.get(HEADER..length)?;
        if sum(source, destination, bytes) != u16::MAX {
            return None;
        }
        let mut segment = Segment {
            ports: (word(0), word(2)),
            sequence: long(4),
            acknowledgement: long(8),
            flags: header[13],
            window: word(14),
            payload: bytes.slice(length..),
            ..Segment::default()
        };
        segment.read_options(options)?;
        Some(segment)
    }

    fn read_options(&mut self, mut options: &[u8]) -> Option<()> {
        while let [kind, rest @ ..] = options {
            match kind {
                0 => break,
                1 => options = rest,
                _ => {
                    let length = usize::from(*rest.first()?);
                    let value = options.get(2..length)?;
                    let mut longs = value.as_chunks::<4>().0.iter().map(|c| u32::from_be_bytes(*c));
                    match (kind, value) {
                        (2, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
                        (4, []) => self.sack_permitted = true,
                        (8, _) => self.timestamp = longs.next().zip(longs.next()),
                        (5, _) => {
                            while let (Some(left), Some(right)) = (longs.next(), longs.next()) {
                                self.blocks.push((left, right));
                            }
                        }
                        _ => {}
                    }
                    options = &options[length..];
                }
            }
        }
        Some(())
    }
}

/// The ones' complement sum over the pseudo-header and the segment (RFC 793 §3.1): all ones if it is whole.
fn sum(source: IpAddr, destination: IpAddr, bytes: &[u8]) -> u16 {
    let mut total = u64::from(PROTOCOL_TCP) + bytes.len() as u64;
    let mut add = |bytes: &[u8]| {
        let (words, rest) = bytes.as_chunks::<2>();
        total += words.iter().map(|w| u64::from(u16::from_be_bytes(*w))).sum::<u64>();
        total += rest.first().map_or(0, |b| u64::from(*b) << 8);
    };
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(bytes);
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    total as u16
}

/// The number near `near` of which `wire` is the lower half, both counted from `first`.
pub(super) fn unwrap(first: u32, near: u64, wire: u32) -> u64 {
    let offset = wire.wrapping_sub(first).wrapping_sub(near as u32).cast_signed();
    near.saturating_add_signed(i64::from(offset))
}

/// What stands at a byte of the stream, so that the receiver can tell whether it is the right one.
pub(super) const fn pattern(at: u64) -> u8 {
    (at ^ (at >> 8)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let segment = Segment {
            ports: (1, 2),
            sequence: 0xffff_fff0,
            acknowledgement: 7,
            flags: ACK | PSH,
            window: 9,
            mss: Some(1460),
            sack_permitted: true,
            timestamp: Some((3, 4)),
            blocks: vec![(1, 2), (5, 6)],
            payload: Bytes::from_static(b"odd"),
        };
        let bytes = segment.write(a, b);
        assert_eq!(Segment::parse(a, b, &bytes), Some(segment));
        assert_eq!(Segment::parse(a, b, &bytes.slice(..19)), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 4;
            assert_eq!(Segment::parse(a, b, &damaged.into()), None, "{at}");
        }
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        assert_eq!(unwrap(10, 0, 15), 5);
        assert_eq!(unwrap(10, (1 << 32) - 1, 15), (1 << 32) + 5);
        assert_eq!(unwrap(10, (1 << 32) + 5, 5), (1 << 32) - 5);
    }
}
