//! Packet captures in pcapng format.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};
use tresse_core::Time;
use tresse_netem::DropCause;
use tresse_wire::{IpHeaders, add_packet_id};

use crate::ids::LinkId;
use crate::packet::Packet;

/// What to capture, see [`Simulation::capture`](crate::Simulation::capture).
#[derive(Clone, Debug, Default)]
pub struct Capture {
    links: Option<Vec<LinkId>>,
    point: CapturePoint,
    /// Captured at the exit in any case.
    received: Vec<LinkId>,
}

/// Where on a link packets are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapturePoint {
    /// As sent, before anything happens to them (default).
    #[default]
    Entry,
    /// As delivered: without what was lost, and with corruption, duplication and reordering.
    Exit,
}

impl Capture {
    /// All links, those added later included.
    pub fn all() -> Capture {
        Capture::default()
    }

    /// Only these links.
    pub fn links(links: &[LinkId]) -> Capture {
        Capture { links: Some(links.to_vec()), ..Capture::default() }
    }

    /// Some links at the entry, others at the exit.
    pub(crate) fn host(sent: Vec<LinkId>, received: Vec<LinkId>) -> Capture {
        Capture { links: Some(sent), received, ..Capture::default() }
    }

    /// Where on the link with this index, if at all.
    fn point_on(&self, index: usize) -> Option<CapturePoint> {
        if self.received.iter().any(|id| id.index() == index) {
            return Some(CapturePoint::Exit);
        }
        let all = self.links.as_ref().is_none_or(|l| l.iter().any(|id| id.index() == index));
        all.then_some(self.point)
    }

    /// Where on the links.
    #[must_use]
    pub fn at(self, point: CapturePoint) -> Capture {
        Capture { point, ..self }
    }
}

impl From<LinkId> for Capture {
    fn from(link: LinkId) -> Capture {
        Capture::links(&[link])
    }
}

/// A sink that keeps a capture in memory. Clones share the bytes.
#[derive(Clone, Debug, Default)]
pub struct CaptureBuffer(Rc<RefCell<Vec<u8>>>);

impl CaptureBuffer {
    /// An empty buffer.
    pub fn new() -> CaptureBuffer {
        CaptureBuffer::default()
    }

    /// A copy of what was written so far.
    pub fn contents(&self) -> Vec<u8> {
        self.0.borrow().clone()
    }
}

impl Write for CaptureBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All captures of a simulation.
#[derive(Default)]
pub(crate) struct Captures {
    running: Vec<Running>,
    /// Whether one of them captures at the entry.
    entry: bool,
    error: Option<io::Error>,
    /// Where IP packets are put together.
    buffer: Vec<u8>,
}

struct Running {
    capture: Capture,
    /// Encodes into memory, so that the sink sees one write per block.
    writer: PcapNgWriter<Vec<u8>>,
    sink: Box<dyn Write>,
    /// Interface of each link and where it is captured, `None` where it is not.
    interfaces: Vec<Option<(u32, CapturePoint)>>,
    described: u32,
}

impl Captures {
    pub(crate) fn begin(
        &mut self,
        capture: &Capture,
        sink: Box<dyn Write>,
        links: &[&str],
    ) -> io::Result<()> {
        let writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little);
        let mut running = Running {
            capture: capture.clone(),
            writer: writer.map_err(io_error)?,
            sink,
            interfaces: Vec::new(),
            described: 0,
        };
        running.pass_on()?;
        for name in links {
            running.add_link(name)?;
        }
        self.entry |= capture.point == CapturePoint::Entry;
        self.running.push(running);
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.entry = false;
        let mut result = self.error.take().map_or(Ok(()), Err);
        for mut running in self.running.drain(..) {
            result = result.and(running.sink.flush());
        }
        result
    }

    /// A link was added, with the next number.
    pub(crate) fn add_link(&mut self, name: &str) {
        self.each(|running, _| running.add_link(name));
    }

    pub(crate) const fn any_at_entry(&self) -> bool {
        self.entry
    }

    /// A packet is put on a link, as the one with this number there.
    pub(crate) fn entered(
        &mut self,
        now: Time,
        link: LinkId,
        numbered: (u64, &Packet),
        dropped: Option<DropCause>,
    ) {
        self.write(CapturePoint::Entry, now, link, numbered, dropped);
    }

    pub(crate) fn left(&mut self, now: Time, link: LinkId, numbered: (u64, &Packet)) {
        if !self.running.is_empty() {
            self.write(CapturePoint::Exit, now, link, numbered, None);
        }
    }

    fn write(
        &mut self,
        point: CapturePoint,
        now: Time,
        link: LinkId,
        (number, packet): (u64, &Packet),
        dropped: Option<DropCause>,
    ) {
        let id = packet_id(link.index(), number);
        let mut written = false;
        self.each(|running, buffer| {
            let interface = running.interfaces.get(link.index()).copied().flatten();
            let Some((interface, _)) = interface.filter(|(_, at)| *at == point) else {
                return Ok(());
            };
            if !written {
                let headers = IpHeaders {
                    source: packet.source,
                    destination: packet.destination,
                    udp: packet.udp.map(|ports| (ports.source, ports.destination)),
                    protocol: packet.protocol.number(),
                    ecn: packet.ecn,
                    labels: packet.labels,
                };
                headers.write(&packet.payload, buffer);
                written = true;
            }
            running.write(interface, now, buffer, (id, dropped))
        });
    }

    /// Does something to every capture; those that fail end.
    fn each(&mut self, mut action: impl FnMut(&mut Running, &mut Vec<u8>) -> io::Result<()>) {
        let Captures { running, error, buffer, .. } = self;
        running.retain_mut(|running| match action(running, buffer) {
            Ok(()) => true,
            Err(fault) => {
                error.get_or_insert(fault);
                false
            }
        });
    }
}

impl Running {
    /// Moves what was encoded to the sink.
    fn pass_on(&mut self) -> io::Result<()> {
        let encoded = self.writer.get_mut();
        self.sink.write_all(encoded)?;
        encoded.clear();
        Ok(())
    }

    fn add_link(&mut self, name: &str) -> io::Result<()> {
        let index = self.interfaces.len();
        let Some(point) = self.capture.point_on(index) else {
            self.interfaces.push(None);
            return Ok(());
        };
        self.interfaces.push(Some((self.described, point)));
        self.described += 1;
        let description = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(9), // Nanoseconds.
            ],
        };
        self.writer.write_pcapng_block(description).map_err(io_error)?;
        self.pass_on()
    }

    fn write(
        &mut self,
        interface: u32,
        now: Time,
        bytes: &[u8],
        (id, dropped): (u64, Option<DropCause>),
    ) -> io::Result<()> {
        let comment = |cause: DropCause| {
            EnhancedPacketOption::Comment(Cow::Owned(format!("dropped: {}", cause.name())))
        };
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(now.as_nanos()),
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options: dropped.map(comment).into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        add_packet_id(self.writer.get_mut(), id);
        self.pass_on()
    }
}

/// The `epb_packetid` of packet `number` of a link, at whichever point it is captured.
fn packet_id(link: usize, number: u64) -> u64 {
    (link as u64) << 40 | number
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}
