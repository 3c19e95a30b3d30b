//! Two endpoints in one test, joined by a wire with a fixed delay.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::*;

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    A,
    Z,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::A => Side::Z,
            Side::Z => Side::A,
        }
    }
}

/// Says `true` of a packet that the wire loses.
pub(crate) type Filter = Box<dyn FnMut(&Sent) -> bool>;

/// How much longer than usual a packet takes.
pub(crate) type Detour = Box<dyn FnMut(&Sent) -> Duration>;

/// The ECN field with which a packet arrives.
pub(crate) type Marker = Box<dyn FnMut(&Sent) -> Ecn>;

/// A packet under way: when it arrives, a number to break ties, and what arrives where.
type UnderWay = Reverse<(Time, u64, Side, IpAddr, IpAddr, Ecn, Vec<u8>)>;

/// Two endpoints and the wire between them.
pub(crate) struct Pair {
    pub(crate) now: Time,
    ends: [Endpoint; 2],
    pub(crate) delay: Duration,
    wire: BinaryHeap<UnderWay>,
    sequence: u64,
    counts: [u64; 2],
    pub(crate) drop: Filter,
    pub(crate) detour: Detour,
    pub(crate) mark: Marker,
    /// Says `true` of a packet that arrives damaged.
    pub(crate) damage: Filter,
    pub(crate) events: Vec<(Side, AssociationId, Event)>,
    /// Every packet offered to the wire.
    pub(crate) log: Vec<Sent>,
}

/// An endpoint that accepts associations.
pub(crate) fn endpoint(side: Side, addresses_each: u8, config: &AssociationConfig) -> Endpoint {
    let local_addresses = addresses(side, addresses_each);
    let association = config.clone();
    let config =
        EndpointConfig { local_addresses, accept: true, association, ..EndpointConfig::default() };
    Endpoint::new(config, [1 + side as u8; 32])
}

impl Pair {
    pub(crate) fn new(config: &AssociationConfig, addresses_each: u8) -> Pair {
        let end = |side| endpoint(side, addresses_each, config);
        Pair {
            now: Time::from_millis(1000),
            ends: [end(Side::A), end(Side::Z)],
            delay: ms(10),
            wire: BinaryHeap::new(),
            sequence: 0,
            counts: [0; 2],
            drop: Box::new(|_| false),
            detour: Box::new(|_| Duration::ZERO),
            mark: Box::new(|sent| sent.to.ecn),
            damage: Box::new(|_| false),
            events: Vec::new(),
            log: Vec::new(),
        }
    }

    /// A pair with an association between them, opened by A.
    pub(crate) fn connected(
        config: &AssociationConfig,
        addresses_each: u8,
    ) -> (Pair, AssociationId, AssociationId) {
        let mut pair = Pair::new(config, addresses_each);
        let (a, z) = pair.connect(config);
        (pair, a, z)
    }

    /// Gives the wire from A to Z this many bits per second, and a queue that is so long in time.
    pub(crate) fn narrow(&mut self, rate: u64, queue: Duration) {
        let full = Rc::new(Cell::new(false));
        let dropped = Rc::clone(&full);
        let mut free = Time::ZERO;
        // A packet is asked for its detour first.
        self.detour = Box::new(move |p| {
            full.set(p.from == Side::A && free.since(p.at) > queue);
            if p.from == Side::Z || full.get() {
                return Duration::ZERO;
            }
            let nanos = (p.bytes.len() as u64 + 20) * 8_000_000_000 / rate;
            free = free.max(p.at) + Duration::from_nanos(nanos);
            free.since(p.at)
        });
        self.drop = Box::new(move |p| p.from == Side::A && dropped.get());
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize]
    }

    /// Puts another endpoint in the place of one that crashed.
    pub(crate) fn replace(&mut self, side: Side, end: Endpoint) {
        self.ends[side as usize] = end;
    }

    /// Begins to open an association to the first address of the other side.
    pub(crate) fn open(&mut self, side: Side, config: &AssociationConfig) -> AssociationId {
        let now = self.now;
        let remote = addresses(side.other(), 1);
        self.end(side).connect(now, &remote, PORT, config.clone()).unwrap()
    }

    /// Opens an association from A to Z and returns both handles.
    pub(crate) fn connect(&mut self, config: &AssociationConfig) -> (AssociationId, AssociationId) {
        let a = self.open(Side::A, config);
        self.run(ms(100));
        let z = self.end(Side::Z).associations()[0];
        (a, z)
    }

    pub(crate) fn send(&mut self, side: Side, id: AssociationId, stream: u16, payload: Vec<u8>) {
        let now = self.now;
        let options = SendOptions::default();
        self.end(side).send(now, id, StreamId(stream), Bytes::from(payload), options).unwrap();
    }

    pub(crate) fn recv_all(&mut self, side: Side, id: AssociationId) -> Vec<ReceivedMessage> {
        let now = self.now;
        let end = self.end(side);
        std::iter::from_fn(|| {
            let told = end.next_message(id);
            let received = end.recv(now, id);
            assert_eq!(told, received.as_ref().map(NextMessage::from));
            received
        })
        .collect()
    }

    pub(crate) fn shutdown(&mut self, side: Side, id: AssociationId) {
        let now = self.now;
        self.end(side).shutdown(now, id).unwrap();
    }

    fn flush(&mut self) {
        for side in [Side::A, Side::Z] {
            while let Some((id, event)) = self.end(side).poll_event() {
                self.events.push((side, id, event));
            }
            let now = self.now;
            let mut buffer = Vec::new();
            while let Some(to) = self.end(side).poll_transmit(now, &mut buffer) {
                self.counts[side as usize] += 1;
                let number = self.counts[side as usize];
                let bytes = Bytes::copy_from_slice(&buffer);
                let sent = Sent { from: side, at: now, to, number, bytes };
                let detour = (self.detour)(&sent);
                let ecn = (self.mark)(&sent);
                if !(self.drop)(&sent) {
                    if (self.damage)(&sent)
                        && let Some(last) = buffer.last_mut()
                    {
                        *last ^= 1;
                    }
                    let source = to.source.unwrap_or(addresses(side, 1)[0]);
                    self.sequence += 1;
                    self.wire.push(Reverse((
                        now + self.delay + detour,
                        self.sequence,
                        side.other(),
                        source,
                        to.destination,
                        ecn,
                        buffer.clone(),
                    )));
                }
                self.log.push(sent);
            }
        }
    }

    /// Runs for `span` of virtual time.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.flush();
        loop {
            let arrival = self.wire.peek().map(|Reverse(p)| p.0);
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let next = [arrival, timers].into_iter().flatten().min();
            let Some(next) = next.filter(|t| *t <= end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let Some(Reverse((_, _, to, source, destination, ecn, bytes))) = self.wire.pop()
                else {
                    break;
                };
                self.deliver(to, source, destination, ecn, bytes);
            } else {
                let now = self.now;
                for side in [Side::A, Side::Z] {
                    self.end(side).handle_timeout(now);
                }
            }
            self.flush();
        }
        self.now = end;
    }

    fn deliver(&mut self, to: Side, source: IpAddr, destination: IpAddr, ecn: Ecn, bytes: Vec<u8>) {
        let now = self.now;
        let packet = Bytes::from(bytes);
        let datagram = Datagram { source, destination, encapsulation: None, ecn, packet };
        self.end(to).handle_datagram(now, datagram);
    }

    /// Delivers a packet to `side` as if it came from `source`.
    pub(crate) fn inject(&mut self, side: Side, source: IpAddr, packet: Vec<u8>) {
        self.deliver(side, source, addresses(side, 1)[0], Ecn::NotEct, packet);
    }

    pub(crate) fn saw(&self, side: Side, event: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(s, _, e)| *s == side && event(e))
    }

    /// How the association of a side ended.
    pub(crate) fn closed(&self, side: Side) -> Option<&CloseReason> {
        self.events.iter().rev().find_map(|(s, _, event)| match event {
            Event::Closed(reason) if *s == side => Some(reason),
            _ => None,
        })
    }

    /// Packets of one side with a chunk of a kind.
    pub(crate) fn sent(&self, side: Side, kind: ChunkType) -> Vec<&Sent> {
        self.log.iter().filter(|p| p.from == side && p.carries(kind)).collect()
    }
}
