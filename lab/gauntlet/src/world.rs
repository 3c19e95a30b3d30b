//! A world, drawn from a number: paths, what others send over them, and what is asked of the association.
//!
//! # Distribution
//! Every twentieth world is of one [`Family`], in turn ([`Family::of`]). What a family does not settle is
//! drawn as follows, each property from random numbers of its own.
//!
//! | property | distribution |
//! |---|---|
//! | paths | 1 to 4, as likely as 1 : 4 : 2 : 1 |
//! | bandwidth | 0.5 to 200 Mbit/s, log-uniform; back the same or, in half of the worlds, 0.1 to 1 times as much |
//! | delay | 1 to 150 ms there, log-uniform; back 0.5 to 2 times as much, within the same bounds |
//! | loss | none on half of the paths; else 0.01 to 3 %, log-uniform, two in five in bursts (Gilbert–Elliott, 2 to 10 packets) |
//! | jitter | 0.1 ms; on every third path up to 30 % of the delay; in order |
//! | reordering | on every tenth path: 0.05 to 2 % of the packets are 0.5 to 10 ms late |
//! | queue | 10 to 1000 packets, log-uniform, no more than the link carries in half a second; drop tail, RED or CoDel as likely as 3 : 1 : 1 |
//! | capacity | steady on three of four paths; else in 2 to 8 steps to 20 to 100 %, or like a cellular link ([`CellularConfig`](tresse_netem::CellularConfig)) |
//! | buffers | 256 KiB in every sixth world; else 1 to 4 times the bandwidth–delay products of all paths, 64 KiB at least |
//! | messages | 1452 bytes in half of the worlds; else 40 to 1000 or 2000 to 60 000, log-uniform; ordered in two of three; 1 stream or, in every fourth world, 2 to 10 |
//!
//! So that a world costs a fraction of a second, its time counts in round trips of its slowest path, a full
//! queue included (30 ms at least), and while it would have more packets than [`PACKETS`] all of its bandwidths are
//! lowered by a fifth. High bandwidths thus come with short delays more often than drawn.
//!
//! The links are without loss, jitter, reordering and changes until the association is up; times count from then.

mod network;
mod show;

use tresse_core::Time;
use tresse_netem::{LinkConfig, mix};
use tresse_sim::Draw;
use tresse_sim::apps::Bulk;

/// User data of a packet of 1500 bytes: without IPv4, SCTP and DATA chunk headers.
pub const FULL: usize = 1452;
/// IPv4 and SCTP common headers of a packet.
const PACKET_HEADERS: usize = 20 + 12;
/// The header of a DATA chunk.
const CHUNK_HEADER: usize = 16;
/// Bytes of the largest packet.
const MTU: usize = 1500;
/// The most packets with data that the paths of a world can carry in its time.
pub const PACKETS: f64 = 50_000.0;
/// A message costs the simulator so much of what a packet does.
const MESSAGE_COST: f64 = 0.25;

/// What a world is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Nothing is settled, but that nobody competes: laws 1, 2 and 4.
    Open,
    /// No loss, and buffers of 2 BDP at least: laws 1, 2 and 4.
    Clean,
}

impl Family {
    /// The families of worlds 0 to 19, and so on.
    const TURNS: [Family; 20] = {
        use Family::{Clean as C, Open as O};
        [O, C, O, C, O, C, O, C, O, C, O, C, O, C, O, C, O, C, O, C]
    };

    /// That of world number `seed`.
    pub const fn of(seed: u64) -> Family {
        Family::TURNS[(seed % 20) as usize]
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Open => "open",
            Family::Clean => "clean",
        }
    }

    /// Round trips, a full queue included, before what counts begins, and that count.
    const fn round_trips(self) -> (f64, f64) {
        match self {
            Family::Open | Family::Clean => (15.0, 30.0),
        }
    }
}

/// Both directions of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the data sender.
    pub forward: LinkConfig,
    /// To the data sender.
    pub backward: LinkConfig,
}

impl Path {
    /// Bandwidth there in bit/s, before any change.
    pub fn bits_per_s(&self) -> f64 {
        self.forward.bandwidth_kbps.unwrap_or(0.0) * 1e3
    }

    /// Seconds there and back without queues.
    pub fn round_trip_s(&self) -> f64 {
        (self.forward.delay_ms + self.backward.delay_ms) / 1e3
    }

    /// Seconds that the queue takes when it is as long as its discipline lets it be for long.
    pub fn queue_s(&self) -> f64 {
        let packets = f64::from(self.forward.queue_packets.unwrap_or(0));
        let packets = self.forward.red.map_or(packets, |red| red.max_threshold);
        let seconds = packets * MTU as f64 * 8.0 / self.bits_per_s();
        // CoDel lets a queue stand for an interval at most.
        self.forward.codel.map_or(seconds, |codel| seconds.min(codel.interval_ms / 1e3))
    }

    /// User data in bit/s that it carries from second `from` to second `to`, of which packets have the share `share`.
    fn ideal(&self, from: f64, to: f64, share: f64) -> f64 {
        let link = &self.forward;
        let mut changes: Vec<_> = link.changes.iter().collect();
        changes.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        let (mut rate, mut up) = (self.bits_per_s(), link.up);
        let (mut at, mut bits) = (0.0, 0.0);
        let span = |a: f64, b: f64| (b.min(to) - a.max(from)).max(0.0);
        for change in changes {
            let next = change.at_ms / 1e3;
            bits += span(at, next) * if up { rate } else { 0.0 };
            rate = change.bandwidth_kbps.map_or(rate, |kbps| kbps * 1e3);
            up = change.up.unwrap_or(up);
            at = next;
        }
        bits += span(at, to.max(at)) * if up { rate } else { 0.0 };
        bits * share / (to - from)
    }
}

/// Everything that a number decides.
#[derive(Clone, Debug)]
pub struct World {
    /// The number.
    pub seed: u64,
    /// What it is made for.
    pub family: Family,
    /// 1 to 4 paths; the first is the primary one.
    pub paths: Vec<Path>,
    /// Send and receive buffer of our association, bytes.
    pub buffer: usize,
    /// What our association sends.
    pub bulk: Bulk,
    /// Seconds from the beginning of the association after which what happens counts.
    pub warmup_s: f64,
    /// Seconds from the beginning of the association to the end.
    pub seconds: f64,
}

/// Random numbers for one property of a world, so that none depends on how many another one takes.
#[derive(Clone, Copy)]
enum Area {
    Paths = 1,
    Rates,
    Delays,
    Loss,
    Jitter,
    Queues,
    Capacity,
    Buffers,
    Messages,
}

impl Area {
    fn draw(self, seed: u64) -> Draw {
        Draw::new(mix(mix(seed ^ 0x6761_756e_746c_6574) ^ self as u64))
    }
}

impl World {
    /// World number `seed`.
    pub fn draw(seed: u64) -> World {
        let family = Family::of(seed);
        let bulk = messages(seed);
        let mut world = World {
            seed,
            family,
            paths: network::paths(seed, family),
            buffer: 0,
            bulk,
            warmup_s: 0.0,
            seconds: 0.0,
        };
        world.settle();
        network::change(&mut world);
        world.buffer = buffer(&world);
        world.bulk.size = world.bulk.size.min(world.buffer / 8);
        world
    }

    /// Lowers the bandwidths until the world is small enough, and settles its time.
    fn settle(&mut self) {
        let (warmup, measured) = self.family.round_trips();
        loop {
            let round_trip = self.paths.iter().map(|p| p.round_trip_s() + p.queue_s());
            let round_trip = round_trip.fold(0.03, f64::max);
            self.warmup_s = warmup * round_trip;
            self.seconds = (warmup + measured) * round_trip;
            let rate: f64 = self.paths.iter().map(Path::bits_per_s).sum();
            let packets = rate * self.seconds / (8 * MTU) as f64;
            let messages = (FULL as f64 / self.bulk.size as f64).max(1.0);
            // Where no bandwidth can be lowered, a world may be somewhat larger.
            let lowest = rate <= network::KBPS[0] * 1e3 * self.paths.len() as f64;
            if lowest || packets * (1.0 + MESSAGE_COST * (messages - 1.0)) <= PACKETS {
                break;
            }
            for link in self.paths.iter_mut().flat_map(|p| [&mut p.forward, &mut p.backward]) {
                network::slow_down(link, 0.8);
            }
        }
    }

    /// Σ bandwidth × delay of all paths, there and back without queues, in bytes.
    pub fn bdp_bytes(&self) -> f64 {
        self.paths.iter().map(|p| p.bits_per_s() * p.round_trip_s() / 8.0).sum()
    }

    /// User data in bit/s that all paths together can carry in the time that counts.
    pub fn ideal(&self) -> f64 {
        let share = payload_share(self.bulk.size);
        self.paths.iter().map(|p| p.ideal(self.warmup_s, self.seconds, share)).sum()
    }

    /// Whether nothing but full queues loses packets.
    pub fn is_lossless(&self) -> bool {
        let loses = |link: &LinkConfig| {
            link.loss > 0.0
                || link.gilbert_elliott.is_some()
                || link.changes.iter().any(|c| c.up == Some(false))
        };
        !self.paths.iter().any(|p| loses(&p.forward) || loses(&p.backward))
    }
}

/// Bytes of user data in a byte of full packets, for messages of `size` bytes.
fn payload_share(size: usize) -> f64 {
    let room = MTU - PACKET_HEADERS;
    let chunk = CHUNK_HEADER + size.next_multiple_of(4);
    if chunk <= room {
        let chunks = room / chunk;
        return (chunks * size) as f64 / (PACKET_HEADERS + chunks * chunk) as f64;
    }
    // Fragments fill packets; the last one may share its packet with the next message.
    let fragments = size.div_ceil(room - CHUNK_HEADER);
    let bytes = size + fragments * (PACKET_HEADERS + CHUNK_HEADER);
    size as f64 / bytes as f64
}

fn messages(seed: u64) -> Bulk {
    let mut d = Area::Messages.draw(seed);
    let size = match d.index(4) {
        0 | 1 => FULL,
        2 => d.log_whole(40, 1000) as usize,
        _ => d.log_whole(2000, 60_000) as usize,
    };
    let unordered = d.chance(1.0 / 3.0);
    let streams = if d.chance(0.25) { d.between(2, 10) as u16 } else { 1 };
    Bulk { size, streams, unordered, messages: None, from: Time::ZERO, until: None }
}

fn buffer(world: &World) -> usize {
    let mut d = Area::Buffers.draw(world.seed);
    let small = d.chance(1.0 / 6.0);
    let times = if world.family == Family::Clean { d.log(2.0, 4.0) } else { d.log(1.0, 4.0) };
    if small && world.family != Family::Clean {
        return 256 << 10;
    }
    ((world.bdp_bytes() * times) as usize).max(64 << 10)
}
