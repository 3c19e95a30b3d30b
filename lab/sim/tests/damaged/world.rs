//! A world with damage, drawn from a seed.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use tresse_core::wire::ChunkType;
use tresse_core::{
    AssociationConfig, AssociationStats, Authentication, EndpointConfig, Extensions, Profile, Time,
};
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage, Sender, Sink, transfer_times};
use tresse_sim::{Change, Draw, LinkConfig, Simulation};

/// After this nothing is waited for any more.
const END: Time = Time::from_millis(3_600_000);
const PROFILES: [&str; 8] = [
    "rfc9260",
    "tresse",
    "rfc9260+rack",
    "rfc9260+rack-tlp",
    "tresse+cubic",
    "tresse+bbr",
    "freebsd-cmt",
    "rfc9260+nr-sack-all",
];

/// What is sent.
#[derive(Debug)]
enum Traffic {
    /// This many messages at once, each time that passes.
    Periodic {
        size: usize,
        every_ms: u64,
        at_once: u64,
        times: u64,
    },
    Bulk {
        size: usize,
        messages: u64,
    },
}

/// One of them.
pub(crate) struct World {
    seed: u64,
    profile: String,
    concurrent: bool,
    extensions: Extensions,
    /// Of each path, both directions.
    links: Vec<[LinkConfig; 2]>,
    traffic: Traffic,
    streams: u16,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { profile, concurrent, extensions, links, traffic, streams, .. } = self;
        write!(f, "{profile}, {traffic:?} on {streams} streams")?;
        if *concurrent {
            write!(f, ", concurrent")?;
        }
        let e = extensions;
        let names = [(e.interleaving, "I-DATA"), (e.ecn, "ECN"), (e.authentication, "AUTH")];
        for (_, name) in names.into_iter().filter(|(on, _)| *on) {
            write!(f, ", {name}")?;
        }
        for link in links.iter().flatten() {
            let LinkConfig { delay_ms, loss, corrupt, jitter_ms, duplicate, .. } = link;
            let (kbps, queue) =
                (link.bandwidth_kbps.unwrap_or(0.0), link.queue_packets.unwrap_or(0));
            let order = if link.jitter_reorders { ", out of order" } else { "" };
            write!(
                f,
                "\n    {kbps:.0} kbit/s, {delay_ms:.1} ms + {jitter_ms:.1}{order}, {queue} packets; damaged {corrupt:.4}, lost \
                 {loss:.4}, twice {duplicate:.4}",
            )?;
        }
        Ok(())
    }
}

fn link(draw: &mut Draw, delay_ms: f64, kbps: f64) -> LinkConfig {
    let damaged = draw.chance(0.8);
    LinkConfig {
        queue_packets: Some(draw.log_whole(20, 300) as u32),
        jitter_ms: if draw.chance(0.3) { draw.unit() * delay_ms / 4.0 } else { 0.0 },
        jitter_reorders: draw.chance(0.3),
        loss: if draw.chance(0.3) { 0.02 * draw.unit() } else { 0.0 },
        duplicate: if draw.chance(0.1) { 0.05 * draw.unit() } else { 0.0 },
        corrupt: if damaged { draw.log(0.001, 0.2) } else { 0.0 },
        corrupt_bits: draw.between(1, 4) as u32,
        ..LinkConfig::new(kbps, delay_ms)
    }
}

impl World {
    pub(crate) fn draw(seed: u64) -> World {
        let mut draw = Draw::new(seed ^ 0xda3a_6ed0_0081_0001);
        let paths = if draw.chance(0.4) { draw.between(2, 3) } else { 1 };
        let links = (0..paths).map(|_| {
            let (delay, kbps) = (draw.log(1.0, 150.0), draw.log(300.0, 50_000.0));
            [link(&mut draw, delay, kbps), link(&mut draw, delay, kbps)]
        });
        let links: Vec<_> = links.collect();
        let size =
            if draw.chance(0.5) { draw.log_whole(8, 1400) } else { draw.log_whole(1000, 9000) };
        let size = size as usize;
        let traffic = if draw.chance(0.6) {
            let every_ms = draw.log_whole(5, 1000);
            let at_once = if draw.chance(0.3) { draw.log_whole(2, 12) } else { 1 };
            Traffic::Periodic { size, every_ms, at_once, times: 400 / at_once }
        } else {
            Traffic::Bulk { size, messages: 1_000_000 / size.max(500) as u64 }
        };
        World {
            seed,
            profile: draw.pick(&PROFILES).to_owned(),
            concurrent: paths > 1 && draw.chance(0.6),
            extensions: Extensions {
                interleaving: draw.chance(0.3),
                ecn: draw.chance(0.2),
                authentication: draw.chance(0.2),
                partial_reliability: draw.chance(0.2),
                ..Extensions::default()
            },
            links,
            traffic,
            streams: draw.log_whole(1, 10) as u16,
        }
    }

    /// The same, but for that.
    pub(crate) fn one_path_at_a_time(self) -> World {
        World { concurrent: false, ..self }
    }

    /// Any of its links would carry it three times: no window fills a queue that damage had kept short.
    pub(crate) fn has_room(&self) -> bool {
        let Traffic::Periodic { size, every_ms, at_once, .. } = self.traffic else { return false };
        // Each fragment has its headers.
        let bytes = size as u64 + 60 * (1 + size as u64 / 1400);
        let kbps = (8 * bytes * at_once) as f64 / every_ms as f64;
        let slowest = self.links.iter().flatten().filter_map(|link| link.bandwidth_kbps);
        3.0 * kbps < slowest.fold(f64::INFINITY, f64::min)
    }

    fn config(&self, packet_drop_reports: bool) -> AssociationConfig {
        let chunks = vec![ChunkType::DATA, ChunkType::I_DATA, ChunkType::PACKET_DROP];
        AssociationConfig {
            profile: Arc::new(Profile::named(&self.profile).expect("built in")),
            no_delay: true,
            concurrent_transfer: self.concurrent,
            extensions: Extensions { packet_drop_reports, ..self.extensions },
            authentication: Arc::new(Authentication { chunks, ..Authentication::default() }),
            ..AssociationConfig::default()
        }
    }

    fn plan(&self) -> Plan {
        let streams = self.streams;
        match self.traffic {
            Traffic::Periodic { size, every_ms, at_once, times } => {
                let message = |n: u64| ScheduledMessage {
                    at: Time::from_millis(5_000 + n / at_once * every_ms),
                    stream: (n % u64::from(streams)) as u16,
                    size,
                    unordered: n % 5 == 4,
                };
                Plan::Schedule((0..times * at_once).map(message).collect())
            }
            Traffic::Bulk { size, messages } => {
                Plan::Bulk(Bulk { streams, messages: Some(messages), ..Bulk::of_size(size) })
            }
        }
    }

    /// How long it took on average until a message had arrived, or until all of the bulk had; and what the sender counted.
    pub(crate) fn play(&self, reports: bool, replication: u64) -> (f64, AssociationStats) {
        let config = self.config(reports);
        let addresses = |host: u8| -> Vec<IpAddr> {
            (0..self.links.len()).map(|path| IpAddr::from([10, path as u8, 0, host])).collect()
        };
        let [a, b] = [1, 2].map(addresses);
        let endpoint = |local: &Vec<IpAddr>| EndpointConfig {
            local_addresses: local.clone(),
            accept: true,
            association: config.clone(),
            ..EndpointConfig::default()
        };
        let mut sim = Simulation::new(self.seed.wrapping_mul(1000) + replication);
        let sender = Sender::new(self.plan()).connect(b.clone(), 5000, config.clone());
        let from = sim.add_host("sender", endpoint(&a), Box::new(sender));
        let to = sim.add_host("sink", endpoint(&b), Box::new(Sink::new()));
        for (path, [there, back]) in self.links.iter().enumerate() {
            let (_, home) = sim.duplex(from, to, a[path], b[path], there.clone()).expect("valid");
            sim.apply(Change::Link(home, Box::new(back.clone()))).expect("valid");
        }
        let messages = match self.traffic {
            Traffic::Periodic { at_once, times, .. } => at_once * times,
            Traffic::Bulk { messages, .. } => messages,
        };
        let mut limit = Time::from_millis(10_000);
        loop {
            sim.run(limit);
            let done = sim.app::<Sink>(to).stats().messages >= messages;
            let sender: &Sender = sim.app(from);
            let open = sender.closed().is_none() && limit < END;
            if !(done || open) {
                let stats = sender.association().and_then(|id| sim.endpoint(from).stats(id));
                let paths = sender.association().map(|id| sim.endpoint(from).path_stats(id));
                println!(
                    "{:?} {:?} {:?} {stats:#?} {paths:#?}",
                    sim.app::<Sink>(to).stats(),
                    sender.connect_error(),
                    sender.send_error()
                );
            }
            assert!(
                done || open,
                "{reports} {replication}: {:?} at {limit:?} in {self:?}",
                sender.closed()
            );
            if done {
                break;
            }
            limit += std::time::Duration::from_secs(10);
        }
        let stats = sim.app::<Sink>(to).stats();
        assert!(stats.flawless() && stats.messages == messages, "world {}: {stats:?}", self.seed);
        let sender: &Sender = sim.app(from);
        let times = transfer_times(sender.sent(), sim.app::<Sink>(to).deliveries());
        assert_eq!(times.len() as u64, messages);
        let taken = match self.traffic {
            Traffic::Periodic { .. } => {
                let each = times.iter().map(|t| t.duration().expect("it arrived").as_secs_f64());
                each.sum::<f64>() / messages as f64
            }
            Traffic::Bulk { .. } => {
                let connected = sender.connected_at().expect("it is up");
                stats.last_at.expect("something arrived").since(connected).as_secs_f64()
            }
        };
        let id = sender.association().expect("it is up");
        (taken, sim.endpoint(from).stats(id).expect("it is still up"))
    }
}
