//! Which pairs of addresses work when, and whether an association had to survive.
//!
//! A pair (an address of host 0, one of host 1) works at a moment if a packet from either to the other
//! takes, as both hosts and the network route it then, only links that are up, have no firewall against
//! it, lose hardly anything, and take packets of the sender's size or tell it of smaller ones by ICMP.
//!
//! An association is **healthy** if there is one pair of addresses that both ends know, that works while
//! it is set up and from then until the end, except for [`BUDGET`] in all, or what the timers of an end
//! bridge ([`bridged`]).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tresse_core::{CloseReason, Time};
use tresse_sim::{HostId, LinkId, Passage, Simulation};

use crate::ledger::{End, Kind, Ledger};
use crate::limits;
use crate::scenario::{Fault, Reading, Scenario, global};

/// How long the pair may be dead in all, at most.
const BUDGET: Duration = Duration::from_secs(30);
/// Addresses of a peer that are believed.
pub(crate) const BELIEVED: usize = 16;
/// Max.Init.Retransmits, and the first transmission.
const INITS: usize = 9;
/// A setup that fails more seldom must succeed.
const UNLUCKY: f64 = 1e-6;
/// Nor is a pair healthy on which all tries are lost more often, each time that data is sent.
pub(crate) const MOST_UNLUCKY: f64 = 1e-3;
/// A link that loses more is not one that works.
const MOST_LOSS: f64 = 0.05;

type Pair = (IpAddr, IpAddr);

/// What worked from a moment on.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) at: Time,
    /// What each host was bound to and had.
    pub(crate) addresses: [Vec<IpAddr>; 2],
    /// And how likely it is that a packet or its answer is lost.
    pub(crate) pairs: BTreeMap<Pair, f64>,
    /// Between which packets pass at all, however many are lost.
    passing: BTreeSet<Pair>,
}

/// All moments at which something changed.
#[derive(Debug, Default)]
pub(crate) struct Health {
    pub(crate) moments: Vec<Moment>,
}

impl Health {
    /// Looks at the network after a change.
    pub(crate) fn observe(&mut self, sim: &Simulation, hosts: [HostId; 2], scenario: &Scenario) {
        let addresses = [0, 1].map(|host: usize| {
            let plan = &scenario.hosts[host];
            match sim.stack(hosts[host]) {
                Some(stack) if plan.wildcard => global(stack),
                Some(stack) => {
                    let has = |a: &&IpAddr| stack.interface_of(**a).is_some();
                    plan.addresses.iter().filter(has).copied().collect()
                }
                None => plan.addresses.clone(),
            }
        });
        let (mut pairs, mut passing) = (BTreeMap::new(), BTreeSet::new());
        for a in &addresses[0] {
            for b in addresses[1].iter().filter(|b| b.is_ipv4() == a.is_ipv4()) {
                let Some((there, back)) = passages(sim, hosts, (*a, *b)) else { continue };
                passing.insert((*a, *b));
                if let Some(loss) = loss(sim, scenario, *a, [&there, &back]) {
                    pairs.insert((*a, *b), loss);
                }
            }
        }
        self.moments.push(Moment { at: sim.now(), addresses, pairs, passing });
    }

    /// Moments that matter between two times, each with the time that it lasts there.
    pub(crate) fn between(
        &self,
        from: Time,
        to: Time,
    ) -> impl Iterator<Item = (&Moment, Duration)> {
        let ends = self.moments.iter().skip(1).map(|m| m.at).chain([Time::FAR_FUTURE]);
        self.moments.iter().zip(ends).filter_map(move |(moment, end)| {
            let (begin, end) = (moment.at.max(from), end.min(to));
            (begin < end || (begin == end && begin == from)).then(|| (moment, end.since(begin)))
        })
    }

    /// The shortest time for which some pair of these did not work, of those that lose so little that
    /// `tries` will do. Until both ends have verified it, it does not work either.
    fn least_dead(
        &self,
        scenario: &Scenario,
        pairs: &[Pair],
        tries: i32,
        from: Time,
        to: Time,
    ) -> Option<Duration> {
        let dead = |pair: &Pair| {
            let broken = self.between(from, to).filter(|(m, _)| !m.pairs.contains_key(pair));
            broken.map(|(_, time)| time).sum::<Duration>() + verified_after(scenario, *pair)
        };
        let lucky = |pair: &&Pair| {
            let losses = self.between(from, to).filter_map(|(m, _)| m.pairs.get(*pair));
            losses.fold(0.0, |most: f64, loss| most.max(*loss)).powi(tries) < MOST_UNLUCKY
        };
        pairs.iter().filter(lucky).map(dead).min()
    }

    /// Whether some pair with one of these addresses of `host` worked at a moment and did not later; or let packets pass
    /// and does not: an INIT may have got through where too much is lost for a pair to work.
    fn some_pair_fails(&self, host: usize, addresses: &[IpAddr], from: Time, to: Time) -> bool {
        let (mut passed, mut worked) = (BTreeSet::new(), BTreeSet::new());
        let with = |pair: &&Pair| addresses.contains(if host == 0 { &pair.0 } else { &pair.1 });
        self.between(from, to).any(|(moment, _)| {
            let stops = passed.iter().any(|pair| !moment.passing.contains(pair));
            let fails = worked.iter().any(|pair| !moment.pairs.contains_key(pair));
            passed.extend(moment.passing.iter().filter(with));
            worked.extend(moment.pairs.keys().filter(with));
            stops || fails
        })
    }

    /// Pairs of addresses that both hosts had all the time between two moments, and that worked. `told` says
    /// of each host whether it lists its addresses.
    ///
    /// What an end asks the peer to forget is none of them.
    fn known(&self, scenario: &Scenario, told: [bool; 2], from: Time, to: Time) -> Vec<Pair> {
        let lists = [0, 1].map(|host: usize| {
            if !told[host] {
                return Vec::new();
            }
            let unsure = scenario.unsure(host);
            let mut lists = self.between(from, to).map(|(m, _)| &m.addresses[host]);
            let first = lists.next().cloned().unwrap_or_default();
            let first: Vec<IpAddr> = first.into_iter().take(BELIEVED).collect();
            let sure = first.into_iter().filter(|a| !unsure.contains(a)).collect();
            lists.fold(sure, |kept: Vec<IpAddr>, list| {
                kept.into_iter().filter(|a| list.contains(a)).collect()
            })
        });
        let pair = |a: &IpAddr| lists[1].iter().map(|b| (*a, *b)).collect::<Vec<_>>();
        let worked = |pair: &Pair| self.between(from, to).all(|(m, _)| m.pairs.contains_key(pair));
        lists[0].iter().flat_map(pair).filter(worked).collect()
    }

    /// Whether the setup by `end` had to succeed. If the other host calls as well, both calls must get
    /// through: an INIT that crosses another one is answered only at an address that was called (RFC 9260
    /// §5.2.1).
    fn setup_is_healthy(&self, scenario: &Scenario, end: &End) -> bool {
        let calls = [end.host, 1 - end.host];
        let calls = calls.into_iter().filter(|host| scenario.hosts[*host].connect_at.is_some());
        calls.into_iter().all(|host| self.gets_through(scenario, host, end))
    }

    /// How long one end waited for the other one, where the setup is not promised: an end that waits for
    /// COOKIE ACK discards DATA (RFC 9260 §6), so nothing was acknowledged meanwhile, whatever path it took, and
    /// T1-cookie may be backed off as far as the timers that the waiting end bridges.
    fn apart(&self, scenario: &Scenario, ends: &[End]) -> Duration {
        let late = |end: &&End| !self.setup_is_healthy(scenario, end);
        let waited = |end: &End| {
            let up = end.connected?;
            let others = ends.iter().filter(|other| other.host != end.host);
            let before = others.filter_map(|other| other.connected).filter(|at| *at <= up);
            Some(up.since(before.max()?))
        };
        ends.iter().filter(late).filter_map(waited).max().unwrap_or_default()
    }

    /// One of the addresses that `host` calls, which are tried in turn, is reached from every address that
    /// the host could choose as source; or at least from one, and there are tries enough for all pairs.
    ///
    /// Those are the addresses that it had when it called: what the INIT does not list is none of the
    /// association, and no source of its COOKIE ECHO (RFC 9260 §5.1.2, §5.1.5).
    fn gets_through(&self, scenario: &Scenario, host: usize, end: &End) -> bool {
        let to = end.connected.unwrap_or(Time::FAR_FUTURE);
        let remotes = &scenario.hosts[host].remotes;
        let Some((called, _)) = self.between(end.opened, to).next() else { return false };
        let pair = |a: IpAddr, r: IpAddr| if host == 0 { (a, r) } else { (r, a) };
        // An end that lists none has the one address that its INIT or INIT ACK came from (§5.1.2 A): when
        // that pair works no more, COOKIE ECHO cannot take another.
        let one_way = withholds(scenario, host) || withholds(scenario, 1 - host);
        let over = end.closed.as_ref().map_or(to, |(at, _)| to.min(*at));
        if one_way && self.some_pair_fails(1 - host, remotes, end.opened, over) {
            return false;
        }
        let sure = |moment: &Moment, pair: Pair, tries: usize| {
            moment.pairs.get(&pair).is_some_and(|loss| loss.powi(tries as i32) < UNLUCKY)
        };
        remotes.iter().any(|r| {
            let listed = called.addresses[host].iter().filter(|a| a.is_ipv4() == r.is_ipv4());
            let listed: Vec<IpAddr> = listed.copied().collect();
            let from_each = self.between(end.opened, to).all(|(moment, _)| {
                let mut own =
                    listed.iter().filter(|a| moment.addresses[host].contains(a)).peekable();
                let good = |a: &IpAddr| sure(moment, pair(*a, *r), INITS / remotes.len());
                own.peek().is_some() && own.all(good)
            });
            let tries = INITS / (remotes.len() * listed.len().max(1));
            let moments = || self.between(end.opened, to);
            let from_one = |a: &IpAddr| moments().all(|(m, _)| sure(m, pair(*a, *r), tries));
            from_each || listed.iter().any(from_one)
        })
    }
}

/// The ways of a packet between this pair and of its answer, if both arrive.
fn passages(sim: &Simulation, hosts: [HostId; 2], (a, b): Pair) -> Option<(Passage, Passage)> {
    let there = sim.passage(hosts[0], a, b)?;
    let back = sim.passage(hosts[1], b, there.source)?;
    (there.host == hosts[1] && back.host == hosts[0]).then_some((there, back))
}

/// How likely it is that a packet or its answer is lost on these ways, if the pair of `a` works.
fn loss(
    sim: &Simulation,
    scenario: &Scenario,
    a: IpAddr,
    [there, back]: [&Passage; 2],
) -> Option<f64> {
    let good = |host: usize, links: &[LinkId]| {
        let mtu = scenario.hosts[host].config.mtu;
        links.iter().all(|link| {
            let (config, rules) = (sim.link_config(*link), sim.link_rules(*link));
            let small = rules.mtu.is_some_and(|limit| limit < mtu);
            // A NAT swallows what ICMP says.
            // Nor need IPv6 get by with less than 1280 bytes (RFC 8200 §5).
            let enough = a.is_ipv4() || rules.mtu.is_none_or(|limit| limit >= 1280);
            let told = rules.reports && scenario.nat.is_none() && enough;
            let sound = config.loss <= MOST_LOSS && config.corrupt <= MOST_LOSS;
            let held = config.reorder_after.is_some() && config.reorder_hold_ms.is_none();
            sound && !held && (!small || told)
        })
    };
    let works = good(0, &there.links) && good(1, &back.links);
    let loss = |link: &LinkId| {
        let config = sim.link_config(*link);
        config.loss + config.corrupt
    };
    works.then(|| there.links.iter().chain(&back.links).map(loss).sum())
}

/// A healthy association is set up, ends gracefully, and loses nothing.
pub(crate) fn judge(scenario: &Scenario, health: &Health, ledger: &mut Ledger) {
    let (mut texts, mut excuses) = (Vec::new(), BTreeSet::new());
    let mut all_healthy = !ledger.ends.is_empty();
    let first = ledger.ends.iter().map(|end| end.opened).min();
    let last = ledger.ends.iter().map(|end| end.connected.unwrap_or(end.opened)).max();
    let (Some(first), Some(last)) = (first, last) else { return };
    let calls = |end: &End| scenario.hosts[end.host].connect_at == Some(end.opened);
    let told = [0, 1].map(|host| !withholds(scenario, host));
    let tries = tries(scenario, 0).min(tries(scenario, 1));
    let budget = bridged(scenario, 0).min(bridged(scenario, 1));
    // An end that is up may have lost the other one on its way there.
    let half = |end: &End| end.connected.is_none() && calls(end);
    let both_up =
        !ledger.ends.iter().any(|end| half(end) && !health.setup_is_healthy(scenario, end));
    let apart = health.apart(scenario, &ledger.ends);
    for end in &ledger.ends {
        let mut healthy = !calls(end) || health.setup_is_healthy(scenario, end);
        let mut dead = None;
        if end.connected.is_some() {
            let over = end.closed.as_ref().map_or(Time::FAR_FUTURE, |(at, _)| *at);
            let least = |told, tries| {
                let known = health.known(scenario, told, first, last);
                let dead = health.least_dead(scenario, &known, tries, first, over)?;
                Some(dead + apart)
            };
            let followed = health.followed(scenario, tries, last, over).map(|dead| dead + apart);
            if followed.is_some_and(|dead| dead <= budget) {
                ledger.seen.insert("followed to other addresses");
            }
            dead = [least(told, tries), followed].into_iter().flatten().min();
            let lives = |dead: Option<Duration>| dead.is_some_and(|dead| dead <= budget);
            healthy = both_up && lives(dead);
            // What only one of the excuses saves.
            if !healthy && !ended_well(scenario, end) {
                excuses.insert(match dead {
                    _ if !both_up => "excused: the other end could not be set up",
                    None if lives(least([true; 2], tries)) => "excused: private addresses withheld",
                    None if lives(least(told, 1000)) => "excused: many paths, much loss",
                    None => "excused: no pair known to both",
                    Some(dead) if dead > BUDGET => "excused: dead for more than 30 s",
                    Some(_) => "excused: dead for longer than timers bridge",
                });
            }
        } else if !healthy && !ended_well(scenario, end) {
            excuses.insert("excused: no address is sure to be reached");
        }
        all_healthy &= healthy;
        if !healthy || ended_well(scenario, end) {
            continue;
        }
        if is_last(&ledger.ends, end) {
            excuses.insert("excused: lacks nothing but the news");
        } else if is_replaced(scenario, &ledger.ends, end) {
            excuses.insert("excused: one of two calls");
        } else {
            let dead = dead.unwrap_or_default();
            texts.push(format!("{}: {:?}, no pair dead for {dead:?}", end.name, end.closed));
        }
    }
    let (accepted, delivered, failed) = ledger.totals();
    // RFC 9260 §9: with an abort "any data pending on either end of the association is discarded and not
    // delivered to the peer", also what was acknowledged for good (NR-SACK) and waits for its turn.
    let aborted = |end: &End| matches!(end.closed, Some((_, CloseReason::Aborted)));
    let aborted = ledger.ends.iter().any(aborted);
    if all_healthy && delivered + failed < accepted && aborted {
        excuses.insert("excused: an abort discards");
    } else if all_healthy && delivered + failed < accepted {
        texts.push(format!("{accepted} accepted, {delivered} delivered, {failed} failed"));
    }
    let seen = if all_healthy { "healthy throughout" } else { "not healthy throughout" };
    ledger.seen.insert(seen);
    if all_healthy && !scenario.faults.is_empty() {
        ledger.seen.insert("healthy in spite of faults");
    }
    ledger.seen.extend(excuses);
    for text in texts {
        ledger.violate(Kind::Unhealthy, text);
    }
}

/// An outage of all paths that an end bridges in any case: when it is over, Association.Max.Retrans (RFC
/// 9260 §8.1) still leaves each path a turn.
///
/// The fewer the paths, the longer the outage: RTO.Min, doubled up to RTO.Max at each turn, bridges some
/// six minutes with ten errors on one path. With concurrent transfer or `limits.patience` the paths take
/// turns; otherwise all may count their errors at once, since what times out on one is sent on another.
fn bridged(scenario: &Scenario, host: usize) -> Duration {
    let config = &scenario.hosts[host].config;
    let profile = &config.profile;
    let paths = scenario.hosts[1 - host].addresses.len().clamp(1, BELIEVED) as u32;
    let turns = profile.limits.association_max_retrans.saturating_sub(paths);
    let together = !(profile.limits.patience || config.concurrent_transfer);
    let least = profile.rto.initial().min(profile.rto.min());
    // §6.3.3: a measurement "from a HEARTBEAT" collapses RTO back. Small packets may get through.
    let collapses = profile.heartbeat.enabled && swallows_large(scenario);
    let turn = |number: u32| {
        let doublings = if together { number } else { number / paths };
        let doublings = if collapses { 0 } else { doublings };
        least.mul_f64(profile.t3_rtx.backoff.powi(doublings as i32)).min(profile.rto.max())
    };
    let turns = if together { turns / paths } else { turns };
    (0..turns).map(turn).sum::<Duration>().min(BUDGET)
}

/// How long it takes until both ends may send to the other address of this pair, if the first heartbeat to it
/// is lost: until then not even a SACK may (RFC 9260 §5.4), and it is asked once in an RTO. An address that the
/// application has named needs none, nor does that of an INIT, which is sure only of a single one.
fn verified_after(scenario: &Scenario, (a, b): Pair) -> Duration {
    let verifies = |host: usize, other: IpAddr| {
        let plan = &scenario.hosts[host];
        let named = plan.connect_at.is_some() && plan.remotes.contains(&other);
        let single = scenario.hosts[1 - host].addresses.len() == 1;
        if named || single { Duration::ZERO } else { plan.config.profile.rto.initial() }
    };
    verifies(0, b).max(verifies(1, a))
}

/// Some link lets small packets pass, and does not tell of the large ones that it drops.
fn swallows_large(scenario: &Scenario) -> bool {
    scenario.faults.iter().any(|(_, fault)| match fault {
        Fault::Rules(_, rules) => {
            let told = rules.reports && scenario.nat.is_none();
            rules.mtu.is_some_and(|mtu| !told || mtu < 1280)
        }
        _ => false,
    })
}

/// So often something that is lost is sent on one path before an end gives up: Association.Max.Retrans (RFC
/// 9260 §8.1), ten, counts the errors of all of them.
fn tries(scenario: &Scenario, host: usize) -> i32 {
    let paths = scenario.hosts[1 - host].addresses.len().clamp(1, BELIEVED);
    (11 / paths) as i32
}

/// RFC 6951 §5.7: who is bound to a wildcard keeps private addresses, and all are here, to itself if it
/// calls or is called by somebody out in the world. The peer knows the address that it uses and no more.
pub(crate) fn withholds(scenario: &Scenario, host: usize) -> bool {
    let public = |a: &IpAddr| match a {
        IpAddr::V4(a) => !a.is_private(),
        IpAddr::V6(a) => !a.is_unique_local(),
    };
    let plan = &scenario.hosts[host];
    let calls = plan.connect_at.is_some() && plan.remotes.first().is_some_and(public);
    let called = scenario.nat.is_some() && host == 1;
    plan.wildcard && (calls || called)
}

/// Two hosts that call each other, over addresses of which neither can know yet that they belong together,
/// may have two associations for a while. One remains: the other one ends once the peer's tag shows that it
/// is one too many, or because the peer takes it for a restart (RFC 9260 §5.2.4 A). Or it is never set up:
/// by §5.2.2 its INIT, from an address that the peer does not know as one of the first association, is not
/// answered by INIT ACK.
fn is_replaced(scenario: &Scenario, ends: &[End], end: &End) -> bool {
    let both_call = scenario.hosts.iter().all(|host| host.connect_at.is_some());
    let ended = match end.closed {
        Some((_, CloseReason::PeerAborted { .. } | CloseReason::Crossed)) => true,
        Some((_, CloseReason::SetupFailed)) => withholds(scenario, 1 - end.host),
        _ => false,
    };
    let remains = |other: &&End| {
        other.host == end.host && other.name != end.name && other.connected.is_some()
    };
    let other = ends.iter().find(remains);
    both_call && ended && other.is_some_and(|other| ended_well(scenario, other))
}

/// The other end is gone, after everything was acknowledged: this one lacks nothing but the news, and no
/// protocol can promise that the last message arrives (RFC 9260 §9.2 gives it a few tries).
fn is_last(ends: &[End], end: &End) -> bool {
    let unheard =
        |c: &CloseReason| matches!(c, CloseReason::Unreachable | CloseReason::ShutdownTimeout);
    let gone = |other: &End| {
        other.host != end.host && matches!(other.closed, Some((_, CloseReason::Shutdown)))
    };
    end.closed.as_ref().is_some_and(|(_, c)| unheard(c)) && ends.iter().any(gone)
}

fn ended_well(scenario: &Scenario, end: &End) -> bool {
    let Some((at, reason)) = &end.closed else { return true }; // That is another violation.
    let abort = scenario.hosts.iter().any(|host| matches!(host.reading, Reading::Never(_)));
    match reason {
        CloseReason::Shutdown => true,
        // An application that never reads aborts at last.
        CloseReason::Aborted | CloseReason::PeerAborted { .. } => abort && *at >= scenario.curfew,
        // The other one may be gone by then, with its ABORT lost.
        CloseReason::ProtocolViolation(what) => *what == limits::TOO_LONG,
        _ => false,
    }
}
