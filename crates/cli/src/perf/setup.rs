//! From the command line to an endpoint.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use tresse::{AssociationConfig, Carrier, Config, Endpoint, Profile};

use super::args::{CarrierKind, Common, PathUse};
use super::outcome::Failure;
use super::protocol::{MAX_SIZE, MAX_STREAMS};
use crate::observe::Observing;

/// The profile with its changes.
pub(crate) fn profile(common: &Common) -> Result<Arc<Profile>, Failure> {
    let usage = |e: tresse::ProfileError| Failure::Usage(e.to_string());
    let mut profile = Profile::named(&common.profile).map_err(usage)?;
    for text in &common.parameters {
        let table = parameter(text).ok_or_else(|| {
            Failure::Usage(format!("--set {text}: write key=value, such as rto.min_ms=100"))
        })?;
        profile = profile
            .with_override_table(table)
            .map_err(|e| Failure::Usage(format!("--set {text}: {e}")))?;
    }
    Ok(Arc::new(profile))
}

/// Reads `key=value`; what is no TOML value is a word.
fn parameter(text: &str) -> Option<toml::Table> {
    let (key, value) = text.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || value.is_empty() || value.contains('\n') || !key.chars().all(plain) {
        return None;
    }
    let word = || format!("{key} = {}", toml::Value::from(value)).parse().ok();
    format!("{key} = {value}").parse().ok().or_else(word)
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
        no_delay: !common.nagle,
        concurrent_transfer: common.paths == PathUse::All,
        ..AssociationConfig::default()
    }
}

/// The carrier that was asked for, on the addresses of `local` or else on `default`.
pub(crate) async fn carrier(
    common: &Common,
    local: &[String],
    default: SocketAddr,
) -> Result<Carrier, Failure> {
    let mut addresses = Vec::new();
    for text in local {
        addresses.push(resolve(text, default.port()).await?);
    }
    if addresses.is_empty() {
        addresses.push(default);
    }
    Ok(match common.carrier {
        CarrierKind::Udp => Carrier::Udp { local: addresses },
        CarrierKind::Raw => {
            Carrier::RawIp { local: addresses.iter().map(SocketAddr::ip).collect() }
        }
    })
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

/// Splits `host:port`, `[v6]:port`, `host` or a bare address; the port may be missing.
pub(crate) fn split_host(text: &str, default_port: u16) -> Result<(String, u16), Failure> {
    let wrong =
        || Failure::Usage(format!("\"{text}\" is no address: write HOST, HOST:PORT or [V6]:PORT"));
    let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    if text.parse::<IpAddr>().is_ok() {
        return Ok((text.to_owned(), default_port));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
        return match rest.strip_prefix(':') {
            Some(p) => Ok((host.to_owned(), port(p)?)),
            None if rest.is_empty() => Ok((host.to_owned(), default_port)),
            None => Err(wrong()),
        };
    }
    match text.split_once(':') {
        Some((host, p)) if !host.is_empty() => Ok((host.to_owned(), port(p)?)),
        None if !text.is_empty() => Ok((text.to_owned(), default_port)),
        _ => Err(wrong()),
    }
}

/// The address of a name; IPv4 and IPv6 as the system prefers.
pub(crate) async fn resolve(text: &str, default_port: u16) -> Result<SocketAddr, Failure> {
    let (host, port) = split_host(text, default_port)?;
    let wrong = |why: String| Failure::Usage(format!("{host}: {why}"));
    let mut found = tokio::net::lookup_host((host.as_str(), port))
        .await
        .map_err(|e| wrong(format!("not found ({e})")))?;
    found.next().ok_or_else(|| wrong("has no address".into()))
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
            ("host", "host", 9899),
            ("host:7", "host", 7),
            ("192.0.2.1", "192.0.2.1", 9899),
            ("192.0.2.1:7", "192.0.2.1", 7),
            ("2001:db8::1", "2001:db8::1", 9899),
            ("[2001:db8::1]", "2001:db8::1", 9899),
            ("[2001:db8::1]:7", "2001:db8::1", 7),
        ] {
            assert_eq!(split_host(text, 9899), Ok((host.to_owned(), port)), "{text}");
        }
        for wrong in ["", ":7", "host:", "host:x", "host:99999", "[::1", "[::1]7", "a:b:c"] {
            assert!(split_host(wrong, 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_are_values_or_words() {
        let table = parameter("rto.min_ms = 100").unwrap();
        assert_eq!(table["rto"]["min_ms"].as_integer(), Some(100));
        let table = parameter("congestion.algorithm=rfc9260").unwrap();
        assert_eq!(table["congestion"]["algorithm"].as_str(), Some("rfc9260"));
        for wrong in ["", "rto.min_ms", "=3", "a b=3", "a=", "a=1\nb=2", "..=3"] {
            assert_eq!(parameter(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn loopback_routes_to_itself() {
        let local = route_to("127.0.0.1:9899".parse().unwrap());
        assert_eq!(local, "127.0.0.1:0".parse().unwrap());
    }
}
