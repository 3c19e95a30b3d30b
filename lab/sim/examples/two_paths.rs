//! Saturating ordered data over two disjoint paths, North with 10 Mbit/s (Sarnow 2017 §4.1), and
//! over each of them alone.
//!
//! ```text
//! cargo run --release -p tresse-sim --example two_paths -- PROFILE [key=value ...]
//! ```
//! Keys: `south` Mbit/s, several with commas (10,20,60,100,140,200); `delay` ms one way (1); `loss`
//! per cent (0); `queue` packets (100); `jitter` ms (0); `overhead` bytes per packet (0); `buffer`
//! bytes (1864135); `seconds` (60); `seed` (1); `progress` prints the paths every 100 ms.

use std::net::IpAddr;
use std::sync::Arc;

use tresse_core::{AssociationConfig, EndpointConfig, PathStats, Profile, Time};
use tresse_netem::LinkConfig;
use tresse_sim::Simulation;
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};

struct Scenario {
    profile: Arc<Profile>,
    delay: f64,
    loss: f64,
    queue: u32,
    jitter: f64,
    overhead: u32,
    buffer: usize,
    seconds: u64,
    seed: u64,
    progress: bool,
}

struct Outcome {
    mbps: f64,
    paths: Vec<PathStats>,
    notes: String,
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

impl Scenario {
    /// Goodput over links of this many Mbit/s.
    fn run(&self, rates: &[f64]) -> Outcome {
        let side = |host: u8| -> Vec<IpAddr> {
            (0..rates.len()).map(|i| address(&format!("10.{i}.0.{host}"))).collect()
        };
        let (local, remote) = (side(1), side(2));
        let association = AssociationConfig {
            profile: Arc::clone(&self.profile),
            send_buffer: self.buffer,
            receive_buffer: self.buffer as u32,
            concurrent_transfer: true,
            no_delay: true,
            ..AssociationConfig::default()
        };
        let host = |addresses: &[IpAddr], accept| EndpointConfig {
            local_addresses: addresses.to_vec(),
            accept,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let sender = Sender::new(Plan::Bulk(Bulk::of_size(1452)))
            .connect(remote.clone(), 5000, association.clone())
            .without_log();
        let mut sim = Simulation::new(self.seed);
        let client = sim.add_host("west", host(&local, false), Box::new(sender));
        let server = sim.add_host("east", host(&remote, true), Box::new(Sink::new().without_log()));
        for (i, mbps) in rates.iter().enumerate() {
            let link = LinkConfig {
                queue_packets: Some(self.queue),
                loss: self.loss / 100.0,
                jitter_ms: self.jitter,
                overhead_bytes: self.overhead,
                ..LinkConfig::new(mbps * 1000.0, self.delay)
            };
            sim.duplex(client, server, local[i], remote[i], link).expect("a valid link");
        }
        for ms in 1..=10 * self.seconds {
            sim.run_until(Time::from_millis(100 * ms));
            if self.progress && ms <= 80 {
                let endpoint = sim.endpoint(client);
                let id = endpoint.associations()[0];
                let stats = endpoint.stats(id).unwrap_or_default();
                print!(
                    "{:5} ms rwnd {:8} buffered {:8}",
                    100 * ms,
                    stats.peer_rwnd,
                    stats.send_buffered
                );
                for path in endpoint.path_stats(id) {
                    print!(
                        "  | cwnd {:7} ssthresh {:7} flight {:7} srtt {:5.1?}",
                        path.cwnd,
                        path.ssthresh.min(9999999),
                        path.flight,
                        path.srtt.unwrap_or_default()
                    );
                }
                println!(" rec {}", stats.fast_recoveries);
            }
        }
        let sink: &Sink = sim.app(server);
        let endpoint = sim.endpoint(client);
        let id = endpoint.associations()[0];
        let stats = endpoint.stats(id).unwrap_or_default();
        let peer = sim.endpoint(server);
        let received = peer.stats(peer.associations()[0]).unwrap_or_default();
        Outcome {
            mbps: sink.stats().bytes as f64 * 8.0 / 1e6 / self.seconds as f64,
            paths: endpoint.path_stats(id),
            notes: format!(
                "timeouts {} recoveries {} again {:?} duplicates {} reneged {} a_rwnd {}",
                stats.timeouts,
                stats.fast_recoveries,
                stats.retransmitted_chunks,
                received.duplicate_chunks_received,
                stats.reneged,
                stats.peer_rwnd,
            ),
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let profile = arguments.next().unwrap_or_else(|| "tresse".into());
    let profile = Profile::named(&profile).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let mut scenario = Scenario {
        profile: Arc::new(profile),
        delay: 1.0,
        loss: 0.0,
        queue: 100,
        jitter: 0.0,
        overhead: 0,
        buffer: 1_864_135,
        seconds: 60,
        seed: 1,
        progress: false,
    };
    let mut souths = vec![10.0, 20.0, 60.0, 100.0, 140.0, 200.0];
    for argument in arguments {
        let (key, value) = argument.split_once('=').unwrap_or((argument.as_str(), ""));
        let number = || -> f64 {
            value.parse().unwrap_or_else(|_| {
                eprintln!("{argument}: not a number");
                std::process::exit(2);
            })
        };
        match key {
            "south" => souths = value.split(',').filter_map(|one| one.parse().ok()).collect(),
            "delay" => scenario.delay = number(),
            "loss" => scenario.loss = number(),
            "jitter" => scenario.jitter = number(),
            "overhead" => scenario.overhead = number() as u32,
            "queue" => scenario.queue = number() as u32,
            "buffer" => scenario.buffer = number() as usize,
            "seconds" => scenario.seconds = number() as u64,
            "progress" => scenario.progress = true,
            "seed" => scenario.seed = number() as u64,
            _ => {
                eprintln!(
                    "{key}: known are south, delay, jitter, loss, queue, overhead, buffer, seconds, seed, progress"
                );
                std::process::exit(2);
            }
        }
    }
    let north = scenario.run(&[10.0]).mbps;
    println!("south  alone   both  of ideal  (Mbit/s)");
    for south in souths {
        let alone = scenario.run(&[south]).mbps.max(north);
        let both = scenario.run(&[10.0, south]);
        let ideal = (10.0 + south) * 0.9515;
        println!(
            "{south:5} {alone:6.1} {:6.1} {:8.1} %  {}",
            both.mbps,
            100.0 * both.mbps / ideal,
            both.notes
        );
        for path in both.paths {
            println!(
                "      {} cwnd {} ssthresh {} flight {} srtt {:?} timeouts {}",
                path.remote, path.cwnd, path.ssthresh, path.flight, path.srtt, path.timeouts
            );
        }
    }
}
