//! The packets one after the other, as in Pedersen's figures 3.9, 3.10 and 5.1.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::event::{Event, Head, Observer};
use crate::sender::SenderState;
use crate::summary::Summary;
use crate::terms::Identity;

/// Writes a line for each packet, and below it one for each chunk that is sent again. Times are in
/// milliseconds since the first packet of the capture, numbers are TSNs counted from the first one
/// of their direction.
#[derive(Debug)]
pub struct Listing<W: Write> {
    out: W,
    begin: Option<u64>,
    /// Packet of the last line.
    packet: u64,
    /// Something else than "RETRANSMISSION:" was written on the line of this packet.
    retransmits: bool,
    line: String,
    fault: Option<io::Error>,
}

impl<W: Write> Listing<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Listing<W> {
        Listing {
            out,
            begin: None,
            packet: 0,
            retransmits: false,
            line: String::new(),
            fault: None,
        }
    }

    /// Ends the last line.
    ///
    /// # Errors
    /// Whatever went wrong when it was written; nothing was written after that.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush_line();
        match self.fault {
            Some(fault) => Err(fault),
            None => self.out.flush(),
        }
    }

    fn flush_line(&mut self) {
        if !self.line.is_empty() && self.fault.is_none() {
            self.line.push('\n');
            self.fault = self.out.write_all(self.line.as_bytes()).err();
        }
        self.line.clear();
    }

    fn head(&mut self, head: &Head) {
        if head.packet == self.packet {
            return;
        }
        self.flush_line();
        self.packet = head.packet;
        self.retransmits = false;
        let begin = *self.begin.get_or_insert(head.at);
        let ms = crate::flow::ms(begin, head.at);
        let arrow = match head.from {
            crate::Side::A => "A>B",
            crate::Side::B => "B>A",
        };
        let _ = write!(self.line, "[{ms:.3}] #{} {arrow}", head.association);
        if head.path > 1 {
            let _ = write!(self.line, " {}>{}", head.source, head.destination);
        }
    }
}

impl<W: Write> Observer for Listing<W> {
    fn begins(&mut self, identity: &Identity) {
        self.flush_line();
        let Identity { association, protocol, a, b } = identity;
        let _ = write!(self.line, "#{association} {protocol} A {a} B {b}");
        self.flush_line();
    }

    fn event(&mut self, head: &Head, event: &Event<'_>) {
        self.head(head);
        // Writing to a String cannot fail.
        let _ = match event {
            Event::Data { number, again: Some(again), .. } => {
                if !self.retransmits {
                    self.retransmits = true;
                    self.line.push_str(" RETRANSMISSION:");
                }
                match again.class {
                    Some(class) => write!(
                        self.line,
                        "\n\tR{} {number} ({:.3}ms) {}",
                        again.count,
                        again.delay_ms,
                        class.words()
                    ),
                    None => write!(self.line, "\n\tR {number} acknowledged already"),
                }
            }
            Event::Data { number, interleaved: true, .. } => {
                write!(self.line, " I-DATA TSN: {number}")
            }
            Event::Data { number, .. } => write!(self.line, " TSN: {number}"),
            Event::Sack { cumulative, gaps, duplicates, .. } => {
                // Before the first number there is none.
                let cumulative = match cumulative {
                    -1 => "none".to_owned(),
                    number => number.to_string(),
                };
                let _ = write!(self.line, " SACK CUM ACK: {cumulative} #GAP ACKs: {}", gaps.len());
                if !gaps.is_empty() {
                    self.line.push_str(" GAP ACKED:");
                    for (from, to) in *gaps {
                        let _ = write!(self.line, " {from}-{to}");
                    }
                }
                match duplicates {
                    0 => Ok(()),
                    n => write!(self.line, " #DUPLICATES: {n}"),
                }
            }
            Event::Spurious { number, count, proof } => {
                write!(self.line, "\n\tR{count} {number} was spurious ({})", proof.name())
            }
            Event::Lost { number, count: 0, .. } => write!(self.line, "\n\t{number} was lost"),
            Event::Lost { number, count, .. } => {
                write!(self.line, "\n\tR{count} {number} was lost")
            }
            Event::Message { .. } => Ok(()),
            Event::Sender { number, state, .. } => sender(&mut self.line, *number, state),
            Event::Control { name } => write!(self.line, " {name}"),
        };
    }

    fn ends(&mut self, summary: &Summary) {
        self.flush_line();
        let _ = write!(self.line, "#{} {}", summary.identity.association, summary.ending.words());
        self.flush_line();
    }
}

/// What a sender says of itself.
fn sender(line: &mut String, number: Option<i64>, state: &SenderState) -> std::fmt::Result {
    let number = number.unwrap_or_default();
    match state {
        SenderState::Window { cwnd, ssthresh, .. } => {
            write!(line, " cwnd {cwnd} ssthresh {ssthresh}")
        }
        SenderState::Rtt { latest_ms, rto_ms, .. } => {
            write!(line, " RTT {latest_ms:.3}ms RTO {rto_ms:.3}ms")
        }
        SenderState::Expired { rto_ms } => write!(line, " T3-rtx expired, RTO {rto_ms:.3}ms"),
        SenderState::Lost { cause, .. } => write!(line, " {number} lost ({cause})"),
        SenderState::SentAgain { cause, .. } => write!(line, " {number} sent again ({cause})"),
        SenderState::Spurious { cause } => write!(line, " the loss was spurious ({cause})"),
        SenderState::Mtu { mtu, cause } => write!(line, " path MTU {mtu} ({cause})"),
        SenderState::MtuProbe { length } => write!(line, " probe of the path MTU, {length} bytes"),
        SenderState::MtuSearch { state } => write!(line, " search for the path MTU: {state}"),
    }
}
