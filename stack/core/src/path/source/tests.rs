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
    assert_eq!(listed("2001:db8::9"), ips(["2001:db8::1"]), "who knows what 192.168.1.1 is there");
    assert_eq!(listed("192.0.2.9"), ips(["2001:db8::1"]));
    assert_eq!(listed("127.0.0.1"), ips(["127.0.0.1", "::1"]));
    assert_eq!(listed("::1"), ips(["::1", "127.0.0.1"]));
    assert_eq!(listed("fe80::9"), ips(["fe80::7", "2001:db8::1", "192.168.1.1"]));
    assert_eq!(listed("169.254.9.9"), ips(["169.254.3.3", "192.168.1.1", "2001:db8::1"]));
    assert_eq!(listed("0.0.0.0"), ips([]));
}

#[test]
fn private_addresses_are_those_of_their_networks() {
    let private = ["10.0.0.1", "172.31.0.1", "192.168.0.1", "100.64.0.1", "100.127.0.1", "fd00::1"];
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
        leaving: Vec::new(),
        deleted: Vec::new(),
        declined: Vec::new(),
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
    assert_eq!(Sources::of(&one, &[], &[peer], Families::Both).told(peer, None), ips(["fd99::1"]));
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
