//! Hashes that tell runs apart: of all that decides a run, the source code included.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::version;

/// How much of a run's key stands in a row: enough for `--only`.
const KEY_DIGITS: usize = 16;

/// The beginning of a run's key, as rows show it.
pub(crate) fn short(key: &str) -> String {
    key.chars().take(KEY_DIGITS).collect()
}

/// Hash of a sender (its label, and its parameters as TOML), of all else in a set-up that decides the outcome, and of the code.
pub(crate) fn of_setup(series: &str, sender: &str, others: &[Vec<u8>]) -> String {
    let mut parts = vec![version::SOURCE.as_bytes(), series.as_bytes(), sender.as_bytes()];
    parts.extend(others.iter().map(Vec::as_slice));
    content_hash(&parts)
}

/// A part of a set-up, to be hashed.
pub(crate) fn part(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Key of a run of the set-up whose hash is `setup`. `others` is what sets runs of one replication apart.
pub(crate) fn of_run(setup: &str, seed: u64, replication: u32, others: &[&[u8]]) -> String {
    let (seed, replication) = (seed.to_be_bytes(), replication.to_be_bytes());
    let mut parts: Vec<&[u8]> = vec![setup.as_bytes(), &seed, &replication];
    parts.extend(others);
    content_hash(&parts)
}

/// The first 16 bytes of the SHA-256 of `parts`, each with its length, as lowercase hex.
pub(crate) fn content_hash(parts: &[&[u8]]) -> String {
    use std::fmt::Write as _;
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // Writing to a String cannot fail.
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_keep_parts_apart() {
        assert_ne!(content_hash(&[b"ab", b"c"]), content_hash(&[b"a", b"bc"]));
        assert_eq!(content_hash(&[b"x"]).len(), 32);
    }
}
