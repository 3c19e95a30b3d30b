//! Two endpoints in one test, joined by a wire with a fixed delay.

mod faults;
mod setup;
mod transfer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use tresse_wire::{Chunk, ChunkType, Packet, StreamId};

use super::{AssociationId, Datagram, Endpoint};
use crate::config::{AssociationConfig, EndpointConfig};
use crate::event::{Event, ReceivedMessage, SendOptions};
use crate::profile::Profile;
use crate::time::Time;

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    A,
    Z,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::A => Side::Z,
            Side::Z => Side::A,
        }
    }
}

/// A packet under way, as the filter sees it.
pub(crate) struct OnWire<'a> {
    pub(crate) from: Side,
    pub(crate) destination: IpAddr,
    /// Counted from 1 in its direction.
    pub(crate) number: u64,
    pub(crate) bytes: &'a [u8],
}

impl OnWire<'_> {
    pub(crate) fn types(&self) -> Vec<ChunkType> {
        let packet = Packet::parse(self.bytes).unwrap();
        packet.chunks().map(|c| c.unwrap().chunk_type).collect()
    }

    pub(crate) fn carries(&self, kind: ChunkType) -> bool {
        self.types().contains(&kind)
    }

    /// TSNs of the DATA chunks in it.
    pub(crate) fn tsns(&self) -> Vec<u32> {
        let packet = Packet::parse(self.bytes).unwrap();
        let chunks = packet.chunks().map(|c| Chunk::parse(c.unwrap()).unwrap());
        chunks
            .filter_map(|c| match c {
                Chunk::Data(d) => Some(d.tsn.0),
                _ => None,
            })
            .collect()
    }
}

type Filter = Box<dyn FnMut(&OnWire<'_>) -> bool>;

/// Two endpoints and the wire between them.
pub(crate) struct Pair {
    pub(crate) now: Time,
    ends: [Endpoint; 2],
    pub(crate) delay: Duration,
    wire: BinaryHeap<Reverse<(Time, u64, Side, Vec<u8>, IpAddr, IpAddr)>>,
    sequence: u64,
    counts: [u64; 2],
    /// Returns `true` to drop the packet.
    pub(crate) drop: Filter,
    pub(crate) events: Vec<(Side, AssociationId, Event)>,
    /// Every packet offered to the wire.
    pub(crate) log: Vec<(Time, Side, Vec<u8>)>,
}

pub(crate) fn addresses(side: Side, count: u8) -> Vec<IpAddr> {
    let host = if side == Side::A { 1 } else { 2 };
    (0..count).map(|net| IpAddr::from([10, 0, net, host])).collect()
}

pub(crate) fn profile(name: &str, overrides: &str) -> AssociationConfig {
    let profile = Profile::named(name).unwrap().with_overrides(overrides).unwrap();
    AssociationConfig { profile: profile.into(), trace: true, ..AssociationConfig::default() }
}

impl Pair {
    pub(crate) fn new(config: &AssociationConfig, addresses_each: u8) -> Pair {
        let end = |side: Side, seed| {
            Endpoint::new(
                EndpointConfig {
                    local_addresses: addresses(side, addresses_each),
                    accept: true,
                    association: config.clone(),
                    ..EndpointConfig::default()
                },
                [seed; 32],
            )
        };
        Pair {
            now: Time::from_millis(1000),
            ends: [end(Side::A, 1), end(Side::Z, 2)],
            delay: Duration::from_millis(10),
            wire: BinaryHeap::new(),
            sequence: 0,
            counts: [0; 2],
            drop: Box::new(|_| false),
            events: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize]
    }

    /// Opens an association from A to Z and returns both handles.
    pub(crate) fn connect(&mut self, config: &AssociationConfig) -> (AssociationId, AssociationId) {
        let now = self.now;
        let remote = [addresses(Side::Z, 1)[0]];
        let a = self.end(Side::A).connect(now, &remote, 5000, config.clone()).unwrap();
        self.run(Duration::from_millis(100));
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
        std::iter::from_fn(|| self.end(side).recv(now, id)).collect()
    }

    fn flush(&mut self) {
        for side in [Side::A, Side::Z] {
            while let Some((id, event)) = self.end(side).poll_event() {
                self.events.push((side, id, event));
            }
            let mut buffer = Vec::new();
            let now = self.now;
            while let Some(t) = self.end(side).poll_transmit(now, &mut buffer) {
                self.counts[side as usize] += 1;
                let number = self.counts[side as usize];
                self.log.push((now, side, buffer.clone()));
                let packet =
                    OnWire { from: side, destination: t.destination, number, bytes: &buffer };
                if (self.drop)(&packet) {
                    continue;
                }
                let source = t.source.unwrap_or(addresses(side, 1)[0]);
                self.sequence += 1;
                self.wire.push(Reverse((
                    now + self.delay,
                    self.sequence,
                    side.other(),
                    buffer.clone(),
                    source,
                    t.destination,
                )));
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
                let Some(Reverse((_, _, to, bytes, source, destination))) = self.wire.pop() else {
                    break;
                };
                let now = self.now;
                let packet = Bytes::from(bytes);
                self.end(to).handle_datagram(
                    now,
                    Datagram { source, destination, encapsulation: None, packet },
                );
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

    /// Delivers a packet to `side` as if it came from `source`.
    pub(crate) fn inject(&mut self, side: Side, source: IpAddr, packet: Vec<u8>) {
        let now = self.now;
        let destination = addresses(side, 1)[0];
        let packet = Bytes::from(packet);
        self.end(side)
            .handle_datagram(now, Datagram { source, destination, encapsulation: None, packet });
    }

    pub(crate) fn saw(&self, side: Side, event: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(s, _, e)| *s == side && event(e))
    }
}
