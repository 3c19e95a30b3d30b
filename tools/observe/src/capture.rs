//! Real packets in a pcapng file, with the IP and UDP headers that they travelled in put together
//! again, so that analysers dissect them.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};
use tresse::{Direction, ObservedPacket, Observer};
use tresse_wire::IpHeaders;

use crate::clock::WallClock;
use crate::spool::{Spool, Stream};

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
        headers(observed).write(observed.packet, &mut self.packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: self.clock.since_1970(observed.at),
            original_len: u32::try_from(self.packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&self.packet),
            options: vec![EnhancedPacketOption::Flags(flags(observed.direction))],
        };
        // Writing to memory does not fail.
        if self.writer.write_pcapng_block(block).is_ok() {
            self.stream.write(self.writer.get_ref());
        }
        self.writer.get_mut().clear();
    }
}

/// `epb_flags`: which way a packet went. Where both ends of an association are of one engine, a capture has each packet
/// twice, and that tells which is which.
fn flags(direction: Direction) -> u32 {
    match direction {
        Direction::In => 1,
        Direction::Out => 2,
    }
}

/// The headers that a packet travelled in.
fn headers(observed: &ObservedPacket<'_>) -> IpHeaders {
    let (source, destination) = match observed.direction {
        Direction::In => (observed.remote, observed.local),
        Direction::Out => (observed.local, observed.remote),
    };
    IpHeaders {
        source: source.ip(),
        destination: destination.ip(),
        // There are no ports on raw IP.
        udp: (observed.local.port() != 0).then_some((source.port(), destination.port())),
        protocol: IpHeaders::SCTP,
        ecn: observed.ecn,
        labels: observed.labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tresse::{Ecn, IpLabels, Time};

    #[test]
    fn headers_are_those_of_the_direction() {
        let headers = |direction, local: &str, remote: &str| {
            headers(&ObservedPacket {
                at: Time::ZERO,
                direction,
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
                ecn: Ecn::Ect0,
                labels: IpLabels::default(),
                packet: &[],
            })
        };
        let received = headers(Direction::In, "192.0.2.1:9899", "192.0.2.2:1234");
        assert_eq!(received.source.to_string(), "192.0.2.2");
        assert_eq!((received.udp, received.ecn), (Some((1234, 9899)), Ecn::Ect0));
        let sent = headers(Direction::Out, "[2001:db8::1]:0", "[2001:db8::2]:0");
        assert_eq!((sent.destination.to_string().as_str(), sent.udp), ("2001:db8::2", None));
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
                direction: if n == 0 { Direction::In } else { Direction::Out },
                local: "192.0.2.1:9899".parse().unwrap(),
                remote: "192.0.2.2:9899".parse().unwrap(),
                ecn: Ecn::NotEct,
                labels: IpLabels::default(),
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
                let bound = if packets == 0 { 1 } else { 2 };
                assert_eq!(packet.options, [EnhancedPacketOption::Flags(bound)]);
                let before: Option<Duration> = last.replace(packet.timestamp);
                let step = before.map(|before| packet.timestamp - before);
                assert!(step.is_none_or(|step| step == Duration::from_millis(1)));
                packets += 1;
            }
        }
        assert_eq!(packets, 3);
    }
}
