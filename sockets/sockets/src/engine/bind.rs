//! Ports and addresses of sockets: `bind`, `sctp_bindx`, `getsockname`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tresse::AddressChange;

use super::socket::Socket;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{canonical, errno};

/// Whether two sockets with these addresses would get each other's packets.
fn overlap(a: (&[IpAddr], bool), b: (&[IpAddr], bool)) -> bool {
    // (addresses, serves IPv4 as well)
    let covers = |wide: (&[IpAddr], bool), ip: &IpAddr| {
        wide.0.iter().any(|w| {
            w == ip
                || (w.is_unspecified() && (w.is_ipv4() == ip.is_ipv4() || (w.is_ipv6() && wide.1)))
        })
    };
    a.0.iter().any(|ip| covers(b, ip)) || b.0.iter().any(|ip| covers(a, ip))
}

impl Engine {
    //= RFC 6458 3.1.2-1 4.1.2-1
    /// `bind` (`how` 0), or `sctp_bindx` that adds (1) or removes (2).
    pub(super) fn bind(&mut self, id: u64, addresses: &[SocketAddr], how: i64) -> Fallible<()> {
        let socket = self.socket(id)?;
        let first = *addresses.first().ok_or(errno::EINVAL)?;
        let ips: Vec<IpAddr> = addresses.iter().map(|a| canonical(*a).ip()).collect();
        if how == 2 {
            return self.unbind(id, &ips);
        }
        if how == 0 && socket.port.is_some() {
            return Err(errno::EINVAL);
        }
        //= RFC 6458 3.1.2-3 4.1.2-2 9.1-1
        if addresses.iter().any(|a| a.is_ipv6() && !socket.v6)
            || (socket.v6 && socket.options.v6_only && ips.iter().any(IpAddr::is_ipv4))
        {
            return Err(errno::EINVAL);
        }
        //= RFC 6458 9.1-2 9.1-4 9.1-5
        // RFC 6458 §9.1: "If the first port number is not zero, the following port numbers must be
        // zero or have the same value as the first one"; if it is, "All port numbers after the
        // first one being 0 must also be zero".
        if addresses.iter().any(|a| a.port() != 0 && a.port() != first.port()) {
            return Err(errno::EINVAL);
        }
        let requested = match (first.port(), socket.port) {
            (0, bound) => bound,
            //= RFC 6458 9.1-6
            (port, Some(bound)) if port != bound => return Err(errno::EINVAL),
            (port, _) => Some(port),
        };
        if how == 1 && ips.iter().any(|ip| socket.bound.contains(ip)) {
            return Err(errno::EINVAL);
        }
        // A socket of the same address shows whether it is one of this host's.
        for ip in &ips {
            if is_for_many(*ip) {
                return Err(errno::EADDRNOTAVAIL);
            }
            let zone = SocketAddr::new(*ip, 0);
            let zone = if ip.is_ipv6() && first.is_ipv6() { with_port_0(first, *ip) } else { zone };
            UdpSocket::bind(zone).map_err(|error| match error.raw_os_error() {
                Some(errno::EMFILE) => errno::EMFILE,
                _ => errno::EADDRNOTAVAIL,
            })?;
        }
        let port = match requested {
            Some(port) => {
                self.check_free(id, &ips, port)?;
                port
            }
            None => self.free_port()?,
        };
        let socket = self.socket(id)?;
        socket.port = Some(port);
        socket.bound.extend(&ips);
        socket.bound.dedup();
        self.tell_of_addresses(id, AddressChange::Add, &ips);
        self.refresh_open_port(Some(port))
    }

    fn unbind(&mut self, id: u64, ips: &[IpAddr]) -> Fallible<()> {
        let socket = self.socket(id)?;
        // As the kernel: one by one, and one has to stay.
        if socket.bound.len() > 1 && !ips.iter().all(|ip| socket.bound.contains(ip)) {
            return Err(errno::EINVAL);
        }
        if ips.len() >= socket.bound.len() {
            return Err(errno::EBUSY);
        }
        socket.bound.retain(|ip| !ips.contains(ip));
        let port = socket.port;
        self.tell_of_addresses(id, AddressChange::Delete, ips);
        self.refresh_open_port(port)
    }

    //= RFC 6458 8.1.27-2
    fn check_free(&self, id: u64, ips: &[IpAddr], port: u16) -> Fallible<()> {
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        let taken = self.sockets.iter().any(|(other_id, other)| {
            let reuses =
                |socket: &Socket| socket.options.reuse_address || socket.options.reuse_port;
            let shared = socket.options.share_port && other.options.share_port
                || reuses(socket) && reuses(other) && other.backlog.is_none();
            *other_id != id
                && other.port == Some(port)
                && !shared
                && overlap((ips, !socket.options.v6_only), (&other.bound, !other.options.v6_only))
        });
        //= RFC 9260 1.3-3
        if taken { Err(errno::EADDRINUSE) } else { Ok(()) }
    }

    /// RFC 6458 §8.1.27: "At most one socket being bound to the same port may be listening"; with SO_REUSEPORT several may.
    pub(super) fn check_only_listener(&self, id: u64) -> Fallible<()> {
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        let mine = (&socket.bound[..], !socket.options.v6_only);
        let another = self.sockets.iter().any(|(other_id, other)| {
            *other_id != id
                && other.backlog.is_some()
                && socket.port.is_some()
                && other.port == socket.port
                && !(socket.options.share_port && other.options.share_port)
                && overlap(mine, (&other.bound, !other.options.v6_only))
        });
        if another { Err(errno::EADDRINUSE) } else { Ok(()) }
    }

    /// A random dynamic port (RFC 6335 §6) that nobody has.
    fn free_port(&self) -> Fallible<u16> {
        for _ in 0..1000 {
            let mut random = [0; 2];
            getrandom::fill(&mut random).map_err(|_| errno::EADDRINUSE)?;
            let port = 0xc000 | u16::from_be_bytes(random);
            let taken = self.sockets.values().any(|s| s.port == Some(port));
            if !taken && !self.ports.contains(&port) {
                return Ok(port);
            }
        }
        Err(errno::EADDRINUSE)
    }

    /// Binds a socket that was not, as `connect` and `listen` do.
    pub(super) fn auto_bind(&mut self, id: u64) -> Fallible<()> {
        let socket = self.socket(id)?;
        if socket.port.is_some() {
            return Ok(());
        }
        let any =
            if socket.v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let port = self.free_port()?;
        let socket = self.socket(id)?;
        socket.port = Some(port);
        socket.bound = vec![any];
        Ok(())
    }

    /// Our addresses as `getsockname` and `sctp_getladdrs` tell them.
    pub(super) fn local_names(&self, id: u64, number: u32) -> Fallible<Vec<SocketAddr>> {
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        if socket.many && number != 0 && self.association_of(id, number).is_none() {
            return Err(errno::EINVAL);
        }
        let port = socket.port.unwrap_or(0);
        let mut ips = socket.bound.clone();
        let found = self.association_of(id, number).map(|(_, association)| association.core);
        let info = found.and_then(|core| self.raw.act(|endpoint, _| endpoint.info(core)));
        if let Some(info) = info.filter(|info| info.extensions.address_reconfiguration) {
            // What the peer has granted.
            ips = info.local_addresses;
        } else if let Some((_, association)) = self.association_of(id, number)
            && ips.iter().all(IpAddr::is_unspecified)
        {
            let paths = self.raw.act(|core, _| core.path_stats(association.core));
            let known: Vec<IpAddr> = paths.iter().filter_map(|path| path.local).collect();
            if !known.is_empty() {
                ips = known;
            }
        }
        if ips.is_empty() {
            ips.push(if socket.v6 {
                Ipv6Addr::UNSPECIFIED.into()
            } else {
                Ipv4Addr::UNSPECIFIED.into()
            });
        }
        Ok(ips.into_iter().map(|ip| socket.for_program(SocketAddr::new(ip, port))).collect())
    }
}

/// Whether an address is that of a group or a whole network, which no association can have.
pub(super) fn is_for_many(ip: IpAddr) -> bool {
    ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn with_port_0(like: SocketAddr, ip: IpAddr) -> SocketAddr {
    let mut address = like;
    address.set_ip(ip);
    address.set_port(0);
    address
}
