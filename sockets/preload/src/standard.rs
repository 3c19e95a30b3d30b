//! Standard input, output and errors that are SCTP sockets, as `inetd` and its like have them: their
//! streams are replaced, at the start of the program and when their descriptors change.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Mutex;

use libc::FILE;
use tresse_client as client;

/// A pointer of the C library's.
#[derive(Clone, Copy)]
struct Stream(*mut FILE);
// SAFETY: the C library's streams have locks of their own.
unsafe impl Send for Stream {}

unsafe extern "C" {
    static mut stdin: *mut FILE;
    static mut stdout: *mut FILE;
    static mut stderr: *mut FILE;
}

/// The C library's own, of those that are replaced.
static REPLACED: Mutex<[Option<Stream>; 3]> = Mutex::new([None; 3]);

/// A descriptor means something else, or may do so.
pub(crate) fn changed(fd: c_int) {
    let (variable, mode) = match fd {
        0 => (&raw mut stdin, c"r"),
        1 => (&raw mut stdout, c"w"),
        2 => (&raw mut stderr, c"w"),
        _ => return,
    };
    // In a child of `vfork` the variables are the parent's.
    if !client::is_own() {
        return;
    }
    let ours = client::lookup(fd).is_some();
    let Ok(mut replaced) = REPLACED.lock() else { return };
    let before = &mut replaced[fd as usize];
    // SAFETY: variables that programs may set (POSIX leaves it open, the C library allows it); the
    // mode is a string.
    unsafe {
        match (ours, *before) {
            (true, None) => {
                let Ok(stream) = client::open_stream(fd, mode.as_ptr()) else { return };
                if fd == 2 {
                    libc::setvbuf(stream, null_mut(), libc::_IONBF, 0);
                }
                *before = Some(Stream(std::ptr::replace(variable, stream)));
            }
            (false, Some(own)) => {
                // What replaced it stays: others may know it.
                libc::fflush(*variable);
                *variable = own.0;
                *before = None;
            }
            _ => {}
        }
    }
}

/// At the start of a program.
extern "C" fn at_start() {
    if client::engine_path().is_some() {
        (0..3).for_each(changed);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;
