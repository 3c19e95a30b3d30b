//! Options of other levels than SCTP's: of sockets, and of IP.

use tresse::Dscp;

use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{
    AF_INET, AF_INET6, SCTP, SOCK_SEQPACKET, SOCK_STREAM, SOL_IP, SOL_IPV6, SOL_SOCKET, Struct,
    errno,
};

/// What the least buffers are in Linux, with what it adds to what was asked for.
const LEAST_SEND_BUFFER: u32 = 4608;
const LEAST_RECEIVE_BUFFER: u32 = 2304;

/// Options that are kept and given back, without an effect but IP_TOS and IPV6_TCLASS: level, name, default, smallest and
/// largest value. Those whose values are 0 and 1 take every number for a 1.
const KEPT: &[(i32, i32, i32, i32, i32)] = &[
    (SOL_SOCKET, 1, 0, 0, 1),                 // SO_DEBUG
    (SOL_SOCKET, 5, 0, 0, 1),                 // SO_DONTROUTE
    (SOL_SOCKET, 6, 0, 0, 1),                 // SO_BROADCAST
    (SOL_SOCKET, 9, 0, 0, 1),                 // SO_KEEPALIVE
    (SOL_SOCKET, 10, 0, 0, 1),                // SO_OOBINLINE
    (SOL_SOCKET, 11, 0, 0, 1),                // SO_NO_CHECK
    (SOL_SOCKET, 12, 0, 0, 6),                // SO_PRIORITY
    (SOL_SOCKET, 16, 0, 0, 1),                // SO_PASSCRED
    (SOL_SOCKET, 18, 1, 0, i32::MAX),         // SO_RCVLOWAT
    (SOL_SOCKET, 29, 0, 0, 1),                // SO_TIMESTAMP
    (SOL_SOCKET, 35, 0, 0, 1),                // SO_TIMESTAMPNS
    (SOL_SOCKET, 36, 0, i32::MIN, i32::MAX),  // SO_MARK
    (SOL_SOCKET, 40, 0, 0, 1),                // SO_RXQ_OVFL
    (SOL_SOCKET, 46, 0, 0, i32::MAX),         // SO_BUSY_POLL
    (SOL_SOCKET, 47, -1, i32::MIN, i32::MAX), // SO_MAX_PACING_RATE
    (SOL_IP, 1, 0, 0, 255),                   // IP_TOS
    (SOL_IP, 2, 64, 1, 255),                  // IP_TTL
    (SOL_IP, 6, 0, 0, 1),                     // IP_RECVOPTS
    (SOL_IP, 7, 0, 0, 1),                     // IP_RETOPTS
    (SOL_IP, 8, 0, 0, 1),                     // IP_PKTINFO
    (SOL_IP, 10, 1, 0, 5),                    // IP_MTU_DISCOVER
    (SOL_IP, 11, 0, 0, 1),                    // IP_RECVERR
    (SOL_IP, 12, 0, 0, 1),                    // IP_RECVTTL
    (SOL_IP, 13, 0, 0, 1),                    // IP_RECVTOS
    (SOL_IP, 15, 0, 0, 1),                    // IP_FREEBIND
    (SOL_IP, 19, 0, 0, 1),                    // IP_TRANSPARENT
    (SOL_IP, 20, 0, 0, 1),                    // IP_RECVORIGDSTADDR
    (SOL_IP, 21, 0, 0, 255),                  // IP_MINTTL
    (SOL_IP, 24, 0, 0, 1),                    // IP_BIND_ADDRESS_NO_PORT
    (SOL_IP, 49, 1, 0, 1),                    // IP_MULTICAST_ALL
    (SOL_IPV6, 16, 64, 0, 255),               // IPV6_UNICAST_HOPS
    (SOL_IPV6, 23, 1, 0, 5),                  // IPV6_MTU_DISCOVER
    (SOL_IPV6, 25, 0, 0, 1),                  // IPV6_RECVERR
    (SOL_IPV6, 49, 0, 0, 1),                  // IPV6_RECVPKTINFO
    (SOL_IPV6, 51, 0, 0, 1),                  // IPV6_RECVHOPLIMIT
    (SOL_IPV6, 66, 0, 0, 1),                  // IPV6_RECVTCLASS
    (SOL_IPV6, 67, 0, 0, 255),                // IPV6_TCLASS
    (SOL_IPV6, 70, 1, 0, 1),                  // IPV6_AUTOFLOWLABEL
    (SOL_IPV6, 78, 0, 0, 1),                  // IPV6_FREEBIND
];

/// Default, smallest and largest value of an option that is kept.
fn kept(level: i32, option: i32) -> Option<(i32, i32, i32)> {
    let row = KEPT.iter().find(|row| (row.0, row.1) == (level, option))?;
    Some((row.2, row.3, row.4))
}

fn int(value: u32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

impl Engine {
    /// `setsockopt` of levels other than SCTP.
    //= RFC 6458 8.1.4-1 8.1.6-1 8.1.7-1
    pub(super) fn set_other(
        &mut self,
        id: u64,
        (level, option): (i32, i32),
        value: &[u8],
    ) -> Fallible<()> {
        let socket = self.socket(id)?;
        if !(level == SOL_SOCKET || level == SOL_IP || (level == SOL_IPV6 && socket.v6)) {
            return Err(errno::ENOPROTOOPT);
        }
        if (level, option) == (SOL_IPV6, name::IPV6_V6ONLY) {
            let on = at_least(value, 4)?.u32(0) != 0;
            if socket.port.is_some() {
                return Err(errno::EINVAL);
            }
            socket.options.v6_only = on;
            return Ok(());
        }
        if let Some((default, least, most)) = kept(level, option) {
            // Options of IP may be single bytes.
            let given = match value {
                [byte, rest @ ..] if rest.len() < 3 && level == SOL_IP => i32::from(*byte),
                _ => at_least(value, 4)?.u32(0) as i32,
            };
            let given = match given {
                -1 if level != SOL_SOCKET => default,
                given if (least, most) == (0, 1) => i32::from(given != 0),
                // Two bits of it belong to congestion notification.
                given if (level, option) == (SOL_IP, name::IP_TOS) && !socket.many => given & !3,
                given => given,
            };
            if !(least..=most).contains(&given) {
                return Err(errno::EINVAL);
            }
            socket.options.kept.insert((level, option), given);
            return match (level, option) {
                (SOL_IP, name::IP_TOS) | (SOL_IPV6, name::IPV6_TCLASS) => {
                    self.set_class(id, given as u8)
                }
                _ => Ok(()),
            };
        }
        if level == SOL_SOCKET {
            self.set_socket(id, option, value)
        } else {
            Err(errno::ENOPROTOOPT)
        }
    }

    /// IP_TOS or IPV6_TCLASS: the DSCP of all associations of the socket, and of those to come. That of SCTP_PEER_ADDR_PARAMS "has
    /// precedence over any IPv4- or IPv6-layer setting" (RFC 6458 §8.1.12), also over a later one. The one that was set last holds
    /// for addresses of both families.
    fn set_class(&mut self, id: u64, class: u8) -> Fallible<()> {
        let dscp = Dscp::of_class(class);
        let socket = self.socket(id)?;
        let port = socket.port;
        if !socket.options.own_dscp {
            socket.options.config.labels.dscp = dscp;
        }
        let numbers: Vec<u32> = socket.associations.iter().copied().collect();
        for association in numbers.iter().filter_map(|number| self.associations.get(number)) {
            let (core, (all, some)) = (association.core, &association.own_dscp);
            if *all {
                continue;
            }
            let mut paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
            paths.retain(|path| some.contains(&path.remote));
            self.change_core(core, |config| config.labels.dscp = dscp)?;
            for path in paths {
                // It may have gone.
                let _ = self.raw.act(|e, now| e.configure_path(now, core, path.id, path.settings));
            }
        }
        self.refresh_open_port(port)
    }

    fn set_socket(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 4)?;
        // More than that nobody means.
        let size = f.u32(0).min(1 << 28);
        let socket = self.socket(id)?;
        let options = &mut socket.options;
        match option {
            name::SO_REUSEADDR => options.reuse_address = f.u32(0) != 0,
            name::SO_REUSEPORT => options.share_port = f.u32(0) != 0,
            name::SO_LINGER => {
                options.linger = (at_least(value, 8)?.u32(0) != 0).then(|| f.u32(4));
            }
            // Linux doubles what is asked for, to make room for its bookkeeping. What an administrator may force there is up to who
            // runs the engine here.
            name::SO_SNDBUF | name::SO_SNDBUFFORCE => {
                options.config.send_buffer = (size * 2).max(LEAST_SEND_BUFFER) as usize;
                return self.reconfigure(id, 0, |_| {});
            }
            name::SO_RCVBUF | name::SO_RCVBUFFORCE => {
                options.receive_buffer = (size * 2).max(LEAST_RECEIVE_BUFFER);
                options.config.receive_buffer = options.receive_buffer.max(4096);
                let port = socket.port;
                socket.limit_connection();
                return self.refresh_open_port(port);
            }
            _ => return Err(errno::ENOPROTOOPT),
        }
        Ok(())
    }

    /// `getsockopt` of levels other than SCTP.
    pub(super) fn get_other(&mut self, id: u64, (level, option): (i32, i32)) -> Fallible<Vec<u8>> {
        let socket = self.socket(id)?;
        if !(level == SOL_SOCKET || level == SOL_IP || (level == SOL_IPV6 && socket.v6)) {
            return Err(errno::EOPNOTSUPP);
        }
        let options = &socket.options;
        if let Some((default, ..)) = kept(level, option) {
            return Ok(int(*options.kept.get(&(level, option)).unwrap_or(&default) as u32));
        }
        if (level, option) == (SOL_IPV6, name::IPV6_V6ONLY) {
            return Ok(int(u32::from(options.v6_only)));
        }
        if level != SOL_SOCKET {
            return Err(errno::ENOPROTOOPT);
        }
        Ok(match option {
            name::SO_ERROR => int(self.take_error(id)? as u32),
            name::SO_TYPE => int(if socket.many { SOCK_SEQPACKET } else { SOCK_STREAM } as u32),
            name::SO_PROTOCOL => int(SCTP as u32),
            name::SO_DOMAIN => int(if socket.v6 { AF_INET6 } else { AF_INET } as u32),
            name::SO_ACCEPTCONN => int(u32::from(socket.backlog.is_some())),
            name::SO_REUSEADDR => int(u32::from(options.reuse_address)),
            name::SO_REUSEPORT => int(u32::from(options.share_port)),
            name::SO_SNDBUF => int(options.config.send_buffer as u32),
            name::SO_RCVBUF => int(options.receive_buffer),
            name::SO_LINGER => {
                let (on, seconds) = (options.linger.is_some(), options.linger.unwrap_or(0));
                Struct::default().u32(u32::from(on)).u32(seconds).0.clone()
            }
            _ => return Err(errno::ENOPROTOOPT),
        })
    }
}
