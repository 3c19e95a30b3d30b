//! System calls with the program's own buffers, which may overlap and change meanwhile: the kernel
//! gets their addresses, and no reference to them is ever made. Like all system calls of this crate
//! they go around the C library's functions, which the preloaded library replaces.

use std::ffi::{c_int, c_long, c_void};

use libc::{iovec, msghdr};

use crate::Fallible;

/// The result of a system call, or its `errno`. The program's `errno` stays as it was.
fn call(number: c_long, arguments: [usize; 5]) -> Fallible<usize> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: the thread's own variable; who calls this vouches for the arguments.
    let (result, error) = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let result = libc::syscall(number, a, b, c, d, e);
        (result, std::mem::replace(&mut *errno, before))
    };
    usize::try_from(result).map_err(|_| error)
}

fn message(iov: &[iovec]) -> msghdr {
    // SAFETY: all zeros is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = iov.as_ptr().cast_mut();
    message.msg_iovlen = iov.len();
    message
}

/// `recvmsg`.
pub(crate) fn receive(fd: i32, iov: &[iovec], flags: c_int) -> Fallible<usize> {
    let mut message = message(iov);
    let at = (&raw mut message) as usize;
    call(libc::SYS_recvmsg, [fd as usize, at, flags as usize, 0, 0])
}

/// `sendmsg`.
pub(crate) fn send(fd: i32, iov: &[iovec], flags: c_int) -> Fallible<usize> {
    let message = message(iov);
    let at = (&raw const message) as usize;
    call(libc::SYS_sendmsg, [fd as usize, at, flags as usize, 0, 0])
}

/// A number that the kernel keeps with a socket for all processes that have it, 0 at first. It is
/// SO_RCVLOWAT, which says nothing to a socket of messages.
pub(crate) fn shared_number(fd: i32) -> usize {
    let (mut value, mut len): (c_int, libc::socklen_t) = (1, 4);
    let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_RCVLOWAT as usize);
    let at = [fd as usize, level, name, (&raw mut value) as usize, (&raw mut len) as usize];
    let _ = call(libc::SYS_getsockopt, at);
    usize::try_from(value - 1).unwrap_or(0)
}

/// Sets [`shared_number`].
pub(crate) fn set_shared_number(fd: i32, number: usize) {
    let value = c_int::try_from(number + 1).unwrap_or(c_int::MAX);
    let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_RCVLOWAT as usize);
    let _ = call(libc::SYS_setsockopt, [fd as usize, level, name, (&raw const value) as usize, 4]);
}

/// Waits until no other process has its turn to look at what is in front of a socket that they share, and to
/// remove it; `false` ends that of this process, as does the end of the process. A lock of a byte of
/// the socket, as of a file (`fcntl`).
pub(crate) fn lock(fd: i32, take: bool) {
    // SAFETY: integers.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = if take { libc::F_WRLCK } else { libc::F_UNLCK } as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_len = 1;
    let command = libc::F_SETLKW as usize;
    let arguments = [fd as usize, command, (&raw const range) as usize, 0, 0];
    // A system that has no such locks has at least those between threads.
    while call(libc::SYS_fcntl, arguments) == Err(libc::EINTR) {}
}

/// `pread` into a buffer of ours.
pub(crate) fn read_at(fd: i32, buffer: &mut [u8], offset: u64) -> Fallible<usize> {
    let at = buffer.as_mut_ptr() as usize;
    call(libc::SYS_pread64, [fd as usize, at, buffer.len(), offset as usize, 0])
}

/// `SIGPIPE` for the calling thread, as POSIX has it.
pub(crate) fn broken_pipe() {
    // SAFETY: numbers only.
    unsafe { libc::raise(libc::SIGPIPE) };
}

/// Some memory of ours as a buffer.
pub(crate) fn buffer(bytes: &mut [u8]) -> iovec {
    iovec { iov_base: bytes.as_mut_ptr().cast::<c_void>(), iov_len: bytes.len() }
}
