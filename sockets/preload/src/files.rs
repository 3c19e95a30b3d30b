//! Functions for files and streams that `capi` does not have.
//!
//! What the kernel refuses for every socket is not here: `pread` and `pwrite`, `tee`, `vmsplice`,
//! `copy_file_range`.

use std::ffi::{c_char, c_int, c_void};

use libc::FILE;
use tresse_client as client;

use crate::functions::{vdprintf, write};
use crate::next::{interpose, next};

/// `backtrace_symbols_fd`: one message for each line.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn backtrace_symbols_fd(
    list: *const *mut c_void,
    n: c_int,
    fd: c_int,
) {
    if client::lookup(fd).is_none() {
        // SAFETY: the program's own call.
        unsafe {
            next!(fn backtrace_symbols_fd(*const *mut c_void, c_int, c_int) -> ())(list, n, fd);
        }
        return;
    }
    let names = next!(fn backtrace_symbols(*const *mut c_void, c_int) -> *mut *mut c_char);
    // SAFETY: as the caller promises; a block of `n` strings.
    unsafe {
        let names = names(list, n);
        for n in 0..usize::try_from(n).unwrap_or(0) {
            if names.is_null() {
                break;
            }
            let mut line = std::ffi::CStr::from_ptr(*names.add(n)).to_bytes().to_vec();
            line.push(b'\n');
            write(fd, line.as_ptr().cast(), line.len());
        }
        libc::free(names.cast());
    }
}

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// `dprintf`: one message.
    dprintf, 2, vdprintf
}

interpose! {
    /// `fileno`.
    fn fileno(file: *mut FILE) -> c_int {
        if let Some(fd) = client::stream_descriptor(file) {
            return fd;
        }
    }

    /// `fileno_unlocked`.
    fn fileno_unlocked(file: *mut FILE) -> c_int {
        if let Some(fd) = client::stream_descriptor(file) {
            return fd;
        }
    }
}
