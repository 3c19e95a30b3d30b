//! Real packets in a pcapng file, with the IP and UDP headers that they travelled in put together
//! again, so that analysers dissect them.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};
use tresse::{Direction, ObservedPacket, Observer};

use super::outcome::Failure;

const PROTOCOL_UDP: u8 = 17;
const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// A capture file. Clones share it; one of them goes to the endpoint as its observer.
#[derive(Clone)]
pub(crate) struct Capture(Arc<Mutex<Inner>>);

struct Inner {
    writer: PcapNgWriter<BufWriter<File>>,
    /// Wall-clock time of the endpoint's time zero.
    epoch: Option<Duration>,
    packet: Vec<u8>,
    /// The first error; nothing is written after it.
    error: Option<String>,
}

impl Capture {
    pub(crate) fn create(path: &Path) -> Result<Capture, Failure> {
        let wrong = |e: &dyn std::fmt::Display| Failure::Usage(format!("{}: {e}", path.display()));
        let file = File::create(path).map_err(|e| wrong(&e))?;
        let mut writer = PcapNgWriter::with_endianness(BufWriter::new(file), Endianness::Little)
            .map_err(|e| wrong(&e))?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed("tresse perf")),
                InterfaceDescriptionOption::IfTsResol(9), // Nanoseconds.
            ],
        };
        writer.write_pcapng_block(interface).map_err(|e| wrong(&e))?;
        let inner = Inner { writer, epoch: None, packet: Vec::new(), error: None };
        Ok(Capture(Arc::new(Mutex::new(inner))))
    }

    /// Writes what is buffered.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.error.is_none()
            && let Err(e) = inner.writer.get_mut().flush()
        {
            inner.error = Some(e.to_string());
        }
        match inner.error.take() {
            Some(error) => Err(Failure::Failed(format!("the capture is incomplete: {error}"))),
            None => Ok(()),
        }
    }
}

impl Observer for Capture {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.error.is_some() {
            return;
        }
        let at = Duration::from_nanos(observed.at.as_nanos());
        let epoch = *inner.epoch.get_or_insert_with(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            now.saturating_sub(at)
        });
        let mut packet = std::mem::take(&mut inner.packet);
        encapsulate(observed, &mut packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: epoch + at,
            original_len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&packet),
            options: Vec::new(),
        };
        if let Err(e) = inner.writer.write_pcapng_block(block) {
            inner.error = Some(e.to_string());
        }
        inner.packet = packet;
    }
}

/// Replaces `buffer` by the whole IP packet.
fn encapsulate(observed: &ObservedPacket<'_>, buffer: &mut Vec<u8>) {
    buffer.clear();
    let (source, destination) = match observed.direction {
        Direction::In => (observed.remote, observed.local),
        Direction::Out => (observed.local, observed.remote),
    };
    let udp_len = observed.packet.len() + 8;
    if destination.is_ipv4() {
        buffer.extend_from_slice(&[0x45, observed.ecn.bits()]);
        buffer.extend_from_slice(&field(udp_len + 20));
        buffer.extend_from_slice(&[0, 0]);
        buffer.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        buffer.extend_from_slice(&[HOP_LIMIT, PROTOCOL_UDP, 0, 0]);
        push_addresses(source, destination, buffer);
        let checksum = !sum(0, buffer);
        buffer[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let class = u32::from(observed.ecn.bits()) << 20;
        buffer.extend_from_slice(&(0x6000_0000 | class).to_be_bytes());
        buffer.extend_from_slice(&field(udp_len));
        buffer.extend_from_slice(&[PROTOCOL_UDP, HOP_LIMIT]);
        push_addresses(source, destination, buffer);
    }
    let udp = buffer.len();
    buffer.extend_from_slice(&source.port().to_be_bytes());
    buffer.extend_from_slice(&destination.port().to_be_bytes());
    buffer.extend_from_slice(&field(udp_len));
    // RFC 768, RFC 8200 §8.1: the checksum covers a pseudo-header of addresses, protocol, length.
    let mut pseudo = Vec::with_capacity(36);
    push_addresses(source, destination, &mut pseudo);
    pseudo.extend_from_slice(&[0, PROTOCOL_UDP]);
    pseudo.extend_from_slice(&field(udp_len));
    let total = sum(sum(sum(0, &pseudo), &buffer[udp..]), observed.packet);
    // RFC 768: a checksum of zero is sent as all ones.
    let checksum = if total == u16::MAX { u16::MAX } else { !total };
    buffer.extend_from_slice(&checksum.to_be_bytes());
    buffer.extend_from_slice(observed.packet);
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
    fn a_file_that_cannot_be_made_is_a_wrong_request() {
        let failure = Capture::create(Path::new("/nonexistent/x.pcapng")).err().unwrap();
        assert!(matches!(&failure, Failure::Usage(text) if text.contains("nonexistent")));
    }
}
