//! Other names that the C library has for functions of its own, for libraries.

use std::ffi::{c_int, c_void};

use libc::{size_t, sockaddr, socklen_t, ssize_t};

/// Another name of `read`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __read(fd: c_int, base: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { crate::transfer::read(fd, base, len) }
}

/// Another name of `write`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __write(fd: c_int, base: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { crate::transfer::write(fd, base, len) }
}

/// Another name of `send`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __send(
    fd: c_int,
    base: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { crate::transfer::send(fd, base, len, flags) }
}

/// Another name of `connect`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __connect(
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { crate::connect(fd, address, len) }
}

/// Another name of `close`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __close(fd: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { crate::descriptors::close(fd) }
}

/// Another name of `dup2`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __dup2(fd: c_int, new: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { crate::descriptors::dup2(fd, new) }
}

/// Another name of `fcntl`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    unsafe { crate::descriptors::fcntl(fd, command, argument) }
}
