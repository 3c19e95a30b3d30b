//! The program's memory: a bad pointer is an error (`EFAULT`), as it is for the kernel.

use std::ffi::c_void;

use crate::Fallible;

/// Lowest address that a mapping has by default, and the end of the lower half: what lies outside
/// cannot be memory of the program.
const LOWEST: usize = 4096;
const HIGHEST: usize = 1 << 47;

/// Whether a range can be memory at all. The kernel has the last word.
pub(crate) fn plausible(at: *const c_void, len: usize) -> bool {
    let at = at as usize;
    len == 0 || ((LOWEST..HIGHEST).contains(&at) && len <= HIGHEST - at)
}

/// Lets the kernel move bytes between the program and us; it refuses bad pointers.
fn copy(read: bool, theirs: *mut c_void, ours: *mut c_void, len: usize) -> Fallible<()> {
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
    if moved == len as isize {
        return Ok(());
    }
    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    if moved >= 0 || error == libc::EFAULT {
        return Err(libc::EFAULT);
    }
    // The system does not let us (a sandbox): the pointer has to be believed.
    let (from, to) = if read { (theirs, ours) } else { (ours, theirs) };
    // SAFETY: the caller of the C function promises that `theirs` has `len` bytes, and ours has.
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
    if !plausible(at, bytes.len()) {
        return Err(libc::EFAULT);
    }
    copy(false, at, bytes.as_ptr().cast_mut().cast(), bytes.len())
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
            assert_eq!(read_memory(bad as *const c_void, 4), Err(libc::EFAULT));
            assert_eq!(write_memory(bad as *mut c_void, &[0; 4]), Err(libc::EFAULT));
        }
        assert_eq!(read_memory(std::ptr::null(), 0), Ok(Vec::new()));
    }
}
