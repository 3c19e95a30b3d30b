//! A router: forwards every packet to the link whose route matches.

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

    /// Packets forwarded, or without a route to be forwarded on.
    pub const fn forwarded(&self) -> u64 {
        self.forwarded
    }
}

impl Node for Router {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        self.forwarded += 1;
        cx.send(packet);
    }

    fn forwards(&self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }
}
