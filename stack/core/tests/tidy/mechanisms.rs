//! A mechanism's name appears in its own file, in the registry, in the profile and in tests, nowhere else.

use std::collections::BTreeSet;

use super::Source;

/// Folders with one mechanism per file. Their `mod.rs`, and `recovery/registry.rs`, are the registry.
const FOLDERS: [&str; 4] = [
    "core/src/recovery/",
    "core/src/congestion/",
    "core/src/path/scheduler/",
    "core/src/streams/stream_scheduler/",
];

/// Files there that are no mechanism that can be left out: procedures of RFC 9260 itself, and what several mechanisms of
/// their folder share.
const SHARED: [&str; 14] = [
    "asked_sack",
    "combined",
    "correction",
    "coupled",
    "cover_ack",
    "fast_retransmit",
    "hooks",
    "loss_response",
    "repair",
    "response",
    "rfc9260",
    "start_time",
    "suspects",
    "t3_rtx",
];

/// Mechanisms whose name is also a word for something else, which is not told apart here.
const HOMONYMS: [&str; 8] =
    ["cycle", "min_rtt", "model", "new_data", "order", "primary", "priority", "probe_rtt"];

/// Words for something else in most places, but not in these.
const LOCAL: [&str; 2] = ["budget", "floor"];
const SENDING: [&str; 2] = ["send/", "path/window.rs"];

/// Mechanisms whose table in the profile has another name than their file.
const TABLES: [(&str, &str); 2] = [
    ("bundle_fast_retransmit", "core/src/recovery/bundling/fast_retransmit.rs"),
    ("bundle_new", "core/src/recovery/bundling/new_data.rs"),
];

/// Who may name them beside themselves: the registry with its hooks, the profile, and the words of the public
/// interface for why something happened.
const REGISTRIES: [&str; 6] = [
    "core/src/recovery/hooks.rs",
    "core/src/recovery/registry.rs",
    "core/src/profile",
    "core/src/ids.rs",
    "core/src/event.rs",
    "core/src/stats.rs",
];

fn is_registry(name: &str) -> bool {
    let is_mod = name.ends_with("/mod.rs") && FOLDERS.iter().any(|folder| name.starts_with(folder));
    is_mod || REGISTRIES.iter().any(|registry| name.starts_with(registry))
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.trim_end_matches(".rs")
}

fn mechanisms(sources: &[Source]) -> BTreeSet<&str> {
    let files = sources.iter().map(|source| source.name.as_str());
    let inside = files.filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)));
    let stems = inside.filter(|name| !name.contains("/tests")).map(stem);
    stems
        .chain(TABLES.map(|(table, _)| table))
        .filter(|stem| *stem != "mod" && !SHARED.contains(stem) && !HOMONYMS.contains(stem))
        .collect()
}

/// `thin_rto_min` as a type.
fn camel(stem: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    };
    stem.split('_').map(capital).collect()
}

/// The words of the code of a file, its comments and inline tests left out.
fn words(source: &Source) -> BTreeSet<String> {
    let code = source.lines().take(source.code_lines());
    let code = code.map(|line| line.split("//").next().unwrap_or_default());
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.flat_map(|line| line.split(move |c| !is_part(c))).map(str::to_owned).collect()
}

#[test]
fn mechanisms_are_named_by_themselves_alone() {
    let mut sources = super::sources();
    sources.retain(|source| source.name.starts_with("core/src/"));
    let mechanisms = mechanisms(&sources);
    assert!(
        mechanisms.contains("rack") && mechanisms.contains("prr") && mechanisms.contains("ecf")
    );
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test() && !is_registry(&source.name)) {
        let words = words(source);
        let own = |name: &str| {
            name == stem(&source.name) || TABLES.contains(&(name, source.name.as_str()))
        };
        for mechanism in mechanisms.iter().filter(|name| !own(name)) {
            if words.contains(*mechanism) || words.contains(&camel(mechanism)) {
                let file = source.name.trim_start_matches("core/src/");
                let is_sending = SENDING.iter().any(|place| file.starts_with(place));
                if is_sending || !LOCAL.contains(mechanism) {
                    found.push((*mechanism, file));
                }
            }
        }
    }
    assert!(found.is_empty(), "what one has to tell another goes through a hook: {found:?}");
}
