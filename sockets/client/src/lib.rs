//! A program's side of the sockets API. docs/adr/0008 has the idea, [`tresse_socket_protocol::protocol`]
//! the frames.
//!
//! All system calls here go around the C library's functions (rustix makes them directly), which
//! the preloaded library replaces.

pub mod calls;
mod descriptor;
mod door;
mod engine;
mod exchange;
mod files;
#[cfg(test)]
mod frames;
mod functions;
mod memory;
mod message;
mod names;
mod options;
mod processes;
mod readiness;
mod receive;
mod request;
mod send;
mod sock;
mod stream;
mod system;
mod table;
mod transfer;

pub use calls::{is_native_option, is_sctp};
pub use door::keep_reaching;
pub use engine::{engine_path, set_engine};
pub use files::{is_ours_aio, is_ours_among, print, read_vector_at, send_file, write_vector_at};
pub use memory::{read_memory, write_memory};
pub use message::{Received, nxtinfo, rcvinfo, sender_info, set_key, set_policy};
pub use names::{
    TYPE_FLAGS, bind, connect, listen, read_list, read_name, shutdown, socket, write_name,
};
pub use options::{addresses, get_option, peel_off, set_option};
pub use processes::{is_own, share};
pub use readiness::{correct_epoll, correct_poll, watch};
pub use receive::{can_wait, readable_bytes, receive};
pub use send::{Outgoing, associate, send};
pub use sock::Sock;
pub use stream::{open_stream, stream_descriptor};
pub use table::{before_close, forget, is_end_of_engine, look_up_again, lookup};
pub use transfer::{
    buffers, one, read_vector, receive_from, receive_message, receive_messages, send_message,
    send_messages, send_to, write_vector,
};

use std::ffi::c_int;

/// Where a peer's address goes that nobody asks for.
pub const NO_NAME: (*mut libc::sockaddr, *mut libc::socklen_t) =
    (std::ptr::null_mut(), std::ptr::null_mut());

/// A failed call: its `errno`.
pub type Fallible<T> = Result<T, i32>;

/// The `errno` of a system call's error.
fn errno(error: rustix::io::Errno) -> i32 {
    error.raw_os_error()
}

/// Sets `errno` and returns -1 for an error.
pub fn give<T: TryInto<isize>>(result: Fallible<T>) -> isize {
    match result {
        Ok(value) => value.try_into().unwrap_or(isize::MAX),
        Err(error) => {
            // SAFETY: the thread's own variable.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// As [`give`], for functions that return an `int`.
pub fn give_int(result: Fallible<c_int>) -> c_int {
    give(result.map(|value| value as isize)) as c_int
}
