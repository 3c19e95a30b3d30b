//! The addresses of this host, as interfaces come and go.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How often they are looked at. Changes are rare, and paths whose source has vanished notice that by
/// themselves, only later.
pub(crate) const INTERVAL: Duration = Duration::from_secs(3);

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

/// Whether one of the sockets sends from `address`.
fn is_served(address: IpAddr, local: &[SocketAddr]) -> bool {
    local.iter().any(|socket| {
        // An IPv6 wildcard socket for UDP serves both families; that of raw IP has port 0.
        let dual = socket.is_ipv6() && socket.port() != 0;
        let any = socket.ip().is_unspecified() && (dual || socket.is_ipv4() == address.is_ipv4());
        any || socket.ip() == address
    })
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
    fn this_host_has_a_loopback_address() {
        let local = ["0.0.0.0:1".parse().unwrap()];
        assert!(addresses(&local).unwrap().iter().any(IpAddr::is_loopback));
    }
}
