//! Which packets take which link.

use std::net::IpAddr;

use ipnet::IpNet;

/// Which of a host's packets take a link. The links of a host are tried in the order in which
/// they were added; the first match wins. (Hosts with an [`IpStack`](crate::IpStack) have a routing
/// table instead.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Only packets to this network. `None` (default): to any.
    pub destination: Option<IpNet>,
    /// Only packets from this address; a packet whose source the endpoint leaves open matches
    /// too. `None` (default): from any.
    pub source: Option<IpAddr>,
    /// Source address for packets whose source the endpoint leaves open. `None` (default):
    /// `source`, or else the host's first address of the right family.
    pub default_source: Option<IpAddr>,
}

impl Route {
    /// Every packet.
    pub fn any() -> Route {
        Route::default()
    }

    /// Packets to `destination`.
    pub fn to(destination: IpAddr) -> Route {
        Route::net(destination.into())
    }

    /// Packets to a network.
    pub fn net(destination: IpNet) -> Route {
        Route { destination: Some(destination), ..Route::default() }
    }

    /// Packets from `source` to `destination`.
    pub fn between(source: IpAddr, destination: IpAddr) -> Route {
        Route { source: Some(source), ..Route::to(destination) }
    }

    /// The same with [`Route::default_source`].
    #[must_use]
    pub fn default_source(self, address: IpAddr) -> Route {
        Route { default_source: Some(address), ..self }
    }

    pub(crate) fn matches(&self, source: Option<IpAddr>, destination: IpAddr) -> bool {
        let there = self.destination.is_none_or(|net| net.contains(&destination));
        let from = |source| self.source.is_none_or(|wanted| wanted == source);
        there && source.is_none_or(from)
    }
}
