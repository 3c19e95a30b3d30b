//! `docs/profile-keys.md`: the profiles and their keys, made from the code.

use std::fmt::Write as _;

use toml::{Table, Value};
use tresse_core::Profile;

use super::profile::{Parameter, Profile as Declared};
use super::{mechanisms, root, sources};

const HEAD: &str = "# Profiles and their keys

Made from the code (`stack/core/profiles/` and `stack/core/src/profile/`) by its tests (`just pages`); not edited by hand.

A [profile](profiles.md) is TOML. It may name a `base`, whose values it takes, and sets keys in tables; what no profile sets has the
value of `rfc9260`. Wherever a profile is asked for, names may be joined by `+`, and the last one that sets a key counts; `--set
table.key=value` sets one more. A key that does not exist, or a value out of its range, is refused with what is right.
";

/// One line of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Doc comments name items of the code by links, which lead nowhere from a page.
fn without_links(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find("[`") {
        let Some(end) = rest[at..].find("`]").map(|end| at + end) else { break };
        plain.push_str(&rest[..at]);
        let name = &rest[at + 2..end];
        plain.push('`');
        plain.push_str(name);
        plain.push('`');
        rest = &rest[end + 2..];
        if let Some(target) = rest.strip_prefix("(") {
            rest = target.find(')').map_or(rest, |end| &target[end + 1..]);
        }
    }
    plain.push_str(rest);
    plain
}

fn value(of: Option<&Value>) -> String {
    match of {
        None => "none".into(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Float(number)) => number.to_string(),
        Some(other) => other.to_string(),
    }
}

/// What the file of a profile sets, but for its base and its description.
fn sets(file: &Table) -> Vec<String> {
    let tables = file.iter().filter_map(|(table, keys)| Some((table, keys.as_table()?)));
    tables
        .flat_map(|(table, keys)| {
            keys.iter().map(move |(key, set)| format!("`{table}.{key}` = {}", value(Some(set))))
        })
        .collect()
}

fn profiles(page: &mut String) {
    let (whole, joined): (Vec<&str>, Vec<&str>) = {
        let others: Vec<&str> = Profile::stream_schedulers()
            .chain(Profile::multipath_mechanisms())
            .chain(Profile::congestion_controls())
            .chain(Profile::mechanisms())
            .collect();
        Profile::names().partition(|name| !others.contains(name))
    };
    for (title, names) in [("Profiles", whole), ("What is joined to them", joined)] {
        let _ = write!(page, "\n## {title}\n\n| name | what it is | sets |\n|---|---|---|\n");
        for name in names {
            let file = root().join(format!("stack/core/profiles/{name}.toml"));
            let file: Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
            let mut set: Vec<String> = Vec::new();
            if let Some(base) = file.get("base").and_then(Value::as_str) {
                set.push(format!("what `{}` does", base.replace('+', "` + `")));
            }
            set.extend(sets(&file));
            let about = file["description"].as_str().unwrap();
            let set = if set.is_empty() { "nothing".into() } else { set.join(", ") };
            let _ = writeln!(page, "| `{name}` | {} | {} |", cell(about), cell(&set));
        }
    }
}

fn tables(page: &mut String, declared: &Declared) {
    let [standard, ours] = ["rfc9260", "tresse"]
        .map(|name| Profile::named(name).unwrap().to_toml().parse::<Table>().unwrap());
    for (table, parameters) in &declared.tables {
        let about = without_links(&declared.about[table]);
        let _ = write!(page, "\n## {table}\n\n{about}\n\n");
        page.push_str("| key | `rfc9260` | `tresse` | what it is |\n|---|---|---|---|\n");
        for Parameter { name, doc, .. } in parameters {
            let [standard, ours] =
                [&standard, &ours].map(|profile| value(profile[table.as_str()].get(name)));
            let ours = if ours == standard { String::new() } else { ours };
            let doc = cell(&without_links(doc));
            let _ = writeln!(page, "| `{name}` | {standard} | {ours} | {doc} |");
        }
        for Parameter { name, choice, .. } in parameters {
            let Some(variants) = choice.as_ref().and_then(|choice| declared.choices.get(choice))
            else {
                continue;
            };
            let _ = write!(page, "\n`{name}` is one of\n\n");
            for variant in variants {
                let name = mechanisms::parts(&variant.name).join("-");
                let _ = writeln!(page, "- `{name}`: {}", without_links(&variant.doc));
            }
        }
    }
}

fn page() -> String {
    let sources = sources();
    let is_profile = |name: &str| name.starts_with("core/src/profile");
    let files = sources.iter().filter(|source| is_profile(&source.name) && !source.is_test());
    let declared = Declared::read(files.map(|source| source.text.as_str()));
    let mut page = HEAD.to_owned();
    profiles(&mut page);
    tables(&mut page, &declared);
    page
}

#[test]
fn the_page_of_profiles_is_up_to_date() {
    let path = root().join("docs/profile-keys.md");
    let page = page();
    if std::env::var_os("TRESSE_WRITE_PAGES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        there.replace('\r', "") == page,
        "docs/profile-keys.md is not up to date: `just pages`"
    );
}

#[test]
fn links_to_items_become_their_names() {
    let text = "Set by [`Endpoint::set`](crate::Endpoint::set), or [`None`]; a [b] (c).";
    assert_eq!(without_links(text), "Set by `Endpoint::set`, or `None`; a [b] (c).");
}
