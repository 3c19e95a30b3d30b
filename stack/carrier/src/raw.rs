//! SCTP directly on IP (protocol 132) on one raw socket.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};
use quinn_udp::{RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::address::AddressMap;
use crate::alike::alike;
use crate::batch::{SendQueue, Target};
use crate::fragments::{Fragments, PASSES};
use crate::icmp::ErrorQueue;
use crate::labelled::{HEADER, labelled_header, packet_info};
use crate::reactor::{Readable, Writable};
use crate::receive::{Buffers, ReceiveBuffers};
use crate::shard::see_nothing;
use crate::sys;
use crate::{
    CarrierStats, IncomingPacket, IpFragments, Outgoing, RAW_MARK, Reactor, SocketOptions, ecn_of,
    may_be_icmp,
};

/// The protocol number of SCTP in the IP header (RFC 9260 §15).
const IPPROTO_SCTP: i32 = 132;

/// Packets handed to the system in one call at most.
const SEND_BATCH: usize = 64;

/// A raw socket that carries SCTP packets of one address family, many per system call.
///
/// It needs the capability `CAP_NET_RAW`. It sees every SCTP packet for its address, whatever the
/// port: whoever is behind it must pass over ports that are not its own without a word.
///
/// Packets leave with DF set and are never larger than the interface allows, except those for which
/// [`Outgoing::fragments`] asks for fragmentation: over IPv4 routers see to that, over IPv6 the carrier, or the system.
#[derive(Debug)]
pub struct RawCarrier {
    /// A raw socket, whatever its type says: what is done to it is the same.
    io: Arc<UdpSocket>,
    /// Takes nothing, and so is never full: to the kernel there is somebody for SCTP here even while the buffer of `io` is
    /// full. Without it, it answers with Protocol Unreachable, which ends the peer's association (RFC 9260 §10 ICMP8).
    _present: Socket,
    readable: Readable,
    state: UdpSocketState,
    local: SocketAddr,
    addresses: AddressMap,
    received: ReceiveBuffers,
    queue: SendQueue,
    /// The packet at the front, if some of its fragments have left.
    fragments: Option<Fragments>,
    errors: ErrorQueue,
    writable: Writable,
    stats: CarrierStats,
}

alike!(RawCarrier);

impl RawCarrier {
    /// Opens a socket on one local address, or on all of a family if it is unspecified.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without the capability `CAP_NET_RAW`, with a text that says
    /// so; others are those of the system, such as an address that is not ours, and of the reactor.
    pub fn bind(
        local: IpAddr,
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<RawCarrier> {
        let local = SocketAddr::new(local, 0);
        let domain = Domain::for_address(local);
        let open = || Socket::new(domain, Type::RAW, Some(Protocol::from(IPPROTO_SCTP)));
        let socket = open().map_err(explain)?;
        socket.set_nonblocking(true)?;
        if let Some(shard) = options.shard {
            shard.steer_raw(&socket)?;
        }
        socket.bind(&local.into())?;
        let present = open()?;
        see_nothing(&present)?;
        present.bind(&local.into())?;
        // Best effort: with small buffers everything works, with more loss; without the mark (it
        // needs CAP_NET_RAW since Linux 5.17, CAP_NET_ADMIN before) only packet filters lose.
        let _ = socket.set_recv_buffer_size(options.receive_buffer);
        let _ = socket.set_send_buffer_size(options.send_buffer);
        let _ = socket.set_mark(RAW_MARK);
        // It asks for the destination address and the ECN field of each packet, and sets DF. What it
        // asks of UDP alone a raw socket refuses, and it copes.
        let state = UdpSocketState::new((&socket).into())?;
        let io = Arc::new(UdpSocket::from(socket));
        let errors = ErrorQueue::new(&io, &**reactor, local.is_ipv6(), false)?;
        Ok(RawCarrier {
            readable: Readable::new(&**reactor, &io)?,
            io,
            _present: present,
            state,
            local,
            addresses: AddressMap::new(local),
            received: ReceiveBuffers::default(),
            queue: SendQueue::default(),
            fragments: None,
            errors,
            writable: Writable::new(Arc::clone(reactor)),
            stats: CarrierStats::default(),
        })
    }

    /// Appends the packets that have arrived to `out` and gives their number, at least 1.
    ///
    /// # Errors
    /// Only those after which the socket is of no use.
    pub fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<IncomingPacket>,
    ) -> Poll<io::Result<usize>> {
        let RawCarrier { io, readable, state, local, addresses, received, stats, .. } = self;
        let recv = |cx: &mut Context<'_>, (buffers, metas): Buffers<'_, '_>| {
            readable.poll(cx, || state.recv((&**io).into(), buffers, metas))
        };
        received.poll(cx, out, stats, recv, |meta, buffer, stats, out| {
            take(meta, buffer, local.ip(), addresses, stats, out);
        })
    }

    /// Accepts one packet for sending; [`poll_flush`](Self::poll_flush) sends it.
    ///
    /// A destination of the other address family counts as failed.
    pub fn queue(&mut self, to: &Outgoing, packet: &[u8]) {
        let Some(destination) = self.addresses.for_socket(to.destination, 0) else {
            self.stats.send_failed += 1;
            return;
        };
        let bound = Some(self.local.ip()).filter(|ip| !ip.is_unspecified());
        let source = bound.or(to.source.filter(|s| s.is_ipv4() == to.destination.is_ipv4()));
        let interface = self.addresses.interface(source, to.destination);
        let (ecn, labels) = (to.ecn, to.labels);
        // What every link takes needs no fragments.
        let fragments = match to.fragments {
            IpFragments::Needed if self.local.is_ipv6() && packet.len() <= PASSES => {
                IpFragments::Forbidden
            }
            fragments => fragments,
        };
        let target = Target { destination, source, interface, ecn, labels, fragments };
        self.queue.push(target, packet, 1);
    }

    /// Sends what is queued. Pending when the system's buffer is full: the rest stays queued.
    /// Errors of single packets are counted and do not stop the others.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut blocked = false;
        while let Some((first, _)) = self.queue.front() {
            let needed = first.target.fragments == IpFragments::Needed;
            // Over IPv6 no router makes fragments.
            let there_is_room = if needed && self.local.is_ipv6() {
                self.send_fragments(&first.target)
            } else {
                self.send_front(first.target)
            };
            if there_is_room {
                continue;
            }
            let RawCarrier { io, writable, queue, stats, .. } = self;
            ready!(queue.poll_room(cx, &mut blocked, stats, |cx| writable.poll(cx, io)));
        }
        // What was at the front may have been given up.
        self.fragments = None;
        Poll::Ready(())
    }

    /// Sends the packets at the front that differ in their destination only; false if the system's
    /// buffer is full.
    fn send_front(&mut self, target: Target) -> bool {
        let alike = |other: &Target| Target { destination: target.destination, ..*other } == target;
        let (mut slices, mut destinations, mut headers) = (Vec::new(), Vec::new(), Vec::new());
        for (batch, bytes) in self.queue.iter().take(SEND_BATCH) {
            if !alike(&batch.target) {
                break;
            }
            headers.push(labelled_header(&batch.target, bytes.len()));
            slices.push(bytes);
            destinations.push(Some(SockaddrStorage::from(batch.target.destination)));
        }
        if target.fragments.are_allowed() {
            // Only this packet: the socket has the setting, not the packet.
            slices.truncate(1);
            destinations.truncate(1);
            let _ = sys::allow_fragmentation(&*self.io, self.local.is_ipv6(), true);
        }
        // With all, for they differ in their destination only.
        let labelled =
            headers.iter().all(Option::is_some) && sys::headers_are_there(&*self.io, true).is_ok();
        let header = |n: usize| headers[n].as_ref().filter(|_| labelled).map_or(&[][..], |h| h);
        let slices = slices.iter().enumerate();
        let slices: Vec<_> =
            slices.map(|(n, bytes)| [IoSlice::new(header(n)), IoSlice::new(bytes)]).collect();
        let result = self.send_now(&target, &slices, &destinations);
        if labelled {
            let _ = sys::headers_are_there(&*self.io, false);
        }
        if target.fragments.are_allowed() {
            let _ = sys::allow_fragmentation(&*self.io, self.local.is_ipv6(), false);
        }
        match result {
            Ok(bytes) => {
                self.stats.send_calls += 1;
                self.stats.datagrams_sent += bytes.len() as u64;
                let extra = if labelled { HEADER * bytes.len() } else { 0 };
                self.stats.bytes_sent += (bytes.iter().sum::<usize>() - extra) as u64;
                for _ in bytes {
                    self.queue.advance(1);
                }
            }
            Err(Errno::EAGAIN) => return false,
            Err(error) => self.give_up(error),
        }
        true
    }

    /// Sends what has not left of the packet at the front, in fragments; false if the system's buffer is full.
    fn send_fragments(&mut self, target: &Target) -> bool {
        let Some((_, packet)) = self.queue.front() else { return true };
        let begun = self.fragments.take().map_or_else(|| Fragments::begin(target), Ok);
        // Where the system gives no source or takes no headers, it may fragment the packet for what it knows of the way.
        let Ok(mut fragments) = begun else { return self.send_front(*target) };
        let Some(rest) = fragments.rest(target, packet) else {
            self.give_up(Errno::EMSGSIZE);
            return true;
        };
        let slices: Vec<_> =
            rest.iter().map(|(header, part)| [IoSlice::new(header), IoSlice::new(part)]).collect();
        let destinations = vec![Some(SockaddrStorage::from(target.destination)); slices.len()];
        if sys::headers_are_there(&*self.io, true).is_err() {
            return self.send_front(*target);
        }
        let result = self.send_now(target, &slices, &destinations);
        let _ = sys::headers_are_there(&*self.io, false);
        match result {
            Ok(sent) => {
                self.stats.send_calls += 1;
                if fragments.have_left(sent.len(), packet) {
                    self.stats.datagrams_sent += 1;
                    self.stats.bytes_sent += packet.len() as u64;
                    self.queue.advance(1);
                } else {
                    self.fragments = Some(fragments);
                }
            }
            Err(Errno::EAGAIN) => {
                self.fragments = Some(fragments);
                return false;
            }
            // Those that have left are of no use to anybody.
            Err(error) => self.give_up(error),
        }
        true
    }

    /// The packet at the front is lost.
    fn give_up(&mut self, error: Errno) {
        if error == Errno::EMSGSIZE {
            self.stats.send_too_large += 1;
        } else {
            self.stats.send_failed += 1;
        }
        self.queue.advance(1);
    }

    /// One system call; gives the lengths of the packets that left.
    fn send_now(
        &self,
        target: &Target,
        slices: &[[IoSlice<'_>; 2]],
        destinations: &[Option<SockaddrStorage>],
    ) -> Result<Vec<usize>, Errno> {
        let bits = target.labels.class(target.ecn);
        let (v4, v6) = packet_info(target.source, target.interface);
        let class = i32::from(bits);
        let (controls, space) = if self.local.is_ipv4() {
            (
                [ControlMessage::Ipv4Tos(&bits), ControlMessage::Ipv4PacketInfo(&v4)],
                nix::cmsg_space!(u8, libc::in_pktinfo),
            )
        } else {
            (
                [ControlMessage::Ipv6TClass(&class), ControlMessage::Ipv6PacketInfo(&v6)],
                nix::cmsg_space!(i32, libc::in6_pktinfo),
            )
        };
        let send = || {
            let mut headers = MultiHeaders::preallocate(slices.len(), Some(space.clone()));
            let fd = self.io.as_raw_fd();
            let sent =
                sendmmsg(fd, &mut headers, slices, destinations, controls, MsgFlags::empty())?;
            Ok(sent.map(|message| message.bytes).collect())
        };
        match send() {
            // An ICMP message makes one call fail, whatever is in it: that one was not sent.
            Err(error) if may_be_icmp(error as i32) => send(),
            result => result,
        }
    }
}

fn explain(error: io::Error) -> io::Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    io::Error::new(
        ErrorKind::PermissionDenied,
        "SCTP on raw IP needs the capability CAP_NET_RAW: run as root or allow it with \
         `setcap cap_net_raw+ep PROGRAM`, or use UDP encapsulation, which needs none",
    )
}

/// Takes a packet out of its buffer, without the IP header that IPv4 sockets give.
fn take(
    meta: &RecvMeta,
    buffer: &[u8],
    local: IpAddr,
    addresses: &mut AddressMap,
    stats: &mut CarrierStats,
    out: &mut Vec<IncomingPacket>,
) {
    let data = &buffer[..meta.len.min(buffer.len())];
    let header = match data.first() {
        Some(first) if meta.addr.is_ipv4() => usize::from(first & 0x0f) * 4,
        _ => 0,
    };
    let packet = data.get(header..).unwrap_or_default();
    if packet.is_empty() {
        stats.recv_invalid += 1;
        return;
    }
    stats.datagrams_received += 1;
    stats.bytes_received += packet.len() as u64;
    let destination = meta.dst_ip.unwrap_or(local);
    addresses.arrived(destination, meta.interface_index);
    out.push(IncomingPacket {
        source: addresses.heard(meta.addr),
        destination,
        encapsulation: None,
        ecn: ecn_of(meta),
        packet: Bytes::copy_from_slice(packet),
    });
}
