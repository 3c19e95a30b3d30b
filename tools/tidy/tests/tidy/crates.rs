//! What ARCHITECTURE.md says of crates and files, against the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::{Table, Value};

use super::imports::{self, Module};

/// Crates, each with those that it depends on; without the `tresse-` before their names.
type Crates = BTreeMap<String, BTreeSet<String>>;

fn short(package: &str) -> Option<String> {
    (package == "tresse").then_some(package).or(package.strip_prefix("tresse-")).map(str::to_owned)
}

/// The crates of the project in `[dependencies]` of a manifest, those of one platform included.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    tables
        .chain([manifest])
        .filter_map(|table| table.get("dependencies")?.as_table())
        .flat_map(Table::keys)
        .filter_map(|package| short(package))
        .collect()
}

fn manifests() -> Crates {
    let mut found = Crates::new();
    for member in super::crates() {
        let text = fs::read_to_string(member.join("Cargo.toml")).unwrap();
        let manifest: Table = text.parse().unwrap();
        let package = manifest["package"]["name"].as_str().unwrap();
        found.insert(short(package).expect("all names begin alike"), dependencies(&manifest));
    }
    found
}

/// The rows of the table in ARCHITECTURE.md: `| name | what it is | depends on |`.
fn table(page: &str) -> Crates {
    let section = page.split_once("\n## Crates").expect("a section on crates").1;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let mut found = Crates::new();
    for line in section.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [name, _, used] = cells.as_slice() else { continue };
        let Some(name) = name.strip_prefix("| `").and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let used = used.trim_end_matches('|').split(',').map(|used| used.trim().to_owned());
        found.insert(name.to_owned(), used.filter(|used| !used.is_empty()).collect());
    }
    found
}

#[test]
fn architecture_tells_the_crates_and_what_they_depend_on() {
    let page = fs::read_to_string(super::root().join("ARCHITECTURE.md")).unwrap();
    let mut told = table(&page);
    // A workspace of its own.
    told.remove("fuzz/").expect("the fuzz targets are told of");
    let there = manifests();
    let names: BTreeSet<&String> = told.keys().chain(there.keys()).collect();
    let wrong = names.into_iter().filter(|name| told.get(*name) != there.get(*name));
    let wrong: Vec<String> = wrong
        .map(|name| format!("{name}: {:?}, its Cargo.toml {:?}", told.get(name), there.get(name)))
        .collect();
    assert!(
        wrong.is_empty(),
        "the table of crates in ARCHITECTURE.md says other dependencies:\n{}",
        wrong.join("\n")
    );
}

/// The crates on which a crate depends, and they in turn.
fn closure(crates: &Crates, of: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![of.to_owned()];
    while let Some(one) = next.pop() {
        let used = crates.get(&one).into_iter().flatten();
        next.extend(used.filter(|used| found.insert((*used).clone())).cloned());
    }
    found
}

/// Stored runs are of another source as soon as a crate has changed that decides them: all that the laboratory depends
/// on, but for two.
#[test]
fn whatever_decides_a_run_is_in_its_fingerprint() {
    let build = fs::read_to_string(super::root().join("lab/lab/build.rs")).unwrap();
    let list = build.split_once("const CRATES: &[&str] = &[").expect("a list").1;
    let list = list.split_once("];").expect("its end").0;
    let named: BTreeSet<String> = list
        .split('"')
        .skip(1)
        .step_by(2)
        .map(|path| path.rsplit('/').next().unwrap().to_owned())
        .collect();
    let mut decides = closure(&manifests(), "lab");
    // One draws what was measured, the other only looks on.
    for reads in ["report", "observe"] {
        assert!(decides.remove(reads), "the laboratory does not depend on {reads}");
    }
    let wrong: Vec<&String> = named.symmetric_difference(&decides).collect();
    assert!(
        wrong.is_empty(),
        "CRATES of lab/lab/build.rs lists all that the laboratory depends on, and nothing else; not so: {wrong:?}"
    );
}

/// `report/` is left out of the fingerprint of stored runs. If a run depended on it, results of other code would be taken for
/// its own. A session makes runs and then has them read; no run uses that, either.
#[test]
fn no_run_depends_on_what_reads_it() {
    let build = fs::read_to_string(super::root().join("lab/lab/build.rs")).unwrap();
    assert!(build.contains("const READERS: &str = \"src/report\";"), "other files are left out");
    let sources = super::sources();
    let lab = sources.iter().filter(|source| source.member == "lab/lab" && !source.is_test());
    let lab: Vec<(&str, &str)> = lab.map(|source| (source.path(), source.text.as_str())).collect();
    let found = reads_results(&lab);
    assert!(
        found.is_empty(),
        "move what a run needs out of lab/lab/src/report/:\n{}",
        found.join("\n")
    );
    let files = [
        ("lib.rs", "pub use report::Page; pub use session::Session;"),
        ("run.rs", "fn f() {}\nfn g(page: crate::Page) {}"),
        ("plan.rs", "use crate::session::Session;"),
        ("session.rs", "use crate::report::Page;"),
        ("report/mod.rs", "use crate::run; pub struct Page;"),
    ];
    let expected = ["plan.rs:1 names crate::session::Session", "run.rs:2 names crate::Page"];
    assert_eq!(reads_results(&files), expected);
}

/// Where files that make runs use what reads them.
fn reads_results(files: &[(&str, &str)]) -> Vec<String> {
    let reads = |module: &Module| {
        module.first().is_some_and(|top| ["report", "session"].contains(&&top[..]))
    };
    let makes = |module: &Module| !module.is_empty() && !reads(module);
    let uses = imports::uses(files).into_iter().filter(|(module, _)| makes(module));
    let used = uses.flat_map(|(_, used)| used);
    used.filter(|(other, _)| reads(other)).map(|(_, place)| place).collect()
}

/// What stands between backticks and looks like a file or a folder of the tree.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        let ends = [".rs", ".toml", ".md", ".inc", ".c", "/"];
        ends.iter().any(|end| text.ends_with(end))
            && !text.contains(['<', '*', '{', ' '])
            && !text.contains("NAME")
    };
    quoted.filter(is_path)
}

#[test]
fn architecture_names_files_that_exist() {
    let page = fs::read_to_string(super::root().join("ARCHITECTURE.md")).unwrap();
    let sources = super::sources();
    let mut missing = Vec::new();
    let core = super::root().join("stack/core");
    let mut from = super::groups();
    from.extend([super::root().to_owned(), core.join("src"), core]);
    for path in paths(&page) {
        // A name alone is that of a file beside the one named before.
        let is_a_name = !path.contains('/')
            && sources.iter().any(|source| source.name.ends_with(&format!("/{path}")));
        if !is_a_name && !from.iter().any(|from| from.join(path).exists()) {
            missing.push(path);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// The functions that a page names, each with its file: `` `name` (`file.rs`) ``.
fn functions(page: &str) -> Vec<(&str, &str)> {
    let quoted: Vec<&str> = page.split('`').collect();
    let named = |part: &[&'_ str]| part[1] == " (" && part[2].ends_with(".rs");
    quoted.windows(3).filter(|part| named(part)).map(|part| (part[0], part[2])).collect()
}

#[test]
fn the_walk_visits_functions_that_exist() {
    let core = super::root().join("stack/core/src");
    let page = fs::read_to_string(super::root().join("docs/walk.md")).unwrap();
    assert!(page.lines().count() <= 120, "a walk, not a journey");
    let found = functions(&page);
    assert!(found.len() > 30, "{found:?}");
    let is_there = |(name, file): &(&str, &str)| {
        let text = fs::read_to_string(core.join(file)).unwrap_or_default();
        text.contains(&format!("fn {name}(")) || text.contains(&format!("fn {name}<"))
    };
    let missing: Vec<_> = found.into_iter().filter(|visit| !is_there(visit)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Lines of a recipe in ARCHITECTURE.md, its title included, and letters of each.
const MAX_RECIPE_LINES: usize = 10;
const MAX_RECIPE_WIDTH: usize = 140;

#[test]
fn how_to_add_something_takes_ten_lines() {
    let page = fs::read_to_string(super::root().join("ARCHITECTURE.md")).unwrap();
    let section = page.split_once("\n## How to add\n").expect("a section on what to add").1;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let recipes: Vec<&str> = section.split("\n**").skip(1).collect();
    assert!(recipes.len() > 5, "recipes have a title in bold");
    for recipe in recipes {
        let lines = recipe.lines().filter(|line| !line.trim().is_empty()).count();
        let title = recipe.lines().next().unwrap_or_default();
        assert!(lines <= MAX_RECIPE_LINES, "{lines} lines on: {title}");
        let wide = recipe.lines().find(|line| line.chars().count() > MAX_RECIPE_WIDTH);
        assert_eq!(wide, None, "more than {MAX_RECIPE_WIDTH} letters in a line on: {title}");
    }
}
