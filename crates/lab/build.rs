//! Computes a fingerprint of the source code that decides the outcome of a run, so that stored
//! results of other code are never mistaken for results of this one.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose content decides a run. Report writers are not among them.
const SOURCES: &[&str] = &[
    "../wire/src",
    "../core/src",
    "../core/profiles",
    "../netem/src",
    "../sim/src",
    "src/scenario",
    "src/workload.rs",
    "src/seed.rs",
    "src/record.rs",
];

fn main() {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
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

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
}
