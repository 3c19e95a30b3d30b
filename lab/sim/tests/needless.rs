//! Why chunks are repeated in vain on the workloads of Pedersen (2006) whose SACKs are lost as often as data: what the
//! network did to the SACKs of the transmission before tells it, which no sender can see.
//!
//! `cargo test --release -p tresse-sim --test needless -- --nocapture` prints the table of `docs/harm.md`.

mod common;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use common::{ip, ms};
use tresse_core::wire::{Chunk, GapAckBlock, Packet as WirePacket, Sack, Tsn};
use tresse_core::{AssociationConfig, EndpointConfig, Profile, Time, TraceEvent};
use tresse_netem::SpikesConfig;
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage, Sender, Sink};
use tresse_sim::{LinkConfig, Node, NodeContext, Packet, Route, Simulation};

const PORT: u16 = 5000;
/// Bytes of a DATA chunk with a message of 100 bytes.
const CHUNK: u64 = 116;
/// From so much loss on a chunk may be under way still, too: then twice as much as with RFC 9260 is allowed.
const HEAVY: f64 = 0.2;

/// Forwards everything, and notes what passes.
#[derive(Default)]
struct Tap {
    seen: Vec<(Time, Packet)>,
}

impl Node for Tap {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        self.seen.push((cx.now(), packet.clone()));
        cx.send(packet);
    }
}

/// What a SACK says, and when it passed.
struct Report {
    at: Time,
    cumulative: Tsn,
    blocks: Vec<GapAckBlock>,
}

impl Report {
    fn new(at: Time, sack: &Sack<'_>) -> Report {
        Report { at, cumulative: sack.cumulative_tsn_ack, blocks: sack.gap_blocks().collect() }
    }

    fn covers(&self, tsn: Tsn) -> bool {
        let beyond = tsn.0.wrapping_sub(self.cumulative.0).cast_signed();
        let within = |b: &GapAckBlock| (i32::from(b.start)..=i32::from(b.end)).contains(&beyond);
        beyond <= 0 || self.blocks.iter().any(within)
    }
}

/// Why a chunk was repeated although the transmission before had arrived, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The network had lost every SACK of it that could have come by then.
    SackLost,
    /// No SACK of it could have come by then: the receiver had not sent one in time.
    SackUnderWay,
    /// It had not arrived itself.
    DataUnderWay,
    /// A SACK of it had come: the sender knew.
    Known,
}

/// Data chunks or SACKs that passed a tap.
fn chunks<T>(tap: &Tap, mut take: impl FnMut(Time, &Chunk<'_>) -> Option<T>) -> Vec<T> {
    let mut all = Vec::new();
    for (at, packet) in &tap.seen {
        let packet = WirePacket::parse(&packet.payload).expect("a packet of ours");
        for raw in packet.chunks() {
            let chunk = Chunk::parse(raw.expect("a chunk of ours")).expect("of ours");
            all.extend(take(*at, &chunk));
        }
    }
    all
}

fn reports(tap: &Tap) -> Vec<Report> {
    chunks(tap, |at, chunk| match chunk {
        Chunk::Sack(sack) => Some(Report::new(at, sack)),
        _ => None,
    })
}

/// A workload of the thesis: bursts of messages of 100 bytes, with as much loss in each direction.
struct Workload {
    name: &'static str,
    delay: Duration,
    burst: u64,
    every_ms: u64,
    loss: f64,
    duration: Duration,
}

impl Workload {
    /// A table: 5 % loss for half an hour.
    const fn table(name: &'static str, delay_us: u64, burst: u64, every_ms: u64) -> Workload {
        let (delay, duration) = (Duration::from_micros(delay_us), Duration::from_secs(1800));
        Workload { name, delay, burst, every_ms, loss: 0.05, duration }
    }

    /// What the thesis left out (`pedersen/omitted`): ten minutes.
    const fn omitted(name: &'static str, every_ms: u64, loss: f64) -> Workload {
        let (delay, duration) = (Duration::from_millis(104), Duration::from_secs(600));
        Workload { name, delay, burst: 1, every_ms, loss, duration }
    }
}

const WORKLOADS: [Workload; 11] = [
    Workload::table("Table 3.2", 100, 1, 256),
    Workload::table("Table 3.3", 52_000, 1, 256),
    Workload::table("Tables 3.4, 5.1", 104_000, 1, 256),
    Workload::table("Table 3.5", 204_000, 1, 256),
    Workload::table("Table 5.2", 104_000, 4, 1052),
    Workload::omitted("256 ms, 5 %", 256, 0.05),
    Workload::omitted("256 ms, 10 %", 256, 0.10),
    Workload::omitted("256 ms, 20 %", 256, 0.20),
    Workload::omitted("3 s, 5 %", 3000, 0.05),
    Workload::omitted("3 s, 10 %", 3000, 0.10),
    Workload::omitted("3 s, 20 %", 3000, 0.20),
];

/// What one sender made of a workload.
struct Outcome {
    messages: u64,
    needless: u64,
    lost_sacks: u64,
    causes: BTreeMap<Cause, u64>,
}

fn play(workload: &Workload, profile: &str, seed: u64) -> Outcome {
    let mut profile = Profile::named(profile).expect("built in");
    profile.limits.association_max_retrans = 1000;
    profile.limits.path_max_retrans = 1000;
    let profile = Arc::new(profile);
    let config = AssociationConfig { profile, no_delay: true, trace: true, ..Default::default() };
    let bursts = workload.duration.as_millis() as u64 / workload.every_ms;
    let message = |n: u64, i: u64| ScheduledMessage {
        at: ms(n * workload.every_ms + 16 * i),
        stream: 0,
        size: 100,
        unordered: false,
    };
    let plan = (0..bursts).flat_map(|n| (0..workload.burst).map(move |i| message(n, i)));
    let endpoint = |at, accept| EndpointConfig {
        local_port: PORT,
        local_addresses: vec![at],
        accept,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let mut sim = Simulation::new(seed);
    let sender = Sender::new(Plan::Schedule(plan.collect())).connect(vec![b], PORT, config.clone());
    let from = sim.add_host("sender", endpoint(a, false), Box::new(sender.from_connection()));
    let to = sim.add_host("receiver", endpoint(b, true), Box::new(Sink::new()));
    let near = sim.add_node("near", Box::new(Tap::default()));
    let far = sim.add_node("far", Box::new(Tap::default()));
    let delay_ms = workload.delay.as_secs_f64() * 1e3;
    let lossy = LinkConfig { loss: workload.loss, ..LinkConfig::new(100_000.0, delay_ms) };
    let perfect = LinkConfig::default();
    let mut link = |from, to, route, config: &LinkConfig| {
        sim.add_link(from, to, route, config.clone()).expect("a valid link")
    };
    link(from, near, Route::any().default_source(a), &perfect);
    link(near, from, Route::to(a), &perfect);
    link(to, far, Route::any().default_source(b), &perfect);
    link(far, to, Route::to(b), &perfect);
    link(near, far, Route::to(b), &lossy);
    let back = link(far, near, Route::to(a), &lossy);
    sim.run(Time::ZERO + workload.duration + Duration::from_secs(100));

    // A packet takes the delay and its time on the wire, which is far below a millisecond.
    let wire = Duration::from_millis(1).min(workload.delay);
    let (near, far) = (sim.app::<Tap>(near), sim.app::<Tap>(far));
    let (left, came) = (reports(far), reports(near));
    let sent: Vec<(Time, Tsn)> = sim
        .app::<Sender>(from)
        .trace()
        .iter()
        .filter_map(|t| match t.event {
            TraceEvent::Sent { tsn, .. } => Some((t.at, tsn)),
            _ => None,
        })
        .collect();
    let arrived = chunks(far, |at, chunk| match chunk {
        Chunk::Data(data) => Some((at, data.tsn)),
        _ => None,
    });
    let mut first: BTreeMap<u32, Time> = BTreeMap::new();
    let mut causes = BTreeMap::new();
    for (at, tsn) in arrived {
        let Some(before) = first.get(&tsn.0).copied() else {
            first.insert(tsn.0, at);
            continue;
        };
        // The last one that can have come by now.
        let departure = sent.iter().rev().find(|(t, of)| *of == tsn && *t + workload.delay <= at);
        let (again, _) = *departure.expect("what arrives was sent");
        let told = |report: &&Report| report.covers(tsn);
        let in_time =
            |report: &&Report| report.at >= before && report.at + workload.delay + wire <= again;
        let cause = if before > again {
            Cause::DataUnderWay
        } else if came.iter().filter(told).any(|report| report.at < again) {
            Cause::Known
        } else if left.iter().filter(told).any(|report| in_time(&report)) {
            Cause::SackLost
        } else {
            Cause::SackUnderWay
        };
        *causes.entry(cause).or_default() += 1;
    }
    Outcome {
        messages: bursts * workload.burst,
        needless: sim.endpoint(to).totals().duplicate_chunks_received,
        lost_sacks: sim.link_stats(back).dropped_random,
        causes,
    }
}

/// A chunk is repeated in vain because its SACK was lost, and hardly ever for another reason: and to the sender
/// that is what the loss of the chunk looks like.
#[test]
fn what_is_repeated_in_vain_is_what_a_lost_sack_hid() {
    for workload in &WORKLOADS {
        let mut with_rfc9260 = 0;
        for profile in ["rfc9260", "tresse"] {
            let Outcome { messages, needless, lost_sacks, causes } = play(workload, profile, 1);
            let bytes = needless * CHUNK;
            println!(
                "{}, {profile}: {needless} of {messages} in vain, {bytes} bytes, {lost_sacks} SACKs lost: {causes:?}",
                workload.name,
            );
            assert_eq!(causes.values().sum::<u64>(), needless, "each has its cause");
            assert_eq!(causes.get(&Cause::Known), None, "nothing is repeated that is acknowledged");
            let hidden = causes.get(&Cause::SackLost).copied().unwrap_or(0);
            if profile == "rfc9260" {
                with_rfc9260 = needless;
                continue;
            }
            assert!(hidden <= lost_sacks, "no more than one for each");
            let explained = hidden * 100 >= needless * 99;
            let twice = workload.loss >= HEAVY && needless <= 2 * with_rfc9260;
            assert!(explained || twice, "{}: {causes:?}", workload.name);
        }
    }
}

/// The workload of Figure 13(a) of Ladha et al. (2004): packets to the first of two addresses stand still for 3 to 10 s, again
/// and again, with this many seconds between. No packet is lost at random.
struct Spikes {
    every_s: [f64; 2],
}

/// A packet takes no longer unless a spike holds it: through a full queue of 49 packets of 1480 bytes at 1 Mbit/s, and 100 ms.
const THROUGH_FULL_QUEUE: Duration = Duration::from_millis(700);
/// Bytes of a DATA chunk with a message of 1432 bytes.
const FULL_CHUNK: u64 = 1448;

/// Why a chunk was sent again over two paths of which one stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standstill {
    /// A spike held the transmission before: it took longer than a full queue explains.
    Held,
    /// The transmission before was in a queue.
    Queued,
    /// It had arrived, and its SACK was under way.
    SackUnderWay,
    /// A SACK of it had come.
    Known,
    /// It was lost: not in vain.
    Lost,
}

/// A transmission of a chunk, and when it arrived, if it did.
type Transmission = (Time, Option<Time>);

/// What one sender made of spikes in 200 s.
struct Through {
    chunks: usize,
    timeouts: u64,
    causes: BTreeMap<Standstill, u64>,
}

/// By TSN, what became of each transmission: on one path packets stay in order, so that of those that look alike the first
/// to arrive is the first that was sent and not lost.
fn transmissions(
    sent: &[(Time, Tsn, usize)],
    arrived: &[Vec<(Time, Tsn)>; 2],
) -> BTreeMap<u32, Vec<Transmission>> {
    let mut queues: [BTreeMap<u32, Vec<Time>>; 2] = Default::default();
    for (queue, arrivals) in queues.iter_mut().zip(arrived) {
        arrivals.iter().rev().for_each(|(at, tsn)| queue.entry(tsn.0).or_default().push(*at));
    }
    let mut all: BTreeMap<u32, Vec<Transmission>> = BTreeMap::new();
    for (at, tsn, path) in sent {
        let came = queues[*path].get_mut(&tsn.0).and_then(Vec::pop);
        all.entry(tsn.0).or_default().push((*at, came));
    }
    all
}

fn play_spikes(spikes: &Spikes, profile: &str, seed: u64) -> Through {
    let profile = Arc::new(Profile::named(profile).expect("built in"));
    let config = AssociationConfig {
        profile,
        no_delay: true,
        trace: true,
        receive_buffer: 65_536,
        ..AssociationConfig::default()
    };
    let endpoint = |addresses: [IpAddr; 2], accept| EndpointConfig {
        local_port: PORT,
        local_addresses: addresses.to_vec(),
        accept,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let a = ["10.0.0.1", "10.1.0.1"].map(ip);
    let b = ["10.0.0.2", "10.1.0.2"].map(ip);
    let mut sim = Simulation::new(seed);
    let until = Time::ZERO + Duration::from_secs(200);
    let plan = Plan::Bulk(Bulk { until: Some(until), ..Bulk::of_size(1432) });
    let sender = Sender::new(plan).connect(b.to_vec(), PORT, config.clone()).from_connection();
    let from = sim.add_host("sender", endpoint(a, false), Box::new(sender));
    let to = sim.add_host("receiver", endpoint(b, true), Box::new(Sink::new()));
    let steady = LinkConfig { queue_packets: Some(49), ..LinkConfig::new(1000.0, 100.0) };
    let still = SpikesConfig {
        interval_s: Some(spikes.every_s),
        length_s: Some([3.0, 10.0]),
        ..SpikesConfig::default()
    };
    let perfect = LinkConfig::default();
    let mut taps = Vec::new();
    for path in 0..2 {
        let near = sim.add_node("near", Box::new(Tap::default()));
        let far = sim.add_node("far", Box::new(Tap::default()));
        let spikes = Some(still.clone()).filter(|_| path == 0);
        let there = LinkConfig { spikes, ..steady.clone() };
        let (to_b, to_a) = (Route::to(b[path]), Route::to(a[path]));
        for (start, end, route, link) in [
            (from, far, to_b.default_source(a[path]), &there),
            (far, to, to_b, &perfect),
            (to, near, to_a.default_source(b[path]), &steady),
            (near, from, to_a, &perfect),
        ] {
            sim.add_link(start, end, route, link.clone()).expect("a valid link");
        }
        taps.push((near, far));
    }
    sim.run(until);

    let came: Vec<Report> =
        taps.iter().flat_map(|(near, _)| reports(sim.app::<Tap>(*near))).collect();
    let data = |at, chunk: &Chunk<'_>| match chunk {
        Chunk::Data(data) => Some((at, data.tsn)),
        _ => None,
    };
    let arrived = [0, 1].map(|path| chunks(sim.app::<Tap>(taps[path].1), data));
    let first_path = sim.app::<Sender>(from).trace().iter().find_map(|t| match t.event {
        TraceEvent::Sent { path, .. } => Some(path),
        _ => None,
    });
    let sent: Vec<(Time, Tsn, usize)> = sim
        .app::<Sender>(from)
        .trace()
        .iter()
        .filter_map(|t| match t.event {
            TraceEvent::Sent { tsn, path, .. } => {
                Some((t.at, tsn, usize::from(Some(path) != first_path)))
            }
            _ => None,
        })
        .collect();
    let all = transmissions(&sent, &arrived);
    let mut causes = BTreeMap::new();
    for (tsn, times) in &all {
        for (n, (again, _)) in times.iter().enumerate().skip(1) {
            let before = &times[..n];
            let first = before.iter().filter_map(|(_, came)| *came).min();
            let told = |r: &Report| r.at <= *again && r.covers(Tsn(*tsn));
            let held = |t: &Transmission| t.1.is_some_and(|at| at.since(t.0) > THROUGH_FULL_QUEUE);
            let cause = match first {
                // What is under way at the end may be held, and what never arrives was lost.
                None if before.iter().any(|t| until.since(t.0) < Duration::from_secs(20)) => {
                    continue;
                }
                None => Standstill::Lost,
                Some(at) if at > *again && before.iter().any(held) => Standstill::Held,
                Some(at) if at > *again => Standstill::Queued,
                Some(_) if came.iter().any(told) => Standstill::Known,
                Some(_) => Standstill::SackUnderWay,
            };
            *causes.entry(cause).or_default() += 1;
        }
    }
    let timeouts = sim.endpoint(from).totals().timeouts;
    Through { chunks: all.len(), timeouts, causes }
}

/// Over two paths of which one stands still for seconds, a chunk is repeated in vain because the spike held it: to the sender
/// that is what a dead path looks like, and no SACK was lost that could have told. The others wait in the queue behind what
/// a spike let go at once, and chunks of the second path overtake them.
#[test]
fn what_is_repeated_in_vain_is_what_a_spike_held() {
    for every_s in [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0]] {
        let mut with_rfc9260 = 0;
        for profile in ["rfc9260", "tresse"] {
            let Through { chunks, timeouts, causes } = play_spikes(&Spikes { every_s }, profile, 1);
            let of = |cause| causes.get(&cause).copied().unwrap_or(0);
            let needless = causes.values().sum::<u64>() - of(Standstill::Lost);
            println!(
                "spikes every {every_s:?} s, {profile}: {needless} of {chunks} in vain, {} bytes, {timeouts} timeouts: {causes:?}",
                needless * FULL_CHUNK,
            );
            assert_eq!(of(Standstill::Known), 0, "nothing is repeated that is acknowledged");
            let held = of(Standstill::Held);
            assert!(held * 4 >= needless * 3, "{every_s:?}, {profile}: {causes:?}");
            if profile == "rfc9260" {
                with_rfc9260 = needless;
            } else {
                assert!(needless <= 2 * with_rfc9260, "{every_s:?}: {causes:?}");
            }
        }
    }
}
