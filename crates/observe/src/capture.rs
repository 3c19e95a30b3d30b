//! Real packets in a pcapng file, with the IP and UDP headers that they travelled in put together
//! again, so that analysers dissect them.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};
use tresse::{Direction, ObservedPacket, Observer};

use crate::clock::WallClock;
use crate::spool::{Spool, Stream};

const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_SCTP: u8 = 132;
const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// Writes every packet of an endpoint to a pcapng file: those received once the carrier has checked
/// them, those sent as they are handed to the system.
pub struct Capture {
    stream: Stream,
    /// Encodes into memory.
    writer: PcapNgWriter<Vec<u8>>,
    clock: WallClock,
    packet: Vec<u8>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Capture {
    /// Makes the file, or opens a pipe; see [`Spool::create`] for `limit`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(spool: &Spool, path: &Path, limit: u64) -> io::Result<Capture> {
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little)
            .map_err(io::Error::other)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed("tresse")),
                InterfaceDescriptionOption::IfTsResol(9), // Nanoseconds.
            ],
        };
        writer.write_pcapng_block(interface).map_err(io::Error::other)?;
        let stream = spool.create(path, writer.get_ref(), limit)?;
        writer.get_mut().clear();
        Ok(Capture { stream, writer, clock: WallClock::default(), packet: Vec::new() })
    }
}

impl Observer for Capture {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        encapsulate(observed, &mut self.packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: self.clock.since_1970(observed.at),
            original_len: u32::try_from(self.packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&self.packet),
            options: Vec::new(),
        };
        // Writing to memory does not fail.
        if self.writer.write_pcapng_block(block).is_ok() {
            self.stream.write(self.writer.get_ref());
        }
        self.writer.get_mut().clear();
    }
}

/// Replaces `buffer` by the whole IP packet.
fn encapsulate(observed: &ObservedPacket<'_>, buffer: &mut Vec<u8>) {
    buffer.clear();
    let (source, destination) = match observed.direction {
        Direction::In => (observed.remote, observed.local),
        Direction::Out => (observed.local, observed.remote),
    };
    // There are no ports on raw IP.
    let udp = observed.local.port() != 0;
    let protocol = if udp { PROTOCOL_UDP } else { PROTOCOL_SCTP };
    let payload = observed.packet.len() + if udp { 8 } else { 0 };
    if destination.is_ipv4() {
        buffer.extend_from_slice(&[0x45, observed.ecn.bits()]);
        buffer.extend_from_slice(&field(payload + 20));
        buffer.extend_from_slice(&[0, 0]);
        buffer.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        buffer.extend_from_slice(&[HOP_LIMIT, protocol, 0, 0]);
        push_addresses(source, destination, buffer);
        let checksum = !sum(0, buffer);
        buffer[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let class = u32::from(observed.ecn.bits()) << 20;
        buffer.extend_from_slice(&(0x6000_0000 | class).to_be_bytes());
        buffer.extend_from_slice(&field(payload));
        buffer.extend_from_slice(&[protocol, HOP_LIMIT]);
        push_addresses(source, destination, buffer);
    }
    if udp {
        push_udp(source, destination, observed.packet, buffer);
    }
    buffer.extend_from_slice(observed.packet);
}

/// The UDP header before `packet`.
fn push_udp(source: SocketAddr, destination: SocketAddr, packet: &[u8], buffer: &mut Vec<u8>) {
    let length = field(packet.len() + 8);
    let udp = buffer.len();
    buffer.extend_from_slice(&source.port().to_be_bytes());
    buffer.extend_from_slice(&destination.port().to_be_bytes());
    buffer.extend_from_slice(&length);
    // RFC 768, RFC 8200 §8.1: the checksum covers a pseudo-header of addresses, protocol, length.
    let mut pseudo = Vec::with_capacity(36);
    push_addresses(source, destination, &mut pseudo);
    pseudo.extend_from_slice(&[0, PROTOCOL_UDP]);
    pseudo.extend_from_slice(&length);
    let total = sum(sum(sum(0, &pseudo), &buffer[udp..]), packet);
    // RFC 768: a checksum of zero is sent as all ones.
    let checksum = if total == u16::MAX { u16::MAX } else { !total };
    buffer.extend_from_slice(&checksum.to_be_bytes());
}

/// Both addresses in the family of the destination.
fn push_addresses(source: SocketAddr, destination: SocketAddr, buffer: &mut Vec<u8>) {
    for address in [source.ip(), destination.ip()] {
        match (address, destination.ip()) {
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

/// A 16-bit length; UDP cannot carry more.
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
    use std::time::Duration;
    use tresse::{Ecn, Time};

    fn packet(direction: Direction, local: &str, remote: &str) -> Vec<u8> {
        let observed = ObservedPacket {
            at: Time::ZERO,
            direction,
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            ecn: Ecn::Ect0,
            packet: b"odd packet!!!",
        };
        let mut buffer = vec![9; 3];
        encapsulate(&observed, &mut buffer);
        buffer
    }

    #[test]
    fn headers_add_up() {
        let v4 = packet(Direction::In, "192.0.2.1:9899", "192.0.2.2:1234");
        assert_eq!(v4.len(), 20 + 8 + 13);
        assert_eq!(sum(0, &v4[..20]), 0xffff);
        assert_eq!((v4[1], &v4[12..20]), (2, &[192, 0, 2, 2, 192, 0, 2, 1][..]));
        assert_eq!(v4[20..24], [0x04, 0xd2, 0x26, 0xab]);
        let pseudo = [&v4[12..20], &[0, 17, 0, 21]].concat();
        assert_eq!(sum(sum(0, &pseudo), &v4[20..]), 0xffff);

        let v6 = packet(Direction::Out, "[2001:db8::1]:9899", "[2001:db8::2]:1234");
        assert_eq!(v6.len(), 40 + 8 + 13);
        assert_eq!(v6[..8], [0x60, 0x20, 0, 0, 0, 21, 17, 64]);
        let pseudo = [&v6[8..40], &[0, 17, 0, 21]].concat();
        assert_eq!(sum(sum(0, &pseudo), &v6[40..]), 0xffff);
    }

    #[test]
    fn raw_ip_has_no_udp_header() {
        let v4 = packet(Direction::Out, "192.0.2.1:0", "192.0.2.2:0");
        assert_eq!((v4.len(), v4[9], &v4[20..]), (20 + 13, 132, &b"odd packet!!!"[..]));
        let v6 = packet(Direction::In, "[2001:db8::1]:0", "[2001:db8::2]:0");
        assert_eq!((v6.len(), v6[6], v6[5]), (40 + 13, 132, 13));
    }

    #[test]
    fn a_file_can_be_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pcapng");
        let spool = Spool::start(|line| panic!("{line}")).unwrap();
        let mut capture = Capture::create(&spool, &path, 0).unwrap();
        for n in 0..3 {
            capture.packet(&ObservedPacket {
                at: Time::from_millis(n),
                direction: Direction::Out,
                local: "192.0.2.1:9899".parse().unwrap(),
                remote: "192.0.2.2:9899".parse().unwrap(),
                ecn: Ecn::NotEct,
                packet: &[0; 40],
            });
        }
        assert!(spool.flush(Duration::from_secs(60)));
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = pcap_file::pcapng::PcapNgReader::new(&bytes[..]).unwrap();
        let (mut packets, mut last) = (0, None);
        while let Some(block) = reader.next_block() {
            if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
                assert_eq!(packet.original_len, 20 + 8 + 40);
                let before: Option<Duration> = last.replace(packet.timestamp);
                let step = before.map(|before| packet.timestamp - before);
                assert!(step.is_none_or(|step| step == Duration::from_millis(1)));
                packets += 1;
            }
        }
        assert_eq!(packets, 3);
    }
}
