//! A world, drawn from a number: paths, what others send over them, and what is asked of the association.
//!
//! # Distribution
//! Of twenty worlds 6 are open, 4 clean, 4 shared, 2 lossy, 2 dying and 2 thin ([`Family`]), always at the same
//! places. What a family does not settle is drawn as follows, each property from random numbers of its own.
//!
//! | property | distribution |
//! |---|---|
//! | paths | 1 to 4, as likely as 1 : 4 : 2 : 1 |
//! | bandwidth | 0.5 to 200 Mbit/s, log-uniform; back the same or, in half of the worlds, 0.1 to 1 times as much |
//! | delay | 1 to 150 ms there, log-uniform; back 0.5 to 2 times as much, within the same bounds |
//!| loss | none on half of the paths; else 0.01 to 3 %, log-uniform, two in five in bursts (Gilbert–Elliott, 2 to 10 packets, or the time that the link takes for as many); the same in both directions |
//! | jitter | 0.1 ms; on every third path up to 30 % of the delay; in order |
//! | reordering | on every tenth path: 0.05 to 2 % of the packets are 0.5 to 10 ms late |
//! | queue | 10 to 1000 packets, log-uniform, no more than the link carries in half a second; drop tail, RED or CoDel as likely as 3 : 1 : 1 |
//! | capacity there | steady on three of four paths; else in 2 to 8 steps to 20 to 100 %, or like a cellular link ([`CellularConfig`](tresse_netem::CellularConfig)) |
//! | buffers | 256 KiB in every sixth world; else 1 to 4 times the bandwidth–delay products of all paths, 64 KiB at least |
//! | messages | 1452 bytes in half of the worlds; else 40 to 1000 or 2000 to 60 000, log-uniform; ordered in two of three; 1 stream or, in every fourth world, 2 to 10 |
//!
//! So that a world costs a fraction of a second, its time counts in round trips of its slowest path, a full
//! queue included (30 ms at least), and while it would have more packets than [`PACKETS`] all of its bandwidths are
//! lowered by a fifth. High bandwidths thus come with short delays more often than drawn.
//!
//! The links are without loss, jitter, reordering and changes until the association is up; times count from then.

mod area;
mod drawn;
mod network;
mod show;
mod traffic;

use tresse_netem::LinkConfig;
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

/// What a world is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Nothing is settled, but that nobody competes.
    Open,
    /// No loss, and buffers of 2 BDP at least.
    Clean,
    /// One path, or one of two, or two, go through a bottleneck that up to 4 others use, with one path each and
    /// 0.5 to 2 times our delay: all NewReno or, in half of the worlds, all CUBIC. Nothing is lost at random, and our buffers
    /// have room for 2 BDP and two full queues.
    Shared,
    /// One path of 5 to 100 Mbit/s and 5 to 50 ms each way that loses 1 % of the packets both ways; a queue of 0.5 to 2
    /// BDP, buffers of 2 BDP at least.
    Lossy,
    /// 2 to 4 paths of which all but one may die for a while or for good, or become narrower by a factor of 10 to 50; at
    /// least one does. 6 seconds at least.
    Dying,
    /// A thin stream beside the bulk: 50 to 500 bytes every 5 to 30 ms, at random. 6 seconds at least.
    Thin,
}

impl Family {
    /// The families of worlds 0 to 19, and so on.
    const TURNS: [Family; 20] = {
        use Family::{Clean as C, Dying as D, Lossy as L, Open as O, Shared as S, Thin as T};
        [O, C, S, O, L, C, D, O, T, S, O, C, S, O, L, C, D, O, T, S]
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
            Family::Shared => "shared",
            Family::Lossy => "lossy",
            Family::Dying => "dying",
            Family::Thin => "thin",
        }
    }

    /// Round trips, a full queue included, before what counts begins, and that count.
    const fn round_trips(self) -> (f64, f64) {
        match self {
            // Shares take their time to settle.
            Family::Shared => (40.0, 80.0),
            _ => (15.0, 30.0),
        }
    }

    /// Seconds that count, at least.
    const fn least_s(self) -> f64 {
        match self {
            Family::Dying | Family::Thin => 6.0,
            _ => 0.0,
        }
    }
}

/// Both directions of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the data sender; the bandwidth is unlimited if there is a shared bottleneck behind it.
    pub forward: LinkConfig,
    /// To the data sender.
    pub backward: LinkConfig,
}

impl Path {
    /// Seconds there and back without queues.
    pub fn round_trip_s(&self) -> f64 {
        (self.forward.delay_ms + self.backward.delay_ms) / 1e3
    }
}

/// A flow that shares a bottleneck with ours, between hosts of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Competitor {
    /// Milliseconds there.
    pub there_ms: f64,
    /// Milliseconds back.
    pub back_ms: f64,
    /// Seconds from the beginning of the simulation at which it begins.
    pub from_s: f64,
}

/// A bottleneck behind some of the paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// There, without delay.
    pub forward: LinkConfig,
    /// Back, without delay.
    pub backward: LinkConfig,
    /// The paths that go through it, counted from 0.
    pub paths: Vec<usize>,
    /// Others that do.
    pub competitors: Vec<Competitor>,
    /// The profile of the others.
    pub profile: &'static str,
}

/// A thin stream beside the bulk, on a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thin {
    /// Bytes of a message.
    pub size: usize,
    /// Milliseconds for each message, on average; the gaps are exponential.
    pub every_ms: f64,
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
    /// A bottleneck behind some of them.
    pub shared: Option<Shared>,
    /// Send and receive buffer of our association, bytes.
    pub buffer: usize,
    /// What our association sends.
    pub bulk: Bulk,
    /// What it sends besides.
    pub thin: Option<Thin>,
    /// Seconds from the beginning of the association after which what happens counts.
    pub warmup_s: f64,
    /// Seconds from the beginning of the association to the end.
    pub seconds: f64,
}

impl World {
    /// The link that limits a path there.
    pub fn limit(&self, path: usize) -> &LinkConfig {
        match &self.shared {
            Some(shared) if shared.paths.contains(&path) => &shared.forward,
            _ => &self.paths[path].forward,
        }
    }

    /// The links that limit the paths there, a shared one once, with the round trip of the slowest of its paths in
    /// seconds.
    pub fn limits(&self) -> impl Iterator<Item = (&LinkConfig, f64)> {
        let of_shared: &[usize] = self.shared.as_ref().map_or(&[], |shared| &shared.paths);
        let round_trip = |path: &usize| self.paths[*path].round_trip_s();
        let slowest = of_shared.iter().map(round_trip).fold(0.0, f64::max);
        let shared = self.shared.iter().map(move |shared| (&shared.forward, slowest));
        let own = (0..self.paths.len()).filter(|path| !of_shared.contains(path));
        shared.chain(own.map(move |path| (&self.paths[path].forward, round_trip(&path))))
    }

    /// Seconds that the slowest round trip takes with a full queue, others' included.
    fn slowest_round_trip_s(&self) -> f64 {
        let ours = (0..self.paths.len())
            .map(|path| self.paths[path].round_trip_s() + queue_s(self.limit(path)));
        let others = self.shared.iter().flat_map(|shared| {
            let queue = queue_s(&shared.forward);
            shared.competitors.iter().map(move |c| (c.there_ms + c.back_ms) / 1e3 + queue)
        });
        ours.chain(others).fold(0.0, f64::max)
    }

    /// Σ bandwidth × delay, there and back without queues, in bytes.
    pub fn bdp_bytes(&self) -> f64 {
        self.limits().map(|(link, round_trip)| bits_per_s(link) * round_trip / 8.0).sum()
    }

    /// How many compete with us.
    pub fn competitors(&self) -> usize {
        self.shared.as_ref().map_or(0, |shared| shared.competitors.len())
    }

    /// User data in Mbit/s that all paths together can carry in the time that counts.
    pub fn ideal_mbps(&self) -> f64 {
        let share = payload_share(self.bulk.size);
        let bits = |link| carried_bits(link, self.warmup_s, self.seconds);
        let all: f64 = self.limits().map(|(link, _)| bits(link)).sum();
        all * share / (self.seconds - self.warmup_s) / 1e6
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

/// The bandwidth of a link, before any change.
pub(crate) fn bits_per_s(link: &LinkConfig) -> f64 {
    link.bandwidth_kbps.unwrap_or(0.0) * 1e3
}

/// Seconds that the queue takes when it is as long as its discipline lets it be for long.
fn queue_s(link: &LinkConfig) -> f64 {
    let packets = f64::from(link.queue_packets.unwrap_or(0));
    let packets = link.red.map_or(packets, |red| red.max_threshold);
    let seconds = packets * (MTU * 8) as f64 / bits_per_s(link);
    // CoDel lets a queue stand for an interval at most.
    link.codel.map_or(seconds, |codel| seconds.min(codel.interval_ms / 1e3))
}

/// What a link can carry from second `from` to second `to`.
fn carried_bits(link: &LinkConfig, from: f64, to: f64) -> f64 {
    let mut changes: Vec<_> = link.changes.iter().collect();
    changes.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let (mut rate, mut up) = (bits_per_s(link), link.up);
    let (mut at, mut bits) = (0.0, 0.0);
    let span = |a: f64, b: f64| (b.min(to) - a.max(from)).max(0.0);
    for change in changes {
        let next = change.at_ms / 1e3;
        bits += span(at, next) * if up { rate } else { 0.0 };
        rate = change.bandwidth_kbps.map_or(rate, |kbps| kbps * 1e3);
        up = change.up.unwrap_or(up);
        at = next;
    }
    bits + span(at, to) * if up { rate } else { 0.0 }
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

#[cfg(test)]
mod tests;
