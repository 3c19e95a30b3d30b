//! The sending half of a connection that is up: what it keeps, and what it sends.

use super::congestion::Congestion;
use super::options::{MSS, Options, WINDOW};
use super::queue::{Queue, Sent};
use super::rtt::Rtt;
use super::state::{News, Recovery};

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement<'a> {
    /// All before it arrived.
    pub(super) number: u64,
    /// SACK blocks, the first one possibly about a duplicate.
    pub(super) blocks: &'a [(u64, u64)],
    /// The sender's clock when what made the receiver answer was sent, in jiffies.
    pub(super) echo: u64,
}

/// The sender of a connection. Numbers count from the SYN, which is number 0; times are in jiffies.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) options: Options,
    /// All before it is acknowledged.
    pub(super) una: u64,
    /// What is sent next.
    pub(super) next: u64,
    /// One more than the last byte that the application wrote.
    written: u64,
    /// The end of the last segment that was not full.
    small_end: u64,
    pub(super) queue: Queue,
    pub(super) congestion: Congestion,
    pub(super) rtt: Rtt,
    pub(super) recovery: Recovery,
    /// When the retransmission timer expires.
    timer: Option<u64>,
    /// How often it has.
    timeouts: u64,
    /// What was sent since somebody looked.
    out: Vec<Outgoing>,
}

impl Sender {
    /// A sender after the handshake, which measured the RTT.
    pub(super) fn new(options: Options, rtt: Rtt) -> Sender {
        Sender {
            options,
            una: 1,
            next: 1,
            written: 1,
            small_end: 0,
            queue: Queue::default(),
            congestion: Congestion::new(options),
            rtt,
            recovery: Recovery::new(options),
            timer: None,
            timeouts: 0,
            out: Vec::new(),
        }
    }

    /// Takes out what is to be sent.
    pub(super) fn take(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.out)
    }

    pub(super) const fn timer(&self) -> Option<u64> {
        self.timer
    }

    pub(super) const fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// The last byte of the segment is the last one that was written.
    pub(super) const fn is_last(&self, segment: Outgoing) -> bool {
        segment.end == self.written
    }

    /// Data that was written and never sent.
    pub(super) const fn unsent(&self) -> u64 {
        self.written - self.next
    }

    /// The application writes.
    pub(super) fn write(&mut self, now: u64, bytes: u64) {
        self.written += bytes;
        self.send_new(now);
    }

    /// An ACK arrives.
    pub(super) fn acknowledged(&mut self, now: u64, ack: Acknowledgement<'_>) {
        let before = self.una;
        if ack.number > self.next {
            return;
        }
        let mut news = News { acked: ack.number > before, ..News::default() };
        if ack.number >= before {
            self.count_bytes(ack.number - before);
            self.una = ack.number;
        }
        if self.options.sack && !ack.blocks.is_empty() {
            self.mark(ack, before, &mut news);
        }
        let packets = self.queue.len();
        if ack.number >= before && packets > 0 {
            let in_flight = self.queue.in_flight();
            let acked = self.forget(now, ack.echo);
            let dubious = !news.acked || news.sacked || !self.recovery.is_open();
            if acked > 0 && (!dubious || self.may_grow()) {
                self.congestion.acknowledged(now, in_flight);
            }
            if dubious {
                self.judge(now, news, acked, ack.echo);
            }
        }
        self.send_new(now);
    }

    /// Takes out what is acknowledged, measures the RTT and starts the timer again: how many segments.
    fn forget(&mut self, now: u64, echo: u64) -> u64 {
        let mut acked = 0;
        while self.queue.pop_before(self.una).is_some() {
            acked += 1;
        }
        if acked > 0 {
            if self.recovery.is_open() {
                self.congestion.acked(acked);
            }
            // RFC 1323 §4: with timestamps what was sent again tells the RTT as well.
            self.rtt.measured(now.saturating_sub(echo), self.una, self.next);
            // RFC 2988 §5.2 and §5.3.
            self.timer = (!self.queue.is_empty()).then(|| now + self.rtt.rto());
        }
        acked
    }

    /// The timer has expired, if it has.
    pub(super) fn tick(&mut self, now: u64) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            if !self.queue.is_empty() {
                self.timeouts += 1;
                self.lose_all();
                // RFC 2988 §5.4: "Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
                self.send_again(now, 0);
                self.rtt.back_off();
                self.timer = Some(now + self.rtt.rto());
            }
        }
    }

    /// Sends what is new, as far as the windows and Nagle let it.
    pub(super) fn send_new(&mut self, now: u64) {
        while self.may_send() {
            let (begin, end) = (self.next, self.next_end());
            if self.queue.is_empty() {
                // RFC 2988 §5.1.
                self.timer = Some(now + self.rtt.rto());
            }
            if end - begin < MSS {
                self.small_end = end;
            }
            self.queue.push(Sent {
                begin,
                end,
                at: now,
                sacked: false,
                lost: false,
                resent: false,
                ever_resent: false,
                next_then: 0,
            });
            self.next = end;
            self.out.push(Outgoing { begin, end });
        }
    }

    fn next_end(&self) -> u64 {
        self.written.min(self.next + MSS)
    }

    /// Something new may be sent now.
    pub(super) fn may_send(&self) -> bool {
        let end = self.next_end();
        // Minshall: a small segment waits for another small one, not for full ones.
        let held = !self.options.no_delay && end - self.next < MSS && self.small_end > self.una;
        end > self.next
            && !held
            && end <= self.una + u64::from(WINDOW)
            && self.queue.in_flight() < self.congestion.cwnd
    }

    /// Sends the segment with this index again.
    pub(super) fn send_again(&mut self, now: u64, index: usize) {
        let next = self.next;
        let Some(sent) = self.queue.get_mut(index) else { return };
        sent.at = now;
        sent.resent = true;
        sent.ever_resent = true;
        sent.next_then = next;
        self.out.push(Outgoing { begin: sent.begin, end: sent.end });
        self.recovery.sent_again(now);
    }

    /// Starts the timer again.
    pub(super) fn restart_timer(&mut self, now: u64) {
        self.timer = Some(now + self.rtt.rto());
    }
}
