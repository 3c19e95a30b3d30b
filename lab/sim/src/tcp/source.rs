//! The host that sends.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use tresse_core::Time;

use super::clock::Clock;
use super::delays::Delays;
use super::options::{MSS, Options, Traffic, WINDOW};
use super::rtt::Rtt;
use super::segment::{ACK, PORT, PSH, SYN, Segment, pattern, unwrap};
use super::sender::{Acknowledgement, Outgoing, Sender};
use crate::node::{Node, NodeContext};
use crate::packet::Packet;

/// What wakes the host.
const TIMER: u64 = 0;
const MESSAGE: u64 = 1;

/// More than this is never written ahead.
const WRITTEN_AHEAD: u64 = 1 << 20;

/// Opens a connection when it starts, and sends on it.
#[derive(Debug)]
pub struct Source {
    options: Options,
    traffic: Traffic,
    clock: Clock,
    addresses: (IpAddr, IpAddr),
    /// The number of its SYN on the wire.
    first: u32,
    /// The same of the other host, and the last timestamp from there.
    theirs: (u32, u32),
    /// Until the connection is up: when the SYN is sent again.
    syn_due: Option<u64>,
    rtt: Rtt,
    sender: Option<Sender>,
    opened_at: Option<Time>,
    /// Messages written so far.
    messages: u64,
    delays: Delays,
    segments: u64,
    /// The earliest time that a wake-up is set for.
    wakes_at: Option<Time>,
}

impl Source {
    /// A host at `own` that sends to `peer`. Its clock ticks so much earlier than at multiples of 4 ms.
    pub fn new(
        options: Options,
        traffic: Traffic,
        own: IpAddr,
        peer: IpAddr,
        ahead: Duration,
    ) -> Source {
        Source {
            options,
            traffic,
            clock: Clock::ahead_by(ahead),
            addresses: (own, peer),
            first: 0,
            theirs: (0, 0),
            syn_due: None,
            rtt: Rtt::default(),
            sender: None,
            opened_at: None,
            messages: 0,
            delays: Delays::default(),
            segments: 0,
            wakes_at: None,
        }
    }

    /// Time between two transmissions of the same data, that of the SYN included, as tcptrace has it.
    pub const fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Segments of data that were sent, again or not.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Expirations of the retransmission timer, that of the SYN not counted.
    pub fn timeouts(&self) -> u64 {
        self.sender.as_ref().map_or(0, Sender::timeouts)
    }

    /// When the connection came up.
    pub const fn opened_at(&self) -> Option<Time> {
        self.opened_at
    }

    fn transmit(&self, cx: &mut NodeContext<'_>, segment: &Segment) {
        cx.send(segment.packet(self.addresses));
    }

    /// A segment without data.
    fn blank(&self, now: Time, number: u64, flags: u8) -> Segment {
        Segment {
            ports: (PORT, PORT),
            sequence: self.first.wrapping_add(number as u32),
            acknowledgement: if flags & ACK == 0 { 0 } else { self.theirs.0.wrapping_add(1) },
            flags,
            window: WINDOW,
            timestamp: Some((self.clock.jiffies(now) as u32, self.theirs.1)),
            ..Segment::default()
        }
    }

    fn send_syn(&mut self, cx: &mut NodeContext<'_>) {
        let now = cx.now();
        self.delays.sent(now, 0);
        self.syn_due = Some(self.clock.jiffies(now) + self.rtt.rto());
        let mut segment = self.blank(now, 0, SYN);
        segment.mss = Some(MSS as u16 + 12);
        segment.sack_permitted = self.options.sack;
        self.transmit(cx, &segment);
    }

    fn send_data(&mut self, cx: &mut NodeContext<'_>, out: Outgoing, last: bool) {
        let now = cx.now();
        self.delays.sent(now, out.begin);
        self.segments += 1;
        let push = if last { PSH } else { 0 };
        let mut segment = self.blank(now, out.begin, ACK | push);
        segment.payload = (out.begin..out.end).map(pattern).collect::<Bytes>();
        self.transmit(cx, &segment);
    }

    /// Sends what is to be sent and sets the next wake-up.
    fn settle(&mut self, cx: &mut NodeContext<'_>) {
        if let Some(sender) = &mut self.sender {
            let out = sender.take();
            let out: Vec<(Outgoing, bool)> =
                out.into_iter().map(|segment| (segment, sender.is_last(segment))).collect();
            for (segment, last) in out {
                self.send_data(cx, segment, last);
            }
        }
        let due = self.syn_due.or_else(|| self.sender.as_ref()?.timer());
        let Some(at) = due.map(|due| self.clock.time_of(due)) else { return };
        // A later wake-up finds out that it came too early, and is set again.
        if self.wakes_at.is_none_or(|wakes| at < wakes) {
            self.wakes_at = Some(at);
            cx.set_timer(at, TIMER);
        }
    }

    /// The connection is up.
    fn open(&mut self, cx: &mut NodeContext<'_>, segment: &Segment) {
        let now = cx.now();
        self.theirs.0 = segment.sequence;
        self.syn_due = None;
        self.opened_at = Some(now);
        self.delays.acknowledged(1);
        let jiffies = self.clock.jiffies(now);
        let echo = segment.timestamp.map_or(jiffies, |(_, echo)| self.unwrap_time(jiffies, echo));
        self.rtt.measured(jiffies - echo, 1, 1);
        self.sender = Some(Sender::new(self.options, self.rtt.clone()));
        let answer = self.blank(now, 1, ACK);
        self.transmit(cx, &answer);
        match self.traffic {
            Traffic::Bulk => self.write_ahead(jiffies),
            // A process that slept is woken by a tick.
            Traffic::Periodic { .. } => cx.set_timer(self.clock.time_of(jiffies + 1), MESSAGE),
        }
    }

    /// What the other host echoes, in jiffies; never later than now.
    fn unwrap_time(&self, jiffies: u64, echo: u32) -> u64 {
        unwrap(0, jiffies, echo).min(jiffies)
    }

    /// There is always more to send.
    fn write_ahead(&mut self, jiffies: u64) {
        if let Some(sender) = &mut self.sender
            && sender.unsent() < WRITTEN_AHEAD / 2
        {
            // Whole segments only.
            sender.write(jiffies, WRITTEN_AHEAD / MSS * MSS);
        }
    }
}

impl Node for Source {
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        self.first = cx.rng().next_u32();
        self.send_syn(cx);
        self.settle(cx);
    }

    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        let parsed = Segment::parse(packet.source, packet.destination, &packet.payload);
        let Some(segment) = parsed.filter(|segment| segment.flags & ACK != 0) else { return };
        self.theirs.1 = segment.timestamp.map_or(0, |(value, _)| value);
        let jiffies = self.clock.jiffies(cx.now());
        if segment.flags & SYN != 0 {
            if self.sender.is_none() {
                self.open(cx, &segment);
            } else {
                let answer = self.blank(cx.now(), 1, ACK);
                self.transmit(cx, &answer);
            }
        } else if let Some(sender) = &mut self.sender {
            let near = sender.una;
            let number = |wire| unwrap(self.first, near, wire);
            let blocks: Vec<(u64, u64)> = segment
                .blocks
                .iter()
                .map(|(left, right)| (number(*left), number(*right)))
                .collect();
            let echo = segment.timestamp.map_or(jiffies, |(_, echo)| unwrap(0, jiffies, echo));
            let number = number(segment.acknowledgement);
            sender.acknowledged(jiffies, Acknowledgement { number, blocks: &blocks, echo });
            self.delays.acknowledged(sender.una);
            if self.traffic == Traffic::Bulk {
                self.write_ahead(jiffies);
            }
        }
        self.settle(cx);
    }

    fn on_timer(&mut self, cx: &mut NodeContext<'_>, token: u64) {
        let now = cx.now();
        let jiffies = self.clock.jiffies(now);
        match (token, self.traffic) {
            (MESSAGE, Traffic::Periodic { bytes, every, messages }) => {
                if let Some(sender) = &mut self.sender {
                    sender.write(jiffies, bytes.into());
                    self.messages += 1;
                    if self.messages < messages {
                        cx.set_timer(now + every, MESSAGE);
                    }
                }
            }
            _ => {
                if self.wakes_at.is_some_and(|at| at <= now) {
                    self.wakes_at = None;
                }
                if self.syn_due.is_some_and(|due| due <= jiffies) {
                    self.rtt.back_off();
                    self.send_syn(cx);
                } else if let Some(sender) = &mut self.sender {
                    sender.tick(jiffies);
                }
            }
        }
        self.settle(cx);
    }
}
