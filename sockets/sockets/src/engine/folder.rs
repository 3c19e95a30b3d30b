//! Where an engine listens.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::TempDir;

/// Folders of running engines begin so, followed by the number of their process.
const PREFIX: &str = "tresse-run-";

/// The path of the engine in it.
const ENGINE: &str = "engine";

/// The file in it that says where metrics are served.
const METRICS: &str = "metrics";

/// Bytes of that file at most: an address.
const MAX_METRICS: u64 = 64;

/// An empty folder may be one that is being made.
const TO_BE_MADE: Duration = Duration::from_secs(60);

/// A folder for the path of an engine, which only this user can enter (mode 0700, whatever the
/// umask). It is removed when this is dropped; what engines leave behind that are killed, the next one
/// removes.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    /// The folder itself, locked (`flock`) for as long as the engine lives. The number of a process
    /// says nothing to those that cannot see it, such as another container with the same temporary
    /// files.
    _lock: File,
}

impl Folder {
    /// Makes one among the temporary files.
    ///
    /// # Errors
    /// Those of the system; they name the place.
    pub fn new() -> io::Result<Folder> {
        let temporary = std::env::temp_dir();
        clean_up(&temporary, SystemTime::now());
        Folder::make(&temporary)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", temporary.display())))
    }

    fn make(temporary: &Path) -> io::Result<Folder> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(temporary)?;
        // A umask may have taken more away.
        let handle = match open_mine(folder.path(), Kind::Folder) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                fs::set_permissions(folder.path(), Permissions::from_mode(0o700))?;
                open_mine(folder.path(), Kind::Folder)?
            }
            opened => opened?,
        };
        handle.set_permissions(Permissions::from_mode(0o700))?;
        handle.lock()?;
        Ok(Folder { folder, _lock: handle })
    }

    /// The path for [`Server::bind`](super::Server::bind).
    #[must_use]
    pub fn engine(&self) -> PathBuf {
        self.folder.path().join(ENGINE)
    }

    /// Notes where the engine's metrics are served, for [`metrics`](Self::metrics).
    ///
    /// # Errors
    /// Those of the system.
    pub fn note_metrics(&self, address: SocketAddr) -> io::Result<()> {
        create(&self.folder.path().join(METRICS))?.write_all(address.to_string().as_bytes())
    }

    /// Where the engines of this user serve their metrics, as far as they do. Folders of other users
    /// are not looked into, as anybody may make some.
    #[must_use]
    pub fn metrics() -> Vec<SocketAddr> {
        metrics_in(&std::env::temp_dir())
    }
}

/// A new file for this user alone.
fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

fn is_mine(about: &fs::Metadata) -> bool {
    about.uid() == geteuid().as_raw()
}

/// The folders of this user's engines: neither those of others nor links.
fn folders(temporary: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(temporary).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(|e| e.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)))
        .filter_map(|entry| {
            // Of a link this is about the link.
            let about = entry.metadata().ok()?;
            (about.is_dir() && is_mine(&about)).then(|| entry.path())
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// Opens a regular file or a folder of this user; whatever else is there, nobody waits for it, and a
/// link is not followed.
fn open_mine(path: &Path, kind: Kind) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let about = file.metadata()?;
    let right = match kind {
        Kind::File => about.is_file(),
        Kind::Folder => about.is_dir(),
    };
    if right && is_mine(&about) { Ok(file) } else { Err(ErrorKind::InvalidData.into()) }
}

fn metrics_in(temporary: &Path) -> Vec<SocketAddr> {
    let noted = |folder: PathBuf| {
        let mut text = String::new();
        let file = open_mine(&folder.join(METRICS), Kind::File).ok()?;
        file.take(MAX_METRICS).read_to_string(&mut text).ok()?;
        text.parse().ok()
    };
    let mut addresses: Vec<SocketAddr> = folders(temporary).filter_map(noted).collect();
    addresses.sort();
    addresses
}

/// Removes what engines left behind that were killed.
fn clean_up(temporary: &Path, now: SystemTime) {
    for folder in folders(temporary) {
        let Ok(handle) = open_mine(&folder, Kind::Folder) else { continue };
        if matches!(handle.try_lock(), Err(TryLockError::WouldBlock)) {
            continue;
        }
        let made = handle.metadata().and_then(|about| about.modified());
        let old = made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > TO_BE_MADE));
        if old || folder.join(ENGINE).exists() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::DirBuilder;
    use std::os::unix::fs::{DirBuilderExt, chown, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn nobody_else_can_enter() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(place.path()).unwrap();
        let address = "127.0.0.1:9464".parse().unwrap();
        folder.note_metrics(address).unwrap();
        assert_eq!(mode(folder.folder.path()), 0o700);
        assert_eq!(mode(&folder.folder.path().join(METRICS)), 0o600);
        assert_eq!(metrics_in(place.path()), [address]);
    }

    #[test]
    fn only_what_no_engine_has_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let live = Folder::make(place.path()).unwrap();
        let path = live.folder.path().to_owned();
        // As in another PID namespace: no process has that number here.
        let elsewhere = place.path().join(format!("{PREFIX}4194305-abc"));
        fs::rename(&path, &elsewhere).unwrap();
        let young = place.path().join(format!("{PREFIX}4194306-abc"));
        DirBuilder::new().mode(0o700).create(&young).unwrap();
        let now = SystemTime::now();
        clean_up(place.path(), now);
        assert!(elsewhere.exists() && young.exists());
        fs::write(elsewhere.join(ENGINE), "").unwrap();
        clean_up(place.path(), now + 2 * TO_BE_MADE);
        assert!(elsewhere.exists() && !young.exists());
        drop(live);
        clean_up(place.path(), now);
        assert!(!elsewhere.exists());
    }

    #[test]
    fn what_others_put_there_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let target = tempfile::tempdir().unwrap();
        fs::write(target.path().join(METRICS), "127.0.0.1:1").unwrap();
        symlink(target.path(), place.path().join(format!("{PREFIX}1-link"))).unwrap();
        for (name, to) in [("device", "/dev/zero"), ("outside", "/etc/hostname")] {
            let folder = place.path().join(format!("{PREFIX}1-{name}"));
            DirBuilder::new().mode(0o700).create(&folder).unwrap();
            symlink(to, folder.join(METRICS)).unwrap();
        }
        let fifo = place.path().join(format!("{PREFIX}1-fifo"));
        DirBuilder::new().mode(0o700).create(&fifo).unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, fifo.join(METRICS), pipe, 0o600.into(), 0).unwrap();
        assert_eq!(metrics_in(place.path()), []);
        clean_up(place.path(), SystemTime::now() + 2 * TO_BE_MADE);
        assert!(target.path().join(METRICS).exists());
    }

    #[test]
    fn what_another_user_made_is_not_looked_into() {
        if !geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let foreign = place.path().join(format!("{PREFIX}1-foreign"));
        DirBuilder::new().mode(0o700).create(&foreign).unwrap();
        fs::write(foreign.join(METRICS), "127.0.0.1:1").unwrap();
        chown(&foreign, Some(65_534), None).unwrap();
        assert_eq!(metrics_in(place.path()), []);
        clean_up(place.path(), SystemTime::now() + 2 * TO_BE_MADE);
        assert!(foreign.exists());
    }
}
