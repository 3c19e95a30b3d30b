//! What `poll` and `epoll` say where the descriptor alone cannot.
//!
//! Nothing makes a Unix socket say POLLERR. Where the kernel says it of an SCTP socket, ours says
//! POLLHUP, and POLLIN with POLLOUT after an attempt to connect that failed. Only these answers are
//! looked at, and corrected; whoever waits in another way hears what the descriptor says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use libc::{
    POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRBAND, POLLWRNORM, c_int,
    c_short, epoll_event, nfds_t, pollfd,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use tresse_socket_protocol::protocol::{HEADER, Op};

use crate::descriptor::{borrow, inode_of};
use crate::exchange::GONE;
use crate::receive::{Front, Reading};
use crate::request::call;
use crate::sock::{SOCKETS, Sock, Watch, lock};
use crate::table::known;

const READABLE: c_short = POLLIN | POLLRDNORM;
const WRITABLE: c_short = POLLOUT | POLLWRNORM | POLLWRBAND;

/// How many sockets are connecting.
static CONNECTING: AtomicUsize = AtomicUsize::new(0);

impl Sock {
    /// An attempt to connect has begun, or how it has ended is known.
    pub(crate) fn set_connecting(&self, connecting: bool) {
        if self.is_connecting() == connecting {
            return;
        }
        match (self.connecting.swap(connecting, Ordering::Relaxed), connecting) {
            (false, true) => CONNECTING.fetch_add(1, Ordering::Relaxed),
            (true, false) => CONNECTING.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn is_connecting(&self) -> bool {
        self.connecting.load(Ordering::Relaxed)
    }
}

impl Drop for Sock {
    fn drop(&mut self) {
        self.set_connecting(false);
    }
}

/// Whether an answer may have to be corrected.
fn is_doubtful(said: c_short) -> bool {
    let connecting = CONNECTING.load(Ordering::Relaxed) > 0;
    said & POLLHUP != 0 || (connecting && said & (READABLE | WRITABLE) != 0)
}

//= RFC 6458 1-3
/// What is true of a socket of which the descriptor says `said`.
fn truth(fd: c_int, sock: &Sock, said: c_short) -> c_short {
    let hung_up = said & POLLHUP != 0;
    let ends = !sock.many && !sock.listens_here();
    if !(hung_up || ends && (sock.is_connecting() || is_at_end(fd, sock))) {
        return said;
    }
    let shown = match call(Op::Shown, sock.inode, (0, 0), Vec::new()) {
        Ok((shown, _)) if ends => shown as c_short,
        Err(GONE) if hung_up => return said | POLLERR,
        _ => return said,
    };
    if shown & POLLERR == 0 && said & WRITABLE != 0 {
        sock.set_connecting(false);
    }
    if shown == 0 {
        // Whoever asks again and again is not to be left without an answer.
        return said;
    }
    let front = Reading::begin(fd, sock).look(&mut [], &[]);
    let readable = shown & POLLRDHUP != 0 || matches!(front, Ok(Front::Frame(..)));
    // Where an attempt to connect has failed, there is nothing to write to.
    let writable = hung_up || matches!(front, Ok(Front::End)) || !sock.is_connecting();
    let mut possible = shown & (POLLERR | POLLHUP | POLLRDHUP);
    possible |= if readable { READABLE } else { 0 };
    possible |= if writable { WRITABLE } else { 0 };
    match possible & (said | POLLERR) {
        0 => said,
        truth => truth,
    }
}

/// Whether the mark of the end is in front. The engine writes it just before descriptors say POLLHUP.
fn is_at_end(fd: c_int, sock: &Sock) -> bool {
    // Of so few bytes there are one or two marks, or a short message.
    let short = ioctl_fionread(borrow(fd)).is_ok_and(|bytes| bytes <= 2 * HEADER as u64);
    short && matches!(Reading::begin(fd, sock).look(&mut [], &[]), Ok(Front::End))
}

/// What `poll` returned, once it has been corrected what it said of descriptors.
///
/// # Safety
/// If that is more than 0, `poll` has written to `count` of them.
pub unsafe fn correct_poll(fds: *mut pollfd, count: nfds_t, ready: c_int) -> c_int {
    if ready <= 0 {
        return ready;
    }
    // SAFETY: as above.
    let fds = unsafe { std::slice::from_raw_parts_mut(fds, count as usize) };
    for polled in fds {
        // Whether that is a mark of the end only looking shows.
        if !is_doubtful(polled.revents) && polled.revents & READABLE == 0 {
            continue;
        }
        if let Some(sock) = known(polled.fd) {
            polled.revents = truth(polled.fd, &sock, polled.revents);
        }
    }
    ready
}

/// What `epoll_ctl` returned, once it is noted what a descriptor's events will bear.
///
/// # Safety
/// If that is 0, `epoll_ctl` has read the event.
pub unsafe fn watch(
    (epoll, operation, fd): (c_int, c_int, c_int),
    event: *const epoll_event,
    result: c_int,
) -> c_int {
    if result == 0
        && operation != libc::EPOLL_CTL_DEL
        && let Some(sock) = known(fd)
    {
        // SAFETY: as above.
        let data = unsafe { event.read_unaligned() }.u64;
        note(&sock, fd, Watch { epoll, data });
    }
    result
}

fn note(sock: &Sock, fd: c_int, watch: Watch) {
    let mut table = SOCKETS.write().unwrap_or_else(PoisonError::into_inner);
    let Some(table) = table.as_mut() else { return };
    let here = (fd, sock.inode);
    let noted = table.watches.entry(watch).or_insert(Some(here));
    // Two of them bear the same: nobody knows which one an event is of.
    *noted = noted.filter(|(_, inode)| *inode == sock.inode).map(|_| here);
    let mut watches = lock(&sock.watches);
    if !watches.contains(&watch) {
        watches.push(watch);
    }
}

/// The socket that an event is of, with its descriptor.
fn watched(watch: Watch) -> Option<(c_int, Arc<Sock>)> {
    let table = SOCKETS.read().unwrap_or_else(PoisonError::into_inner);
    let (fd, inode) = (*table.as_ref()?.watches.get(&watch)?)?;
    let sock = table.as_ref()?.by_inode.get(&inode).cloned()?;
    drop(table);
    (inode_of(fd) == Some(inode)).then_some((fd, sock))
}

/// What `epoll_wait` returned, once its events are corrected.
///
/// # Safety
/// If that is more than 0, `epoll_wait` has written this many.
pub unsafe fn correct_epoll(epoll: c_int, events: *mut epoll_event, ready: c_int) -> c_int {
    let count = usize::try_from(ready).unwrap_or(0);
    for n in 0..count {
        // SAFETY: as above.
        let event = unsafe { &mut *events.add(n) };
        // The bits are those of `poll`.
        let said = event.events as c_short;
        if !is_doubtful(said) {
            continue;
        }
        if let Some((fd, sock)) =
            watched(Watch { epoll, data: event.u64 }).filter(|(fd, _)| says(*fd, said))
        {
            event.events = event.events & !0xffff | u32::from(truth(fd, &sock, said) as u16);
        }
    }
    ready
}

/// Whether a descriptor says that: another one's events may bear the same.
fn says(fd: c_int, events: c_short) -> bool {
    let wanted = PollFlags::from_bits_retain(events as u16);
    let mut fds = [PollFd::from_borrowed_fd(borrow(fd), wanted)];
    poll(&mut fds, Some(&Timespec::default())).is_ok() && fds[0].revents().contains(wanted)
}
