//! Scenarios: two hosts, the network between them, what they do and what goes wrong.

mod addresses;
mod authentication;
mod drop_reports;
mod ecn;
mod extensions;
mod faults;
mod interleaving;
mod keys;
mod large;
mod moving;
mod nasty;
mod network;
mod partial;
mod parts;
mod profiles;
mod restless;
mod traffic;
mod world;
mod zero_checksum;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tresse_core::{AddressChange, AssociationConfig, Extensions, ResetDirection, Time};
use tresse_sim::{IpNet, IpStack, LinkConfig, LinkRules};

use tresse_sim::Draw;

pub(crate) use authentication::secret;
pub(crate) use extensions::{EXTENDED, MIXED};
pub(crate) use keys::KEYED;
pub(crate) use large::LARGE;
pub(crate) use moving::MOVING;
pub(crate) use nasty::NASTY;
pub(crate) use partial::OFTEN;
pub(crate) use restless::RESTLESS;
pub(crate) use traffic::{PlannedMessage, Reading};
pub(crate) use world::global;

/// SCTP port of both hosts.
pub(crate) const PORT: u16 = 5000;

/// All that happens in one test, drawn from one seed.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// Nothing worse than some loss and reordering happens: everything must be delivered and
    /// every association must end gracefully.
    pub(crate) mild: bool,
    /// Addresses, links and NATs fail, but programs and settings are sound: as long as one pair of
    /// addresses works, nothing may be lost (`health.rs`).
    pub(crate) steady: bool,
    /// The ends know different secrets: nothing that one sends may be taken by the other.
    pub(crate) strangers: bool,
    pub(crate) nat: Option<NatPlan>,
    pub(crate) hosts: [HostPlan; 2],
    pub(crate) links: Vec<LinkPlan>,
    /// In the order of time.
    pub(crate) faults: Vec<(Time, Fault)>,
    /// From then on both hosts shut down whatever association they have.
    pub(crate) curfew: Time,
    /// What is in it, to see that the generator covers everything.
    pub(crate) features: BTreeSet<&'static str>,
}

/// What one host is and does.
#[derive(Clone, Debug)]
pub(crate) struct HostPlan {
    /// The addresses that it is bound to; those that it has at the beginning if it is bound to a
    /// wildcard.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) wildcard: bool,
    /// Its interfaces, if it has any; otherwise links know which source they take.
    pub(crate) stack: Option<IpStack>,
    pub(crate) accept: bool,
    pub(crate) profile: String,
    pub(crate) overrides: String,
    pub(crate) config: AssociationConfig,
    /// When it connects (simulation time), if it does.
    pub(crate) connect_at: Option<Time>,
    /// The peer's addresses that it knows when it connects.
    pub(crate) remotes: Vec<IpAddr>,
    /// How often it connects again after an association failed.
    pub(crate) reconnects: u32,
    /// It sends before the association is up.
    pub(crate) early: bool,
    pub(crate) traffic: Vec<PlannedMessage>,
    pub(crate) reading: Reading,
    pub(crate) ending: Ending,
    /// Calls that change little: set primary path, request heartbeat.
    pub(crate) calls: Vec<(Time, Call)>,
    /// Both hosts offer partial reliability.
    pub(crate) agrees: bool,
    /// What its secrets differ by from those of others.
    pub(crate) salt: u8,
    /// Where the host's clock stands at the beginning, in nanoseconds.
    pub(crate) epoch: i64,
}

/// How a host ends its association before the curfew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Not at all.
    Never,
    /// Shuts down this many milliseconds after everything was accepted for sending.
    WhenDone(u64),
    /// Shuts down right after `connect` (a host that accepts: when it is up).
    AtOnce,
    /// Shuts down at that moment, whatever is going on.
    At(Time),
    /// Aborts at that moment.
    AbortAt(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    SetPrimary(u8),
    RequestHeartbeat(u8),
    /// A bit for each of the first streams; none for all.
    ResetStreams(ResetDirection, u16),
    ResetAssociation,
    /// This many outgoing ones, and incoming ones.
    AddStreams(u16, u16),
    /// To what it is already.
    SetKey(u16),
    /// To another secret, which differs by this.
    NewSecret(u16, u8),
    ActivateKey(u16),
    DeactivateKey(u16),
    DeleteKey(u16),
    /// Of an address of its own.
    ChangeAddress(AddressChange, IpAddr),
}

impl Call {
    const fn is_about_keys(self) -> bool {
        matches!(
            self,
            Call::SetKey(_)
                | Call::NewSecret(..)
                | Call::ActivateKey(_)
                | Call::DeactivateKey(_)
                | Call::DeleteKey(_)
        )
    }
}

/// One direction of a link that carries what host `from` sends.
#[derive(Clone, Debug)]
pub(crate) struct LinkPlan {
    pub(crate) from: usize,
    pub(crate) place: Place,
    pub(crate) config: LinkConfig,
}

/// Where a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Between hosts without interfaces: what goes to one address of the other.
    Path { to_address: IpAddr, default_source: IpAddr },
    /// From the interface of one host to that of the other with the same number.
    Cable { interface: usize },
    /// From an interface to the router that all others are plugged into.
    Out { host: usize, interface: usize },
    /// From the router to an interface.
    In { host: usize, interface: usize },
}

/// A NAT before host 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NatPlan {
    pub(crate) timeout: Duration,
}

/// What host 1 sees of host 0 behind a NAT.
pub(crate) const NAT_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));

/// What goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// These links go down, losing what is on them.
    Down(Vec<usize>),
    /// These links come up.
    Up(Vec<usize>),
    /// A link changes.
    Relink(usize, Box<LinkConfig>),
    /// A link gets a firewall or an MTU.
    Rules(usize, LinkRules),
    /// An interface of a host goes down or comes up.
    Interface(usize, usize, bool),
    /// An interface of a host gets an address.
    AddAddress(usize, usize, IpNet),
    /// A host loses an address.
    RemoveAddress(usize, IpAddr),
    /// A third host gets an address that one of the two had.
    Inherit(IpAddr),
    /// The NAT forgets its mappings.
    Rebind,
    /// The clock of a host jumps by this many nanoseconds.
    Jump(usize, i64),
    /// A host stops.
    Crash(usize),
    /// A host starts again.
    Restart(usize),
}

impl Scenario {
    /// Programs and settings are sound.
    pub(crate) const fn calm(&self) -> bool {
        self.mild || self.steady
    }

    pub(crate) fn draw(seed: u64) -> Scenario {
        if seed >= LARGE {
            return large::large(seed);
        }
        if seed >= RESTLESS {
            return restless::restless(seed);
        }
        if seed >= MOVING {
            return moving::moving(seed);
        }
        if seed >= KEYED {
            return keys::keyed(seed);
        }
        if seed >= NASTY {
            return nasty::nasty(seed).extend();
        }
        if seed >= MIXED {
            return extensions::mixed(seed).extend();
        }
        let Some(base) = seed.checked_sub(EXTENDED) else { return Scenario::draw_plain(seed) };
        let mut scenario = Scenario { seed, ..Scenario::draw_plain(base) };
        extensions::draw(&mut Draw::new(seed ^ 0xe7e5_10f5_0000_0001), &mut scenario, 0.9);
        scenario
    }

    /// With the extensions that came later, each drawn apart.
    fn extend(self) -> Scenario {
        let scenario = self.authenticate().interleave().zero_checksum().ecn();
        scenario.change_addresses().parts().drop_reports()
    }

    /// One without extensions.
    fn draw_plain(seed: u64) -> Scenario {
        let mut draw = Draw::new(seed ^ 0x5eed_0f7e_55e5_ce1e);
        let worldly = draw.chance(0.6);
        let calm = draw.chance(if worldly { 0.6 } else { 0.4 });
        let (mild, steady) = (calm && !worldly, calm && worldly);
        let mut features = BTreeSet::new();
        features.insert(match (mild, steady) {
            (true, _) => "mild",
            (_, true) => "steady",
            _ => "harsh",
        });
        let mut network = if worldly {
            world::draw(&mut draw, calm, &mut features)
        } else {
            network::draw(&mut draw, calm, &mut features)
        };
        let mut stacks = network.stacks.take().map_or([None, None], |stacks| stacks.map(Some));
        let mut host = 0;
        let mut hosts = network.addresses.map(|addresses| HostPlan {
            wildcard: false,
            stack: {
                host += 1;
                stacks[host - 1].take()
            },
            accept: true,
            profile: String::new(),
            overrides: String::new(),
            config: AssociationConfig {
                extensions: Extensions::NONE,
                ..AssociationConfig::default()
            },
            connect_at: None,
            remotes: Vec::new(),
            reconnects: 0,
            early: false,
            traffic: Vec::new(),
            reading: Reading::Eager,
            ending: Ending::Never,
            calls: Vec::new(),
            agrees: false,
            salt: 0,
            epoch: 0,
            addresses,
        });
        for host in 0..2 {
            let shared = (host == 1 && draw.chance(0.4)).then(|| hosts[0].clone());
            profiles::draw(&mut draw, calm, shared.as_ref(), &mut hosts[host], &mut features);
            if steady {
                profiles::be_patient(&mut hosts[host], &mut features);
                profiles::look_for_sources(&mut hosts[host]);
            }
            if mild {
                profiles::back_off(&mut hosts[host]);
            }
            settings(&mut draw, calm, &mut hosts[host], &mut features);
        }
        if worldly {
            let nat = network.nat.is_some();
            world::bind(&mut draw, calm, &mut hosts, nat, &mut features);
        }
        // Both sides speak in UDP or neither does.
        let in_udp = if network.nat.is_some() { 0.8 } else { 0.2 };
        let encapsulation = draw.chance(in_udp).then_some(tresse_sim::ENCAPSULATION_PORT);
        for host in &mut hosts {
            host.config.encapsulation = encapsulation;
        }
        if encapsulation.is_some() {
            features.insert("udp encapsulation");
        }
        traffic::draw(&mut draw, mild, calm, network.slowest_kbps, &mut hosts, &mut features);
        let mut scenario = Scenario {
            seed,
            mild,
            steady,
            strangers: false,
            nat: network.nat,
            hosts,
            links: network.links,
            faults: Vec::new(),
            curfew: Time::ZERO,
            features,
        };
        scenario.setup(&mut draw, network.round_trip_ms);
        scenario.endings(&mut draw);
        faults::draw(&mut draw, &mut scenario);
        scenario
    }

    /// Who connects, and when.
    fn setup(&mut self, draw: &mut Draw, round_trip_ms: f64) {
        for host in 0..2 {
            if self.hosts[host].stack.is_none() {
                let known = draw.between(1, self.hosts[1 - host].addresses.len() as u64) as usize;
                self.hosts[host].remotes = self.hosts[1 - host].addresses[..known].to_vec();
            }
            self.hosts[host].early = draw.chance(0.15);
            if self.hosts[host].early {
                self.features.insert("sends before it is up");
            }
            if !self.calm() && draw.chance(0.1) {
                self.hosts[host].reconnects = draw.between(1, 2) as u32;
                self.features.insert("reconnects");
            }
        }
        let first = Time::from_micros(draw.between(0, 100_000));
        self.hosts[0].connect_at = Some(first);
        match draw.between(0, 19) {
            // Nobody outside calls somebody behind a NAT, unless all goes wrong anyway.
            0..=4 if self.nat.is_none() || !self.calm() => {
                // Setup crossing: from the same instant to more than a round trip later.
                let apart = draw.unit() * 1.5 * round_trip_ms * 1e6;
                let apart = if draw.chance(0.3) { 0 } else { apart as u64 };
                self.hosts[1].connect_at = Some(Time::from_nanos(first.as_nanos() + apart));
                if !self.calm() && draw.chance(0.3) {
                    self.hosts[0].accept = draw.chance(0.5);
                    self.hosts[1].accept = draw.chance(0.5);
                }
                self.features.insert("both connect");
            }
            5 | 6 => {
                self.hosts[0].connect_at = Some(Time::from_millis(draw.between(100, 5000)));
                self.features.insert("connects late");
            }
            7 if !self.calm() => {
                self.hosts[1].accept = false;
                self.features.insert("not accepted");
            }
            _ => {}
        }
    }

    fn endings(&mut self, draw: &mut Draw) {
        let moment = |draw: &mut Draw| Time::from_micros(draw.log_whole(1_000, 8_000_000));
        for host in 0..2 {
            let ending = match draw.between(0, 19) {
                0..=8 => Ending::WhenDone(if draw.chance(0.5) { 0 } else { draw.between(1, 2000) }),
                9 | 10 => Ending::At(moment(draw)),
                11 => Ending::AtOnce,
                12 if !self.calm() => Ending::AbortAt(moment(draw)),
                _ => Ending::Never,
            };
            self.hosts[host].ending = ending;
        }
        if draw.chance(0.1) {
            // Both at the same instant.
            let at = Ending::At(moment(draw));
            self.hosts[0].ending = at;
            self.hosts[1].ending = at;
            self.features.insert("both shut down at once");
        }
        for host in &mut self.hosts {
            self.features.insert(match host.ending {
                Ending::Never => "shut down at curfew",
                Ending::WhenDone(_) => "shut down when done",
                Ending::AtOnce => "shut down during setup",
                Ending::At(_) => "shut down at some moment",
                Ending::AbortAt(_) => "abort",
            });
            if draw.chance(0.1) {
                let calls = draw.between(1, 4);
                host.calls = (0..calls)
                    .map(|_| {
                        let path = draw.between(0, 3) as u8;
                        let at = moment(draw);
                        let heartbeat = draw.chance(0.5);
                        let call = if heartbeat {
                            Call::RequestHeartbeat(path)
                        } else {
                            Call::SetPrimary(path)
                        };
                        (at, call)
                    })
                    .collect();
                self.features.insert("calls in between");
            }
        }
    }
}

/// Sizes and switches of a host.
fn settings(
    draw: &mut Draw,
    mild: bool,
    host: &mut HostPlan,
    features: &mut BTreeSet<&'static str>,
) {
    let config = &mut host.config;
    let mut note = |condition: bool, name| {
        if condition {
            features.insert(name);
        }
    };
    config.outbound_streams = draw.log_whole(1, 50) as u16;
    if draw.chance(0.02) {
        config.outbound_streams = u16::MAX;
        note(true, "all streams");
    }
    if !mild && draw.chance(0.1) {
        config.inbound_streams = draw.log_whole(1, 50) as u16;
        note(true, "few inbound streams");
    }
    config.send_buffer = draw.log_whole(500, 1 << 22) as usize;
    note(config.send_buffer < 4_000, "small send buffer");
    config.receive_buffer = match draw.between(0, 9) {
        0..=3 => draw.log_whole(4096, 20_000),
        4 => draw.log_whole(20_000, 1 << 26),
        _ => 1 << 20,
    } as u32;
    note(config.receive_buffer < 20_000, "small receive buffer");
    config.mtu = draw.pick(&[512, 576, 1280, 1500, 1500, 1500, 9000]);
    if !mild && draw.chance(0.03) {
        config.max_message_size = draw.log_whole(1_000, 50_000) as usize;
        note(true, "small max_message_size");
    }
    config.concurrent_transfer = draw.chance(0.5);
    note(config.concurrent_transfer && host.addresses.len() > 1, "concurrent transfer");
    config.no_delay = draw.chance(0.5);
    config.fragmentation = mild || draw.chance(0.9);
    config.bundling = draw.chance(0.8);
    note(config.no_delay, "no delay");
    note(!config.no_delay, "nagle");
    note(!config.fragmentation, "no fragmentation");
    note(!config.bundling, "no bundling");
    host.epoch = match draw.between(0, 3) {
        0 => 0,
        1 => draw.between(0, 1 << 20) as i64,
        2 => draw.between(0, 1 << 50) as i64,
        _ => (1 << 62) - draw.between(0, 1 << 40) as i64,
    };
}
