//! Functions of the C library that move data between files, of which one may be an SCTP socket, and
//! those of streams.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{FILE, iovec, off_t, size_t, ssize_t};
use tresse_client as client;
use tresse_client::{give, give_int};

unsafe extern "C" {
    fn vdprintf(fd: c_int, format: *const c_char, arguments: *mut c_void) -> c_int;
    fn eventfd_read(fd: c_int, value: *mut u64) -> c_int;
    fn eventfd_write(fd: c_int, value: u64) -> c_int;
    fn aio_read(control: *mut c_void) -> c_int;
    fn aio_write(control: *mut c_void) -> c_int;
    fn lio_listio(mode: c_int, list: *const *mut c_void, count: c_int, event: *mut c_void)
    -> c_int;
}

/// `EINVAL`, by which programs know that they have to read and write instead.
fn refuse() -> ssize_t {
    give(Err::<usize, c_int>(libc::EINVAL))
}

/// `preadv2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_preadv2(
    fd: c_int,
    iov: *const iovec,
    count: c_int,
    place: off_t,
    flags: c_int,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::read_vector_at((fd, &sock), (iov, count), (place, flags), 0)),
        libc::preadv2(fd, iov, count, place, flags)
    )
}

/// `pwritev2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_pwritev2(
    fd: c_int,
    iov: *const iovec,
    count: c_int,
    place: off_t,
    flags: c_int,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::write_vector_at((fd, &sock), (iov, count), (place, flags))),
        libc::pwritev2(fd, iov, count, place, flags)
    )
}

/// `sendfile`: one message for each 64 KiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sendfile(
    out: c_int,
    r#in: c_int,
    offset: *mut off_t,
    count: size_t,
) -> ssize_t {
    if client::look_up_anew(r#in).is_some() {
        return refuse();
    }
    on_socket!(
        out,
        |sock| give(client::send_file((out, &sock), r#in, offset, count)),
        libc::sendfile(out, r#in, offset, count)
    )
}

/// `splice`: EINVAL for SCTP sockets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_splice(
    r#in: c_int,
    in_offset: *mut i64,
    out: c_int,
    out_offset: *mut i64,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    match client::look_up_anew(r#in).or_else(|| client::look_up_anew(out)) {
        Some(_) => refuse(),
        // SAFETY: the program's own call.
        None => unsafe { libc::splice(r#in, in_offset, out, out_offset, len, flags) },
    }
}

/// `fdopen`: each time that the stream is flushed it sends a message. `fileno` does not know it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
    on_socket!(
        fd,
        // SAFETY: as the caller promises.
        |_sock| match unsafe { client::open_stream(fd, mode) } {
            Ok(stream) => stream,
            Err(error) => {
                give_int(Err(error));
                std::ptr::null_mut()
            }
        },
        libc::fdopen(fd, mode)
    )
}

/// `eventfd_read`: `read`, of eight bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_eventfd_read(fd: c_int, value: *mut u64) -> c_int {
    if client::look_up_anew(fd).is_none() {
        // SAFETY: the program's own call.
        return unsafe { eventfd_read(fd, value) };
    }
    // SAFETY: the program's own call.
    if unsafe { crate::tresse_read(fd, value.cast(), 8) } == 8 { 0 } else { -1 }
}

/// `eventfd_write`: `write`, of eight bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_eventfd_write(fd: c_int, value: u64) -> c_int {
    if client::look_up_anew(fd).is_none() {
        // SAFETY: the program's own call.
        return unsafe { eventfd_write(fd, value) };
    }
    // SAFETY: the program's own call.
    if unsafe { crate::tresse_write(fd, (&raw const value).cast(), 8) } == 8 { 0 } else { -1 }
}

/// `aio_read`: EINVAL for SCTP sockets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_aio_read(control: *mut c_void) -> c_int {
    if client::is_ours_aio(control) {
        return refuse() as c_int;
    }
    // SAFETY: the program's own call.
    unsafe { aio_read(control) }
}

/// `aio_write`: EINVAL for SCTP sockets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_aio_write(control: *mut c_void) -> c_int {
    if client::is_ours_aio(control) {
        return refuse() as c_int;
    }
    // SAFETY: the program's own call.
    unsafe { aio_write(control) }
}

/// `lio_listio`: EINVAL if an SCTP socket is among the descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_lio_listio(
    mode: c_int,
    list: *const *mut c_void,
    count: c_int,
    event: *mut c_void,
) -> c_int {
    if client::is_ours_among(list.cast(), count) {
        return refuse() as c_int;
    }
    // SAFETY: the program's own call.
    unsafe { lio_listio(mode, list, count, event) }
}

/// `vdprintf`: one message. A `va_list` is passed on as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_vdprintf(
    fd: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    on_socket!(
        fd,
        // SAFETY: as the caller promises.
        |sock| give(unsafe { client::print((fd, &sock), format, arguments) }) as c_int,
        vdprintf(fd, format, arguments)
    )
}

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// `dprintf`: one message.
    tresse_dprintf, 2, tresse_vdprintf
}
