//! `poll` and `epoll`, whose answers are corrected where a descriptor cannot give the right ones.

use std::ffi::c_int;

use libc::{epoll_event, nfds_t, pollfd, sigset_t, size_t, timespec};
use tresse_client as client;

use crate::next::next;

/// `poll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    let next = next!(fn poll(*mut pollfd, nfds_t, c_int) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout)) }
}

/// What `_FORTIFY_SOURCE` makes of `poll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    size: size_t,
) -> c_int {
    let next = next!(fn __poll_chk(*mut pollfd, nfds_t, c_int, size_t) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout, size)) }
}

/// `ppoll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let next = next!(fn ppoll(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout, mask)) }
}

/// What `_FORTIFY_SOURCE` makes of `ppoll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    size: size_t,
) -> c_int {
    let next = next!(
        fn __ppoll_chk(*mut pollfd, nfds_t, *const timespec, *const sigset_t, size_t) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout, mask, size)) }
}

/// `epoll_ctl`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let next = next!(fn epoll_ctl(c_int, c_int, c_int, *mut epoll_event) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::watch((epoll, operation, fd), event, next(epoll, operation, fd, event)) }
}

/// `epoll_wait`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
) -> c_int {
    let next = next!(fn epoll_wait(c_int, *mut epoll_event, c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_epoll(epoll, events, next(epoll, events, count, timeout)) }
}

/// `epoll_pwait`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    let next =
        next!(fn epoll_pwait(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_epoll(epoll, events, next(epoll, events, count, timeout, mask)) }
}
