//! What the kernel of a host does with packets: which interface and source address they take, and
//! which of those that arrive are for this host.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::interface::{Interface, Scope};

/// How strictly an address belongs to its interface (RFC 1122 §3.3.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostModel {
    /// Packets leave by the interface that their destination asks for and are taken at any interface,
    /// as Linux does it. The default.
    #[default]
    Weak,
    /// Packets leave and arrive only by the interface that has the host's address in them.
    Strong,
}

/// An entry of a routing table, besides the networks that interfaces reach directly.
#[derive(Clone, Debug)]
pub struct RouteEntry {
    /// For packets to this network.
    pub destination: IpNet,
    /// The number of the interface that they leave by.
    pub interface: usize,
    /// Only for packets whose source is in this network (policy routing); such an entry comes before
    /// those for all. `None` (default): whatever the source is.
    pub from: Option<IpNet>,
    /// The source of packets whose source is left open, while the host has it. `None` (default): as
    /// the interface chooses.
    pub source: Option<IpAddr>,
    /// Of entries for the same network the lowest metric wins. Default 0.
    pub metric: u32,
}

impl RouteEntry {
    /// To `destination` by `interface`.
    pub fn new(destination: IpNet, interface: usize) -> RouteEntry {
        RouteEntry { destination, interface, from: None, source: None, metric: 0 }
    }
}

/// Interfaces and routing table of a host, see
/// [`Simulation::set_stack`](crate::Simulation::set_stack).
#[derive(Clone, Debug, Default)]
pub struct IpStack {
    /// The interfaces; [`RouteEntry`] names them by their place.
    pub interfaces: Vec<Interface>,
    /// The routing table.
    pub routes: Vec<RouteEntry>,
    /// Default [`HostModel::Weak`].
    pub model: HostModel,
}

/// Where a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) interface: usize,
    pub(crate) source: IpAddr,
}

/// Why a packet does not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// ENETUNREACH: no route, or no source for it.
    NoRoute,
    /// EADDRNOTAVAIL: the host does not have the source.
    NoSuchSource,
}

impl IpStack {
    /// All addresses that the host has at present, in the order of its interfaces.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let up = self.interfaces.iter().filter(|i| i.up);
        up.flat_map(|i| i.addresses.iter().map(IpNet::addr)).collect()
    }

    /// The interface that has this address.
    pub fn interface_of(&self, address: IpAddr) -> Option<usize> {
        self.interfaces.iter().position(|i| i.has(address))
    }

    /// Where a packet with this source, or one that is left open, leaves to `destination`.
    pub(crate) fn depart(
        &self,
        source: Option<IpAddr>,
        destination: IpAddr,
    ) -> Result<Departure, NotSent> {
        let owner = match source {
            Some(source) => Some(self.interface_of(source).ok_or(NotSent::NoSuchSource)?),
            None => None,
        };
        if source.is_some_and(|s| s.is_ipv4() != destination.is_ipv4()) {
            return Err(NotSent::NoRoute);
        }
        // Link-local addresses mean something on their link only (RFC 4007 §5).
        let bound = self.model == HostModel::Strong || Scope::of(destination) == Scope::Link;
        let usable = |interface: usize| {
            let here = owner.is_none_or(|owner| !bound || owner == interface);
            here && self.interfaces.get(interface).is_some_and(|i| i.up)
        };
        let connected = self.interfaces.iter().enumerate().flat_map(|(number, interface)| {
            interface.addresses.iter().map(move |net| RouteEntry::new(*net, number))
        });
        let entries = connected.chain(self.routes.iter().cloned());
        let matching = entries.filter(|entry| {
            // A rule for sources does not match one that is left open.
            let from = entry.from.is_none_or(|from| source.is_some_and(|s| from.contains(&s)));
            usable(entry.interface) && from && entry.destination.contains(&destination)
        });
        let rank = |entry: &RouteEntry| {
            let length = entry.destination.prefix_len();
            (entry.from.is_none(), u8::MAX - length, entry.metric)
        };
        let best = matching.min_by_key(rank).ok_or(NotSent::NoRoute)?;
        let source = source
            .or_else(|| best.source.filter(|s| self.interface_of(*s).is_some()))
            .or_else(|| self.interfaces[best.interface].source_for(destination))
            .or_else(|| self.foreign_source(destination))
            .ok_or(NotSent::NoRoute)?;
        Ok(Departure { interface: best.interface, source })
    }

    /// A source of another interface, where the right one has none of the family: the weak model
    /// allows it for addresses that mean something everywhere.
    fn foreign_source(&self, destination: IpAddr) -> Option<IpAddr> {
        let global = |address: &IpAddr| Scope::of(*address) == Scope::of(destination);
        let weak = self.model == HostModel::Weak && Scope::of(destination) == Scope::Global;
        let sources = self.interfaces.iter().filter_map(|i| i.source_for(destination));
        sources.filter(|_| weak).find(global)
    }

    /// Whether a packet that arrives at `interface` is for this host.
    pub(crate) fn accepts(&self, interface: usize, destination: IpAddr) -> bool {
        let Some(here) = self.interfaces.get(interface).filter(|i| i.up) else { return false };
        let anywhere = self.model == HostModel::Weak && Scope::of(destination) != Scope::Link;
        here.has(destination) || (anywhere && self.interface_of(destination).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn net(text: &str) -> IpNet {
        text.parse().expect("a network")
    }

    /// eth0 with the default route, and eth1.
    fn stack(model: HostModel) -> IpStack {
        let eth0 = Interface::new("eth0").address(net("10.1.0.1/24")).address(net("fe80::1/64"));
        let eth1 = Interface::new("eth1").address(net("10.2.0.1/24"));
        let routes = vec![RouteEntry::new(net("0.0.0.0/0"), 0)];
        IpStack { interfaces: vec![eth0, eth1], routes, model }
    }

    fn depart(stack: &IpStack, source: Option<&str>, to: &str) -> Result<(usize, String), NotSent> {
        stack.depart(source.map(ip), ip(to)).map(|d| (d.interface, d.source.to_string()))
    }

    #[test]
    fn an_open_source_follows_the_longest_route() {
        let stack = stack(HostModel::Weak);
        assert_eq!(depart(&stack, None, "10.2.0.9"), Ok((1, "10.2.0.1".into())));
        assert_eq!(depart(&stack, None, "192.0.2.1"), Ok((0, "10.1.0.1".into())));
        assert_eq!(depart(&stack, None, "fd00::1"), Err(NotSent::NoRoute));
        assert_eq!(depart(&stack, None, "fe80::9"), Ok((0, "fe80::1".into())));
    }

    #[test]
    fn a_pinned_source_must_be_the_hosts_own() {
        let mut stack = stack(HostModel::Weak);
        assert_eq!(depart(&stack, Some("10.9.0.1"), "10.2.0.9"), Err(NotSent::NoSuchSource));
        assert_eq!(depart(&stack, Some("10.2.0.1"), "fe80::9"), Err(NotSent::NoRoute));
        stack.interfaces[1].up = false;
        assert_eq!(depart(&stack, Some("10.2.0.1"), "192.0.2.1"), Err(NotSent::NoSuchSource));
        assert_eq!(stack.addresses(), [ip("10.1.0.1"), ip("fe80::1")]);
        // Without eth1 its network is reached by the default route.
        assert_eq!(depart(&stack, None, "10.2.0.9"), Ok((0, "10.1.0.1".into())));
    }

    #[test]
    fn a_weak_host_sends_and_takes_by_any_interface_a_strong_one_by_the_right_one() {
        let (weak, strong) = (stack(HostModel::Weak), stack(HostModel::Strong));
        assert_eq!(depart(&weak, Some("10.2.0.1"), "192.0.2.1"), Ok((0, "10.2.0.1".into())));
        assert_eq!(depart(&strong, Some("10.2.0.1"), "192.0.2.1"), Err(NotSent::NoRoute));
        assert!(weak.accepts(0, ip("10.2.0.1")) && !strong.accepts(0, ip("10.2.0.1")));
        assert!(strong.accepts(1, ip("10.2.0.1")) && !weak.accepts(0, ip("10.3.0.1")));
        assert!(weak.accepts(0, ip("fe80::1")) && !weak.accepts(1, ip("fe80::1")));
    }

    #[test]
    fn rules_for_sources_come_first() {
        let mut stack = stack(HostModel::Strong);
        let from = Some(net("10.2.0.0/24"));
        stack.routes.push(RouteEntry { from, ..RouteEntry::new(net("0.0.0.0/0"), 1) });
        assert_eq!(depart(&stack, Some("10.2.0.1"), "192.0.2.1"), Ok((1, "10.2.0.1".into())));
        assert_eq!(depart(&stack, Some("10.1.0.1"), "192.0.2.1"), Ok((0, "10.1.0.1".into())));
        assert_eq!(depart(&stack, None, "192.0.2.1"), Ok((0, "10.1.0.1".into())));
    }

    #[test]
    fn metrics_and_preferred_sources_decide() {
        let mut stack = stack(HostModel::Weak);
        let there = net("192.0.2.0/24");
        stack.routes.push(RouteEntry { metric: 5, ..RouteEntry::new(there, 0) });
        let source = Some(ip("10.1.0.1"));
        stack.routes.push(RouteEntry { metric: 1, source, ..RouteEntry::new(there, 1) });
        assert_eq!(depart(&stack, None, "192.0.2.1"), Ok((1, "10.1.0.1".into())));
        stack.interfaces[0].addresses.clear();
        assert_eq!(depart(&stack, None, "192.0.2.1"), Ok((1, "10.2.0.1".into())));
    }
}
