//! All of a simulation but its hosts: clock, event queue, links and captures.

use std::net::IpAddr;
use std::time::Duration;

use tresse_core::{Ecn, Icmp, IcmpKind, Time};
use tresse_netem::{ConfigError, Delivery, EcnField, Link, LinkConfig, Nanos, Verdict, link_seed};

use crate::capture::Captures;
use crate::event_queue::{EventQueue, Happening};
use crate::ids::{HostId, LinkId};
use crate::ip_stack::{IpStack, NotSent};
use crate::packet::Packet;
use crate::route::Route;
use crate::rules::LinkRules;
use crate::stats::SimulationStats;

/// One direction between two hosts.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) to: HostId,
    pub(crate) link: Link<Packet>,
    pub(crate) routes: Vec<Route>,
    pub(crate) rules: LinkRules,
    /// The interface of `to` that it ends at, if that host has an [`IpStack`].
    pub(crate) arrives_at: Option<usize>,
    /// When the valid wake-up is due.
    scheduled: Option<Time>,
    generation: u32,
}

/// Why a packet was not put on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No link, or no source address.
    Unroutable,
    /// The host lacks the source.
    NoSuchSource,
    /// The interface takes no packets of more bytes.
    TooBig { mtu: usize },
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) seed: u64,
    pub(crate) queue: EventQueue,
    pub(crate) wires: Vec<Wire>,
    /// Links of each host, in the order in which they were added.
    pub(crate) outgoing: Vec<Vec<u32>>,
    /// Of hosts that have one.
    pub(crate) stacks: Vec<Option<IpStack>>,
    /// The link that each of their interfaces is plugged into, if it is.
    pub(crate) plugged: Vec<Vec<Option<u32>>>,
    /// ICMP messages on their way.
    pub(crate) reports: Vec<Option<(HostId, Icmp)>>,
    pub(crate) captures: Captures,
    pub(crate) stats: SimulationStats,
    pub(crate) event_limit: u64,
    pub(crate) stop: bool,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World {
            now: Time::ZERO,
            seed,
            queue: EventQueue::default(),
            wires: Vec::new(),
            outgoing: Vec::new(),
            stacks: Vec::new(),
            plugged: Vec::new(),
            reports: Vec::new(),
            captures: Captures::default(),
            stats: SimulationStats::default(),
            event_limit: u64::MAX,
            stop: false,
        }
    }

    pub(crate) fn add_host(&mut self) {
        self.outgoing.push(Vec::new());
        self.stacks.push(None);
        self.plugged.push(Vec::new());
    }

    pub(crate) fn add_wire(
        &mut self,
        name: String,
        (from, to): (HostId, HostId),
        route: Route,
        config: LinkConfig,
    ) -> Result<LinkId, ConfigError> {
        let index = self.wires.len();
        let link = Link::new(config, link_seed(self.seed, index))?;
        let id = LinkId(u32::try_from(index).expect("fewer than 2^32 links"));
        self.captures.add_link(&name);
        self.outgoing[from.index()].push(id.0);
        self.wires.push(Wire {
            name,
            to,
            link,
            routes: vec![route],
            rules: LinkRules::default(),
            arrives_at: None,
            scheduled: None,
            generation: 0,
        });
        Ok(id)
    }

    /// Whether the run has used up its events.
    pub(crate) fn exhausted(&self) -> bool {
        self.stats.work() >= self.event_limit
    }

    pub(crate) fn schedule(&mut self, at: Time, happening: Happening) {
        self.queue.push(at.max(self.now), happening);
    }

    /// Sends a packet whose source may be left open (`None`), in which case the host's stack or the
    /// route fills it in, or else the first of the host's `addresses` that has the right family.
    pub(crate) fn send_from(
        &mut self,
        host: HostId,
        addresses: &[IpAddr],
        source: Option<IpAddr>,
        packet: Packet,
    ) -> Result<(), Refused> {
        let way = self.way(host, addresses, source, packet.destination);
        let sent = way.and_then(|(index, source)| {
            let packet = Packet { source, ..packet };
            let mtu = self.interface_mtu(host, index).filter(|mtu| packet.ip_size() > *mtu);
            if let Some(mtu) = mtu.filter(|_| !packet.fragments.are_allowed()) {
                return Err(Refused::TooBig { mtu });
            }
            self.offer(index, packet);
            Ok(())
        });
        match sent {
            Err(Refused::Unroutable) => self.stats.unroutable += 1,
            Err(Refused::NoSuchSource) => self.stats.without_source += 1,
            Err(Refused::TooBig { .. }) => self.stats.too_big += 1,
            Ok(()) => {}
        }
        sent
    }

    /// The link that a packet takes, and its source.
    pub(crate) fn way(
        &self,
        host: HostId,
        addresses: &[IpAddr],
        source: Option<IpAddr>,
        destination: IpAddr,
    ) -> Result<(usize, IpAddr), Refused> {
        if let Some(stack) = &self.stacks[host.index()] {
            let departure = stack.depart(source, destination).map_err(|error| match error {
                NotSent::NoRoute => Refused::Unroutable,
                NotSent::NoSuchSource => Refused::NoSuchSource,
            })?;
            let plugged = self.plugged[host.index()].get(departure.interface).copied().flatten();
            let index = plugged.ok_or(Refused::Unroutable)?;
            return Ok((index as usize, departure.source));
        }
        let matching = self.outgoing[host.index()].iter().find_map(|index| {
            let routes = &self.wires[*index as usize].routes;
            Some((*index as usize, routes.iter().find(|r| r.matches(source, destination))?))
        });
        let (index, route) = matching.ok_or(Refused::Unroutable)?;
        let source = source
            .or(route.default_source)
            .or(route.source)
            .or_else(|| addresses.iter().copied().find(|a| a.is_ipv4() == destination.is_ipv4()))
            .filter(|source| source.is_ipv4() == destination.is_ipv4());
        Ok((index, source.ok_or(Refused::Unroutable)?))
    }

    /// Sends a packet of a node, which is complete.
    pub(crate) fn send(&mut self, host: HostId, packet: Packet) {
        // What a node cannot send is counted; nobody is told.
        let sent = self.send_from(host, &[], Some(packet.source), packet);
        self.stats.packets_of_nodes += u64::from(sent.is_ok());
    }

    /// The MTU of the interface that is plugged into a link.
    fn interface_mtu(&self, host: HostId, link: usize) -> Option<usize> {
        let stack = self.stacks[host.index()].as_ref()?;
        let place = self.plugged[host.index()].iter().position(|w| *w == Some(link as u32))?;
        Some(stack.interfaces[place].mtu)
    }

    fn offer(&mut self, index: usize, packet: Packet) {
        self.stats.packets_sent += 1;
        let rules = &self.wires[index].rules;
        if rules.block(&packet) {
            self.stats.blocked += 1;
            if let Some(kind) = rules.rejects {
                self.report(index, &packet, kind);
            }
            return;
        }
        if rules.too_big(&packet) {
            self.stats.too_big += 1;
            if let (true, Some(mtu)) = (rules.reports, rules.mtu) {
                self.report(index, &packet, IcmpKind::TooBig { mtu });
            }
            return;
        }
        let class = packet.class();
        let size = u32::try_from(packet.ip_size()).unwrap_or(u32::MAX);
        let now = nanos(self.now);
        let link = &mut self.wires[index].link;
        if self.captures.any_at_entry() {
            let verdict = link.offer(now, size, class, packet.clone());
            let dropped = match verdict {
                Verdict::Accepted => None,
                Verdict::Dropped(cause) => Some(cause),
            };
            let number = link.stats().offered;
            self.captures.entered(self.now, LinkId(index as u32), (number, &packet), dropped);
        } else {
            link.offer(now, size, class, packet);
        }
        self.schedule_wire(index);
    }

    /// ICMP for whoever has the packet's source address: where nobody has interfaces with addresses, the host that the
    /// link begins at.
    fn report(&mut self, index: usize, packet: &Packet, kind: IcmpKind) {
        let has = |stack: &Option<IpStack>| {
            stack.as_ref().is_some_and(|stack| stack.interface_of(packet.source).is_some())
        };
        let from = || self.outgoing.iter().position(|links| links.contains(&(index as u32)));
        let plain = || from().filter(|host| self.stacks[*host].is_none());
        let Some(host) = self.stacks.iter().position(has).or_else(plain) else { return };
        let delay = self.wires[index].link.config().delay_ms / 1000.0;
        let at = self.now + Duration::from_secs_f64(delay);
        let quoted = Some(packet.payload.clone());
        let icmp = Icmp { destination: packet.destination, kind, quoted };
        let number = u32::try_from(self.reports.len()).expect("fewer than 2^32 messages");
        self.reports.push(Some((HostId(host as u32), icmp)));
        self.schedule(at, Happening::Report { index: number });
    }

    /// Whether a packet that comes out of a link is for the host there.
    fn accepts(&self, index: usize, packet: &Packet) -> bool {
        let Wire { to, arrives_at, .. } = &self.wires[index];
        let stack = self.stacks[to.index()].as_ref().zip(*arrives_at);
        stack.is_none_or(|(stack, interface)| stack.accepts(interface, packet.destination))
    }

    /// Whether the wake-up with this generation is the valid one.
    pub(crate) fn wire_awaits(&self, index: usize, generation: u32) -> bool {
        self.wires[index].generation == generation
    }

    /// Uses the valid wake-up up.
    pub(crate) fn wire_wakes(&mut self, index: usize) {
        self.wires[index].scheduled = None;
    }

    /// Makes sure that the link is woken in time for its next packet.
    pub(crate) fn schedule_wire(&mut self, index: usize) {
        let wire = &mut self.wires[index];
        let Some(at) = wire.link.next_wakeup() else { return };
        let at = time(at).max(self.now);
        if wire.scheduled.is_none_or(|scheduled| at < scheduled) {
            wire.scheduled = Some(at);
            wire.generation = wire.generation.wrapping_add(1);
            let happening = Happening::Link { link: index as u32, generation: wire.generation };
            self.queue.push(at, happening);
        }
    }

    /// The next packet that has arrived on a link for the host at its end, and which host that is.
    pub(crate) fn arrival(&mut self, index: usize) -> Option<(HostId, Packet)> {
        loop {
            let (to, packet) = self.next_arrival(index)?;
            if self.accepts(index, &packet) {
                self.stats.packets_delivered += 1;
                return Some((to, packet));
            }
            self.stats.not_accepted += 1;
        }
    }

    fn next_arrival(&mut self, index: usize) -> Option<(HostId, Packet)> {
        let wire = &mut self.wires[index];
        let Delivery { mut packet, number, corruption, ecn, .. } =
            wire.link.poll(nanos(self.now))?;
        if let Some(corruption) = corruption {
            let mut bytes = packet.payload.to_vec();
            corruption.apply(&mut bytes);
            packet.payload = bytes.into();
        }
        packet.ecn = match (ecn, packet.ecn) {
            (EcnField::Clear, _) => Ecn::NotEct,
            (EcnField::Mark, Ecn::Ect0 | Ecn::Ect1) => Ecn::Ce,
            (_, ecn) => ecn,
        };
        let to = wire.to;
        self.captures.left(self.now, LinkId(index as u32), (number, &packet));
        Some((to, packet))
    }
}

pub(crate) const fn nanos(time: Time) -> Nanos {
    Nanos::new(time.as_nanos())
}

const fn time(nanos: Nanos) -> Time {
    Time::from_nanos(nanos.get())
}
