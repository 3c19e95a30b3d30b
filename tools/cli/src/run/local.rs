//! `--local`: the addresses that packets leave from.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// The addresses, with their interfaces if they are link-local.
///
/// # Errors
///
/// One line that says what is right.
pub(super) fn addresses(texts: &[String], udp: bool) -> Result<Vec<SocketAddr>, String> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for text in texts {
        let address = parse(text, udp).map_err(|why| format!("--local {text}: {why}"))?;
        if all.contains(&address) {
            return Err(format!("--local {text}: that address is named twice"));
        }
        all.push(address);
    }
    // Over UDP `::` is IPv4 as well.
    let covers = |wide: &SocketAddr, other: &SocketAddr| {
        wide != other
            && wide.ip().is_unspecified()
            && (wide.is_ipv4() == other.is_ipv4() || (udp && wide.is_ipv6()))
    };
    match all.iter().find(|wide| all.iter().any(|other| covers(wide, other))) {
        Some(wide) => {
            Err(format!("--local {}: that is every address already: give it alone", wide.ip()))
        }
        None => Ok(all),
    }
}

fn parse(text: &str, udp: bool) -> Result<SocketAddr, String> {
    let (bare, interface) = text.split_once('%').unzip();
    let ip: IpAddr = bare.unwrap_or(text).parse().map_err(|_| "that is no IP address")?;
    if ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST) {
        return Err("that is the address of no host".into());
    }
    let IpAddr::V6(v6) = ip else {
        let plain = SocketAddr::new(ip, 0);
        return interface.map_or(Ok(plain), |_| Err(format!("IPv4 has no interface: write {ip}")));
    };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return Err(format!("that is an address of IPv4: write {v4}"));
    }
    if !v6.is_unicast_link_local() {
        let plain = SocketAddr::new(ip, 0);
        return interface.map_or(Ok(plain), |_| {
            Err(format!("only a link-local address has an interface: write {ip}"))
        });
    }
    if !udp {
        return Err("a link-local address cannot be bound with --carrier raw".into());
    }
    let Some(interface) = interface else {
        return Err(format!("a link-local address needs its interface: write {ip}%INTERFACE"));
    };
    let found = (text, 0).to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| format!("there is no interface {interface}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str], udp: bool) -> Result<Vec<SocketAddr>, String> {
        addresses(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), udp)
    }

    #[test]
    fn what_cannot_be_bound_is_told_in_a_line() {
        for (texts, word) in [
            (&["224.0.0.1"][..], "of no host"),
            (&["255.255.255.255"], "of no host"),
            (&["ff02::1"], "of no host"),
            (&["here"], "no IP address"),
            (&["fe80::1"], "fe80::1%INTERFACE"),
            (&["fe80::1%nowhere"], "no interface nowhere"),
            (&["::1%lo"], "write ::1"),
            (&["127.0.0.1%lo"], "write 127.0.0.1"),
            (&["::ffff:127.0.0.1"], "write 127.0.0.1"),
            (&["127.0.0.1", "127.0.0.1"], "named twice"),
            (&["127.0.0.1", "0.0.0.0"], "every address already"),
            (&["::", "127.0.0.1"], "every address already"),
        ] {
            let error = of(texts, true).unwrap_err();
            assert!(error.starts_with("--local ") && error.contains(word), "{error}");
        }
        assert!(of(&["fe80::1%lo"], false).unwrap_err().contains("--carrier raw"));
    }

    #[test]
    fn the_others_are_bound_as_they_are() {
        for udp in [true, false] {
            let all = of(&["127.0.0.1", "::1"], udp).unwrap();
            assert_eq!(all, ["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()]);
        }
        assert_eq!(of(&["0.0.0.0", "::1"], true).unwrap().len(), 2);
        assert_eq!(of(&["0.0.0.0", "::"], false).unwrap().len(), 2, "raw IP");
        #[cfg(target_os = "linux")]
        if let [SocketAddr::V6(address)] = of(&["fe80::1%lo"], true).unwrap()[..] {
            assert_ne!(address.scope_id(), 0);
        }
    }
}
