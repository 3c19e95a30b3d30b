//! Hosts that are never at rest (RFC 5061), in mixed scenarios and in those with keys: addresses that flap, both hosts that move at
//! one instant, moves while the association is set up, one address each, NATs that forget in the midst of it, packets that come
//! twice or late, and addresses that somebody else has afterwards. In half of them one host moves and nothing else happens: then the
//! association must survive, whatever its addresses have become (`followed.rs`).

use std::time::Duration;

use tresse_core::Time;
use tresse_sim::{Draw, IpNet};

use super::world::is_global;
use super::{Call, Ending, Fault, KEYED, MIXED, Place, Scenario, extensions, global, keys};

/// Seeds from here on never rest.
pub(crate) const RESTLESS: u64 = 1 << 45;

/// What kind of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    /// Each has one address.
    Single,
    /// One of them is behind a NAT.
    Hidden,
}

/// One of those: the first one that fits, of a series that the seed decides.
pub(super) fn restless(seed: u64) -> Scenario {
    let mut draw = Draw::new(seed ^ 0xe7e5_10f5_5061_0045);
    let (keyed, concurrent) = (draw.chance(0.3), draw.chance(0.4));
    let kind = draw.pick(&[Kind::Any, Kind::Any, Kind::Single, Kind::Hidden]);
    loop {
        let base = draw.next() >> 24;
        let fits = |scenario: &Scenario| {
            let worldly = scenario.hosts.iter().all(|host| host.stack.is_some());
            let (hidden, single) = (kind == Kind::Hidden, kind == Kind::Single);
            worldly
                && !scenario.strangers
                && (!hidden || scenario.nat.is_some())
                && (!single || scenario.shared_v4().is_some())
        };
        let scenario = match keyed {
            true => keys::keyed(KEYED + base),
            false => extensions::mixed(MIXED + base),
        };
        if fits(&scenario) {
            let scenario = if keyed { scenario } else { scenario.extend() };
            return Scenario { seed, ..scenario }.rest_not(&mut draw, kind, concurrent);
        }
    }
}

impl Scenario {
    fn rest_not(mut self, draw: &mut Draw, kind: Kind, concurrent: bool) -> Scenario {
        if kind == Kind::Single {
            self.keep_one_address();
        }
        self.follow_hosts(draw, concurrent);
        if draw.chance(0.5) {
            self.disturb(draw);
        }
        let sole = draw.chance(0.5).then(|| draw.index(2));
        if let Some(host) = sole {
            self.leave_alone(host);
        }
        let calls = self.hosts.iter().filter_map(|host| host.connect_at);
        let begin = if draw.chance(if sole.is_some() { 0.15 } else { 0.3 }) {
            self.features.insert("moves while it calls");
            calls.min().unwrap_or_default() + Duration::from_micros(draw.log_whole(1, 1_000_000))
        } else {
            let least = if sole.is_some() { 500_000 } else { 1_000 };
            calls.max().unwrap_or_default()
                + Duration::from_micros(draw.log_whole(least, 8_000_000))
        };
        let mut at = begin;
        for n in 0..draw.between(1, if sole.is_some() { 6 } else { 12 }) as u16 {
            let host = sole.unwrap_or_else(|| draw.index(2));
            self.stir(draw, host, n, at);
            if sole.is_none() && draw.chance(0.4) {
                let later = if draw.chance(0.5) { 0 } else { draw.log_whole(1, 200_000) };
                self.stir(draw, 1 - host, n, at + Duration::from_micros(later));
                self.features.insert("both move at once");
            }
            if self.nat.is_some() && draw.chance(0.5) {
                let later = Duration::from_micros(draw.log_whole(1, 500_000));
                self.faults.push((at + later, Fault::Rebind));
                self.features.insert("nat rebinds");
            }
            let long = if sole.is_some() { 1_000_000 } else { 3_000_000 };
            let most = if draw.chance(0.6) { 300_000 } else { long };
            at += Duration::from_micros(draw.log_whole(1, most));
        }
        self.faults.sort_by_key(|(at, _)| *at);
        let end = self.faults.last().map_or(Time::ZERO, |(at, _)| *at);
        let rest = Duration::from_secs(if sole.is_some() { 45 } else { 8 });
        self.curfew = self.curfew.max(end + rest);
        self
    }

    /// Whether the first interfaces of both have an IPv4 address that the other end may know, or else an IPv6 address.
    fn shared_v4(&self) -> Option<bool> {
        let has = |v4: bool| {
            let fits = |net: &IpNet| net.addr().is_ipv4() == v4 && is_global(&net.addr());
            let mut stacks = self.hosts.iter().map(|host| host.stack.as_ref());
            stacks.all(|stack| stack.is_some_and(|s| s.interfaces[0].addresses.iter().any(fits)))
        };
        [true, false].into_iter().find(|v4| has(*v4))
    }

    /// Of each host the first interface remains, with one address.
    fn keep_one_address(&mut self) {
        let v4 = self.shared_v4().unwrap_or_default();
        for plan in &mut self.hosts {
            let Some(stack) = &mut plan.stack else { continue };
            stack.interfaces.truncate(1);
            let addresses = &mut stack.interfaces[0].addresses;
            let wanted = |net: &IpNet| net.addr().is_ipv4() == v4 && is_global(&net.addr());
            let kept = addresses.iter().copied().find(wanted).unwrap_or(addresses[0]);
            *addresses = vec![kept];
            stack.routes.retain(|route| route.interface == 0);
            plan.addresses = global(stack);
            plan.calls.retain(|(_, call)| !matches!(call, Call::ChangeAddress(..)));
        }
        for host in 0..2 {
            if self.nat.is_none() || host == 0 {
                self.hosts[host].remotes = self.hosts[1 - host].addresses.clone();
            }
        }
        self.links.retain(|link| match link.place {
            Place::Cable { interface } | Place::Out { interface, .. } => interface == 0,
            Place::In { interface, .. } => interface == 0,
            Place::Path { .. } => true,
        });
        // The others name links by their numbers.
        self.faults.clear();
        self.features.insert("one address each");
    }

    /// Nothing but that host moves, and nobody ends the association meanwhile.
    fn leave_alone(&mut self, host: usize) {
        self.faults.clear();
        for plan in &mut self.hosts {
            plan.calls.retain(|(_, call)| !matches!(call, Call::ChangeAddress(..)));
            plan.ending = Ending::Never;
        }
        let plan = &mut self.hosts[host];
        plan.wildcard = true;
        plan.config.follow_host_addresses = true;
        plan.addresses = plan.stack.as_ref().map(global).unwrap_or_default();
        self.features.insert("one host moves");
    }

    /// Packets, and so requests and their answers, come twice, late, or not at all.
    fn disturb(&mut self, draw: &mut Draw) {
        for link in &mut self.links {
            link.config.duplicate = 0.4 * draw.unit();
            link.config.reorder = 0.4 * draw.unit();
            link.config.reorder_after = None;
            link.config.reorder_hold_ms = None;
            link.config.reorder_delay_ms = Some(draw.log(0.1, 500.0));
            if !self.steady {
                link.config.loss = 0.3 * draw.unit();
            }
        }
        self.features.insert("requests come twice and late");
    }

    /// An address becomes another one, or goes and comes again and again.
    fn stir(&mut self, draw: &mut Draw, host: usize, n: u16, at: Time) {
        match draw.between(0, 9) {
            0..=4 => {
                let before = self.faults.len();
                self.move_one(draw, host, n, at);
                if !self.steady && draw.chance(0.5) {
                    self.inherit(draw, host, before);
                }
            }
            kind => self.flap(draw, host, at, kind == 9),
        }
    }

    fn flap(&mut self, draw: &mut Draw, host: usize, mut at: Time, whole: bool) {
        let Some(stack) = &self.hosts[host].stack else { return };
        let number = draw.index(stack.interfaces.len());
        let addresses = &stack.interfaces[number].addresses;
        let net = addresses[draw.index(addresses.len())];
        let longest = draw.log_whole(10, 500_000);
        for _ in 0..draw.log_whole(1, 10) {
            let (gone, back) = match whole {
                true => {
                    (Fault::Interface(host, number, false), Fault::Interface(host, number, true))
                }
                false => {
                    (Fault::RemoveAddress(host, net.addr()), Fault::AddAddress(host, number, net))
                }
            };
            self.faults.push((at, gone));
            at += Duration::from_micros(draw.between(1, longest));
            self.faults.push((at, back));
            at += Duration::from_micros(draw.between(1, longest));
        }
        self.features.insert(if whole { "interface flaps" } else { "address flaps" });
    }

    /// Somebody else has the address that is gone: a host that knows nothing of the association, or the peer.
    fn inherit(&mut self, draw: &mut Draw, host: usize, before: usize) {
        let gone = self.faults[before..].iter().find_map(|(at, fault)| match fault {
            Fault::RemoveAddress(_, address) => Some((*at, *address)),
            _ => None,
        });
        let Some((at, address)) = gone else { return };
        let at = at + Duration::from_micros(draw.log_whole(1, 2_000_000));
        let internet = self.links.iter().any(|link| matches!(link.place, Place::Out { .. }));
        if internet && self.nat.is_none() && draw.chance(0.7) {
            self.faults.push((at, Fault::Inherit(address)));
            self.features.insert("a stranger has the old address");
        } else {
            let net = IpNet::from(address);
            self.faults.push((at, Fault::AddAddress(1 - host, 0, net)));
            self.features.insert("the peer has the old address");
        }
    }
}
