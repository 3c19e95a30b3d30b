//! The host that receives.

use std::net::IpAddr;
use std::time::Duration;

use tresse_core::Time;

use super::clock::Clock;
use super::options::{MSS, Options, WINDOW};
use super::receiver::Receiver;
use super::rtt::Rtt;
use super::segment::{ACK, PORT, SYN, Segment, pattern, unwrap};
use crate::node::{Node, NodeContext};
use crate::packet::Packet;

/// Accepts a connection and reads what comes.
#[derive(Clone, Debug)]
pub struct Sink {
    options: Options,
    clock: Clock,
    addresses: (IpAddr, IpAddr),
    /// Numbers of both SYNs on the wire: the other host's, and its own.
    firsts: (u32, u32),
    /// When its SYN was sent, until it is acknowledged.
    syn_sent_at: Option<u64>,
    receiver: Option<Receiver>,
    /// It stops the simulation when so much has arrived.
    enough: Option<u64>,
    damaged: u64,
    segments: u64,
    last_at: Option<Time>,
    wakes_at: Option<Time>,
}

impl Sink {
    /// A host at `own` that `peer` sends to. Its clock ticks so much earlier than at multiples of 4 ms.
    pub fn new(options: Options, own: IpAddr, peer: IpAddr, ahead: Duration) -> Sink {
        Sink {
            options,
            clock: Clock::ahead_by(ahead),
            addresses: (own, peer),
            firsts: (0, 0),
            syn_sent_at: None,
            receiver: None,
            enough: None,
            damaged: 0,
            segments: 0,
            last_at: None,
            wakes_at: None,
        }
    }

    /// Stops the simulation when this many bytes have arrived in order.
    #[must_use]
    pub fn stop_after(self, bytes: u64) -> Sink {
        Sink { enough: Some(bytes), ..self }
    }

    /// Bytes that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.next - 1)
    }

    /// Bytes that are not what the sender sent; always 0, or the model is wrong.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Segments of data that arrived, twice or not.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Segments of data that had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.receiver.as_ref().map_or(0, Receiver::duplicates)
    }

    /// When the last data arrived that went on in order.
    pub const fn last_at(&self) -> Option<Time> {
        self.last_at
    }

    fn transmit(&self, cx: &mut NodeContext<'_>, segment: &Segment) {
        cx.send(segment.packet(self.addresses));
    }

    fn answer_syn(&mut self, cx: &mut NodeContext<'_>, syn: &Segment) {
        let now = self.clock.jiffies(cx.now());
        if self.receiver.is_some() {
            return;
        }
        self.firsts.0 = syn.sequence;
        self.syn_sent_at = Some(now);
        let segment = Segment {
            ports: (PORT, PORT),
            sequence: self.firsts.1,
            acknowledgement: syn.sequence.wrapping_add(1),
            flags: SYN | ACK,
            window: WINDOW,
            mss: Some(MSS as u16 + 12),
            sack_permitted: self.options.sack,
            timestamp: Some((now as u32, syn.timestamp.map_or(0, |(value, _)| value))),
            ..Segment::default()
        };
        self.transmit(cx, &segment);
    }

    fn acknowledge(&mut self, cx: &mut NodeContext<'_>) {
        let now = self.clock.jiffies(cx.now());
        let Some(receiver) = &mut self.receiver else { return };
        let wire = |number: u64| self.firsts.0.wrapping_add(number as u32);
        let blocks = receiver.acknowledge();
        let segment = Segment {
            ports: (PORT, PORT),
            sequence: self.firsts.1.wrapping_add(1),
            acknowledgement: wire(receiver.next),
            flags: ACK,
            window: WINDOW,
            timestamp: Some((now as u32, receiver.echo)),
            blocks: blocks.into_iter().map(|(left, right)| (wire(left), wire(right))).collect(),
            ..Segment::default()
        };
        self.transmit(cx, &segment);
    }

    /// The first ACK of its SYN: the connection is up.
    fn open(&mut self, now: u64, segment: &Segment) {
        let mut rtt = Rtt::default();
        if let Some(sent) = self.syn_sent_at.take() {
            rtt.measured(now - sent, 1, 1);
        }
        let value = segment.timestamp.map_or(0, |(value, _)| value);
        self.receiver = Some(Receiver::new(self.options, rtt.srtt(), rtt.rto(), value));
    }

    fn settle(&mut self, cx: &mut NodeContext<'_>) {
        let timer = self.receiver.as_ref().and_then(Receiver::timer);
        let Some(at) = timer.map(|due| self.clock.time_of(due)) else { return };
        if self.wakes_at.is_none_or(|wakes| at < wakes) {
            self.wakes_at = Some(at);
            cx.set_timer(at, 0);
        }
    }
}

impl Node for Sink {
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        self.firsts.1 = cx.rng().next_u32();
    }

    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        let parsed = Segment::parse(packet.source, packet.destination, &packet.payload);
        let Some(segment) = parsed else { return };
        if segment.flags & SYN != 0 {
            self.answer_syn(cx, &segment);
            return;
        }
        let now = self.clock.jiffies(cx.now());
        if self.receiver.is_none() {
            self.open(now, &segment);
        }
        let Some(receiver) = self.receiver.as_mut().filter(|_| !segment.payload.is_empty()) else {
            return;
        };
        self.segments += 1;
        let begin = unwrap(self.firsts.0, receiver.next, segment.sequence);
        let end = begin + segment.payload.len() as u64;
        let wrong = (begin..end).zip(&segment.payload).filter(|(at, byte)| pattern(*at) != **byte);
        self.damaged += wrong.count() as u64;
        let before = receiver.next;
        let value = segment.timestamp.map_or(0, |(value, _)| value);
        let at_once = receiver.arrived(now, begin, end, value);
        if receiver.next > before {
            self.last_at = Some(cx.now());
        }
        if at_once {
            self.acknowledge(cx);
        }
        if self.enough.is_some_and(|enough| self.delivered() >= enough) {
            cx.stop();
        }
        self.settle(cx);
    }

    fn on_timer(&mut self, cx: &mut NodeContext<'_>, _token: u64) {
        let now = cx.now();
        if self.wakes_at.is_some_and(|at| at <= now) {
            self.wakes_at = None;
        }
        let jiffies = self.clock.jiffies(now);
        if self.receiver.as_mut().is_some_and(|receiver| receiver.tick(jiffies)) {
            self.acknowledge(cx);
        }
        self.settle(cx);
    }
}
