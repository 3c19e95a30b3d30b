//! Each switch of the profile has a file: a switch is a parameter that is true or false, a choice, or a number that is 0 by
//! default; one that another number turns off is listed here. So a mechanism cannot hide in the file of something else.

use std::collections::BTreeSet;

use super::Source;
use super::mechanisms;
use super::profile::{Parameter, Profile};
use super::reads::{self, Reads};

/// Switches of a mechanism whose file has another name, and which one.
const NAMED_OTHERWISE: [(&str, &str); 5] = [
    ("congestion.overloaded_floor", "second_loss"),
    ("multipath.queue_limit_packets", "queue_limit"),
    ("multipath.retransmission", "retransmission_policy"),
    ("multipath.sack_window_pieces", "sack_window"),
    ("sack.ask_when_idle", "immediate_sack"),
];

/// Switches between mechanisms, and the folder with a file for each variant.
const CHOICES: [(&str, &str); 3] = [
    ("congestion.algorithm", "core/src/congestion/"),
    ("multipath.scheduler", "core/src/path/scheduler/"),
    ("streams.scheduler", "core/src/streams/stream_scheduler/"),
];

/// Switches that are no mechanism, the files below `core/src/` that read them, and why they are none.
const RULES: [(&str, &[&str], &str); 24] = [
    ("congestion.counts_headers", &["send/outbound.rs"], "what is in flight, as Linux counts it"),
    ("congestion.fill_packet_after_timeout", &["send/windows.rs"], "§7.2.3 in bytes (RFC 5681)"),
    ("congestion.growth_needs_cumulative_advance", &["congestion/rfc9260.rs"], "RFC 2960 §7.2.1"),
    ("congestion.halve_at_every_timeout", &["congestion/rfc9260.rs"], "§7.2.3 or RFC 5681 §3.1"),
    ("congestion.idle_decay", &["congestion/rfc9260.rs"], "§7.2.1, which others leave out"),
    ("congestion.initial_window", &["congestion/rfc9260.rs"], "§7.2.1 or RFC 2960 §7.2.1"),
    ("congestion.one_packet_after_timeout", &["send/windows.rs"], "§7.2.3, which others leave out"),
    ("congestion.one_packet_until_sack", &["send/cwnd_overrides.rs"], "§6.3.3 E3 as ns-2 has it"),
    ("fast_retransmit.alternate_path", &["send/single.rs"], "RFC 2960 §6.4"),
    (
        "fast_retransmit.fast_recovery",
        &["congestion/prr.rs", "send/sender/loss.rs"],
        "§7.2.4, which RFC 2960 has not",
    ),
    ("fast_retransmit.htna", &["send/strikes.rs"], "§7.2.4 or RFC 2960 §7.2.4"),
    ("fast_retransmit.repeat", &["recovery/loss/fast_retransmit.rs"], "rule 5 as Linux has it"),
    ("fast_retransmit.restart_t3", &["recovery/timer/t3_rtx.rs"], "rule 4, which others leave out"),
    ("heartbeat.enabled", &["settings.rs"], "§8.3"),
    ("heartbeat.other_sources", &["association/addresses.rs"], "§6.4, which ns-2 has not"),
    ("limits.max_init_rto_ms", &["association/setup.rs"], "RFC 6458 §8.1.3"),
    (
        "limits.pf_max_retrans",
        &["profile/named.rs", "settings.rs"],
        "a setting of each path, that `path/potentially_failed.rs` follows (RFC 7829 §3.2)",
    ),
    ("limits.ps_max_retrans", &["profile/named.rs", "settings.rs"], "the same (RFC 7829 §5)"),
    (
        "rto.tick_ms",
        &["path/rtt.rs"],
        "the clock of a kernel; `path/ticks.rs` makes whole ticks of times",
    ),
    ("sack.if_last_is_duplicate", &["ack/delayed.rs"], "§6.2: \"MAY\""),
    (
        "sack.nr_sack",
        &[
            "handshake.rs",
            "receive/data.rs",
            "receive/mod.rs",
            "receive/reset.rs",
            "receive/sack.rs",
        ],
        "a chunk that is agreed on, as others",
    ),
    ("sack.when_filled", &["ack/delayed.rs"], "RFC 5681 §4.2"),
    (
        "streams.reserve",
        &["send/outbound.rs"],
        "a share of the send buffer, which may be none of it",
    ),
    ("t3_rtx.backs_off_late", &["send/sender/t3.rs"], "§6.3.3 E2 as Linux has it"),
];

/// Which switches need no file of their name.
struct Exceptions<'a> {
    named_otherwise: &'a [(&'a str, &'a str)],
    choices: &'a [(&'a str, &'a str)],
    rules: &'a [(&'a str, &'a [&'a str], &'a str)],
}

/// What is wrong with the switches of the profile in `sources`.
fn wrong<'a>(sources: &[Source], exceptions: &Exceptions<'a>) -> Vec<String> {
    let Exceptions { named_otherwise, choices, rules } = exceptions;
    let code = || sources.iter().filter(|source| !source.is_test());
    let is_profile =
        |name: &str| name.starts_with("core/src/profile/") || name == "core/src/profile.rs";
    let profile = Profile::read(
        code().filter(|source| is_profile(&source.name)).map(|source| source.text.as_str()),
    );
    let others = code().filter(|source| !is_profile(&source.name));
    let others = others.flat_map(|source| reads::declared(&source.text)).collect();
    let reads: Vec<(&str, Reads)> = code()
        .map(|source| {
            let file = source.name.trim_start_matches("core/src/");
            (file, Reads::of(&source.text, &profile, &others))
        })
        .collect();
    let mut wrong = Vec::new();
    for (table, parameters) in &profile.tables {
        // All of such a table is of one mechanism, whose name is found where it does not belong, but for the profile's own.
        let is_own = mechanisms::is_one(sources, table);
        for parameter in parameters {
            let Parameter { name, choice, .. } = parameter;
            let switch = format!("{table}.{name}");
            let of = |list: &[(&str, &'a str)]| {
                list.iter().find(|(of, _)| *of == switch).map(|(_, what)| *what)
            };
            let rule = rules.iter().find(|(of, ..)| *of == switch).map(|(_, files, _)| *files);
            let folder = of(choices);
            let mechanism = of(named_otherwise).unwrap_or(if is_own { table } else { name });
            let is_listed = rule.is_some() || mechanism != name;
            if !(parameter.is_switch || is_listed) {
                continue;
            }
            let variants = || {
                choice.iter().flat_map(|choice| &profile.choices[choice]).map(|v| v.name.as_str())
            };
            if let Some(folder) = folder {
                wrong.extend(variants().filter_map(|variant| {
                    let file = format!("{folder}{}", mechanisms::parts(variant).join("_"));
                    let files = [format!("{file}.rs"), format!("{file}/mod.rs")];
                    let is_there = sources.iter().any(|source| files.contains(&source.name));
                    (!is_there).then(|| format!("{variant} of {switch} has no {file}.rs"))
                }));
            } else if rule.is_none() && !mechanisms::is_one(sources, mechanism) {
                wrong.push(format!("{switch} has no file {mechanism}.rs"));
                continue;
            }
            let is_home = |file: &str| {
                let path = format!("core/src/{file}");
                match (rule, folder) {
                    (Some(files), _) => files.contains(&file),
                    (None, Some(folder)) => path.starts_with(folder) || is_profile(&path),
                    (None, None) => {
                        let registry =
                            is_own && !is_profile(&path) && mechanisms::is_registry(&path);
                        registry || mechanisms::is_of_mechanism(&path, mechanism)
                    }
                }
            };
            let readers = reads.iter().filter(|(file, reads)| {
                // Which one is chosen may be passed on.
                (folder.is_none() && reads.reads(&profile, table, name))
                    || (!is_profile(&format!("core/src/{file}"))
                        && choice.iter().any(|choice| reads.names(&profile, choice)))
            });
            let readers: Vec<&str> = readers.map(|(file, _)| *file).collect();
            wrong.extend(readers.iter().filter(|file| !is_home(file)).map(|file| {
                format!("{switch} is read in {file}: ask what it decides by a question or a hook")
            }));
            let idle = rule.into_iter().flatten().filter(|file| !readers.contains(file));
            wrong.extend(idle.map(|file| format!("{switch} is not read in {file} any more")));
        }
    }
    let switches: BTreeSet<String> = profile
        .tables
        .iter()
        .flat_map(|(table, all)| all.iter().map(move |one| format!("{table}.{}", one.name)))
        .collect();
    let listed = named_otherwise.iter().chain(*choices).map(|(switch, _)| *switch);
    let listed = listed.chain(rules.iter().map(|(switch, ..)| *switch));
    wrong.extend(
        listed
            .filter(|switch| !switches.contains(*switch))
            .map(|switch| format!("there is no {switch}")),
    );
    wrong
}

#[test]
fn every_switch_of_the_profile_has_a_file() {
    let mut sources = super::sources();
    sources.retain(|source| source.name.starts_with("core/src/"));
    let exceptions =
        Exceptions { named_otherwise: &NAMED_OTHERWISE, choices: &CHOICES, rules: &RULES };
    let wrong = wrong(&sources, &exceptions);
    assert!(
        wrong.is_empty(),
        "a switch is read in the file of its mechanism, or is a rule in RULES of tidy/switches.rs:\n{}",
        wrong.join("\n")
    );
}

/// A small core: a profile, and the files that are right.
const CORE: [(&str, &str); 6] = [
    (
        "profile.rs",
        "profile! { limits: LimitParameters, multipath: MultipathParameters, rack: RackParameters }
        impl Profile { fn waits(&self) -> bool { self.rack.enabled } }",
    ),
    (
        "profile/parameters.rs",
        "parameters! { LimitParameters { enabled: bool = false, patience: bool = false } }
        parameters! { MultipathParameters {
            dac: bool = false, hidden: bool = false, scheduler: Scheduler = Scheduler::MinRtt,
        } }
        impl MultipathParameters { fn counts(&self) -> bool { self.dac } }
        switch! { RackParameters }
        choices! { Scheduler { MinRtt, FarOff } }",
    ),
    ("ack/dac.rs", "fn f(p: &Profile) -> bool { p.multipath.dac }"),
    ("path/patience.rs", "fn f(p: &Profile) -> bool { p.limits.patience }"),
    (
        "path/scheduler/min_rtt.rs",
        "fn f(p: &Profile) -> bool { p.multipath.scheduler == Scheduler::MinRtt }",
    ),
    ("recovery/loss/rack.rs", "fn f(p: &RackParameters) -> bool { p.enabled }"),
];

/// Files that read `limits.enabled`, another switch or none.
const READERS: [(&str, &str); 20] = [
    ("method.rs", "fn f(p: &Profile) -> bool { p.multipath.counts() }"),
    ("choice.rs", "fn f() { g(Scheduler::MinRtt) }"),
    ("written.rs", "fn f(p: &mut Profile) { p.limits.enabled = true; }"),
    (
        "literal.rs",
        "fn f() -> LimitParameters { LimitParameters { enabled: true, patience: false } }",
    ),
    ("distinct.rs", "fn f(p: &Profile) { other(p).thing.patience }"),
    ("enabled.rs", "struct Other { enabled: bool } fn f(other: Other) -> bool { other.enabled }"),
    ("let.rs", "fn f(p: &Profile) { let all = &p.limits; g(all.enabled) }"),
    ("clone.rs", "fn f(p: &Profile) { let all = p.limits.clone(); g(all.enabled) }"),
    ("pair.rs", "fn f(p: &Profile) { let (all, rack) = (&p.limits, &p.rack); g(all.enabled) }"),
    ("record.rs", "fn f(p: &Profile) { let LimitParameters { enabled, .. } = p.limits; }"),
    ("whole.rs", "fn f(p: &Profile) { let LimitParameters { enabled: is } = p.limits; }"),
    ("typed.rs", "fn f(all: &'_ crate::profile::LimitParameters) { g(all.enabled) }"),
    (
        "alias.rs",
        "use crate::profile::LimitParameters as Bounds; fn f(all: &Bounds) { g(all.enabled) }",
    ),
    ("macro.rs", "fn f(p: &Profile) { assert!(p.limits.enabled) }"),
    ("pattern.rs", "fn f(p: &Profile) { let Profile { limits: all, .. } = p; g(all.enabled) }"),
    ("guard.rs", "fn f(p: &Profile) { match &p.limits { all if all.enabled => g(), _ => {} } }"),
    ("closure.rs", "fn f(p: &Profile) { g(Some(&p.limits).is_some_and(|all| all.enabled)); }"),
    (
        "lends.rs",
        "fn all(&self) -> &LimitParameters { &self.p.limits } fn f(&self) { g(self.all().enabled) }",
    ),
    ("field.rs", "struct A { all: LimitParameters } fn f(a: &A) -> bool { a.all.enabled }"),
    ("tests.rs", "fn f(p: &Profile) { assert!(p.limits.enabled) }"),
];

/// A switch without a file, those that are read elsewhere, however they are called there, and a choice of nothing.
#[test]
fn switches_in_the_file_of_something_else_are_found() {
    let source = |(path, text): &(&str, &str)| Source {
        member: "stack/core".into(),
        name: format!("core/src/{path}"),
        text: (*text).to_owned(),
    };
    let sources: Vec<Source> = CORE.iter().chain(&READERS).map(source).collect();
    let exceptions = Exceptions {
        named_otherwise: &[],
        choices: &[("multipath.scheduler", "core/src/path/scheduler/")],
        rules: &[
            ("limits.enabled", &["settings.rs"], "the name of one thing"),
            ("limits.gone", &[], "the name of nothing"),
        ],
    };
    let is_read = |switch: &str, file: &str| {
        format!("{switch} is read in {file}: ask what it decides by a question or a hook")
    };
    let mut expected = Vec::new();
    for (file, _) in &READERS[6..19] {
        expected.push(is_read("limits.enabled", file));
    }
    expected.extend([
        "limits.enabled is not read in settings.rs any more".into(),
        is_read("limits.patience", "distinct.rs"),
        is_read("multipath.dac", "method.rs"),
        "multipath.hidden has no file hidden.rs".into(),
        "FarOff of multipath.scheduler has no core/src/path/scheduler/far_off.rs".into(),
        is_read("multipath.scheduler", "choice.rs"),
        is_read("rack.enabled", "profile.rs"),
        is_read("rack.enabled", "pair.rs"),
        "there is no limits.gone".into(),
    ]);
    assert_eq!(wrong(&sources, &exceptions), expected);
}
