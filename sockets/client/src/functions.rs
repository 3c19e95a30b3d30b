//! The functions of the C library that serve SCTP sockets in both libraries for C: one table, from which `preload` makes
//! functions that stand in front of those of the C library, and `capi` functions of its own.

/// `functions!(make)` is `make! { table }`. An entry is
///
/// ```text
/// /// What it does.
/// fn NAME = OWN_NAME [TWIN, ...] (ARGUMENTS) -> TYPE where { CLAUSES }
/// ```
///
/// `OWN_NAME` is its name in `capi`. A `TWIN` does the same by another name that the C library has, such as that for
/// large files where `off_t` has 64 bits. What the call is for every other file is that of the C library. For an SCTP
/// socket it is what the clauses say:
///
/// * `serves (FD as SOCK) { RESULT }`, and with `if CONDITION` only where that holds: the result.
/// * `waits (FD as SOCK, FLAGS = GIVEN) { RESULT }`: the same; `FLAGS` are those that the caller has given, with
///   which RESULT waits itself. A library that waits in its own way adds `MSG_DONTWAIT`.
/// * `refuses (FD, ...)`, `refuses if CONDITION`: `EINVAL`, by which programs know that they have to read and write
///   instead. Another clause may follow.
/// * `corrects RESULT { CORRECTED }`: the C library's function is called in any case, and its result is corrected.
#[macro_export]
macro_rules! functions {
    ($make:ident) => {
        $make! {
            /// `bind`.
            fn bind = tresse_bind [] (
                fd: c_int, address: *const sockaddr, len: socklen_t,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::calls::bind(&sock, address, len))
            } }

            /// `connect`.
            fn connect = tresse_connect [__connect] (
                fd: c_int, address: *const sockaddr, len: socklen_t,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::calls::connect(fd, &sock, address, len))
            } }

            /// `listen`. On a one-to-many socket a backlog of 0 ends listening (RFC 6458 §3.1.3).
            fn listen = tresse_listen [] (
                fd: c_int, backlog: c_int,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::listen(fd, &sock, backlog).map(|()| 0))
            } }

            /// `accept`.
            fn accept = tresse_accept [] (
                fd: c_int, address: *mut sockaddr, len: *mut socklen_t,
            ) -> c_int where { waits (fd as sock, flags = 0) {
                $crate::give_int($crate::calls::accept(fd, &sock, (address, len), 0, flags))
            } }

            /// `accept4`.
            fn accept4 = tresse_accept4 [] (
                fd: c_int, address: *mut sockaddr, len: *mut socklen_t, kind: c_int,
            ) -> c_int where { waits (fd as sock, flags = 0) {
                $crate::give_int($crate::calls::accept(fd, &sock, (address, len), kind, flags))
            } }

            /// `shutdown` (RFC 6458 §4.1.7).
            fn shutdown = tresse_shutdown [] (
                fd: c_int, how: c_int,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::shutdown(&sock, how).map(|()| 0))
            } }

            /// `getsockname`.
            fn getsockname = tresse_getsockname [] (
                fd: c_int, address: *mut sockaddr, len: *mut socklen_t,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::calls::name(&sock, false, address, len))
            } }

            /// `getpeername`.
            fn getpeername = tresse_getpeername [] (
                fd: c_int, address: *mut sockaddr, len: *mut socklen_t,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::calls::name(&sock, true, address, len))
            } }

            /// `getsockopt`, with the options of RFC 6458 §8.
            fn getsockopt = tresse_getsockopt [] (
                fd: c_int, level: c_int, option: c_int, value: *mut c_void, len: *mut socklen_t,
            ) -> c_int where { serves (fd as sock if !$crate::is_native_option(level, option)) {
                $crate::give_int($crate::get_option(fd, &sock, (level, option), (value, len)))
            } }

            /// `setsockopt`, with the options of RFC 6458 §8.
            fn setsockopt = tresse_setsockopt [] (
                fd: c_int, level: c_int, option: c_int, value: *const c_void, len: socklen_t,
            ) -> c_int where { serves (fd as sock if !$crate::is_native_option(level, option)) {
                $crate::give_int($crate::set_option(fd, &sock, (level, option), (value, len)))
            } }

            /// `ioctl`, whose last argument is variable in C; integers and pointers travel the same way. FIONREAD tells
            /// how much of the next message can be read.
            fn ioctl = tresse_ioctl [] (
                fd: c_int, request: c_ulong, argument: *mut c_void,
            ) -> c_int where { serves (fd as sock if request == libc::FIONREAD) {
                $crate::give_int($crate::calls::tell_readable(fd, &sock, argument))
            } }

            /// `send`.
            fn send = tresse_send [__send] (
                fd: c_int, base: *const c_void, len: size_t, flags: c_int,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::send_to(fd, &sock, (base, len), flags, (std::ptr::null(), 0)))
            } }

            /// `sendto`.
            fn sendto = tresse_sendto [] (
                fd: c_int, base: *const c_void, len: size_t, flags: c_int,
                address: *const sockaddr, address_len: socklen_t,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::send_to(fd, &sock, (base, len), flags, (address, address_len)))
            } }

            /// `sendmsg`, with the ancillary data of RFC 6458 §5.3.
            fn sendmsg = tresse_sendmsg [] (
                fd: c_int, message: *const msghdr, flags: c_int,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::send_message(fd, &sock, message, flags))
            } }

            /// `sendmmsg`.
            fn sendmmsg = tresse_sendmmsg [] (
                fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int,
            ) -> c_int where { serves (fd as sock) {
                $crate::give_int($crate::send_messages(fd, &sock, (list, count), flags))
            } }

            /// `recv`.
            fn recv = tresse_recv [] (
                fd: c_int, base: *mut c_void, len: size_t, given: c_int,
            ) -> ssize_t where { waits (fd as sock, flags = given) {
                $crate::give($crate::receive_from(fd, &sock, (base, len), flags, $crate::NO_NAME))
            } }

            /// `recvfrom`.
            fn recvfrom = tresse_recvfrom [] (
                fd: c_int, base: *mut c_void, len: size_t, given: c_int,
                address: *mut sockaddr, address_len: *mut socklen_t,
            ) -> ssize_t where { waits (fd as sock, flags = given) {
                $crate::give($crate::receive_from(
                    fd, &sock, (base, len), flags, (address, address_len),
                ))
            } }

            /// `recvmsg`, with the ancillary data of RFC 6458 §5.3.
            fn recvmsg = tresse_recvmsg [] (
                fd: c_int, message: *mut msghdr, given: c_int,
            ) -> ssize_t where { waits (fd as sock, flags = given) {
                $crate::give($crate::receive_message(fd, &sock, message, flags))
            } }

            /// `recvmmsg`. On an SCTP socket, further messages are taken only if they are there.
            fn recvmmsg = tresse_recvmmsg [] (
                fd: c_int, list: *mut mmsghdr, count: c_uint, given: c_int, timeout: *mut timespec,
            ) -> c_int where { waits (fd as sock, flags = given) {
                $crate::give_int($crate::receive_messages(fd, &sock, (list, count), flags))
            } }

            /// `read`.
            fn read = tresse_read [__read] (
                fd: c_int, base: *mut c_void, len: size_t,
            ) -> ssize_t where { waits (fd as sock, flags = 0) {
                $crate::give($crate::receive_from(fd, &sock, (base, len), flags, $crate::NO_NAME))
            } }

            /// `write`.
            fn write = tresse_write [__write] (
                fd: c_int, base: *const c_void, len: size_t,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::send_to(fd, &sock, (base, len), 0, (std::ptr::null(), 0)))
            } }

            /// `readv`.
            fn readv = tresse_readv [] (
                fd: c_int, iov: *const iovec, count: c_int,
            ) -> ssize_t where { waits (fd as sock, flags = 0) {
                $crate::give($crate::read_vector(fd, &sock, (iov, count), flags))
            } }

            /// `writev`.
            fn writev = tresse_writev [] (
                fd: c_int, iov: *const iovec, count: c_int,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::write_vector(fd, &sock, iov, count))
            } }

            /// `preadv2`.
            fn preadv2 = tresse_preadv2 [preadv64v2] (
                fd: c_int, iov: *const iovec, count: c_int, place: off_t, kind: c_int,
            ) -> ssize_t where { waits (fd as sock, flags = 0) {
                $crate::give($crate::read_vector_at((fd, &sock), (iov, count), (place, kind), flags))
            } }

            /// `pwritev2`.
            fn pwritev2 = tresse_pwritev2 [pwritev64v2] (
                fd: c_int, iov: *const iovec, count: c_int, place: off_t, kind: c_int,
            ) -> ssize_t where { serves (fd as sock) {
                $crate::give($crate::write_vector_at((fd, &sock), (iov, count), (place, kind)))
            } }

            /// `sendfile`: one message for each 64 KiB.
            fn sendfile = tresse_sendfile [sendfile64] (
                to: c_int, from: c_int, place: *mut off_t, count: size_t,
            ) -> ssize_t where { refuses (from) serves (to as sock) {
                $crate::give($crate::send_file((to, &sock), from, place, count))
            } }

            /// `splice`: EINVAL for SCTP sockets.
            fn splice = tresse_splice [] (
                from: c_int, from_place: *mut i64, to: c_int, to_place: *mut i64,
                len: size_t, flags: c_uint,
            ) -> ssize_t where { refuses (from, to) }

            /// `aio_read`: EINVAL for SCTP sockets.
            fn aio_read = tresse_aio_read [aio_read64] (
                control: *mut c_void,
            ) -> c_int where { refuses if $crate::is_ours_aio(control) }

            /// `aio_write`: EINVAL for SCTP sockets.
            fn aio_write = tresse_aio_write [aio_write64] (
                control: *mut c_void,
            ) -> c_int where { refuses if $crate::is_ours_aio(control) }

            /// `lio_listio`: EINVAL if an SCTP socket is among the descriptors.
            fn lio_listio = tresse_lio_listio [lio_listio64] (
                mode: c_int, list: *const *const c_void, count: c_int, event: *mut c_void,
            ) -> c_int where { refuses if $crate::is_ours_among(list, count) }

            /// `eventfd_read`: `read`, of eight bytes.
            fn eventfd_read = tresse_eventfd_read [] (
                fd: c_int, value: *mut u64,
            ) -> c_int where { waits (fd as sock, flags = 0) {
                $crate::calls::whole($crate::receive_from(
                    fd, &sock, (value.cast(), 8), flags, $crate::NO_NAME,
                ))
            } }

            /// `eventfd_write`: `write`, of eight bytes.
            fn eventfd_write = tresse_eventfd_write [] (
                fd: c_int, value: u64,
            ) -> c_int where { serves (fd as sock) {
                let bytes = (&raw const value).cast();
                $crate::calls::whole($crate::send_to(fd, &sock, (bytes, 8), 0, (std::ptr::null(), 0)))
            } }

            /// `vdprintf`: one message. A `va_list` is passed on as a pointer.
            fn vdprintf = tresse_vdprintf [] (
                fd: c_int, format: *const c_char, arguments: *mut c_void,
            ) -> c_int where { serves (fd as sock) {
                // SAFETY: as the caller promises.
                $crate::give(unsafe { $crate::print((fd, &sock), format, arguments) }) as c_int
            } }

            /// `fdopen`: each time that the stream is flushed it sends a message.
            fn fdopen = tresse_fdopen [_IO_fdopen] (
                fd: c_int, mode: *const c_char,
            ) -> *mut FILE where { serves (fd as _sock) {
                // SAFETY: as the caller promises.
                $crate::calls::stream(unsafe { $crate::open_stream(fd, mode) })
            } }

            /// `poll`.
            fn poll = tresse_poll [] (
                fds: *mut pollfd, count: nfds_t, timeout: c_int,
            ) -> c_int where { corrects result { $crate::correct_poll(fds, count, result) } }

            /// `ppoll`.
            fn ppoll = tresse_ppoll [] (
                fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
            ) -> c_int where { corrects result { $crate::correct_poll(fds, count, result) } }

            /// `epoll_ctl`.
            fn epoll_ctl = tresse_epoll_ctl [] (
                epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event,
            ) -> c_int where { corrects result { $crate::watch((epoll, operation, fd), event, result) } }

            /// `epoll_wait`.
            fn epoll_wait = tresse_epoll_wait [] (
                epoll: c_int, events: *mut epoll_event, count: c_int, timeout: c_int,
            ) -> c_int where { corrects result { $crate::correct_epoll(epoll, events, result) } }

            /// `epoll_pwait`.
            fn epoll_pwait = tresse_epoll_pwait [] (
                epoll: c_int, events: *mut epoll_event, count: c_int, timeout: c_int,
                mask: *const sigset_t,
            ) -> c_int where { corrects result { $crate::correct_epoll(epoll, events, result) } }
        }
    };
}
