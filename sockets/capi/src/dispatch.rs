//! Which functions go to the engine.

/// `on_socket!(fd, |sock| ours, theirs)`: `ours` for an SCTP socket, for every other file `theirs`,
/// a call of the C library. What descriptors mean is looked at anew each time, since they may be
/// made and closed without this library.
macro_rules! on_socket {
    ($fd:expr, |$sock:ident| $ours:expr, $theirs:expr $(,)?) => {
        match tresse_client::look_up_anew($fd) {
            Some($sock) => $ours,
            // SAFETY: the program's own call.
            None => unsafe { $theirs },
        }
    };
}
