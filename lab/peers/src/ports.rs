//! UDP ports for peers that cannot choose one themselves.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below those that systems give to sockets that ask for any (RFC 6335 §6 has these begin at 49152, Linux at 32768): nobody
/// is given one of them by chance while a peer comes back.
const PORTS: std::ops::Range<u16> = 16_384..32_768;

/// A UDP port that nobody uses on any local address, and that this process has not given out
/// before. Nothing holds it until the peer binds it.
///
/// # Errors
/// Those of binding a UDP socket; `AddrInUse` when all have been given out.
pub fn free_udp_port() -> io::Result<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    loop {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        if given >= count {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // Processes that run at the same time begin far from each other.
        let begin = std::process::id().wrapping_mul(1_009);
        let port = PORTS.start + (begin.wrapping_add(given) % count) as u16;
        let used = |address: IpAddr| {
            UdpSocket::bind((address, port))
                .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
        };
        // Where there is no IPv6, nobody uses the port there.
        if !used(Ipv4Addr::UNSPECIFIED.into()) && !used(Ipv6Addr::UNSPECIFIED.into()) {
            return Ok(port);
        }
    }
}
