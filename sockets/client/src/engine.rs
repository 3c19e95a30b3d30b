//! Where the engine is, and whether it is one that can be trusted.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{geteuid, getuid};

use crate::{Fallible, errno};

static ENGINE: OnceLock<PathBuf> = OnceLock::new();

/// Where the engine listens: TRESSE_ENGINE in the environment, or what [`set_engine`] said; `None`
/// if there is none yet. Once known it stays the same.
pub fn engine_path() -> Option<&'static Path> {
    if ENGINE.get().is_none()
        && let Some(path) = std::env::var_os("TRESSE_ENGINE").filter(|path| !path.is_empty())
    {
        let _ = ENGINE.set(path.into());
    }
    ENGINE.get().map(PathBuf::as_path)
}

/// Names the engine, unless one is known already; says which one it is now.
pub fn set_engine(path: PathBuf) -> &'static Path {
    match engine_path() {
        Some(known) => known,
        None => ENGINE.get_or_init(|| path),
    }
}

/// Whether a path is the engine's.
pub(crate) fn is_engine(path: &[u8]) -> bool {
    engine_path().is_some_and(|engine| engine.as_os_str().as_bytes() == path)
}

/// Whether who listens is root or this process's user: another one could read and forge all.
pub(crate) fn is_trusted(fd: impl AsFd) -> bool {
    let Ok(peer) = socket_peercred(fd) else { return false };
    peer.uid.is_root() || peer.uid == getuid() || peer.uid == geteuid()
}

/// What a connection to the engine's path met.
pub(crate) enum Reached {
    Engine(OwnedFd),
    /// Another user's process listens there.
    Stranger,
    /// It cannot be reached from here any more.
    Nobody(Errno),
}

/// A new connection to the engine, by its path.
pub(crate) fn reach(flags: SocketFlags) -> Fallible<Reached> {
    let path = engine_path().ok_or(libc::EPROTONOSUPPORT)?;
    let address = SocketAddrUnix::new(path).map_err(errno)?;
    let flags = flags | SocketFlags::CLOEXEC;
    let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(errno)?;
    loop {
        match connect(&fd, &address) {
            Ok(()) if is_trusted(&fd) => return Ok(Reached::Engine(fd)),
            Ok(()) => return Ok(Reached::Stranger),
            Err(Errno::INTR) => {}
            Err(error) => return Ok(Reached::Nobody(error)),
        }
    }
}
