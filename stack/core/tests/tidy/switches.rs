//! Each switch of the profile has a file: a switch is a parameter that is true or false, a choice, or a number that is 0 by
//! default; one that another number turns off is listed here. So a mechanism cannot hide in the file of something else.

use std::collections::BTreeSet;

use super::Source;
use super::mechanisms;
use super::profile::{Parameter, Profile};
use super::reads::Reads;

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

/// What is wrong with the switches of the profile in `sources`.
fn wrong(sources: &[Source]) -> Vec<String> {
    let code = || sources.iter().filter(|source| !source.is_test());
    let is_profile =
        |name: &str| name.starts_with("core/src/profile/") || name == "core/src/profile.rs";
    let profile = Profile::read(
        code().filter(|source| is_profile(&source.name)).map(|source| source.text.as_str()),
    );
    let reads: Vec<(&str, Reads)> = code()
        .map(|source| {
            let file = source.name.trim_start_matches("core/src/");
            (file, Reads::of(&source.text, &profile))
        })
        .collect();
    let mut wrong = Vec::new();
    for (table, parameters) in &profile.tables {
        // All of such a table is of one mechanism, whose name is found where it does not belong, but for the profile's own.
        let is_own = mechanisms::is_one(sources, table);
        for parameter in parameters {
            let Parameter { name, choice, .. } = parameter;
            let switch = format!("{table}.{name}");
            let of = |list: &[(&str, &'static str)]| {
                list.iter().find(|(of, _)| *of == switch).map(|(_, what)| *what)
            };
            let rule = RULES.iter().find(|(of, ..)| *of == switch).map(|(_, files, _)| *files);
            let folder = of(&CHOICES);
            let mechanism = of(&NAMED_OTHERWISE).unwrap_or(if is_own { table } else { name });
            let is_listed = rule.is_some() || mechanism != name;
            if !(parameter.is_switch || is_listed) {
                continue;
            }
            let variants = || choice.iter().flat_map(|choice| &profile.choices[choice]);
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
                    (None, None) if is_own => !is_profile(&path),
                    (None, None) => mechanisms::is_of_mechanism(&path, mechanism),
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
    let listed = NAMED_OTHERWISE.iter().chain(&CHOICES).map(|(switch, _)| *switch);
    let listed = listed.chain(RULES.iter().map(|(switch, ..)| *switch));
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
    let wrong = wrong(&sources);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A switch without a file, those that are read elsewhere, whatever is in front, and a choice of nothing.
#[test]
fn switches_in_the_file_of_something_else_are_found() {
    let mut sources = super::sources();
    sources.retain(|source| source.name.starts_with("core/src/"));
    let mut change = |name: &str, from: &str, to: &str| {
        let source = sources.iter_mut().find(|source| source.name == name).unwrap();
        assert!(source.text.contains(from), "{name} has no {from}");
        source.text = source.text.replacen(from, to, 1);
    };
    let multipath = "core/src/profile/multipath.rs";
    change(multipath, "dac: bool = false,", "dac: bool = false,\nhidden: bool = false,");
    change(multipath, "    Redundant,", "    Redundant,\n    FarOff,");
    change(
        multipath,
        "parameters! {",
        "impl MultipathParameters { fn counts(&self) -> bool { self.dac } }\nparameters! {",
    );
    change(
        "core/src/profile.rs",
        "impl Profile {",
        "impl Profile { fn waits(&self) -> bool { self.rack.enabled }",
    );
    let mut hide = |name: &str, code: &str| {
        let source = sources.iter_mut().find(|source| source.name == name).unwrap();
        source.text.push_str(code);
    };
    for (file, code) in [
        ("ack/mod.rs", "fn f(profile: &Profile) -> bool { profile.multipath.counts() }"),
        ("send/abandon/mod.rs", "fn f(p: &Profile) { let all = &p.limits; g(all.patience) }"),
        (
            "send/context.rs",
            "fn f(p: &Profile) { let LimitParameters { patience, .. } = p.limits; }",
        ),
        ("send/coupling.rs", "fn f(all: &'_ crate::profile::LimitParameters) { g(all.patience) }"),
        ("send/deadlines.rs", "fn f(p: &Profile) { assert!(p.limits.patience) }"),
        (
            "send/gate.rs",
            "fn f(p: &Profile) { let Profile { limits: all, .. } = p; g(all.patience) }",
        ),
        (
            "send/marks.rs",
            "fn f(p: &mut Profile) { p.limits.patience = true; g(Scheduler::MinRtt) }",
        ),
    ] {
        hide(&format!("core/src/{file}"), code);
    }
    let wrong = wrong(&sources);
    let is_read = |switch: &str, file: &str| {
        format!("{switch} is read in {file}: ask what it decides by a question or a hook")
    };
    assert_eq!(
        wrong,
        [
            is_read("limits.patience", "send/abandon/mod.rs"),
            is_read("limits.patience", "send/context.rs"),
            is_read("limits.patience", "send/coupling.rs"),
            is_read("limits.patience", "send/deadlines.rs"),
            is_read("limits.patience", "send/gate.rs"),
            is_read("rack.enabled", "profile.rs"),
            "FarOff of multipath.scheduler has no core/src/path/scheduler/far_off.rs".into(),
            is_read("multipath.scheduler", "send/marks.rs"),
            is_read("multipath.dac", "ack/mod.rs"),
            "multipath.hidden has no file hidden.rs".into(),
        ]
    );
}
