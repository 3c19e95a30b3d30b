//! An honest host: one association, over which messages with numbers go in one direction, through an access
//! link of its own.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use tresse_core::{
    AssociationConfig, AssociationId, Bytes, Datagram, Endpoint, EndpointConfig, Event,
    SendOptions, Time, wire::StreamId,
};

use super::{PORT, VICTIM};
use tresse_sim::Draw;

/// Bytes of a message.
const MESSAGE: usize = 1000;
/// Packets that wait for a link.
const QUEUE: Duration = Duration::from_millis(150);

/// Who sends the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The host to the endpoint under attack.
    Up,
    Down,
}

/// A message with its number.
pub(super) fn message(number: u64) -> Bytes {
    let mut bytes = vec![0; MESSAGE];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes.into()
}

/// The number of a message; that of a stranger's may be any.
pub(super) fn number(message: &[u8]) -> u64 {
    message.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes))
}

/// One direction of an access link.
#[derive(Debug)]
pub(super) struct Link {
    delay: Duration,
    /// Time that a byte takes.
    byte: Duration,
    free_at: Time,
    underway: VecDeque<(Time, Vec<u8>)>,
    loss: f64,
    draw: Draw,
}

impl Link {
    pub(super) fn send(&mut self, now: Time, packet: &[u8]) {
        let begin = self.free_at.max(now);
        if begin.since(now) > QUEUE || self.draw.chance(self.loss) {
            return;
        }
        self.free_at = begin + self.byte * packet.len() as u32;
        self.underway.push_back((self.free_at + self.delay, packet.to_vec()));
    }

    pub(super) fn arrived(&mut self, now: Time) -> Option<Vec<u8>> {
        self.underway.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }
}

pub(super) struct Honest {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    direction: Direction,
    end: Endpoint,
    id: AssociationId,
    pub(super) up: Link,
    pub(super) down: Link,
    /// The number of the next message to send, and that of the next one to arrive.
    pub(super) offered: u64,
    expected: u64,
    /// Bytes that have arrived.
    pub(super) goodput: usize,
    buffer: Vec<u8>,
}

impl Honest {
    pub(super) fn new(seed: u64, n: usize, direction: Direction) -> Honest {
        let mut draw = Draw::new(seed ^ (n as u64 + 1) << 32);
        let address = IpAddr::from([10, 1, 0, n as u8]);
        let port = 6000 + n as u16;
        let config = EndpointConfig {
            local_port: port,
            local_addresses: vec![address],
            ..EndpointConfig::default()
        };
        let (mbits, ms) = (draw.log(1.0, 8.0), draw.between(2, 40));
        let loss = if draw.chance(0.5) { draw.log(1e-4, 5e-3) } else { 0.0 };
        let mut link = |seed| Link {
            delay: Duration::from_millis(ms),
            byte: Duration::from_nanos((8000.0 / mbits) as u64),
            free_at: Time::ZERO,
            underway: VecDeque::new(),
            loss,
            draw: Draw::new(draw.next() ^ seed),
        };
        Honest {
            address,
            port,
            direction,
            end: Endpoint::new(config, [n as u8; 32]),
            id: AssociationId::default(),
            up: link(1),
            down: link(2),
            offered: 0,
            expected: 0,
            goodput: 0,
            buffer: Vec::new(),
        }
    }

    pub(super) fn connect(&mut self, now: Time) {
        let config = AssociationConfig { no_delay: true, ..AssociationConfig::default() };
        self.id = self.end.connect(now, &[VICTIM], PORT, config).expect("it can call");
    }

    /// A message has arrived, at either end.
    pub(super) fn reached(&mut self, number: u64) {
        assert_eq!(number, self.expected, "messages in their order, none twice, none missing");
        self.expected += 1;
        self.goodput += MESSAGE;
    }

    /// One tick: takes what has arrived, reads, sends.
    pub(super) fn act(&mut self, now: Time) {
        while let Some(packet) = self.down.arrived(now) {
            self.end.handle_datagram(
                now,
                Datagram {
                    source: VICTIM,
                    destination: self.address,
                    encapsulation: None,
                    ecn: tresse_core::Ecn::NotEct,
                    packet: packet.into(),
                },
            );
        }
        self.end.handle_timeout(now);
        while let Some((_, event)) = self.end.poll_event() {
            assert!(!matches!(event, Event::Closed(_) | Event::SendFailed(_)), "{event:?}");
        }
        while let Some(received) = self.end.recv(now, self.id) {
            self.reached(number(&received.payload));
        }
        let mut sent = self.direction == Direction::Up;
        while sent {
            let message = message(self.offered);
            let options = SendOptions::default();
            sent = self.end.send(now, self.id, StreamId(0), message, options).is_ok();
            self.offered += u64::from(sent);
        }
        while self.end.poll_transmit(now, &mut self.buffer).is_some() {
            self.up.send(now, &self.buffer);
        }
    }
}
