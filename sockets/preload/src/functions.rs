//! The functions of the table that both libraries for C share, in front of those of the C library.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use libc::{
    FILE, epoll_event, iovec, mmsghdr, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec,
};
use tresse_client as client;

use crate::next::next;
use crate::passing::{forget_passed, share_passed};
use crate::wait::receive;

/// Functions under the names that they have in the C library. A call for an SCTP socket returns early; the others go on
/// to the C library as they came, with nothing alive that needs a destructor.
macro_rules! stand_in_front {
    ($($(#[$doc:meta])* fn $name:ident = $own:ident [$($twin:ident),*] $arguments:tt
        -> $ret:ty where $clauses:tt)*) => {
        $(
            function! { $(#[$doc])* $name $arguments -> $ret $clauses }
            $(function! {
                #[doc = concat!("Another name of `", stringify!($name), "`.")]
                $twin $arguments -> $ret $clauses
            })*
        )*
    };
}

macro_rules! function {
    ($(#[$doc:meta])* $name:ident ($($arg:ident: $type:ty),* $(,)?)
        -> $ret:ty { $($clauses:tt)* }) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            body!(next!(fn $name($($type),*) -> $ret), $name($($arg),*), $($clauses)*)
        }
    };
}

/// What the clauses of an entry say.
macro_rules! body {
    ($next:expr, $name:ident($($arg:ident),*), corrects $result:ident $corrected:block) => {{
        let next = $next;
        // SAFETY: the program's own call.
        unsafe {
            let $result = next($($arg),*);
            $corrected
        }
    }};
    ($next:expr, $name:ident($($arg:ident),*), refuses ($($fd:ident),+) $($more:tt)*) => {{
        $(if client::lookup($fd).is_some() {
            return client::give(Err::<usize, c_int>(libc::EINVAL)) as _;
        })+
        body!($next, $name($($arg),*), $($more)*)
    }};
    ($next:expr, $name:ident($($arg:ident),*), refuses if $condition:expr) => {{
        if $condition {
            return client::give(Err::<usize, c_int>(libc::EINVAL)) as _;
        }
        body!($next, $name($($arg),*),)
    }};
    ($next:expr, $name:ident($($arg:ident),*), serves ($fd:ident as $sock:ident) $served:block) => {{
        if let Some($sock) = client::lookup($fd) {
            return $served;
        }
        body!($next, $name($($arg),*),)
    }};
    ($next:expr, $name:ident($($arg:ident),*),
     serves ($fd:ident as $sock:ident if $condition:expr) $served:block) => {{
        if $condition && let Some($sock) = client::lookup($fd) {
            return $served;
        }
        body!($next, $name($($arg),*),)
    }};
    ($next:expr, $name:ident($($arg:ident),*),
     waits ($fd:ident as $sock:ident, $flags:ident = $given:expr) $served:block) => {{
        receive!($fd, $given, $sock, $flags => $served);
        body!($next, $name($($arg),*),)
    }};
    // It may be a number that had another meaning.
    ($next:expr, accept($($arg:ident),*),) => { body!(@makes $next, $($arg),*) };
    ($next:expr, accept4($($arg:ident),*),) => { body!(@makes $next, $($arg),*) };
    (@makes $next:expr, $($arg:ident),*) => {{
        let next = $next;
        // SAFETY: the program's own call.
        let new = unsafe { next($($arg),*) };
        client::forget(new);
        new
    }};
    // With messages descriptors go and come.
    ($next:expr, sendmsg($fd:ident, $message:ident, $flags:ident),) => {{
        let next = $next;
        // SAFETY: the program's own call.
        unsafe {
            share_passed($message);
            next($fd, $message, $flags)
        }
    }};
    ($next:expr, recvmsg($fd:ident, $message:ident, $flags:ident),) => {{
        let next = $next;
        // SAFETY: the program's own call; the C library has filled the message in.
        unsafe {
            let result = next($fd, $message, $flags);
            if result >= 0 {
                forget_passed($message);
            }
            result
        }
    }};
    ($next:expr, $name:ident($($arg:ident),*),) => {{
        let next = $next;
        // SAFETY: the program's own call.
        unsafe { next($($arg),*) }
    }};
}

client::functions!(stand_in_front);
