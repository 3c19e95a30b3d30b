//! One socket of a program.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::time::Instant;
use tresse::{AssociationConfig, Families};

use super::notification::event;
use super::options::Options;
use super::stalled::Stalled;
use tresse_socket_protocol::protocol::{MAX_RX_PAYLOAD, RxHeader, SOCKET_BUFFER};

/// Fits into a frame even when the connection has the least buffer that the kernel gives.
const LEAST_PIECE: usize = 2048;

/// For how long a program that was told of a full send buffer finds its descriptor not writable, at the most, if there are
/// other associations. Of an only one it is not for as long as that is full, as in the kernel: who writes until `poll` says no
/// would never come to an end.
const REFUSED: Duration = Duration::from_millis(10);

/// Registers a descriptor with the runtime.
#[expect(
    deprecated,
    reason = "its fault is with types that change descriptors; OwnedFd never does"
)]
pub(crate) fn watch(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}

/// The engine's end of a data connection.
pub(crate) struct Conn {
    pub(crate) fd: AsyncFd<OwnedFd>,
    /// What the connection's task waits for has changed.
    pub(crate) changed: Notify,
    /// Which directions the engine has shut: reading, writing.
    shut: Cell<(bool, bool)>,
    /// The program has left frames of ours unread. The kernel says so once, before what it wrote last.
    unread: Cell<bool>,
}

/// What came of reading from a connection.
pub(crate) enum Received {
    Frame(usize),
    Nothing,
    /// The program closed it; `true` if it left frames of ours unread.
    End(bool),
}

impl Conn {
    pub(crate) fn new(fd: OwnedFd) -> std::io::Result<Conn> {
        let (shut, unread) = (Cell::default(), Cell::default());
        Ok(Conn { fd: watch(fd)?, changed: Notify::new(), shut, unread })
    }

    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Received {
        loop {
            let unread = self.unread.get();
            match recv(self.fd.get_ref(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Received::End(unread),
                Ok((n, _)) => return Received::Frame(n.min(buffer.len())),
                Err(Errno::AGAIN) if unread => return Received::End(true),
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) if !unread => self.unread.set(true),
                Err(_) => return Received::End(unread),
            }
        }
    }

    /// Sends a frame; `Ok(false)` if there is no room.
    pub(crate) fn transmit(&self, frame: &[u8]) -> Result<bool, Errno> {
        loop {
            match send(self.fd.get_ref(), frame, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.unread.set(self.unread.get() || error == Errno::CONNRESET);
                    return Err(error);
                }
            }
        }
    }

    /// Nothing is read any more: the program's writes fail.
    pub(crate) fn stop_reading(&self) {
        let (_, writing) = self.shut.get();
        self.shut((true, writing), Shutdown::Read);
    }

    /// Nothing more is written, which `poll` calls POLLRDHUP; with `stop_reading`, POLLHUP. The mark of
    /// the end must be there before.
    pub(crate) fn stop_writing(&self) {
        let (reading, _) = self.shut.get();
        self.shut((reading, true), Shutdown::Write);
    }

    fn shut(&self, directions: (bool, bool), direction: Shutdown) {
        if self.shut.get() == directions {
            return;
        }
        // With both shut, the frames that the program leaves unread tell of its end, and nothing else.
        if directions == (true, true) && self.is_hung_up() {
            return;
        }
        let _ = shutdown(self.fd.get_ref(), direction);
        self.shut.set(directions);
        self.changed.notify_one();
    }

    /// Whether nothing more is written.
    pub(crate) fn is_silent(&self) -> bool {
        self.shut.get().1
    }

    /// Whether both directions are shut: for the kernel as if the program had closed its end.
    pub(crate) fn is_shut(&self) -> bool {
        self.shut.get() == (true, true)
    }

    /// Whether the program has closed its end.
    pub(crate) fn is_hung_up(&self) -> bool {
        let told_by = if self.is_shut() { PollFlags::ERR } else { PollFlags::HUP };
        let mut fds = [PollFd::new(self.fd.get_ref(), PollFlags::empty())];
        let now = Timespec::default();
        let mut told = || poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(told_by);
        // Who has read of the error has taken it away.
        self.unread.get() || told()
    }
}

/// How far the end of a one-to-one socket has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It goes on.
    No,
    /// An attempt to connect has failed; another one may follow.
    Failed,
    /// Nothing more comes from the peer.
    Reading,
    /// The association has ended.
    Both,
}

/// One socket.
pub(crate) struct Socket {
    /// One-to-many style.
    pub(crate) many: bool,
    /// One-to-one style, but of this one-to-many socket once (`sctp_peeloff`).
    pub(crate) peeled_from: Option<u64>,
    /// `AF_INET6`.
    pub(crate) v6: bool,
    pub(crate) conn: Rc<Conn>,
    /// Addresses bound to; empty before `bind`. Their port is `port`.
    pub(crate) bound: Vec<IpAddr>,
    pub(crate) port: Option<u16>,
    /// Listens, with this many associations waiting at most.
    pub(crate) backlog: Option<usize>,
    pub(crate) associations: BTreeSet<u32>,
    /// Those that may have something to read, in turn.
    pub(crate) line: VecDeque<u32>,
    /// The one with a message that is read in parts, if nothing else may be read before its end.
    pub(crate) serving: Option<u32>,
    /// Those with notifications that wait, and that a peer can cause at will.
    pub(crate) crowd: BTreeSet<u32>,
    /// `connect` was called and has not ended yet: the client's frames stay where they are.
    pub(crate) connecting: bool,
    /// Frames for which the connection had no room.
    pub(crate) out: VecDeque<Vec<u8>>,
    /// For them it has a larger buffer than SO_RCVBUF says.
    pub(crate) stretched: bool,
    /// A message was framed for the program, so what it leaves unread is not only notifications.
    pub(crate) delivered: bool,
    /// Messages that wait for room in a send buffer. Of a one-to-one socket that is one, and those of several frames that
    /// had begun to come before.
    pub(crate) stalled: Stalled,
    /// Bytes of messages whose end was not written.
    pub(crate) unended: Rc<Cell<usize>>,
    /// When the program was told that an association has no room: what keeps the descriptor from being writable is not read for
    /// a while, so that who waits for that does not turn in circles.
    pub(crate) refused: Option<Instant>,
    /// There may be room for somebody who waits for some.
    pub(crate) room: Rc<Notify>,
    /// What SO_ERROR will tell.
    pub(crate) error: i32,
    pub(crate) options: Options,
    pub(crate) ending: Ending,
    /// How much of `ending` the connection knows.
    pub(crate) told: Ending,
    /// The association has ended with an error.
    pub(crate) broken: bool,
    /// The program shut the socket down for writing.
    pub(crate) write_shut: bool,
    /// And for reading: what comes now is thrown away.
    pub(crate) read_shut: bool,
    /// The program's writes fail: nothing can be sent any more.
    pub(crate) deaf: bool,
    /// What it wrote before that is taken.
    pub(crate) drained: bool,
    /// The program has closed it, so nobody waits for room: what was written is taken without.
    pub(crate) gone: bool,
}

impl Socket {
    pub(crate) fn new(conn: Rc<Conn>, v6: bool, many: bool, options: Options) -> Socket {
        Socket {
            many,
            peeled_from: None,
            v6,
            conn,
            bound: Vec::new(),
            port: None,
            backlog: None,
            associations: BTreeSet::new(),
            line: VecDeque::new(),
            serving: None,
            crowd: BTreeSet::new(),
            connecting: false,
            out: VecDeque::new(),
            stretched: false,
            delivered: false,
            stalled: Stalled::default(),
            unended: Rc::default(),
            refused: None,
            room: Rc::default(),
            error: 0,
            options,
            ending: Ending::No,
            told: Ending::No,
            broken: false,
            write_shut: false,
            read_shut: false,
            deaf: false,
            drained: false,
            gone: false,
        }
    }

    /// Queues a message or a notification for the program, in as many frames as it takes; `last_flag` is that of the last
    /// one.
    pub(crate) fn queue(&mut self, mut header: RxHeader, payload: &[u8], last_flag: u8) {
        let pieces = payload.chunks(self.largest_piece());
        let last = pieces.len().saturating_sub(1);
        for (n, piece) in pieces.enumerate() {
            header.length = piece.len() as u32;
            if n == last {
                header.flags |= last_flag;
            }
            self.out.push_back([&header.encode()[..], piece].concat());
        }
    }

    /// Has the connection hold no more unread data than half of SO_RCVBUF, and a frame: the rest
    /// stays in the core, which tells the peer how much more there may be. A frame that waits already
    /// must fit all the same.
    pub(crate) fn limit_connection(&mut self) {
        let bytes = (self.options.receive_buffer as usize / 4).min(SOCKET_BUFFER);
        let longest = self.out.iter().map(Vec::len).max().unwrap_or(0);
        self.stretched = longest > bytes;
        let bytes = bytes.max(longest);
        // The kernel doubles it, and has a least one itself.
        let _ = set_socket_send_buffer_size(self.conn.fd.get_ref(), bytes);
    }

    /// Payload bytes of the largest frame for the connection.
    pub(crate) fn largest_piece(&self) -> usize {
        (self.options.receive_buffer as usize / 4).clamp(LEAST_PIECE, MAX_RX_PAYLOAD)
    }

    /// Whether the client's frames are to be read. Those that keep a socket from being writable stay
    /// where they are until it has an association, or an attempt to connect has failed.
    pub(crate) fn reads(&self) -> bool {
        let one = self.backlog.is_none()
            && !self.connecting
            && (!self.associations.is_empty() || self.ending == Ending::Failed);
        !self.is_held_up() && self.refused.is_none() && !self.drained && (self.many || one)
    }

    /// Whether what the program writes has to wait for room in a send buffer. A full one holds up no other association.
    pub(crate) fn is_held_up(&self) -> bool {
        if self.many { self.stalled.is_overfull() } else { !self.stalled.is_empty() }
    }

    /// The program is told that it has to wait for room.
    pub(crate) fn refuse(&mut self) {
        self.refused.get_or_insert_with(Instant::now);
        self.conn.changed.notify_one();
    }

    /// When the program's frames are read again although an association has no room: others may have some.
    pub(crate) fn refused_until(&self) -> Option<Instant> {
        self.refused.filter(|_| self.associations.len() > 1).map(|since| since + REFUSED)
    }

    /// Whether a listener has room for another association, as in the kernel: for one more than its
    /// backlog says.
    pub(crate) fn has_room(&self) -> bool {
        self.backlog.is_some_and(|most| self.many || self.associations.len() <= most)
    }

    /// Whether the program is told how its association ends, after it was told that the peer is done.
    pub(crate) fn hears_more(&self) -> bool {
        self.options.wants(event::ASSOC_CHANGE) && !self.read_shut
    }

    /// The local addresses that it is bound to; `None` for a wildcard.
    pub(crate) fn specific_addresses(&self) -> Option<Vec<IpAddr>> {
        (!self.bound.iter().any(IpAddr::is_unspecified)).then(|| self.bound.clone())
    }

    /// An address as the program expects it from this socket.
    pub(crate) fn for_program(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.v6 && self.options.mapped_v4 => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            _ => address,
        }
    }

    /// Whether an association with a peer of that address can be this listener's.
    pub(crate) fn serves(&self, peer: IpAddr) -> bool {
        self.families().include(peer)
    }

    /// The families of addresses that its associations have, on either side. As in the kernel an AF_INET
    /// socket has IPv4 only, and an AF_INET6 socket both unless IPV6_V6ONLY is set.
    pub(crate) fn families(&self) -> Families {
        Families::of(!self.v6 || !self.options.v6_only, self.v6)
    }

    /// Settings for a new association.
    pub(crate) fn association(&self) -> AssociationConfig {
        AssociationConfig { families: self.families(), ..self.options.association() }
    }
}
