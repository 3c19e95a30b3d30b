//! SCTP in UDP datagrams (RFC 6951) on one socket.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::address::AddressMap;
use crate::alike::alike;
use crate::batch::{SendQueue, Target};
#[cfg(target_os = "linux")]
use crate::icmp::ErrorQueue;
#[cfg(target_os = "linux")]
use crate::labelled;
#[cfg(target_os = "linux")]
use crate::may_be_icmp;
use crate::reactor::{Readable, Writable};
use crate::receive::{Buffers, ReceiveBuffers};
#[cfg(target_os = "linux")]
use crate::sys;
use crate::{
    CarrierStats, DEFAULT_UDP_PORT, FlowLabel, IncomingPacket, IpLabels, Outgoing, Reactor,
    SocketOptions, ecn_of,
};

/// A UDP socket that carries SCTP packets, many per system call where the kernel can.
///
/// RFC 6951 §5.1: each stack uses a single local UDP port as destination of all its packets, so
/// one socket serves all associations. Bound to `0.0.0.0` it serves every IPv4 address of the
/// host, bound to `[::]` every IPv6 and IPv4 address.
///
/// IP fragmentation is forbidden where the system permits: a packet above the MTU of its route is
/// counted and lost, never fragmented.
#[derive(Debug)]
pub struct UdpCarrier {
    io: Arc<UdpSocket>,
    readable: Readable,
    state: UdpSocketState,
    local: SocketAddr,
    addresses: AddressMap,
    received: ReceiveBuffers,
    queue: SendQueue,
    /// A segmented send failed and the system was told to segment no more; the next single
    /// datagram shows whether segmentation or the destination was to blame.
    segmentation_in_doubt: bool,
    /// Datagrams at the front that leave one by one: together they were too large, and only single
    /// ones make the system say what would fit.
    singly: usize,
    #[cfg(target_os = "linux")]
    errors: ErrorQueue,
    writable: Writable,
    stats: CarrierStats,
}

alike!(UdpCarrier);

impl UdpCarrier {
    /// Binds a socket. Port 0 lets the system choose; [`DEFAULT_UDP_PORT`] is the registered one.
    ///
    /// # Errors
    /// Those of the system, such as an address in use, and of the reactor.
    pub fn bind(
        local: SocketAddr,
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<UdpCarrier> {
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if local.is_ipv6() {
            // The wildcard of IPv6 also serves IPv4; systems differ in the default.
            socket.set_only_v6(!local.ip().is_unspecified())?;
        }
        socket.set_nonblocking(true)?;
        if let Some(shard) = options.shard {
            if shard.index == 0 && local.port() != 0 {
                // Sharing would hide that another program has the port.
                drop(UdpCarrier::bind(local, SocketOptions { shard: None, ..options }, reactor)?);
            }
            shard.share(&socket)?;
        }
        socket.bind(&local.into())?;
        if let Some(shard) = options.shard {
            shard.steer_udp(&socket)?;
        }
        // Best effort: with small buffers everything works, with more loss.
        let _ = socket.set_recv_buffer_size(options.receive_buffer);
        let _ = socket.set_send_buffer_size(options.send_buffer);
        UdpCarrier::over(socket.into(), reactor)
    }

    /// Takes a socket that is bound already. Its buffers are enlarged to those of `options`, never reduced; a shard has no
    /// meaning here.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the socket is of no use here: not bound to a port, connected, bound to an IPv4
    /// address in its IPv6 form, or to `[::]` for IPv6 only; otherwise those of the system and of the reactor.
    pub fn from_socket(
        socket: UdpSocket,
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<UdpCarrier> {
        let settings = SockRef::from(&socket);
        usable(&socket, &settings)?;
        settings.set_nonblocking(true)?;
        // Best effort, as above. A system that does not tell them leaves them as they are.
        if settings.recv_buffer_size().is_ok_and(|size| size < options.receive_buffer) {
            let _ = settings.set_recv_buffer_size(options.receive_buffer);
        }
        if settings.send_buffer_size().is_ok_and(|size| size < options.send_buffer) {
            let _ = settings.set_send_buffer_size(options.send_buffer);
        }
        UdpCarrier::over(socket, reactor)
    }

    fn over(socket: UdpSocket, reactor: &Arc<dyn Reactor>) -> io::Result<UdpCarrier> {
        let io = Arc::new(socket);
        let state = UdpSocketState::new((&*io).into())?;
        #[cfg(target_os = "linux")]
        let _ = sys::without_arrival_times(&*io);
        let local = io.local_addr()?;
        #[cfg(target_os = "linux")]
        let errors = ErrorQueue::new(&io, &**reactor, local.is_ipv6(), true)?;
        Ok(UdpCarrier {
            readable: Readable::new(&**reactor, &io)?,
            io,
            state,
            local,
            addresses: AddressMap::new(local),
            received: ReceiveBuffers::default(),
            queue: SendQueue::default(),
            segmentation_in_doubt: false,
            singly: 0,
            #[cfg(target_os = "linux")]
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
        let UdpCarrier { io, readable, state, local, addresses, received, stats, .. } = self;
        let recv = |cx: &mut Context<'_>, (buffers, metas): Buffers<'_, '_>| {
            readable.poll(cx, || state.recv((&**io).into(), buffers, metas))
        };
        received.poll(cx, out, stats, recv, |meta, buffer, stats, out| {
            split(meta, buffer, *local, addresses, stats, out);
        })
    }

    /// Waits for packets; see [`poll_recv`](Self::poll_recv). Dropping the future loses nothing.
    ///
    /// # Errors
    /// As `poll_recv`.
    pub async fn recv(&mut self, out: &mut Vec<IncomingPacket>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_recv(cx, out)).await
    }

    /// Accepts one packet for sending; [`poll_flush`](Self::poll_flush) sends it. Neighbours with
    /// equal length and destination travel in one system call.
    ///
    /// A destination that this socket cannot reach by its address family counts as failed.
    pub fn queue(&mut self, to: &Outgoing, packet: &[u8]) {
        //= RFC 6951 5.3-1 5.3-2
        let port = to.encapsulation.unwrap_or(DEFAULT_UDP_PORT);
        let Some(destination) =
            self.addresses.for_socket(to.destination, port).filter(|_| port != 0)
        else {
            self.stats.send_failed += 1;
            return;
        };
        // A socket bound to one address has no choice, and a source of the other family is none.
        let source = to.source.filter(|source| {
            self.local.ip().is_unspecified()
                && !source.is_unspecified()
                && source.is_ipv4() == to.destination.is_ipv4()
        });
        let interface = self.addresses.interface(source, to.destination);
        let labels = IpLabels { flow: FlowLabel::NONE, ..to.labels };
        let (ecn, fragments) = (to.ecn, to.fragments);
        let target = Target { destination, source, interface, ecn, labels, fragments };
        self.queue.push(target, packet, self.state.max_gso_segments());
    }

    /// Sends what is queued. Pending when the system's buffer is full: the rest stays queued.
    /// Errors of single datagrams are counted and do not stop the others.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut blocked = false;
        while !self.queue.is_empty() {
            if self.send_front() {
                continue;
            }
            let UdpCarrier { io, writable, queue, stats, .. } = self;
            ready!(queue.poll_room(cx, &mut blocked, stats, |cx| writable.poll(cx, io)));
        }
        Poll::Ready(())
    }

    /// Waits until everything queued was sent; see [`poll_flush`](Self::poll_flush).
    pub async fn flush(&mut self) {
        poll_fn(|cx| self.poll_flush(cx)).await;
    }

    /// Queues the packets and waits until they were sent.
    pub async fn send(&mut self, packets: &[(Outgoing, Bytes)]) {
        for (to, packet) in packets {
            self.queue(to, packet);
            if self.is_full() {
                self.flush().await;
            }
        }
        self.flush().await;
    }

    /// Sends the front batch; false if the system's buffer is full.
    fn send_front(&mut self) -> bool {
        let Some((batch, bytes)) = self.queue.front() else { return true };
        // After a failure with segmentation `max_gso_segments` is 1: one datagram at a time.
        let whole = self.singly == 0 && batch.datagrams() <= self.state.max_gso_segments();
        let (datagrams, bytes) = if whole {
            (batch.datagrams(), bytes)
        } else {
            (1, &bytes[..batch.segment.min(bytes.len())])
        };
        let transmit = Transmit {
            destination: batch.target.destination,
            ecn: EcnCodepoint::from_bits(batch.target.ecn.bits()),
            contents: bytes,
            segment_size: (datagrams > 1).then_some(batch.segment),
            src_ip: batch.target.source,
        };
        let len = bytes.len();
        let segmented_before = self.state.max_gso_segments() > 1;
        let result = self.send_now(&transmit, &batch.target);
        match result {
            Ok(()) => {
                self.segmentation_in_doubt = false;
                self.stats.send_calls += 1;
                self.stats.datagrams_sent += datagrams as u64;
                self.stats.bytes_sent += len as u64;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return false,
            Err(_) if datagrams > 1 && self.state.max_gso_segments() == 1 => {
                self.segmentation_in_doubt = true;
                return true; // Again, in pieces: the device may not know how to segment.
            }
            Err(e)
                if datagrams > 1
                    && (quinn_udp::is_msg_size_err(&e)
                        || batch.target.labels != IpLabels::default()) =>
            {
                // What has a DSCP does not show whether the device can segment.
                self.singly = datagrams;
                return true;
            }
            Err(e) => {
                if quinn_udp::is_msg_size_err(&e) {
                    self.stats.send_too_large += datagrams as u64;
                } else {
                    self.stats.send_failed += datagrams as u64;
                }
                let gave_up = segmented_before && self.state.max_gso_segments() == 1;
                if (gave_up || self.segmentation_in_doubt) && datagrams == 1 {
                    self.restore_segmentation();
                }
            }
        }
        self.queue.advance(datagrams);
        self.singly = self.singly.saturating_sub(datagrams);
        true
    }

    /// One system call, or two.
    #[cfg(target_os = "linux")]
    fn send_now(&self, transmit: &Transmit<'_>, target: &Target) -> io::Result<()> {
        let Target { fragments, interface, .. } = *target;
        // The socket has these settings, not the datagram.
        if fragments.are_allowed() {
            let _ = sys::allow_fragmentation(&*self.io, self.local.is_ipv6(), true);
        }
        if interface != 0 {
            let _ = sys::leave_by(&*self.io, interface);
        }
        // The library leaves all of the TOS byte and the Traffic Class 0 but the ECN field.
        let send = || match target.labels == IpLabels::default() {
            true => self.state.try_send((&*self.io).into(), transmit),
            false => labelled::send(&self.io, transmit, target),
        };
        let mut result = send();
        // An ICMP message makes one call fail, whatever is in it: that datagram was not sent.
        let icmp = |e: &io::Error| may_be_icmp(e.raw_os_error().unwrap_or(0));
        if result.as_ref().is_err_and(icmp) {
            result = send();
        }
        if interface != 0 {
            let _ = sys::leave_by(&*self.io, 0);
        }
        if fragments.are_allowed() {
            let _ = sys::allow_fragmentation(&*self.io, self.local.is_ipv6(), false);
        }
        result
    }

    /// One system call.
    #[cfg(not(target_os = "linux"))]
    fn send_now(&self, transmit: &Transmit<'_>, _target: &Target) -> io::Result<()> {
        self.state.try_send((&*self.io).into(), transmit)
    }

    /// One bad destination must not cost all others their segmentation: a datagram that fails
    /// alone proves that segmentation was not the reason.
    fn restore_segmentation(&mut self) {
        self.segmentation_in_doubt = false;
        if let Ok(state) = UdpSocketState::new((&*self.io).into()) {
            self.state = state;
        }
    }
}

/// Whether a socket that was bound elsewhere can carry SCTP; why not, if not.
fn usable(socket: &UdpSocket, settings: &SockRef<'_>) -> io::Result<()> {
    let invalid = |why: String| Err(io::Error::new(ErrorKind::InvalidInput, why));
    let local = socket.local_addr()?;
    if local.port() == 0 {
        return invalid("the socket is not bound: bind it to an address first".to_owned());
    }
    if let Ok(peer) = socket.peer_addr() {
        return invalid(format!(
            "the socket at {local} is connected to {peer}: an endpoint takes one that hears all peers"
        ));
    }
    match local.ip() {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            invalid(format!("the socket at {local} is one of IPv6: bind one of IPv4 there"))
        }
        // An IPv6 wildcard serves both families here.
        IpAddr::V6(ip) if ip.is_unspecified() && settings.only_v6()? => invalid(format!(
            "the socket at {local} is for IPv6 only: turn IPV6_V6ONLY off before it is bound"
        )),
        _ => Ok(()),
    }
}

/// Cuts a received run into datagrams, each copied to memory of its own.
fn split(
    meta: &RecvMeta,
    buffer: &[u8],
    local: SocketAddr,
    addresses: &mut AddressMap,
    stats: &mut CarrierStats,
    out: &mut Vec<IncomingPacket>,
) {
    let data = &buffer[..meta.len.min(buffer.len())];
    if data.is_empty() || meta.addr.port() == 0 {
        stats.recv_invalid += 1;
        return;
    }
    let source = addresses.heard(meta.addr);
    let destination: IpAddr = AddressMap::plain(meta.dst_ip.unwrap_or(local.ip()));
    addresses.arrived(destination, meta.interface_index);
    let ecn = ecn_of(meta);
    for datagram in data.chunks(if meta.stride == 0 { data.len() } else { meta.stride }) {
        stats.datagrams_received += 1;
        stats.bytes_received += datagram.len() as u64;
        out.push(IncomingPacket {
            source,
            destination,
            encapsulation: Some(meta.addr.port()),
            ecn,
            packet: Bytes::copy_from_slice(datagram),
        });
    }
}
