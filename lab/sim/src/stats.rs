//! What a simulation counts.

/// What a simulation did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulationStats {
    /// Events that took place: starts, wake-ups of links and endpoints, timers and changes.
    pub events: u64,
    /// Packets that hosts put on links, router hops counted each.
    pub packets_sent: u64,
    /// Of these, the ones that nodes without an endpoint sent, such as routers.
    pub packets_of_nodes: u64,
    /// Packets that links delivered.
    pub packets_delivered: u64,
    /// Packets for which the host had no link, or no source address of the right family.
    pub unroutable: u64,
    /// Packets from an address that the host does not have, or no longer.
    pub without_source: u64,
    /// Packets larger than an interface or a link takes, reported or not.
    pub too_big: u64,
    /// Packets that [`LinkRules`](crate::LinkRules) dropped.
    pub blocked: u64,
    /// Packets that arrived at a host that does not have the address.
    pub not_accepted: u64,
    /// Packets that arrived at a host that was down.
    pub lost_at_dead_hosts: u64,
}

impl SimulationStats {
    /// Events and packets in total, also those packets that could not be sent: what
    /// [`Simulation::set_event_limit`](crate::Simulation::set_event_limit) limits.
    pub const fn work(&self) -> u64 {
        let unsent = self.unroutable + self.without_source + self.too_big;
        self.events + self.packets_sent + unsent
    }
}
