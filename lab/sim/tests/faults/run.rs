//! Runs one scenario in the simulator and judges it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use tresse_core::profile::NrSackMode;
use tresse_core::{CloseReason, EndpointConfig, Time};
use tresse_sim::{Capture, CaptureBuffer, Change, HostId, Simulation, StopReason};

use crate::actor::{Actor, Lie};
use crate::health::{self, Health};
use crate::ledger::{Kind, Ledger, Violation};
use crate::limits;
use crate::scenario::{Fault, PORT, Scenario};
use crate::stage;

/// What to do besides running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Keep events and packets for people.
    pub(crate) verbose: bool,
    /// Compute a digest of all packets.
    pub(crate) digest: bool,
    /// Have associations record what loss recovery does.
    pub(crate) trace: bool,
    /// Messages may be given up.
    pub(crate) partial: bool,
    /// A host that lies (`None`: both), and how.
    pub(crate) lie: Option<(Option<usize>, Lie)>,
}

/// How a run went.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) violations: Vec<Violation>,
    pub(crate) seen: BTreeSet<&'static str>,
    pub(crate) log: Vec<(Time, String)>,
    pub(crate) capture: Vec<u8>,
    pub(crate) digest: u64,
    pub(crate) packets: u64,
    pub(crate) chunks: u64,
    /// Events and packets that were simulated.
    pub(crate) work: u64,
    /// Virtual time until everything was over.
    pub(crate) finished: Time,
}

/// FNV-1a over everything written.
#[derive(Clone, Debug)]
struct Digest(Rc<RefCell<u64>>);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut hash = self.0.borrow_mut();
        for byte in bytes {
            *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The smallest number of user bytes that fill a packet in any scenario, with an MTU of 512.
const LEAST_PAYLOAD: usize = 512 - limits::HEADERS;

struct Run {
    sim: Simulation,
    hosts: [HostId; 2],
    ledger: Rc<RefCell<Ledger>>,
    health: Rc<RefCell<Health>>,
}

/// Runs a scenario.
pub(crate) fn run(scenario: &Scenario, options: &Options) -> Report {
    let mut run = Run::new(scenario, options);
    let digest = Digest(Rc::new(RefCell::new(0xcbf2_9ce4_8422_2325)));
    if options.digest {
        run.sim.capture(Capture::all(), digest.clone()).expect("memory does not fail");
    }
    let buffer = CaptureBuffer::new();
    if options.verbose {
        run.sim.capture(Capture::all(), buffer.clone()).expect("memory does not fail");
    }
    let reason = run.play(scenario);
    run.sim.finish_captures().expect("memory does not fail");
    run.judge(scenario, reason);
    let ledger = &mut *run.ledger.borrow_mut();
    let ends = ledger.ends.iter();
    let finished = ends.map(|e| e.closed.as_ref().map_or(Time::ZERO, |c| c.0)).max();
    Report {
        violations: std::mem::take(&mut ledger.violations),
        seen: std::mem::take(&mut ledger.seen),
        log: ledger.log.take().unwrap_or_default(),
        capture: buffer.contents(),
        digest: *digest.0.borrow(),
        packets: own_packets(&run.sim),
        work: run.sim.stats().work(),
        chunks: ledger.chunks(LEAST_PAYLOAD),
        finished: finished.unwrap_or(Time::ZERO),
    }
}

impl Run {
    fn new(scenario: &Scenario, options: &Options) -> Run {
        let ledger = Rc::new(RefCell::new(Ledger::default()));
        ledger.borrow_mut().log = options.verbose.then(Vec::new);
        ledger.borrow_mut().gaps = scenario.hosts.iter().any(|host| host.agrees);
        let mut sim = Simulation::new(scenario.seed);
        let hosts = [0, 1].map(|host| {
            let mut plan = scenario.hosts[host].clone();
            plan.config.trace = options.trace || options.verbose;
            let lie = options
                .lie
                .filter(|(liar, _)| liar.is_none_or(|liar| liar == host))
                .map(|(_, lie)| lie);
            let config = EndpointConfig {
                local_port: PORT,
                local_addresses: if plan.wildcard { Vec::new() } else { plan.addresses.clone() },
                accept: plan.accept,
                association: plan.config.clone(),
                ..EndpointConfig::default()
            };
            let actor = Actor::new(host, plan, scenario.curfew, Rc::clone(&ledger), lie);
            sim.add_host(["a", "b"][host], config, Box::new(actor))
        });
        for (host, plan) in hosts.into_iter().zip(&scenario.hosts) {
            sim.apply(Change::ClockJump(host, plan.epoch)).expect("no settings");
        }
        let stage = stage::build(&mut sim, hosts, scenario);
        let health = Rc::new(RefCell::new(Health::default()));
        let watched = scenario.steady.then(|| Rc::new(scenario.clone()));
        if watched.is_some() {
            health.borrow_mut().observe(&sim, hosts, scenario);
        }
        for (at, fault) in &scenario.faults {
            for change in stage.changes(fault) {
                sim.at(*at, change).expect("values are in range");
            }
            if let Some(scenario) = watched.clone() {
                let health = Rc::clone(&health);
                let look = move |sim: &mut Simulation| {
                    health.borrow_mut().observe(sim, hosts, &scenario);
                };
                sim.at(*at, Change::Call(Box::new(look))).expect("no settings");
            }
        }
        Run { sim, hosts, ledger, health }
    }

    /// Runs until nothing is left to happen, with looks at the state in between.
    fn play(&mut self, scenario: &Scenario) -> StopReason {
        let messages = scenario.hosts.iter().flat_map(|host| &host.traffic);
        let chunks = messages.map(|m| m.size.div_ceil(LEAST_PAYLOAD) as u64).sum();
        let limit = scenario.curfew + limits::patience(scenario);
        self.sim.set_event_limit(limits::most_work(scenario, chunks, limit.since(Time::ZERO)));
        let mut step = Duration::from_millis(50);
        loop {
            let next = (self.sim.now() + step).min(limit);
            let reason = self.sim.run(next);
            self.inspect();
            if reason != StopReason::Limit || next == limit {
                return reason;
            }
            step = step.mul_f64(1.1);
        }
    }

    /// What must hold at any moment.
    fn inspect(&self) {
        for host in self.hosts {
            let (actor, endpoint) = (self.sim.app::<Actor>(host), self.sim.endpoint(host));
            for id in endpoint.associations() {
                actor.check(endpoint, id);
            }
        }
    }

    fn judge(&self, scenario: &Scenario, reason: StopReason) {
        let ledger = &mut *self.ledger.borrow_mut();
        let crashed = self.crashed(scenario);
        let stats = self.sim.stats();
        if reason == StopReason::EventLimit {
            let text = format!("{stats:?} at {:?}", self.sim.now());
            ledger.violate(Kind::Spin, text);
            return;
        }
        for (index, host) in self.hosts.into_iter().enumerate() {
            if crashed[index] {
                continue;
            }
            let endpoint = self.sim.endpoint(host);
            let (left, timer) = (endpoint.associations().len(), endpoint.poll_timeout());
            let life = self.sim.app::<Actor>(host).life();
            judge_host(ledger, index, life, left, timer);
        }
        let most = limits::most_packets(
            scenario,
            ledger.chunks(LEAST_PAYLOAD),
            self.sim.now().since(Time::ZERO),
        );
        let packets = own_packets(&self.sim);
        if packets > most {
            let text = format!("{packets} packets instead of {most}");
            ledger.violate(Kind::Chatter, text);
        }
        let lives = self.hosts.map(|host| self.sim.app::<Actor>(host).life());
        let keeps = |host: usize| {
            let nr_sack = |host: usize| scenario.hosts[host].config.profile.sack.nr_sack;
            nr_sack(host) == NrSackMode::All && nr_sack(1 - host) != NrSackMode::Off
        };
        let unreadable = |host, life| life < lives[host] || (life == lives[host] && crashed[host]);
        ledger.settle(&unreadable, &keeps);
        ledger.settle_epochs();
        ledger.settle_addresses();
        judge_strangers(scenario, ledger);
        if scenario.mild {
            judge_mild(scenario, ledger);
        }
        if scenario.steady {
            health::judge(scenario, &self.health.borrow(), ledger);
        }
    }

    /// Whether each host is down at the end.
    fn crashed(&self, scenario: &Scenario) -> [bool; 2] {
        let mut crashed = [false; 2];
        for (_, fault) in &scenario.faults {
            match fault {
                Fault::Crash(host) => crashed[*host] = true,
                Fault::Restart(host) => crashed[*host] = false,
                _ => {}
            }
        }
        crashed
    }
}

/// Packets of the two hosts, each counted once, however many routers it passed.
fn own_packets(sim: &Simulation) -> u64 {
    sim.stats().packets_sent - sim.stats().packets_of_nodes
}

/// A host whose last association has ended keeps nothing.
pub(crate) fn judge_host(
    ledger: &mut Ledger,
    host: usize,
    life: u32,
    left: usize,
    timer: Option<Time>,
) {
    let here = ledger.ends.iter().filter(|e| e.host == host && e.life == life);
    let open: Vec<&str> = here.filter(|e| e.closed.is_none()).map(|e| e.name.as_str()).collect();
    if !open.is_empty() {
        let text = format!("{open:?}");
        ledger.violate(Kind::Unfinished, text);
    } else if left > 0 {
        ledger.violate(Kind::Leak, format!("host {host}: {left} associations"));
    } else if let Some(at) = timer {
        ledger.violate(Kind::TimerLeft, format!("host {host}: for {at:?}"));
    }
}

/// Who does not know the secrets of an end is not listened to.
pub(crate) fn judge_strangers(scenario: &Scenario, ledger: &mut Ledger) {
    let (_, delivered, _) = ledger.totals();
    if scenario.strangers && delivered > 0 {
        ledger.violate(Kind::Stranger, format!("{delivered} messages were taken"));
    }
}

/// Where nothing worse happens than some loss, everything that was accepted arrives, and every
/// association ends gracefully.
pub(crate) fn judge_mild(scenario: &Scenario, ledger: &mut Ledger) {
    let mut texts = Vec::new();
    for end in &ledger.ends {
        match &end.closed {
            Some((_, CloseReason::Shutdown)) => {}
            closed => texts.push(format!("{}: {closed:?}", end.name)),
        }
    }
    // The second one to connect may do so when the association that the first one opened is over.
    let connects = scenario.hosts.iter().filter(|host| host.connect_at.is_some()).count();
    if !ledger.ends.len().is_multiple_of(2) || ledger.ends.len() > 2 * connects {
        texts.push(format!("{} ends for {connects} connects", ledger.ends.len()));
    }
    let (accepted, delivered, failed) = ledger.totals();
    if delivered + failed < accepted {
        texts.push(format!("{accepted} accepted, {delivered} delivered, {failed} failed"));
    }
    let due = scenario.hosts.iter().filter_map(|host| host.traffic.last()).map(|m| m.at).max();
    let limit = scenario.curfew.max(due.unwrap_or(Time::ZERO)) + limits::mild_patience(scenario);
    let late = ledger.ends.iter().filter_map(|e| Some(e.closed.as_ref()?.0)).max();
    if late.is_some_and(|at| at > limit) {
        texts.push(format!("closed at {late:?} instead of {limit:?}"));
    }
    for text in texts {
        ledger.violate(Kind::NotGraceful, text);
    }
}
