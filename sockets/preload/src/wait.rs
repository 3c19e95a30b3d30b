//! Waiting where a thread can be cancelled.
//!
//! POSIX lets `pthread_cancel` end a thread that waits in `recv` or `accept`. The C library does so by
//! unwinding the thread's stack, also through the functions of this library. So they are all
//! `extern "C-unwind"`, they wait in the C library's own function, and nothing that needs a destructor
//! lives meanwhile.

use std::ffi::c_int;

use libc::{c_void, size_t, ssize_t};

use crate::next::next;

/// Waits until a frame of the engine is there, as the descriptor does: blocking or not, with its
/// timeout, interrupted by signals. False: `errno` says why not.
pub(crate) fn wait(fd: c_int) -> bool {
    let mut byte = 0_u8;
    let recv = next!(fn recv(c_int, *mut c_void, size_t, c_int) -> ssize_t);
    // SAFETY: there is room for one byte, which stays in the queue.
    let there = unsafe { recv(fd, (&raw mut byte).cast(), 1, libc::MSG_PEEK) >= 0 };
    // If the engine has gone, who looks finds out.
    there || errno() == libc::ECONNRESET
}

/// The program's `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the program's `errno`.
pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() = number };
}

/// `receive!(fd, flags, sock, flags => operation)`: returns from the function around it with the
/// operation's result, if the descriptor is an SCTP socket. The operation is given flags with which it
/// does not wait; when nothing is there, and the caller wants to wait, that is done here.
macro_rules! receive {
    ($fd:expr, $flags:expr, $sock:ident, $now:ident => $operation:expr) => {
        let before = $crate::wait::errno();
        let mut waited_for = None;
        while let Some($sock) = client::lookup($fd) {
            if waited_for.is_some_and(|inode| inode != $sock.inode()) {
                break;
            }
            let given: c_int = $flags;
            let $now = given | libc::MSG_DONTWAIT;
            let result = $operation;
            let error = || std::io::Error::last_os_error().raw_os_error();
            let empty = result < 0 && error() == Some(libc::EAGAIN);
            if !empty || given & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) != 0 {
                return result;
            }
            if !client::can_wait($fd, &$sock) {
                return client::give(Err::<isize, _>(libc::ENOTCONN)) as _;
            }
            waited_for = Some($sock.inode());
            drop($sock);
            // A call that succeeds leaves `errno` alone.
            $crate::wait::set_errno(before);
            if !$crate::wait::wait($fd) {
                return -1;
            }
        }
        if waited_for.is_some() {
            // Another thread has closed it, and the descriptor may mean another file.
            return client::give(Err::<isize, _>(libc::EBADF)) as _;
        }
    };
}
pub(crate) use receive;
