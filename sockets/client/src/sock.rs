//! What a process knows of its SCTP sockets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use libc::c_int;

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
    /// Flags that a message is handed over with ([`tresse_socket_protocol::protocol::flag`]) once the
    /// program has said so here, with [`FLAGS_NOTED`].
    pub(crate) flags: AtomicU16,
    /// Bytes of the frame in front that were read already, as far as this process knows. Held while a
    /// frame is read.
    pub(crate) offset: Mutex<usize>,
    /// SO_SNDBUF as the program asked for it; 0 if it did not.
    pub(crate) send_buffer: AtomicU32,
    /// Seconds of SO_LINGER, -1 if off.
    pub(crate) linger: AtomicI32,
    /// Descriptors with a note for it.
    pub(crate) descriptors: AtomicUsize,
}

/// The program has said in this process which information messages are handed over with.
pub(crate) const FLAGS_NOTED: u16 = 0x100;

/// How far a one-to-one socket has come; of a one-to-many socket only whether it listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Stage {
    Fresh = 0,
    Listening = 1,
    /// `connect` was called, or an association was accepted; or nothing is known.
    Busy = 2,
}

/// Where a socket is waited for: an `epoll` descriptor, and what the socket's events bear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Watch {
    pub(crate) epoll: c_int,
    pub(crate) data: u64,
}

/// What the engine approved of: messages to this association and address, by the association's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approval {
    pub(crate) association: u32,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) number: u32,
    pub(crate) ends: Instant,
    /// Bytes that may be written until then, of a one-to-many socket.
    pub(crate) bytes: u32,
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
            flags: AtomicU16::new(0),
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

    /// The same as far as this process knows.
    pub(crate) fn noted_stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Fresh,
            1 => Stage::Listening,
            _ => Stage::Busy,
        }
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
            known if known & FLAGS_NOTED != 0 => known as u8,
            _ => theirs,
        }
    }

    /// Whether the engine's word on an association of this socket still holds.
    pub(crate) fn is_approved(&self) -> bool {
        lock(&self.approved).is_some_and(|approval| Instant::now() < approval.ends)
    }
}

/// A lock whose holder panicked is a lock like any other here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
