//! Hosts without an endpoint: routers, middleboxes, attackers, scripted peers.

use std::any::Any;

use tresse_core::{Rng, Time};

use crate::event_queue::Happening;
use crate::ids::HostId;
use crate::packet::Packet;
use crate::world::World;

/// A host that handles packets itself.
pub trait Node: Any {
    /// The host has started, or started again after a crash.
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        let _ = cx;
    }

    /// A packet has arrived.
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet);

    /// What the node would send on if this packet came, for
    /// [`Simulation::reaches`](crate::Simulation::reaches). `None` (default): nothing.
    fn forwards(&self, packet: Packet) -> Option<Packet> {
        let _ = packet;
        None
    }

    /// A timer set with [`NodeContext::set_timer`] has expired.
    fn on_timer(&mut self, cx: &mut NodeContext<'_>, token: u64) {
        let _ = (cx, token);
    }
}

/// What a [`Node`] can do.
pub struct NodeContext<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) rng: &'a mut Rng,
    pub(crate) host: HostId,
    pub(crate) life: u32,
}

impl NodeContext<'_> {
    /// Simulation time.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// This host.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Puts a packet on the first link of this host whose route matches. Without one it is lost
    /// and counted as unroutable.
    pub fn send(&mut self, packet: Packet) {
        self.world.send(self.host, packet);
    }

    /// Calls [`Node::on_timer`] with `token` at `at`, or at once if that is past.
    pub fn set_timer(&mut self, at: Time, token: u64) {
        let happening = Happening::Timer { host: self.host.0, life: self.life, token };
        self.world.schedule(at, happening);
    }

    /// The random source of this node.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// Ends the current run after this event, with [`StopReason::Stopped`](crate::StopReason).
    pub fn stop(&mut self) {
        self.world.stop = true;
    }
}
