//! Which of our addresses can be told to a peer, and which one a path is used from.
//!
//! RFC 9260 §5.1.2: an endpoint lists the addresses that its peer may use as destinations and see as
//! sources. So every packet of an association leaves from an address that the peer knows of; a packet
//! from any other would be out of the blue there (§8.4).

use std::net::IpAddr;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::config::Families;

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

/// Whether an address means something else, or nothing, in other networks: private ones (RFC 1918), those
/// of a carrier's NAT (RFC 6598), and unique local ones (RFC 4193).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_private() || (a.octets()[0] == 100 && a.octets()[1] & 0xc0 == 64),
        IpAddr::V6(a) => a.is_unique_local(),
    }
}

//= RFC 6951 3.2-3 5.7-1
/// RFC 6951 §5.7: "IP addresses that might require translation MUST NOT be put into any SCTP packet."
/// A private one does where the peer is out in the world, as `remote` says.
fn needs_translation(local: IpAddr, remote: Option<&IpAddr>) -> bool {
    is_private(local) && remote.is_some_and(|r| scope(*r) == Scope::Wide && !is_private(*r))
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
    /// a wildcard, which means every address of the host (§5.1.2) that needs no translation on the way to
    /// the first of `remotes`.
    fn listed(&self, bound: &[IpAddr], remotes: &[IpAddr], families: Families) -> Vec<IpAddr> {
        let wildcard = bound.is_empty();
        let all = if wildcard { &self.present } else { bound };
        let mut listed: Vec<IpAddr> = Vec::new();
        for address in all {
            let fits = families.include(*address)
                && !self.has_lost(*address)
                && is_in_scope(*address, remotes)
                && !(wildcard && needs_translation(*address, remotes.first()));
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

/// So many addresses of ours are known to one peer at most: those listed, and those that it has used.
const MAX_KNOWN: usize = 2 * MAX_LISTED;

/// Our addresses as one association sees them.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// What the peer was told, and where it sent packets of the handshake to.
    known: Vec<IpAddr>,
    /// So many of these, the first ones, are those to list.
    listed: usize,
    /// Bound to a wildcard.
    wildcard: bool,
    /// Those of addresses that the association has, on either side.
    families: Families,
    host: Arc<Host>,
}

impl Sources {
    /// Those of a socket that is bound to `bound`, or to a wildcard if that is empty, for a peer at
    /// `remotes`; the first of them is where it is called, or has called from.
    pub(crate) fn of(
        host: &Arc<Host>,
        bound: &[IpAddr],
        remotes: &[IpAddr],
        families: Families,
    ) -> Sources {
        let known = host.listed(bound, remotes, families);
        let (listed, wildcard) = (known.len(), bound.is_empty());
        Sources { known, listed, wildcard, families, host: Arc::clone(host) }
    }

    /// The addresses that the peer knows of; empty as long as the system chooses one unseen.
    pub(crate) fn known(&self) -> &[IpAddr] {
        &self.known
    }

    //= RFC 6951 3.2-1
    /// What INIT or INIT ACK to `remote` lists; nothing if there is a single one, which the source address
    /// shows: that is `from`, or what is chosen for `remote` if nothing gets there from `from`.
    pub(crate) fn told(&self, remote: IpAddr, from: Option<IpAddr>) -> Vec<IpAddr> {
        let from = from.filter(|from| reaches(*from, remote));
        let learned = self.known.iter().skip(self.listed);
        let learned = learned.filter(|l| !needs_translation(**l, Some(&remote)));
        let told: Vec<IpAddr> =
            self.known.iter().take(self.listed).chain(learned).copied().collect();
        match told[..] {
            [only] if from.map_or(self.ranked(remote).contains(&only), |from| from == only) => {
                Vec::new()
            }
            _ => told,
        }
    }

    /// The peer sent a packet of the handshake to this address.
    pub(crate) fn learn(&mut self, address: IpAddr) {
        if is_usable(address) && !self.knows(address) && self.known.len() < MAX_KNOWN {
            self.known.push(address);
        }
    }

    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        self.known.contains(&address)
    }

    /// The host has other addresses now.
    pub(crate) fn set_host(&mut self, host: Arc<Host>) {
        self.host = host;
    }

    pub(crate) fn has_lost(&self, address: IpAddr) -> bool {
        self.host.has_lost(address)
    }

    /// Whether there is a source for `remote`, now or when our host gets an address back.
    pub(crate) fn reach(&self, remote: IpAddr) -> bool {
        self.families.include(remote)
            && (self.known.is_empty() || self.known.iter().any(|l| reaches(*l, remote)))
    }

    /// Whether the system can choose a source for `remote` that cannot be listed: the peer will see another
    /// one instead, that of a NAT.
    pub(crate) fn reach_unseen(&self, remote: IpAddr) -> bool {
        let present = || self.host.present.iter().any(|l| reaches(*l, remote));
        self.families.include(remote)
            && (self.is_for_system(remote) || (self.wildcard && present()))
    }

    /// Whether only the system can choose well: RFC 6724 §5 rule 2 has a link-local address call a
    /// link-local one, and which one belongs to that link nobody knows here until the peer has answered.
    fn is_for_system(&self, remote: IpAddr) -> bool {
        let is = |a: &IpAddr| matches!(a, IpAddr::V6(a) if a.is_unicast_link_local());
        self.wildcard && is(&remote) && !self.known.iter().any(is)
    }

    /// Whether `remote` is an address of our own host, where a peer elsewhere cannot be: it listed one
    /// that many hosts have, such as that of a bridge between containers.
    pub(crate) fn is_own(&self, remote: IpAddr) -> bool {
        self.host.present.contains(&remote)
    }

    /// The sources for `remote`, the best ones first; those that the host has lost only if there is
    /// no other. What shares the longest prefix comes first (RFC 6724 §5 rule 8).
    ///
    /// Where none of them may be listed the peer sees the source of our INIT, or that of a NAT: any will do,
    /// and one that no packet gets away from is left for the next like any other.
    fn ranked(&self, remote: IpAddr) -> SmallVec<[IpAddr; 4]> {
        if self.is_for_system(remote) {
            return SmallVec::new();
        }
        let unseen = self.wildcard && !self.known.iter().any(|l| reaches(*l, remote));
        let from = if unseen { &self.host.present } else { &self.known };
        let all = || from.iter().copied().filter(|l| reaches(*l, remote));
        let mut here: SmallVec<[IpAddr; 4]> = all().filter(|l| !self.has_lost(*l)).collect();
        if here.is_empty() {
            here = all().collect();
        }
        here.sort_by_key(|l| std::cmp::Reverse(common_prefix(*l, remote)));
        here
    }

    /// The source to begin with: of those that are equally near, the one that `used` counts least. `None`
    /// if there is no other than what the system chooses.
    pub(crate) fn best(&self, remote: IpAddr, used: impl Fn(IpAddr) -> usize) -> Option<IpAddr> {
        let ranked = self.ranked(remote);
        let nearest = common_prefix(*ranked.first()?, remote);
        let equal = ranked.into_iter().take_while(|l| common_prefix(*l, remote) == nearest);
        equal.min_by_key(|l| used(*l))
    }

    /// The other sources, in the order in which to try them after `last` has failed.
    pub(crate) fn others(&self, remote: IpAddr, last: Option<IpAddr>) -> SmallVec<[IpAddr; 4]> {
        let mut others = self.ranked(remote);
        if let Some(at) = others.iter().position(|l| Some(*l) == last) {
            others.rotate_left(at);
            others.remove(0);
        }
        others
    }

    /// The source to try after `last` has failed; `None` if there is no other.
    pub(crate) fn next(&self, remote: IpAddr, last: Option<IpAddr>) -> Option<IpAddr> {
        self.others(remote, last).first().copied()
    }
}

/// How many bits two addresses of one family have in common from the beginning.
fn common_prefix(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        // The rest names an interface, which says nothing of the way there (RFC 6724 §2.2).
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros().min(64),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let listed = |to| host().listed(&[], &ips([to]), Families::Both);
        assert_eq!(listed("10.0.0.9"), ips(["192.168.1.1", "2001:db8::1"]));
        assert_eq!(listed("fd00::9"), ips(["2001:db8::1", "192.168.1.1"]));
        assert_eq!(
            listed("2001:db8::9"),
            ips(["2001:db8::1"]),
            "who knows what 192.168.1.1 is there"
        );
        assert_eq!(listed("192.0.2.9"), ips(["2001:db8::1"]));
        assert_eq!(listed("127.0.0.1"), ips(["127.0.0.1", "::1"]));
        assert_eq!(listed("::1"), ips(["::1", "127.0.0.1"]));
        assert_eq!(listed("fe80::9"), ips(["fe80::7", "2001:db8::1", "192.168.1.1"]));
        assert_eq!(listed("169.254.9.9"), ips(["169.254.3.3", "192.168.1.1", "2001:db8::1"]));
        assert_eq!(listed("0.0.0.0"), ips([]));
    }

    #[test]
    fn private_addresses_are_those_of_their_networks() {
        let private =
            ["10.0.0.1", "172.31.0.1", "192.168.0.1", "100.64.0.1", "100.127.0.1", "fd00::1"];
        let global = ["9.9.9.9", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2001:db8::1"];
        let is = |a: &str| is_private(a.parse().unwrap());
        assert!(private.into_iter().all(is) && !global.into_iter().any(is));
    }

    //= RFC 6951 3.2-1 3.2-3 5.7-1
    #[test]
    fn what_needs_translation_is_not_told_unless_it_was_bound() {
        let host = Arc::new(host());
        let told = |bound: &[IpAddr], remote: &str, at: &str| {
            let remote = remote.parse().unwrap();
            let mut sources = Sources::of(&host, bound, &[remote], Families::Both);
            let at = at.parse().unwrap();
            sources.learn(at);
            assert!(sources.knows(at), "it can be answered from there");
            sources.told(remote, Some(at))
        };
        assert_eq!(told(&[], "192.0.2.9", "192.168.1.1"), ips(["2001:db8::1"]));
        assert_eq!(told(&[], "2001:db8::9", "2001:db8::1"), ips([]), "the source address shows it");
        assert_eq!(told(&[], "10.0.0.9", "192.168.1.1"), ips(["192.168.1.1", "2001:db8::1"]));
        let bound = ips(["192.168.1.1", "10.9.0.1"]);
        assert_eq!(told(&bound, "192.0.2.9", "192.168.1.1"), bound);
        let bound = ips(["10.9.0.1"]);
        assert_eq!(told(&bound, "192.0.2.9", "10.9.0.1"), ips([]));
        assert_eq!(told(&bound, "192.0.2.9", "192.168.1.1"), bound, "the source is another one");
        // A NAT will do where the system has a source that no one may be told of.
        let sources = Sources::of(&host, &[], &ips(["192.0.2.9"]), Families::Both);
        let v4 = "192.0.2.9".parse().unwrap();
        assert!(!sources.reach(v4) && sources.reach_unseen(v4));
        // The source of a packet is no address in it, and one that reaches nobody is left like any other.
        let source = sources.best(v4, |_| 0);
        assert_eq!(source, Some("192.168.1.1".parse().unwrap()), "not a link-local one");
        let two = Arc::new(host.changed(&ips(["192.168.1.1", "10.0.0.1", "127.0.0.1"])));
        let sources = Sources::of(&two, &[], &ips(["192.0.2.9", "10.0.0.9"]), Families::Both);
        assert!(sources.told(v4, None).is_empty());
        let private = "10.0.0.9".parse().unwrap();
        assert_eq!(sources.best(private, |_| 0), Some("10.0.0.1".parse().unwrap()));
        assert_eq!(
            sources.next(v4, Some("192.168.1.1".parse().unwrap())).map(|l| l.to_string()),
            Some("10.0.0.1".into())
        );
    }

    #[test]
    fn a_bound_address_is_listed_unless_the_host_has_lost_it() {
        let (bound, to) = (ips(["10.1.0.1", "192.168.1.1", "::1"]), ips(["10.1.0.2"]));
        assert_eq!(
            Host::default().listed(&bound, &to, Families::Both),
            ips(["10.1.0.1", "192.168.1.1"])
        );
        let without = host().changed(&ips(["127.0.0.1"]));
        assert_eq!(
            without.listed(&bound, &to, Families::Both),
            ips(["10.1.0.1"]),
            "it was never told of"
        );
        let back = without.changed(&ips(["192.168.1.1"]));
        assert_eq!(back.listed(&bound, &to, Families::Both), ips(["10.1.0.1", "192.168.1.1"]));
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

    fn sources(known: &[&str]) -> Sources {
        let known: Vec<IpAddr> = known.iter().map(|a| a.parse().unwrap()).collect();
        Sources {
            listed: known.len(),
            known,
            wildcard: true,
            families: Families::Both,
            host: Arc::default(),
        }
    }

    #[test]
    fn the_nearest_source_comes_first_and_equal_ones_share_the_paths() {
        let s = sources(&["10.2.0.1", "10.1.0.1", "fd00:1::1", "fd00:1::2"]);
        let best = |to: &str| s.best(to.parse().unwrap(), |_| 0).unwrap().to_string();
        assert_eq!(best("10.1.0.2"), "10.1.0.1");
        assert_eq!(best("10.2.0.2"), "10.2.0.1");
        assert_eq!(best("192.0.2.1"), "10.2.0.1", "the first one, if none is nearer");
        let taken = |l: IpAddr| usize::from(l == "fd00:1::1".parse::<IpAddr>().unwrap());
        let second = s.best("fd00:1::9".parse().unwrap(), taken).unwrap();
        assert_eq!(second.to_string(), "fd00:1::2");
        assert_eq!(sources(&["10.0.0.1"]).best("::5".parse().unwrap(), |_| 0), None);
    }

    #[test]
    fn sources_are_tried_in_turn_and_lost_ones_not_at_all() {
        let mut s = sources(&["10.1.0.1", "10.2.0.1", "10.3.0.1", "::7"]);
        let to = "10.2.0.2".parse().unwrap();
        let mut tried = vec![s.best(to, |_| 0)];
        for _ in 0..3 {
            tried.push(s.next(to, *tried.last().unwrap()));
        }
        let tried: Vec<String> = tried.iter().map(|l| l.unwrap().to_string()).collect();
        assert_eq!(tried, ["10.2.0.1", "10.3.0.1", "10.1.0.1", "10.2.0.1"]);
        let host = Host::default().changed(&ips(["10.1.0.1", "10.2.0.1", "10.3.0.1"]));
        s.set_host(Arc::new(host.changed(&ips(["10.1.0.1"]))));
        let only = "10.1.0.1".parse().ok();
        assert_eq!((s.best(to, |_| 0), s.next(to, only)), (only, None));
        s.set_host(Arc::new(host.changed(&[])));
        assert_eq!(s.best(to, |_| 0), "10.2.0.1".parse().ok(), "it may come back");
        assert!(s.reach(to) && !s.reach("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_link_local_peer_is_called_from_what_the_system_knows_of_that_link() {
        let host = Arc::new(Host::default().changed(&ips(["fd99::1", "fd99:1::1"])));
        let peer = "fe80::9".parse().unwrap();
        let mut sources = Sources::of(&host, &[], &[peer], Families::Both);
        assert_eq!((sources.best(peer, |_| 0), sources.next(peer, None)), (None, None));
        assert_eq!(sources.told(peer, None), ips(["fd99::1", "fd99:1::1"]));
        // It answers, so it knows that address.
        let ours = "fe80::1".parse().unwrap();
        sources.learn(ours);
        assert_eq!(sources.best(peer, |_| 0), Some(ours));
        // Its source does not show the only address that can be listed.
        let one = Arc::new(Host::default().changed(&ips(["fd99::1"])));
        assert_eq!(
            Sources::of(&one, &[], &[peer], Families::Both).told(peer, None),
            ips(["fd99::1"])
        );
        // A host without any address to list can call, too; whoever is bound has no other source.
        let none = Arc::new(Host::default().changed(&ips(["10.0.0.1"])));
        assert!(Sources::of(&none, &[], &[peer], Families::Both).reach_unseen(peer));
        let bound = Sources::of(&host, &ips(["fd99::1"]), &[peer], Families::Both);
        assert_eq!(bound.best(peer, |_| 0), Some("fd99::1".parse().unwrap()));
    }

    proptest! {
        /// Whatever a peer is told it can reach, and whatever is chosen it was told, unless nothing that it
        /// could be told reaches it.
        #[test]
        fn a_source_is_always_one_that_the_peer_knows(
            host in prop::collection::vec(any::<IpAddr>(), 0..20),
            lost in prop::collection::vec(any::<bool>(), 20),
            remotes in prop::collection::vec(any::<IpAddr>(), 1..6),
        ) {
            let all = Host::default().changed(&host);
            let listed = all.listed(&[], &remotes, Families::Both);
            prop_assert!(listed.len() <= MAX_LISTED);
            let left = host.iter().zip(lost).filter(|(_, lost)| !lost).map(|(a, _)| *a);
            let now = all.changed(&left.collect::<Vec<_>>());
            let mut s = Sources::of(&Arc::new(all), &[], &remotes, Families::Both);
            s.set_host(Arc::new(now.clone()));
            for remote in remotes {
                let unseen = !listed.iter().any(|l| reaches(*l, remote));
                let from = if unseen { &now.present } else { &listed };
                let first = s.best(remote, |_| 0);
                if s.is_for_system(remote) {
                    prop_assert_eq!(first, None);
                    continue;
                }
                prop_assert_eq!(first.is_some(), from.iter().any(|l| reaches(*l, remote)));
                // All are tried before one is tried again.
                let mut tried = Vec::new();
                let mut source = first;
                while let Some(l) = source.filter(|l| !tried.contains(l)) {
                    prop_assert!(from.contains(&l) && reaches(l, remote));
                    tried.push(l);
                    source = s.next(remote, Some(l));
                }
                let here = |l: &&IpAddr| reaches(**l, remote) && !now.has_lost(**l);
                let usable = from.iter().filter(here).count();
                prop_assert!(tried.len() == usable || usable == 0);
            }
        }
    }
}
