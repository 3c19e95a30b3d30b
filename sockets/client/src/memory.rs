//! The program's memory: a bad pointer is an error (`EFAULT`), as it is for the kernel.
//!
//! The kernel is asked whether memory can be read or written by system calls that do nothing else;
//! they take a seventh of the time of `process_vm_readv`, which moves what spans many pages.

use std::ffi::{c_int, c_void};

use crate::Fallible;

/// Lowest address that a mapping has by default, and the end of the lower half: what lies outside
/// cannot be memory of the program. How much of that half a program has depends on the machine.
const LOWEST: usize = 4096;
const HIGHEST: usize = 1 << (usize::BITS - 1);

/// The smallest page of any system that we run on: a range no longer than it touches two at most.
const PAGE: usize = 4096;

/// Whether a range can be memory at all. The kernel has the last word.
pub(crate) fn plausible(at: *const c_void, len: usize) -> bool {
    let at = at as usize;
    len == 0 || ((LOWEST..HIGHEST).contains(&at) && len <= HIGHEST - at)
}

/// Whether the program can read the word that a byte is in, or (`write`) write the eight bytes at
/// an address, which loses what they were.
fn is_accessible(at: usize, write: bool) -> bool {
    const SET: usize = 8;
    // SAFETY: the thread's own variable; of the system call the kernel checks the pointers.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let null = std::ptr::null_mut::<c_void>();
        let result = if write {
            // Asks for the signal mask.
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, null, at as *mut c_void, SET)
        } else {
            // -1 is no way to change the mask, which the kernel finds out after it read the new one.
            let word = (at & !(SET - 1)) as *mut c_void;
            libc::syscall(libc::SYS_rt_sigprocmask, -1 as c_int, word, null, SET)
        };
        let fault = result != 0 && *errno == libc::EFAULT;
        *errno = before;
        !fault
    }
}

/// As [`is_accessible`], for four bytes to be written.
fn int_is_writable(at: usize) -> bool {
    let null = std::ptr::null_mut::<c_void>();
    // SAFETY: the thread's own variable; of the system call the kernel checks the pointers.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let result = libc::syscall(libc::SYS_getcpu, at as *mut c_void, null, null);
        let fault = result != 0 && *errno == libc::EFAULT;
        *errno = before;
        !fault
    }
}

/// Lets the kernel move bytes between the program and us; it refuses bad pointers. `None` if the
/// system does not let us (a sandbox).
fn move_by_kernel(read: bool, theirs: *mut c_void, ours: *mut c_void, len: usize) -> Option<bool> {
    let local = libc::iovec { iov_base: ours, iov_len: len };
    let remote = libc::iovec { iov_base: theirs, iov_len: len };
    // SAFETY: `local` is memory of ours with `len` bytes; the kernel checks `remote`.
    let moved = unsafe {
        let own = libc::getpid();
        if read {
            libc::process_vm_readv(own, &local, 1, &remote, 1, 0)
        } else {
            libc::process_vm_writev(own, &local, 1, &remote, 1, 0)
        }
    };
    let refused = std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT);
    if moved < 0 && refused { None } else { Some(moved == len as isize) }
}

/// Moves `len` bytes, all or none.
fn copy(read: bool, theirs: *mut c_void, ours: *mut c_void, len: usize) -> Fallible<()> {
    if !plausible(theirs, len) {
        return Err(libc::EFAULT);
    }
    let (first, last) = (theirs as usize, theirs as usize + len - 1);
    let one_page = first / PAGE == last / PAGE;
    let probed = match len {
        _ if len > PAGE => None,
        _ if read => Some(is_accessible(first, false) && (one_page || is_accessible(last, false))),
        4 if one_page => Some(int_is_writable(first)),
        8.. => Some(is_accessible(first, true) && (one_page || is_accessible(last - 7, true))),
        _ => None,
    };
    match probed {
        Some(true) => {}
        Some(false) => return Err(libc::EFAULT),
        None => match move_by_kernel(read, theirs, ours, len) {
            Some(true) => return Ok(()),
            Some(false) => return Err(libc::EFAULT),
            // The pointer has to be believed.
            None => {}
        },
    }
    let (from, to) = if read { (theirs, ours) } else { (ours, theirs) };
    // SAFETY: `ours` has `len` bytes, and so has `theirs`, as was found out or, in a sandbox, as
    // the caller of the C function promises.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), len) };
    Ok(())
}

/// Reads `len` bytes of the program.
///
/// # Errors
/// `EFAULT`.
pub fn read_memory(at: *const c_void, len: usize) -> Fallible<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if !plausible(at, len) {
        return Err(libc::EFAULT);
    }
    let mut bytes = vec![0; len];
    copy(true, at.cast_mut(), bytes.as_mut_ptr().cast(), len)?;
    Ok(bytes)
}

/// Writes bytes to the program.
///
/// # Errors
/// `EFAULT`.
pub fn write_memory(at: *mut c_void, bytes: &[u8]) -> Fallible<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    copy(false, at, bytes.as_ptr().cast_mut().cast(), bytes.len())
}

/// Structures of C that are valid whatever their bytes are.
///
/// # Safety
/// Only for such structures.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: pointers and integers.
unsafe impl Plain for libc::msghdr {}
// SAFETY: a pointer and an integer.
unsafe impl Plain for libc::iovec {}

/// Reads `count` structures of the program.
pub(crate) fn read_structs<T: Plain>(at: *const T, count: usize) -> Fallible<Vec<T>> {
    let mut list: Vec<T> = Vec::with_capacity(count);
    if count > 0 {
        copy(true, at.cast_mut().cast(), list.as_mut_ptr().cast(), count * size_of::<T>())?;
        // SAFETY: their bytes have just been written, and any bytes are such a structure.
        unsafe { list.set_len(count) };
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_pointers_are_errors() {
        let mut bytes = [1u8, 2, 3];
        assert_eq!(read_memory(bytes.as_ptr().cast(), 3), Ok(vec![1, 2, 3]));
        assert_eq!(write_memory(bytes.as_mut_ptr().cast(), &[9]), Ok(()));
        assert_eq!(bytes, [9, 2, 3]);
        for bad in [0, 1, 8192, usize::MAX, usize::MAX / 2] {
            for len in [1, 4, 8, 100, 10_000] {
                assert_eq!(read_memory(bad as *const c_void, len), Err(libc::EFAULT));
                assert_eq!(write_memory(bad as *mut c_void, &vec![0; len]), Err(libc::EFAULT));
            }
        }
        assert_eq!(read_memory(std::ptr::null(), 0), Ok(Vec::new()));
    }

    #[test]
    fn the_end_of_what_is_mapped_is_the_end() {
        let two = 2 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, of which the second half is given back, and the first made read-only.
        let base = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let base = libc::mmap(std::ptr::null_mut(), two, protection, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            assert_eq!(libc::munmap(base.wrapping_byte_add(PAGE), PAGE), 0);
            base
        };
        for len in [1, 4, 5, 8, 56, 4096] {
            let last = base.wrapping_byte_add(PAGE - len);
            let bytes = vec![7; len];
            assert_eq!(write_memory(last, &bytes), Ok(()));
            assert_eq!(read_memory(last, len), Ok(bytes.clone()));
            let beyond = last.wrapping_byte_add(1);
            assert_eq!(read_memory(beyond, len), Err(libc::EFAULT), "{len} bytes");
            assert_eq!(write_memory(beyond, &bytes), Err(libc::EFAULT), "{len} bytes");
        }
        // What a failed write has left is of no use.
        assert_eq!(write_memory(base, &[7; PAGE]), Ok(()));
        // SAFETY: memory of this test, which has no reference to it.
        assert_eq!(unsafe { libc::mprotect(base, PAGE, libc::PROT_READ) }, 0);
        for len in [1, 4, 8, 56, 4096] {
            assert_eq!(write_memory(base, &vec![1; len]), Err(libc::EFAULT));
            assert_eq!(read_memory(base, len), Ok(vec![7; len]));
        }
    }
}
