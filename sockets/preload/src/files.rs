//! Functions that move data between files, of which one may be an SCTP socket, and those of streams.
//!
//! What the kernel refuses for every socket is not here: `pread` and `pwrite`, `tee`, `vmsplice`,
//! `copy_file_range`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{FILE, iovec, off_t, size_t, ssize_t};
use tresse_client as client;

use crate::next::{interpose, next};
use crate::wait::receive;
use client::{give, give_int};

interpose! {
    /// `preadv2`.
    fn preadv2 | preadv64v2(
        fd: c_int,
        iov: *const iovec,
        count: c_int,
        place: off_t,
        flags: c_int,
    ) -> ssize_t {
        receive!(fd, 0, sock, more => {
            give(client::read_vector_at((fd, &sock), (iov, count), (place, flags), more))
        });
    }

    /// `pwritev2`.
    fn pwritev2 | pwritev64v2(
        fd: c_int,
        iov: *const iovec,
        count: c_int,
        place: off_t,
        flags: c_int,
    ) -> ssize_t {
        if let Some(sock) = client::lookup(fd) {
            return give(client::write_vector_at((fd, &sock), (iov, count), (place, flags)));
        }
    }

    /// `sendfile`: one message for each 64 KiB.
    fn sendfile | sendfile64(to: c_int, from: c_int, place: *mut off_t, count: size_t) -> ssize_t {
        if let Some(sock) = client::lookup(to) {
            return give(client::send_file((to, &sock), from, place, count));
        }
        if client::lookup(from).is_some() {
            return refuse();
        }
    }

    /// `splice`: not of SCTP sockets.
    fn splice(
        from: c_int,
        from_place: *mut i64,
        to: c_int,
        to_place: *mut i64,
        len: size_t,
        flags: c_uint,
    ) -> ssize_t {
        if client::lookup(from).or_else(|| client::lookup(to)).is_some() {
            return refuse();
        }
    }
}

/// `EINVAL`, by which programs know that they have to read and write instead.
fn refuse() -> ssize_t {
    give(Err::<usize, c_int>(libc::EINVAL))
}

interpose! {
    /// `aio_read`: not of SCTP sockets.
    fn aio_read | aio_read64(control: *mut c_void) -> c_int {
        if client::is_ours_aio(control) {
            return refuse() as c_int;
        }
    }

    /// `aio_write`: not of SCTP sockets.
    fn aio_write | aio_write64(control: *mut c_void) -> c_int {
        if client::is_ours_aio(control) {
            return refuse() as c_int;
        }
    }

    /// `lio_listio`: not of SCTP sockets.
    fn lio_listio | lio_listio64(
        mode: c_int,
        list: *const *const c_void,
        count: c_int,
        event: *mut c_void,
    ) -> c_int {
        if client::is_ours_among(list, count) {
            return refuse() as c_int;
        }
    }
}

/// `eventfd_read`: what it does is `read`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn eventfd_read(fd: c_int, value: *mut u64) -> c_int {
    // SAFETY: the program's own call.
    if unsafe { crate::transfer::read(fd, value.cast(), 8) } == 8 { 0 } else { -1 }
}

/// `eventfd_write`: what it does is `write`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn eventfd_write(fd: c_int, value: u64) -> c_int {
    // SAFETY: a number of ours.
    if unsafe { crate::transfer::write(fd, (&raw const value).cast(), 8) } == 8 { 0 } else { -1 }
}

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
            crate::transfer::write(fd, line.as_ptr().cast(), line.len());
        }
        libc::free(names.cast());
    }
}

interpose! {
    /// `vdprintf`: one message. A `va_list` is passed on as a pointer.
    fn vdprintf(fd: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            // SAFETY: as the caller promises.
            return give(unsafe { client::print((fd, &sock), format, arguments) }) as c_int;
        }
    }

    /// What `vdprintf` is in a program compiled with `_FORTIFY_SOURCE`.
    fn __vdprintf_chk(
        fd: c_int,
        flag: c_int,
        format: *const c_char,
        arguments: *mut c_void,
    ) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            // SAFETY: as the caller promises.
            return give(unsafe { client::print((fd, &sock), format, arguments) }) as c_int;
        }
    }
}

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// `dprintf`: one message.
    dprintf, 2, vdprintf
}

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// What `dprintf` is in a program compiled with `_FORTIFY_SOURCE`.
    __dprintf_chk, 3, __vdprintf_chk
}

interpose! {
    /// `fdopen`: each time that the stream is flushed it sends a message.
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
        if client::lookup(fd).is_some() {
            // SAFETY: as the caller promises.
            return unsafe { open(fd, mode) };
        }
    }

    /// `_IO_fdopen`: another name of it.
    fn _IO_fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
        if client::lookup(fd).is_some() {
            // SAFETY: as the caller promises.
            return unsafe { open(fd, mode) };
        }
    }
}

/// A stream on an SCTP socket.
///
/// # Safety
/// `mode` is a string.
unsafe fn open(fd: c_int, mode: *const c_char) -> *mut FILE {
    // SAFETY: as the caller promises.
    match unsafe { client::open_stream(fd, mode) } {
        Ok(file) => file,
        Err(error) => {
            give_int(Err(error));
            std::ptr::null_mut()
        }
    }
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
