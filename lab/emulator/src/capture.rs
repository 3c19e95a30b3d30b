//! What passes an interface, in pcapng files.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};
use tresse_observe::{Spool, Stream};
use tresse_wire::add_packet_id;

use crate::Side;

/// How long the writing of what was captured may take at the end.
const TIMEOUT: Duration = Duration::from_secs(30);

/// All captures of an emulation: written by a thread of their own, and ended together, with one line
/// for the user, when one cannot be written.
#[derive(Debug)]
pub(crate) struct Captures {
    spool: Spool,
    failed: Arc<AtomicBool>,
}

impl Captures {
    pub(crate) fn start(warn: fn(&str)) -> io::Result<Captures> {
        let failed = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&failed);
        let spool = Spool::start(move |line| {
            if !theirs.swap(true, Ordering::Relaxed) {
                warn(&format!("the captures end here, what they have so far stays: {line}"));
            }
        })?;
        Ok(Captures { spool, failed })
    }

    /// The capture of one interface.
    pub(crate) fn create(
        &self,
        folder: &Path,
        (path, side): (usize, Side),
        snap_length: usize,
    ) -> io::Result<Recorder> {
        let interface = format!("link{path}");
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little)
            .map_err(io::Error::other)?;
        let description = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            // 0 is no limit.
            snaplen: u32::try_from(snap_length).unwrap_or(0),
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(&interface)),
                InterfaceDescriptionOption::IfTsResol(9), // Nanoseconds.
            ],
        };
        writer.write_pcapng_block(description).map_err(io::Error::other)?;
        let file = folder.join(format!("{interface}-{}.pcapng", side.name()));
        let stream = self.spool.create(&file, writer.get_ref(), 0)?;
        writer.get_mut().clear();
        Ok(Recorder { stream, writer, snap_length, failed: Arc::clone(&self.failed) })
    }

    /// Waits until all is written; `false` if something is missing.
    pub(crate) fn finish(&self) -> bool {
        self.spool.flush(TIMEOUT) && !self.failed.load(Ordering::Relaxed)
    }
}

/// Writes the frames that pass one interface.
pub(crate) struct Recorder {
    stream: Stream,
    /// Encodes into memory.
    writer: PcapNgWriter<Vec<u8>>,
    /// Bytes of each frame that are kept.
    snap_length: usize,
    failed: Arc<AtomicBool>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A frame passed at `timestamp`, the time since 1970. It has this number at both ends of its
    /// link, so that an analyser can tell whether it was lost.
    pub(crate) fn record(&mut self, timestamp: Duration, frame: &[u8], number: u64) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp,
            original_len: u32::try_from(frame.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&frame[..frame.len().min(self.snap_length)]),
            options: Vec::new(),
        };
        // Writing to memory does not fail.
        if self.writer.write_pcapng_block(block).is_ok() {
            add_packet_id(self.writer.get_mut(), number);
            self.stream.write(self.writer.get_ref());
        }
        self.writer.get_mut().clear();
    }
}
