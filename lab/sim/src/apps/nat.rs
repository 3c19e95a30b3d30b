//! A network address translator with the habits of those in homes: mappings that time out, ports
//! and addresses that change while an association lasts.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use tresse_core::Time;

use crate::node::{Node, NodeContext};
use crate::packet::{Packet, UdpPorts};

/// The first port that it gives out; the others follow.
const FIRST_PORT: u16 = 30_000;

/// A translator between the hosts of a network inside and all others (RFC 3022).
///
/// Packets in UDP get a port of its own for each address and port inside, whatever the destination is
/// (RFC 4787 §4.1). SCTP without UDP it knows nothing of: it replaces the address, and what comes back
/// goes to whoever sent to that host last, as many do with protocols that have no ports.
#[derive(Clone, Debug)]
pub struct Nat {
    inside: IpNet,
    outside: IpAddr,
    timeout: Duration,
    mappings: Vec<Mapping>,
    next_port: u16,
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    address: IpAddr,
    kind: Kind,
    used: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// UDP ports inside and outside.
    Udp { inside: u16, outside: u16 },
    /// To and from this host.
    Plain { remote: IpAddr },
}

impl Nat {
    /// A translator for the hosts in `inside`, which all others see as `outside`. A mapping that no
    /// packet from inside has used for `timeout` is forgotten.
    pub fn new(inside: IpNet, outside: IpAddr, timeout: Duration) -> Nat {
        Nat { inside, outside, timeout, mappings: Vec::new(), next_port: FIRST_PORT, refused: 0 }
    }

    /// Forgets all mappings, and has another address from now on if one is given.
    pub fn rebind(&mut self, outside: Option<IpAddr>) {
        self.mappings.clear();
        self.outside = outside.unwrap_or(self.outside);
    }

    /// The address that others see.
    pub const fn outside(&self) -> IpAddr {
        self.outside
    }

    /// Packets from outside that belonged to no mapping.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// What the packet becomes that leaves.
    fn outward(&mut self, now: Time, packet: Packet) -> Packet {
        let known = self.mappings.iter_mut().find(|m| {
            let same = match (m.kind, packet.udp) {
                (Kind::Udp { inside, .. }, Some(ports)) => inside == ports.source,
                (Kind::Plain { remote }, None) => remote == packet.destination,
                _ => false,
            };
            same && m.address == packet.source
        });
        let kind = if let Some(mapping) = known {
            mapping.used = now;
            mapping.kind
        } else {
            let kind = match packet.udp {
                Some(ports) => {
                    self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
                    Kind::Udp { inside: ports.source, outside: self.next_port }
                }
                None => Kind::Plain { remote: packet.destination },
            };
            self.mappings.push(Mapping { address: packet.source, kind, used: now });
            kind
        };
        let source = match kind {
            Kind::Udp { outside, .. } => Some(outside),
            Kind::Plain { .. } => None,
        };
        let udp = packet.udp.map(|p| UdpPorts { source: source.unwrap_or(p.source), ..p });
        Packet { source: self.outside, udp, ..packet }
    }

    /// What the packet becomes that comes in, if somebody expects it.
    fn inward(&self, packet: Packet) -> Option<Packet> {
        if packet.destination != self.outside {
            return None;
        }
        let fitting = self.mappings.iter().filter(|m| match (m.kind, packet.udp) {
            (Kind::Udp { outside, .. }, Some(ports)) => outside == ports.destination,
            (Kind::Plain { remote }, None) => remote == packet.source,
            _ => false,
        });
        let mapping = fitting.max_by_key(|m| m.used)?;
        let destination = match mapping.kind {
            Kind::Udp { inside, .. } => Some(inside),
            Kind::Plain { .. } => None,
        };
        let udp = packet.udp.map(|p| UdpPorts { destination: destination.unwrap_or(0), ..p });
        Some(Packet { destination: mapping.address, udp, ..packet })
    }
}

impl Node for Nat {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        let now = cx.now();
        let timeout = self.timeout;
        self.mappings.retain(|m| now.since(m.used) <= timeout);
        if self.inside.contains(&packet.source) {
            let packet = self.outward(now, packet);
            cx.send(packet);
        } else if let Some(packet) = self.inward(packet) {
            cx.send(packet);
        } else {
            self.refused += 1;
        }
    }

    /// As if whoever inside was the last to send, or else the host whose address the network was given
    /// with, had just sent to whoever sends now.
    fn forwards(&self, packet: Packet) -> Option<Packet> {
        if self.inside.contains(&packet.source) {
            return Some(Packet { source: self.outside, ..packet });
        }
        let last = self.mappings.iter().max_by_key(|m| m.used);
        let destination = last.map_or(self.inside.addr(), |m| m.address);
        (packet.destination == self.outside).then_some(Packet { destination, ..packet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn packet(source: &str, destination: &str, udp: Option<(u16, u16)>) -> Packet {
        let udp = udp.map(|(source, destination)| UdpPorts { source, destination });
        let (source, destination) = (ip(source), ip(destination));
        Packet { udp, ..Packet::sctp(source, destination, Bytes::new()) }
    }

    fn nat() -> Nat {
        let inside = "192.168.0.0/24".parse().expect("a network");
        Nat::new(inside, ip("198.51.100.1"), Duration::from_secs(30))
    }

    #[test]
    fn answers_find_back_to_who_asked() {
        let mut nat = nat();
        let asked = packet("192.168.0.2", "192.0.2.1", Some((9899, 9899)));
        let sent = nat.outward(Time::ZERO, asked.clone());
        assert_eq!(sent, packet("198.51.100.1", "192.0.2.1", Some((30_001, 9899))));
        let back = nat.inward(packet("192.0.2.1", "198.51.100.1", Some((9899, 30_001))));
        assert_eq!(back, Some(packet("192.0.2.1", "192.168.0.2", Some((9899, 9899)))));
        assert_eq!(nat.inward(packet("192.0.2.1", "198.51.100.1", Some((9899, 9899)))), None);
        assert_eq!(nat.inward(packet("192.0.2.1", "198.51.100.1", None)), None);
        nat.outward(Time::ZERO, packet("192.168.0.3", "192.0.2.1", None));
        let back = nat.inward(packet("192.0.2.1", "198.51.100.1", None));
        assert_eq!(back, Some(packet("192.0.2.1", "192.168.0.3", None)));
        assert_eq!(nat.inward(packet("192.0.2.9", "198.51.100.1", None)), None);
    }

    #[test]
    fn after_rebinding_ports_and_address_are_others() {
        let mut nat = nat();
        let asked = packet("192.168.0.2", "192.0.2.1", Some((9899, 9899)));
        nat.outward(Time::ZERO, asked.clone());
        nat.rebind(Some(ip("198.51.100.2")));
        assert_eq!(nat.inward(packet("192.0.2.1", "198.51.100.1", Some((9899, 30_001)))), None);
        let sent = nat.outward(Time::ZERO, asked);
        assert_eq!(sent, packet("198.51.100.2", "192.0.2.1", Some((30_002, 9899))));
    }
}
