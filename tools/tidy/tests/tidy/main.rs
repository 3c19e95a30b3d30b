//! Rules of STYLE.md that neither rustc nor clippy can check.

mod chapters;
mod circles;
mod crates;
mod fields;
mod imports;
mod keys;
mod mechanisms;
mod profile;
mod reads;
mod switches;

use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// Lines of a source file that is not a test.
const MAX_LINES: usize = 500;
/// Lines of the file of one algorithm, its tests not counted.
const MAX_ALGORITHM_LINES: usize = 300;

/// Files beside algorithms of recovery that are none: what is told to them, what they are asked, and their list.
const PLUMBING: [&str; 3] = ["facts.rs", "hooks.rs", "registry.rs"];

struct Source {
    /// The folder of its crate, as `stack/core`.
    member: String,
    /// Path below the folder of the group, as `core/src/lib.rs`, with `/` on every system.
    name: String,
    text: String,
}

impl Source {
    /// Its path below the `src` of its crate.
    fn path(&self) -> &str {
        self.name.split_once("/src/").expect("collected below src/").1
    }

    fn is_test(&self) -> bool {
        self.name.ends_with("/tests.rs") || self.name.contains("/tests/")
    }

    /// It is of a mechanism: in one of their folders, or one of those elsewhere. The `mod.rs` of a folder with several of them is
    /// their registry.
    fn is_algorithm(&self) -> bool {
        let within = mechanisms::FOLDERS.iter().find_map(|folder| self.name.strip_prefix(folder));
        let elsewhere = mechanisms::ELSEWHERE.iter().flat_map(|(_, files)| *files);
        let is_there = elsewhere.copied().any(|file| mechanisms::is_of(file, &self.name));
        let is_registry = |below: &str| match below.strip_suffix("mod.rs") {
            Some(folder) => {
                folder.is_empty() || mechanisms::GROUPS.contains(&folder.trim_end_matches('/'))
            }
            None => PLUMBING.contains(&below),
        };
        !self.is_test() && (is_there || within.is_some_and(|below| !is_registry(below)))
    }

    /// The lines of the file; citations of an RFC (`tests/rfc/`) do not count.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !line.trim_start().starts_with("//= RFC "))
    }

    /// The lines before the inline tests: not merely before the first thing that is for tests alone.
    fn code_lines(&self) -> usize {
        let lines: Vec<&str> = self.lines().collect();
        let are_tests = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        };
        lines.windows(2).position(are_tests).unwrap_or(lines.len())
    }

    /// The `//!` comment at the top.
    fn header(&self) -> String {
        self.text.lines().take_while(|line| line.starts_with("//!")).collect()
    }
}

/// `path` below `folder`, with `/` on every system.
fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/")
}

fn collect(folder: &Path, member: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, member, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = below(&path, member.parent().unwrap());
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { member: below(member, root()), name, text });
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap()
}

/// The folders in which crates are, as the workspace names them.
fn groups() -> Vec<PathBuf> {
    let manifest: Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    members.map(|member| root().join(member.as_str().unwrap().trim_end_matches("/*"))).collect()
}

/// The folders of all crates of the workspace.
fn crates() -> Vec<PathBuf> {
    let members =
        |group: PathBuf| fs::read_dir(&group).unwrap().map(|member| member.unwrap().path());
    groups().into_iter().flat_map(members).collect()
}

/// All Rust files in the `src` of crates, with names as `core/src/lib.rs`.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for member in crates() {
        let src = member.join("src");
        if src.is_dir() {
            collect(&src, &member, &mut found);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.iter().any(|source| source.name == "core/src/lib.rs"), "looked in a wrong place");
    found
}

/// Fails with one line for each place where `is_wrong` finds something in a line of code.
fn search(files: &[Source], is_wrong: impl Fn(&str) -> bool) {
    let mut problems = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate().filter(|(_, line)| is_wrong(line)) {
            problems.push(format!("{}:{}: {}", file.name, number + 1, line.trim()));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let lines = source.lines().count();
        if lines > MAX_LINES {
            problems.push(format!("{}: {lines} lines, at most {MAX_LINES}", source.name));
        }
        if source.is_algorithm() && source.code_lines() > MAX_ALGORITHM_LINES {
            let lines = source.code_lines();
            problems.push(format!("{}: {lines} of {MAX_ALGORITHM_LINES} lines", source.name));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Whether `header` names an RFC, a draft, a section, or authors and a year.
fn cites(header: &str) -> bool {
    let words: Vec<&str> = header.split_whitespace().collect();
    let is_name = |word: &str| word.starts_with(char::is_uppercase) || word == "al.";
    let is_year = |word: &str| {
        let year = word.trim_matches(|c: char| !c.is_ascii_digit());
        year.len() == 4 && (year.starts_with("19") || year.starts_with("20"))
    };
    ["RFC ", "draft-", "§"].iter().any(|mark| header.contains(mark))
        || words.windows(2).any(|pair| is_name(pair[0]) && is_year(pair[1]))
}

#[test]
fn algorithms_cite_their_source() {
    let files = sources();
    let uncited: Vec<&str> = files
        .iter()
        .filter(|source| source.is_algorithm() && !cites(&source.header()))
        .map(|source| source.name.as_str())
        .collect();
    assert!(
        uncited.is_empty(),
        "no RFC and no paper in the header; one of our own names the section that it changes: {}",
        uncited.join(", ")
    );
    assert!(cites("//! As Hurtig 2009 has it") && cites("//! (Ladha et al. 2004)"));
    assert!(!cites("//! At least 2000 ms"));
}

#[test]
fn no_paths_of_one_machine() {
    // Put together here, so that this file does not contain what it looks for.
    let roots = ["home", "root", "Users", "work"].map(|root| format!("/{root}/"));
    let is_inside_a_path =
        |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '.');
    search(&sources(), |line| {
        roots.iter().any(|root| {
            line.match_indices(root.as_str()).any(|(at, _)| !is_inside_a_path(&line[..at]))
        })
    });
}

#[test]
fn the_core_reads_no_clock_socket_environment_or_random_source() {
    let outside = ["Instant", "SystemTime", "std::env", "std::thread", "Socket", "OsRng"];
    let mut core = sources();
    core.retain(|source| source.name.starts_with("core/src/"));
    search(&core, |line| {
        let code = line.split("//").next().unwrap_or_default();
        outside.iter().any(|word| code.contains(word))
    });
}

/// The top modules of the core, each of which may use those before it: facts, then those who look at them and decide, then
/// those who act.
const LAYERS: [&str; 33] = [
    "time",
    "rng",
    "ranges",
    "error",
    "ids",
    "state",
    "memory",
    "windowed",
    "extensions",
    "mtu_discovery",
    "chunk",
    "reliability",
    "auth",
    "asconf",
    "event",
    "profile",
    "peer_filter",
    "config",
    "settings",
    "stats",
    "datagram",
    "streams",
    "ack",
    "scoreboard",
    "congestion",
    "recovery",
    "path",
    "handshake",
    "journal",
    "receive",
    "send",
    "association",
    "endpoint",
];

#[test]
fn no_module_of_the_core_uses_one_above() {
    let mut core = sources();
    core.retain(|source| source.name.starts_with("core/src/") && !source.is_test());
    let of_core = |source: &Source| source.name["core/src/".len()..].to_owned();
    let files: Vec<(String, &str)> =
        core.iter().map(|source| (of_core(source), source.text.as_str())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&name[..], *text)).collect();
    let height = |module: &imports::Module| {
        let top = module.first()?;
        let found = LAYERS.iter().position(|name| name == top);
        let place = format!(
            "core/src/{top} has no place in LAYERS of tidy/main.rs: what names it is above"
        );
        Some(found.expect(&place))
    };
    let mut upwards = Vec::new();
    for (module, used) in imports::uses(&files) {
        let Some(own) = height(&module) else { continue };
        let above =
            used.iter().filter(|(other, _)| height(other).is_some_and(|height| height > own));
        upwards.extend(above.map(|(_, place)| place.clone()));
    }
    assert!(
        upwards.is_empty(),
        "LAYERS of tidy/main.rs, from the lowest up, has what is named here above who names it; move it below both, or pass it on from above:\n{}",
        upwards.join("\n")
    );
}
