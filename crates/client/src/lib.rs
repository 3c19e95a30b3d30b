//! A program's side of the sockets API. docs/adr/0008 has the idea, [`tresse_sockets::protocol`]
//! the frames.
//!
//! All system calls here go around the C library's functions (rustix makes them directly), which
//! the preloaded library replaces.

mod control;
mod memory;
mod message;
mod names;
mod options;
mod receive;
mod send;
mod table;

pub use control::{engine_path, set_starter};
pub use memory::{read_memory, write_memory};
pub use message::{nxtinfo, rcvinfo, read_control, write_control};
pub use names::{accept, bind, connect, listen, name_of, read_name, shutdown, socket, write_name};
pub use options::{get_option, set_option};
pub use receive::{Received, readable_bytes, receive};
pub use send::{Outgoing, send};
pub use table::{Sock, before_close, forget, lookup};

/// A failed call: its `errno`.
pub type Fallible<T> = Result<T, i32>;

/// The `errno` of a system call's error.
fn errno(error: rustix::io::Errno) -> i32 {
    error.raw_os_error()
}
