//! Functions that copy and close descriptors.

use std::ffi::{c_int, c_uint, c_void};

use tresse_client as client;

use crate::next::next;
use crate::standard;

/// `close`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    client::before_close(fd);
    // SAFETY: the program's own call.
    unsafe { next!(fn close(c_int) -> c_int)(fd) }
}

/// `close_range`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    forget_from(first, last);
    // SAFETY: the program's own call.
    unsafe { next!(fn close_range(c_uint, c_uint, c_int) -> c_int)(first, last, flags) }
}

/// `closefrom`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    forget_from(first.max(0) as c_uint, c_uint::MAX);
    // SAFETY: the program's own call.
    unsafe { next!(fn closefrom(c_int) -> ())(first) }
}

fn forget_from(first: c_uint, last: c_uint) {
    // Descriptors beyond have no notes.
    for fd in first..=last.min(65_535) {
        client::forget(fd as c_int);
    }
}

/// `dup`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the program's own call.
    let new = unsafe { next!(fn dup(c_int) -> c_int)(fd) };
    client::forget(new);
    standard::changed(new);
    new
}

/// `dup2`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(fd: c_int, new: c_int) -> c_int {
    client::forget(new);
    // SAFETY: the program's own call.
    let result = unsafe { next!(fn dup2(c_int, c_int) -> c_int)(fd, new) };
    standard::changed(result);
    result
}

/// `dup3`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int {
    client::forget(new);
    // SAFETY: the program's own call.
    let result = unsafe { next!(fn dup3(c_int, c_int, c_int) -> c_int)(fd, new, flags) };
    standard::changed(result);
    result
}

fn forget_copy(command: c_int, new: c_int) -> c_int {
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        client::forget(new);
        standard::changed(new);
    }
    new
}

/// `fcntl`. In C its last argument is variable; integers and pointers travel the same way.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    let result =
        unsafe { next!(fn fcntl(c_int, c_int, *mut c_void) -> c_int)(fd, command, argument) };
    forget_copy(command, result)
}

/// `fcntl64`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    let result =
        unsafe { next!(fn fcntl64(c_int, c_int, *mut c_void) -> c_int)(fd, command, argument) };
    forget_copy(command, result)
}
