//! Interfaces of a host, their addresses and what these reach.

use std::net::IpAddr;

use ipnet::IpNet;

/// A network interface of a host, see [`IpStack`](crate::IpStack).
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    /// Its addresses of both families, each with the length of its prefix. A network that a prefix
    /// stands for is reached directly.
    pub addresses: Vec<IpNet>,
    /// Bytes of the largest IP packet that leaves by it. Default 1500.
    pub mtu: usize,
    /// While it is down it sends and takes nothing, and the host does without its addresses.
    /// Default `true`.
    pub up: bool,
}

impl Interface {
    /// An interface without addresses.
    pub fn new(name: &str) -> Interface {
        Interface { name: name.to_string(), addresses: Vec::new(), mtu: 1500, up: true }
    }

    /// The same with one more address.
    #[must_use]
    pub fn address(mut self, address: IpNet) -> Interface {
        self.addresses.push(address);
        self
    }

    /// The same with another [`Interface::mtu`].
    #[must_use]
    pub fn mtu(self, mtu: usize) -> Interface {
        Interface { mtu, ..self }
    }

    /// Whether it is up and has this address.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.up && self.addresses.iter().any(|net| net.addr() == address)
    }

    /// Its best source for packets to `destination`.
    ///
    /// RFC 6724 §5, of which rules 2 (appropriate scope) and 8 (longest matching prefix) are left
    /// where no address is deprecated, temporary or mobile; ties go to the first one.
    pub(crate) fn source_for(&self, destination: IpAddr) -> Option<IpAddr> {
        let addresses = self.addresses.iter().map(IpNet::addr);
        let fitting = addresses.filter(|a| self.up && a.is_ipv4() == destination.is_ipv4());
        let rank = |source: &IpAddr| {
            let same_scope = Scope::of(*source) == Scope::of(destination);
            (same_scope, common_prefix(*source, destination))
        };
        // The first of equals: `max_by_key` would give the last one.
        fitting.rev().max_by_key(rank)
    }
}

/// How far an address means something (RFC 4007 §4, RFC 6724 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Loopback,
    Link,
    Global,
}

impl Scope {
    pub(crate) fn of(address: IpAddr) -> Scope {
        let link_local = match address {
            IpAddr::V4(x) => x.is_link_local(),
            IpAddr::V6(x) => x.is_unicast_link_local(),
        };
        match (address.is_loopback(), link_local) {
            (true, _) => Scope::Loopback,
            (_, true) => Scope::Link,
            _ => Scope::Global,
        }
    }
}

/// Leading bits that two addresses of one family have in common.
fn common_prefix(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_fits_in_family_scope_and_prefix() {
        let net = |text: &str| text.parse().expect("an address");
        let interface = Interface::new("eth0")
            .address(net("10.1.0.1/24"))
            .address(net("10.2.0.1/24"))
            .address(net("fe80::1/64"))
            .address(net("fd00:1::1/64"));
        let chosen = |destination: &str| {
            let destination = destination.parse().expect("an address");
            interface.source_for(destination).map(|a| a.to_string())
        };
        assert_eq!(chosen("10.2.0.9").as_deref(), Some("10.2.0.1"));
        assert_eq!(chosen("10.1.0.9").as_deref(), Some("10.1.0.1"));
        assert_eq!(chosen("192.0.2.1").as_deref(), Some("10.1.0.1"), "a tie: the first one");
        assert_eq!(chosen("fe80::9").as_deref(), Some("fe80::1"));
        assert_eq!(chosen("fd00:2::9").as_deref(), Some("fd00:1::1"));
        let down = Interface { up: false, ..interface };
        assert_eq!(down.source_for("10.2.0.9".parse().expect("an address")), None);
    }
}
