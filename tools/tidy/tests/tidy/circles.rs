//! No circle of files, in any crate: what two files name is a third one.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{self, Module, Uses};

/// A trait of the core, and the list of what implements it: they are in a circle by what they are.
const REGISTRIES: [&str; 4] =
    ["congestion", "path/scheduler", "recovery/spurious", "streams/stream_scheduler"];

/// All files that use each other, of one crate.
struct Circle {
    member: String,
    files: Vec<String>,
    /// Where one of them names another.
    edges: Vec<String>,
}

fn names(circle: &BTreeSet<Module>) -> Vec<String> {
    let name = |module: &Module| if module.is_empty() { "lib".into() } else { module.join("/") };
    circle.iter().map(name).collect()
}

fn found(member: &str, uses: &Uses) -> Vec<Circle> {
    let circle = |circle: &BTreeSet<Module>| Circle {
        member: member.to_owned(),
        files: names(circle),
        edges: imports::edges(circle, uses).cloned().collect(),
    };
    imports::circles(uses).iter().map(circle).collect()
}

impl Circle {
    /// Whether all of it is at or below `parent`.
    fn is_below(&self, parent: &str) -> bool {
        let is_in = |file: &String| {
            file.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.files.iter().all(is_in)
    }

    fn is_registry(&self, of: &str) -> bool {
        self.member == "stack/core" && self.files[0] == of && self.is_below(of)
    }

    fn tell(&self) -> String {
        let (files, edges) = (self.files.len(), self.edges.join("\n  "));
        format!("{}: {files} files: {}\n  {edges}", self.member, self.files.join(" "))
    }
}

/// What only hands on (`pub use`) uses nothing. In the core who holds a `dyn Trait` uses what implements it.
#[test]
fn files_do_not_use_each_other_in_circles() {
    let sources = super::sources();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        crates.entry(&source.member).or_default().push((source.path(), &source.text));
    }
    let mut circles: Vec<Circle> = Vec::new();
    for (member, files) in crates {
        circles.extend(found(member, &imports::calls(&files, member == "stack/core")));
    }
    let mut gone: Vec<String> = Vec::new();
    for of in REGISTRIES {
        if !circles.iter().any(|circle| circle.is_registry(of)) {
            gone.push(format!("{of} in REGISTRIES"));
        }
    }
    circles.retain(|circle| !REGISTRIES.iter().any(|of| circle.is_registry(of)));
    let told: Vec<String> = circles.iter().map(Circle::tell).collect();
    assert!(
        told.is_empty(),
        "these name each other in a circle; what two of them name belongs into a file of its own. (If no_module_of_the_core_uses_one_above fails, too, its line is the one.)\n{}",
        told.join("\n")
    );
    assert!(gone.is_empty(), "there is no such circle any more, so strike {}", gone.join(", "));
}

#[test]
fn circles_through_traits_and_macros_are_seen() {
    let files = [
        ("house.rs", "use crate::guest::Guest; struct House { guest: Box<dyn Guest> }"),
        ("guest.rs", "pub trait Guest {}"),
        ("cat.rs", "use crate::guest::Guest;\nuse crate::house::House; impl Guest for Cat {}"),
        ("garden.rs", "pub use crate::tree::Tree; const A: u8 = grow!(1, crate::tree::HIGH);"),
        ("tree.rs", "use crate::garden; /// Not `crate::cat`.\nconst B: &str = \"crate::house\";"),
        ("park.rs", "pub(crate) use crate::bench::Bench;"),
        ("bench.rs", "use crate::park::Lawn;"),
        ("shop.rs", "macro_rules! buy { () => { $crate::till::pay(super::purse()) } }"),
        ("till.rs", "use crate::shop::Shop;"),
        ("street/mod.rs", "mod lamp; pub use lamp::Lamp; fn f() { Lamp::new(); }"),
        ("street/lamp.rs", "use super::Street;"),
        ("town/mod.rs", "mod hall; fn f() { hall::open(); }"),
        ("town/hall.rs", "mod clock { use super::super::Town; }"),
        ("village/mod.rs", "mod inn; pub use inn::Inn; fn f(inn: u8) { inn; }"),
        ("village/inn.rs", "use super::Village;"),
    ];
    let uses = imports::calls(&files, true);
    let circles = found("one", &uses);
    let files: Vec<String> = circles.iter().map(|circle| circle.files.join(" ")).collect();
    assert_eq!(
        files,
        ["cat house", "garden tree", "shop till", "street street/lamp", "town town/hall"]
    );
    assert_eq!(
        circles[0].edges,
        ["cat.rs:2 names crate::house::House", "house.rs:1 calls dyn Guest"]
    );
    assert!(circles[3].is_below("street") && !circles[4].is_below("street"));
}
