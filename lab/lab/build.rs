//! Computes a fingerprint of the source code that decides the outcome of a run, so that stored
//! results of other code are never mistaken for results of this one; and lists the experiment
//! files, so that a new file is a new experiment without a line of code.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Whole crates that decide a run, their dependencies among them. `observe` only looks on.
const CRATES: &[&str] = &[
    "stack/wire",
    "stack/counters",
    "stack/core",
    "stack/carrier",
    "stack/tresse",
    "lab/netem",
    "lab/sim",
    "lab/emulator",
    "lab/gauntlet",
];
/// What of a crate decides it.
const PARTS: [&str; 3] = ["src", "profiles", "Cargo.toml"];
/// What of this crate only reads results: it decides what is shown. Nothing else uses it but what plays and then reads
/// (`tidy/tests/tidy/crates.rs`), so that no run can depend on it.
const READERS: &str = "src/report";

/// Papers in the order in which their experiments are listed; others follow.
const PAPERS: &[&str] = &["pedersen", "hurtig", "gonzalez", "ladha"];

fn main() {
    real_time();
    fingerprint();
    catalogue();
}

/// Runs in real time are played where network namespaces are, if they are wanted.
fn real_time() {
    println!("cargo::rustc-check-cfg=cfg(real_time)");
    let set = |name: &str| std::env::var_os(name).is_some();
    if set("CARGO_FEATURE_REAL_TIME")
        && std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
    {
        println!("cargo::rustc-cfg=real_time");
    }
}

fn fingerprint() {
    let parts = |name: &&str| PARTS.map(|part| Path::new("../..").join(name).join(part));
    // Values of runs are means and percentiles that `report` computes.
    let own = [
        "src",
        "build.rs",
        "Cargo.toml",
        "../report/src/statistics",
        "../../Cargo.toml",
        "../../Cargo.lock",
        "../../rust-toolchain.toml",
    ];
    let own = own.map(PathBuf::from);
    let mut files = Vec::new();
    for source in CRATES.iter().flat_map(parts).chain(own) {
        // A path that is not there would have every build run this again.
        if source.exists() {
            println!("cargo:rerun-if-changed={}", source.display());
            collect(&source, &mut files);
        }
    }
    let is_test = |file: &Path| {
        file.ends_with("tests.rs") || file.components().any(|part| part.as_os_str() == "tests")
    };
    files.retain(|file| !is_test(file) && !file.starts_with(READERS));
    files.sort();
    // FNV-1a, 64 bits: a fingerprint, not a defence against forgery.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut feed = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for file in &files {
        feed(file.to_string_lossy().as_bytes());
        feed(&fs::read(file).unwrap_or_default());
    }
    println!("cargo:rustc-env=TRESSE_SOURCE_FINGERPRINT={hash:016x}");
}

/// Writes `catalogue.rs`: a constant with the id and the text of every experiment.
fn catalogue() {
    println!("cargo:rerun-if-changed=experiments");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    collect(Path::new("experiments"), &mut files);
    let mut ids: Vec<(String, PathBuf)> = files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|e| e == "toml"))
        .map(|file| {
            let id = file.strip_prefix("experiments").unwrap_or(&file).with_extension("");
            // `.toml` is cut once: `table3.2.toml` is `table3.2`.
            (id.to_string_lossy().replace('\\', "/"), root.join(&file))
        })
        .collect();
    ids.sort_by_key(|(id, _)| order(id));
    let mut code = String::from("const BUILT_IN: &[(&str, &str)] = &[\n");
    for (id, file) in &ids {
        let _ = writeln!(code, "    ({id:?}, include_str!({:?})),", file.display().to_string());
    }
    code.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("catalogue.rs"), code).expect("OUT_DIR can be written");
}

/// Papers in their order, tables and figures by their numbers: `fig2` before `fig10`.
fn order(id: &str) -> (usize, String, Vec<(String, u64)>) {
    let (paper, name) = id.split_once('/').unwrap_or(("", id));
    let rank = PAPERS.iter().position(|p| *p == paper).unwrap_or(PAPERS.len());
    let mut parts: Vec<(String, u64)> = vec![(String::new(), 0)];
    for c in name.chars() {
        let last = parts.last_mut().expect("never empty");
        match c.to_digit(10) {
            Some(digit) => last.1 = last.1 * 10 + u64::from(digit),
            None if last.1 > 0 => parts.push((c.to_string(), 0)),
            None => last.0.push(c),
        }
    }
    (rank, paper.to_owned(), parts)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
}
