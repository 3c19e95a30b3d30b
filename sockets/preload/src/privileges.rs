//! Functions after which the process may not enter the engine's folder any more.

use std::ffi::{c_char, c_int};

use libc::uid_t;
use tresse_client as client;

use crate::next::next;

macro_rules! gives_up {
    ($($name:ident($($argument:ident: $kind:ty),*))*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            client::keep_reaching();
            // SAFETY: the program's own call.
            unsafe { next!(fn $name($($kind),*) -> c_int)($($argument),*) }
        }
    )* };
}

gives_up! {
    setuid(user: uid_t)
    seteuid(effective: uid_t)
    setreuid(real: uid_t, effective: uid_t)
    setresuid(real: uid_t, effective: uid_t, saved: uid_t)
    setfsuid(user: uid_t)
    chroot(path: *const c_char)
}
