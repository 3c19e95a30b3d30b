//! Other names that the C library has for functions of its own, for libraries, beside those in the table.

use std::ffi::{c_int, c_void};

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
