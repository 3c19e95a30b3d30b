//! Where an engine listens.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

/// Folders of running engines begin so, followed by the number of their process.
const PREFIX: &str = "tresse-run-";

/// The file in it that says where metrics are served.
const METRICS: &str = "metrics";

/// A folder for the path of an engine, which only this user can enter. It is removed when this is
/// dropped; what engines leave behind that are killed, the next one removes.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// Makes one among the temporary files.
    ///
    /// # Errors
    /// Those of the system; they name the place.
    pub fn new() -> io::Result<Folder> {
        let temporary = std::env::temp_dir();
        clean_up(&temporary);
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .tempdir_in(&temporary)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", temporary.display())))?;
        Ok(Folder { folder })
    }

    /// The path for [`Server::bind`](super::Server::bind).
    #[must_use]
    pub fn engine(&self) -> PathBuf {
        self.folder.path().join("engine")
    }

    /// Notes where the engine's metrics are served, for [`metrics`](Self::metrics).
    ///
    /// # Errors
    /// Those of the system.
    pub fn note_metrics(&self, address: SocketAddr) -> io::Result<()> {
        std::fs::write(self.folder.path().join(METRICS), address.to_string())
    }

    /// Where the engines of this user serve their metrics, as far as they do.
    #[must_use]
    pub fn metrics() -> Vec<SocketAddr> {
        let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return Vec::new() };
        let noted = |entry: std::fs::DirEntry| {
            entry.file_name().to_str().filter(|name| name.starts_with(PREFIX))?;
            std::fs::read_to_string(entry.path().join(METRICS)).ok()?.parse().ok()
        };
        let mut addresses: Vec<SocketAddr> =
            entries.filter_map(Result::ok).filter_map(noted).collect();
        addresses.sort();
        addresses
    }
}

/// Removes what engines left behind that were killed.
fn clean_up(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        if let Some(pid) = number.and_then(Pid::from_raw)
            && test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        {
            // That of another user cannot be removed, which is right.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
