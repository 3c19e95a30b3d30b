//! What becomes of sockets when the process makes others.
//!
//! A child of `fork` has a copy of this process's notes, one of `vfork` has the notes themselves until
//! it runs its program, and whoever is given a descriptor has none. All of them have the same socket.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Once, RwLockWriteGuard, TryLockError};

use rustix::process::getpid;

use crate::sock::{SOCKETS, Sockets};

/// The process that this memory belongs to; 0 before it has a socket.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Other processes may have its sockets.
static SHARED: AtomicBool = AtomicBool::new(false);

/// Says that other processes may have sockets of this one from now on. Not needed for `fork`, which
/// tells by itself.
pub fn share() {
    SHARED.store(true, Ordering::Relaxed);
}

/// Whether other processes may have sockets of this one.
pub(crate) fn shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// Whether this memory is that of the calling process: not so in a child of `vfork`.
#[must_use]
pub fn is_own() -> bool {
    let owner = PROCESS.load(Ordering::Relaxed);
    owner == 0 || owner == getpid().as_raw_nonzero().get()
}

type Table = Option<Sockets>;

thread_local! {
    /// Held while the process forks, so that the child finds the table whole.
    static HELD: RefCell<Option<RwLockWriteGuard<'static, Table>>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    share();
    // Nobody has it for long. A signal handler that forks may have interrupted who does, and must not
    // wait for ever.
    for _ in 0..10_000 {
        match SOCKETS.try_write() {
            Ok(table) => return HELD.set(Some(table)),
            Err(TryLockError::Poisoned(table)) => return HELD.set(Some(table.into_inner())),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

extern "C" fn in_parent() {
    drop(HELD.take());
}

/// Threads that held locks of a socket are not there any more: each gets new locks.
extern "C" fn in_child() {
    PROCESS.store(getpid().as_raw_nonzero().get(), Ordering::Relaxed);
    if let Some(mut table) = HELD.take() {
        for sock in table.iter_mut().flat_map(|table| table.by_inode.values_mut()) {
            let new = Arc::new(sock.unlocked_copy());
            // Not dropped: what is locked stays as it is.
            std::mem::forget(std::mem::replace(sock, new));
        }
    }
}

/// Makes sure that `fork` is noticed.
pub(crate) fn watch_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        PROCESS.store(getpid().as_raw_nonzero().get(), Ordering::Relaxed);
        if cfg!(not(target_arch = "x86_64")) {
            // `vfork` is not seen there.
            share();
        }
        // SAFETY: functions that do not unwind.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
}
