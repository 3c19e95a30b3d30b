//! SCTP_REMOTE_UDP_ENCAPS_PORT (RFC 6951 §6.1): the UDP port of the peer, at one of its addresses, at
//! all of them, or that of peers to come.

use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, errno};

/// Where the fields of `sctp_udpencaps` begin, whose address is aligned to 8 bytes.
const ADDRESS: usize = 8;
const PORT: usize = 136;

impl Engine {
    pub(super) fn set_encapsulation(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = Fields(value);
        let port = u16::from_be(f.u16(PORT));
        // Whether packets travel in UDP is up to those who start the engine. 0 leaves it to that.
        if port != 0 && !self.encapsulated {
            return Err(errno::EOPNOTSUPP);
        }
        let Some((core, paths)) = self.paths_meant(id, f, ADDRESS)? else {
            self.socket(id)?.options.peer_udp_port = Some(port).filter(|port| *port != 0);
            return Ok(());
        };
        let port = if port == 0 { self.peer_udp_port } else { port };
        let port = self.encapsulated.then_some(port);
        for path in paths {
            let changed = self.raw.act(|e, now| e.encapsulate_path(now, core, path.id, port));
            changed.map_err(|_| errno::EINVAL)?;
        }
        Ok(())
    }

    pub(super) fn encapsulation(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        if given.len() < PORT + 8 {
            return Err(errno::EINVAL);
        }
        let port = match self.paths_meant(id, Fields(given), ADDRESS)? {
            Some((_, paths)) => paths.first().and_then(|path| path.encapsulation),
            None => self.peer_port_of(id)?,
        };
        let mut value = given[..PORT].to_vec();
        value.extend_from_slice(&port.unwrap_or(0).to_be_bytes());
        value.resize(PORT + 8, 0);
        Ok(value)
    }

    /// The UDP port that associations of a socket begin with; `None` directly on IP.
    pub(super) fn peer_port_of(&mut self, id: u64) -> Fallible<Option<u16>> {
        let (encapsulated, default) = (self.encapsulated, self.peer_udp_port);
        let asked = self.socket(id)?.options.peer_udp_port;
        Ok(encapsulated.then(|| asked.unwrap_or(default)))
    }
}
