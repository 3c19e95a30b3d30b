//! One host moves, and the other one stays: whatever becomes of its addresses, an association that follows its host (RFC 5061) lives
//! on, as soon as one of them is reached again.

use std::time::Duration;

use tresse_core::Time;

use crate::health::{BELIEVED, Health, MOST_UNLUCKY, withholds};
use crate::scenario::{Call, Ending, Fault, LARGE, RESTLESS, Scenario};

impl Health {
    /// For how long the ends may have been apart, if just one host moves, once both are up (`from`): all the time that it moves, and
    /// then as long as no pair of an address that it has now and one that the other one has always had works.
    ///
    /// Such a host is bound to a wildcard and follows it, and both ends have agreed on changes of addresses. Nobody shuts down
    /// meanwhile: in the states of a shutdown nothing is asked (§5.1).
    pub(crate) fn followed(
        &self,
        scenario: &Scenario,
        tries: i32,
        from: Time,
        to: Time,
    ) -> Option<Duration> {
        let mover = the_one_that_moves(scenario)?;
        let moves = || scenario.faults.iter().filter(|(_, fault)| moved(fault) == Some(mover));
        let (first, last) = (moves().next()?.0, moves().next_back()?.0);
        if first <= from || last >= to || last >= scenario.curfew {
            return None;
        }
        let lists = |at: Time| self.moments.iter().rev().find(|moment| moment.at <= at);
        let (before, after) = (lists(from)?, lists(last)?);
        let stays = before.addresses[1 - mover].iter().take(BELIEVED);
        let pairs = stays.flat_map(|s| after.addresses[mover].iter().map(move |m| (*m, *s)));
        let pairs = pairs.map(|(m, s)| if mover == 0 { (m, s) } else { (s, m) });
        let dead = |pair| {
            let mut dead = Duration::ZERO;
            for (moment, time) in self.between(last, to) {
                match moment.pairs.get(&pair) {
                    None => dead += time,
                    Some(loss) if loss.powi(tries) >= MOST_UNLUCKY => return None,
                    Some(_) => {}
                }
            }
            Some(dead)
        };
        let verified = scenario.hosts.each_ref().map(|plan| plan.config.profile.rto.initial());
        let dead = pairs.filter_map(dead).min()?;
        Some(last.since(first) + dead + verified[0].max(verified[1]))
    }
}

/// Whose addresses change with this fault.
fn moved(fault: &Fault) -> Option<usize> {
    match fault {
        Fault::AddAddress(host, ..)
        | Fault::RemoveAddress(host, _)
        | Fault::Interface(host, ..) => Some(*host),
        _ => None,
    }
}

/// The host that moves, if the other one does not, and all that it takes to follow it is there.
fn the_one_that_moves(scenario: &Scenario) -> Option<usize> {
    let mover = scenario.faults.iter().find_map(|(_, fault)| moved(fault))?;
    let alone = scenario.faults.iter().all(|(_, fault)| moved(fault).is_none_or(|h| h == mover));
    let able = scenario.hosts.iter().enumerate().all(|(host, plan)| {
        let extensions = &plan.config.extensions;
        let asks = |(_, call): &(Time, Call)| matches!(call, Call::ChangeAddress(..));
        extensions.address_reconfiguration
            && extensions.authentication
            && plan.ending == Ending::Never
            && !plan.calls.iter().any(asks)
            && !withholds(scenario, host)
    });
    let plan = &scenario.hosts[mover];
    let follows = plan.wildcard && plan.config.follow_host_addresses;
    ((RESTLESS..LARGE).contains(&scenario.seed)
        && scenario.nat.is_none()
        && alone
        && able
        && follows)
        .then_some(mover)
}
