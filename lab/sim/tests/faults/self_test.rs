//! Would it be noticed? Every invariant, seen to fail.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tresse_core::wire::{Ppid, StreamId};
use tresse_core::{
    AssociationStats, CloseReason, Endpoint, EndpointConfig, Message, PathStats, SendFailure, Time,
};
use tresse_sim::apps::content;

use crate::actor::Lie;
use crate::ledger::{Kind, Ledger, Mortality};
use crate::limits;
use crate::run::{self, Options, run};
use crate::scenario::{Ending, Fault, KEYED, PORT, Scenario};

/// What is found in a scenario when one host (or `None`: both) lies.
fn caught(seed: u64, host: Option<usize>, lie: Lie) -> BTreeSet<Kind> {
    let options = Options { lie: Some((host, lie)), ..Options::default() };
    let report = run(&Scenario::draw(seed), &options);
    report.violations.iter().map(|violation| violation.kind).collect()
}

#[test]
fn lies_are_caught() {
    let lies = [
        (Lie::Swallow, Kind::Lost),
        (Lie::Repeat, Kind::Duplicated),
        (Lie::FlipBit, Kind::Altered),
        (Lie::Truncate, Kind::Altered),
        (Lie::OtherStream, Kind::Altered),
        (Lie::Swap, Kind::Misordered),
        (Lie::Invent, Kind::Invented),
        (Lie::Reflect, Kind::Invented),
        (Lie::DenyFailure, Kind::Lost),
        (Lie::RepeatFailure, Kind::FalseFailure),
        (Lie::NeverReads, Kind::Leak),
        (Lie::MissesWritable, Kind::LostWakeup),
        (Lie::Busy, Kind::Spin),
        (Lie::Panic, Kind::Panic),
    ];
    for (lie, kind) in lies {
        let mut times = 0;
        for seed in 0..400 {
            let options = Options { lie: Some((Some(0), lie)), ..Options::default() };
            let report = crate::seeds::run_seed(seed, &options).1;
            times += u32::from(report.violations.iter().any(|v| v.kind == kind));
        }
        assert!(times > 0, "{lie:?} was never caught as {kind:?}");
    }
}

#[test]
fn associations_without_an_end_are_caught() {
    let seed = (0..).find(|seed| Scenario::draw(*seed).mild).expect("four of ten are");
    assert!(caught(seed, None, Lie::NeverShutsDown).contains(&Kind::Unfinished));
}

#[test]
fn abortion_under_mild_conditions_is_caught() {
    let mut kinds = BTreeSet::new();
    for seed in 0..50 {
        let mut scenario = Scenario::draw(seed);
        if scenario.mild {
            scenario.hosts[0].ending = Ending::AbortAt(Time::from_millis(700));
            let report = run(&scenario, &Options::default());
            kinds.extend(report.violations.iter().map(|violation| violation.kind));
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [Kind::NotGraceful]);
}

/// Worlds in which addresses and links fail, and nothing else.
fn steady() -> impl Iterator<Item = Scenario> {
    (0..2800).map(Scenario::draw).filter(|scenario| scenario.steady)
}

/// In how many of them a healthy association is found to have ended after a change, and in how many some
/// peer was given up.
fn unhealthy(change: impl Fn(&mut Scenario)) -> [usize; 2] {
    let mut counts = [0; 2];
    for mut scenario in steady() {
        change(&mut scenario);
        let report = run(&scenario, &Options::default());
        let kinds = report.violations.iter().map(|violation| violation.kind);
        counts[0] += usize::from(kinds.into_iter().any(|kind| kind == Kind::Unhealthy));
        counts[1] += usize::from(report.seen.contains("closed: unreachable"));
    }
    counts
}

#[test]
fn giving_up_too_early_is_caught() {
    let [found, _] = unhealthy(|scenario| {
        for host in &mut scenario.hosts {
            let profile = host.config.profile.with_overrides("limits.association_max_retrans = 0");
            host.config.profile = Arc::new(profile.expect("it is a parameter"));
        }
    });
    assert!(found > 5, "{found}");
}

#[test]
fn ending_a_healthy_association_is_caught() {
    let [found, _] = unhealthy(|scenario| {
        scenario.hosts[0].ending = Ending::AbortAt(Time::from_millis(700));
    });
    assert!(found > 50, "{found}");
}

#[test]
fn giving_up_a_dead_world_is_no_fault() {
    let [found, given_up] = unhealthy(|scenario| {
        let at = Time::from_millis(400);
        scenario.faults.retain(|(time, _)| *time < at);
        scenario.faults.push((at, Fault::Down((0..scenario.links.len()).collect())));
    });
    assert_eq!(found, 0);
    assert!(given_up > 50, "{given_up}");
}

#[test]
fn slowness_under_mild_conditions_is_caught() {
    let late = |ledger: &mut Ledger, at| {
        let end = ledger.open(Time::ZERO, 0, 1, "end".into());
        ledger.closed(at, end, CloseReason::Shutdown);
    };
    let scenario = (0..).map(Scenario::draw).find(|s| s.mild).expect("four of ten are");
    for (at, fine) in [(Time::from_millis(100), true), (Time::from_millis(10_000_000), false)] {
        let mut ledger = Ledger::default();
        late(&mut ledger, at);
        late(&mut ledger, at);
        run::judge_mild(&scenario, &mut ledger);
        assert_eq!(ledger.violations.is_empty(), fine, "{:?}", ledger.violations);
    }
}

#[test]
fn different_packets_have_different_digests() {
    let options = Options { digest: true, ..Options::default() };
    let reports = (0..20).map(|seed| run(&Scenario::draw(seed), &options));
    // Where nobody has a way to anybody, no packet leaves at all.
    let digests: Vec<u64> = reports.filter(|r| r.packets > 0).map(|r| r.digest).collect();
    assert!(digests.len() > 15, "{} worlds have packets", digests.len());
    assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), digests.len());
}

/// The kinds that `judge` finds with a ledger that has one end.
fn judged(judge: impl FnOnce(&mut Ledger, usize)) -> Vec<Kind> {
    let mut ledger = Ledger::default();
    let end = ledger.open(Time::ZERO, 0, 1, "end".into());
    judge(&mut ledger, end);
    ledger.violations.iter().map(|violation| violation.kind).collect()
}

#[test]
fn memory_beyond_the_limits_is_caught() {
    let config = &Scenario::draw(0).hosts[0].config;
    let check = |change: fn(&mut AssociationStats, usize, usize)| {
        judged(|ledger, end| {
            let mut stats = AssociationStats::default();
            let reserve = config.send_buffer as f64 * config.profile.streams.reserve;
            let send = config.send_buffer + reserve as usize;
            change(&mut stats, send, config.receive_buffer as usize);
            limits::check_memory(ledger, end, &stats, config);
        })
    };
    assert_eq!(check(|stats, send, _| stats.send_buffered = send), []);
    assert_eq!(check(|stats, send, _| stats.send_buffered = send + 1), [Kind::SendBuffer]);
    assert_eq!(check(|stats, _, receive| stats.receive_buffered = 4 * receive), []);
    assert_eq!(
        check(|stats, _, receive| stats.receive_buffered = 4 * receive + 65_537),
        [Kind::ReceiveBuffer]
    );
}

#[test]
fn paths_out_of_range_are_caught() {
    let plan = &Scenario::draw(0).hosts[0];
    let mut endpoint = Endpoint::new(EndpointConfig::default(), [7; 32]);
    let now = Time::from_millis(1);
    let id = endpoint.connect(now, &plan.remotes, PORT, plan.config.clone()).expect("valid");
    let check = |change: fn(&mut PathStats)| {
        let mut path = endpoint.path_stats(id)[0].clone();
        change(&mut path);
        judged(|ledger, end| limits::check_path(ledger, end, &path, &plan.config))
    };
    assert_eq!(check(|_| ()), []);
    assert_eq!(check(|path| path.rto = Duration::from_secs(61)), [Kind::Range]);
    assert_eq!(check(|path| path.cwnd = 0), [Kind::Range]);
    assert_eq!(check(|path| path.errors = 100), [Kind::Range]);
}

#[test]
fn counters_and_chatter_are_caught() {
    let check = |change: fn(&mut AssociationStats)| {
        judged(|ledger, end| {
            let mut stats = AssociationStats::default();
            change(&mut stats);
            limits::check_counters(ledger, end, &stats);
        })
    };
    assert_eq!(check(|_| ()), []);
    assert_eq!(check(|stats| stats.messages_sent = 1), [Kind::Counters]);
    assert_eq!(check(|stats| stats.user_bytes_received = 1), [Kind::Counters]);
    assert_eq!(check(|stats| stats.sacks_sent = 1), [Kind::Chatter]);
    let scenario = Scenario::draw(0);
    let minute = limits::most_packets(&scenario, 0, Duration::from_secs(60));
    assert!(minute < 100_000, "a packet storm of {minute} packets would pass");
}

#[test]
fn events_in_the_wrong_order_are_caught() {
    let twice = judged(|ledger, end| {
        ledger.connected(Time::ZERO, end);
        ledger.connected(Time::ZERO, end);
    });
    assert_eq!(twice, [Kind::EventOrder]);
}

/// Message 0 as its receiver gets it.
fn message() -> Message {
    let payload = content(0, 20);
    Message { stream: StreamId(3), ppid: Ppid(0), unordered: false, payload }
}

#[test]
fn a_mixture_of_associations_is_caught() {
    let found = judged(|ledger, sender| {
        let receiver = ledger.open(Time::ZERO, 1, 1, "receiver".into());
        let other = ledger.open(Time::ZERO, 0, 1, "other sender".into());
        ledger.connected(Time::ZERO, sender);
        ledger.accepted(sender, 3, 20, false, Mortality::Reliable);
        ledger.accepted(other, 3, 20, false, Mortality::Reliable);
        ledger.delivered(receiver, &message());
        let payload = content(1, 20);
        ledger.delivered(receiver, &Message { ppid: Ppid(1), payload, ..message() });
    });
    assert_eq!(found, [Kind::Mixed]);
}

#[test]
fn failure_after_a_graceful_end_is_caught() {
    let found = judged(|ledger, end| {
        ledger.connected(Time::ZERO, end);
        ledger.accepted(end, 3, 20, false, Mortality::Reliable);
        ledger.failed(
            Time::ZERO,
            end,
            &SendFailure { message: message(), whole: true, context: 0, sent: true },
        );
        ledger.closed(Time::ZERO, end, CloseReason::Shutdown);
        ledger.settle(&|_, _| false, &|_| false);
    });
    assert_eq!(found, [Kind::FalseFailure]);
}

#[test]
fn what_is_left_behind_is_caught() {
    let check = |left, timer| judged(|ledger, _| run::judge_host(ledger, 1, 1, left, timer));
    assert_eq!(check(0, None), []);
    assert_eq!(check(1, None), [Kind::Leak]);
    assert_eq!(check(0, Some(Time::ZERO)), [Kind::TimerLeft]);
    let open = judged(|ledger, _| run::judge_host(ledger, 0, 1, 0, None));
    assert_eq!(open, [Kind::Unfinished]);
}

#[test]
fn messages_of_strangers_are_caught() {
    let mut caught = 0;
    for seed in KEYED..KEYED + 20 {
        let mut scenario = Scenario::draw(seed);
        scenario.strangers = true;
        let report = run(&scenario, &Options::default());
        caught += usize::from(report.violations.iter().any(|v| v.kind == Kind::Stranger));
    }
    assert!(caught > 5, "{caught} of 20");
}
