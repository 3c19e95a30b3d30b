//! Which descriptors are SCTP sockets.
//!
//! A socket is known by its inode, which `dup`, `fork` and `exec` keep. Each descriptor has a note
//! whether it is one of ours, so that calls on other files cost one load. The note is only a hint
//! for ours (the inode is compared at each call), but is trusted for others: whoever creates a
//! descriptor through a function that we see clears it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustix::fs::{FileType, fstat};
use rustix::net::{AddressFamily, SocketAddrUnix, getpeername, getsockname};
use tresse_sockets::abi::{AF_INET6, SOCK_SEQPACKET, SOL_SOCKET};
use tresse_sockets::protocol::Op;

use crate::control::{call, is_engine, is_trusted};
use crate::door::is_passed;
use crate::processes::{is_own, share, shared, watch_forks};
use crate::readiness::Watch;
use crate::send::Approval;

const UNKNOWN: u8 = 0;
const FOREIGN: u8 = 1;
const OURS: u8 = 2;

/// Descriptors with a note; those above are looked at each time.
const NOTES: usize = 65_536;

static TABLE: [AtomicU8; NOTES] = [const { AtomicU8::new(UNKNOWN) }; NOTES];
pub(crate) static SOCKETS: RwLock<Option<Sockets>> = RwLock::new(None);

/// The sockets that this process knows.
#[derive(Default)]
pub(crate) struct Sockets {
    pub(crate) by_inode: HashMap<u64, Arc<Sock>>,
    /// Where `epoll` waits for them: the descriptor and inode of what bears this; `None` if several do.
    pub(crate) watches: HashMap<Watch, Option<(i32, u64)>>,
}

/// What this process knows of one of its sockets. All of it can be lost without harm: the engine
/// knows better.
#[derive(Debug)]
pub struct Sock {
    /// Its identity.
    pub(crate) inode: u64,
    /// One-to-many style.
    pub(crate) many: bool,
    /// One-to-one style, but of a one-to-many socket once.
    pub(crate) peeled: bool,
    /// `AF_INET6`.
    pub(crate) v6: bool,
    /// See [`Stage`].
    stage: AtomicU8,
    /// An attempt to connect has begun, and how it ended was not seen here yet.
    pub(crate) connecting: AtomicBool,
    /// Its entries among all that `epoll` waits for.
    pub(crate) watches: Mutex<Vec<Watch>>,
    /// How many streams can be sent on without asking the engine.
    pub(crate) streams: AtomicU32,
    /// Where the last message went that the engine approved of.
    pub(crate) approved: Mutex<Option<Approval>>,
    /// One-to-many: who sent the message that was read last. Its address alone may not say: peers
    /// behind one NAT share one.
    pub(crate) heard: Mutex<Option<(SocketAddr, u32)>>,
    /// Flags that a message is handed over with ([`tresse_sockets::protocol::flag`]) once the
    /// program has said so here, with the top bit set.
    pub(crate) flags: AtomicU8,
    /// Bytes of the frame in front that were read already, as far as this process knows. Held while a
    /// frame is read.
    pub(crate) offset: Mutex<usize>,
    /// SO_SNDBUF as the program asked for it; 0 if it did not.
    pub(crate) send_buffer: AtomicU32,
    /// Seconds of SO_LINGER, -1 if off.
    pub(crate) linger: AtomicI32,
    /// Descriptors with a note for it.
    descriptors: AtomicUsize,
}

/// How far a one-to-one socket has come; of a one-to-many socket only whether it listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Stage {
    Fresh = 0,
    Listening = 1,
    /// `connect` was called, or an association was accepted; or nothing is known.
    Busy = 2,
}

impl Sock {
    pub(crate) fn new(inode: u64, v6: bool, many: bool, stage: Stage) -> Sock {
        Sock {
            inode,
            many,
            peeled: false,
            v6,
            stage: AtomicU8::new(stage as u8),
            connecting: AtomicBool::new(false),
            watches: Mutex::default(),
            streams: AtomicU32::new(0),
            approved: Mutex::new(None),
            heard: Mutex::new(None),
            flags: AtomicU8::new(0),
            offset: Mutex::new(0),
            send_buffer: AtomicU32::new(0),
            linger: AtomicI32::new(-1),
            descriptors: AtomicUsize::new(0),
        }
    }

    /// The same, with locks that nobody holds.
    pub(crate) fn unlocked_copy(&self) -> Sock {
        let mut copy = Sock::new(self.inode, self.v6, self.many, self.noted_stage());
        copy.peeled = self.peeled;
        copy.connecting.store(self.connecting.load(Ordering::Relaxed), Ordering::Relaxed);
        copy.streams.store(self.streams.load(Ordering::Relaxed), Ordering::Relaxed);
        copy.flags.store(self.flags.load(Ordering::Relaxed), Ordering::Relaxed);
        copy.send_buffer.store(self.send_buffer.load(Ordering::Relaxed), Ordering::Relaxed);
        copy.linger.store(self.linger.load(Ordering::Relaxed), Ordering::Relaxed);
        copy.descriptors.store(self.descriptors.load(Ordering::Relaxed), Ordering::Relaxed);
        copy
    }

    /// What it is known by.
    #[must_use]
    pub fn inode(&self) -> u64 {
        self.inode
    }

    fn noted_stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Fresh,
            1 => Stage::Listening,
            _ => Stage::Busy,
        }
    }

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

    /// Whether this process made it listen.
    pub(crate) fn listens_here(&self) -> bool {
        self.noted_stage() == Stage::Listening
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// The flags for a message whose frame came with `theirs`.
    pub(crate) fn receive_flags(&self, theirs: u8) -> u8 {
        match self.flags.load(Ordering::Relaxed) {
            known if known & 0x80 != 0 => known,
            _ => theirs,
        }
    }
}

/// A lock whose holder panicked is a lock like any other here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(fd: i32) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// The descriptor for system calls.
pub(crate) fn borrow(fd: i32) -> BorrowedFd<'static> {
    // SAFETY: not -1, which `lookup` has made sure of. Should the program close it meanwhile, the
    // system calls fail; they are all that is done with it.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The inode of a socket.
pub(crate) fn inode_of(fd: i32) -> Option<u64> {
    let stat = fstat(borrow(fd)).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Socket).then_some(stat.st_ino)
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
    if foreign { None } else { look_up_anew(fd) }
}

/// As [`lookup`], but does not rely on the note that a descriptor is none of ours: for libraries
/// past which descriptors are made and closed.
pub fn look_up_anew(fd: i32) -> Option<Arc<Sock>> {
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
