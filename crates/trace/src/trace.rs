//! From captures to what is found in them.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::Skipped;
use crate::capture::{Capture, CaptureError, Frame};
use crate::event::{Head, Observer, Side};
use crate::link::{self, Protocol};
use crate::sctp::{self, Tracker};
use crate::summary::DirectionSummary;
use crate::tcp;

const BACKWARDS: &str = "packets with an earlier time than the one before (used as they come)";
/// After so much time of the capture, silent associations are looked for.
const SWEEP: u64 = 10_000_000_000;
/// So long an association that has ended may still say something, in nanoseconds.
const LINGER: u64 = 60_000_000_000;

/// How a capture is read and what is concluded from it.
#[derive(Clone, Debug)]
pub struct Options {
    /// UDP ports that carry SCTP (RFC 6951). Default: 9899.
    pub udp_ports: Vec<u16>,
    /// So many SACKs that report a chunk missing make a fast retransmit of what is sent again
    /// after them. Default 3 (RFC 9260 §7.2.4); 4 for RFC 2960, 1 for thin streams, Early
    /// Retransmit and RACK, which do not wait for that many.
    pub missing_reports: u32,
    /// RTO.Min of the estimate of RTO. Default 1 s (RFC 9260 §16).
    pub rto_min: Duration,
    /// An association of which nothing is seen for so long is given up. Default 900 s.
    pub idle: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            udp_ports: vec![9899],
            missing_reports: 3,
            rto_min: Duration::from_secs(1),
            idle: Duration::from_secs(900),
        }
    }
}

/// What is counted over a whole capture.
#[derive(Clone, Debug, Serialize)]
pub struct Totals {
    /// Packets that the capture has.
    pub frames: u64,
    /// Their bytes, as captured.
    pub bytes: u64,
    /// Those that belong to an association or connection.
    pub analysed: u64,
    /// Associations and connections.
    pub associations: u64,
    /// Seconds from the first packet to the last.
    pub duration_s: f64,
    /// Everything that all SCTP associations sent, both directions together.
    pub sctp: DirectionSummary,
    /// The same of all TCP connections.
    pub tcp: DirectionSummary,
    /// What could not be used.
    pub skipped: Skipped,
}

/// An analysis.
#[derive(Debug)]
pub struct Trace {
    options: Options,
    sctp: Tracker,
    tcp: tcp::Tracker,
    skipped: Skipped,
    frames: u64,
    bytes: u64,
    analysed: u64,
    next_id: u64,
    first_at: Option<u64>,
    last_at: u64,
    swept: u64,
}

impl Trace {
    /// An analysis of nothing so far.
    #[must_use]
    pub fn new(options: Options) -> Trace {
        let settings = sctp::Settings {
            missing_reports: options.missing_reports,
            rto_min_ms: options.rto_min.as_secs_f64() * 1e3,
        };
        Trace {
            options,
            sctp: Tracker::new(settings),
            tcp: tcp::Tracker::new(settings),
            skipped: Skipped::default(),
            frames: 0,
            bytes: 0,
            analysed: 0,
            next_id: 1,
            first_at: None,
            last_at: 0,
            swept: 0,
        }
    }

    /// Reads captures one after the other, such as the files of a ring buffer; then all that is
    /// still open ends. `-` is standard input.
    ///
    /// # Errors
    /// One of them cannot be opened or is no capture; nothing is read then.
    pub fn run(&mut self, files: &[&Path], out: &mut dyn Observer) -> Result<(), CaptureError> {
        let captures: Vec<Capture> =
            files.iter().map(|file| Capture::open(file)).collect::<Result<_, _>>()?;
        for capture in captures {
            self.read(capture, out);
        }
        self.finish(out);
        Ok(())
    }

    /// Reads a capture to its end.
    pub fn read(&mut self, mut capture: Capture, out: &mut dyn Observer) {
        // Counted apart, because the packet is borrowed meanwhile.
        let mut skipped = std::mem::take(&mut self.skipped);
        while let Some(frame) = capture.next(&mut skipped) {
            self.frame(&frame, &mut skipped, out);
        }
        self.skipped = skipped;
    }

    /// Ends everything that is still open.
    pub fn finish(&mut self, out: &mut dyn Observer) {
        self.sctp.finish(out);
        self.tcp.finish(out);
    }

    /// What is counted so far; associations count when they have ended.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let duration = self.last_at.saturating_sub(self.first_at.unwrap_or(0));
        Totals {
            frames: self.frames,
            bytes: self.bytes,
            analysed: self.analysed,
            associations: self.next_id - 1,
            duration_s: duration as f64 / 1e9,
            sctp: DirectionSummary::new(Side::A, &self.sctp.total),
            tcp: DirectionSummary::new(Side::A, &self.tcp.total),
            skipped: self.skipped.clone(),
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, skipped: &mut Skipped, out: &mut dyn Observer) {
        self.frames += 1;
        self.bytes += frame.data.len() as u64;
        self.first_at.get_or_insert(frame.at);
        if frame.at < self.last_at {
            skipped.add(BACKWARDS);
        } else {
            self.last_at = frame.at;
        }
        if self.last_at.saturating_sub(self.swept) >= SWEEP {
            self.swept = self.last_at;
            let before = |time: u64| self.last_at.saturating_sub(time);
            let idle = u64::try_from(self.options.idle.as_nanos()).unwrap_or(u64::MAX);
            self.sctp.flush(before(idle), before(LINGER), out);
            self.tcp.flush(before(idle), before(LINGER), out);
        }
        let datagram = match link::datagram(frame, &self.options.udp_ports) {
            Ok(datagram) => datagram,
            Err(reason) => {
                skipped.add(reason);
                return;
            }
        };
        let head = Head {
            at: frame.at,
            packet: self.frames,
            association: 0,
            from: Side::A,
            path: 0,
            source: datagram.source,
            destination: datagram.destination,
        };
        self.analysed += 1;
        match datagram.protocol {
            Protocol::Sctp => {
                self.sctp.packet(&head, &datagram, &mut self.next_id, skipped, out);
            }
            Protocol::Tcp => self.tcp.packet(&head, &datagram, &mut self.next_id, skipped, out),
        }
    }
}
