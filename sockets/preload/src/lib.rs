//! The library that `tresse run` preloads: the functions of the C library that have to do with
//! sockets. For SCTP sockets they go to the engine, for all other files to the C library.
//!
//! What is not here needs nothing: an SCTP socket is a Unix socket to the kernel, so `select`,
//! `fcntl(F_SETFL)` and the like do what they should; `poll` and `epoll` nearly so.
//!
//! Every function here has the contract of the C function of its name, which is all there is to
//! say about its safety.

mod aliases;
mod descriptors;
mod files;
mod fortified;
mod functions;
mod next;
mod passing;
mod privileges;
mod processes;
mod standard;
mod wait;

use std::ffi::c_int;

use next::next;
use tresse_client as client;
use tresse_client::give_int;

/// `socket`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if client::is_sctp(domain, kind, protocol) && client::engine_path().is_some() {
        return give_int(client::socket(domain, kind));
    }
    let next = next!(fn socket(c_int, c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    let fd = unsafe { next(domain, kind, protocol) };
    client::forget(fd);
    fd
}
