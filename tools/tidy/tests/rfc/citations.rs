//! Comments that claim sentences: `//= RFC 9260 5.2.1-1 5.2.1-6`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::sentences::Id;

/// Put together, so that this file does not contain what it looks for.
const MARK: &str = concat!("//", "= RFC ");

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// From the root of the repository, with `/` on every system.
    pub file: String,
    /// The name of the test, if it is one.
    pub test: Option<String>,
}

type Places = BTreeMap<u16, BTreeMap<Id, Vec<Place>>>;

/// All citations in the crates of the workspace, by RFC and sentence.
pub(crate) fn collect(root: &Path) -> Places {
    let mut found = Places::new();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    for group in manifest["workspace"]["members"].as_array().unwrap() {
        walk(root, &root.join(group.as_str().unwrap().trim_end_matches("/*")), &mut found);
    }
    for places in found.values_mut().flat_map(BTreeMap::values_mut) {
        places.sort();
        places.dedup();
    }
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Places) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "c") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            read(&name, &fs::read_to_string(&path).unwrap(), found);
        }
    }
}

fn read(file: &str, text: &str, found: &mut Places) {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens_tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{');
    let unit_tests = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
    let is_test = file.ends_with("/tests.rs") || file.contains("/tests/");
    for (at, line) in lines.iter().enumerate() {
        let Some(citation) = line.strip_prefix(MARK) else { continue };
        let mut words = citation.split_whitespace();
        let rfc = words.next().and_then(|rfc| rfc.parse().ok());
        let rfc: u16 = rfc.unwrap_or_else(|| panic!("{file}:{}: {line}", at + 1));
        let test = (is_test || at > unit_tests).then(|| {
            let name = test_below(file, &lines[at..]);
            name.unwrap_or_else(|| panic!("{file}:{}: stands above no test", at + 1))
        });
        let place = Place { file: file.into(), test };
        for word in words {
            let id = Id::new(word).unwrap_or_else(|| panic!("{file}:{}: {word}", at + 1));
            found.entry(rfc).or_default().entry(id).or_default().push(place.clone());
        }
    }
}

/// The name of the test whose head follows: in C a case, or a function of a program, which else is a test as a whole.
fn test_below(file: &str, lines: &[&str]) -> Option<String> {
    if let Some(program) = file.strip_suffix(".c") {
        let mut head = lines.iter().take_while(|line| !line.is_empty());
        let begins = ["CASE(", "EACH(", "static void "];
        let name = head.find_map(|line| begins.iter().find_map(|begin| line.strip_prefix(begin)));
        let name = name.or_else(|| program.rsplit('/').next())?;
        return name.split(['(', ',', ')']).next().map(Into::into);
    }
    let mut head = lines.iter().take_while(|line| !line.is_empty());
    head.find(|line| line.contains("test]"))?;
    let name = head.find_map(|line| line.trim_start_matches("async ").strip_prefix("fn "))?;
    name.split(['(', '<']).next().map(Into::into)
}

#[test]
fn a_citation_names_the_test_below_it() {
    let mut found = Places::new();
    let text =
        "#[cfg(test)]\nmod tests {\n//= RFC 1 2.3-4 5-6\n/// Text.\n#[test]\nfn it_holds() {}";
    read("stack/x/src/y.rs", text, &mut found);
    let place = |name: &str| Place { file: "stack/x/src/y.rs".into(), test: Some(name.into()) };
    let places = &found[&1];
    assert_eq!(places[&Id::new("2.3-4").unwrap()], [place("it_holds")]);
    assert_eq!(places[&Id::new("5-6").unwrap()], [place("it_holds")]);
    assert_eq!(places.len(), 2);
    for (head, name) in [
        ("CASE(it_holds)", "it_holds"),
        ("EACH(it_holds, rows)", "it_holds"),
        ("/* Text. */\nstatic void it_holds(int fd)", "it_holds"),
        ("\nCASE(it_holds)", "y"),
    ] {
        let mut found = Places::new();
        read("stack/x/tests/y.c", &format!("//= RFC 1 2.3-4\n{head}"), &mut found);
        let places = &found[&1][&Id::new("2.3-4").unwrap()];
        assert_eq!(places[0].test.as_deref(), Some(name), "{head}");
    }
}
