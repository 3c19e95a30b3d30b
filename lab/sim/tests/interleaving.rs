//! A large message beside a thin stream (RFC 8260): what is sent on the thin one does not wait for more than one packet of
//! the large one, with every stream scheduler that lets it come in between, if messages are interleaved; without that, it
//! waits for all of it.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{ip, ms};
use tresse_core::wire::{Chunk, Packet as WirePacket, StreamId, Tsn};
use tresse_core::{
    AssociationConfig, AssociationId, Bytes, EndpointConfig, Event, Extensions, Profile,
    SendOptions, Time,
};
use tresse_sim::apps::content;
use tresse_sim::{Application, Context, LinkConfig, Packet, Simulation};

const LARGE: usize = 100_000_000;
const THIN: usize = 100;
const EVERY: Duration = Duration::from_millis(7);

/// Sends the large message at once, and a thin one now and then, until the large one has left.
struct Talker {
    config: AssociationConfig,
    association: Option<AssociationId>,
    /// The number of the next thin message.
    next: u64,
    /// Thin messages that wait, and packets with new data of the large one that left since.
    waiting: u64,
    passed: usize,
    /// What each thin message waited for.
    waits: Vec<usize>,
    large_left: usize,
    highest: Option<Tsn>,
}

impl Talker {
    fn new(config: &AssociationConfig) -> Talker {
        Talker {
            config: config.clone(),
            association: None,
            next: 1,
            waiting: 0,
            passed: 0,
            waits: Vec::new(),
            large_left: 0,
            highest: None,
        }
    }
}

impl Application for Talker {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        let config = self.config.clone();
        self.association = cx.connect(&[ip("10.0.0.2")], 5000, config).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        if let Event::Connected { .. } = event {
            // The least value goes first where values are priorities.
            let now = cx.now();
            cx.endpoint().set_stream_value(now, id, StreamId(0), 1).expect("a stream");
            let large = content(0, LARGE);
            cx.send(id, StreamId(0), large, SendOptions::default()).expect("room for all");
            cx.set_timer(now + EVERY, 0);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _: u64) {
        let Some(id) = self.association.filter(|_| self.large_left < LARGE) else { return };
        if self.waiting == 0 {
            self.passed = 0;
        }
        let message = content(self.next, THIN);
        cx.send(id, StreamId(1), message, SendOptions::default()).expect("room for it");
        self.next += 1;
        self.waiting += 1;
        let now = cx.now();
        cx.set_timer(now + EVERY, 0);
    }

    fn on_packet(&mut self, _: Time, outgoing: bool, packet: &Packet) {
        let Some(packet) = WirePacket::parse(&packet.payload).ok().filter(|_| outgoing) else {
            return;
        };
        let (mut large, mut thin) = (0, 0);
        for raw in packet.chunks() {
            let (tsn, stream, bytes) = match Chunk::parse(raw.expect("a chunk of ours")) {
                Ok(Chunk::Data(data)) => (data.tsn, data.stream.0, data.payload.len()),
                Ok(Chunk::IData(data)) => (data.tsn, data.stream.0, data.payload.len()),
                _ => continue,
            };
            // What is lost leaves again before anything new, whatever its stream.
            if self.highest.is_some_and(|highest| !tsn.follows(highest)) {
                continue;
            }
            self.highest = Some(tsn);
            *if stream == 0 { &mut large } else { &mut thin } += bytes;
        }
        self.large_left += large;
        if thin > 0 {
            let messages = (thin / THIN) as u64;
            self.waits.extend((0..messages).map(|_| self.passed));
            self.waiting -= messages;
            self.passed = 0;
        } else if large > 0 && self.waiting > 0 {
            self.passed += 1;
        }
    }
}

/// Reads, and keeps what came.
#[derive(Default)]
struct Listener {
    thin: Vec<Bytes>,
    large: Option<Bytes>,
}

impl Application for Listener {
    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        if let Event::Readable = event {
            while let Some(message) = cx.recv(id) {
                if message.stream.0 == 0 {
                    self.large = Some(message.payload);
                } else {
                    self.thin.push(message.payload);
                }
            }
        }
    }
}

/// Packets of the large message that each thin message waited for.
fn waits(scheduler: &str, interleaving: bool) -> Vec<usize> {
    let profile = Profile::named(&format!("tresse+stream-{scheduler}")).expect("built in");
    let config = AssociationConfig {
        profile: Arc::new(profile),
        no_delay: true,
        send_buffer: 2 * LARGE,
        max_message_size: 2 * LARGE,
        receive_buffer: 8 << 20,
        extensions: Extensions { interleaving, ..Extensions::default() },
        ..AssociationConfig::default()
    };
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let endpoint = |address, accept| EndpointConfig {
        local_addresses: vec![address],
        accept,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let mut sim = Simulation::new(1);
    let from = sim.add_host("talker", endpoint(a, false), Box::new(Talker::new(&config)));
    let to = sim.add_host("listener", endpoint(b, true), Box::<Listener>::default());
    let link = LinkConfig { queue_packets: Some(500), ..LinkConfig::new(400_000.0, 5.0) };
    sim.duplex(from, to, a, b, link).expect("a valid link");
    sim.run(ms(20_000));
    let (talker, listener) = (sim.app::<Talker>(from), sim.app::<Listener>(to));
    assert_eq!(listener.large.as_ref(), Some(&content(0, LARGE)), "{scheduler}");
    let expected: Vec<Bytes> = (1..talker.next).map(|number| content(number, THIN)).collect();
    assert!(listener.thin == expected, "{scheduler}: {} messages", listener.thin.len());
    talker.waits.clone()
}

#[test]
fn a_thin_stream_waits_for_one_packet_of_a_large_message() {
    for scheduler in [
        "round-robin",
        "round-robin-per-packet",
        "priority",
        "fair-capacity",
        "weighted-fair-queueing",
    ] {
        let waits = waits(scheduler, true);
        assert!(waits.len() > 250, "{scheduler}: {}", waits.len());
        assert_eq!(
            waits.iter().filter(|packets| **packets > 1).count(),
            0,
            "{scheduler}: {waits:?}"
        );
    }
}

#[test]
fn without_interleaving_it_waits_for_all_of_it() {
    let waits = waits("priority", false);
    assert!(waits[0] > 60_000, "{} packets", waits[0]);
}
