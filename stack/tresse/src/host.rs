//! The addresses of this host, as interfaces come and go.

#[cfg(all(feature = "netlink", target_os = "linux"))]
mod changes;
#[cfg(not(all(feature = "netlink", target_os = "linux")))]
#[path = "host/no_changes.rs"]
mod changes;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) use changes::Changes;

use crate::error::NoRoute;

/// How often they are looked at where the system does not tell of changes. They are rare, and paths whose source has vanished
/// notice that by themselves, only later.
pub(crate) const INTERVAL: Duration = Duration::from_secs(3);

/// And how often where it does: what it tells of is no promise.
pub(crate) const LONG_INTERVAL: Duration = Duration::from_secs(60);

/// The addresses of the host that packets can leave from through sockets bound to `local`.
///
/// # Errors
///
/// The system does not tell them now, as without a free file descriptor: that says nothing of a change.
pub(crate) fn addresses(local: &[SocketAddr]) -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let all = interfaces.iter().map(if_addrs::Interface::ip);
    // Without its interface a link-local IPv6 address names nothing.
    let named = |a: &IpAddr| !matches!(a, IpAddr::V6(v6) if v6.is_unicast_link_local());
    Ok(all.filter(|a| named(a) && is_served(*a, local)).collect())
}

/// Looks up the routes to a peer's addresses, as the kernel does for `connect`, and sends nothing. One of
/// them is enough, from any address that the sockets `local` send from.
///
/// # Errors
///
/// Nothing can leave for any of them now; why not for the first.
pub(crate) fn check_routes(local: &[SocketAddr], peers: &[SocketAddr]) -> Result<(), NoRoute> {
    let mut first = Ok(());
    for peer in peers {
        let Err(error) = look_up(*peer, None) else { return Ok(()) };
        let named = !matches!(peer, SocketAddr::V6(v6)
            if v6.ip().is_unicast_link_local() && v6.scope_id() == 0);
        // Rules may have routes for some sources only.
        let own = addresses(local).unwrap_or_default();
        if !is_lasting(&error) || (named && own.iter().any(|l| look_up(*peer, Some(*l)).is_ok())) {
            return Ok(());
        }
        let errno = error.raw_os_error().unwrap_or(0);
        first = first.and(Err(NoRoute { address: peer.ip(), errno }));
    }
    first
}

/// Whether packets leave for `peer`, from that source if there is one.
fn look_up(peer: SocketAddr, source: Option<IpAddr>) -> io::Result<()> {
    let any: IpAddr =
        if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((source.unwrap_or(any), 0))?;
    // Any port will do: nothing is sent.
    let mut peer = peer;
    peer.set_port(9);
    socket.connect(peer)
}

/// Whether the error means that the host has no way there, and not that it lacks something for the question.
fn is_lasting(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AddrNotAvailable, HostUnreachable, InvalidInput, NetworkUnreachable, PermissionDenied,
    };
    let lasting =
        [NetworkUnreachable, HostUnreachable, AddrNotAvailable, InvalidInput, PermissionDenied];
    error.raw_os_error().is_some() && lasting.contains(&error.kind())
}

/// Whether one of the sockets sends from `address`, and the host has that.
pub(crate) fn sends_from(address: IpAddr, local: &[SocketAddr]) -> bool {
    is_served(address, local) && UdpSocket::bind((address, 0)).is_ok()
}

/// Whether one of the sockets sends from `address`.
fn is_served(address: IpAddr, local: &[SocketAddr]) -> bool {
    local.iter().any(|socket| {
        socket.ip() == address || socket.ip().is_unspecified() && reaches(*socket, address)
    })
}

/// Whether a socket sends packets of the family of `address`.
pub(crate) fn reaches(socket: SocketAddr, address: IpAddr) -> bool {
    // An IPv6 wildcard socket for UDP serves both families; that of raw IP has port 0.
    let dual = socket.is_ipv6() && socket.ip().is_unspecified() && socket.port() != 0;
    dual || socket.is_ipv4() == address.is_ipv4()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_serves_its_family_and_an_address_itself() {
        let served = |address: &str, local: &[&str]| {
            let local: Vec<SocketAddr> = local.iter().map(|l| l.parse().unwrap()).collect();
            is_served(address.parse().unwrap(), &local)
        };
        assert!(served("10.0.0.1", &["0.0.0.0:9899"]) && !served("::1", &["0.0.0.0:9899"]));
        assert!(served("10.0.0.1", &["[::]:9899"]) && served("::1", &["[::]:9899"]));
        assert!(!served("10.0.0.1", &["[::]:0"]), "raw IP");
        assert!(served("::1", &["0.0.0.0:1", "[::1]:1"]));
        assert!(!served("::2", &["0.0.0.0:1", "[::1]:1"]));
    }

    #[test]
    fn a_peer_without_a_route_is_known_before_anything_is_sent() {
        let local: [SocketAddr; 1] = ["[::]:1".parse().unwrap()];
        let check = |peers: &[&str]| {
            let peers: Vec<SocketAddr> = peers.iter().map(|p| p.parse().unwrap()).collect();
            check_routes(&local, &peers)
        };
        assert_eq!(check(&["127.0.0.1:0"]), Ok(()));
        // Without its interface.
        let error = check(&["[fe80::1]:5"]).unwrap_err();
        assert_eq!(error.address, "fe80::1".parse::<IpAddr>().unwrap());
        assert!(error.to_string().starts_with("no packet can leave this host for fe80::1: "));
        assert_eq!(check(&["[fe80::1]:5", "127.0.0.1:5"]), Ok(()), "one will do");
    }

    #[test]
    fn this_host_has_a_loopback_address() {
        let local = ["0.0.0.0:1".parse().unwrap()];
        assert!(addresses(&local).unwrap().iter().any(IpAddr::is_loopback));
    }
}
