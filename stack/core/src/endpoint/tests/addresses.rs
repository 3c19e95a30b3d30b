//! Hosts with several addresses, of which some do not work, come and go, or are not known to the peer.
//! Unlike [`Pair`] the network here is not symmetrical: a test says which pairs of addresses work.

use std::collections::VecDeque;

use super::*;
use crate::{Families, MtuDiscovery, PathState, PathStats, PortConfig};

/// Whether a packet gets from one address to the other.
type Routes = Box<dyn Fn(IpAddr, IpAddr) -> bool>;

/// Two endpoints whose kernels choose a source as [`Net::system`] says.
struct Net {
    now: Time,
    ends: [Endpoint; 2],
    /// The source that the system takes when the endpoint names none.
    system: [IpAddr; 2],
    routes: Routes,
    wire: VecDeque<(Time, Side, IpAddr, IpAddr, Bytes)>,
    /// Source and destination of every packet.
    log: Vec<(Side, IpAddr, IpAddr)>,
    events: Vec<(Side, Event)>,
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ips(text: &[&str]) -> Vec<IpAddr> {
    text.iter().map(|a| ip(a)).collect()
}

/// An endpoint on a host; bound to a wildcard, unless to `bound`.
fn host(seed: u8, addresses: &[&str], bound: &[&str], config: &AssociationConfig) -> Endpoint {
    let config = EndpointConfig {
        local_addresses: ips(bound),
        accept: true,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let mut end = Endpoint::new(config, [seed; 32]);
    end.set_host_addresses(Time::ZERO, &ips(addresses));
    end
}

impl Net {
    fn new(a: Endpoint, z: Endpoint, system: [&str; 2]) -> Net {
        Net {
            now: Time::from_millis(1000),
            ends: [a, z],
            system: system.map(ip),
            routes: Box::new(|_, _| true),
            wire: VecDeque::new(),
            log: Vec::new(),
            events: Vec::new(),
        }
    }

    fn end(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize]
    }

    fn flush(&mut self) {
        for side in [Side::A, Side::Z] {
            let (now, mut buffer) = (self.now, Vec::new());
            while let Some(to) = self.end(side).poll_transmit(now, &mut buffer) {
                let source = to.source.unwrap_or(self.system[side as usize]);
                self.log.push((side, source, to.destination));
                if source.is_ipv4() == to.destination.is_ipv4()
                    && (self.routes)(source, to.destination)
                {
                    let packet = Bytes::copy_from_slice(&buffer);
                    let entry = (now + ms(10), side.other(), source, to.destination, packet);
                    self.wire.push_back(entry);
                }
            }
            while let Some((_, event)) = self.end(side).poll_event() {
                self.events.push((side, event));
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.flush();
        loop {
            let arrival = self.wire.front().map(|p| p.0);
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let next = [arrival, timers].into_iter().flatten().min();
            let Some(next) = next.filter(|t| *t <= end) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            if arrival == Some(next)
                && let Some((_, to, source, destination, packet)) = self.wire.pop_front()
            {
                let datagram =
                    Datagram { source, destination, encapsulation: None, ecn: Ecn::NotEct, packet };
                self.end(to).handle_datagram(now, datagram);
            } else {
                self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
            }
            self.flush();
        }
        self.now = end;
    }

    fn connect(&mut self, remotes: &[&str]) -> (AssociationId, AssociationId) {
        self.connect_as(remotes, &standard())
    }

    fn connect_as(
        &mut self,
        remotes: &[&str],
        config: &AssociationConfig,
    ) -> (AssociationId, AssociationId) {
        let now = self.now;
        let a = self.end(Side::A).connect(now, &ips(remotes), PORT, config.clone()).unwrap();
        self.run(secs(2));
        let z = self.end(Side::Z).associations().first().copied();
        (a, z.expect("the association is set up"))
    }

    fn paths(&self, side: Side, id: AssociationId) -> Vec<PathStats> {
        self.ends[side as usize].path_stats(id)
    }

    /// Local and remote address of each path.
    fn pairs(&self, side: Side, id: AssociationId) -> Vec<(String, String)> {
        let text = |a: Option<IpAddr>| a.map_or(String::new(), |a| a.to_string());
        let paths = self.paths(side, id);
        paths.iter().map(|p| (text(p.local), p.remote.to_string())).collect()
    }

    /// Sends data both ways for a while, and wants all of it there.
    fn exchange(&mut self, a: AssociationId, z: AssociationId, messages: u8, span: Duration) {
        for _ in 0..messages {
            let now = self.now;
            for (side, id) in [(Side::A, a), (Side::Z, z)] {
                let payload = Bytes::from(vec![7; 3000]);
                let sent =
                    self.end(side).send(now, id, StreamId(0), payload, SendOptions::default());
                sent.unwrap_or_else(|e| panic!("{side:?}: {e} {:?}", self.events.last()));
            }
            self.run(span / u32::from(messages));
        }
        self.run(secs(120));
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            let now = self.now;
            let got = std::iter::from_fn(|| self.end(side).recv(now, id)).count();
            assert_eq!(got, usize::from(messages), "{side:?} {:?}", self.events);
        }
    }

    /// No packet has left from an address that the peer does not know.
    fn check_sources(&self, side: Side, known: &[&str]) {
        let known = ips(known);
        for (from, source, destination) in self.log.iter().filter(|(s, ..)| *s == side) {
            assert!(known.contains(source), "{from:?} sent from {source} to {destination}");
        }
    }

    fn ended(&self) -> bool {
        self.events.iter().any(|(_, e)| matches!(e, Event::Closed(_)))
    }
}

fn pair(local: &str, remote: &str) -> (String, String) {
    (local.into(), remote.into())
}

#[test]
fn a_wildcard_lists_the_addresses_of_its_host() {
    // RFC 9260 §5.1.2.
    let a = host(1, &["127.0.0.1", "10.1.0.1", "10.2.0.1", "::1"], &[], &standard());
    let z = host(2, &["127.0.0.1", "10.2.0.2", "10.1.0.2", "fe80::3"], &[], &standard());
    let mut net = Net::new(a, z, ["10.2.0.1", "10.2.0.2"]);
    // The two networks do not know of each other.
    net.routes = Box::new(|from, to| match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => from.octets()[1] == to.octets()[1],
        _ => false,
    });
    let (a, z) = net.connect(&["10.1.0.2"]);
    net.run(secs(5));
    let expected = [pair("10.1.0.1", "10.1.0.2"), pair("10.2.0.1", "10.2.0.2")];
    assert_eq!(net.pairs(Side::A, a), expected);
    assert!(net.paths(Side::A, a).iter().all(|p| p.state == PathState::Active));
    assert!(net.paths(Side::Z, z).iter().all(|p| p.state == PathState::Active && p.errors == 0));
    net.exchange(a, z, 10, secs(2));
    net.check_sources(Side::A, &["10.1.0.1", "10.2.0.1"]);
    net.check_sources(Side::Z, &["10.1.0.2", "10.2.0.2"]);
}

#[test]
fn one_address_alone_is_not_listed() {
    // RFC 9260 §3.3.2.1.2: "Note that not using any IP Address parameters ... is a way to make an
    // association more likely to work in combination with Network Address Translation".
    let mut script = Script::with_end(host(1, &["127.0.0.1", "10.0.0.1", "::1"], &[], &standard()));
    let init = script.connect(&standard(), &addresses(Side::Z, 1));
    assert_eq!(init[0].to.source, Some(ip("10.0.0.1")));
    assert!(init[0].init().1.iter().all(|p| !matches!(p, tresse_wire::Parameter::Ipv4Address(_))));
}

#[test]
fn a_server_that_was_told_nothing_answers_from_where_it_was_called() {
    // A wildcard without known addresses: the kernel would send to 10.2.0.1 from 10.2.0.2, which the
    // client has never heard of.
    let a = host(1, &[], &["10.1.0.1", "10.2.0.1"], &standard());
    let z = host(2, &[], &[], &standard());
    let mut net = Net::new(a, z, ["10.1.0.1", "10.2.0.2"]);
    let (a, z) = net.connect(&["10.1.0.2"]);
    net.exchange(a, z, 20, secs(60));
    net.check_sources(Side::Z, &["10.1.0.2"]);
    let expected = [pair("10.1.0.2", "10.1.0.1"), pair("10.1.0.2", "10.2.0.1")];
    assert_eq!(net.pairs(Side::Z, z), expected);
    assert!(!net.ended() && net.paths(Side::Z, z).iter().all(|p| p.state == PathState::Active));
    assert_eq!(net.pairs(Side::A, a), [pair("10.1.0.1", "10.1.0.2")]);
}

#[test]
fn ends_of_two_families_and_of_one_get_along() {
    let a = host(1, &[], &["::1", "127.0.0.1"], &standard());
    let z = host(2, &[], &["127.0.0.1"], &standard());
    let mut net = Net::new(a, z, ["::1", "127.0.0.1"]);
    net.routes = Box::new(|from, to| from.is_ipv4() && to.is_ipv4());
    let (a, z) = net.connect(&["::1", "127.0.0.1"]);
    net.run(secs(100));
    assert_eq!(net.pairs(Side::A, a), [pair("127.0.0.1", "127.0.0.1")]);
    assert_eq!(net.pairs(Side::Z, z), [pair("127.0.0.1", "127.0.0.1")]);
    net.exchange(a, z, 5, secs(100));
    assert!(!net.ended());
}

/// RFC 9260 §5.1.2: "The other addresses MAY be ignored."
#[test]
fn an_association_of_one_family_knows_none_of_the_other() {
    let of_one = AssociationConfig { families: Families::V4, ..standard() };
    let port = |one_family| PortConfig { accept: true, one_family, ..PortConfig::default() };
    let (a4, z4) = (pair("10.1.0.1", "10.1.0.2"), pair("10.1.0.2", "10.1.0.1"));
    let both = standard();
    for (config, one_family) in [(&of_one, false), (&both, true), (&of_one, true)] {
        let a = host(1, &["10.1.0.1", "fd00::1"], &[], config);
        let z = host(2, &["10.1.0.2", "fd00::2"], &[], &standard());
        let mut net = Net::new(a, z, ["10.1.0.1", "10.1.0.2"]);
        net.end(Side::Z).open_port(PORT, port(one_family)).unwrap();
        let (a, z) = net.connect_as(&["10.1.0.2"], config);
        net.exchange(a, z, 20, secs(60));
        assert_eq!(net.pairs(Side::A, a), std::slice::from_ref(&a4), "{one_family}");
        assert_eq!(net.pairs(Side::Z, z), std::slice::from_ref(&z4), "{one_family}");
        assert!(!net.ended() && net.log.iter().all(|(_, from, to)| from.is_ipv4() && to.is_ipv4()));
    }
}

#[test]
fn addresses_of_our_own_host_are_none_of_a_peer_elsewhere() {
    // Both run containers behind a bridge of the same address.
    let both = |seed, own| host(seed, &[own, "172.17.0.1"], &[], &standard());
    let mut net = Net::new(both(1, "10.0.0.1"), both(2, "10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
    net.routes = Box::new(|from, to| from != to);
    let (a, z) = net.connect(&["10.0.0.2"]);
    assert_eq!(net.pairs(Side::A, a), [pair("10.0.0.1", "10.0.0.2")]);
    assert_eq!(net.pairs(Side::Z, z), [pair("10.0.0.2", "10.0.0.1")]);
    // On one host it is its own peer.
    let end = |seed| host(seed, &["10.0.0.1", "10.0.0.2"], &[], &standard());
    let mut net = Net::new(end(1), end(2), ["10.0.0.1", "10.0.0.1"]);
    let (a, _) = net.connect(&["10.0.0.1"]);
    assert_eq!(net.pairs(Side::A, a).len(), 2);
}

#[test]
fn as_long_as_one_pair_of_addresses_works_the_association_lives() {
    // Each of the nine pairs in turn is the only one that still works.
    let (ours, theirs) =
        (["10.1.0.1", "10.2.0.1", "10.3.0.1"], ["10.1.0.2", "10.2.0.2", "10.3.0.2"]);
    for (left, right) in ours.iter().flat_map(|l| theirs.map(|r| (ip(l), ip(r)))) {
        let a = host(1, &ours, &[], &standard());
        let z = host(2, &theirs, &[], &standard());
        let mut net = Net::new(a, z, ["10.1.0.1", "10.1.0.2"]);
        let (a, z) = net.connect(&["10.1.0.2"]);
        net.run(secs(40));
        net.routes =
            Box::new(move |from, to| [from, to] == [left, right] || [from, to] == [right, left]);
        net.exchange(a, z, 10, secs(200));
        assert!(!net.ended(), "{left} {right}: {:?}", net.events);
        net.check_sources(Side::A, &ours);
        net.check_sources(Side::Z, &theirs);
    }
}

//= RFC 9260 7.2.5-1 7.2.5.2-1
#[test]
fn a_new_source_begins_with_a_new_window() {
    // RFC 9260 §7.2.5.2: "MUST be reset to their initial values".
    // Nor is it known what fits the other way (RFC 8899 §3, 9).
    let searching = AssociationConfig { mtu_discovery: MtuDiscovery::probes(1500), ..standard() };
    let a = host(1, &["10.1.0.1", "10.2.0.1"], &[], &standard());
    let z = host(2, &["10.9.0.2"], &[], &standard());
    let mut net = Net::new(a, z, ["10.1.0.1", "10.9.0.2"]);
    let (a, z) = net.connect_as(&["10.9.0.2"], &searching);
    let initial = net.paths(Side::A, a)[0].cwnd;
    net.run(secs(20));
    net.exchange(a, z, 100, ms(1));
    let path = net.paths(Side::A, a).remove(0);
    assert!(path.cwnd > initial);
    assert_eq!(path.mtu, 1500);
    let now = net.now;
    net.end(Side::A).set_host_addresses(now, &ips(&["10.2.0.1"]));
    let path = net.paths(Side::A, a).remove(0);
    assert_eq!((path.local, path.cwnd, path.mtu), (Some(ip("10.2.0.1")), initial, 1280));
}

#[test]
fn an_address_that_vanishes_is_left_at_once_and_taken_up_again() {
    let a = host(1, &["10.1.0.1", "10.2.0.1"], &[], &standard());
    let z = host(2, &["10.1.0.2", "10.2.0.2"], &[], &standard());
    let mut net = Net::new(a, z, ["10.1.0.1", "10.1.0.2"]);
    let (a, z) = net.connect(&["10.1.0.2"]);
    net.run(secs(40));
    let now = net.now;
    net.end(Side::A).set_host_addresses(now, &ips(&["10.2.0.1"]));
    let gone = ip("10.1.0.1");
    net.routes = Box::new(move |from, to| from != gone && to != gone);
    let expected = [pair("10.2.0.1", "10.1.0.2"), pair("10.2.0.1", "10.2.0.2")];
    assert_eq!(net.pairs(Side::A, a), expected);
    let before = net.log.len();
    net.exchange(a, z, 10, secs(100));
    assert!(net.log[before..].iter().all(|(_, source, _)| *source != gone));
    assert!(!net.ended());
    // Both are gone for a while: what there was is kept until it is back.
    let now = net.now;
    net.end(Side::A).set_host_addresses(now, &[]);
    net.routes = Box::new(|_, _| false);
    net.run(secs(20));
    let now = net.now;
    net.end(Side::A).set_host_addresses(now, &ips(&["10.1.0.1"]));
    let back = ip("10.1.0.1");
    net.routes = Box::new(move |from, to| from == back || to == back);
    net.exchange(a, z, 10, secs(100));
    assert!(!net.ended(), "{:?}", net.events);
}

#[test]
fn a_path_that_works_again_leaves_from_its_own_network_again() {
    let (near, far) = (["10.0.0.1", "10.1.0.1"], ["10.0.0.2", "10.1.0.2"]);
    let config = standard();
    let mut net = Net::new(
        host(1, &near, &near, &config),
        host(2, &far, &far, &config),
        ["10.0.0.1", "10.0.0.2"],
    );
    let (a, _) = net.connect(&far);
    let own = near.iter().zip(far).map(|(local, remote)| pair(local, remote)).collect::<Vec<_>>();
    assert_eq!(net.pairs(Side::A, a), own);
    // The second network fails, and its path tries the source that it has beside its own one.
    let second = |ip: IpAddr| ip.to_string().starts_with("10.1.");
    net.routes = Box::new(move |from, to| !second(from) && !second(to));
    for _ in 0..600 {
        net.run(secs(1));
        if net.pairs(Side::A, a)[1].0 == "10.0.0.1" {
            break;
        }
    }
    assert_eq!(net.pairs(Side::A, a)[1].0, "10.0.0.1");
    // From there it works again, and is answered over the first network: that is not to last.
    net.routes = Box::new(|_, _| true);
    net.run(secs(120));
    assert_eq!(net.pairs(Side::A, a), own);
    assert!(net.paths(Side::A, a).iter().all(|path| path.state == PathState::Active));
}

#[test]
fn what_arrives_at_an_address_that_the_peer_was_not_told_of_does_not_make_it_a_source() {
    let mut script = Script::connected(&standard());
    let data = script::packet(script.tag, |w| script::write_data(w, script.next, 5));
    let datagram = Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: ip("10.99.0.1"),
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: data.into(),
    };
    script.end.handle_datagram(script.now, datagram);
    let sent = script.send(10);
    assert!(sent.iter().all(|p| p.to.source == Some(addresses(Side::A, 1)[0])), "{sent:?}");
}

#[test]
fn a_heartbeat_is_answered_from_where_it_arrived() {
    // The peer tries that pair of addresses, not ours.
    let local = addresses(Side::A, 2);
    let end = host(1, &[], &["10.0.0.1", "10.0.1.1"], &standard());
    let mut script = Script::with_end(end);
    script.connect(&standard(), &addresses(Side::Z, 1));
    script.init_ack();
    script.cookie_ack();
    for destination in [local[1], local[0]] {
        let packet = script::packet(script.tag, |w| w.heartbeat(b"hello?"));
        let datagram = Datagram {
            source: addresses(Side::Z, 1)[0],
            destination,
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: packet.into(),
        };
        script.end.handle_datagram(script.now, datagram);
        let sent = script.poll();
        assert_eq!(sent::only(&sent).to.source, Some(destination));
        // What we have to say ourselves leaves from where it did.
        let data = script.send(10);
        assert_eq!(sent::only(&data).to.source, Some(local[0]));
    }
}

#[test]
fn addresses_beyond_the_first_sixteen_are_heard() {
    // They have no path, but they are the peer's: neither ABORT nor silence is an answer.
    let all: Vec<IpAddr> = (2..40).map(|n| IpAddr::from([10, 0, 0, n])).collect();
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &all[1..]);
    let parameters = parameters.finish();
    script.join(&script::peer_fields(), &parameters);
    assert_eq!(script.end.path_stats(script.id).len(), 16);
    let data = script::packet(script.tag, |w| script::write_data(w, script.next, 5));
    let sent = script.give_from(all[30], data);
    assert!(sent.iter().all(|p| !p.carries(ChunkType::ABORT)));
    assert_eq!(script.end.recv(script.now, script.id).unwrap().payload.len(), 5);
    // After a crash of the peer they are no new addresses.
    let again = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    script.events.clear();
    script.join(&again, &parameters);
    assert_eq!(script.events, [Event::Restarted]);
    assert_eq!(script.end.path_stats(script.id).len(), 16);
}

#[test]
fn a_restart_keeps_only_the_paths_that_the_peer_still_has() {
    // RFC 9260 §5.2.4 A: what the new INIT does not list is not the peer's any more.
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 3)[1..]);
    script.join(&script::peer_fields(), &parameters.finish());
    assert_eq!(script.end.path_stats(script.id).len(), 3);
    let again = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 3)[2..]);
    script.join(&again, &parameters.finish());
    assert!(script.events.contains(&Event::Restarted));
    let remotes: Vec<_> = script.end.path_stats(script.id).iter().map(|p| p.remote).collect();
    assert_eq!(remotes, [addresses(Side::Z, 3)[0], addresses(Side::Z, 3)[2]]);
    // Who has the other address now may have an association of their own.
    let free = addresses(Side::Z, 3)[1];
    assert!(script.end.connect(script.now, &[free], PORT, standard()).is_ok());
}

#[test]
fn parameters_that_are_no_unicast_addresses_are_passed_over() {
    // RFC 9260 §3.3.2.1.2: "A sender MUST NOT use an IPv4-mapped IPv6 address".
    let end = host(1, &["10.0.0.1", "2001:db8::1", "127.0.0.1", "::1"], &[], &standard());
    let mut script = Script::with_end(end);
    let bad = ["::", "ff02::1", "::1", "127.0.0.1", "0.0.0.0", "224.0.0.1"];
    let mut parameters = ParameterWriter::new();
    for mapped in ["::ffff:127.0.0.1", "::ffff:10.0.0.7"] {
        let octets = mapped.parse::<std::net::Ipv6Addr>().unwrap().octets();
        parameters.raw(tresse_wire::ParameterType::IPV6_ADDRESS, &octets);
    }
    script::write_addresses(&mut parameters, &ips(&bad));
    script::write_addresses(&mut parameters, &ips(&["2001:db8::2"]));
    script.join(&script::peer_fields(), &parameters.finish());
    let remotes: Vec<_> = script.end.path_stats(script.id).iter().map(|p| p.remote).collect();
    assert_eq!(remotes, [addresses(Side::Z, 1)[0], ip("2001:db8::2")]);
}

#[test]
fn an_init_ack_for_an_association_says_what_it_was_set_up_with() {
    // RFC 9260 §5.2.1, §5.2.2: the parameters of the association, not those of its port.
    let config = AssociationConfig { adaptation: Some(99), receive_buffer: 70_000, ..standard() };
    let end = host(1, &["10.0.0.1", "10.0.1.1"], &[], &standard());
    let mut script = Script::with_end(end);
    script.connect(&config, &addresses(Side::Z, 1));
    let now = script.now;
    script.end.set_host_addresses(now, &ips(&["10.0.0.1", "10.0.1.1", "10.0.5.1"]));
    let other = InitFields { initiate_tag: VerificationTag(5), ..script::peer_fields() };
    let padding = ParameterWriter::new().padding(48).finish(); // For room in the answer.
    let sent = script.give_bytes(script::init_packet(&other, &padding));
    let (fields, parameters) = sent::only(&sent).init();
    assert_eq!(fields.a_rwnd, 70_000);
    let listed: Vec<String> = parameters
        .iter()
        .filter_map(|p| match p {
            tresse_wire::Parameter::Ipv4Address(a) => Some(a.to_string()),
            tresse_wire::Parameter::AdaptationLayerIndication(code) => Some(code.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(listed, ["10.0.0.1", "10.0.1.1", "99"]);
}

/// A packet of the scripted peer's address number `from` to any address.
fn deliver(script: &mut Script, from: usize, to: &str, packet: Vec<u8>) -> Vec<Sent> {
    script.give_datagram(Datagram {
        source: addresses(Side::Z, 2)[from],
        destination: ip(to),
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: packet.into(),
    })
}

/// The scripted peer, restarted, sends an INIT from one of its addresses; the COOKIE ECHO comes back.
fn offer(script: &mut Script, from: usize, to: &str) -> Vec<u8> {
    let again = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    let sent = deliver(script, from, to, script::init_packet(&again, &[]));
    let ack = sent::only(&sent);
    script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()))
}

/// The addresses that an INIT or INIT ACK lists.
fn listed(sent: &Sent) -> Vec<IpAddr> {
    let parameters = sent.init().1;
    let address = |p: &tresse_wire::Parameter<'_>| match p {
        tresse_wire::Parameter::Ipv4Address(a) => Some(IpAddr::V4(*a)),
        tresse_wire::Parameter::Ipv6Address(a) => Some(IpAddr::V6(*a)),
        _ => None,
    };
    parameters.iter().filter_map(address).collect()
}

#[test]
fn a_restart_is_answered_from_the_address_that_was_called() {
    // Our host has got another address since, which the peer was not told of.
    let mut script = Script::with_end(host(1, &["10.1.0.1"], &[], &standard()));
    let sent =
        deliver(&mut script, 0, "10.1.0.1", script::init_packet(&script::peer_fields(), &[]));
    let ack = sent::only(&sent);
    let echo = script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    deliver(&mut script, 0, "10.1.0.1", echo);
    script.id = script.end.associations()[0];
    let now = script.now;
    script.end.set_host_addresses(now, &ips(&["10.1.0.1", "10.2.0.1"]));

    let again = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    let sent = deliver(&mut script, 0, "10.2.0.1", script::init_packet(&again, &[]));
    let ack = sent::only(&sent);
    assert_eq!(listed(ack), ips(&["10.1.0.1", "10.2.0.1"]));
    let echo = script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    let sent = deliver(&mut script, 0, "10.2.0.1", echo);
    assert!(script.events.contains(&Event::Restarted));
    assert_eq!(sent::only(&sent).to.source, Some(ip("10.2.0.1")));
    let data = script.send(10);
    assert_eq!(sent::only(&data).to.source, Some(ip("10.2.0.1")));
}

#[test]
fn a_restart_confirms_the_address_that_the_init_ack_went_to() {
    // RFC 9260 §5.4 rule 2. That address was listed before, but no heartbeat had been answered there.
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 2)[1..]);
    script.join(&script::peer_fields(), &parameters.finish());
    assert_eq!(script.path(1).state, PathState::Unconfirmed);
    let echo = offer(&mut script, 1, "10.0.0.1");
    deliver(&mut script, 1, "10.0.0.1", echo);
    assert!(script.events.contains(&Event::Restarted));
    let path = script.path(0);
    assert_eq!((path.remote, path.state), (addresses(Side::Z, 2)[1], PathState::Active));
    assert!(script.send(10)[0].carries(ChunkType::DATA));
}

#[test]
fn a_restart_during_shutdown_is_not_refused_at_an_unconfirmed_address() {
    // RFC 9260 §5.4: nothing but the handshake and heartbeats goes there.
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 2)[1..]);
    let parameters = parameters.finish();
    script.join(&script::peer_fields(), &parameters);
    let again = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    let sent = script.give_bytes(script::init_packet(&again, &parameters));
    let ack = sent::only(&sent);
    let echo = script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    let last = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(last));
    assert_eq!(script.path(1).state, PathState::Unconfirmed);
    let sent = deliver(&mut script, 1, "10.0.0.1", echo);
    assert_eq!(sent::types(&sent), [[ChunkType::SHUTDOWN_ACK, ChunkType::ERROR]]);
    assert_eq!(sent::only(&sent).to.destination, addresses(Side::Z, 2)[0]);
}

#[test]
fn an_address_that_was_never_confirmed_is_not_taken_from_others() {
    // Two clients behind different NATs, both with a bridge of the same address and the same ports.
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &ips(&["172.17.0.1"]));
    let parameters = parameters.finish();
    script.join(&script::peer_fields(), &parameters);
    let second = InitFields { initiate_tag: VerificationTag(77), ..script::peer_fields() };
    let sent = deliver(&mut script, 1, "10.0.0.1", script::init_packet(&second, &parameters));
    let ack = sent::only(&sent);
    assert_eq!(ack.types(), [ChunkType::INIT_ACK]);
    let echo = script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    let sent = deliver(&mut script, 1, "10.0.0.1", echo);
    assert_eq!(sent::types(&sent), [[ChunkType::COOKIE_ACK]]);
    assert_eq!(script.end.associations().len(), 2);
}

#[test]
fn a_cookie_may_come_from_an_address_that_it_has_no_room_for() {
    let all: Vec<IpAddr> = (2..40).map(|n| IpAddr::from([10, 0, 0, n])).collect();
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &all[1..]);
    let sent = script.give_bytes(script::init_packet(&script::peer_fields(), &parameters.finish()));
    let ack = sent::only(&sent);
    let echo = script::packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    let sent = script.give_from(all[30], echo);
    assert!(sent[0].carries(ChunkType::COOKIE_ACK), "{sent:?}");
    assert_eq!(script.end.endpoint_stats().bad_cookies, 0);
}

//= RFC 9260 5.4-3
#[test]
fn a_cookie_ack_to_an_unconfirmed_address_takes_its_heartbeat_past_what_waits() {
    let mut script = Script::listening(&standard());
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 2)[1..]);
    let init = script::init_packet(&script::peer_fields(), &parameters.finish());
    let sent = script.give_bytes(init);
    let ack = sent::only(&sent);
    let tag = ack.init().0.initiate_tag;
    let echo = script::packet(tag, |w| w.cookie_echo(&ack.cookie()));
    script.give_bytes(echo.clone());
    // The COOKIE ECHO comes once more, from the other address, while an answer to the first one waits.
    let heartbeat = script::packet(tag, |w| w.heartbeat(b"hello?"));
    for (source, packet) in addresses(Side::Z, 2).into_iter().zip([heartbeat, echo]) {
        let destination = ip("10.0.0.1");
        let packet = packet.into();
        let datagram =
            Datagram { source, destination, encapsulation: None, ecn: Ecn::NotEct, packet };
        script.end.handle_datagram(script.now, datagram);
    }
    let sent = script.poll();
    assert_eq!(sent[0].types(), [ChunkType::COOKIE_ACK, ChunkType::HEARTBEAT]);
    assert_eq!(sent[0].to.destination, addresses(Side::Z, 2)[1]);
    // The first COOKIE ACK was lost, it seems, and may be again.
    assert_eq!(sent[1].types(), [ChunkType::COOKIE_ACK, ChunkType::HEARTBEAT_ACK]);
}
