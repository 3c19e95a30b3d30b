//! UDP ports for peers that cannot choose one themselves.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::{Mutex, PoisonError};

/// A UDP port that nobody uses on any local address, and that this process has not given out
/// before. Nothing holds it until the peer binds it.
///
/// # Errors
/// Those of binding a UDP socket.
pub fn free_udp_port() -> io::Result<u16> {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.get_or_insert_with(HashSet::new);
    loop {
        let port = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr()?.port();
        // Where there is no IPv6, nobody uses the port there.
        let used_in_v6 = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        if !used_in_v6 && given.insert(port) {
            return Ok(port);
        }
    }
}
