//! libtresse: the sockets API of RFC 6458 for C, under names that begin with `tresse_`. The header
//! `tresse/sctp.h`, which cbindgen makes of this crate, gives programs the standard names.
//!
//! Functions that the C library also has do what that does for every descriptor that is no SCTP
//! socket. Each has the contract of the C function of its name, which is all there is to say about
//! its safety; a pointer that is no memory of the program is the error `EFAULT`.
//!
//! What is global: which descriptors are SCTP sockets (`tresse_client`), the engine of the process
//! and its thread, once [`engine::tresse_start`] was called, and the function that ends it at exit.

#[cfg(test)]
mod agreement;
mod constants;
mod engine;
mod fork;
mod functions;
mod sctp;
mod types;

use std::ffi::c_int;

use tresse_client as client;
use tresse_client::give_int;

pub use constants::*;
pub use engine::*;
pub use functions::*;
pub use sctp::*;
pub use types::*;

/// `socket`. An SCTP socket (protocol IPPROTO_SCTP, or SOCK_SEQPACKET of AF_INET or AF_INET6)
/// needs an engine: see `tresse_start`. Without one the error is EPROTONOSUPPORT.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_socket(domain: c_int, r#type: c_int, protocol: c_int) -> c_int {
    if client::is_sctp(domain, r#type, protocol) {
        return give_int(client::socket(domain, r#type));
    }
    // SAFETY: the program's own call.
    unsafe { libc::socket(domain, r#type, protocol) }
}

/// `close`. Waits as SO_LINGER says.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_close(fd: c_int) -> c_int {
    if client::look_up_again(fd).is_some() {
        client::before_close(fd);
    }
    // SAFETY: the program's own call.
    unsafe { libc::close(fd) }
}
