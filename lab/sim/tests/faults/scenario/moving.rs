//! Hosts that move (RFC 5061), in scenarios of any extensions: both ends offer changes of addresses and mostly follow their host, and
//! again and again an address of an interface becomes another one, of either end or of both at a time, also before the peer has
//! answered the change before. Half of them send over all paths at once, and all have something to send meanwhile. All else stays
//! as it is.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tresse_core::{Reliability, Time};
use tresse_sim::{Draw, IpNet};

use super::traffic::PlannedMessage;
use super::{Fault, HostPlan, LARGE, MIXED, Scenario, extensions};

/// Seeds from here on move; less this number they are those of the mixed scenarios that they are made from.
pub(crate) const MOVING: u64 = 1 << 44;

/// One of those: the first one with interfaces, of a series that the seed decides.
pub(super) fn moving(seed: u64) -> Scenario {
    let mut draw = Draw::new(seed ^ 0xe7e5_10f5_5061_0044);
    let concurrent = draw.chance(0.5);
    loop {
        let base = (seed - MOVING) << 8 | draw.between(0, 255);
        let scenario = extensions::mixed(MIXED + base);
        if scenario.hosts.iter().all(|host| host.stack.is_some()) {
            let scenario = Scenario { seed, ..scenario.extend() };
            return scenario.moves(&mut draw, concurrent);
        }
    }
}

impl Scenario {
    fn moves(mut self, draw: &mut Draw, concurrent: bool) -> Scenario {
        self.follow_hosts(draw, concurrent);
        // One that moves while it calls finds nobody, and says nothing about the rest.
        let calls = self.hosts.iter().filter_map(|host| host.connect_at);
        let begin =
            calls.max().unwrap_or_default() + Duration::from_millis(draw.log_whole(1, 1_000));
        if concurrent {
            self.features.insert("moves with all paths in use");
        }
        let mut last = begin;
        for n in 0..draw.between(1, 12) {
            let close = n > 0 && draw.chance(0.5);
            let at = match close {
                // Often before the one before is acknowledged.
                true => last + Duration::from_micros(draw.log_whole(1, 400_000)),
                false => begin + Duration::from_micros(draw.log_whole(1_000, 8_000_000)),
            };
            if close {
                self.features.insert("moves close to each other");
            }
            let host = draw.index(2);
            self.move_one(draw, host, n as u16, at);
            if draw.chance(0.3) {
                let beside = at + Duration::from_micros(draw.log_whole(1, 200_000));
                self.move_one(draw, 1 - host, n as u16, beside);
                self.features.insert("both ends move");
            }
            last = at;
        }
        self.faults.sort_by_key(|(at, _)| *at);
        let end = self.faults.last().map_or(Time::ZERO, |(at, _)| *at);
        self.curfew = self.curfew.max(end + Duration::from_secs(8));
        self
    }

    /// Both ends offer changes of addresses, mostly follow their host, and send for as long as that moves.
    pub(super) fn follow_hosts(&mut self, draw: &mut Draw, concurrent: bool) {
        // Who did not authenticate before knows the keys that the other end may use.
        let known = self.hosts.iter().find(|plan| plan.config.extensions.authentication);
        let keys = Arc::clone(&known.unwrap_or(&self.hosts[0]).config.authentication);
        for plan in &mut self.hosts {
            if !plan.config.extensions.authentication {
                plan.config.extensions.authentication = true;
                plan.config.authentication = Arc::clone(&keys);
            }
            plan.config.extensions.address_reconfiguration = true;
            plan.config.follow_host_addresses = draw.chance(0.9);
            plan.config.concurrent_transfer |= concurrent;
            if plan.config.follow_host_addresses {
                self.features.insert("follows its host");
            }
            keep_sending(draw, plan);
        }
    }

    /// An address of a host becomes another one: at once, after a pause, or before the old one has gone, which may come back.
    pub(super) fn move_one(&mut self, draw: &mut Draw, host: usize, n: u16, at: Time) {
        let Some(stack) = &self.hosts[host].stack else { return };
        let number = draw.index(stack.interfaces.len());
        // Of the ones before, too.
        let of = |(_, fault): &(Time, Fault)| match fault {
            Fault::AddAddress(h, i, net) if (*h, *i) == (host, number) => Some(*net),
            _ => None,
        };
        let added = self.faults.iter().filter_map(of);
        let all: Vec<IpNet> =
            stack.interfaces[number].addresses.iter().copied().chain(added).collect();
        let old = all[draw.index(all.len())];
        let new = another(old, host, n);
        let away = Duration::from_micros(draw.log_whole(1, 4_000_000));
        let (gone, there) = match draw.between(0, 9) {
            0..=2 => (at, at),
            3..=5 => (at, at + away),
            6..=8 => (at + away, at),
            // It goes, and there is nothing instead.
            _ => (at, at + Duration::from_secs(30)),
        };
        self.faults.push((gone, Fault::RemoveAddress(host, old.addr())));
        if there < at + Duration::from_secs(10) {
            self.faults.push((there, Fault::AddAddress(host, number, new)));
            self.features.insert("address becomes another one");
        }
        if draw.chance(0.3) {
            let back = gone + Duration::from_micros(draw.log_whole(1, 6_000_000));
            self.faults.push((back, Fault::AddAddress(host, number, old)));
            self.features.insert("address is back after a move");
        }
    }
}

impl Scenario {
    /// Addresses of a host that the peer may be asked to forget, and those that it may not know for some time. Who follows its host
    /// asks that also of one that is back a moment later: then neither may it be used (RFC 5061 §5.3 F4), nor is anything else asked
    /// before that is answered.
    pub(crate) fn unsure(&self, host: usize) -> BTreeSet<IpAddr> {
        let plan = &self.hosts[host];
        let mut all = plan.unsure();
        if (MOVING..LARGE).contains(&self.seed) && plan.config.follow_host_addresses {
            all.extend(self.faults.iter().filter_map(|(_, fault)| match fault {
                Fault::RemoveAddress(of, address) if *of == host => Some(*address),
                _ => None,
            }));
        }
        all
    }
}

/// Small messages for as long as it moves.
fn keep_sending(draw: &mut Draw, plan: &mut HostPlan) {
    let streams = plan.config.outbound_streams;
    for _ in 0..draw.between(0, 40) {
        plan.traffic.push(PlannedMessage {
            at: Time::from_micros(draw.between(0, 12_000_000)),
            stream: draw.between(0, 15) as u16 % streams,
            size: draw.log_whole(1, 3_000) as usize,
            unordered: draw.chance(0.3),
            immediate: false,
            lifetime: None,
            reliability: Reliability::Full,
            key: None,
            to: None,
        });
    }
    plan.traffic.sort_by_key(|message| message.at);
}

/// An address of the same network that nobody has.
fn another(old: IpNet, host: usize, n: u16) -> IpNet {
    let last = 129 + 2 * n + host as u16;
    let address: IpAddr = match old.addr() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            [a, b, c, last as u8].into()
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, g, _] = address.segments();
            Ipv6Addr::new(a, b, c, d, e, f, g, last).into()
        }
    };
    IpNet::new(address, old.prefix_len()).expect("the length is that of another one")
}
