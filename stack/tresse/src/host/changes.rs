//! The kernel says when addresses of this host come and go (rtnetlink(7)); what there is then, `host::addresses` tells.

use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use crate::runtime::{Interest, Reactor, Readiness};

/// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR of rtnetlink(7).
const GROUPS: u32 = 0x1 | 0x10 | 0x100;
/// Notifications that are read at a time; those that are left are read at the next turn.
const MOST: usize = 64;

/// Changes of the addresses and interfaces of the host's network namespace.
#[derive(Debug)]
pub(crate) struct Changes {
    /// A netlink socket: runtimes wait for the sockets of the standard library.
    socket: Arc<UdpSocket>,
    ready: Box<dyn Readiness>,
}

impl Changes {
    /// Waits for them.
    ///
    /// # Errors
    /// Those of the system, such as that of a filter of system calls, and those of the runtime.
    pub(crate) fn watch(reactor: &dyn Reactor) -> io::Result<Changes> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let kind = (AddressFamily::NETLINK, SocketType::RAW);
        // Without a number of its own the protocol is 0: NETLINK_ROUTE.
        let socket: OwnedFd = socket_with(kind.0, kind.1, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        let socket = Arc::new(UdpSocket::from(socket));
        let ready = reactor.register(Arc::clone(&socket), Interest::Readable)?;
        Ok(Changes { socket, ready })
    }

    /// Whether something has changed since the last time. If not, the task is woken when something does.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let mut changed = false;
        while let Poll::Ready(Ok(())) = self.ready.poll_ready(cx) {
            changed = true;
            let mut notification = [0; 1];
            for _ in 0..MOST {
                // What does not fit is cut off; ENOBUFS says that some were lost, and so that there were some.
                let read = recv(&*self.socket, &mut notification[..], RecvFlags::empty());
                if matches!(read, Err(error) if error != rustix::io::Errno::NOBUFS) {
                    break;
                }
            }
        }
        changed
    }
}
