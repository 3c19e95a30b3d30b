//! Changes of addresses (RFC 5061) in scenarios that had none: whether each end offers them, whether it follows its host, and
//! what its application asks for while data is in flight. All else stays as it is.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use tresse_core::{AddressChange, Time};
use tresse_sim::Draw;

use super::{Call, HostPlan, Scenario, global};

impl Scenario {
    /// Draws changes of addresses for each host.
    pub(super) fn change_addresses(mut self) -> Scenario {
        // A number with which the seeds that failed before stay as they were.
        let mut from = Draw::new(self.seed ^ 0xe7e5_10f5_5061_001b);
        let draw = &mut from;
        if !draw.chance(0.6) {
            return self;
        }
        for host in 0..2 {
            if draw.chance(0.85) {
                self.offer_changes(draw, host);
            }
        }
        let [a, b] =
            self.hosts.each_ref().map(|host| host.config.extensions.address_reconfiguration);
        if a && b {
            self.features.insert("both change addresses");
        }
        if a != b {
            self.features.insert("one end offers ASCONF");
        }
        self
    }

    fn offer_changes(&mut self, draw: &mut Draw, host: usize) {
        let (calm, nasty) = (self.calm(), self.features.contains("nasty"));
        let other = self.hosts[1 - host].config.clone();
        let plan = &mut self.hosts[host];
        if !plan.config.extensions.authentication {
            plan.config.extensions.authentication = true;
            // It knows the keys that the other end may use.
            plan.config.authentication = Arc::clone(&other.authentication);
        }
        plan.config.extensions.address_reconfiguration = true;
        plan.config.follow_host_addresses = draw.chance(0.5);
        let mut own = match &plan.stack {
            Some(stack) => global(stack),
            None => plan.addresses.clone(),
        };
        // Who deletes all that works is to blame himself: one stays where all is sound, the first one where no routes are, for
        // it is of the same family as that of the peer.
        let stays = if plan.stack.is_some() { draw.index(own.len()) } else { 0 };
        let stays = calm.then(|| own[stays]);
        if !calm {
            own.extend((0..3u8).map(|n| IpAddr::from([192, 0, 2, 101 + n + 10 * host as u8])));
        }
        let most = if nasty { 40 } else { 14 };
        for _ in 0..draw.between(0, most) {
            let at = Time::from_micros(draw.log_whole(1_000, 12_000_000));
            // One after the other, and several at once.
            let together = if draw.chance(0.2) { draw.between(2, 14) } else { 1 };
            for _ in 0..together {
                let address = own[draw.index(own.len())];
                let change = match draw.between(0, 9) {
                    0..=3 => AddressChange::Add,
                    4..=7 if stays != Some(address) => AddressChange::Delete,
                    _ => AddressChange::SetPrimary,
                };
                plan.calls.push((at, Call::ChangeAddress(change, address)));
            }
        }
        if plan.config.follow_host_addresses {
            self.features.insert("follows its host");
        }
    }
}

impl HostPlan {
    /// Its addresses that the peer may be asked to forget, and those that it may not know for some time.
    pub(super) fn unsure(&self) -> BTreeSet<IpAddr> {
        let of = |(_, call): &(Time, Call)| match call {
            Call::ChangeAddress(AddressChange::Delete, address) => Some(*address),
            _ => None,
        };
        self.calls.iter().filter_map(of).collect()
    }
}
