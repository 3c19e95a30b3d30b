//! Functions of the C library that move data between files, or at places of files, as far as one of
//! the files can be an SCTP socket. What is not here the kernel refuses for every socket.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

use libc::{iovec, off_t, size_t};
use rustix::fs::{SeekFrom, seek};

use crate::descriptor::borrow;
use crate::memory::{read_memory, write_memory};
use crate::sock::Sock;
use crate::table::look_up_again;
use crate::transfer::{read_vector, send_to, write_vector_flags};
use crate::{Fallible, system};

/// The longest message that `sendfile` makes: what a pipe holds, as in the kernel.
const MAX_PIECE: usize = 64 * 1024;

/// `sendfile` to an SCTP socket: one message for each 64 KiB.
///
/// # Errors
/// As `sendfile`; `EINVAL` if what is read is no file with places.
pub fn send_file(
    (fd, sock): (c_int, &Sock),
    from: c_int,
    place: *mut off_t,
    count: size_t,
) -> Fallible<usize> {
    if from < 0 {
        return Err(libc::EBADF);
    }
    if look_up_again(from).is_some() {
        return Err(libc::EINVAL);
    }
    let seek = |to| seek(borrow(from), to).map_err(|_| libc::EINVAL);
    let begin = match place.is_null() {
        true => seek(SeekFrom::Current(0))?,
        false => {
            let bytes = read_memory(place.cast(), size_of::<off_t>())?;
            let place = off_t::from_ne_bytes(bytes.try_into().map_err(|_| libc::EFAULT)?);
            u64::try_from(place).map_err(|_| libc::EINVAL)?
        }
    };
    let mut buffer = vec![0; MAX_PIECE.min(count)];
    let mut sent = 0;
    let failed = loop {
        let piece = (count - sent).min(buffer.len());
        let n = match system::read_at(from, &mut buffer[..piece], begin + sent as u64) {
            Ok(0) => break None,
            Ok(n) => n,
            Err(libc::ESPIPE) => break Some(libc::EINVAL),
            Err(error) => break Some(error),
        };
        match send_to(fd, sock, (buffer.as_ptr().cast(), n), 0, (null(), 0)) {
            Ok(_) => sent += n,
            Err(error) => break Some(error),
        }
    };
    match failed {
        Some(error) if sent == 0 => return Err(error),
        _ => {}
    }
    let end = begin + sent as u64;
    if place.is_null() {
        seek(SeekFrom::Start(end))?;
    } else {
        write_memory(place.cast(), &(end as off_t).to_ne_bytes())?;
    }
    Ok(sent)
}

/// What the flags of `preadv2` and `pwritev2` mean as flags of `recv` and `send`, for a socket.
fn vector_flags(place: off_t, flags: c_int) -> Fallible<c_int> {
    match flags & !libc::RWF_HIPRI {
        // Only "where the file is" is a place of a socket.
        _ if place != -1 => Err(libc::ESPIPE),
        0 => Ok(0),
        libc::RWF_NOWAIT => Ok(libc::MSG_DONTWAIT),
        _ => Err(libc::EOPNOTSUPP),
    }
}

/// `preadv2`, with the flags of `recv` besides.
///
/// # Errors
/// As `preadv2`.
pub fn read_vector_at(
    (fd, sock): (c_int, &Sock),
    iov: (*const iovec, c_int),
    (place, flags): (off_t, c_int),
    more: c_int,
) -> Fallible<usize> {
    read_vector(fd, sock, iov, vector_flags(place, flags)? | more)
}

/// `pwritev2`.
///
/// # Errors
/// As `pwritev2`.
pub fn write_vector_at(
    (fd, sock): (c_int, &Sock),
    iov: (*const iovec, c_int),
    (place, flags): (off_t, c_int),
) -> Fallible<usize> {
    write_vector_flags(fd, sock, iov, vector_flags(place, flags)?)
}

/// Whether an `aiocb` is for an SCTP socket; those are not served. Its first member is the
/// descriptor.
#[must_use]
pub fn is_ours_aio(control: *const c_void) -> bool {
    read_memory(control, 4).is_ok_and(|bytes| {
        bytes.try_into().is_ok_and(|fd| look_up_again(c_int::from_ne_bytes(fd)).is_some())
    })
}

/// Whether one of a list of `aiocb` is for an SCTP socket.
#[must_use]
pub fn is_ours_among(list: *const *const c_void, count: c_int) -> bool {
    let count = usize::try_from(count).unwrap_or(0);
    let Ok(bytes) = read_memory(list.cast(), count.saturating_mul(size_of::<usize>())) else {
        return false;
    };
    bytes.chunks_exact(size_of::<usize>()).any(|at| {
        let mut address = [0; size_of::<usize>()];
        address.copy_from_slice(at);
        is_ours_aio(usize::from_ne_bytes(address) as *const c_void)
    })
}

unsafe extern "C" {
    fn vasprintf(text: *mut *mut c_char, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// `vdprintf`: one message. `arguments` is a `va_list` as a parameter.
///
/// # Errors
/// As `vdprintf`.
///
/// # Safety
/// As the C function.
pub unsafe fn print(
    (fd, sock): (c_int, &Sock),
    format: *const c_char,
    arguments: *mut c_void,
) -> Fallible<usize> {
    let mut text = std::ptr::null_mut();
    // SAFETY: as the caller promises.
    let len = unsafe { vasprintf(&raw mut text, format, arguments) };
    let len = usize::try_from(len).map_err(|_| libc::ENOMEM)?;
    let result = match len {
        0 => Ok(0),
        _ => send_to(fd, sock, (text.cast(), len), 0, (null(), 0)),
    };
    // SAFETY: `vasprintf` has made it.
    unsafe { libc::free(text.cast()) };
    result
}

/// Defines a C function with variable arguments that hands them over, as a `va_list`, to another
/// one in the place of its last argument: `printf_like!(dprintf, 2, vdprintf)`, with the number of
/// arguments before the variable ones.
///
/// The registers that hold arguments are saved where the ABI (System V, AMD64, §3.5.7) wants
/// `reg_save_area`; Rust has no such functions yet.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! printf_like {
    ($(#[$doc:meta])* $name:ident, $named:tt, $target:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            ::core::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                // gp_offset, fp_offset, overflow_arg_area, reg_save_area.
                "mov dword ptr [rsp], 8 * {named}",
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                $crate::printf_like!(@last $named),
                "call {target}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                named = const $named,
                target = sym $target,
            )
        }
    };
    (@last 2) => { "mov rdx, rsp" };
    (@last 3) => { "mov rcx, rsp" };
}
