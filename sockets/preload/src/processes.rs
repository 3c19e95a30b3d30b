//! Functions after which another process may have the sockets of this one. `fork` tells by itself.

use std::ffi::{c_char, c_int, c_void};

use libc::{FILE, pid_t};
use tresse_client as client;

use crate::next::{interpose, next};

interpose! {
    /// `posix_spawn`.
    fn posix_spawn(
        pid: *mut pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        client::share();
    }

    /// `posix_spawnp`.
    fn posix_spawnp(
        pid: *mut pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        client::share();
    }

    /// `system`.
    fn system(command: *const c_char) -> c_int {
        client::share();
    }

    /// `popen`.
    fn popen(command: *const c_char, kind: *const c_char) -> *mut FILE {
        client::share();
    }
}

/// The C library's `vfork`, after noting that it is called.
#[cfg(target_arch = "x86_64")]
extern "C" fn before_vfork() -> *const c_void {
    client::share();
    let next: unsafe extern "C-unwind" fn() -> pid_t = next!(fn vfork() -> pid_t);
    next as *const c_void
}

/// `vfork`, which returns twice, so that nothing of this function may be on the stack then.
///
/// # Safety
/// As the C function.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    ::core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {before}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym before_vfork,
    )
}
