//! What an engine is to be like.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tresse::{Carrier, DEFAULT_UDP_PORT, Profile};

/// What an engine is to be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How packets travel, and from which local addresses.
    pub carrier: Carrier,
    /// Take a free UDP port if that of the carrier is in use.
    pub any_port: bool,
    /// UDP port of peers to which associations are opened.
    pub peer_udp_port: u16,
    /// How associations recover from loss, and their default parameters.
    pub profile: Arc<Profile>,
    /// Associations record their decisions for observers. Default `false`.
    pub trace: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            carrier: SocketAddr::from(([0; 4], DEFAULT_UDP_PORT)).into(),
            any_port: true,
            peer_udp_port: DEFAULT_UDP_PORT,
            profile: Profile::tresse(),
            trace: false,
        }
    }
}

impl Settings {
    /// Over UDP, from all addresses unless some are named; on the registered port, or a free one if
    /// that is in use, unless one is named (0: a free one).
    #[must_use]
    pub fn over_udp(local: &[IpAddr], port: Option<u16>) -> Settings {
        let local: Vec<SocketAddr> = local.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        Settings::over_udp_at(&local, port)
    }

    /// As [`over_udp`](Self::over_udp), from addresses with the interface (scope) that link-local ones
    /// need; their ports have no meaning.
    #[must_use]
    pub fn over_udp_at(local: &[SocketAddr], port: Option<u16>) -> Settings {
        // `::` is all addresses of both families, on a host that has IPv6.
        let all =
            if has_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let mut local = local.to_vec();
        if local.is_empty() {
            local.push(SocketAddr::new(all, 0));
        }
        local.iter_mut().for_each(|address| address.set_port(port.unwrap_or(DEFAULT_UDP_PORT)));
        let carrier = Carrier::Udp { local };
        Settings { carrier, any_port: port.is_none(), ..Settings::default() }
    }

    /// Directly on IP, from all addresses unless some are named.
    #[must_use]
    pub fn over_ip(mut local: Vec<IpAddr>) -> Settings {
        if local.is_empty() {
            local.push(Ipv4Addr::UNSPECIFIED.into());
            if has_ipv6() {
                local.push(Ipv6Addr::UNSPECIFIED.into());
            }
        }
        Settings { carrier: Carrier::RawIp { local }, ..Settings::default() }
    }
}

/// Whether this host has IPv6, as far as a socket shows.
fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok()
}
