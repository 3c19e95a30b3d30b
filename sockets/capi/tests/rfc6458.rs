//! `rfc6458.txt` has every name of RFC 6458. They are in the header, and docs/sockets.md says what becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

/// The names, by what they are.
fn names(list: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut title = "";
    for line in list.lines() {
        match line.strip_prefix("# ") {
            Some(next) => title = next,
            None => names.entry(title).or_default().extend(line.split_whitespace()),
        }
    }
    names
}

//= RFC 6458 1-4 1-5
#[test]
fn every_name_is_there() {
    let (list, header, guide) =
        (read("tests/rfc6458.txt"), read("include/tresse/sctp.h"), read("../../docs/sockets.md"));
    let (header, guide) = (words(&header), words(&guide));
    let mut count = 0;
    for (title, names) in names(&list) {
        for name in names {
            // These are of the C library.
            let there = header.contains(name) || name.starts_with("SO_");
            let explained = guide.contains(name);
            let asked_for = ["ancillary", "notifications", "options", "functions"];
            let must_be = asked_for.iter().any(|word| title.starts_with(word));
            assert!(if must_be { there && explained } else { there || explained }, "{name}");
            count += 1;
        }
    }
    assert!(count > 350, "{count}");
}
