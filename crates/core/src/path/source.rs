//! Which of our addresses can be told to a peer, and which one a path is used from.
//!
//! RFC 9260 §5.1.2: an endpoint lists the addresses that its peer may use as destinations and see as
//! sources. So every packet of an association leaves from an address that the peer knows of; a packet
//! from any other would be out of the blue there (§8.4).

use std::net::IpAddr;

/// So many of our addresses are listed at most: others believe no more of them either (RFC 5062 §3).
const MAX_LISTED: usize = 16;

/// How far an address reaches (RFC 4007 §4, RFC 3927).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    /// Not the address of any one host.
    None,
    Loopback,
    LinkLocal,
    /// Global, or private: from there the world behind a NAT can be reached.
    Wide,
}

fn scope(address: IpAddr) -> Scope {
    let (none, link_local) = match address {
        IpAddr::V4(a) => {
            (a.is_unspecified() || a.is_multicast() || a.is_broadcast(), a.is_link_local())
        }
        // §3.3.2.1.2: an IPv4-mapped address MUST NOT be used.
        IpAddr::V6(a) => (
            a.is_unspecified() || a.is_multicast() || a.to_ipv4_mapped().is_some(),
            a.is_unicast_link_local(),
        ),
    };
    match (none, address.is_loopback(), link_local) {
        (true, ..) => Scope::None,
        (_, true, _) => Scope::Loopback,
        (_, _, true) => Scope::LinkLocal,
        _ => Scope::Wide,
    }
}

/// Whether an address can be that of one host.
pub(crate) fn is_usable(address: IpAddr) -> bool {
    scope(address) != Scope::None
}

/// Whether a packet from `local` can reach `remote`, and an answer come back.
pub(crate) fn reaches(local: IpAddr, remote: IpAddr) -> bool {
    local.is_ipv4() == remote.is_ipv4()
        && match (scope(local), scope(remote)) {
            (Scope::None, _) | (_, Scope::None) => false,
            // A host elsewhere cannot be reached over our loopback interface (RFC 5062 §3).
            (Scope::Loopback, to) => to == Scope::Loopback,
            (Scope::LinkLocal, to) => to == Scope::LinkLocal,
            (Scope::Wide, to) => to != Scope::Loopback,
        }
}

/// Whether a peer at `remotes` may be told of `local`: it can reach it from one of them at least, if it
/// has an address of that family. What one cannot reach may not be ours there.
fn is_in_scope(local: IpAddr, remotes: &[IpAddr]) -> bool {
    remotes.iter().any(|remote| match (scope(local), scope(*remote)) {
        (Scope::None, _) | (_, Scope::None) => false,
        (from, Scope::Loopback) => from == Scope::Loopback,
        (Scope::Loopback, _) => false,
        (Scope::LinkLocal, _) => reaches(local, *remote),
        (Scope::Wide, _) => true,
    })
}

/// So many addresses that the host has lost are remembered at most.
const MAX_GONE: usize = 256;

/// The addresses of our host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    present: Vec<IpAddr>,
    /// Those that it had, and has no more. One that was never told of may well be there: a host answers
    /// at all of 127.0.0.0/8, and at whatever its routes say.
    gone: Vec<IpAddr>,
}

impl Host {
    /// The host after its addresses have changed to `present`.
    pub(crate) fn changed(&self, present: &[IpAddr]) -> Host {
        let lost = self.gone.iter().chain(&self.present).filter(|a| !present.contains(a));
        let mut gone: Vec<IpAddr> = lost.copied().collect();
        gone.drain(..gone.len().saturating_sub(MAX_GONE));
        Host { present: present.to_vec(), gone }
    }

    /// Whether it is known to have lost the address.
    pub(crate) fn has_lost(&self, address: IpAddr) -> bool {
        self.gone.contains(&address)
    }

    /// What a peer at `remotes` is to be told by a socket that is bound to `bound`; if that is empty, to
    /// a wildcard, which means every address of the host (§5.1.2).
    pub(crate) fn listed(&self, bound: &[IpAddr], remotes: &[IpAddr]) -> Vec<IpAddr> {
        let all = if bound.is_empty() { &self.present } else { bound };
        let mut listed: Vec<IpAddr> = Vec::new();
        for address in all {
            let fits = !self.has_lost(*address) && is_in_scope(*address, remotes);
            if fits && !listed.contains(address) {
                listed.push(*address);
            }
        }
        // Those that reach the peer are the first ones.
        listed.sort_by_key(|l| !remotes.iter().any(|r| reaches(*l, *r)));
        listed.truncate(MAX_LISTED);
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips<const N: usize>(text: [&str; N]) -> Vec<IpAddr> {
        text.map(|a| a.parse().unwrap()).to_vec()
    }

    fn host() -> Host {
        Host::default().changed(&ips([
            "127.0.0.1",
            "::1",
            "fe80::7",
            "0.0.0.0",
            "224.0.0.1",
            "::ffff:9.9.9.9",
            "169.254.3.3",
            "2001:db8::1",
            "192.168.1.1",
        ]))
    }

    #[test]
    fn a_wildcard_means_the_addresses_that_the_peer_can_reach() {
        let listed = |to| host().listed(&[], &ips([to]));
        assert_eq!(listed("10.0.0.9"), ips(["192.168.1.1", "2001:db8::1"]));
        assert_eq!(listed("2001:db8::9"), ips(["2001:db8::1", "192.168.1.1"]));
        assert_eq!(listed("127.0.0.1"), ips(["127.0.0.1", "::1"]));
        assert_eq!(listed("::1"), ips(["::1", "127.0.0.1"]));
        assert_eq!(listed("fe80::9"), ips(["fe80::7", "2001:db8::1", "192.168.1.1"]));
        assert_eq!(listed("169.254.9.9"), ips(["169.254.3.3", "192.168.1.1", "2001:db8::1"]));
        assert_eq!(listed("0.0.0.0"), ips([]));
    }

    #[test]
    fn a_bound_address_is_listed_unless_the_host_has_lost_it() {
        let (bound, to) = (ips(["10.1.0.1", "192.168.1.1", "::1"]), ips(["10.1.0.2"]));
        assert_eq!(Host::default().listed(&bound, &to), ips(["10.1.0.1", "192.168.1.1"]));
        let without = host().changed(&ips(["127.0.0.1"]));
        assert_eq!(without.listed(&bound, &to), ips(["10.1.0.1"]), "it was never told of");
        let back = without.changed(&ips(["192.168.1.1"]));
        assert_eq!(back.listed(&bound, &to), ips(["10.1.0.1", "192.168.1.1"]));
    }

    #[test]
    fn loopback_and_links_are_not_left() {
        let pairs = [
            ("10.0.0.1", "10.0.0.2", true),
            ("10.0.0.1", "8.8.8.8", true),
            ("10.0.0.1", "2001:db8::1", false),
            ("127.0.0.1", "127.0.0.9", true),
            ("127.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "127.0.0.1", false),
            ("fe80::1", "fe80::2", true),
            ("fe80::1", "2001:db8::1", false),
            ("2001:db8::1", "fe80::1", true),
            ("10.0.0.1", "255.255.255.255", false),
            ("::ffff:10.0.0.1", "2001:db8::1", false),
        ];
        for (local, remote, expected) in pairs {
            let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
            assert_eq!(reaches(local, remote), expected, "{local} {remote}");
        }
    }
}
