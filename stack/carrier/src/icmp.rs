//! What ICMP says of packets that were sent, from the error queue of their socket.

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::IcmpKind;

/// An ICMP or ICMPv6 message about an SCTP packet that we sent, or the system's own word that a
/// packet was too large to be sent. Nothing of it is trustworthy before the verification tag of the
/// quoted packet was checked (RFC 9260 §10), except what comes from this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpMessage {
    /// Where the packet went.
    pub destination: IpAddr,
    /// The UDP port that it went to, if it was encapsulated and the system says so.
    pub encapsulation: Option<u16>,
    /// What is wrong.
    pub kind: IcmpKind,
    /// The beginning of the SCTP packet, as far as it was quoted; `None` when this host itself found
    /// the packet too large.
    pub quoted: Option<Bytes>,
}

#[cfg(target_os = "linux")]
pub(crate) use queue::ErrorQueue;

#[cfg(target_os = "linux")]
mod queue {
    use std::io::{self, IoSliceMut};
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use nix::libc::{SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6, SO_EE_ORIGIN_LOCAL, sock_extended_err};
    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
    };
    use tresse_wire::IcmpKind;

    use super::IcmpMessage;
    use crate::address::AddressMap;
    use crate::{Interest, Reactor, Readiness};

    /// Bytes kept of a quoted packet: enough for an INIT (RFC 9260 §10, ICMP6).
    const QUOTED: usize = 64;

    /// Messages taken at once; a flood of them must not keep the carrier from packets.
    const BATCH: usize = 64;

    /// The error queue of one socket.
    #[derive(Debug)]
    pub(crate) struct ErrorQueue {
        socket: Arc<UdpSocket>,
        /// Waits for an error of a duplicate, for a runtime may tell a reader and a writer of a descriptor
        /// nothing of errors.
        ready: Box<dyn Readiness>,
        encapsulated: bool,
    }

    impl ErrorQueue {
        /// Asks the system to queue errors of `socket`.
        pub(crate) fn new(
            socket: &Arc<UdpSocket>,
            reactor: &dyn Reactor,
            ipv6: bool,
            encapsulated: bool,
        ) -> io::Result<ErrorQueue> {
            // A dual-stack socket for UDP sends both; one for raw IP knows only its own family.
            let v4 = setsockopt(socket, sockopt::Ipv4RecvErr, &true);
            if ipv6 {
                setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
            } else {
                v4?;
            }
            let ready = reactor.register(Arc::new(socket.try_clone()?), Interest::Error)?;
            Ok(ErrorQueue { socket: Arc::clone(socket), ready, encapsulated })
        }

        /// Appends the messages that have arrived; pending when there are no more.
        pub(crate) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<IcmpMessage>) {
            // Not if the runtime is going away.
            while let Poll::Ready(Ok(())) = self.ready.poll_ready(cx) {
                if drain(&self.socket, self.encapsulated, out) {
                    cx.waker().wake_by_ref();
                    return;
                }
            }
        }
    }

    /// Reads the queue; true if there may be more.
    fn drain(socket: &UdpSocket, encapsulated: bool, out: &mut Vec<IcmpMessage>) -> bool {
        for _ in 0..BATCH {
            let mut quoted = [0; QUOTED];
            let mut slices = [IoSliceMut::new(&mut quoted)];
            let mut control =
                nix::cmsg_space!(sock_extended_err, nix::libc::sockaddr_in6, [u64; 32]);
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let Ok(message) = recvmsg::<SockaddrStorage>(
                socket.as_raw_fd(),
                &mut slices,
                Some(&mut control),
                flags,
            ) else {
                return false;
            };
            let Some(destination) = message.address.as_ref().and_then(socket_address) else {
                continue;
            };
            let error = message.cmsgs().ok().and_then(|mut all| {
                all.find_map(|control| match control {
                    ControlMessageOwned::Ipv4RecvErr(error, _)
                    | ControlMessageOwned::Ipv6RecvErr(error, _) => Some(error),
                    _ => None,
                })
            });
            let Some((kind, local)) = error.and_then(|error| classify(&error, encapsulated)) else {
                continue;
            };
            let length = message.bytes;
            out.push(IcmpMessage {
                destination: AddressMap::plain(destination.ip()),
                encapsulation: (encapsulated && destination.port() != 0)
                    .then_some(destination.port()),
                kind,
                quoted: (!local).then(|| Bytes::copy_from_slice(&quoted[..length])),
            });
        }
        true
    }

    fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
        let v6 = || address.as_sockaddr_in6().map(|v6| SocketAddr::from((v6.ip(), v6.port())));
        v4.or_else(v6)
    }

    /// What an entry means, and whether it comes from this host; `None` for what RFC 9260 §10 lets
    /// us ignore (ICMP1 to ICMP4).
    pub(super) fn classify(
        error: &sock_extended_err,
        encapsulated: bool,
    ) -> Option<(IcmpKind, bool)> {
        const EMSGSIZE: u32 = nix::libc::EMSGSIZE as u32;
        let too_big = IcmpKind::TooBig { mtu: error.ee_info as usize };
        match (error.ee_origin, error.ee_type, error.ee_code) {
            (SO_EE_ORIGIN_LOCAL, ..) => (error.ee_errno == EMSGSIZE).then_some((too_big, true)),
            (SO_EE_ORIGIN_ICMP, 3, 4) | (SO_EE_ORIGIN_ICMP6, 2, _) => Some((too_big, false)),
            (SO_EE_ORIGIN_ICMP, 3, 2) | (SO_EE_ORIGIN_ICMP6, 4, 1) => {
                Some((IcmpKind::NoSctp, false))
            }
            //= RFC 9260 10-2
            //= RFC 6951 5.5-3 5.5-4 5.5-5
            // ICMP3: ports of SCTP are not what it speaks of. RFC 6951 §5.5: for encapsulated packets
            // it means that nobody there speaks SCTP.
            (SO_EE_ORIGIN_ICMP, 3, 3) | (SO_EE_ORIGIN_ICMP6, 1, 4) => {
                encapsulated.then_some((IcmpKind::NoSctp, false))
            }
            (SO_EE_ORIGIN_ICMP, 3, _) | (SO_EE_ORIGIN_ICMP6, 1, _) => {
                Some((IcmpKind::Unreachable, false))
            }
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        //= RFC 9260 10-2
        //= RFC 6951 5.5-3 5.5-4 5.5-5
        #[test]
        fn icmp_messages_are_told_apart() {
            const ICMP: (u8, u8) = (SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6);
            let what = |(origin, kind, code): (u8, u8, u8), encapsulated| {
                let error = sock_extended_err {
                    ee_errno: 0,
                    ee_origin: origin,
                    ee_type: kind,
                    ee_code: code,
                    ee_pad: 0,
                    ee_info: 1000,
                    ee_data: 0,
                };
                classify(&error, encapsulated).map(|(kind, _)| kind)
            };
            let too_big = Some(IcmpKind::TooBig { mtu: 1000 });
            for (message, expected) in [
                // Fragmentation Needed, Packet Too Big.
                ((ICMP.0, 3, 4), too_big),
                ((ICMP.1, 2, 0), too_big),
                // Protocol Unreachable, Unrecognized Next Header Type Encountered.
                ((ICMP.0, 3, 2), Some(IcmpKind::NoSctp)),
                ((ICMP.1, 4, 1), Some(IcmpKind::NoSctp)),
                // Host Unreachable, No Route to Destination.
                ((ICMP.0, 3, 1), Some(IcmpKind::Unreachable)),
                ((ICMP.1, 1, 0), Some(IcmpKind::Unreachable)),
                // Time Exceeded.
                ((ICMP.0, 11, 0), None),
            ] {
                assert_eq!(what(message, false), expected, "{message:?}");
                assert_eq!(what(message, true), expected, "{message:?} in UDP");
            }
            // RFC 9260 §10, ICMP3: "SHOULD ignore any ICMP messages where the code indicates 'Port
            // Unreachable'"; RFC 6951 §5.5: of encapsulated packets it says that there is no SCTP.
            for port_unreachable in [(ICMP.0, 3, 3), (ICMP.1, 1, 4)] {
                assert_eq!(what(port_unreachable, false), None);
                assert_eq!(what(port_unreachable, true), Some(IcmpKind::NoSctp));
            }
        }
    }
}
