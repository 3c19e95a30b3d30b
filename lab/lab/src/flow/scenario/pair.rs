//! Two hosts, and their addresses.

use std::net::{IpAddr, Ipv4Addr};

use tresse_sim::HostId;

/// Two hosts that talk to each other.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) sender: HostId,
    pub(super) receiver: HostId,
}

/// The first address of a host on a path: 1 is the sender, 2 the receiver.
pub(super) fn address(path: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, path, 0, host))
}
