//! From captures to what is found in them.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::Skipped;
use crate::capture::{CaptureError, Captures, Frame, named_once};
use crate::clock;
use crate::datagram::{Datagrams, Protocol};
use crate::event::{Head, Observer};
use crate::sctp::Tracker;
use crate::settings::Settings;
use crate::summary::DirectionSummary;
use crate::tcp;
use crate::terms::{Place, Side};

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
    /// This many SACKs that report a chunk missing make a fast retransmit of what is sent again
    /// after them. Default 3 (RFC 9260 §7.2.4); 4 for RFC 2960, 1 to count what Early Retransmit, RACK and
    /// thin streams send again, which do not wait for that many, among fast retransmits.
    pub missing_reports: u32,
    /// Whether what is sent again sooner than a timer could expire, upon fewer reports than that, has a class of its
    /// own, [`Class::Early`](crate::Class::Early). Default `true`; otherwise it is a timeout, as for Pedersen's
    /// `sctp_trace`.
    pub early: bool,
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
            early: true,
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
    /// Where both ends were captured: by how many milliseconds the clock of the other end was ahead
    /// of the first one's, which is taken off its times; 0 if no packet contradicts that they agree.
    pub clock_ahead_ms: Option<f64>,
    /// What could not be used.
    pub skipped: Skipped,
}

/// An analysis.
#[derive(Debug)]
pub struct Trace {
    options: Options,
    datagrams: Datagrams,
    clock_ahead: Option<i64>,
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
        let settings = Settings {
            missing_reports: options.missing_reports,
            early: options.early,
            rto_min_ms: options.rto_min.as_secs_f64() * 1e3,
            both_ends: false,
        };
        Trace {
            datagrams: Datagrams::new(&options.udp_ports),
            options,
            clock_ahead: None,
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

    /// Reads captures of one place together, such as those of several interfaces or the files of a
    /// ring buffer; then all that is still open ends. `-` is standard input.
    ///
    /// # Errors
    /// One of them cannot be opened or is no capture; nothing is read then.
    pub fn run(&mut self, files: &[&Path], out: &mut dyn Observer) -> Result<(), CaptureError> {
        self.run_both(files, &[], out)
    }

    /// The same with captures of both ends: what is sent is told as its sender's end saw it, and
    /// what becomes of it is seen at the other. In an association, A is at the end where its first
    /// packet was captured first. Nothing must come between the ends but what takes time, loses,
    /// reorders or duplicates: with address translation, associations are not recognised. TCP is
    /// told as the captures `here` saw it.
    ///
    /// # Errors
    /// As [`run`](Trace::run).
    pub fn run_both(
        &mut self,
        here: &[&Path],
        there: &[&Path],
        out: &mut dyn Observer,
    ) -> Result<(), CaptureError> {
        let captures = self.open(here, there)?;
        self.read(captures, out);
        self.finish(out);
        Ok(())
    }

    /// Opens captures, of one end or of both if `there` is not empty; the clock of the other end
    /// is set to that of the first by packets that both have. Where a sender's log is among them, it says
    /// why chunks were sent again.
    ///
    /// # Errors
    /// One of them cannot be opened or is no capture.
    pub fn open(&mut self, here: &[&Path], there: &[&Path]) -> Result<Captures, CaptureError> {
        named_once(&[here, there].concat())?;
        let captures = Captures::open(here)?;
        self.sctp.causes.read(here)?;
        self.sctp.causes.read(there)?;
        if there.is_empty() {
            return Ok(captures);
        }
        let others = Captures::open(there)?;
        let ahead = clock::ahead(here, there, &self.options.udp_ports)?;
        self.clock_ahead = Some(ahead);
        Ok(captures.and_there(others, ahead))
    }

    /// Reads captures to their end.
    pub fn read(&mut self, captures: impl Into<Captures>, out: &mut dyn Observer) {
        let mut captures = captures.into();
        self.sctp.both_ends(captures.both_ends());
        // Counted apart, because the packet is borrowed meanwhile.
        let mut skipped = std::mem::take(&mut self.skipped);
        while let Some((place, frame)) = captures.next(&mut skipped) {
            self.frame(place, &frame, &mut skipped, out);
        }
        self.skipped = skipped;
    }

    /// Ends everything that is still open.
    pub fn finish(&mut self, out: &mut dyn Observer) {
        self.datagrams.finish(&mut self.skipped);
        self.sctp.finish(self.last_at, out);
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
            clock_ahead_ms: self.clock_ahead.map(|ahead| ahead as f64 / 1e6),
            skipped: self.skipped.clone(),
        }
    }

    fn frame(
        &mut self,
        place: Place,
        frame: &Frame<'_>,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        if let Some(note) = frame.note {
            self.sctp.note(place, frame.at, note, skipped, out);
            return;
        }
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
        let Some(datagram) = self.datagrams.find(place, frame, skipped) else { return };
        let head = Head {
            at: frame.at,
            packet: self.frames,
            association: 0,
            from: Side::A,
            path: 0,
            source: datagram.source,
            destination: datagram.destination,
            place,
            id: datagram.id,
        };
        self.analysed += 1;
        match datagram.protocol {
            Protocol::Sctp => {
                self.sctp.packet(&head, &datagram, &mut self.next_id, skipped, out);
            }
            // Of a connection, the first place tells all that is told.
            Protocol::Tcp if place == Place::There => {}
            Protocol::Tcp => self.tcp.packet(&head, &datagram, &mut self.next_id, skipped, out),
        }
    }
}
