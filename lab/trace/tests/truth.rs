//! What captures of both ends say of losses and needless retransmissions, against what the simulator
//! did to each packet: every one of them, in random worlds.
//!
//! `TRESSE_SEEDS=0..100000 cargo test -p tresse-trace --test truth` tries others.

mod rewritten;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_core::{
    AssociationConfig, EndpointConfig, Extensions, LossCause, Profile, Reliability, Time,
    TraceEvent,
};
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage, Sender, Sink};
use tresse_sim::{CaptureBuffer, LinkConfig, LinkId, LossStage, Simulation};
use tresse_trace::measure::{Measured, both_ends, one_end};
use tresse_trace::{Class, Options};
use tresse_wire::{Chunk, Packet};

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Every order of magnitude is equally likely.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.next() % choices.len() as u64) as usize]
    }
}

const PROFILES: [&str; 7] = [
    // It may send a chunk twice at one moment, in packets that look alike: no time tells those apart.
    "lksctp-2.6.15",
    "tresse",
    "rfc9260",
    "rfc2960",
    "rfc9260+rack-tlp",
    "freebsd-cmt",
    "tresse+thin-bundle-new+thin-fast-retransmit+tail-loss-probe",
];

/// A world: two hosts, what is sent, and by which links.
struct World {
    seed: u64,
    profile: &'static str,
    concurrent: bool,
    encapsulated: bool,
    six: bool,
    interleaving: bool,
    /// How long messages are worth sending, if not for ever.
    lifetime: Option<Duration>,
    plan: Plan,
    /// There and back, path by path.
    links: Vec<[LinkConfig; 2]>,
}

impl World {
    /// `calm`: one path, on which all packets take the same time, unless they are lost.
    fn draw(seed: u64, calm: bool) -> World {
        let mut d = Draw(seed);
        let paths = if calm { 1 } else { d.pick(&[1, 1, 2]) };
        let links = (0..paths).map(|_| [link(&mut d, calm), link(&mut d, calm)]).collect();
        let plan = match d.between(0, 2) {
            0 => Plan::Bulk(Bulk {
                messages: Some(d.log(10.0, 4000.0) as u64),
                streams: d.between(1, 3) as u16,
                ..Bulk::of_size(d.pick(&[20, 100, 1000, 1400, 4000]))
            }),
            _ => {
                let (count, step) = (d.log(5.0, 800.0) as u64, d.log(2.0, 700.0) as u64);
                let size = d.pick(&[10, 100, 100, 1000, 2000]);
                let message = |n| ScheduledMessage {
                    at: Time::from_millis(n * step),
                    stream: 0,
                    size,
                    unordered: n % 7 == 3,
                };
                Plan::Schedule((0..count).map(message).collect())
            }
        };
        World {
            seed,
            profile: d.pick(&PROFILES[usize::from(calm)..]),
            concurrent: paths > 1 && d.chance(0.5),
            encapsulated: d.chance(0.3),
            six: d.chance(0.3),
            interleaving: false,
            lifetime: None,
            plan,
            links,
        }
    }

    /// Messages of several streams leave at a time, one large or many, ordered or not, and some are given up.
    fn draw_interleaved(seed: u64) -> World {
        let world = World::draw(seed, false);
        let mut d = Draw(!seed);
        let streams = d.between(2, 5);
        let (count, step) = (d.log(20.0, 500.0) as u64, d.log(1.0, 300.0) as u64);
        let message = |n| ScheduledMessage {
            at: Time::from_millis(n / streams * step),
            stream: (n % streams) as u16,
            size: if n % streams == 0 { 40_000 } else { d.pick(&[20, 1000, 4000]) },
            unordered: n % 7 == 3,
        };
        World {
            interleaving: true,
            plan: Plan::Schedule((0..count).map(message).collect()),
            lifetime: d.chance(0.4).then(|| Duration::from_millis(d.between(20, 4000))),
            ..world
        }
    }

    fn address(&self, path: usize, host: u8) -> IpAddr {
        let path = path as u8;
        if self.six {
            IpAddr::from([0xfd00, 0, 0, path.into(), 0, 0, 0, host.into()])
        } else {
            IpAddr::from([10, 0, path, host])
        }
    }

    /// Plays it.
    fn play(&self) -> Played {
        let addresses = |host| (0..self.links.len()).map(move |path| self.address(path, host));
        let scheduler = if self.interleaving { "+stream-round-robin" } else { "" };
        let profile = format!("{}{scheduler}", self.profile);
        let interleaving = self.interleaving;
        let association = AssociationConfig {
            profile: Arc::new(Profile::named(&profile).expect("it is built in")),
            extensions: Extensions { interleaving, ..Extensions::default() },
            reliability: self.lifetime.map_or(Reliability::Full, Reliability::Timed),
            concurrent_transfer: self.concurrent,
            encapsulation: self.encapsulated.then_some(9899),
            no_delay: true,
            trace: true,
            ..AssociationConfig::default()
        };
        let host = |number: u8| EndpointConfig {
            local_addresses: addresses(number).collect(),
            accept: number == 2,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let mut sim = Simulation::new(self.seed);
        let sender = Sender::new(self.plan.clone())
            .connect(addresses(2).collect(), 5000, association.clone())
            .from_connection()
            .shutdown_when_done();
        let client = sim.add_host("client", host(1), Box::new(sender));
        let server = sim.add_host("server", host(2), Box::new(Sink::new()));
        let mut links: Vec<LinkId> = Vec::new();
        for (path, [there, back]) in self.links.iter().enumerate() {
            let [a, b] = [1, 2].map(|host| self.address(path, host));
            let route = |to, from| tresse_sim::Route::to(to).default_source(from);
            links.push(sim.add_link(client, server, route(b, a), there.clone()).expect("valid"));
            links.push(sim.add_link(server, client, route(a, b), back.clone()).expect("valid"));
        }
        let captures = [client, server].map(|host| {
            let capture = CaptureBuffer::new();
            sim.capture(sim.view_of(host), capture.clone()).expect("memory");
            capture
        });
        sim.run(Time::from_millis(1_000_000));
        let causes = sim.app::<Sender>(client).trace().iter().filter_map(|record| {
            let TraceEvent::Sent { tsn, transmission, cause, .. } = &record.event else {
                return None;
            };
            Some(((tsn.0, transmission - 1), (*cause)?))
        });
        let causes = causes.collect();
        Played { captures: captures.map(|capture| capture.contents()), causes }
    }
}

/// What is known of a world that was played.
struct Played {
    /// What the sender's and the receiver's host capture.
    captures: [Vec<u8>; 2],
    /// Why the sender sent again: TSN, and for the how manyeth time.
    causes: BTreeMap<(u32, u32), LossCause>,
}

fn link(d: &mut Draw, calm: bool) -> LinkConfig {
    let delay_ms = d.log(0.5, 300.0);
    let loss = if d.chance(0.8) { d.log(0.002, 0.3) } else { 0.0 };
    let steady = LinkConfig { delay_ms, loss, ..LinkConfig::default() };
    if calm {
        return steady;
    }
    let jitter = d.chance(0.3);
    let reorder = d.chance(0.3);
    LinkConfig {
        bandwidth_kbps: d.chance(0.7).then(|| d.log(60.0, 20_000.0)),
        queue_packets: d.chance(0.8).then(|| d.log(3.0, 300.0) as u32),
        loss_stage: d.pick(&[LossStage::Entry, LossStage::Wire]),
        jitter_ms: if jitter { delay_ms * d.unit() } else { 0.0 },
        jitter_reorders: d.chance(0.5),
        duplicate: if d.chance(0.3) { d.log(0.005, 0.2) } else { 0.0 },
        corrupt: if d.chance(0.2) { d.log(0.005, 0.1) } else { 0.0 },
        reorder: if reorder { d.log(0.005, 0.2) } else { 0.0 },
        reorder_delay_ms: reorder.then(|| d.log(1.0, 2000.0)),
        ..steady
    }
}

/// A captured packet: the number that it has everywhere, and its bytes from IP on.
struct Frame {
    id: u64,
    bytes: Vec<u8>,
}

fn frames(capture: &[u8]) -> Vec<Frame> {
    let mut reader = PcapNgReader::new(capture).expect("a capture");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a block") else { continue };
        let id = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Unknown(option) if option.code == 5 => {
                Some(u64::from_le_bytes(option.value.as_ref().try_into().expect("eight bytes")))
            }
            _ => None,
        });
        frames.push(Frame {
            id: id.expect("every packet has a number"),
            bytes: packet.data.to_vec(),
        });
    }
    frames
}

/// The packet of a frame, if it is intact.
fn sctp<'a>(world: &World, frame: &'a Frame) -> Option<Packet<'a>> {
    let ip = if world.six { 40 } else { 20 };
    Packet::parse(&frame.bytes[ip + if world.encapsulated { 8 } else { 0 }..]).ok()
}

/// TSNs of the DATA or I-DATA chunks of a packet.
fn tsns(world: &World, packet: &Packet<'_>) -> Vec<u32> {
    let chunks = packet.chunks().filter_map(|raw| Chunk::parse(raw.ok()?).ok());
    chunks
        .filter_map(|chunk| match chunk {
            Chunk::Data(d) if !world.interleaving => Some(d.tsn.0),
            Chunk::IData(d) if world.interleaving => Some(d.tsn.0),
            _ => None,
        })
        .collect()
}

/// What became of all transmissions of the sender: TSN, and for the how manyeth time it was sent again.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    lost: BTreeSet<(u32, u32)>,
    needless: BTreeSet<(u32, u32)>,
    sent: u64,
    again: u64,
    copies: u64,
}

/// The truth, by the numbers that the simulator gave to packets.
fn truth(world: &World, [sender, receiver]: &[Vec<Frame>; 2]) -> Fates {
    let mut arrived: BTreeMap<u64, u64> = BTreeMap::new();
    for frame in receiver.iter().filter(|frame| sctp(world, frame).is_some()) {
        *arrived.entry(frame.id).or_default() += 1;
    }
    let mut fates = Fates::default();
    // Of each TSN: how often it was sent, and whether a transmission arrived.
    let mut known: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    for frame in sender {
        let sent = frame.id >> 40 & 1 == 0;
        let Some(packet) = sctp(world, frame).filter(|_| sent) else { continue };
        let times = arrived.get(&frame.id).copied().unwrap_or(0);
        for tsn in tsns(world, &packet) {
            let (count, through) = known.entry(tsn).or_default();
            fates.sent += 1;
            fates.again += u64::from(*count > 0);
            fates.copies += times.saturating_sub(1);
            if *through {
                fates.needless.insert((tsn, *count));
            }
            if times == 0 {
                fates.lost.insert((tsn, *count));
            }
            *through |= times > 0;
            *count += 1;
        }
    }
    fates
}

/// What the analysis says.
fn inferred(measured: &[Measured]) -> Fates {
    let with_data: Vec<_> = measured.iter().filter(|m| m.summary.directions[0].data > 0).collect();
    assert_eq!(with_data.len(), 1, "associations");
    let (summary, a) = (&with_data[0].summary.directions[0], &with_data[0].directions[0]);
    let first = summary.first_number.expect("data");
    let tsn = |number: i64| first.wrapping_add(number as u32);
    let arrivals = summary.arrivals.clone().expect("both ends");
    let needless = a.retransmissions.iter().filter(|again| again.spurious.is_some());
    let fates = Fates {
        lost: a.losses.iter().map(|loss| (tsn(loss.number), loss.count)).collect(),
        needless: needless.map(|again| (tsn(again.number), again.count)).collect(),
        sent: summary.data,
        again: a.retransmissions.len() as u64,
        copies: arrivals.copies,
    };
    assert_eq!(fates.lost.len(), a.losses.len(), "each once");
    assert_eq!(arrivals.lost + arrivals.arrived + arrivals.under_way, arrivals.sent);
    assert_eq!((arrivals.under_way, arrivals.sent), (0, summary.data));
    assert_eq!(arrivals.unnecessary as usize, fates.needless.len());
    fates
}

/// What is inferred in a world, and what is true there.
fn compare(world: &World, numbered: bool) -> Result<Fates, String> {
    let captures = world.play().captures;
    let truth = truth(world, &captures.each_ref().map(|capture| frames(capture)));
    let folder = tempfile::tempdir().expect("a folder");
    let files: [PathBuf; 2] = ["sender", "receiver"].map(|name| folder.path().join(name));
    for (file, capture) in files.iter().zip(&captures) {
        rewritten::write(file, capture, numbered);
    }
    let (measured, _) =
        both_ends(&[&files[0]], &[&files[1]], Options::default()).expect("captures");
    let found = inferred(&measured);
    if found == truth {
        return Ok(truth);
    }
    let differ = |what: &str, found: &BTreeSet<(u32, u32)>, truth: &BTreeSet<(u32, u32)>| {
        let more: Vec<_> = found.difference(truth).take(5).collect();
        let less: Vec<_> = truth.difference(found).take(5).collect();
        format!("{what}: {more:?} too many, {less:?} too few of {}; ", truth.len())
    };
    Err(format!(
        "seed {} ({}): {}{}sent {} of {}, again {} of {}, copies {} of {}",
        world.seed,
        world.profile,
        differ("lost", &found.lost, &truth.lost),
        differ("needless", &found.needless, &truth.needless),
        found.sent,
        truth.sent,
        found.again,
        truth.again,
        found.copies,
        truth.copies
    ))
}

/// All seeds of `TRESSE_SEEDS`, or this many.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TRESSE_SEEDS") else { return 0..usual };
    let (from, to) = text.split_once("..").expect("TRESSE_SEEDS=0..1000");
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// Compares many worlds; all that was lost and needless in them.
fn compare_all(numbered: bool, worlds: impl Iterator<Item = World>) -> (usize, usize) {
    let (mut lost, mut needless, mut wrong) = (0, 0, Vec::new());
    for world in worlds {
        match compare(&world, numbered) {
            Ok(truth) => {
                lost += truth.lost.len();
                needless += truth.needless.len();
            }
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{} worlds:\n{}", wrong.len(), wrong.join("\n"));
    (lost, needless)
}

#[test]
fn every_loss_and_every_needless_retransmission_is_found() {
    let (lost, needless) = compare_all(true, seeds(150).map(|seed| World::draw(seed, false)));
    assert!(lost > 1000 && needless > 300, "{lost} lost, {needless} needless");
}

#[test]
fn where_packets_have_no_numbers_times_tell_those_apart_that_look_alike() {
    let (lost, needless) = compare_all(false, seeds(150).map(|seed| World::draw(seed, true)));
    assert!(lost > 1000 && needless > 300, "{lost} lost, {needless} needless");
}

#[test]
fn interleaved_messages_are_followed_like_others() {
    let (lost, needless) = compare_all(true, seeds(150).map(World::draw_interleaved));
    assert!(lost > 1000 && needless > 300, "{lost} lost, {needless} needless");
}

/// How often the packets of the sender alone say this of what it sent again for that reason.
fn classes(world: &World) -> BTreeMap<(Class, LossCause), u64> {
    let Played { captures: [capture, _], causes } = world.play();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sender");
    rewritten::write(&file, &capture, true);
    let (measured, _) = one_end(&[&file], Options::default()).expect("a capture");
    let mut found = BTreeMap::new();
    for m in measured.iter().filter(|m| m.summary.directions[0].data > 0) {
        let first = m.summary.directions[0].first_number.expect("data");
        for again in &m.directions[0].retransmissions {
            let Some(class) = again.class else { continue };
            let cause = causes[&(first.wrapping_add(again.number as u32), again.count)];
            *found.entry((class, cause)).or_default() += 1;
        }
    }
    found
}

#[test]
fn what_is_called_a_timeout_was_one() {
    let mut all: BTreeMap<&str, BTreeMap<(Class, LossCause), u64>> = BTreeMap::new();
    for world in seeds(150).map(|seed| World::draw(seed, false)) {
        let of_profile = all.entry(world.profile).or_default();
        for (pair, count) in classes(&world) {
            *of_profile.entry(pair).or_default() += count;
        }
    }
    let (mut timeouts, mut wrong, mut unknown) = (0, 0, 0);
    for (profile, pairs) in all {
        for ((class, cause), count) in pairs {
            println!("{profile}: {class:?}, {}: {count}", cause.name());
            unknown += if class == Class::Unknown { count } else { 0 };
            if class != Class::Timeout {
                continue;
            }
            timeouts += count;
            // RACK finds what a timer has left to be sent again, in the order in which that would send it.
            if cause != LossCause::Timeout {
                wrong += count;
                assert!(cause.is_found_by_sacks(), "{profile}: {}", cause.name());
                let standard = ["lksctp-2.6.15", "rfc2960", "rfc9260", "freebsd-cmt"];
                assert!(!standard.contains(&profile), "{profile}: {}", cause.name());
            }
        }
    }
    println!("{timeouts} timeouts, {wrong} of them wrong; {unknown} unknown");
    assert!(timeouts > 100 && 3 * wrong < timeouts && unknown < timeouts);
}
