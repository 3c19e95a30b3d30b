//! All of a simulation but its hosts: clock, event queue, links and captures.

use std::net::IpAddr;

use tresse_core::Time;
use tresse_netem::{ConfigError, Delivery, Link, LinkConfig, Nanos, Verdict, link_seed};

use crate::capture::Captures;
use crate::event_queue::{EventQueue, Happening};
use crate::packet::Packet;
use crate::route::Route;
use crate::simulation::{HostId, LinkId, SimulationStats};

/// One direction between two hosts.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) to: HostId,
    pub(crate) link: Link<Packet>,
    route: Route,
    /// When the valid wake-up is due.
    scheduled: Option<Time>,
    generation: u32,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) seed: u64,
    pub(crate) queue: EventQueue,
    pub(crate) wires: Vec<Wire>,
    /// Links of each host, in the order in which they were added.
    pub(crate) outgoing: Vec<Vec<u32>>,
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
            captures: Captures::default(),
            stats: SimulationStats::default(),
            event_limit: u64::MAX,
            stop: false,
        }
    }

    pub(crate) fn add_host(&mut self) {
        self.outgoing.push(Vec::new());
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
        self.wires.push(Wire { name, to, link, route, scheduled: None, generation: 0 });
        Ok(id)
    }

    /// Whether the run has used up its events.
    pub(crate) fn exhausted(&self) -> bool {
        self.stats.events.saturating_add(self.stats.packets_sent) >= self.event_limit
    }

    pub(crate) fn schedule(&mut self, at: Time, happening: Happening) {
        self.queue.push(at.max(self.now), happening);
    }

    /// Sends a packet whose source may be left open (`None`), in which case the route fills it
    /// in, or else the first of the host's `addresses` that has the right family.
    pub(crate) fn send_from(
        &mut self,
        host: HostId,
        addresses: &[IpAddr],
        source: Option<IpAddr>,
        packet: Packet,
    ) {
        let destination = packet.destination;
        let Some(index) = self.route(host, source, destination) else {
            self.stats.unroutable += 1;
            return;
        };
        let route = &self.wires[index].route;
        let source = source
            .or(route.default_source)
            .or(route.source)
            .or_else(|| addresses.iter().copied().find(|a| a.is_ipv4() == destination.is_ipv4()));
        match source {
            Some(source) if source.is_ipv4() == destination.is_ipv4() => {
                self.offer(index, Packet { source, ..packet });
            }
            _ => self.stats.unroutable += 1,
        }
    }

    /// Sends a packet that is complete.
    pub(crate) fn send(&mut self, host: HostId, packet: Packet) {
        self.send_from(host, &[], Some(packet.source), packet);
    }

    fn route(&self, host: HostId, source: Option<IpAddr>, destination: IpAddr) -> Option<usize> {
        self.outgoing[host.index()]
            .iter()
            .map(|index| *index as usize)
            .find(|index| self.wires[*index].route.matches(source, destination))
    }

    fn offer(&mut self, index: usize, packet: Packet) {
        self.stats.packets_sent += 1;
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
            self.captures.entered(self.now, LinkId(index as u32), &packet, dropped);
        } else {
            link.offer(now, size, class, packet);
        }
        self.schedule_wire(index);
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

    /// The next packet that has arrived on a link, and where.
    pub(crate) fn arrival(&mut self, index: usize) -> Option<(HostId, Packet)> {
        let wire = &mut self.wires[index];
        let Delivery { mut packet, corruption, .. } = wire.link.poll(nanos(self.now))?;
        if let Some(corruption) = corruption {
            let mut bytes = packet.payload.to_vec();
            corruption.apply(&mut bytes);
            packet.payload = bytes.into();
        }
        self.stats.packets_delivered += 1;
        let to = wire.to;
        self.captures.left(self.now, LinkId(index as u32), &packet);
        Some((to, packet))
    }
}

pub(crate) const fn nanos(time: Time) -> Nanos {
    Nanos::new(time.as_nanos())
}

const fn time(nanos: Nanos) -> Time {
    Time::from_nanos(nanos.get())
}
