//! One transfer as the reference runs have it.
//!
//! 1 Mbit/s, 100 ms, 1480-byte IP packets (in the module's words chunks of 1448 bytes, header
//! included), 49 packets of queue, a receive window of 65 536 bytes. The module confirms the path by
//! a HEARTBEAT before its first data, which is therefore sent at 0.602 s.

#![allow(dead_code)] // The tests and the example use their parts.

use std::net::IpAddr;
use std::sync::Arc;

use tresse_core::wire::Tsn;
use tresse_core::{AssociationConfig, EndpointConfig, Extensions, Profile, Time, TraceEvent};
use tresse_netem::{LinkConfig, Spike, SpikePlace, SpikesConfig};
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
use tresse_sim::{HostId, Simulation, StopReason};

/// User data in a packet, bytes.
const MESSAGE: usize = 1432;

/// The same of a download, which the module cuts to fill 1500-byte packets.
const DOWNLOAD_MESSAGE: usize = 1452;

/// When the module sends its first data.
const START: Time = Time::from_nanos(602_368_000);

/// How the module differs from the profile `rfc2960`: the first window of RFC 4960, a floor of four
/// packets, and Fast Recovery.
const MODULE: &str = "
    [congestion]
    initial_window = 'rfc9260'
    ssthresh_floor = 4

    [fast_retransmit]
    fast_recovery = true
    ";

/// RTO of a sender whose timer never fires.
const NEVER: &str = "
    [rto]
    initial_ms = 60000
    min_ms = 60000
    ";

/// The link, and the sender if it is not the plain one.
#[derive(Clone)]
pub(crate) struct Scenario {
    link: LinkConfig,
    overrides: Vec<&'static str>,
    message: usize,
    messages: Option<u64>,
    limit: Time,
    trace: bool,
}

/// What a run gave.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// TSNs sent, so that the first one being 1 this is the highest.
    pub(crate) highest_tsn: u64,
    /// Chunks that arrived, duplicates not counted.
    pub(crate) received: u64,
    /// Chunks that arrived again.
    pub(crate) duplicates: u64,
    /// Seconds until the last message arrived.
    pub(crate) finished: f64,
    /// When T3-rtx expired, seconds. Traced runs only.
    pub(crate) timeouts: Vec<f64>,
    /// Retransmissions: when, in seconds, and which TSN. Traced runs only.
    pub(crate) resent: Vec<(f64, u32)>,
}

/// A mean and half its 95 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) margin: f64,
}

impl Scenario {
    /// 200 s of saturating data without disturbance.
    pub(crate) fn new() -> Scenario {
        Scenario {
            link: LinkConfig { queue_packets: Some(49), ..LinkConfig::new(1000.0, 100.0) },
            overrides: vec![MODULE],
            message: MESSAGE,
            messages: None,
            limit: Time::from_millis(200_000),
            trace: false,
        }
    }

    /// One spike, milliseconds.
    pub(crate) fn spike(mut self, start_ms: f64, length_ms: f64) -> Scenario {
        let list = vec![Spike { start_ms, length_ms }];
        self.link.spikes = Some(SpikesConfig { list, ..SpikesConfig::default() });
        self
    }

    /// Spikes of 3 to 10 s with intervals of this many seconds between them.
    pub(crate) fn spikes(mut self, interval_s: [f64; 2], place: SpikePlace) -> Scenario {
        self.link.spikes = Some(SpikesConfig {
            interval_s: Some(interval_s),
            length_s: Some([3.0, 10.0]),
            place,
            ..SpikesConfig::default()
        });
        self
    }

    /// This many packets of a hundred are released after four later ones.
    pub(crate) fn reorder(mut self, percent: f64) -> Scenario {
        self.link.reorder = percent / 100.0;
        self.link.reorder_after = Some(4);
        self
    }

    /// 4 MiB at 250 kbit/s instead of 200 s.
    pub(crate) fn download(mut self) -> Scenario {
        self.link.bandwidth_kbps = Some(250.0);
        self.message = DOWNLOAD_MESSAGE;
        self.messages = Some((4_u64 << 20).div_ceil(DOWNLOAD_MESSAGE as u64));
        self.limit = Time::from_millis(1_000_000);
        self
    }

    /// A sender that knows of every spike: its timer does not fire.
    pub(crate) fn patient(mut self) -> Scenario {
        self.overrides.push(NEVER);
        self
    }

    /// A sender without fast retransmit.
    pub(crate) fn without_fast_retransmit(mut self) -> Scenario {
        self.overrides.push("[fast_retransmit]\nthreshold = 0");
        self
    }

    /// The profile `rfc2960` by the letter: no Fast Recovery.
    pub(crate) fn without_fast_recovery(mut self) -> Scenario {
        self.overrides.push("[fast_retransmit]\nfast_recovery = false");
        self
    }

    /// Records timeouts and retransmissions.
    pub(crate) fn traced(self) -> Scenario {
        Scenario { trace: true, ..self }
    }

    fn association(&self) -> AssociationConfig {
        let mut profile = Profile::named("rfc2960").expect("built in");
        for text in &self.overrides {
            profile = profile.with_overrides(text).expect("valid overrides");
        }
        AssociationConfig {
            profile: Arc::new(profile),
            receive_buffer: 65_536,
            no_delay: true,
            trace: self.trace,
            init_size: 0,
            extensions: Extensions::NONE,
            ..AssociationConfig::default()
        }
    }

    /// Runs it.
    pub(crate) fn run(&self, seed: u64) -> Outcome {
        let address = |text: &str| -> IpAddr { text.parse().expect(text) };
        let (a, b) = (address("10.0.0.1"), address("10.0.0.2"));
        let association = self.association();
        let host = |address, accept| EndpointConfig {
            local_addresses: vec![address],
            accept,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let bulk = Bulk { from: START, messages: self.messages, ..Bulk::of_size(self.message) };
        let mut sender =
            Sender::new(Plan::Bulk(bulk)).connect(vec![b], 5000, association.clone()).without_log();
        if self.messages.is_some() {
            sender = sender.shutdown_when_done();
        }
        let mut sim = Simulation::new(seed);
        let client = sim.add_host("client", host(a, false), Box::new(sender));
        let server = sim.add_host("server", host(b, true), Box::new(Sink::new().without_log()));
        let undisturbed = LinkConfig {
            bandwidth_kbps: self.link.bandwidth_kbps,
            delay_ms: self.link.delay_ms,
            ..LinkConfig::default()
        };
        let there = tresse_sim::Route::to(b);
        let back = tresse_sim::Route::to(a);
        sim.add_link(client, server, there, self.link.clone()).expect("valid link");
        sim.add_link(server, client, back, undisturbed).expect("valid link");
        let reason = sim.run_until(self.limit);
        assert!(self.messages.is_none() || reason == StopReason::Idle, "the download has an end");
        self.outcome(&sim, client, server)
    }

    fn outcome(&self, sim: &Simulation, client: HostId, server: HostId) -> Outcome {
        let stats = |host| {
            let endpoint = sim.endpoint(host);
            let id = endpoint.associations().first().copied();
            id.and_then(|id| endpoint.stats(id)).unwrap_or_default()
        };
        let (sent, arrived) = (stats(client), stats(server));
        let mut outcome = Outcome {
            highest_tsn: sent.data_chunks_sent,
            received: arrived.data_chunks_received,
            duplicates: arrived.duplicate_chunks_received,
            finished: sim.app::<Sink>(server).stats().last_at.map_or(0.0, seconds),
            ..Outcome::default()
        };
        let mut first: Option<Tsn> = None;
        for record in sim.app::<Sender>(client).trace() {
            match record.event {
                TraceEvent::TimerExpired { .. } => outcome.timeouts.push(seconds(record.at)),
                TraceEvent::Sent { tsn, transmission, .. } => {
                    let number = tsn.distance(*first.get_or_insert(tsn)) + 1;
                    if transmission > 1 {
                        outcome.resent.push((seconds(record.at), number.unsigned_abs()));
                    }
                }
                _ => {}
            }
        }
        outcome
    }

    /// The mean over this many seeds of what `measure` reads.
    pub(crate) fn mean(&self, seeds: u64, measure: fn(&Outcome) -> f64) -> Mean {
        let values: Vec<f64> = (1..=seeds).map(|seed| measure(&self.run(seed))).collect();
        let count = seeds as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|one| (one - value).powi(2)).sum::<f64>();
        Mean { value, margin: 1.96 * (squares / (count - 1.0) / count).sqrt() }
    }
}

/// The metric of the paper: the highest TSN sent.
pub(crate) fn highest(outcome: &Outcome) -> f64 {
    outcome.highest_tsn as f64
}

/// Seconds until a download is complete.
pub(crate) fn finished(outcome: &Outcome) -> f64 {
    outcome.finished
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
