//! Addresses as a socket wants them and as SCTP wants them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Zones remembered at most; only hosts on the same link can make entries.
const MAX_ZONES: usize = 256;

/// Translates between the plain IP addresses of SCTP and the socket addresses of one UDP socket.
#[derive(Debug)]
pub(crate) struct AddressMap {
    ipv6_socket: bool,
    /// Link-local addresses name a host only together with an interface (RFC 4007 §6). SCTP has
    /// no place for that, so the interface where a peer was heard last is kept here.
    zones: BTreeMap<Ipv6Addr, u32>,
}

impl AddressMap {
    pub(crate) fn new(local: SocketAddr) -> AddressMap {
        AddressMap { ipv6_socket: local.is_ipv6(), zones: BTreeMap::new() }
    }

    /// The address SCTP sees: IPv4 stays IPv4 also on a dual-stack socket.
    pub(crate) fn plain(address: IpAddr) -> IpAddr {
        address.to_canonical()
    }

    /// Remembers the zone of a link-local peer.
    pub(crate) fn learn(&mut self, peer: SocketAddr) {
        if let SocketAddr::V6(peer) = peer
            && peer.ip().is_unicast_link_local()
            && peer.scope_id() != 0
            && (self.zones.len() < MAX_ZONES || self.zones.contains_key(peer.ip()))
        {
            self.zones.insert(*peer.ip(), peer.scope_id());
        }
    }

    /// The address to give to the socket; `None` if the socket cannot reach it: the other address
    /// family, or a link-local address whose zone is unknown.
    pub(crate) fn for_socket(&self, address: IpAddr, port: u16) -> Option<SocketAddr> {
        match (address, self.ipv6_socket) {
            (IpAddr::V4(_), false) => Some(SocketAddr::new(address, port)),
            (IpAddr::V4(v4), true) => Some(SocketAddr::new(v4.to_ipv6_mapped().into(), port)),
            (IpAddr::V6(v6), true) if v6.is_unicast_link_local() => {
                let zone = *self.zones.get(&v6)?;
                Some(SocketAddrV6::new(v6, port, 0, zone).into())
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
        map.learn(SocketAddrV6::new(peer, 7, 0, 3).into());
        assert_eq!(map.for_socket(peer.into(), 9), Some(SocketAddrV6::new(peer, 9, 0, 3).into()));
        for n in 0..1000 {
            map.learn(
                SocketAddrV6::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, n), 7, 0, 1).into(),
            );
        }
        assert_eq!(map.zones.len(), MAX_ZONES);
        map.learn(SocketAddrV6::new(peer, 7, 0, 4).into());
        assert_eq!(map.zones[&peer], 4, "a known peer that moves is still followed");
    }
}
