//! A router: forwards every packet to the link whose route matches.

use crate::interface::Scope;
use crate::node::{Node, NodeContext};
use crate::packet::Packet;

/// A node that forwards packets unchanged, without delay of its own: where flows share a
/// bottleneck, the links from the router are that bottleneck.
#[derive(Clone, Copy, Debug, Default)]
pub struct Router {
    forwarded: u64,
}

impl Router {
    /// A router.
    pub fn new() -> Router {
        Router::default()
    }

    /// Packets forwarded, or that could not be: without a route, or with a link-local address.
    pub const fn forwarded(&self) -> u64 {
        self.forwarded
    }
}

impl Node for Router {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        self.forwarded += 1;
        if let Some(packet) = self.forwards(packet) {
            cx.send(packet);
        }
    }

    /// RFC 4291 §2.5.6: "Routers must not forward any packets with Link-Local source or destination
    /// addresses to other links."
    fn forwards(&self, packet: Packet) -> Option<Packet> {
        let on_link = |address| Scope::of(address) == Scope::Link;
        (!on_link(packet.source) && !on_link(packet.destination)).then_some(packet)
    }
}
