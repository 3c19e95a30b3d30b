//! Which packets take which link.

use std::net::IpAddr;

/// Which of a host's packets take a link. The links of a host are tried in the order in which
/// they were added; the first match wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Only packets to this address. `None` (default): to any.
    pub destination: Option<IpAddr>,
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
        let same = |wanted: Option<IpAddr>, is| wanted.is_none_or(|w| w == is);
        same(self.destination, destination) && source.is_none_or(|s| same(self.source, s))
    }
}
