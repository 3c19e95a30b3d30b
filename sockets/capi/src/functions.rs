//! The functions of the table that both libraries for C share, under names of our own. The header declares them by what
//! the C library says of their standard names (`cbindgen.toml`).

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use libc::{
    FILE, epoll_event, iovec, mmsghdr, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec,
};
use tresse_client as client;

/// A call for an SCTP socket returns early; the others are those of the C library. What descriptors mean is looked at
/// again each time, since they may be made and closed without this library.
macro_rules! stand_beside {
    ($($(#[$doc:meta])* fn $name:ident = $own:ident [$($twin:ident),*] ($($arg:ident: $type:ty),* $(,)?)
        -> $ret:ty where { $($clauses:tt)* })*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As the C function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $own($($arg: $type),*) -> $ret {
                // The crate `libc` does not have all of them.
                #[allow(clashing_extern_declarations)]
                unsafe extern "C" {
                    fn $name($($arg: $type),*) -> $ret;
                }
                body!($name($($arg),*), $($clauses)*)
            }
        )*

        /// The names that they have in the C library.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// What the clauses of an entry say.
macro_rules! body {
    ($name:ident($($arg:ident),*), corrects $result:ident $corrected:block) => {
        // SAFETY: the program's own call.
        unsafe {
            let $result = $name($($arg),*);
            $corrected
        }
    };
    ($name:ident($($arg:ident),*), refuses ($($fd:ident),+) $($more:tt)*) => {{
        $(if client::look_up_again($fd).is_some() {
            return client::give(Err::<usize, c_int>(libc::EINVAL)) as _;
        })+
        body!($name($($arg),*), $($more)*)
    }};
    ($name:ident($($arg:ident),*), refuses if $condition:expr) => {{
        if $condition {
            return client::give(Err::<usize, c_int>(libc::EINVAL)) as _;
        }
        body!($name($($arg),*),)
    }};
    ($name:ident($($arg:ident),*), serves ($fd:ident as $sock:ident) $served:block) => {{
        if let Some($sock) = client::look_up_again($fd) {
            return $served;
        }
        body!($name($($arg),*),)
    }};
    ($name:ident($($arg:ident),*),
     serves ($fd:ident as $sock:ident if $condition:expr) $served:block) => {{
        if $condition && let Some($sock) = client::look_up_again($fd) {
            return $served;
        }
        body!($name($($arg),*),)
    }};
    ($name:ident($($arg:ident),*),
     waits ($fd:ident as $sock:ident, $flags:ident = $given:expr) $served:block) => {{
        if let Some($sock) = client::look_up_again($fd) {
            let $flags = $given;
            return $served;
        }
        body!($name($($arg),*),)
    }};
    ($name:ident($($arg:ident),*),) => {
        // SAFETY: the program's own call.
        unsafe { $name($($arg),*) }
    };
}

client::functions!(stand_beside);

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// `dprintf`: one message.
    tresse_dprintf, 2, tresse_vdprintf
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn the_header_declares_every_function() {
        let header = include_str!("../include/tresse/sctp.h");
        for name in NAMES {
            let declared = header.contains(&format!("TRESSE_DECLARE({name})\n"));
            assert!(declared || header.contains(&format!("TRESSE_REPLACE({name})\n")), "{name}");
        }
    }
}
