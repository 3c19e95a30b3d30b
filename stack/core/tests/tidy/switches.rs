//! Each switch of the profile has a file: a switch is a parameter that is true or false, a choice, or a number that is 0 by
//! default. So a mechanism cannot hide in the file of something else.

use std::collections::{BTreeMap, BTreeSet};

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Token, braced, bracketed};

use super::Source;
use super::mechanisms;

/// Switches of a mechanism whose file has another name, and which one.
const NAMED_OTHERWISE: [(&str, &str); 4] = [
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

/// Switches that are no mechanism, the files below `core/src/` that read them, and why they are none. One that is read by the
/// profile alone has no file.
const RULES: [(&str, &[&str], &str); 22] = [
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
    ("limits.max_init_rto_ms", &[], "RFC 6458 §8.1.3"),
    ("rto.tick_ms", &[], "the clock of a kernel; `path/ticks.rs` makes whole ticks of times"),
    ("sack.if_last_is_duplicate", &["association/input.rs"], "§6.2: \"MAY\""),
    ("sack.nr_sack", &["handshake.rs", "receive/mod.rs"], "a chunk that is agreed on, as others"),
    ("sack.when_filled", &["association/input.rs"], "RFC 5681 §4.2"),
    (
        "streams.reserve",
        &["send/outbound.rs"],
        "a share of the send buffer, which may be none of it",
    ),
    ("t3_rtx.backs_off_late", &["send/sender/t3.rs"], "§6.3.3 E2 as Linux has it"),
];

/// A parameter of the profile.
struct Parameter {
    name: String,
    is_switch: bool,
    /// The type, if it is neither a number nor true or false.
    choice: Option<String>,
}

impl Parse for Parameter {
    fn parse(input: ParseStream<'_>) -> syn::Result<Parameter> {
        input.call(syn::Attribute::parse_outer)?;
        let name = input.parse::<syn::Ident>()?.to_string();
        input.parse::<Token![:]>()?;
        let ty = input.parse::<syn::Ident>()?.to_string();
        if input.peek(syn::token::Bracket) {
            let range;
            bracketed!(range in input);
            Punctuated::<syn::Expr, Token![,]>::parse_terminated(&range)?;
        }
        input.parse::<Token![=]>()?;
        let default = input.parse::<syn::Expr>()?;
        let is_zero = match &default {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Int(number) => number.base10_parse().is_ok_and(|number: u64| number == 0),
                syn::Lit::Float(number) => {
                    number.base10_parse().is_ok_and(|number: f64| number == 0.0)
                }
                _ => false,
            },
            _ => false,
        };
        let is_number = matches!(ty.as_str(), "f64" | "u32");
        let choice = Some(ty).filter(|ty| !is_number && ty != "bool");
        Ok(Parameter { name, is_switch: !is_number || is_zero, choice })
    }
}

/// What `parameters!`, or `switch!` if it has only a name, makes a struct of.
struct Group(String, Vec<Parameter>);

impl Parse for Group {
    fn parse(input: ParseStream<'_>) -> syn::Result<Group> {
        input.call(syn::Attribute::parse_outer)?;
        let name = input.parse::<syn::Ident>()?.to_string();
        if input.is_empty() {
            let enabled = Parameter { name: "enabled".into(), is_switch: true, choice: None };
            return Ok(Group(name, vec![enabled]));
        }
        let parameters;
        braced!(parameters in input);
        let parameters = Punctuated::<_, Token![,]>::parse_terminated(&parameters)?;
        Ok(Group(name, parameters.into_iter().collect()))
    }
}

/// What `choices!` makes an enum of.
struct Choices(String, Vec<String>);

impl Parse for Choices {
    fn parse(input: ParseStream<'_>) -> syn::Result<Choices> {
        input.call(syn::Attribute::parse_outer)?;
        let name = input.parse::<syn::Ident>()?.to_string();
        let variants;
        braced!(variants in input);
        let variants = Punctuated::<syn::Variant, Token![,]>::parse_terminated(&variants)?;
        Ok(Choices(name, variants.iter().map(|variant| variant.ident.to_string()).collect()))
    }
}

/// What `profile!` makes the profile of: tables and their types.
struct Tables(Vec<(String, String)>);

impl Parse for Tables {
    fn parse(input: ParseStream<'_>) -> syn::Result<Tables> {
        let table = |input: ParseStream<'_>| {
            input.call(syn::Attribute::parse_outer)?;
            let name = input.parse::<syn::Ident>()?.to_string();
            input.parse::<Token![:]>()?;
            Ok((name, input.parse::<syn::Ident>()?.to_string()))
        };
        let tables = Punctuated::<_, Token![,]>::parse_terminated_with(input, table)?;
        Ok(Tables(tables.into_iter().collect()))
    }
}

/// What the profile declares.
#[derive(Default)]
struct Profile {
    /// Tables, and what is in them.
    tables: Vec<(String, Vec<Parameter>)>,
    /// The variants of the enums.
    choices: BTreeMap<String, Vec<String>>,
}

impl Profile {
    fn read<'a>(files: impl Iterator<Item = &'a str>) -> Profile {
        let mut profile = Profile::default();
        let (mut tables, mut groups) = (Vec::new(), BTreeMap::new());
        for file in files {
            for item in syn::parse_file(file).expect("the core compiles").items {
                match item {
                    syn::Item::Enum(item) => {
                        let variants =
                            item.variants.iter().map(|variant| variant.ident.to_string());
                        profile.choices.insert(item.ident.to_string(), variants.collect());
                    }
                    syn::Item::Macro(item) if item.mac.path.is_ident("choices") => {
                        let Choices(name, variants) = item.mac.parse_body().expect("variants");
                        profile.choices.insert(name, variants);
                    }
                    syn::Item::Macro(item) if item.mac.path.is_ident("profile") => {
                        let Tables(found) = item.mac.parse_body().expect("names and types");
                        tables.extend(found);
                    }
                    syn::Item::Macro(item)
                        if item.mac.path.is_ident("parameters")
                            || item.mac.path.is_ident("switch") =>
                    {
                        let Group(name, parameters) = item.mac.parse_body().expect("parameters");
                        groups.insert(name, parameters);
                    }
                    _ => {}
                }
            }
        }
        for (table, ty) in tables {
            let parameters = groups.remove(&ty).unwrap_or_else(|| panic!("no parameters of {ty}"));
            profile.tables.push((table, parameters));
        }
        profile
    }
}

/// The parameters that a file reads: `profile.sack.dac`, or of a variable with the name of the table, or `parameters`.
#[derive(Default)]
struct Reads(BTreeSet<(String, String)>);

impl Visit<'_> for Reads {
    fn visit_expr_field(&mut self, field: &syn::ExprField) {
        let of = match &*field.base {
            syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            syn::Expr::Field(base) => match &base.member {
                syn::Member::Named(name) => Some(name.to_string()),
                syn::Member::Unnamed(_) => None,
            },
            _ => None,
        };
        if let (Some(of), syn::Member::Named(name)) = (of, &field.member) {
            self.0.insert((of, name.to_string()));
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

/// What is wrong with the switches of the profile in `sources`.
fn wrong(sources: &[Source]) -> Vec<String> {
    let is_profile =
        |name: &str| name.starts_with("core/src/profile/") || name == "core/src/profile.rs";
    let code = || sources.iter().filter(|source| !source.is_test());
    let profile = Profile::read(
        code().filter(|source| is_profile(&source.name)).map(|source| source.text.as_str()),
    );
    let reads: Vec<(&str, BTreeSet<(String, String)>)> = code()
        .filter(|source| !is_profile(&source.name))
        .map(|source| {
            let mut reads = Reads::default();
            reads.visit_file(&syn::parse_file(&source.text).expect("the core compiles"));
            (source.name.trim_start_matches("core/src/"), reads.0)
        })
        .collect();
    // All of such a table is of one mechanism, whose name is found where it does not belong.
    let (own, shared): (Vec<_>, Vec<_>) =
        profile.tables.iter().partition(|(table, _)| mechanisms::is_one(sources, table));
    let has_table = |file: &str| {
        let file = format!("core/src/{file}");
        own.iter().any(|(table, _)| mechanisms::is_of_mechanism(&file, table))
    };
    let mut wrong = Vec::new();
    for (table, parameters) in shared {
        for parameter in parameters.iter().filter(|parameter| parameter.is_switch) {
            let Parameter { name, choice, .. } = parameter;
            let switch = format!("{table}.{name}");
            let of = |list: &[(&str, &'static str)]| {
                list.iter().find(|(of, _)| *of == switch).map(|(_, what)| *what)
            };
            if let Some(folder) = of(&CHOICES) {
                let variants = choice.iter().flat_map(|choice| &profile.choices[choice]);
                wrong.extend(variants.filter_map(|variant| {
                    let file = format!("{folder}{}", mechanisms::parts(variant).join("_"));
                    let files = [format!("{file}.rs"), format!("{file}/mod.rs")];
                    let is_there = sources.iter().any(|source| files.contains(&source.name));
                    (!is_there).then(|| format!("{variant} of {switch} has no {file}.rs"))
                }));
                continue;
            }
            let rule = RULES.iter().find(|(of, ..)| *of == switch).map(|(_, files, _)| *files);
            let mechanism = of(&NAMED_OTHERWISE).unwrap_or(name);
            let is_home = |file: &str| match rule {
                Some(files) => files.contains(&file),
                None => mechanisms::is_of_mechanism(&format!("core/src/{file}"), mechanism),
            };
            if rule.is_none() && !mechanisms::is_one(sources, mechanism) {
                wrong.push(format!("{switch} has no file {mechanism}.rs"));
                continue;
            }
            let reads_of = |reads: &BTreeSet<(String, String)>, of: &str| {
                reads.contains(&(of.to_owned(), name.clone()))
            };
            let readers = reads.iter().filter(|(file, reads)| {
                reads_of(reads, table) || (reads_of(reads, "parameters") && !has_table(file))
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

/// A switch without a file, one that is read elsewhere, and a choice of nothing.
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
        "core/src/send/concurrent.rs",
        "fn keeps_order(&self) -> bool {\n        false",
        "fn keeps_order(&self) -> bool {\n        self.profile.limits.patience && multipath.dac",
    );
    assert_eq!(
        wrong(&sources),
        [
            "limits.patience is read in send/concurrent.rs: ask what it decides by a question or a hook",
            "FarOff of multipath.scheduler has no core/src/path/scheduler/far_off.rs",
            "multipath.dac is read in send/concurrent.rs: ask what it decides by a question or a hook",
            "multipath.hidden has no file hidden.rs",
        ]
    );
}
