//! Descriptors that are passed between processes.

use std::ffi::c_int;

use libc::msghdr;
use tresse_client as client;

/// Descriptors that are passed on may be SCTP sockets.
///
/// # Safety
/// As `sendmsg`.
pub(crate) unsafe fn share_passed(message: *const msghdr) {
    // SAFETY: the C library's function is about to look at it, too.
    if !message.is_null() && unsafe { (*message).msg_controllen } > 0 {
        client::share();
    }
}

/// Descriptors that came with a message may be SCTP sockets.
///
/// # Safety
/// `message` was filled in by `recvmsg`.
pub(crate) unsafe fn forget_passed(message: *const msghdr) {
    // SAFETY: the walk over the ancillary data is that of the C library's own macros.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_RIGHTS {
                let len = (*at).cmsg_len - libc::CMSG_LEN(0) as usize;
                let list = libc::CMSG_DATA(at).cast::<c_int>();
                for n in 0..len / size_of::<c_int>() {
                    client::forget(list.add(n).read_unaligned());
                }
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
}
