//! A malicious host beside honest ones, all with associations of one endpoint: the honest lose nothing and
//! keep [`KEPT`] of the goodput that they have without it, and what the endpoint holds stays within
//! `EndpointConfig::memory` at every step. An allocator that counts shows that the account of memory is true.
//!
//! `TRESSE_HOSTILE=17` plays one seed and says what it did.

mod attacker;
mod extended;
mod forged;
mod honest;
mod interleaved;
mod wandering;

use std::net::IpAddr;
use std::time::Duration;

use tresse_core::{
    AssociationConfig, AssociationId, Bytes, Datagram, Endpoint, EndpointConfig, EndpointStats,
    Event, Extensions, ReconfigurationPolicy, SendOptions, Time,
    wire::{ChunkType, Packet, StreamId},
};

use attacker::Attacker;
use honest::{Direction, Honest};
use tresse_sim::Draw;

/// Seeds without them.
const PLAIN: u64 = 30;
/// From here on both ends have extensions.
const EXTENDED: u64 = 1 << 20;
/// This many with them.
const WITH_EXTENSIONS: u64 = 20;
/// From here on the victim authenticates chunks with those who want that.
const AUTHENTICATED: u64 = 1 << 21;
/// This many of these.
const WITH_AUTHENTICATION: u64 = 10;
/// From here on the victim interleaves messages with those who want that.
const INTERLEAVED: u64 = 1 << 22;
/// This many of these.
const WITH_INTERLEAVING: u64 = 15;
/// From here on the victim changes addresses with those who want that.
const WANDERING: u64 = 1 << 23;
/// This many of these.
const WITH_ADDRESSES: u64 = 15;
/// Seeds beyond them that have failed.
const FAILED: [u64; 2] = [199, 1_048_616];
/// For so long.
const SPAN: Duration = Duration::from_secs(10);
/// The honest begin before the attacker does.
const HEAD_START: Duration = Duration::from_secs(3);
const TICK: Duration = Duration::from_millis(1);
/// The part of the goodput that is left to the honest.
const KEPT: f64 = 0.8;
/// What is allocated differs from the account by this factor at most, and by [`BASE`].
const FACTOR: usize = 2;
/// Tables that the account does not count (`EndpointConfig::memory` names them), and places of associations
/// that have gone.
const BASE: usize = 512 << 10;
const PORT: u16 = 5000;
const VICTIM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// What one run is like; the attacker draws the rest.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    memory: usize,
    receive_buffer: u32,
    send_buffer: usize,
    /// The application reads what strangers send.
    reads: bool,
    /// It sends to strangers as much as they take.
    serves: bool,
    /// It forgets who has gone at once. Otherwise it reads what they left first, if it reads at all.
    forgets: bool,
    honest: Vec<Direction>,
}

impl Plan {
    const fn extended(&self) -> bool {
        self.seed >= EXTENDED && self.seed < AUTHENTICATED
    }

    const fn authenticated(&self) -> bool {
        self.seed >= AUTHENTICATED && self.seed < INTERLEAVED
    }

    const fn interleaved(&self) -> bool {
        self.seed >= INTERLEAVED && !self.wandering()
    }

    const fn wandering(&self) -> bool {
        self.seed >= WANDERING
    }

    fn draw(seed: u64) -> Plan {
        let mut draw = Draw::new(seed);
        Plan {
            seed,
            memory: draw.log(4e6, 64e6) as usize,
            receive_buffer: draw.log(64e3, 2e6) as u32,
            send_buffer: draw.log(64e3, 5e5) as usize,
            reads: draw.chance(0.5),
            serves: draw.chance(0.5),
            forgets: draw.chance(0.5),
            honest: (0..3)
                .map(|_| if draw.chance(0.5) { Direction::Up } else { Direction::Down })
                .collect(),
        }
    }
}

/// The endpoint under attack. What it allocates is counted: whatever is allocated and freed in its calls.
struct Victim {
    end: Endpoint,
    allocated: i64,
}

impl Victim {
    fn new(plan: &Plan) -> Victim {
        let association = AssociationConfig {
            receive_buffer: plan.receive_buffer,
            send_buffer: plan.send_buffer,
            no_delay: true,
            // Of a half of them; a peer that never ends a message costs no more than what was not read.
            partial_delivery_point: (plan.seed % 2 == 1)
                .then_some(plan.receive_buffer as usize / 2),
            extensions: match plan.extended() {
                true => Extensions::default(),
                false if plan.interleaved() => {
                    Extensions { interleaving: true, partial_reliability: true, ..Extensions::NONE }
                }
                false => Extensions {
                    authentication: plan.authenticated() || plan.wandering(),
                    address_reconfiguration: plan.wandering(),
                    ..Extensions::NONE
                },
            },
            reconfiguration: ReconfigurationPolicy {
                reset_association: true,
                ..ReconfigurationPolicy::default()
            },
            ..AssociationConfig::default()
        };
        let config = EndpointConfig {
            local_port: PORT,
            local_addresses: vec![VICTIM],
            accept: true,
            memory: plan.memory,
            association,
            ..EndpointConfig::default()
        };
        Victim { end: Endpoint::new(config, [7; 32]), allocated: 0 }
    }

    /// What comes out must own nothing.
    fn on<R>(&mut self, call: impl FnOnce(&mut Endpoint) -> R) -> R {
        let mut result = None;
        let info = allocation_counter::measure(|| result = Some(call(&mut self.end)));
        self.allocated += info.bytes_current;
        result.expect("it was called")
    }

    fn handle(&mut self, now: Time, source: IpAddr, packet: &[u8]) {
        self.on(|end| {
            let packet = Bytes::copy_from_slice(packet);
            let datagram = Datagram {
                source,
                destination: VICTIM,
                encapsulation: None,
                ecn: tresse_core::Ecn::NotEct,
                packet,
            };
            end.handle_datagram(now, datagram);
        });
    }

    fn stats(&mut self) -> EndpointStats {
        self.on(|end| end.endpoint_stats())
    }
}

/// An association as the victim's application knows it.
struct Served {
    id: AssociationId,
    /// Which of the honest has it, if one does.
    honest: Option<usize>,
    closed: bool,
}

/// What a run has shown.
#[derive(Debug, Default)]
struct Outcome {
    /// Bytes that each of the honest has received or sent.
    goodput: Vec<usize>,
    most_held: usize,
    /// The account over what was allocated, and the other way round, at their worst.
    too_little: f64,
    too_much: f64,
    stats: EndpointStats,
    /// Requests to change streams, FORWARD TSN chunks, AUTH chunks that were none, and ASCONF chunks, of associations that still
    /// were there at the end.
    extensions: [u64; 4],
    /// Bytes that the attacker has sent, and that went to third parties.
    attack: usize,
    reflected: usize,
}

struct World {
    plan: Plan,
    now: Time,
    victim: Victim,
    served: Vec<Served>,
    honest: Vec<Honest>,
    attacker: Option<Attacker>,
    outcome: Outcome,
    buffer: Vec<u8>,
}

impl World {
    fn new(plan: &Plan, attacked: bool) -> World {
        let honest = plan.honest.iter().enumerate();
        let honest: Vec<Honest> =
            honest.map(|(n, direction)| Honest::new(plan.seed, n, *direction)).collect();
        World {
            plan: plan.clone(),
            now: Time::from_millis(1000),
            victim: Victim::new(plan),
            served: Vec::new(),
            honest,
            attacker: attacked.then(|| Attacker::new(plan)),
            outcome: Outcome::default(),
            buffer: Vec::with_capacity(1 << 16),
        }
    }

    fn run(mut self) -> Outcome {
        let begin = self.now;
        let now = self.now;
        self.honest.iter_mut().for_each(|honest| honest.connect(now));
        while self.now.since(begin) < SPAN {
            self.now += TICK;
            self.tick(self.now.since(begin) > HEAD_START);
        }
        self.outcome.goodput = self.honest.iter().map(|honest| honest.goodput).collect();
        self.outcome.stats = self.victim.stats();
        for stats in self.served.iter().filter_map(|s| self.victim.end.stats(s.id)) {
            self.outcome.extensions[3] += stats.asconfs_received;
            self.outcome.extensions[0] += stats.reconfigurations_received;
            self.outcome.extensions[1] += stats.forward_tsns_received;
            self.outcome.extensions[2] +=
                stats.auth_chunks_forged + stats.auth_unknown_keys + stats.auth_unknown_algorithms;
        }
        self.outcome
    }

    fn tick(&mut self, attack: bool) {
        let now = self.now;
        for n in 0..self.honest.len() {
            self.honest[n].act(now);
            while let Some(packet) = self.honest[n].up.arrived(now) {
                let source = self.honest[n].address;
                self.victim.handle(now, source, &packet);
                self.after_call();
            }
        }
        let attacker = self.attacker.as_mut().filter(|_| attack);
        for (source, packet) in attacker.map(Attacker::act).unwrap_or_default() {
            self.outcome.attack += packet.len();
            self.victim.handle(now, source, &packet);
            self.after_call();
        }
        self.victim.on(|end| end.handle_timeout(now));
        self.after_call();
        self.serve();
    }

    /// What the victim has to say goes where it belongs, and its account is looked at.
    fn after_call(&mut self) {
        self.events();
        self.transmit();
        let held = self.victim.stats().memory;
        assert!(held <= self.plan.memory, "{held} bytes: {:?}", self.plan);
        let allocated = usize::try_from(self.victim.allocated).unwrap_or(0);
        let outcome = &mut self.outcome;
        outcome.most_held = outcome.most_held.max(held);
        let over = |a: usize, b: usize| a.saturating_sub(BASE) as f64 / b.max(1) as f64;
        outcome.too_little = outcome.too_little.max(over(allocated, held));
        outcome.too_much = outcome.too_much.max(over(held, allocated));
    }

    fn events(&mut self) {
        // Messages in events are dropped where they are counted.
        let next = |end: &mut Endpoint| {
            let (id, event) = end.poll_event()?;
            Some((id, matches!(event, Event::Connected { .. }), matches!(event, Event::Closed(_))))
        };
        while let Some((id, connected, closed)) = self.victim.on(next) {
            if connected {
                let info = self.victim.end.info(id).expect("it is there");
                let remote = self.victim.end.path_stats(id)[0].remote;
                let key = (remote, info.remote_port);
                let honest = self.honest.iter().position(|h| (h.address, h.port) == key);
                self.served.push(Served { id, honest, closed: false });
            } else if closed {
                let honest = self.served.iter().any(|s| s.id == id && s.honest.is_some());
                assert!(!honest, "an honest one ended: {:?}", self.plan);
                if self.plan.forgets {
                    self.served.retain(|served| served.id != id);
                    self.victim.on(|end| end.forget(id));
                } else if let Some(served) = self.served.iter_mut().find(|s| s.id == id) {
                    served.closed = true;
                }
            }
        }
    }

    fn transmit(&mut self) {
        let (now, buffer) = (self.now, &mut self.buffer);
        while let Some(transmit) = self.victim.on(|end| end.poll_transmit(now, buffer)) {
            let port = u16::from_be_bytes([buffer[2], buffer[3]]);
            let key = (transmit.destination, port);
            if let Some(honest) = self.honest.iter_mut().find(|h| (h.address, h.port) == key) {
                honest.down.send(now, buffer);
            } else if self.plan.wandering() && wandering::is_third_party(transmit.destination) {
                self.outcome.reflected += buffer.len();
                assert!(says_nothing(buffer), "to a third party: {:?}", self.plan);
            } else if let Some(attacker) = &mut self.attacker {
                attacker.hear(transmit.destination, buffer);
            }
        }
    }

    /// The application reads and sends.
    fn serve(&mut self) {
        let now = self.now;
        for Served { id, honest, closed } in &self.served {
            let (id, plan) = (*id, &self.plan);
            if honest.is_some() || plan.reads {
                // What was received is looked at and freed at once.
                let look = |end: &mut Endpoint| {
                    let received = end.recv(now, id)?;
                    let bytes = &received.payload;
                    // What is put together is of one message: those of the attacker have one byte each.
                    let whole = honest.is_some() || bytes.iter().all(|byte| *byte == bytes[0]);
                    assert!(whole, "a message of several: {plan:?}");
                    Some(if honest.is_some() { honest::number(bytes) } else { 0 })
                };
                while let Some(number) = self.victim.on(look) {
                    if let Some(n) = honest {
                        self.honest[*n].reached(number);
                    }
                }
            }
            let down = honest.is_none_or(|n| plan.honest[n] == Direction::Down);
            if down && (honest.is_some() || plan.serves) {
                let sent = |end: &mut Endpoint, number: u64| {
                    let message = honest::message(number);
                    end.send(now, id, StreamId(0), message, SendOptions::default()).is_ok()
                };
                let number = honest.map_or(0, |n| self.honest[n].offered);
                if self.victim.on(|end| sent(end, number))
                    && let Some(n) = honest
                {
                    self.honest[*n].offered += 1;
                }
            }
            if *closed && plan.reads {
                self.victim.on(|end| end.forget(id));
            }
        }
        self.served.retain(|served| !(served.closed && self.plan.reads));
        self.after_call();
    }
}

/// Whether a packet has nothing but what may go to an address that is not verified: a HEARTBEAT, the answer to what came from
/// there, and news of the end.
fn says_nothing(packet: &[u8]) -> bool {
    let packet = Packet::parse(packet).expect("one of the victim");
    let allowed = [
        ChunkType::AUTH,
        ChunkType::HEARTBEAT,
        ChunkType::ASCONF_ACK,
        ChunkType::ERROR,
        ChunkType::ABORT,
    ];
    packet.chunks().all(|chunk| chunk.is_ok_and(|raw| allowed.contains(&raw.chunk_type)))
}

/// `TRESSE_HOSTILE`: the one that is played.
fn only() -> Option<u64> {
    std::env::var("TRESSE_HOSTILE").ok().map(|seed| seed.parse().expect("a seed"))
}

/// So many from `first` on, with `TRESSE_THOROUGH=1`, as `.ci/run` has it; a third without.
fn some(first: u64, many: u64) -> Vec<u64> {
    let few = std::env::var_os("TRESSE_THOROUGH").is_none();
    (first..first + if few { many / 3 } else { many }).collect()
}

#[test]
fn the_honest_lose_nothing_beside_a_malicious_one() {
    let seeds: Vec<u64> =
        only().map_or_else(|| [some(0, PLAIN), FAILED.to_vec()].concat(), |seed| vec![seed]);
    let (aborted, refused, _) = play(&seeds);
    assert!(
        only().is_some() || (aborted > 0 && refused > 0),
        "{aborted} aborts, {refused} refusals"
    );
}

/// Nor where it may reset streams and pass over messages.
#[test]
fn nor_beside_one_that_uses_extensions() {
    if only().is_none() {
        let seeds: Vec<u64> = some(EXTENDED, WITH_EXTENSIONS);
        let (.., seen) = play(&seeds);
        assert!(seen[..2].iter().all(|seen| *seen > 1000), "requests and FORWARD TSN: {seen:?}");
    }
}

/// Nor where it forges AUTH chunks, floods with keys that are not there, and has everything authenticated.
#[test]
fn nor_beside_one_that_forges() {
    if only().is_none() {
        let seeds: Vec<u64> = some(AUTHENTICATED, WITH_AUTHENTICATION);
        let (.., seen) = play(&seeds);
        assert!(seen[2] > 1000, "forged AUTH chunks: {seen:?}");
    }
}

/// Nor where it leaves messages open on all streams, and passes over what it likes.
#[test]
fn nor_beside_one_that_interleaves() {
    if only().is_none() {
        let seeds: Vec<u64> = some(INTERLEAVED, WITH_INTERLEAVING);
        let (.., seen) = play(&seeds);
        assert!(seen[1] > 1000, "I-FORWARD-TSN: {seen:?}");
    }
}

/// Nor where its addresses come and go, and are those of others: these get nothing but what asks whether they are there, and
/// little of it.
#[test]
fn nor_beside_one_that_wanders() {
    if only().is_none() {
        let seeds: Vec<u64> = some(WANDERING, WITH_ADDRESSES);
        let (.., seen) = play(&seeds);
        assert!(seen[3] > 1000, "ASCONF chunks: {seen:?}");
    }
}

/// In how many runs associations were aborted for memory, and refused, and what came of extensions.
fn play(seeds: &[u64]) -> (usize, usize, [u64; 4]) {
    let mut seen = [0; 4];
    let (mut little, mut much, mut aborted, mut refused) = (0f64, 0f64, 0, 0);
    for &seed in seeds {
        let plan = Plan::draw(seed);
        let alone = World::new(&plan, false).run();
        let beside = World::new(&plan, true).run();
        if only().is_some() {
            println!("{plan:?}\nalone {alone:#?}\nbeside {beside:#?}");
        }
        for (n, (alone, beside)) in alone.goodput.iter().zip(&beside.goodput).enumerate() {
            assert!(*alone > 100_000, "seed {seed}: {alone} bytes of honest {n} alone");
            let kept = *beside as f64 / *alone as f64;
            assert!(kept >= KEPT, "seed {seed}: honest {n} keeps {kept:.2} of {alone}: {plan:?}");
        }
        for (what, factor) in [("more", beside.too_little), ("less", beside.too_much)] {
            let most = FACTOR as f64;
            assert!(
                factor <= most,
                "seed {seed}: {what} than its account by {factor:.2}: {plan:?}"
            );
        }
        little = little.max(beside.too_little);
        much = much.max(beside.too_much);
        aborted += usize::from(beside.stats.aborted_for_memory > 0);
        refused += usize::from(beside.stats.refused > 0);
        let (attack, reflected) = (beside.attack, beside.reflected);
        assert!(reflected <= 2 * attack, "{reflected} bytes for {attack}: {plan:?}");
        (0..4).for_each(|n| seen[n] += beside.extensions[n]);
    }
    println!("allocated / account at most {little:.2}, account / allocated at most {much:.2}");
    println!("aborted for memory in {aborted} runs, refused in {refused}");
    println!("requests to change streams, FORWARD TSN, forged AUTH and ASCONF chunks: {seen:?}");
    (aborted, refused, seen)
}
