//! Hosts with interfaces: how they are plugged in, how their addresses change, and who reaches whom.

use std::net::IpAddr;

use bytes::Bytes;
use ipnet::IpNet;
use tresse_netem::{ConfigError, LinkConfig};

use super::Change;
use super::{HostId, LinkId, Simulation};
use crate::host::Kind;
use crate::ip_stack::IpStack;
use crate::packet::Packet;
use crate::route::Route;
use crate::rules::LinkRules;

/// More hops than that are a loop.
const MAX_HOPS: usize = 16;

/// How a packet gets where it goes, see [`Simulation::passage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The host where it arrives.
    pub host: HostId,
    /// The source that it has then, which a NAT may have changed.
    pub source: IpAddr,
    /// The links that it takes.
    pub links: Vec<LinkId>,
}

impl Simulation {
    /// The rules of a link.
    pub fn link_rules(&self, link: LinkId) -> &LinkRules {
        &self.world.wires[link.index()].rules
    }

    /// Gives a host interfaces and a routing table. From now on its packets take the interface and
    /// the source address that a kernel would choose, and only packets to its addresses reach it.
    /// Its endpoint is told of these at the start and whenever they change; whether it uses them all
    /// is up to `local_addresses` of its configuration.
    ///
    /// # Panics
    /// When the host is not of this simulation.
    pub fn set_stack(&mut self, host: HostId, stack: IpStack) {
        self.world.plugged[host.index()] = vec![None; stack.interfaces.len()];
        self.world.stacks[host.index()] = Some(stack);
        self.hosts[host.index()].addresses_changed(&mut self.world);
    }

    /// The interfaces and routes of a host at present, if it has any.
    pub fn stack(&self, host: HostId) -> Option<&IpStack> {
        self.world.stacks[host.index()].as_ref()
    }

    /// Plugs an interface of a host with a stack into another host, mostly a router: first the link
    /// there with the settings `there`, then the one back with `back`. The other host sends by it
    /// what goes to the interface's networks.
    ///
    /// # Errors
    /// The first fault of the settings.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn plug(
        &mut self,
        host: HostId,
        interface: usize,
        other: HostId,
        there: LinkConfig,
        back: LinkConfig,
    ) -> Result<(LinkId, LinkId), ConfigError> {
        let stack = self.world.stacks[host.index()].as_ref().expect("a host with interfaces");
        let networks = stack.interfaces[interface].addresses.clone();
        // The stack decides what takes this link.
        let there = self.add_link(host, other, Route::any(), there)?;
        let first = networks.first().map_or(Route::any(), |net| Route::net(net.trunc()));
        let back = self.add_link(other, host, first, back)?;
        for net in networks.iter().skip(1) {
            self.add_route(back, Route::net(net.trunc()));
        }
        self.world.plugged[host.index()][interface] = Some(there.0);
        self.world.wires[back.index()].arrives_at = Some(interface);
        Ok((there, back))
    }

    /// Has further packets take a link.
    pub fn add_route(&mut self, link: LinkId, route: Route) {
        self.world.wires[link.index()].routes.push(route);
    }

    /// Joins an interface of one host with one of another by a cable: the link from `a` to `b`, and the
    /// one back.
    ///
    /// # Errors
    /// The first fault of the settings.
    ///
    /// # Panics
    /// When one of the hosts has no such interface.
    pub fn cable(
        &mut self,
        (a, a_interface): (HostId, usize),
        (b, b_interface): (HostId, usize),
        there: LinkConfig,
        back: LinkConfig,
    ) -> Result<(LinkId, LinkId), ConfigError> {
        let there = self.add_link(a, b, Route::any(), there)?;
        let back = self.add_link(b, a, Route::any(), back)?;
        self.world.plugged[a.index()][a_interface] = Some(there.0);
        self.world.plugged[b.index()][b_interface] = Some(back.0);
        self.world.wires[there.index()].arrives_at = Some(b_interface);
        self.world.wires[back.index()].arrives_at = Some(a_interface);
        Ok((there, back))
    }

    /// Whether a packet of `host` from `source` to `destination` would arrive now if it were small and
    /// not lost by chance, and at which host. Links that are down, firewalls, missing addresses and
    /// routes are reasons why not.
    pub fn reaches(&self, host: HostId, source: IpAddr, destination: IpAddr) -> Option<HostId> {
        Some(self.passage(host, source, destination)?.host)
    }

    /// The way of a packet that [`reaches`](Self::reaches) its destination.
    pub fn passage(&self, host: HostId, source: IpAddr, destination: IpAddr) -> Option<Passage> {
        let mut links = Vec::new();
        let mut packet = Packet::sctp(source, destination, Bytes::new());
        let mut at = host;
        for _ in 0..MAX_HOPS {
            let way = self.world.way(at, &[], Some(packet.source), packet.destination);
            let (index, _) = way.ok()?;
            let wire = &self.world.wires[index];
            let open = wire.link.config().up && !wire.rules.block(&packet);
            at = wire.to;
            links.push(LinkId(index as u32));
            match &self.hosts[at.index()].kind {
                _ if !open => return None,
                Kind::Node(node) => packet = node.forwards(packet)?,
                Kind::Endpoint(_) => {
                    let stack = self.world.stacks[at.index()].as_ref().zip(wire.arrives_at);
                    let taken = stack.is_none_or(|(s, i)| s.accepts(i, packet.destination));
                    return taken.then_some(Passage { host: at, source: packet.source, links });
                }
            }
        }
        None
    }

    pub(super) fn apply_to_stack(&mut self, change: &Change) {
        let (Change::Interface(host, ..)
        | Change::AddAddress(host, ..)
        | Change::RemoveAddress(host, _)) = change
        else {
            return;
        };
        let stack = self.world.stacks[host.index()].as_mut().expect("a host with interfaces");
        match change {
            Change::Interface(_, number, up) => stack.interfaces[*number].up = *up,
            Change::AddAddress(_, number, address) => {
                let addresses = &mut stack.interfaces[*number].addresses;
                if !addresses.contains(address) {
                    addresses.push(*address);
                }
            }
            Change::RemoveAddress(_, address) => {
                let keep = |net: &IpNet| net.addr() != *address;
                stack.interfaces.iter_mut().for_each(|i| i.addresses.retain(keep));
            }
            _ => {}
        }
        self.hosts[host.index()].addresses_changed(&mut self.world);
    }
}
