//! Numbers and layouts of the sockets API as Linux has them (`linux/sctp.h`): programs are
//! compiled against them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// `IPPROTO_SCTP` and `SOL_SCTP`.
pub const SCTP: i32 = 132;
/// `AF_INET`.
pub const AF_INET: i32 = 2;
/// `AF_INET6`.
pub const AF_INET6: i32 = 10;
/// `SOCK_STREAM`: one-to-one style.
pub const SOCK_STREAM: i32 = 1;
/// `SOCK_SEQPACKET`: one-to-many style.
pub const SOCK_SEQPACKET: i32 = 5;
/// `SOL_SOCKET`.
pub const SOL_SOCKET: i32 = 1;
/// `IPPROTO_IP`.
pub const SOL_IP: i32 = 0;
/// `IPPROTO_IPV6`.
pub const SOL_IPV6: i32 = 41;

/// Bits of `sinfo_flags`.
pub mod sinfo {
    /// SCTP_UNORDERED.
    pub const UNORDERED: u16 = 1;
    /// SCTP_ADDR_OVER.
    pub const ADDR_OVER: u16 = 2;
    /// SCTP_ABORT.
    pub const ABORT: u16 = 4;
    /// SCTP_SACK_IMMEDIATELY.
    pub const SACK_IMMEDIATELY: u16 = 8;
    /// SCTP_SENDALL.
    pub const SENDALL: u16 = 64;
    /// SCTP_EOF.
    pub const EOF: u16 = 0x200;
    /// SCTP_EOR (RFC 6458 §8.1.26), with FreeBSD's number; Linux has none.
    pub const EOR: u16 = 0x2000;
    /// SCTP_PR_SCTP_TTL: `sinfo_timetolive` or `pr_value` is a lifetime in milliseconds.
    pub const PR_TTL: u16 = 0x10;
    /// SCTP_PR_SCTP_RTX: it is a number of retransmissions.
    pub const PR_RTX: u16 = 0x20;
    /// SCTP_PR_SCTP_PRIO: it is a priority, 0 the highest.
    pub const PR_PRIO: u16 = 0x30;
    /// The bits of the policies of partial reliability; 0 is SCTP_PR_SCTP_NONE.
    pub const POLICY: u16 = 0x30;
    /// SCTP_PR_SCTP_ALL: any of them, in a question for numbers.
    pub const PR_ALL: u16 = 0x80;
    /// All that a message can be sent with.
    pub const KNOWN: u16 =
        UNORDERED | ADDR_OVER | ABORT | SACK_IMMEDIATELY | POLICY | SENDALL | EOF | EOR;
}

/// Error numbers.
#[allow(missing_docs, reason = "their names are their meaning")]
pub mod errno {
    pub const EPERM: i32 = 1;
    pub const ENOENT: i32 = 2;
    pub const EBADF: i32 = 9;
    pub const EAGAIN: i32 = 11;
    pub const EBUSY: i32 = 16;
    pub const ENOMEM: i32 = 12;
    pub const EACCES: i32 = 13;
    pub const EFAULT: i32 = 14;
    pub const EINVAL: i32 = 22;
    pub const EMFILE: i32 = 24;
    pub const EPIPE: i32 = 32;
    pub const ENOTSOCK: i32 = 88;
    pub const EMSGSIZE: i32 = 90;
    pub const ESHUTDOWN: i32 = 108;
    pub const ENOPROTOOPT: i32 = 92;
    pub const EPROTO: i32 = 71;
    pub const EPROTONOSUPPORT: i32 = 93;
    pub const EOPNOTSUPP: i32 = 95;
    pub const EAFNOSUPPORT: i32 = 97;
    pub const EADDRINUSE: i32 = 98;
    pub const EADDRNOTAVAIL: i32 = 99;
    pub const ENETUNREACH: i32 = 101;
    pub const ECONNABORTED: i32 = 103;
    pub const ECONNRESET: i32 = 104;
    pub const ENOBUFS: i32 = 105;
    pub const EISCONN: i32 = 106;
    pub const ENOTCONN: i32 = 107;
    pub const ETIMEDOUT: i32 = 110;
    pub const ECONNREFUSED: i32 = 111;
    pub const EALREADY: i32 = 114;
    pub const EINPROGRESS: i32 = 115;
}

/// Bytes of `struct sockaddr_storage`.
pub const SOCKADDR_STORAGE: usize = 128;

/// `struct sockaddr_in` or `sockaddr_in6`.
#[must_use]
pub fn sockaddr(address: SocketAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(28);
    match address {
        SocketAddr::V4(v4) => {
            out.extend_from_slice(&(AF_INET as u16).to_ne_bytes());
            out.extend_from_slice(&v4.port().to_be_bytes());
            out.extend_from_slice(&v4.ip().octets());
            out.extend_from_slice(&[0; 8]);
        }
        SocketAddr::V6(v6) => {
            out.extend_from_slice(&(AF_INET6 as u16).to_ne_bytes());
            out.extend_from_slice(&v6.port().to_be_bytes());
            out.extend_from_slice(&v6.flowinfo().to_ne_bytes());
            out.extend_from_slice(&v6.ip().octets());
            out.extend_from_slice(&v6.scope_id().to_ne_bytes());
        }
    }
    out
}

/// Bytes of the `struct sockaddr` of an address family.
#[must_use]
pub fn sockaddr_len(family: i32) -> Option<usize> {
    match family {
        AF_INET => Some(16),
        AF_INET6 => Some(28),
        _ => None,
    }
}

/// Reads a `struct sockaddr` of either family; also gives how many bytes it has.
#[must_use]
pub fn read_sockaddr(bytes: &[u8]) -> Option<(SocketAddr, usize)> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        AF_INET => {
            let ip: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            (bytes.len() >= 16).then_some((SocketAddr::new(Ipv4Addr::from(ip).into(), port), 16))
        }
        AF_INET6 => {
            let ip: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            // RFC 2133 programs have a structure without the zone.
            let zone =
                bytes.get(24..28).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes);
            let address = SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, zone);
            Some((address.into(), bytes.len().min(28)))
        }
        _ => None,
    }
}

/// Reads addresses that stand packed one behind the other (`sctp_bindx`, `sctp_connectx`).
#[must_use]
pub fn read_packed(mut bytes: &[u8]) -> Option<Vec<SocketAddr>> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let (address, len) = read_sockaddr(bytes)?;
        list.push(address);
        bytes = &bytes[len..];
    }
    (!list.is_empty()).then_some(list)
}

/// The address with IPv4-mapped IPv6 addresses made IPv4.
#[must_use]
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// A structure being written, in the byte order of the machine.
#[derive(Debug, Default)]
pub struct Struct(pub Vec<u8>);

impl Struct {
    /// Appends a byte.
    pub fn u8(&mut self, n: u8) -> &mut Struct {
        self.0.push(n);
        self
    }

    /// Appends a 16-bit number.
    pub fn u16(&mut self, n: u16) -> &mut Struct {
        self.0.extend_from_slice(&n.to_ne_bytes());
        self
    }

    /// Appends a 32-bit number.
    pub fn u32(&mut self, n: u32) -> &mut Struct {
        self.0.extend_from_slice(&n.to_ne_bytes());
        self
    }

    /// Appends a 64-bit number.
    pub fn u64(&mut self, n: u64) -> &mut Struct {
        self.0.extend_from_slice(&n.to_ne_bytes());
        self
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Struct {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a `struct sockaddr_storage`.
    pub fn storage(&mut self, address: SocketAddr) -> &mut Struct {
        let end = self.0.len() + SOCKADDR_STORAGE;
        self.bytes(&sockaddr(address));
        self.0.resize(end, 0);
        self
    }
}

/// A structure being read: what lies beyond its end is 0.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|b| b.first_chunk().copied()).unwrap_or([0; N])
    }

    /// The byte at an offset.
    #[must_use]
    pub fn u8(self, at: usize) -> u8 {
        self.array::<1>(at)[0]
    }

    /// The 16-bit number at an offset.
    #[must_use]
    pub fn u16(self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    /// The 32-bit number at an offset.
    #[must_use]
    pub fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }

    /// The `struct sockaddr_storage` at an offset, unless it is empty.
    #[must_use]
    pub fn storage(self, at: usize) -> Option<SocketAddr> {
        read_sockaddr(self.0.get(at..)?).map(|(address, _)| canonical(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_their_structures() {
        for text in ["192.0.2.1:80", "[2001:db8::1]:80", "[fe80::1%2]:80"] {
            let address: SocketAddr = text.parse().unwrap();
            let bytes = sockaddr(address);
            assert_eq!(read_sockaddr(&bytes), Some((address, bytes.len())));
            assert_eq!(read_sockaddr(&bytes[..7]), None);
        }
        let list: Vec<SocketAddr> =
            vec!["192.0.2.1:80".parse().unwrap(), "[::1]:80".parse().unwrap()];
        let packed: Vec<u8> = list.iter().flat_map(|a| sockaddr(*a)).collect();
        assert_eq!(read_packed(&packed), Some(list));
        assert_eq!(read_packed(&packed[..20]), None);
        assert_eq!(read_packed(&[]), None);
    }
}
