//! From the command line to an endpoint.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use tresse::{AssociationConfig, Carrier, Config, Endpoint, Extensions, MtuDiscovery, Profile};

use super::args::{CarrierKind, Common, PathUse};
use super::outcome::Failure;
use super::payload::{MAX_SIZE, MAX_STREAMS};
use tresse_console::observe::Observing;

/// The profile with its changes.
pub(crate) fn profile(common: &Common) -> Result<Arc<Profile>, Failure> {
    tresse_console::profile::profile(&common.profile, &common.parameters).map_err(Failure::Usage)
}

/// The settings of associations.
pub(crate) fn association(common: &Common, profile: &Arc<Profile>) -> AssociationConfig {
    AssociationConfig {
        profile: Arc::clone(profile),
        outbound_streams: MAX_STREAMS + 1,
        send_buffer: common.window as usize,
        receive_buffer: common.window,
        max_message_size: MAX_SIZE as usize,
        mtu: usize::from(common.mtu),
        mtu_discovery: common
            .mtu_search
            .map_or(MtuDiscovery::Icmp, |max| MtuDiscovery::probes(usize::from(max))),
        no_delay: !common.nagle,
        concurrent_transfer: common.paths == PathUse::All,
        extensions: Extensions {
            interleaving: common.interleaving,
            ecn: common.ecn,
            ..Extensions::default()
        },
        ..AssociationConfig::default()
    }
}

/// The carrier that was asked for, on the addresses of `local` or else on `default`.
pub(crate) async fn carrier(
    common: &Common,
    local: &[String],
    default: SocketAddr,
) -> Result<Carrier, Failure> {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for text in local {
        let address = resolve(common, text, default.port()).await?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        addresses.push(default);
    }
    Ok(match common.carrier {
        CarrierKind::Udp => Carrier::Udp { local: without_overlap(addresses)? },
        CarrierKind::Raw => {
            Carrier::RawIp { local: addresses.iter().map(SocketAddr::ip).collect() }
        }
    })
}

/// UDP sockets of one port stand in each other's way where one of them has all addresses: `::` has those of
/// IPv4 as well.
fn without_overlap(mut addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Failure> {
    let everywhere = |address: &SocketAddr| address.ip().is_unspecified();
    let Some(wildcard) = addresses.iter().find(|a| everywhere(a) && a.is_ipv6()).copied() else {
        return match addresses.iter().find(|a| everywhere(a)) {
            Some(all) if addresses.iter().any(|a| a.is_ipv4() && a != all) => Err(covers(*all)),
            _ => Ok(addresses),
        };
    };
    addresses.retain(|address| !everywhere(address));
    if addresses.is_empty() { Ok(vec![wildcard]) } else { Err(covers(wildcard)) }
}

fn covers(all: SocketAddr) -> Failure {
    let all = all.ip();
    Failure::Usage(format!("--local {all}: that is every address already: give it alone"))
}

/// Opens the endpoint.
pub(crate) fn bind(common: &Common, config: Config) -> Result<Endpoint, Failure> {
    Endpoint::bind(config).map_err(|error| {
        let advice = match (error.kind(), common.carrier) {
            (io::ErrorKind::AddrInUse, CarrierKind::Udp) => {
                ": something else has that UDP port; --local ADDR:PORT takes another one"
            }
            (io::ErrorKind::AddrNotAvailable, _) => ": this host has no such address",
            _ => "",
        };
        Failure::Usage(format!("{error}{advice}"))
    })
}

/// Whether an association can begin between these: addresses of peers that are some host's, and an address of
/// the same family here.
pub(crate) fn check_peer(carrier: &Carrier, peer: SocketAddr) -> Result<(), Failure> {
    let ip = peer.ip();
    let wrong = |why: &str| Err(Failure::Usage(format!("{ip}: {why}")));
    if ip.is_unspecified() || ip.is_multicast() {
        return wrong("that is the address of no host");
    }
    if matches!(carrier, Carrier::Udp { .. }) && peer.port() == 0 {
        return wrong("UDP port 0: nobody can be reached there");
    }
    if let SocketAddr::V6(v6) = peer
        && v6.ip().is_unicast_link_local()
        && v6.scope_id() == 0
    {
        return wrong(&format!("a link-local address needs its interface: write {ip}%INTERFACE"));
    }
    let (local, dual): (Vec<IpAddr>, bool) = match carrier {
        Carrier::Udp { local } => (local.iter().map(SocketAddr::ip).collect(), true),
        Carrier::RawIp { local } => (local.clone(), false),
    };
    let both = |a: &IpAddr| dual && a.is_unspecified() && a.is_ipv6();
    if local.iter().any(|a| a.is_ipv4() == ip.is_ipv4() || both(a)) {
        return Ok(());
    }
    wrong("there is no --local address of its family (IPv4, IPv6)")
}

/// How messages call an address: with its UDP port, unless there is none.
pub(crate) fn shown(common: &Common, address: SocketAddr) -> String {
    match common.carrier {
        CarrierKind::Udp => format!("UDP {address}"),
        CarrierKind::Raw => format!("IP {}", address.ip()),
    }
}

/// Adds what is to be observed.
pub(crate) async fn observe(common: &Common, config: &mut Config) -> Result<Observing, Failure> {
    let mut observing = common.observe.start().await.map_err(Failure::Usage)?;
    config.observer = observing.observer();
    config.sctp.association.trace = observing.trace;
    Ok(observing)
}

/// Serves metrics, if they are wanted, and says where.
pub(crate) fn serve_metrics(observing: &mut Observing, endpoint: &Endpoint) {
    if let Some(address) = observing.metrics_addr() {
        let _ = writeln!(io::stderr(), "metrics on http://{address}/metrics");
        observing.serve(endpoint.monitor());
    }
}

/// Splits `host:port`, `[v6]:port`, `host` or a bare address, also one with the interface of a link-local
/// address (`fe80::1%eth0`); the port may be missing.
fn split_host(text: &str) -> Result<(String, Option<u16>), Failure> {
    let wrong =
        || Failure::Usage(format!("\"{text}\" is no address: write HOST, HOST:PORT or [V6]:PORT"));
    let port = |text: &str| text.parse::<u16>().map(Some).map_err(|_| wrong());
    let bare = text.split_once('%').map_or(text, |(address, _)| address);
    if bare.parse::<IpAddr>().is_ok() {
        return Ok((text.to_owned(), None));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
        return match rest.strip_prefix(':') {
            Some(p) => Ok((host.to_owned(), port(p)?)),
            None if rest.is_empty() => Ok((host.to_owned(), None)),
            None => Err(wrong()),
        };
    }
    match text.split_once(':') {
        Some((host, p)) if !host.is_empty() => Ok((host.to_owned(), port(p)?)),
        None if !text.is_empty() => Ok((text.to_owned(), None)),
        _ => Err(wrong()),
    }
}

/// The address of a name; IPv4 and IPv6 as the system prefers. IPv4 addresses in the form of IPv6 ones are
/// those of IPv4.
pub(crate) async fn resolve(
    common: &Common,
    text: &str,
    default_port: u16,
) -> Result<SocketAddr, Failure> {
    let (host, port) = split_host(text)?;
    if port.is_some() && common.carrier == CarrierKind::Raw {
        return Err(Failure::Usage(format!(
            "{text}: there are no UDP ports with --carrier raw: write {host}"
        )));
    }
    let wrong = |why: String| Failure::Usage(format!("{host}: {why}"));
    let mut found = tokio::net::lookup_host((host.as_str(), port.unwrap_or(default_port)))
        .await
        .map_err(|e| wrong(format!("not found ({e})")))?;
    let found = found.next().ok_or_else(|| wrong("has no address".into()))?;
    Ok(match found.ip().to_canonical() {
        IpAddr::V4(v4) => (v4, found.port()).into(),
        IpAddr::V6(_) => found, // With its scope.
    })
}

/// The address that serves IPv6 and IPv4, or IPv4 alone on a host without IPv6.
pub(crate) fn all_addresses(port: u16) -> SocketAddr {
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        (Ipv6Addr::UNSPECIFIED, port).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, port).into()
    }
}

/// The local address from which packets to `peer` leave, with a free port. Found by connecting a
/// UDP socket, which sends nothing.
pub(crate) fn route_to(peer: SocketAddr) -> SocketAddr {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let local = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(peer)?;
        socket.local_addr()
    });
    match local {
        Ok(mut local) => {
            local.set_port(0);
            local
        }
        Err(_) => any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_split() {
        for (text, host, port) in [
            ("host", "host", None),
            ("host:7", "host", Some(7)),
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:7", "192.0.2.1", Some(7)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:7", "2001:db8::1", Some(7)),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[fe80::1%eth0]:7", "fe80::1%eth0", Some(7)),
        ] {
            assert_eq!(split_host(text), Ok((host.to_owned(), port)), "{text}");
        }
        for wrong in ["", ":7", "host:", "host:x", "host:99999", "[::1", "[::1]7", "a:b:c"] {
            assert!(split_host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn wildcards_stand_alone() {
        let list = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        for (given, bound) in [
            (&["0.0.0.0:7", "[::]:7"][..], &["[::]:7"][..]),
            (&["[::]:7"], &["[::]:7"]),
            (&["0.0.0.0:7", "[::1]:7"], &["0.0.0.0:7", "[::1]:7"]),
            (&["10.0.0.1:7", "[::1]:7"], &["10.0.0.1:7", "[::1]:7"]),
        ] {
            assert_eq!(without_overlap(list(given)), Ok(list(bound)));
        }
        for wrong in
            [&["0.0.0.0:7", "10.0.0.1:7"][..], &["[::]:7", "10.0.0.1:7"], &["[::1]:7", "[::]:7"]]
        {
            assert!(without_overlap(list(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn peers_are_hosts_that_can_be_reached() {
        let udp = |text: &str| Carrier::Udp { local: vec![text.parse().unwrap()] };
        let check = |carrier: &Carrier, peer: &str| check_peer(carrier, peer.parse().unwrap());
        for wrong in
            ["0.0.0.0:1", "224.0.0.1:1", "[::]:1", "[ff02::1]:1", "[fe80::1]:1", "10.0.0.1:0"]
        {
            assert!(check(&udp("[::]:0"), wrong).is_err(), "{wrong}");
        }
        assert_eq!(check(&udp("[::]:0"), "10.0.0.1:1"), Ok(()));
        assert_eq!(check(&udp("[::]:0"), "[fe80::1%3]:1"), Ok(()));
        assert!(check(&udp("[::1]:0"), "10.0.0.1:1").is_err());
        let raw = Carrier::RawIp { local: vec!["::".parse().unwrap()] };
        assert!(check(&raw, "10.0.0.1:1").is_err());
    }

    #[test]
    fn loopback_routes_to_itself() {
        let local = route_to("127.0.0.1:9899".parse().unwrap());
        assert_eq!(local, "127.0.0.1:0".parse().unwrap());
    }
}
