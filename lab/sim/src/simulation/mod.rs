//! The simulation: hosts, links and the loop that runs them.

mod network;
mod run;

use std::io::{self, Write};
use std::net::IpAddr;

use ipnet::IpNet;
use tresse_core::{Endpoint, EndpointConfig, Time};
use tresse_netem::{ConfigError, LinkConfig, LinkStats};

use crate::application::{Application, Context};
use crate::capture::Capture;
use crate::event_queue::Happening;
use crate::host::{Host, Kind};
use crate::ids::{HostId, LinkId};
use crate::node::Node;
use crate::processor::{Processor, ProcessorConfig, ProcessorStats};
use crate::route::Route;
use crate::rules::LinkRules;
use crate::stats::SimulationStats;
use crate::world::{World, nanos};

pub use network::Passage;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// Nothing is left to happen.
    Idle,
    /// The time limit was reached.
    Limit,
    /// An application or node called `stop`.
    Stopped,
    /// This many events and packets have been simulated as [`Simulation::set_event_limit`] allows.
    EventLimit,
}

/// Something that happens to the network or a host, see [`Simulation::at`].
#[non_exhaustive]
pub enum Change {
    /// The link comes up.
    LinkUp(LinkId),
    /// The link goes down and loses what is on it.
    LinkDown(LinkId),
    /// The link gets these settings.
    Link(LinkId, Box<LinkConfig>),
    /// The link gets these rules.
    Rules(LinkId, LinkRules),
    /// An interface (by its number) of a host with an [`IpStack`](crate::IpStack) comes up or goes
    /// down, with all its addresses.
    Interface(HostId, usize, bool),
    /// An interface of such a host gets another address.
    AddAddress(HostId, usize, IpNet),
    /// Such a host loses an address.
    RemoveAddress(HostId, IpAddr),
    /// The host's clock jumps by this many nanoseconds, forwards or (negative) backwards. Its
    /// endpoint sees the new time; the application's timers and the network do not.
    ClockJump(HostId, i64),
    /// The host stops: it sends nothing more and loses what arrives.
    Crash(HostId),
    /// The host starts with a new endpoint (after a crash or not), and the application's
    /// `on_start` is called again. The application keeps its fields.
    Restart(HostId),
    /// Anything else, such as reading statistics or [`Simulation::with_app`].
    Call(Box<dyn FnOnce(&mut Simulation)>),
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::LinkUp(id) => f.debug_tuple("LinkUp").field(id).finish(),
            Change::LinkDown(id) => f.debug_tuple("LinkDown").field(id).finish(),
            Change::Link(id, config) => f.debug_tuple("Link").field(id).field(config).finish(),
            Change::Rules(id, rules) => f.debug_tuple("Rules").field(id).field(rules).finish(),
            Change::Interface(id, number, up) => {
                f.debug_tuple("Interface").field(id).field(number).field(up).finish()
            }
            Change::AddAddress(id, number, address) => {
                f.debug_tuple("AddAddress").field(id).field(number).field(address).finish()
            }
            Change::RemoveAddress(id, address) => {
                f.debug_tuple("RemoveAddress").field(id).field(address).finish()
            }
            Change::ClockJump(id, by) => f.debug_tuple("ClockJump").field(id).field(by).finish(),
            Change::Crash(id) => f.debug_tuple("Crash").field(id).finish(),
            Change::Restart(id) => f.debug_tuple("Restart").field(id).finish(),
            Change::Call(_) => f.write_str("Call(..)"),
        }
    }
}

/// A network of simulated hosts. See the crate documentation for an example.
pub struct Simulation {
    hosts: Vec<Host>,
    world: World,
    changes: Vec<Option<Change>>,
}

impl Simulation {
    /// An empty network whose every random decision follows from `seed`. Time starts at zero.
    pub fn new(seed: u64) -> Simulation {
        Simulation { hosts: Vec::new(), world: World::new(seed), changes: Vec::new() }
    }

    /// Adds a host that runs `app` on an endpoint. It starts when the simulation next runs. Its
    /// addresses are `config.local_addresses`.
    ///
    /// # Panics
    /// With 2^32 hosts, as all methods that add something do at that number.
    pub fn add_host(
        &mut self,
        name: &str,
        config: EndpointConfig,
        app: Box<dyn Application>,
    ) -> HostId {
        let id = self.next_host();
        self.push_host(Host::with_endpoint(id, name, config, app, self.world.seed))
    }

    /// Adds a host without an endpoint, which handles packets itself.
    pub fn add_node(&mut self, name: &str, node: Box<dyn Node>) -> HostId {
        let id = self.next_host();
        self.push_host(Host::with_node(id, name, node, self.world.seed))
    }

    fn next_host(&self) -> HostId {
        HostId(u32::try_from(self.hosts.len()).expect("fewer than 2^32 hosts"))
    }

    fn push_host(&mut self, host: Host) -> HostId {
        let (id, life) = (host.id, host.life());
        self.hosts.push(host);
        self.world.add_host();
        self.world.schedule(self.world.now, Happening::Start { host: id.0, life });
        id
    }

    /// Adds one direction of a link, for the packets of `from` that match `route`. IP and UDP
    /// headers count towards the size of a packet.
    ///
    /// # Errors
    /// The first fault of `config`.
    ///
    /// # Panics
    /// When a host is not of this simulation.
    pub fn add_link(
        &mut self,
        from: HostId,
        to: HostId,
        route: Route,
        config: LinkConfig,
    ) -> Result<LinkId, ConfigError> {
        let ends = format!("{}->{}", self.hosts[from.index()].name, self.hosts[to.index()].name);
        let same = self.world.wires.iter().filter(|w| w.name.starts_with(&ends)).count();
        let name = if same == 0 { ends } else { format!("{ends}#{}", same + 1) };
        self.world.add_wire(name, (from, to), route, config)
    }

    /// Adds both directions between the address `a_address` of `a` and `b_address` of `b`, with
    /// the same settings: first `a` to `b`, then `b` to `a`. The packets to that address take the
    /// link, with that source address where the endpoint leaves it open.
    ///
    /// # Errors
    /// The first fault of `config`.
    pub fn duplex(
        &mut self,
        a: HostId,
        b: HostId,
        a_address: IpAddr,
        b_address: IpAddr,
        config: LinkConfig,
    ) -> Result<(LinkId, LinkId), ConfigError> {
        let there = Route::to(b_address).default_source(a_address);
        let back = Route::to(a_address).default_source(b_address);
        let there = self.add_link(a, b, there, config.clone())?;
        Ok((there, self.add_link(b, a, back, config)?))
    }

    /// Schedules a change for simulation time `t`, or for the next run if that is past.
    ///
    /// # Errors
    /// The first fault of the settings in [`Change::Link`].
    pub fn at(&mut self, t: Time, change: Change) -> Result<(), ConfigError> {
        if let Change::Link(_, config) = &change {
            config.validate()?;
        }
        let index = u32::try_from(self.changes.len()).expect("fewer than 2^32 changes");
        self.changes.push(Some(change));
        self.world.schedule(t, Happening::Change { index });
        Ok(())
    }

    /// Makes a change now.
    ///
    /// # Errors
    /// The first fault of the settings in [`Change::Link`].
    pub fn apply(&mut self, change: Change) -> Result<(), ConfigError> {
        let now = nanos(self.world.now);
        match change {
            Change::LinkUp(id) => self.world.wires[id.index()].link.set_up(now, true),
            Change::LinkDown(id) => self.world.wires[id.index()].link.set_up(now, false),
            Change::Link(id, config) => {
                self.world.wires[id.index()].link.reconfigure(now, *config)?;
                self.world.schedule_wire(id.index());
            }
            Change::Rules(id, rules) => self.world.wires[id.index()].rules = rules,
            Change::Interface(..) | Change::AddAddress(..) | Change::RemoveAddress(..) => {
                self.apply_to_stack(&change);
            }
            Change::ClockJump(id, by) => self.hosts[id.index()].jump_clock(&mut self.world, by),
            Change::Crash(id) => self.hosts[id.index()].crash(),
            Change::Restart(id) => self.hosts[id.index()].restart(&mut self.world),
            Change::Call(call) => call(self),
        }
        Ok(())
    }

    /// Writes packets to `sink` in pcapng format, from now on. The packets have IP headers and, if
    /// encapsulated, UDP headers; each link is an interface; timestamps are simulation time as
    /// nanoseconds since 1970. At the link entry, packets that the entry drops say so in a
    /// comment; a packet has the same `epb_packetid` at both ends of a link. Any number of captures may
    /// run. Each packet is one write: wrap files in a
    /// [`BufWriter`](io::BufWriter).
    ///
    /// # Errors
    /// Those of `sink`. Later ones end the capture and are returned by
    /// [`Self::finish_captures`].
    pub fn capture(
        &mut self,
        capture: impl Into<Capture>,
        sink: impl Write + 'static,
    ) -> io::Result<()> {
        let names: Vec<&str> = self.world.wires.iter().map(|w| w.name.as_str()).collect();
        self.world.captures.begin(&capture.into(), Box::new(sink), &names)
    }

    /// What an analyser on a host sees of the links that it has now: what it sends as it leaves,
    /// including what is lost later, and what reaches it as it arrives.
    ///
    /// # Panics
    /// When the host is not of this simulation.
    pub fn view_of(&self, host: HostId) -> Capture {
        let sent = self.world.outgoing[host.index()].iter().map(|index| LinkId(*index)).collect();
        let arriving = self.world.wires.iter().enumerate().filter(|(_, wire)| wire.to == host);
        Capture::host(sent, arriving.map(|(index, _)| LinkId(index as u32)).collect())
    }

    /// Ends all captures, flushing and dropping their sinks.
    ///
    /// # Errors
    /// The first error that a sink has returned.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.world.captures.finish()
    }

    /// Ends runs after this many events and packets in total, see [`SimulationStats::work`]. Default:
    /// unlimited.
    pub fn set_event_limit(&mut self, limit: u64) {
        self.world.event_limit = limit;
    }

    /// Simulation time.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// Counters of the whole simulation.
    pub fn stats(&self) -> SimulationStats {
        self.world.stats
    }

    /// The application or node of a host.
    ///
    /// # Panics
    /// When it is not a `T`.
    pub fn app<T: 'static>(&self, host: HostId) -> &T {
        let host = &self.hosts[host.index()];
        host.program().downcast_ref().unwrap_or_else(|| wrong_type::<T>(&host.name))
    }

    /// The application or node of a host. To let it act on the endpoint use
    /// [`Self::with_app`].
    ///
    /// # Panics
    /// When it is not a `T`.
    pub fn app_mut<T: 'static>(&mut self, host: HostId) -> &mut T {
        let host = &mut self.hosts[host.index()];
        let name = host.name.clone();
        host.program_mut().downcast_mut().unwrap_or_else(|| wrong_type::<T>(&name))
    }

    /// Lets an application act now, as if an event had occurred; what the endpoint then has to
    /// send is sent.
    ///
    /// # Panics
    /// When the application is not a `T`.
    pub fn with_app<T: Application, R>(
        &mut self,
        host: HostId,
        action: impl FnOnce(&mut T, &mut Context<'_>) -> R,
    ) -> R {
        let host = &mut self.hosts[host.index()];
        let name = host.name.clone();
        host.act(&mut self.world, |app, cx| {
            let app: &mut dyn std::any::Any = app;
            action(app.downcast_mut().unwrap_or_else(|| wrong_type::<T>(&name)), cx)
        })
    }

    /// The endpoint of a host; after a crash, as it was then.
    ///
    /// # Panics
    /// When the host is a node and has none.
    pub fn endpoint(&self, host: HostId) -> &Endpoint {
        match &self.hosts[host.index()].kind {
            Kind::Endpoint(host) => &host.endpoint,
            Kind::Node(_) => panic!("{} has no endpoint", self.host_name(host)),
        }
    }

    /// Has a host take time for packets, from the beginning. Default: it takes none.
    ///
    /// # Panics
    /// When the host is a node and has no endpoint.
    pub fn set_processor(&mut self, host: HostId, config: ProcessorConfig) {
        let index = host.index();
        let Kind::Endpoint(host) = &mut self.hosts[index].kind else {
            panic!("{} has no endpoint", self.hosts[index].name)
        };
        host.processor = Some(Box::new(Processor::new(config)));
    }

    /// What the processor of a host did so far, if it has one.
    pub fn processor_stats(&self, host: HostId) -> Option<&ProcessorStats> {
        match &self.hosts[host.index()].kind {
            Kind::Endpoint(host) => host.processor.as_deref().map(Processor::stats),
            Kind::Node(_) => None,
        }
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.index()].name
    }

    /// The name of a link: `from->to`, with `#2`, `#3`, ... for further ones between these hosts.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.world.wires[link.index()].name
    }

    /// The settings of a link.
    pub fn link_config(&self, link: LinkId) -> &LinkConfig {
        self.world.wires[link.index()].link.config()
    }

    /// Counters of a link, with the queue integrals up to its last activity.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        self.world.wires[link.index()].link.stats()
    }
}

fn wrong_type<T>(host: &str) -> ! {
    panic!("{host} does not run a {}", std::any::type_name::<T>())
}
