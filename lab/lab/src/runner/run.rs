//! What is executed: a run, and what it leaves behind.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// One run: everything that decides its outcome.
pub trait Run: Sync {
    /// What it leaves behind.
    type Record: Record;

    /// Content hash of all that decides it, the source code included; two runs with the same key
    /// have the same result.
    fn key(&self) -> &str;

    /// Seed of its experiment.
    fn seed(&self) -> u64;

    /// A name for files and messages, unique within the experiment.
    fn name(&self) -> String;

    /// Makes the run, with packet captures of both hosts in the folder `capture` if given.
    ///
    /// # Errors
    /// The invariant that was broken.
    fn execute(&self, capture: Option<&Path>) -> Result<Self::Record, String>;

    /// Whether [`play`](Self::play) can make this run.
    ///
    /// # Errors
    /// What about it cannot be played in real time.
    fn playable(&self) -> Result<(), String>;

    /// Makes the run in real time: Tresse over raw IP through emulated links.
    ///
    /// # Errors
    /// The invariant that was broken, or what the system refused.
    #[cfg(real_time)]
    fn play(&self) -> Result<Self::Record, String>;
}

/// What one finished run leaves behind: a line of [`RUNS`](super::RUNS).
pub trait Record: Serialize + DeserializeOwned + Clone + Send {
    /// Key of the run.
    fn key(&self) -> &str;

    /// Packets that the simulation carried.
    fn simulated(&self) -> u64;

    /// Gives it another key.
    fn set_key(&mut self, key: String);
}
