//! Two hosts with one or two networks between them.

use std::net::IpAddr;

use super::{Cell, Family};
use tresse_peers::{Namespace, Unavailable, command};

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Client,
    Server,
}

/// The hosts; they go with this value.
#[derive(Debug)]
pub(super) struct Network {
    family: Family,
    interfaces: u8,
    hosts: [Namespace; 2],
}

impl Network {
    /// Makes them. The calling thread is in one of them afterwards.
    pub(super) fn new(cell: Cell) -> Result<Network, Unavailable> {
        let Cell { family, interfaces, .. } = cell;
        if family != Family::Ipv4 && !std::path::Path::new("/proc/sys/net/ipv6").exists() {
            return Err(Unavailable::new("IPv6", "a kernel that has it"));
        }
        let hosts = [Namespace::new()?, Namespace::new()?];
        let network = Network { family, interfaces, hosts };
        let there = network.hosts[1].path();
        network.enter(Host::Client);
        for net in 1..=interfaces {
            command(&format!("ip link add to{net} type veth peer name to{net} netns {there}"));
        }
        for host in [Host::Client, Host::Server] {
            (1..=interfaces).for_each(|net| network.give(host, net));
        }
        Ok(network)
    }

    /// Moves the calling thread to a host.
    pub(super) fn enter(&self, host: Host) {
        self.hosts[host as usize].enter();
    }

    /// The addresses of a host with the number of their interface: those of IPv4 first.
    pub(super) fn addresses(&self, host: Host) -> Vec<(u8, IpAddr)> {
        let last = host as u8 + 1;
        // A single interface has a second address.
        let places = if self.interfaces == 1 { [(1, 0), (1, 10)] } else { [(1, 0), (2, 0)] };
        let v4 = places.map(|(net, more)| (net, IpAddr::from([10, net, 0, last + more])));
        let v6 = places.map(|(net, more)| {
            let words = [0xfd10, u16::from(net), 0, 0, 0, 0, 0, u16::from(last + more)];
            (net, IpAddr::from(words))
        });
        match self.family {
            Family::Ipv4 => v4.to_vec(),
            Family::Ipv6 => v6.to_vec(),
            Family::Both => [v4, v6].concat(),
        }
    }

    /// Takes an interface from a host, and its addresses.
    pub(super) fn take(&self, host: Host, net: u8) {
        self.enter(host);
        command(&format!("ip link set to{net} down"));
        command(&format!("ip addr flush dev to{net}"));
    }

    /// Gives it back.
    pub(super) fn give(&self, host: Host, net: u8) {
        self.enter(host);
        command(&format!("ip link set to{net} up"));
        for (_, address) in self.addresses(host).iter().filter(|(of, _)| *of == net) {
            match address {
                IpAddr::V4(v4) => command(&format!("ip addr add {v4}/24 dev to{net}")),
                IpAddr::V6(v6) => command(&format!("ip addr add {v6}/64 dev to{net} nodad")),
            }
        }
    }
}
