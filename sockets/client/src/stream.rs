//! `FILE *` on SCTP sockets: `fdopen`, and the standard streams.
//!
//! The C library's own streams would read and write the frames of the engine. Ours have functions of
//! this library instead (`fopencookie`); each time that one is flushed it sends a message.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use libc::{FILE, size_t, ssize_t};

use crate::sock::lock;
use crate::table::look_up_again;
use crate::transfer::{receive_from, send_to};
use crate::{Fallible, before_close, give};

#[repr(C)]
struct Functions {
    read: extern "C" fn(*mut c_void, *mut c_char, size_t) -> ssize_t,
    write: extern "C" fn(*mut c_void, *const c_char, size_t) -> ssize_t,
    seek: Option<extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    close: extern "C" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut FILE;
}

/// The streams that are open, with their descriptors.
static STREAMS: Mutex<Vec<(usize, c_int)>> = Mutex::new(Vec::new());

extern "C" fn read(cookie: *mut c_void, base: *mut c_char, len: size_t) -> ssize_t {
    let fd = cookie as usize as c_int;
    match look_up_again(fd) {
        Some(sock) => {
            give(receive_from(fd, &sock, (base.cast(), len), 0, (null_mut(), null_mut())))
        }
        None => give(Err::<usize, c_int>(libc::EBADF)),
    }
}

extern "C" fn write(cookie: *mut c_void, base: *const c_char, len: size_t) -> ssize_t {
    let fd = cookie as usize as c_int;
    let result = match look_up_again(fd) {
        Some(sock) => send_to(fd, &sock, (base.cast(), len), 0, (std::ptr::null(), 0)),
        None => Err(libc::EBADF),
    };
    // 0 is what an error is here.
    give(result).max(0)
}

extern "C" fn close(cookie: *mut c_void) -> c_int {
    let fd = cookie as usize as c_int;
    lock(&STREAMS).retain(|(_, other)| *other != fd);
    before_close(fd);
    // SAFETY: the program closes it by closing its stream.
    unsafe { libc::syscall(libc::SYS_close, fd) as c_int }
}

/// `fdopen` of an SCTP socket.
///
/// # Errors
/// As `fdopen`.
///
/// # Safety
/// `mode` is a string.
pub unsafe fn open_stream(fd: c_int, mode: *const c_char) -> Fallible<*mut FILE> {
    let functions = Functions { read, write, seek: None, close };
    // SAFETY: the functions take the cookie for what it is, a number.
    let file = unsafe { fopencookie(fd as usize as *mut c_void, mode, functions) };
    if file.is_null() {
        return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
    }
    lock(&STREAMS).push((file as usize, fd));
    Ok(file)
}

/// The descriptor of a stream of [`open_stream`].
#[must_use]
pub fn stream_descriptor(file: *mut FILE) -> Option<c_int> {
    lock(&STREAMS).iter().find(|(known, _)| *known == file as usize).map(|(_, fd)| *fd)
}
