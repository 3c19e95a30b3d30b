//! The conformance suite of the sockets API (`tests/c/conformance/`): the same program on the SCTP of a
//! Linux kernel, in a guest, under `tresse run`, and with libtresse. The kernel is the referee: each
//! verdict is the same, or stands with its reason in `differences.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use tresse_peers::{Guest, free_udp_port, skipped};

use super::{With, Workshop, check, program, run, sources};

/// Cases at a time: they wait more than they compute.
const JOBS: &str = "16";
/// Seconds for one case. The suite's own limit is for quiet machines.
const LIMIT: &str = "10";
/// For all cases on one stack.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A suite with fewer cases says too little.
const LEAST_CASES: usize = 400;

/// What a case ended with: nothing, or what went wrong.
type Verdicts = BTreeMap<String, Option<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectations {
    #[serde(default)]
    difference: Vec<Difference>,
}

/// Cases that end otherwise on Tresse than on the kernel, deliberately.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// Their names; `*` stands for anything, once.
    cases: Vec<String>,
    /// What the kernel does.
    kernel: String,
    /// What Tresse does.
    tresse: String,
    reason: String,
}

/// Cases that are still to be mended, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    to_be_mended: Vec<String>,
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = program("conformance").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn build(workshop: &Workshop, with: With) -> PathBuf {
    let folder = program("conformance");
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| path.ends_with(".c") && !path.ends_with("/suite.c"))
        .collect();
    files.sort();
    let mut more: Vec<&str> = files.iter().map(String::as_str).collect();
    more.push("-D_GNU_SOURCE");
    if with == With::Preload {
        more.push("-DSUITE_LKSCTP");
    }
    workshop.build(&folder.join("suite.c"), with, &more)
}

/// What the program printed.
fn verdicts<'a>(lines: impl IntoIterator<Item = &'a str>) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for line in lines {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("ok ") {
            verdicts.entry(name.to_owned()).or_default();
        } else if let Some((name, what)) =
            line.strip_prefix("FAIL ").and_then(|line| line.split_once(' '))
        {
            verdicts.insert(name.to_owned(), Some(what.to_owned()));
        }
    }
    verdicts
}

fn on_the_kernel(suite: &Path) -> Option<Verdicts> {
    let folder = tempfile::tempdir().unwrap();
    let guest = match Guest::boot(folder.path(), 1, TIMEOUT) {
        Ok(guest) => guest,
        Err(why) => {
            skipped(&why);
            return None;
        }
    };
    guest.enter();
    // A kernel does not interleave messages (RFC 8260) unless it is told so.
    let interleaves = "sysctl -qw net.sctp.intl_enable=1";
    let line = format!("{interleaves} && {} -j {JOBS} --limit {LIMIT}", suite.display());
    let (_, said) = guest.run_for(&line, TIMEOUT);
    Some(verdicts(said.iter().map(String::as_str)))
}

fn here(mut command: Command, suite: &Path) -> Verdicts {
    command.args(["-j", JOBS, "--limit", LIMIT]).env_remove("TRESSE_ENGINE");
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stdout);
    let verdicts = verdicts(said.lines());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!verdicts.is_empty(), "{}: {}: {errors}", suite.display(), output.status);
    verdicts
}

fn under_tresse_run(workshop: &Workshop, suite: &Path) -> Verdicts {
    let local = ["127.0.0.1", "127.0.0.2", "::1"];
    let mut command = workshop.tresse_run(&local, free_udp_port().unwrap());
    command.arg(suite);
    here(command, suite)
}

/// What is not as it is expected to be, if anything is: whether a case fails is known.
fn surprise(name: &str, verdicts: &Verdicts, fails: bool) -> Option<String> {
    match (verdicts.get(name), fails) {
        (None, _) => Some(format!("{name}: no verdict")),
        (Some(Some(what)), false) => Some(format!("{name}: {what}")),
        (Some(None), true) => Some(format!("{name}: it passes, and is listed as a difference")),
        (Some(Some(_)), true) | (Some(None), false) => None,
    }
}

/// What passes everywhere and is still listed: the list only shrinks.
fn mended<'a>(to_be_mended: &BTreeSet<&'a str>, stacks: &[&Verdicts]) -> Vec<&'a str> {
    let passes = |name: &&&str| stacks.iter().all(|verdicts| verdicts.get(**name) == Some(&None));
    to_be_mended.iter().filter(passes).copied().collect()
}

/// The cases that a name stands for.
fn named<'a>(name: &str, all: &'a BTreeSet<String>) -> Vec<&'a str> {
    let chosen = |case: &&String| match name.split_once('*') {
        Some((beginning, end)) => {
            case.strip_prefix(beginning).is_some_and(|rest| rest.ends_with(end))
        }
        None => *case == name,
    };
    let cases: Vec<&str> = all.iter().filter(chosen).map(String::as_str).collect();
    assert!(!cases.is_empty(), "there is no case {name}");
    cases
}

#[test]
fn one_program_one_verdict() {
    let Some(workshop) = Workshop::get() else { return };
    let expected: Expectations = read("differences.toml");
    let known: Known = read("known.toml");
    let library = build(workshop, With::Shared);
    let listed = check(Command::new(&library).arg("--list"));
    let all: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    assert_eq!(all.len(), listed.lines().count(), "two cases have the same name");
    assert!(all.len() >= LEAST_CASES, "only {} cases", all.len());
    let deliberate = expected.difference.iter().flat_map(|difference| &difference.cases);
    let deliberate: BTreeSet<&str> = deliberate.flat_map(|name| named(name, &all)).collect();
    let to_be_mended = known.to_be_mended.iter().flat_map(|name| named(name, &all));
    let to_be_mended: BTreeSet<&str> = to_be_mended.collect();
    let twice: Vec<_> = deliberate.intersection(&to_be_mended).collect();
    assert!(twice.is_empty(), "both deliberate and to be mended: {twice:?}");

    let kernels = workshop.lksctp.as_ref().map(|()| build(workshop, With::Preload));
    let stacks = thread::scope(|scope| {
        let kernels = kernels.as_deref().map_err(|why| skipped(why)).ok();
        let kernel = kernels.map(|suite| scope.spawn(|| on_the_kernel(suite)));
        let run = kernels.map(|suite| scope.spawn(|| under_tresse_run(workshop, suite)));
        let library = here(Command::new(&library), &library);
        [
            ("the kernel", kernel.and_then(|thread| thread.join().unwrap())),
            ("tresse run", run.map(|thread| thread.join().unwrap())),
            ("libtresse", Some(library)),
        ]
    });
    let (all_of_them, differ) = (all.len(), deliberate.len());
    println!(
        "{all_of_them} cases, {differ} deliberate differences, {} to be mended",
        to_be_mended.len()
    );
    let mut wrong = Vec::new();
    for (who, verdicts) in &stacks {
        let Some(verdicts) = verdicts else { continue };
        let passed = verdicts.values().filter(|verdict| verdict.is_none()).count();
        println!("{who}: {passed} of {} passed", verdicts.len());
        for name in &all {
            let kernel = *who == "the kernel";
            if !kernel && to_be_mended.contains(name.as_str()) {
                continue;
            }
            let deliberate = !kernel && deliberate.contains(name.as_str());
            wrong.extend(surprise(name, verdicts, deliberate).map(|what| format!("{who}: {what}")));
        }
    }
    if let [_, (_, Some(run)), (_, Some(library))] = &stacks {
        let mended = mended(&to_be_mended, &[run, library]);
        wrong.extend(mended.iter().map(|name| format!("{name}: it passes: out of known.toml")));
    }
    assert!(wrong.is_empty(), "{} surprises:\n{}", wrong.len(), wrong.join("\n"));
}

/// `docs/sockets.md` has the differences as they are in `differences.toml`.
#[test]
fn differences_are_documented() {
    const BEGIN: &str = "<!-- differences.toml: begin -->\n";
    const END: &str = "<!-- differences.toml: end -->\n";
    let expected: Expectations = read("differences.toml");
    let mut table = String::from("\n| cases | the kernel | Tresse | why |\n|---|---|---|---|\n");
    for Difference { cases, kernel, tresse, reason } in &expected.difference {
        let cases: Vec<String> = cases.iter().map(|name| format!("`{name}`")).collect();
        let row = [cases.join(" "), kernel.clone(), tresse.clone(), reason.clone()];
        let row = row.map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" "));
        table += &format!("| {} |\n", row.join(" | "));
    }
    table.push('\n');
    let path = sources().join("../../docs/sockets.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the marks");
    let (there, after) = rest.split_once(END).expect("the page has the marks");
    if there != table {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        panic!("docs/sockets.md was behind differences.toml; it is rewritten: commit it");
    }
}
