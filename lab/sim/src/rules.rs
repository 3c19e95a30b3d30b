//! What a link lets through besides what its model does to packets.

use ipnet::IpNet;
use tresse_core::{IcmpKind, IpFragments};

use crate::packet::Packet;

/// RFC 8200 §5: every link takes packets of this many bytes.
const IPV6_LEAST_MTU: usize = 1280;

/// Rules of one direction of a link: a smaller MTU, a firewall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRules {
    /// Bytes of the largest IP packet that passes; larger ones pass only if IP may fragment them, and somebody does. Over IPv4
    /// that is the router; over IPv6 it is the sender alone (RFC 8200 §4.5), on raw IP in fragments of 1280 bytes what needs
    /// them, and all else only where it has heard of the MTU (`reports`). `None` (default): any.
    pub mtu: Option<usize>,
    /// Whether the sender hears of packets that are too large by ICMP, after the delay of the link,
    /// if it has the packet's source address (a NAT in between swallows the message) or has no
    /// [`IpStack`](crate::IpStack). Default `false`: a black hole.
    pub reports: bool,
    /// Packets from or to these networks vanish. Default: none do.
    pub blocks: Vec<IpNet>,
    /// What the sender of such a packet hears by ICMP, in the same way. `None` (default): nothing, the
    /// firewall drops. One that rejects says that the destination is administratively prohibited, which is
    /// [`IcmpKind::Unreachable`], or that there is no such port, which over UDP is [`IcmpKind::NoSctp`] (RFC 6951
    /// §5.5) and without UDP nothing that SCTP listens to (RFC 9260 §10 ICMP3).
    pub rejects: Option<IcmpKind>,
}

impl LinkRules {
    /// Whether a firewall takes the packet.
    pub(crate) fn block(&self, packet: &Packet) -> bool {
        let taken = |net: &IpNet| net.contains(&packet.source) || net.contains(&packet.destination);
        self.blocks.iter().any(taken)
    }

    /// Whether the packet is too large to pass.
    pub(crate) fn too_big(&self, packet: &Packet) -> bool {
        self.mtu.is_some_and(|mtu| packet.ip_size() > mtu && !self.passes_in_fragments(packet, mtu))
    }

    /// Whether somebody makes fragments of it that pass. Over IPv6 the carrier does where they are needed, unless in UDP, and else
    /// the system of the sender, for the MTU that it has heard of.
    fn passes_in_fragments(&self, packet: &Packet, mtu: usize) -> bool {
        match packet.fragments {
            IpFragments::Forbidden => false,
            _ if packet.destination.is_ipv4() => true,
            IpFragments::Needed if packet.udp.is_none() => mtu >= IPV6_LEAST_MTU,
            IpFragments::Needed | IpFragments::Allowed => self.reports,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use IpFragments::{Allowed, Forbidden, Needed};
    use bytes::Bytes;

    use super::*;
    use crate::packet::UdpPorts;

    #[test]
    fn routers_fragment_over_ipv4_alone() {
        let large = |text: &str, udp: bool, fragments| {
            let address: IpAddr = text.parse().unwrap();
            let packet = Packet::sctp(address, address, Bytes::from(vec![0; 1500]));
            let ports = UdpPorts { source: 9899, destination: 9899 };
            Packet { udp: udp.then_some(ports), fragments, ..packet }
        };
        let too_big = |mtu, reports, packet: &Packet| {
            LinkRules { mtu: Some(mtu), reports, ..LinkRules::default() }.too_big(packet)
        };
        let (four, six) = ("192.0.2.1", "2001:db8::1");
        for (address, udp, fragments, mtu, reports, expected) in [
            (four, false, Allowed, 576, false, false),
            (four, true, Needed, 576, false, false),
            (six, false, Needed, 1280, false, false),
            (six, false, Needed, 1279, false, true),
            (six, false, Allowed, 1280, false, true),
            (six, false, Allowed, 1280, true, false),
            (six, true, Needed, 1280, false, true),
            (six, true, Needed, 1280, true, false),
        ] {
            let packet = large(address, udp, fragments);
            let told = too_big(mtu, reports, &packet);
            assert_eq!(told, expected, "{address}, {udp}, {fragments:?}, {mtu}, {reports}");
            assert!(too_big(mtu, reports, &large(address, udp, Forbidden)));
            assert!(!too_big(packet.ip_size(), reports, &packet));
        }
    }
}
