//! What a link lets through besides what its model does to packets.

use ipnet::IpNet;
use tresse_core::IcmpKind;

use crate::packet::Packet;

/// Rules of one direction of a link: a smaller MTU, a firewall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRules {
    /// Bytes of the largest IP packet that passes; larger ones pass only if IP may fragment them.
    /// `None` (default): any.
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

    /// Whether the packet is too large to pass as it is.
    pub(crate) fn too_big(&self, packet: &Packet) -> bool {
        self.mtu.is_some_and(|mtu| packet.ip_size() > mtu && !packet.fragments.are_allowed())
    }
}
