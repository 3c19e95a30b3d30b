//! `poll` and `epoll`, whose answers are corrected where a descriptor cannot give the right ones.

use std::ffi::c_int;

use libc::{epoll_event, nfds_t, pollfd, sigset_t, timespec};
use tresse_client as client;

/// `poll`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, libc::poll(fds, count, timeout)) }
}

/// `ppoll`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, libc::ppoll(fds, count, timeout, mask)) }
}

/// `epoll_ctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        client::watch((epoll, operation, fd), event, libc::epoll_ctl(epoll, operation, fd, event))
    }
}

/// `epoll_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { client::correct_epoll(epoll, events, libc::epoll_wait(epoll, events, count, timeout)) }
}

/// `epoll_pwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        client::correct_epoll(epoll, events, libc::epoll_pwait(epoll, events, count, timeout, mask))
    }
}
