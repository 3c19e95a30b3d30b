//! All carriers of an endpoint: one for each local address.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(target_os = "linux")]
use crate::RawCarrier;
use crate::{
    CarrierStats, IcmpMessage, IncomingPacket, Outgoing, PacketSocket, Reactor, SocketOptions,
    UdpCarrier,
};

/// One socket of either kind.
#[derive(Debug)]
enum Link {
    Udp(UdpCarrier),
    #[cfg(target_os = "linux")]
    Raw(RawCarrier),
}

/// Calls a method of whichever kind it is.
macro_rules! either {
    ($link:expr, $carrier:ident => $call:expr) => {
        match $link {
            Link::Udp($carrier) => $call,
            #[cfg(target_os = "linux")]
            Link::Raw($carrier) => $call,
        }
    };
}

/// The carriers of an endpoint: one for each of its local addresses, all of one kind.
///
/// A packet leaves from the socket of its source address; without one, or if it is none of ours, from
/// the first socket that reaches the destination's address family.
#[derive(Debug)]
pub struct Carriers {
    links: Vec<Link>,
    /// Packets that no socket could take.
    homeless: u64,
}

impl Carriers {
    /// UDP encapsulation (RFC 6951) on every address of `local`; see [`UdpCarrier::bind`]. Several
    /// addresses share one port, as RFC 6951 §5.1 asks: port 0 of the second one and later ones means
    /// that of the first.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when there is no address, or when the ports differ; otherwise
    /// as [`UdpCarrier::bind`].
    pub fn udp(
        local: &[SocketAddr],
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<Carriers> {
        let mut links: Vec<Link> = Vec::new();
        let mut port = 0;
        for address in local {
            let mut address = *address;
            if address.port() == 0 {
                address.set_port(port);
            }
            same_port(port, address)?;
            let carrier =
                UdpCarrier::bind(address, options, reactor).map_err(|e| at(address, &e))?;
            port = carrier.local_addr().port();
            links.push(Link::Udp(carrier));
        }
        Carriers::of(links)
    }

    /// UDP encapsulation over sockets that are bound already, one for each local address, all to the same port; see
    /// [`UdpCarrier::from_socket`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when there is no socket, or when the ports differ; otherwise as
    /// [`UdpCarrier::from_socket`].
    pub fn from_sockets(
        sockets: impl IntoIterator<Item = UdpSocket>,
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<Carriers> {
        let mut links: Vec<Link> = Vec::new();
        let mut port = 0;
        for socket in sockets {
            let carrier = UdpCarrier::from_socket(socket, options, reactor)?;
            same_port(port, carrier.local_addr())?;
            port = carrier.local_addr().port();
            links.push(Link::Udp(carrier));
        }
        Carriers::of(links)
    }

    /// Raw IP on every address of `local`; see [`RawCarrier::bind`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when there is no address; otherwise as [`RawCarrier::bind`].
    #[cfg(target_os = "linux")]
    pub fn raw(
        local: &[IpAddr],
        options: SocketOptions,
        reactor: &Arc<dyn Reactor>,
    ) -> io::Result<Carriers> {
        let links: io::Result<Vec<Link>> = local
            .iter()
            .map(|address| {
                let carrier = RawCarrier::bind(*address, options, reactor);
                carrier.map(Link::Raw).map_err(|e| at(SocketAddr::new(*address, 0), &e))
            })
            .collect();
        Carriers::of(links?)
    }

    /// Raw IP, which this system does not have.
    ///
    /// # Errors
    /// Always [`io::ErrorKind::Unsupported`].
    #[cfg(not(target_os = "linux"))]
    pub fn raw(
        _local: &[IpAddr],
        _options: SocketOptions,
        _reactor: &Arc<dyn Reactor>,
    ) -> io::Result<Carriers> {
        let why = "SCTP on raw IP works on Linux only; use UDP encapsulation";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    fn of(links: Vec<Link>) -> io::Result<Carriers> {
        if links.is_empty() {
            let why = "an endpoint needs at least one local address";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Carriers { links, homeless: 0 })
    }

    fn local_addr(&self, link: usize) -> Option<SocketAddr> {
        self.links.get(link).map(|link| either!(link, carrier => carrier.local_addr()))
    }

    /// Waits for packets; see [`poll_recv`](Self::poll_recv). Dropping the future loses nothing.
    ///
    /// # Errors
    /// As `poll_recv`.
    pub async fn recv(&mut self, out: &mut Vec<IncomingPacket>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_recv(cx, out)).await
    }

    /// Waits until everything queued was sent; see [`poll_flush`](Self::poll_flush).
    pub async fn flush(&mut self) {
        poll_fn(|cx| self.poll_flush(cx)).await;
    }
}

/// A destination that no socket can reach by its address family counts as failed. Errors of single packets are counted
/// and do not stop the others; [`poll_recv`](PacketSocket::poll_recv) fails only when a socket is of no use any more.
/// Neighbours travel in one system call where that is possible.
impl PacketSocket for Carriers {
    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.links.iter().map(|link| either!(link, carrier => carrier.local_addr())).collect()
    }

    fn stats(&self) -> CarrierStats {
        let mut sum = CarrierStats { send_failed: self.homeless, ..CarrierStats::default() };
        for link in &self.links {
            sum.add(&either!(link, carrier => carrier.stats()));
        }
        sum
    }

    fn learn_zone(&mut self, peer: SocketAddr) {
        for link in &mut self.links {
            either!(link, carrier => carrier.learn_zone(peer));
        }
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<IncomingPacket>,
    ) -> Poll<io::Result<usize>> {
        let before = out.len();
        for link in &mut self.links {
            if let Poll::Ready(Err(e)) = either!(link, carrier => carrier.poll_recv(cx, out)) {
                return Poll::Ready(Err(e));
            }
        }
        match out.len() - before {
            0 => Poll::Pending,
            taken => Poll::Ready(Ok(taken)),
        }
    }

    fn poll_icmp(&mut self, cx: &mut Context<'_>, out: &mut Vec<IcmpMessage>) {
        for link in &mut self.links {
            either!(link, carrier => carrier.poll_icmp(cx, out));
        }
    }

    fn queue(&mut self, to: &Outgoing, packet: &[u8]) {
        match choose(|i| self.local_addr(i), to) {
            Some(i) => either!(&mut self.links[i], carrier => carrier.queue(to, packet)),
            None => self.homeless += 1,
        }
    }

    fn is_full(&self) -> bool {
        self.links.iter().any(|link| either!(link, carrier => carrier.is_full()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut all = Poll::Ready(());
        for link in &mut self.links {
            if either!(link, carrier => carrier.poll_flush(cx)).is_pending() {
                all = Poll::Pending;
            }
        }
        all
    }
}

/// Which of the sockets sends a packet; `socket` gives the address of the n-th one.
fn choose(socket: impl Fn(usize) -> Option<SocketAddr>, to: &Outgoing) -> Option<usize> {
    let first = |wanted: &dyn Fn(SocketAddr) -> bool| {
        let reaches = |socket: SocketAddr| {
            // An IPv6 wildcard socket for UDP serves both families; that of raw IP has port 0.
            let dual = socket.is_ipv6() && socket.ip().is_unspecified() && socket.port() != 0;
            socket.is_ipv4() == to.destination.is_ipv4() || dual
        };
        let mut sockets = (0..).map_while(&socket).enumerate();
        sockets.find(|(_, s)| reaches(*s) && wanted(*s)).map(|(i, _)| i)
    };
    first(&|s| Some(s.ip()) == to.source)
        .or_else(|| first(&|s| s.ip().is_unspecified()))
        .or_else(|| first(&|_| true))
}

/// Whether `address` has the port that those before it have, which is 0 for the first one.
fn same_port(port: u16, address: SocketAddr) -> io::Result<()> {
    if port == 0 || address.port() == port {
        return Ok(());
    }
    let why = "all local addresses must have the same UDP port (RFC 6951 §5.1)";
    let why = format!("{why}: {address} is not on port {port}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// `error` with the address in its text.
fn at(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{address}: {error}"))
}
