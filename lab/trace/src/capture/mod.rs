//! Reads packets from captures: pcap, pcapng and the qlog of Tresse, plain or compressed with gzip,
//! from files or from standard input, in bounded memory.

mod classic;
mod merged;
mod ng;
mod qlog;
mod record;
mod window;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
pub use merged::Captures;
pub(crate) use merged::named_once;
use record::Record;
pub use record::{Bound, LinkType};
use window::Window;

use crate::Skipped;
use crate::sender::Note;

/// The rest cannot be read.
pub(crate) const UNREADABLE: &str = "captures whose rest cannot be read or decompressed";

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When, in nanoseconds since the epoch of the capture (1970 for a real one).
    pub at: u64,
    /// What the bytes begin with.
    pub link: LinkType,
    /// Index of the interface in the file.
    pub interface: u32,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// How long the packet was, at least the length of `data`.
    pub original: usize,
    /// Which packet it is, where the capture says so: the same wherever this packet was captured
    /// (`epb_packetid` of pcapng); else 0.
    pub id: u64,
    /// Which way it went, where the capture says so (`epb_flags` of pcapng).
    pub bound: Option<Bound>,
    /// What the sender says of itself in a log; there is no packet then.
    pub(crate) note: Option<&'a Note>,
}

/// Why a capture cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be opened or read.
    #[error("{name}: {source}")]
    Io {
        /// File name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The same file is named more than once.
    #[error("{name}: named twice; everything in it would count twice")]
    Twice {
        /// File name.
        name: String,
    },
    /// The file is a folder.
    #[error("{name}: a folder; name the captures in it, such as {name}/*")]
    Folder {
        /// Its name.
        name: String,
    },
    /// The file is no capture.
    #[error("{name}: neither pcap, pcapng nor qlog, nor one of them compressed with gzip")]
    Format {
        /// File name.
        name: String,
    },
}

enum Format {
    Classic(classic::Classic),
    Ng(ng::Ng),
    Qlog(qlog::Qlog),
}

/// A capture that is being read.
pub struct Capture {
    window: Window,
    format: Format,
    /// The packet at hand, whose record is still in the window.
    record: Option<Record>,
}

impl Capture {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened, or it is no capture.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return Capture::read("standard input", io::stdin());
        }
        if path.is_dir() {
            return Err(CaptureError::Folder { name });
        }
        let file =
            File::open(path).map_err(|source| CaptureError::Io { name: name.clone(), source })?;
        Capture::read(&name, file)
    }

    /// Reads a stream of bytes; `name` is for messages.
    ///
    /// # Errors
    /// The stream cannot be read, or it is no capture.
    pub fn read(name: &str, source: impl Read + 'static) -> Result<Capture, CaptureError> {
        let mut window = Window::new(Box::new(source));
        if window.has(2) && window.bytes().starts_with(&[0x1f, 0x8b]) {
            let compressed = Rest { window };
            // What is decompressed is read in large steps already; the compressed bytes are not.
            let decoder = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, compressed));
            window = Window::new(Box::new(decoder));
        }
        let format = match ng::Ng::begin(&mut window) {
            Some(ng) => Some(Format::Ng(ng)),
            None => match qlog::Qlog::begin(&mut window) {
                Some(qlog) => Some(Format::Qlog(qlog)),
                None => classic::Classic::begin(&mut window).map(Format::Classic),
            },
        };
        let name = name.to_owned();
        match (format, window.take_fault()) {
            (Some(format), _) => Ok(Capture { window, format, record: None }),
            (None, Some(source)) => Err(CaptureError::Io { name, source }),
            (None, None) => Err(CaptureError::Format { name }),
        }
    }

    /// Whether it is a log of an endpoint, rather than a capture of packets.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.format, Format::Qlog(_))
    }

    /// The next packet; `None` at the end. What cannot be used is counted in `skipped`.
    pub fn next(&mut self, skipped: &mut Skipped) -> Option<Frame<'_>> {
        self.advance(skipped).then(|| self.frame())
    }

    /// Goes on to the next packet; false at the end.
    fn advance(&mut self, skipped: &mut Skipped) -> bool {
        self.window.consume(self.record.take().map_or(0, |record| record.length));
        self.record = match &mut self.format {
            Format::Classic(classic) => classic.next(&mut self.window, skipped),
            Format::Ng(ng) => ng.next(&mut self.window, skipped),
            Format::Qlog(qlog) => qlog.next(&mut self.window, skipped),
        };
        if self.record.is_none() && self.window.take_fault().is_some() {
            skipped.add(UNREADABLE);
        }
        self.record.is_some()
    }

    /// Time of the packet at hand.
    fn at(&self) -> u64 {
        self.record.map_or(u64::MAX, |record| record.at)
    }

    /// The packet at hand; an empty one if there is none.
    fn frame(&self) -> Frame<'_> {
        let record = self.record.unwrap_or_default();
        let end = record.offset + record.kept;
        let (bytes, note) = match &self.format {
            Format::Qlog(qlog) => (qlog.packet.as_slice(), qlog.note.as_ref()),
            _ => (self.window.bytes(), None),
        };
        Frame {
            at: record.at,
            link: record.link,
            interface: record.interface,
            data: bytes.get(record.offset..end).unwrap_or_default(),
            original: record.original.max(record.kept),
            id: record.id,
            bound: record.bound,
            note,
        }
    }
}

/// The rest of a stream of which the beginning was looked at.
struct Rest {
    window: Window,
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.window.has(1);
        if let Some(fault) = self.window.take_fault() {
            return Err(fault);
        }
        let bytes = self.window.bytes();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.window.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
