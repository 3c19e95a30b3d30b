//! Which descriptors are SCTP sockets.
//!
//! A socket is known by its inode, which `dup`, `fork` and `exec` keep. Each descriptor has a note
//! whether it is one of ours, so that calls on other files cost one load. The note is only a hint
//! for ours (the inode is compared at each call), but is trusted for others: whoever creates a
//! descriptor through a function that we see clears it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError};

use rustix::net::{AddressFamily, SocketAddrUnix, getpeername, getsockname};
use tresse_socket_protocol::abi::{AF_INET6, SOCK_SEQPACKET, SOL_SOCKET};
use tresse_socket_protocol::protocol::Op;

use crate::descriptor::{borrow, inode_of};
use crate::door::is_passed;
use crate::engine::{is_engine, is_trusted};
use crate::processes::{is_own, share, shared, watch_forks};
use crate::request::call;
use crate::sock::{SOCKETS, Sock, Stage, lock};

const UNKNOWN: u8 = 0;
const FOREIGN: u8 = 1;
const OURS: u8 = 2;

/// Descriptors with a note; those above are looked at each time.
const NOTES: usize = 65_536;

static TABLE: [AtomicU8; NOTES] = [const { AtomicU8::new(UNKNOWN) }; NOTES];

impl Sock {
    /// How far it has come. What another process has done with it only the engine knows.
    pub(crate) fn stage(&self) -> Stage {
        let noted = self.noted_stage();
        if noted != Stage::Fresh || !shared() {
            return noted;
        }
        let stage = if listens(self.inode) {
            Stage::Listening
        } else if call(Op::Name, self.inode, (1, 0), Vec::new()).is_ok() {
            Stage::Busy
        } else {
            return noted;
        };
        self.set_stage(stage);
        stage
    }
}

fn note(fd: i32) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(fd).ok()?)
}

fn find(inode: u64) -> Option<Arc<Sock>> {
    let sockets = SOCKETS.read().unwrap_or_else(PoisonError::into_inner);
    sockets.as_ref()?.by_inode.get(&inode).cloned()
}

/// The SCTP socket of a descriptor, if this process knows it already.
pub(crate) fn known(fd: i32) -> Option<Arc<Sock>> {
    let none = SOCKETS.read().unwrap_or_else(PoisonError::into_inner).is_none();
    if none || fd < 0 { None } else { find(inode_of(fd)?) }
}

/// The SCTP socket of a descriptor; `None` for every other file. For libraries that see every
/// function that makes descriptors.
pub fn lookup(fd: i32) -> Option<Arc<Sock>> {
    let foreign = note(fd).is_some_and(|note| note.load(Ordering::Relaxed) == FOREIGN);
    if foreign { None } else { look_up_again(fd) }
}

/// As [`lookup`], but does not rely on the note that a descriptor is none of ours: for libraries
/// past which descriptors are made and closed.
pub fn look_up_again(fd: i32) -> Option<Arc<Sock>> {
    if fd < 0 {
        return None;
    }
    let noted = note(fd).map_or(UNKNOWN, |note| note.load(Ordering::Relaxed));
    let found = inode_of(fd).and_then(|inode| {
        // A note of ours and the right inode: nothing else needs to be asked.
        match find(inode) {
            Some(sock) if noted == OURS => Some(sock),
            known if is_ours(fd) => Some(known.unwrap_or_else(|| learn(inode))),
            _ => None,
        }
    });
    let now = if found.is_some() { OURS } else { FOREIGN };
    if let Some(note) = note(fd).filter(|_| noted != now && is_own()) {
        note.store(now, Ordering::Relaxed);
        if let Some(sock) = &found {
            sock.descriptors.fetch_add(1, Ordering::Relaxed);
        }
    }
    found
}

/// Whether a socket's peer is the engine.
fn is_ours(fd: i32) -> bool {
    let Ok(Some(peer)) = getpeername(borrow(fd)) else { return false };
    if peer.address_family() != AddressFamily::UNIX {
        return false;
    }
    let Ok(peer) = SocketAddrUnix::try_from(peer) else { return false };
    match (peer.path(), peer.abstract_name()) {
        (Some(path), _) => is_engine(path.to_bytes()),
        // Such names anybody can take.
        (_, Some(name)) => is_passed(name) && is_trusted(borrow(fd)),
        _ => false,
    }
}

/// Whether a descriptor is the engine's end of a connection, or the one with which it listens: so it is in
/// a process that has the engine itself.
#[must_use]
pub fn is_end_of_engine(fd: i32) -> bool {
    let name = getsockname(borrow(fd)).ok().and_then(|name| SocketAddrUnix::try_from(name).ok());
    name.is_some_and(|name| name.path().is_some_and(|path| is_engine(path.to_bytes())))
}

/// An option of a socket that is a number, as the engine has it.
fn ask(inode: u64, name: i32) -> Option<i32> {
    let (_, value) =
        call(Op::GetOption, inode, (SOL_SOCKET.into(), name.into()), Vec::new()).ok()?;
    Some(i32::from_ne_bytes(*value.first_chunk()?))
}

/// Whether a socket listens.
pub(crate) fn listens(inode: u64) -> bool {
    ask(inode, libc::SO_ACCEPTCONN) == Some(1)
}

/// A socket that came from another process: by `exec`, or passed on.
fn learn(inode: u64) -> Arc<Sock> {
    share();
    let many = ask(inode, libc::SO_TYPE) == Some(SOCK_SEQPACKET);
    let v6 = ask(inode, libc::SO_DOMAIN) == Some(AF_INET6);
    let stage = if !many && listens(inode) { Stage::Listening } else { Stage::Busy };
    let sock = Sock::new(inode, v6, many, stage);
    let linger =
        call(Op::GetOption, inode, (SOL_SOCKET.into(), libc::SO_LINGER.into()), Vec::new());
    if let Ok((_, value)) = linger
        && value.first() == Some(&1)
    {
        sock.linger.store(value.get(4).copied().unwrap_or(0).into(), Ordering::Relaxed);
    }
    insert(sock)
}

fn insert(sock: Sock) -> Arc<Sock> {
    watch_forks();
    let sock = Arc::new(sock);
    let mut sockets = SOCKETS.write().unwrap_or_else(PoisonError::into_inner);
    sockets.get_or_insert_default().by_inode.insert(sock.inode, Arc::clone(&sock));
    sock
}

/// Enters a new socket.
pub(crate) fn enter(fd: i32, sock: Sock) -> Arc<Sock> {
    forget(fd);
    sock.descriptors.store(1, Ordering::Relaxed);
    if let Some(note) = note(fd) {
        note.store(OURS, Ordering::Relaxed);
    }
    insert(sock)
}

/// A descriptor has been closed, or means another file now.
pub fn forget(fd: i32) {
    let Some(note) = note(fd) else { return };
    // A child of `vfork` closes its own descriptors, not those of its parent, whose notes these are.
    if note.load(Ordering::Relaxed) == OURS && !is_own() {
        return;
    }
    if note.swap(UNKNOWN, Ordering::Relaxed) != OURS {
        return;
    }
    // If it is closed already, its inode cannot be asked for any more: look for what is gone.
    let Some(inode) = inode_of(fd) else { return };
    release(inode);
}

fn release(inode: u64) {
    let Some(sock) = find(inode) else { return };
    if sock.descriptors.fetch_sub(1, Ordering::Relaxed) <= 1 {
        let mut sockets = SOCKETS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(sockets) = sockets.as_mut() {
            sockets.by_inode.remove(&inode);
            for watch in lock(&sock.watches).drain(..) {
                sockets.watches.remove(&watch);
            }
        }
    }
}

/// Before a descriptor is closed: waits as SO_LINGER says, and forgets it.
pub fn before_close(fd: i32) {
    // Whether it is the last one of a socket that other processes may have, nobody can know.
    if note(fd).is_some_and(|note| note.load(Ordering::Relaxed) == OURS)
        && !shared()
        && is_own()
        && let Some(sock) = lookup(fd)
    {
        let seconds = sock.linger.load(Ordering::Relaxed);
        let last = sock.descriptors.load(Ordering::Relaxed) <= 1;
        if seconds > 0 && last && !sock.many && sock.stage() == Stage::Busy {
            let _ = call(Op::Linger, sock.inode, (i64::from(seconds) * 1000, 0), Vec::new());
        }
    }
    forget(fd);
}
