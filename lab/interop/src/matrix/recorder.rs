//! What Tresse's end of a cell sent and received, for the file that explains a failure.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};
use tresse::{Direction, ObservedPacket, Observer};
use tresse_wire::{Chunk, Packet};

/// Bytes of packets that are kept, the newest ones.
const ROOM: usize = 32 << 20;

/// Packets of one or several endpoints, which are its clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Arc<Mutex<Packets>>);

/// A packet: which way it went, when, and the address that it was sent to.
type Kept = (Direction, Duration, IpAddr, Vec<u8>);

#[derive(Debug, Default)]
struct Packets {
    newest: VecDeque<Kept>,
    bytes: usize,
}

impl Recorder {
    fn packets(&self) -> MutexGuard<'_, Packets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.packets() = Packets::default();
    }

    /// Shows every chunk.
    pub(crate) fn chunks(&self, mut see: impl FnMut(Direction, Chunk<'_>)) {
        self.timed_chunks(|direction, _, chunk| see(direction, chunk));
    }

    /// Shows every packet that went in a direction, from the SCTP common header on.
    pub(crate) fn packets_of(&self, way: Direction, mut see: impl FnMut(&[u8])) {
        for (.., bytes) in self.packets().newest.iter().filter(|(one, ..)| *one == way) {
            see(bytes);
        }
    }

    /// Shows every chunk, and when it was seen.
    pub(crate) fn timed_chunks(&self, mut see: impl FnMut(Direction, Duration, Chunk<'_>)) {
        self.placed_chunks(|direction, at, _, chunk| see(direction, at, chunk));
    }

    /// Shows every chunk, when it was seen, and the address that it was sent to.
    pub(crate) fn placed_chunks(
        &self,
        mut see: impl FnMut(Direction, Duration, IpAddr, Chunk<'_>),
    ) {
        for (direction, at, place, bytes) in &self.packets().newest {
            let Ok(packet) = Packet::parse_unverified(bytes) else { continue };
            for chunk in packet.chunks().map_while(Result::ok) {
                if let Ok(chunk) = Chunk::parse(chunk) {
                    see(*direction, *at, *place, chunk);
                }
            }
        }
    }

    /// Writes the packets, from the SCTP common header on, as a pcapng file with an interface for each
    /// direction.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let file = io::BufWriter::new(std::fs::File::create(path)?);
        let mut file = self.write_pcapng(file).map_err(io::Error::other)?;
        io::Write::flush(&mut file)
    }

    fn write_pcapng<W: io::Write>(&self, file: W) -> Result<W, PcapError> {
        let mut writer = PcapNgWriter::with_endianness(file, Endianness::Little)?;
        for name in ["received", "sent"] {
            writer.write_pcapng_block(InterfaceDescriptionBlock {
                linktype: DataLink::SCTP,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfTsResol(9), // Nanoseconds.
                ],
            })?;
        }
        for (direction, at, _, bytes) in &self.packets().newest {
            writer.write_pcapng_block(EnhancedPacketBlock {
                interface_id: u32::from(*direction == Direction::Out),
                timestamp: *at,
                original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                data: Cow::Borrowed(bytes),
                options: Vec::new(),
            })?;
        }
        Ok(writer.into_inner())
    }
}

impl Observer for Recorder {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        let mut packets = self.packets();
        packets.bytes += observed.packet.len();
        let at = Duration::from_nanos(observed.at.as_nanos());
        let to = match observed.direction {
            Direction::Out => observed.remote.ip(),
            Direction::In => observed.local.ip(),
        };
        packets.newest.push_back((observed.direction, at, to, observed.packet.to_vec()));
        while packets.bytes > ROOM
            && let Some((.., oldest)) = packets.newest.pop_front()
        {
            packets.bytes -= oldest.len();
        }
    }
}
