//! A mechanism's name appears in its own file, in the registry, in the profile and in tests, nowhere else.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::Source;

/// Folders with one mechanism per file.
pub(crate) const FOLDERS: [&str; 4] = [
    "core/src/recovery/",
    "core/src/congestion/",
    "core/src/path/scheduler/",
    "core/src/streams/stream_scheduler/",
];

/// Folders in these with one mechanism per file, too. Any other one is a mechanism as a whole.
pub(crate) const GROUPS: [&str; 4] = ["bundling", "loss", "spurious", "timer"];

/// Files there that are no mechanism that can be left out, and why not.
const SHARED: [(&str, &str); 14] = [
    ("fast_retransmit", "RFC 9260 §7.2.4 itself: its parameters say which RFC's rules hold"),
    ("rfc9260", "RFC 9260 §7.2 itself, the controller that others are compared with"),
    ("t3_rtx", "RFC 9260 §6.3 itself: the timer of all paths, whatever else is switched on"),
    ("asked_sack", "of the tail probe: what a SACK that was asked for shows"),
    ("combined", "puts two detectors together"),
    ("correction", "of both BLEST schedulers"),
    ("coupled", "of the coupled controls"),
    ("cover_ack", "of three detectors"),
    ("facts", "what mechanisms are told"),
    ("hooks", "what mechanisms are asked"),
    ("order", "of the stream schedulers"),
    ("registry", "the list of mechanisms"),
    ("start_time", "of the stream schedulers"),
    ("suspects", "of two mechanisms that learn from duplicates when they were wrong"),
];

/// Mechanisms that are outside of these folders, and their files, or folders of these.
pub(crate) const ELSEWHERE: [(&str, &[&str]); 9] = [
    ("buffer_splitting", &["core/src/path/buffer_splitting.rs"]),
    ("dac", &["core/src/ack/dac.rs"]),
    ("no_sack_delay", &["core/src/ack/no_sack_delay.rs"]),
    ("pacing", &["core/src/path/pacing.rs", "core/src/path/bursts.rs"]),
    ("patience", &["core/src/path/patience.rs"]),
    ("pf_forgives_spurious", &["core/src/path/pf_forgives_spurious.rs"]),
    ("queue_limit", &["core/src/path/queue_limit.rs", "core/src/path/queue_limit/"]),
    ("retransmission_policy", &["core/src/path/rtx_policy.rs"]),
    ("sack_window", &["core/src/scoreboard/window.rs"]),
];

/// Mechanisms whose name is also a word for something else, which is not told apart here, and for what.
const HOMONYMS: [(&str, &str); 3] = [
    ("min_rtt", "the smallest RTT of a path, which controllers and limits keep"),
    ("primary", "the primary path (RFC 9260 §6.4)"),
    ("priority", "of messages (RFC 7496 §3.3), and of streams as the application sets it"),
];

/// Words with the name of a mechanism in them that are no such names: what a program sets with
/// SCTP_NODELAY (RFC 6458 §8.1.5), terms of draft-ietf-ccwg-bbr, and a parameter that another mechanism has in its own table.
const TERMS: [&str; 5] =
    ["no_delay", "PACING_MARGIN", "pacing_gain", "pacing_rate", "trust_immediate_sack"];

/// The causes of RFC 9260 itself, and what the peer says. What is sent again for another one is for a mechanism, or a scheduler, to say.
const CAUSES: [&str; 5] =
    ["FastRetransmit", "PacketDropReport", "PathFailure", "Timeout", "ZeroWindowProbe"];

/// Who may name them beside themselves: the registries, the profile, and the words of the public interface for why something
/// happened.
const REGISTRIES: [&str; 9] = [
    "core/src/congestion/mod.rs",
    "core/src/path/scheduler/mod.rs",
    "core/src/recovery/registry.rs",
    "core/src/recovery/spurious/mod.rs",
    "core/src/streams/stream_scheduler/mod.rs",
    "core/src/profile",
    "core/src/ids/loss_cause.rs",
    "core/src/event.rs",
    "core/src/stats.rs",
];

pub(crate) fn is_registry(name: &str) -> bool {
    REGISTRIES.iter().any(|registry| name.starts_with(registry))
}

/// Whether a file is of a mechanism.
pub(crate) fn is_of_mechanism(name: &str, of: &str) -> bool {
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == of);
    mechanism(name) == Some(of)
        || elsewhere.is_some_and(|(_, files)| files.iter().any(|file| is_of(file, name)))
}

/// Whether that is the name of a mechanism that can be left out, with a file of its own.
pub(crate) fn is_one(sources: &[Source], name: &str) -> bool {
    let mut code = sources.iter().filter(|source| !source.is_test());
    !is_in(&SHARED, name) && code.any(|source| is_of_mechanism(&source.name, name))
}

/// Whether this is that file, or in that folder.
pub(crate) fn is_of(of: &str, name: &str) -> bool {
    of == name || (of.ends_with('/') && name.starts_with(of))
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.trim_end_matches(".rs")
}

/// The mechanism that a file in one of the folders is of.
fn mechanism(name: &str) -> Option<&str> {
    let below = FOLDERS.iter().find_map(|folder| name.strip_prefix(folder))?;
    match below.split_once('/') {
        Some((folder, _)) if !GROUPS.contains(&folder) => Some(folder),
        _ => Some(stem(name)),
    }
}

fn is_in(list: &[(&str, &str)], name: &str) -> bool {
    list.iter().any(|(of, _)| *of == name)
}

fn mechanisms(sources: &[Source]) -> BTreeSet<&str> {
    let files =
        sources.iter().filter(|source| !source.is_test()).map(|source| source.name.as_str());
    let inside = files.filter_map(mechanism);
    inside
        .chain(ELSEWHERE.map(|(name, _)| name))
        .filter(|stem| *stem != "mod" && !is_in(&SHARED, stem) && !is_in(&HOMONYMS, stem))
        .collect()
}

/// The parts of a word, in lower case: those of `thin_rto_min` as well as of `ThinRtoMin`, of `f_rto` as of `FRto`.
pub(crate) fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = '_';
    let mut letters = word.chars().peekable();
    while let Some(c) = letters.next() {
        let mut ends_capitals = || letters.peek().is_some_and(|next| next.is_lowercase());
        let begins = c == '_'
            || (c.is_uppercase()
                && (before.is_lowercase() || (before.is_uppercase() && ends_capitals())));
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
        before = c;
    }
    parts
}

/// Whether a word is the name of a mechanism, or has it in it, perhaps of several of them.
fn names(word: &str, mechanism: &str) -> bool {
    let (parts, wanted) = (parts(word), parts(mechanism));
    let is = |part: &String, wanted: &String| {
        part == wanted || part.strip_suffix('s') == Some(wanted.as_str())
    };
    let has = |wanted: &[&String]| {
        let all = |run: &[String]| run.iter().zip(wanted).all(|(part, wanted)| is(part, wanted));
        parts.windows(wanted.len()).any(all)
    };
    let all: Vec<&String> = wanted.iter().collect();
    // What is left out in the middle shortens a name.
    let short = match &all[..] {
        [first, _, .., last] => has(&[*first, *last]),
        _ => false,
    };
    !TERMS.contains(&word) && (short || has(&all))
}

/// The words of the code of a file, its comments and inline tests left out. A `mod.rs` may also say which files there are, and
/// hand on what is in them.
fn words(source: &Source) -> BTreeSet<String> {
    let code = source.lines().take(source.code_lines());
    let mut code: Vec<&str> =
        code.map(|line| line.split("//").next().unwrap_or_default()).collect();
    if source.name.ends_with("/mod.rs") {
        let mut is_import = false;
        code.retain(|line| {
            let begins = |word: &str| line.starts_with(word) || line.contains(&format!(") {word}"));
            is_import |= begins("use ") || begins("mod ") || begins("pub use ");
            let kept = !is_import;
            is_import &= !line.trim_end().ends_with(';');
            kept
        });
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = code.iter().flat_map(|line| line.split(move |c| !is_part(c)));
    // `"tail-loss-probe"` as well.
    let texts = code.iter().flat_map(|line| line.split('"').skip(1).step_by(2));
    let kebab = texts.flat_map(|text| text.split(move |c| !is_part(c) && c != '-'));
    words.map(str::to_owned).chain(kebab.map(|word| word.replace('-', "_"))).collect()
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
            // `blest_all.rs` is another one than `blest.rs`.
            mechanism(&source.name).is_some_and(|own| names(own, name))
                || is_of_mechanism(&source.name, name)
        };
        for mechanism in mechanisms.iter().filter(|name| !own(name)) {
            let named = words.iter().filter(|word| names(word, mechanism));
            found.extend(named.map(|word| {
                let kebab = word.replace('_', "-");
                let says = |line: &str| line.contains(word.as_str()) || line.contains(&kebab);
                let line = source.lines().take(source.code_lines()).position(says);
                let line = line.map_or(0, |line| line + 1);
                format!("{}:{line} says {word}, of the mechanism {mechanism}", source.name)
            }));
        }
    }
    assert!(
        found.is_empty(),
        "only its own file, the registry, the profile and tests name a mechanism. What one has to tell another goes through a hook \
         (ARCHITECTURE.md, How to add); what means something else has another word, or a line in HOMONYMS of tidy/mechanisms.rs:\n{}",
        found.join("\n")
    );
}

#[test]
fn exceptions_are_files_that_there_are() {
    let sources = super::sources();
    let files: BTreeSet<&str> =
        sources.iter().filter_map(|source| mechanism(&source.name)).collect();
    let mut lists = SHARED.iter().chain(&HOMONYMS);
    assert_eq!(lists.find(|(name, why)| !files.contains(name) || why.is_empty()), None);
    let is_there = |place: &&str| sources.iter().any(|source| source.name.starts_with(place));
    let mut elsewhere = ELSEWHERE.iter().flat_map(|(_, places)| places.iter());
    assert_eq!(elsewhere.find(|place| !is_there(place)), None);
    let core = || sources.iter().filter(|source| source.name.starts_with("core/src/"));
    let is_said = |word: &&str| core().any(|source| source.text.contains(*word));
    assert_eq!(TERMS.iter().chain(&CAUSES).find(|word| !is_said(word)), None);
}

/// The aliases of mechanisms in a file: `use rack::Rack as Overtaken`, `type Overtaken = Rack`.
struct Aliases<'a> {
    mechanisms: &'a BTreeSet<&'a str>,
    /// A part of the path names one.
    inside: bool,
    found: Vec<String>,
}

impl Aliases<'_> {
    fn is_one(&self, name: &syn::Ident) -> bool {
        self.mechanisms.iter().any(|mechanism| names(&name.to_string(), mechanism))
    }
}

impl Visit<'_> for Aliases<'_> {
    fn visit_use_path(&mut self, path: &syn::UsePath) {
        let before = self.inside;
        self.inside |= self.is_one(&path.ident);
        visit::visit_use_path(self, path);
        self.inside = before;
    }

    fn visit_use_rename(&mut self, rename: &syn::UseRename) {
        if rename.rename != "_" && (self.inside || self.is_one(&rename.ident)) {
            self.found.push(format!("{} as {}", rename.ident, rename.rename));
        }
    }

    fn visit_item_type(&mut self, item: &syn::ItemType) {
        if !self.is_one(&item.ident)
            && let syn::Type::Path(of) = &*item.ty
            && let Some(of) = of.path.segments.iter().find(|name| self.is_one(&name.ident))
        {
            self.found.push(format!("{} as {}", of.ident, item.ident));
        }
    }
}

fn aliases(text: &str, mechanisms: &BTreeSet<&str>) -> Vec<String> {
    let mut aliases = Aliases { mechanisms, inside: false, found: Vec::new() };
    aliases.visit_file(&syn::parse_file(text).expect("the core compiles"));
    aliases.found
}

/// Not even in the registry: what has another name is named elsewhere, and not seen.
#[test]
fn mechanisms_have_no_other_names() {
    let mut sources = super::sources();
    sources.retain(|source| source.name.starts_with("core/src/"));
    let mechanisms = mechanisms(&sources);
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let aliases = aliases(&source.text, &mechanisms);
        found.extend(aliases.into_iter().map(|alias| format!("{}: {alias}", source.name)));
    }
    assert!(
        found.is_empty(),
        "a mechanism has one name; what it is for is a trait, or an enum in the registry:\n{}",
        found.join("\n")
    );
    let text =
        "pub(crate) use a::rack::{self, Window as Place}; use b::{c::Prr as Rate, D as E, F as _};
        type Late = a::Rack; type RackState = a::Rack; type Other = Vec<u8>;";
    assert_eq!(aliases(text, &mechanisms), ["Window as Place", "Prr as Rate", "Rack as Late"]);
}

/// The enums with a single variant in a file.
fn lone_variants(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("the core compiles");
    let lone = |item: &syn::Item| match item {
        syn::Item::Enum(item) if item.variants.len() == 1 => Some(item.ident.to_string()),
        _ => None,
    };
    file.items.iter().filter_map(lone).collect()
}

/// A mechanism that is the only one of its kind has the name of the kind: `RateReduction` in `prr.rs`.
#[test]
fn no_enum_only_hides_a_name() {
    let mut found = Vec::new();
    for source in super::sources().iter().filter(|source| source.name.starts_with("core/src/")) {
        let lone = lone_variants(&source.text).into_iter();
        found.extend(lone.map(|name| format!("{}: {name}", source.name)));
    }
    assert!(found.is_empty(), "an enum with one variant is no choice:\n{}", found.join("\n"));
    assert_eq!(lone_variants("enum One { Prr(Prr) } enum Two { A, B } struct C;"), ["One"]);
}

/// The causes that a file names: the variants of `of` in its code.
fn causes(source: &Source, of: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().take(source.code_lines()).collect();
    let (code, prefix) = (code.join("\n"), format!("{of}::"));
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
    let named = code.split(&prefix).skip(1).map(name);
    named.filter(|name| name.starts_with(char::is_uppercase) && name != "ALL").collect()
}

/// `LossCause::PROBE` would be another name of one. What was spurious is for its detector alone to say.
#[test]
fn causes_of_mechanisms_are_given_by_them() {
    let losses = ["core/src/recovery/", "core/src/path/scheduler/", "core/src/ids/"];
    let spurious = ["core/src/recovery/spurious/", "core/src/event.rs"];
    let mut found = Vec::new();
    for (of, decides, others) in
        [("LossCause", &losses[..], &CAUSES[..]), ("SpuriousCause", &spurious, &[])]
    {
        let sources = super::sources();
        let sources = sources.iter().filter(|source| source.name.starts_with("core/src/"));
        for source in sources.filter(|source| !source.is_test()) {
            if !decides.iter().any(|place| source.name.starts_with(place)) {
                let named = causes(source, of).into_iter();
                let named = named.filter(|name| !others.contains(&name.as_str()));
                found.extend(named.map(|name| format!("{}: {of}::{name}", source.name)));
            }
        }
    }
    assert!(
        found.is_empty(),
        "the mechanism that decides says why, and what others do for it passes that on:\n{}",
        found.join("\n")
    );
}

#[test]
fn names_are_found_in_other_words() {
    let found = |word: &str, mechanism: &str| names(word, mechanism);
    assert!(
        found("TailLossProbe", "tail_loss_probe") && found("tail_loss_probes", "tail_loss_probe")
    );
    assert!(found("on_rack_timer", "rack") && found("RackState", "rack"));
    assert!(found("take_tail_probe", "tail_loss_probe") && found("TailProbe", "tail_loss_probe"));
    assert!(found("FRto", "f_rto") && found("RTOMin", "rto_min"));
    assert!(!found("track", "rack") && !found("loss_probe", "tail_loss_probe"));
    assert!(found("budget_of", "budget") && !found("pacing_rate", "pacing"));
    let source = Source {
        member: "stack/core".into(),
        name: "core/src/send/gate.rs".into(),
        text: "fn f() { g(\"a tail-loss-probe\") } // rack".into(),
    };
    let words = words(&source);
    assert!(words.contains("tail_loss_probe") && !words.contains("rack"));
}

/// A file without `mod` is compiled nowhere, a mechanism that no registry names is asked nothing, and nobody finds a profile without
/// a name and a row.
#[test]
fn everything_is_registered() {
    let sources = super::sources();
    let text = |name: String| sources.iter().find(|one| one.name == name).map(|one| &one.text);
    let mut missing = Vec::new();
    for source in sources.iter().filter(|one| one.name.starts_with("core/src/")) {
        let name = &source.name;
        let module = name.trim_end_matches(".rs").trim_end_matches("/mod");
        let (folder, stem) = module.rsplit_once('/').expect("below core/src");
        if module == "core/src/lib" {
            continue;
        }
        let parents = ["lib.rs", "mod.rs"].map(|file| format!("{folder}/{file}"));
        let parents = parents.into_iter().chain([format!("{folder}.rs")]);
        if !parents.filter_map(text).any(|parent| parent.contains(&format!("mod {stem};"))) {
            missing.push(format!("{name}: no `mod {stem};` above it"));
        }
        let of = mechanism(name).filter(|of| !is_in(&SHARED, of) && *of != "mod");
        let is_asked = name.starts_with("core/src/recovery/") && !source.is_test();
        let Some(of) = of.filter(|_| is_asked) else { continue };
        let registries = ["registry", "spurious/mod"];
        let mut registries = registries.map(|of| format!("core/src/recovery/{of}.rs")).into_iter();
        if !registries.any(|name| text(name).is_some_and(|registry| registry.contains(of))) {
            missing.push(format!("{name}: in no registry of core/src/recovery/"));
        }
    }
    let named = text("core/src/profile/named.rs".to_owned()).expect("the names of profiles");
    let page = std::fs::read_to_string(super::root().join("docs/profiles.md")).unwrap();
    for entry in std::fs::read_dir(super::root().join("stack/core/profiles")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if !named.contains(&format!("\"{name}\",")) {
            missing.push(format!("profiles/{name}.toml: no name in core/src/profile/named.rs"));
        }
        let of_group = name.split('-').next().map(|group| format!("`{group}-…`"));
        if !page.contains(&format!("`{name}`")) && !of_group.is_some_and(|all| page.contains(&all))
        {
            missing.push(format!("profiles/{name}.toml: no row in docs/profiles.md"));
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md, How to add:\n{}", missing.join("\n"));
}
