//! Hosts that move: their addresses change, and the association follows (RFC 5061 §5.3.2; RFC 6951 §5.7).

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::*;
use crate::config::PortConfig;

/// A is bound to a wildcard on a host with these addresses; what is sent from others, or to them, is lost.
struct Mobile {
    pair: Pair,
    ids: [AssociationId; 2],
    here: Rc<RefCell<BTreeSet<IpAddr>>>,
}

impl Mobile {
    fn new(config: &AssociationConfig, first: &[IpAddr]) -> Mobile {
        Mobile::over(config, 1, first)
    }

    /// The other end has this many addresses.
    fn over(config: &AssociationConfig, nets: u8, first: &[IpAddr]) -> Mobile {
        let mut pair = Pair::new(config, nets);
        let settings = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
        pair.replace(Side::A, Endpoint::new(settings, [9; 32]));
        let now = pair.now;
        pair.end(Side::A).set_host_addresses(now, first);
        let here = Rc::new(RefCell::new(first.iter().copied().collect::<BTreeSet<_>>()));
        let mut mobile = Mobile { ids: [AssociationId::default(); 2], here, pair };
        mobile.lose_what_has_no_way();
        let (a, z) = mobile.pair.connect(config);
        mobile.ids = [a, z];
        mobile
    }

    fn lose_what_has_no_way(&mut self) {
        let here = Rc::clone(&self.here);
        self.pair.drop = Box::new(move |p| {
            let ours = if p.from == Side::A { p.to.source } else { Some(p.to.destination) };
            !ours.is_some_and(|ours| here.borrow().contains(&ours))
        });
    }

    /// And what goes from one network to another.
    fn keep_networks_apart(&mut self) {
        let here = Rc::clone(&self.here);
        self.pair.drop = Box::new(move |p| {
            let Some(source) = p.to.source else { return true };
            let destination = p.to.destination;
            let ours = if p.from == Side::A { source } else { destination };
            let net = |address: IpAddr| address.to_string().rsplit('.').nth(1).map(str::to_owned);
            !here.borrow().contains(&ours) || net(source) != net(destination)
        });
    }

    fn becomes(&mut self, addresses: &[IpAddr]) {
        *self.here.borrow_mut() = addresses.iter().copied().collect();
        let now = self.pair.now;
        self.pair.end(Side::A).set_host_addresses(now, addresses);
    }

    fn exchange(&mut self, from: u32) {
        for n in from..from + 30 {
            self.pair.send(Side::A, self.ids[0], 0, numbered(n));
            self.pair.send(Side::Z, self.ids[1], 0, numbered(n));
        }
    }

    fn expect(&mut self, from: u32) {
        let expected: Vec<u32> = (from..from + 30).collect();
        let a = self.pair.recv_all(Side::A, self.ids[0]);
        assert_eq!(numbers(&a), expected);
        let z = self.pair.recv_all(Side::Z, self.ids[1]);
        assert_eq!(numbers(&z), expected);
    }
}

/// A is bound to these addresses of two networks, between which nothing passes.
fn bound_to_two() -> Mobile {
    let mut pair = Pair::new(&config(), 2);
    let now = pair.now;
    pair.end(Side::A).set_host_addresses(now, &[a(0), a(1)]);
    let here = Rc::new(RefCell::new(BTreeSet::from([a(0), a(1)])));
    let (a, z) = pair.connect(&config());
    let mut mobile = Mobile { ids: [a, z], here, pair };
    mobile.keep_networks_apart();
    mobile.pair.run(secs(2));
    mobile
}

//= RFC 5061 5.3.2-1 5.3.2-3
#[test]
fn the_only_address_is_changed_while_data_is_in_flight() {
    let mut mobile = Mobile::new(&config(), &[a(0)]);
    for round in 1..6u8 {
        let from = u32::from(round) * 100;
        mobile.exchange(from);
        mobile.pair.run(ms(15));
        mobile.becomes(&[a(round)]);
        mobile.pair.run(secs(8));
        mobile.expect(from);
        let [id, peer] = mobile.ids;
        assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(round)]);
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(round)]);
    }
}

#[test]
fn one_is_added_before_the_other_is_gone() {
    let mut mobile = Mobile::new(&config(), &[a(0)]);
    let [id, peer] = mobile.ids;
    mobile.becomes(&[a(0), a(1)]);
    mobile.pair.run(secs(3));
    assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(0), a(1)]);
    mobile.exchange(0);
    mobile.pair.run(ms(15));
    let asked = mobile.pair.now;
    mobile.becomes(&[a(1)]);
    mobile.pair.run(ms(500));
    mobile.expect(0);
    assert!(asked + ms(500) == mobile.pair.now, "no timer was waited for");
    assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(1)]);
    assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(1)]);
}

/// Nor does a chunk wait for the T-4 RTO timer that has left from an address which is gone since.
#[test]
fn a_request_from_an_address_that_is_gone_leaves_again_at_once() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    let [id, peer] = mobile.ids;
    mobile.pair.run(secs(2));
    mobile.becomes(&[a(0), a(1), a(2)]);
    mobile.pair.run(ms(1));
    let sent = mobile.pair.sent(Side::A, ChunkType::ASCONF);
    let from = sent[0].to.source.unwrap();
    assert_eq!(sent.len(), 1);
    let left = if from == a(0) { a(1) } else { a(0) };
    mobile.becomes(&[left, a(2)]);
    mobile.pair.run(ms(500));
    assert_eq!(mobile.pair.end(Side::A).stats(id).unwrap().asconfs_repeated, 1);
    let mut remotes = remotes(&mut mobile.pair, Side::Z, peer);
    remotes.sort_unstable();
    assert_eq!(remotes, [left, a(2)]);
    mobile.exchange(0);
    mobile.pair.run(secs(2));
    mobile.expect(0);
}

/// It leaves again from the address that is left and known, and not from the one that it adds, which may lead nowhere yet.
#[test]
fn what_leaves_again_at_once_leaves_from_a_known_address() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    let [_, peer] = mobile.ids;
    mobile.pair.run(secs(2));
    mobile.lose_what_has_no_way();
    let mut lost = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
    let dark = Rc::new(Cell::new(true));
    let is_dark = Rc::clone(&dark);
    mobile.pair.drop = Box::new(move |p| {
        let ours = if p.from == Side::A { p.to.source } else { Some(p.to.destination) };
        lost(p) || is_dark.get() || ours == Some(a(2))
    });
    mobile.becomes(&[a(0), a(1), a(2)]);
    mobile.pair.run(ms(1));
    let from = mobile.pair.sent(Side::A, ChunkType::ASCONF)[0].to.source.unwrap();
    dark.set(false);
    let left = if from == a(0) { a(1) } else { a(0) };
    mobile.here.borrow_mut().remove(&from);
    mobile.becomes(&[left, a(2)]);
    mobile.pair.run(ms(50));
    assert!(remotes(&mut mobile.pair, Side::Z, peer).contains(&a(2)));
}

/// The path that carries data has got a source in place of the one that is gone, but in the other network, which leads nowhere.
#[test]
fn a_request_leaves_over_a_path_that_was_answered() {
    let mut mobile = Mobile::over(&config(), 2, &[a(0), a(1)]);
    let [id, peer] = mobile.ids;
    mobile.keep_networks_apart();
    mobile.pair.run(secs(5));
    mobile.becomes(&[at(0, 9), a(1)]);
    mobile.pair.run(ms(500));
    let mut known = remotes(&mut mobile.pair, Side::Z, peer);
    known.sort_unstable();
    assert_eq!(known, [at(0, 9), a(1)]);
    assert_eq!(mobile.pair.end(Side::A).stats(id).unwrap().asconfs_repeated, 0);
}

/// One of two networks has lost its address, and the other's serves both: only until it has one again.
#[test]
fn a_path_has_a_source_of_its_own_again() {
    let mut mobile = Mobile::over(&config(), 2, &[a(0), a(1)]);
    let [id, _] = mobile.ids;
    let sources = |mobile: &mut Mobile| -> Vec<Option<IpAddr>> {
        mobile.pair.end(Side::A).path_stats(id).iter().map(|path| path.local).collect()
    };
    mobile.pair.run(secs(5));
    assert_eq!(sources(&mut mobile), [Some(a(0)), Some(a(1))]);
    mobile.becomes(&[a(1)]);
    mobile.pair.run(secs(5));
    assert_eq!(sources(&mut mobile), [Some(a(1)), Some(a(1))]);
    mobile.becomes(&[at(0, 9), a(1)]);
    mobile.pair.run(secs(5));
    assert_eq!(sources(&mut mobile), [Some(at(0, 9)), Some(a(1))]);
    mobile.exchange(0);
    mobile.pair.run(secs(5));
    mobile.expect(0);
}

/// What acknowledged data on its way to an address that is gone is lost: when the peer learns of that it says all again.
#[test]
fn what_has_arrived_is_said_to_the_address_that_is_left() {
    let mut mobile = Mobile::over(&config(), 2, &[a(0), a(1)]);
    let [id, _] = mobile.ids;
    mobile.pair.run(secs(5));
    mobile.exchange(0);
    mobile.pair.run(ms(12));
    let gone = mobile.pair.now;
    mobile.becomes(&[a(1)]);
    mobile.pair.run(ms(60));
    let deletion = mobile.pair.sent(Side::Z, ChunkType::ASCONF_ACK)[0].at;
    let sacks = mobile.pair.sent(Side::Z, ChunkType::SACK);
    let again = sacks.iter().find(|sack| sack.at >= deletion).expect("one is sent with the answer");
    assert_eq!((again.at, again.to.destination), (deletion, a(1)));
    assert!(mobile.pair.now < gone + ms(200), "no timer has expired");
    assert_eq!(mobile.pair.end(Side::A).stats(id).unwrap().timeouts, 0);
    mobile.pair.run(secs(8));
    mobile.expect(0);
}

/// So does the sending half: what it repeats from the new address draws a SACK, and no second is waited for.
#[test]
fn with_probes_nothing_waits_for_a_timer_after_a_change() {
    let with_probes = profile("rfc9260+rack-tlp", "");
    let config = AssociationConfig { profile: with_probes.profile, ..config() };
    let mut mobile = Mobile::new(&config, &[a(0)]);
    for round in 1..4u8 {
        let from = u32::from(round) * 100;
        mobile.exchange(from);
        mobile.pair.run(ms(15));
        mobile.becomes(&[a(round)]);
        mobile.pair.run(ms(300));
        let received = mobile.pair.recv_all(Side::Z, mobile.ids[1]);
        assert_eq!(numbers(&received), (from..from + 30).collect::<Vec<_>>(), "{round}");
        mobile.pair.run(secs(8));
        let received = mobile.pair.recv_all(Side::A, mobile.ids[0]);
        assert_eq!(numbers(&received), (from..from + 30).collect::<Vec<_>>(), "{round}");
    }
    assert_eq!(mobile.pair.end(Side::A).stats(mobile.ids[0]).unwrap().timeouts, 0);
}

/// This many messages leave on the first path just before its network is gone, and only the other path leads through the other
/// network. How long after they had left that is gone over for the first time, and the RTO by then.
fn until_the_other_path(name: &str, messages: u32) -> (Duration, Duration) {
    let with_probes = profile(name, "");
    let config = AssociationConfig { profile: with_probes.profile, ..config() };
    let mut mobile = Mobile::over(&config, 2, &[a(0), a(1)]);
    let id = mobile.ids[0];
    mobile.keep_networks_apart();
    // The other path is a longer one.
    mobile.pair.delay = ms(200);
    let now = mobile.pair.now;
    mobile.pair.end(Side::A).request_heartbeat(now, id, PathId(1)).unwrap();
    mobile.pair.run(ms(500));
    mobile.pair.delay = ms(10);
    // One after the other, a thin stream.
    for n in 0..30 {
        mobile.pair.send(Side::A, id, 0, numbered(n));
        mobile.pair.run(ms(100));
    }
    mobile.pair.run(ms(300));
    let rto = mobile.pair.end(Side::A).path_stats(id)[0].rto;
    mobile.here.borrow_mut().clear();
    let left = mobile.pair.now;
    for n in 30..30 + messages {
        mobile.pair.send(Side::A, id, 0, numbered(n));
    }
    mobile.pair.run(ms(15));
    mobile.becomes(&[a(1)]);
    mobile.pair.run(secs(200));
    let sent = mobile.pair.sent(Side::A, ChunkType::DATA);
    let first = sent.iter().find(|p| p.to.destination == z(1)).expect("it goes on").at;
    let received = mobile.pair.recv_all(Side::Z, mobile.ids[1]);
    assert_eq!(numbers(&received), (0..30 + messages).collect::<Vec<_>>());
    (first.since(left), rto)
}

/// The probe from another source does not start T3-rtx again, which alone finds out that its path leads nowhere.
#[test]
fn a_probe_from_another_source_does_not_put_off_the_timer() {
    let (waited, rto) = until_the_other_path("rfc9260+rack-tlp", 30);
    assert!(waited <= rto, "{waited:?}, {rto:?}");
}

/// Nor is T3-rtx premature there that is earlier than that of RFC 9260.
#[test]
fn a_timer_whose_answers_are_gone_is_not_put_off() {
    let (waited, _) = until_the_other_path("tresse", 1);
    assert!(waited < ms(500), "{waited:?}");
}

/// What acknowledged a chunk went to the source that is gone, and is said again later.
#[test]
fn an_answer_that_is_said_again_is_no_sample_of_a_round_trip() {
    for moves in [false, true] {
        let mut script = Peer::behind_nat(&config(), &BOTH, &[a(0), a(1)], z(0)).script;
        script.send(100);
        script.wait(ms(20));
        script.sack(1, &[]);
        let before = script.path(0).srtt;
        script.send(100);
        script.wait(ms(10));
        if moves {
            let now = script.now;
            let left = if script.path(0).local == Some(a(0)) { a(1) } else { a(0) };
            script.end.set_host_addresses(now, &[left]);
            script.poll();
            assert_eq!(script.path(0).local, Some(left));
        }
        script.wait(ms(500));
        script.sack(2, &[]);
        let path = script.path(0);
        assert_eq!((path.flight, path.srtt == before), (0, moves), "{before:?}, {:?}", path.srtt);
    }
}

/// Addresses that come and go with every millisecond draw a few packets each, and data goes on where one stays.
#[test]
fn addresses_that_flap_bring_no_storm() {
    let with_probes = profile("tresse", "");
    for apart in [1, 7, 30] {
        let config = AssociationConfig { profile: with_probes.profile.clone(), ..config() };
        let mut mobile = Mobile::over(&config, 2, &[a(0), a(1)]);
        mobile.pair.run(secs(2));
        mobile.exchange(0);
        let before = mobile.pair.log.len();
        for n in 0..500u16 {
            match n % 4 {
                0 => mobile.becomes(&[a(1)]),
                1 => mobile.becomes(&[at(0, 9), a(1)]),
                2 => mobile.becomes(&[at(0, 9)]),
                _ => mobile.becomes(&[a(0), at(0, 9)]),
            }
            mobile.pair.run(ms(apart));
        }
        let packets = mobile.pair.log.len() - before;
        println!("{apart} ms apart: {packets} packets");
        assert!(packets < 500 * 8, "{packets} packets for 500 changes, {apart} ms apart");
        mobile.becomes(&[a(0), a(1)]);
        mobile.pair.run(secs(120));
        mobile.expect(0);
    }
}

/// What adds the second address has not arrived when that is gone, too.
#[test]
fn the_only_address_is_changed_twice_in_a_row() {
    for pause in [0, 1, 5, 15, 400, 1500] {
        let mut mobile = Mobile::new(&config(), &[a(0)]);
        mobile.exchange(0);
        mobile.pair.run(ms(15));
        mobile.becomes(&[a(1)]);
        mobile.here.borrow_mut().clear();
        mobile.pair.run(ms(pause));
        mobile.becomes(&[a(2)]);
        mobile.pair.run(secs(8));
        mobile.expect(0);
        let [id, peer] = mobile.ids;
        assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(2)], "after {pause} ms");
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(2)]);
    }
}

/// While nothing gets through, far more addresses come and go than requests may wait.
#[test]
fn of_many_changes_only_what_is_left_is_asked_for() {
    let mut mobile = Mobile::new(&config(), &[a(0)]);
    let [id, peer] = mobile.ids;
    mobile.pair.drop = Box::new(|_| true);
    for last in 1..=100 {
        mobile.becomes(&[a(0), a(last)]);
        mobile.pair.run(ms(10));
    }
    mobile.lose_what_has_no_way();
    mobile.pair.run(secs(10));
    let mut known = remotes(&mut mobile.pair, Side::Z, peer);
    known.sort_unstable();
    assert_eq!(known, [a(0), a(100)]);
    let stats = mobile.pair.end(Side::A).stats(id).unwrap();
    assert!(stats.asconfs_sent <= 3, "{} chunks", stats.asconfs_sent);
    mobile.exchange(0);
    mobile.pair.run(secs(2));
    mobile.expect(0);
}

/// The address that is there instead is one where nothing arrives, and soon the other one is back.
#[test]
fn what_is_gone_is_deleted_once_another_one_is_granted() {
    let mut mobile = Mobile::new(&config(), &[a(0)]);
    mobile.becomes(&[a(1)]);
    mobile.pair.drop = Box::new(|p| p.from == Side::Z && p.to.destination == a(1));
    mobile.pair.run(secs(3));
    mobile.becomes(&[a(0), a(1)]);
    mobile.exchange(0);
    mobile.pair.run(secs(60));
    mobile.expect(0);
    assert_eq!(mobile.pair.closed(Side::A), None);
}

/// All are lost, and the last one of them is back later.
#[test]
fn without_any_address_it_waits() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    mobile.pair.run(secs(2));
    mobile.exchange(0);
    mobile.pair.run(ms(15));
    mobile.becomes(&[]);
    mobile.pair.run(secs(2));
    mobile.becomes(&[a(1)]);
    mobile.pair.run(secs(20));
    mobile.expect(0);
    let peer = mobile.ids[1];
    assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(1)]);
}

/// A cable that is pulled for a moment costs no redundancy, whatever the port is bound to.
#[test]
fn an_address_that_was_bound_is_told_again_when_it_is_back() {
    let mut mobile = bound_to_two();
    let [id, peer] = mobile.ids;
    for _ in 0..3 {
        mobile.becomes(&[a(0)]);
        mobile.pair.run(secs(2));
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(0)]);
        mobile.becomes(&[a(0), a(1)]);
        mobile.pair.run(secs(2));
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(0), a(1)]);
        // And for less than a round trip.
        mobile.becomes(&[a(0)]);
        mobile.pair.run(ms(5));
        mobile.becomes(&[a(0), a(1)]);
        mobile.pair.run(secs(2));
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(0), a(1)]);
    }
    mobile.becomes(&[a(1)]);
    mobile.exchange(0);
    // The path that carries data leads nowhere now.
    mobile.pair.run(secs(100));
    mobile.expect(0);
    change(&mut mobile.pair, Side::A, id, AddressChange::Add, a(7)).unwrap();
    mobile.pair.run(secs(2));
    assert_eq!(outcomes(&mobile.pair, Side::A).last().unwrap().1, a(7), "what was never bound");
}

/// The one that the peer is asked to forget is back, and the other one goes, before the peer, or its answer, is heard.
#[test]
fn what_is_to_be_forgotten_asks_if_it_is_all_that_is_left() {
    for (loses, net) in [(Side::A, 0), (Side::A, 1), (Side::Z, 0), (Side::Z, 1)] {
        let (gone, other) = (a(net), a(1 - net));
        let mut mobile = bound_to_two();
        let kept = mobile.pair.drop;
        mobile.pair.drop = Box::new(move |p| p.from == loses);
        mobile.becomes(&[other]);
        mobile.pair.run(ms(15));
        mobile.becomes(&[a(0), a(1)]);
        mobile.pair.run(ms(5));
        mobile.becomes(&[gone]);
        mobile.pair.drop = kept;
        mobile.exchange(0);
        mobile.pair.run(secs(100));
        mobile.expect(0);
        let peer = mobile.ids[1];
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [gone], "{loses:?} lost");
    }
}

/// The one that the peer is asked to forget is back, and is the only one of the host that the peer has a way to.
#[test]
fn what_is_to_be_forgotten_asks_if_no_answer_comes_to_others() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    mobile.pair.run(secs(2));
    mobile.lose_what_has_no_way();
    let mut lost = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
    mobile.pair.drop =
        Box::new(move |p| lost(p) || (p.from == Side::Z && p.to.destination == a(1)));
    mobile.becomes(&[a(1)]);
    mobile.pair.run(ms(5));
    mobile.becomes(&[a(0), a(1)]);
    mobile.exchange(0);
    mobile.pair.run(secs(100));
    mobile.expect(0);
    let peer = mobile.ids[1];
    assert!(remotes(&mut mobile.pair, Side::Z, peer).contains(&a(0)));
}

/// From the only one that the peer has a way to it is not asked yet: that one is to be added by the next chunk.
#[test]
fn what_is_to_be_added_later_asks_if_no_answer_comes_to_others() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    mobile.pair.run(secs(2));
    mobile.lose_what_has_no_way();
    let mut lost = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
    mobile.pair.drop = Box::new(move |p| {
        let ours = if p.from == Side::A { p.to.source } else { Some(p.to.destination) };
        lost(p) || ours == Some(a(1))
    });
    mobile.becomes(&[a(1)]);
    mobile.becomes(&[a(1), a(2)]);
    mobile.exchange(0);
    mobile.pair.run(secs(100));
    mobile.expect(0);
    let peer = mobile.ids[1];
    assert!(remotes(&mut mobile.pair, Side::Z, peer).contains(&a(2)));
}

/// One network is dead, and the peer has an address in each: each source is tried on each path, so that what works is found
/// before the association is given up.
#[test]
fn every_path_is_asked_from_every_source() {
    let near = |host: u8| IpAddr::from([10, 0, 0, host]);
    for (dead, within) in [(0, secs(5)), (1, secs(15))] {
        let mut mobile = Mobile::over(&config(), 2, &[near(1), near(8), a(1)]);
        mobile.keep_networks_apart();
        mobile.pair.run(secs(2));
        let mut apart = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
        // Of the network that lives only the new address works, if that is where it is.
        let works = move |p: &Sent| {
            let ours = if p.from == Side::A { p.to.source } else { Some(p.to.destination) };
            ours == Some(if dead == 0 { a(1) } else { near(9) })
        };
        mobile.pair.drop = Box::new(move |p| apart(p) || !works(p));
        mobile.becomes(&[near(1), a(1)]);
        mobile.becomes(&[near(1), a(1), near(9)]);
        mobile.exchange(0);
        mobile.pair.run(within);
        let peer = mobile.ids[1];
        let known = remotes(&mut mobile.pair, Side::Z, peer);
        assert!(!known.contains(&near(8)) && known.contains(&near(9)), "{dead}: {known:?}");
        mobile.pair.run(secs(60));
        mobile.expect(0);
    }
}

/// Addresses of the peer that were never confirmed are never asked: they put off no turn of another source.
#[test]
fn paths_that_are_not_asked_put_off_no_source() {
    let near = |host: u8| IpAddr::from([10, 0, 0, host]);
    let mut pair = Pair::new(&config(), 8);
    let settings = EndpointConfig { association: config(), ..EndpointConfig::default() };
    pair.replace(Side::A, Endpoint::new(settings, [9; 32]));
    let now = pair.now;
    pair.end(Side::A).set_host_addresses(now, &[near(1), near(8)]);
    let here = Rc::new(RefCell::new(BTreeSet::from([near(1), near(8)])));
    let mut mobile = Mobile { ids: [AssociationId::default(); 2], here, pair };
    mobile.lose_what_has_no_way();
    let mut lost = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
    // Of the eight addresses of Z only the first one can be reached.
    mobile.pair.drop = Box::new(move |p| {
        let theirs = if p.from == Side::A { Some(p.to.destination) } else { p.to.source };
        lost(p) || theirs != Some(z(0))
    });
    let (id, peer) = mobile.pair.connect(&config());
    mobile.ids = [id, peer];
    mobile.pair.run(secs(2));
    assert_eq!(mobile.pair.end(Side::A).path_stats(id).len(), 8);
    let mut lost = std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true));
    mobile.pair.drop = Box::new(move |p| {
        let ours = if p.from == Side::A { p.to.source } else { Some(p.to.destination) };
        lost(p) || ours == Some(near(8))
    });
    mobile.becomes(&[near(8)]);
    mobile.becomes(&[near(8), near(9)]);
    mobile.exchange(0);
    mobile.pair.run(secs(20));
    let known = remotes(&mut mobile.pair, Side::Z, peer);
    assert!(known.contains(&near(9)), "{known:?}");
    mobile.pair.run(secs(60));
    mobile.expect(0);
    assert_eq!(mobile.pair.closed(Side::A), None);
}

/// The peer, out in the world, grants to the first address all that the chunk asked for.
fn grant(peer: &mut Peer, world: IpAddr, number: AsconfNumber) {
    let responses = Parameters::new(&[]);
    let bytes = peer.signed(|w| w.asconf_ack(&AsconfAck { number, responses }));
    peer.script.give_datagram(Datagram {
        source: world,
        destination: a(0),
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: bytes.into(),
    });
}

/// One address is to be deleted, and then one added, and nobody answers: where the requests leave from.
fn sources_without_an_answer(peer: &mut Peer, gone: IpAddr, new: IpAddr) -> Vec<Option<IpAddr>> {
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.remove_local_address(now, id, gone).unwrap();
    let mut sent = peer.script.poll();
    peer.script.end.add_local_address(now, id, new).unwrap();
    for _ in 0..3 {
        sent.extend(peer.script.wait(secs(8)));
    }
    let asked = sent.iter().filter(|p| p.carries(ChunkType::ASCONF));
    asked.map(|p| p.to.source).collect()
}

/// Behind a NAT it leaves from where it was, though another address waits to be added: from there a wildcard is of a stranger.
#[test]
fn a_wildcard_leaves_from_no_address_that_waits() {
    let world: IpAddr = [203, 0, 113, 5].into();
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0)], world);
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.set_host_addresses(now, &[a(0), a(1), a(2)]);
    peer.script.end.add_local_address(now, id, a(1)).unwrap();
    let sent = peer.script.poll();
    let number = sent.iter().flat_map(Sent::chunks).find_map(|chunk| match chunk {
        Chunk::Asconf(asconf) => Some(asconf.number),
        _ => None,
    });
    let number = number.expect("ASCONF");
    grant(&mut peer, world, number);
    assert_eq!(peer.script.end.info(id).unwrap().local_addresses, [a(0), a(1)]);
    let sources = sources_without_an_answer(&mut peer, a(1), a(2));
    assert!(sources.len() > 3 && sources.iter().all(|s| *s == Some(a(0))), "{sources:?}");
}

/// The user wants back what is being deleted with a wildcard: from there the wildcard would delete the one that is to stay.
#[test]
fn a_wildcard_leaves_from_no_address_that_it_deletes() {
    let world: IpAddr = [203, 0, 113, 5].into();
    // Bound to two private addresses, not to a wildcard.
    let mut peer = Peer::between(&config(), 2, &BOTH, &BOTH, &[world]);
    let sources = sources_without_an_answer(&mut peer, a(1), a(1));
    assert!(sources.len() > 2 && sources.iter().all(|s| *s == Some(a(0))), "{sources:?}");
}

/// It moves on before it hears that the address before is deleted, and the peer knows neither that one nor the next.
#[test]
fn a_request_that_comes_again_names_an_address_that_was_not_deleted() {
    for lost in 1..=2 {
        let mut mobile = Mobile::new(&config(), &[a(0)]);
        mobile.lose_what_has_no_way();
        let (mut kept, mut acks) =
            (std::mem::replace(&mut mobile.pair.drop, Box::new(|_| true)), 0);
        mobile.pair.drop = Box::new(move |p| {
            acks += u32::from(p.carries(ChunkType::ASCONF_ACK));
            kept(p) || (acks == lost && p.carries(ChunkType::ASCONF_ACK))
        });
        mobile.becomes(&[a(1)]);
        mobile.pair.run(ms(60));
        mobile.becomes(&[a(2)]);
        mobile.exchange(0);
        mobile.pair.run(secs(60));
        mobile.expect(0);
        let peer = mobile.ids[1];
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(2)], "answer {lost} lost");
    }
}

#[test]
fn who_does_not_want_that_keeps_to_what_was_told() {
    let config = AssociationConfig { follow_host_addresses: false, ..config() };
    let mut mobile = Mobile::new(&config, &[a(0)]);
    mobile.becomes(&[a(0), a(1)]);
    mobile.pair.run(secs(3));
    assert!(mobile.pair.sent(Side::A, ChunkType::ASCONF).is_empty());
}

#[test]
fn what_the_user_has_deleted_no_host_brings_back() {
    let mut mobile = Mobile::new(&config(), &[a(0), a(1)]);
    let [id, peer] = mobile.ids;
    mobile.pair.run(secs(2));
    change(&mut mobile.pair, Side::A, id, AddressChange::Delete, a(1)).unwrap();
    mobile.pair.run(secs(2));
    for addresses in [&[a(0), a(1), a(2)][..], &[a(0), a(2)], &[a(0), a(1), a(2)]] {
        mobile.becomes(addresses);
        mobile.pair.run(secs(3));
        assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(0), a(2)]);
        assert_eq!(remotes(&mut mobile.pair, Side::Z, peer), [a(0), a(2)]);
    }
    change(&mut mobile.pair, Side::A, id, AddressChange::Add, a(1)).unwrap();
    mobile.pair.run(secs(2));
    mobile.becomes(&[a(0), a(2)]);
    mobile.pair.run(secs(3));
    assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(0), a(2)]);
    mobile.becomes(&[a(0), a(1), a(2)]);
    mobile.pair.run(secs(3));
    assert_eq!(locals(&mut mobile.pair, Side::A, id), [a(0), a(2), a(1)]);
}

/// F11: with an address that is refused all that stands behind it is.
#[test]
fn one_that_is_refused_takes_no_other_along() {
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0)], z(0));
    let now = peer.script.now;
    peer.script.end.set_host_addresses(now, &[a(0), a(1), a(2)]);
    let asked = |sent: &[Sent]| -> Option<(AsconfNumber, Vec<AddressRequest>)> {
        sent.iter().flat_map(Sent::chunks).find_map(|chunk| match chunk {
            Chunk::Asconf(asconf) => {
                let of = |parameter| match parameter {
                    Ok(Parameter::AddIpAddress(request)) => request,
                    other => panic!("{other:?}"),
                };
                Some((asconf.number, asconf.requests.parsed().map(of).collect()))
            }
            _ => None,
        })
    };
    let refuse = |peer: &mut Peer, number, correlation| {
        let causes = CauseWriter::new().resource_shortage(&[]).finish();
        let list = ParameterWriter::new().error_cause_indication(correlation, &causes).finish();
        peer.give(|w| w.asconf_ack(&AsconfAck { number, responses: Parameters::new(&list) }))
    };
    let (number, first) = asked(&peer.script.poll()).expect("ASCONF");
    assert_eq!(first.iter().map(|r| r.address).collect::<Vec<_>>(), [a(1), a(2)]);
    let sent = refuse(&mut peer, number, first[0].correlation);
    let (number, second) = asked(&sent).expect("another one");
    assert_eq!(second.iter().map(|r| r.address).collect::<Vec<_>>(), [a(2)]);
    let sent = refuse(&mut peer, number, second[0].correlation);
    assert_eq!(asked(&sent), None);
    // Until there is something new.
    let now = peer.script.now;
    peer.script.end.set_host_addresses(now, &[a(0), a(1)]);
    let (_, third) = asked(&peer.script.poll()).expect("once more");
    assert_eq!(third.iter().map(|r| r.address).collect::<Vec<_>>(), [a(1)]);
}

//= RFC 6951 3.2-2 5.7-2
/// A private address, and a peer out in the world: the request names none, and comes from the new one.
#[test]
fn behind_a_nat_only_wildcards_are_sent() {
    let config = config();
    let world: IpAddr = [203, 0, 113, 5].into();
    let mut peer = Peer::behind_nat(&config, &BOTH, &[a(0)], world);
    let now = peer.script.now;
    peer.script.end.set_host_addresses(now, &[a(1)]);
    let sent = peer.script.poll();
    let asked = sent.iter().find(|p| p.carries(ChunkType::ASCONF)).expect("ASCONF");
    assert_eq!(asked.to.source, Some(a(1)));
    let Some(Chunk::Asconf(chunk)) = asked.chunks().nth(1) else { panic!("ASCONF") };
    let none = IpAddr::from([0; 4]);
    assert_eq!(chunk.address, none);
    let requests: Vec<_> = chunk.requests.parsed().map(Result::unwrap).collect();
    let one = |correlation| AddressRequest { correlation, address: none };
    assert_eq!(requests, [Parameter::AddIpAddress(one(1)), Parameter::DeleteIpAddress(one(2))]);
    let (now, id) = (peer.script.now, peer.script.id);
    let last = peer.script.end.remove_local_address(now, id, a(1));
    assert_eq!(last, Err(AddressError::Last));
    let _ = PortConfig::default();
}

/// It moves on before the peer has answered: what has wildcards comes from where it is now, for all others are gone.
#[test]
fn behind_a_nat_it_moves_on_before_it_is_answered() {
    let world: IpAddr = [203, 0, 113, 5].into();
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0)], world);
    let now = peer.script.now;
    peer.script.end.set_host_addresses(now, &[a(1)]);
    let asked = |sent: &[Sent]| -> Vec<Option<IpAddr>> {
        let asked = sent.iter().filter(|p| p.carries(ChunkType::ASCONF));
        asked.map(|p| p.to.source).collect()
    };
    assert_eq!(asked(&peer.script.poll()), [Some(a(1))]);
    peer.script.wait(ms(10));
    let now = peer.script.now;
    peer.script.end.set_host_addresses(now, &[a(2)]);
    let mut sent = peer.script.poll();
    sent.extend(peer.script.wait(secs(8)));
    let sources = asked(&sent);
    assert!(!sources.is_empty() && sources.iter().all(|s| *s == Some(a(2))), "{sources:?}");
}

/// What a wildcard has added is the address that it came from, and no other one.
#[test]
fn a_wildcard_from_another_address_adds_none() {
    let world: IpAddr = [203, 0, 113, 5].into();
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0)], world);
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.set_host_addresses(now, &[a(0), a(1)]);
    peer.script.end.add_local_address(now, id, a(1)).unwrap();
    let sent = peer.script.poll();
    let asked = sent.iter().find(|p| p.carries(ChunkType::ASCONF)).expect("ASCONF");
    assert_eq!(asked.to.source, Some(a(1)));
    let number = asked.chunks().find_map(|chunk| match chunk {
        Chunk::Asconf(asconf) => Some(asconf.number),
        _ => None,
    });
    let number = number.expect("ASCONF");
    // That packet is lost; the address is gone before it is answered.
    peer.script.end.set_host_addresses(now, &[a(0)]);
    let mut sent = peer.script.poll();
    sent.extend(peer.script.wait(secs(2)));
    let from_other = sent.iter().any(|p| p.carries(ChunkType::ASCONF) && p.to.source == Some(a(0)));
    if from_other {
        // The peer knows a(0) already, and says yes.
        grant(&mut peer, world, number);
    }
    assert_eq!(peer.script.end.info(id).unwrap().local_addresses, [a(0)]);
}

/// To the peer a NAT shows one address, which is all that it has: it refuses to delete any (RFC 5061 §5.3 F7). However often the host
/// moves, the association has the address that is there.
#[test]
fn behind_a_nat_it_moves_as_often_as_it_likes() {
    let world: IpAddr = [203, 0, 113, 5].into();
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0)], world);
    for last in 1..40 {
        let now = peer.script.now;
        peer.script.end.set_host_addresses(now, &[a(last)]);
        let sent = peer.script.poll();
        let asked = sent.iter().find(|p| p.carries(ChunkType::ASCONF)).expect("ASCONF");
        assert_eq!(asked.to.source, Some(a(last)));
        let Some(Chunk::Asconf(chunk)) = asked.chunks().nth(1) else { panic!("ASCONF") };
        let mut list = Vec::new();
        for request in chunk.requests.parsed().map(Result::unwrap) {
            if let Parameter::DeleteIpAddress(request) = request {
                let causes = CauseWriter::new().request_to_delete_last_address(&[]).finish();
                let mut refused = ParameterWriter::new();
                list.extend(refused.error_cause_indication(request.correlation, &causes).finish());
            }
        }
        let responses = Parameters::new(&list);
        let number = chunk.number;
        let bytes = peer.signed(|w| w.asconf_ack(&AsconfAck { number, responses }));
        peer.script.give_datagram(Datagram {
            source: world,
            destination: a(last),
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: bytes.into(),
        });
        let id = peer.script.id;
        assert_eq!(peer.script.end.info(id).unwrap().local_addresses, [a(last)]);
    }
}
