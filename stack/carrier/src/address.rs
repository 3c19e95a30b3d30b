//! Addresses as a socket wants them and as SCTP wants them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Zones remembered at most; only hosts on the same link can make entries.
const MAX_ZONES: usize = 256;

/// Translates between the plain IP addresses of SCTP and the socket addresses of one socket.
///
/// Link-local addresses name a host only together with an interface (RFC 4007 §6), and SCTP has no place
/// for that. So the first host with such an address has it for its name, and its interface is kept here. No
/// datagram changes that, for none was validated yet. Another host with the same address behind another
/// interface has the number of that interface in bits 32 to 63 of its name, which are 0 on the wire
/// (RFC 4291 §2.5.6).
#[derive(Debug)]
pub(crate) struct AddressMap {
    ipv6_socket: bool,
    zones: BTreeMap<Ipv6Addr, u32>,
    /// The interfaces of our own link-local addresses, as packets arrived there.
    links: BTreeMap<Ipv6Addr, u32>,
}

/// A link-local IPv6 address.
fn link_local(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V6(v6) => Some(v6).filter(Ipv6Addr::is_unicast_link_local),
        IpAddr::V4(_) => None,
    }
}

/// The interface that the name of a peer holds; 0 if none.
fn zone_in(name: Ipv6Addr) -> u32 {
    (name.to_bits() >> 64) as u32
}

/// `address` with this interface in it.
fn with_zone(address: Ipv6Addr, zone: u32) -> Ipv6Addr {
    let mask = u128::from(u32::MAX) << 64;
    Ipv6Addr::from_bits(address.to_bits() & !mask | u128::from(zone) << 64)
}

impl AddressMap {
    pub(crate) fn new(local: SocketAddr) -> AddressMap {
        AddressMap { ipv6_socket: local.is_ipv6(), zones: BTreeMap::new(), links: BTreeMap::new() }
    }

    /// The address SCTP sees: IPv4 stays IPv4 also on a dual-stack socket.
    pub(crate) fn plain(address: IpAddr) -> IpAddr {
        address.to_canonical()
    }

    /// The application says where a link-local peer is.
    pub(crate) fn learn(&mut self, peer: SocketAddr) {
        if let SocketAddr::V6(peer) = peer
            && peer.ip().is_unicast_link_local()
            && peer.scope_id() != 0
            && (self.zones.len() < MAX_ZONES || self.zones.contains_key(peer.ip()))
        {
            self.zones.insert(*peer.ip(), peer.scope_id());
        }
    }

    /// The name of the peer that a datagram came from.
    pub(crate) fn heard(&mut self, peer: SocketAddr) -> IpAddr {
        match peer {
            SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() != 0 => {
                let (address, zone) = (*v6.ip(), v6.scope_id());
                if !self.zones.contains_key(&address) && zone_in(address) == 0 {
                    self.learn(peer);
                }
                let is_first = self.zones.get(&address) == Some(&zone);
                if is_first { address } else { with_zone(address, zone) }.into()
            }
            _ => AddressMap::plain(peer.ip()),
        }
    }

    /// A datagram arrived at `local`, an address of this host, through that interface.
    pub(crate) fn arrived(&mut self, local: IpAddr, interface: Option<u32>) {
        if let (Some(local), Some(interface)) = (link_local(local), interface)
            && (self.links.len() < MAX_ZONES || self.links.contains_key(&local))
        {
            self.links.insert(local, interface);
        }
    }

    /// The interface to name to the system, 0 for none: it takes a link-local source only with one, and
    /// knows it from the destination if that is link-local as well.
    pub(crate) fn interface(&self, source: Option<IpAddr>, destination: IpAddr) -> u32 {
        let source = source.and_then(link_local).filter(|_| link_local(destination).is_none());
        source.and_then(|source| self.links.get(&source)).copied().unwrap_or(0)
    }

    /// The address to give to the socket; `None` if the socket cannot reach it: the other address
    /// family, or a link-local address whose zone is unknown.
    pub(crate) fn for_socket(&self, address: IpAddr, port: u16) -> Option<SocketAddr> {
        match (address, self.ipv6_socket) {
            (IpAddr::V4(_), false) => Some(SocketAddr::new(address, port)),
            (IpAddr::V4(v4), true) => Some(SocketAddr::new(v4.to_ipv6_mapped().into(), port)),
            (IpAddr::V6(v6), true) if v6.is_unicast_link_local() => {
                let zone = match zone_in(v6) {
                    0 => *self.zones.get(&v6)?,
                    zone => zone,
                };
                Some(SocketAddrV6::new(with_zone(v6, 0), port, 0, zone).into())
            }
            (IpAddr::V6(_), true) => Some(SocketAddr::new(address, port)),
            (IpAddr::V6(_), false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_mapped_on_a_dual_stack_socket_only() {
        let v4: IpAddr = "192.0.2.1".parse().unwrap();
        let dual = AddressMap::new("[::]:9899".parse().unwrap());
        let mapped = dual.for_socket(v4, 9).unwrap();
        assert_eq!(mapped, "[::ffff:192.0.2.1]:9".parse().unwrap());
        assert_eq!(AddressMap::plain(mapped.ip()), v4);
        let plain = AddressMap::new("0.0.0.0:9899".parse().unwrap());
        assert_eq!(plain.for_socket(v4, 9), Some("192.0.2.1:9".parse().unwrap()));
        assert_eq!(plain.for_socket("2001:db8::1".parse().unwrap(), 9), None);
    }

    #[test]
    fn link_local_peers_need_a_zone_and_the_memory_for_them_is_bounded() {
        let mut map = AddressMap::new("[::]:9899".parse().unwrap());
        let peer: Ipv6Addr = "fe80::1".parse().unwrap();
        assert_eq!(map.for_socket(peer.into(), 9), None);
        assert_eq!(map.heard(SocketAddrV6::new(peer, 7, 0, 3).into()), peer);
        assert_eq!(map.for_socket(peer.into(), 9), Some(SocketAddrV6::new(peer, 9, 0, 3).into()));
        for n in 0..1000 {
            let other = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, n);
            let other = SocketAddrV6::new(other, 7, 0, 1).into();
            // Those beyond it are answered, too.
            let name = map.heard(other);
            assert_eq!(map.for_socket(name, 7), Some(other));
        }
        assert_eq!(map.zones.len(), MAX_ZONES);
        map.learn(SocketAddrV6::new(peer, 7, 0, 4).into());
        assert_eq!(map.zones[&peer], 4, "the application may say where a known peer is now");
    }

    #[test]
    fn a_link_local_source_has_the_interface_at_which_it_was_called() {
        let mut map = AddressMap::new("[::]:9899".parse().unwrap());
        let [ours, global, peer] =
            ["fe80::1", "2001:db8::1", "2001:db8::2"].map(|a| a.parse().unwrap());
        assert_eq!(map.interface(Some(ours), peer), 0, "nobody has called there");
        map.arrived(ours, Some(3));
        map.arrived(global, Some(4));
        assert_eq!(map.interface(Some(ours), peer), 3);
        assert_eq!(map.interface(Some(ours), "fe80::2".parse().unwrap()), 0, "that of the peer");
        assert_eq!((map.interface(Some(global), peer), map.interface(None, peer)), (0, 0));
        // The interface may have been made again.
        map.arrived(ours, Some(5));
        assert_eq!(map.interface(Some(ours), peer), 5);
    }

    #[test]
    fn equal_addresses_behind_two_interfaces_are_two_peers() {
        let mut map = AddressMap::new("[::]:9899".parse().unwrap());
        let address: Ipv6Addr = "fe80::1".parse().unwrap();
        let [here, there] = [3, 4].map(|zone| SocketAddrV6::new(address, 9, 0, zone).into());
        let names = [map.heard(here), map.heard(there)];
        assert_ne!(names[0], names[1]);
        for (name, peer) in names.into_iter().zip([here, there]) {
            assert_eq!(map.for_socket(name, 9), Some(peer), "no datagram leads the answers away");
            assert_eq!(map.heard(peer), name);
        }
        // On the wire nobody has the name of another.
        let IpAddr::V6(forged) = names[1] else { panic!("{names:?}") };
        let name = map.heard(SocketAddrV6::new(forged, 9, 0, 3).into());
        assert!(!names.contains(&name), "{name}");
    }
}
