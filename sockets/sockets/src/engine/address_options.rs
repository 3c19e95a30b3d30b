//! Addresses that come and go in associations (RFC 5061): sctp_bindx once there are some, SCTP_SET_PEER_PRIMARY_ADDR,
//! SCTP_AUTO_ASCONF, with Linux' numbers and errors.

use std::net::IpAddr;

use tresse::{AddressChange, AddressError, AssociationId};

use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{canonical, errno};

impl Engine {
    /// The associations of a socket hear that it has these addresses, or has them no more. As in Linux, those that cannot
    /// change keep what they have, and so do those that know it already; associations to come have what the socket has.
    pub(super) fn tell_of_addresses(&mut self, id: u64, change: AddressChange, ips: &[IpAddr]) {
        let Some(socket) = self.sockets.get(&id) else { return };
        let numbers = socket.associations.iter();
        let cores: Vec<AssociationId> =
            numbers.filter_map(|number| Some(self.associations.get(number)?.core)).collect();
        for core in cores {
            for ip in ips {
                let _as_linux =
                    self.raw.act(|endpoint, now| endpoint.change_address(now, core, change, *ip));
            }
        }
    }

    //= RFC 6458 8.3.1-1
    /// SCTP_SET_PEER_PRIMARY_ADDR (RFC 6458 §8.3.1): "Requests that the peer mark the enclosed address as the association
    /// primary. The enclosed address must be one of the association's locally bound addresses."
    pub(super) fn set_peer_primary(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        if !self.socket(id)?.options.asconf {
            return Err(errno::EPERM);
        }
        let f = at_least(value, 132)?;
        let found = self.association_of(id, f.u32(0)).map(|(_, association)| association.core);
        let core = found.ok_or(errno::EINVAL)?;
        let ip = canonical(f.storage(4).ok_or(errno::EADDRNOTAVAIL)?).ip();
        let asked = self.raw.act(|endpoint, now| endpoint.set_peer_primary(now, core, ip));
        asked.map_err(|error| match error {
            AddressError::NotSupported => errno::EPERM,
            AddressError::NotEstablished | AddressError::ShuttingDown => errno::ENOTCONN,
            AddressError::TooMany => errno::ENOBUFS,
            AddressError::NoAssociation => errno::EINVAL,
            _ => errno::EADDRNOTAVAIL,
        })
    }

    /// SCTP_AUTO_ASCONF (RFC 6458 §8.1.23): "This option will enable or disable the use of the automatic generation of ASCONF
    /// chunks to add and delete addresses to an existing association"; "only valid for sockets bound to all addresses".
    pub(super) fn set_auto_asconf(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let on = at_least(value, 4)?.u32(0) != 0;
        let socket = self.socket(id)?;
        let all = matches!(socket.bound[..], [only] if only.is_unspecified());
        if on && !all {
            return Err(errno::EINVAL);
        }
        let numbers: Vec<u32> = socket.associations.iter().copied().collect();
        socket.options.config.follow_host_addresses = on;
        let port = socket.port;
        for number in numbers {
            let Some(core) = self.associations.get(&number).map(|one| one.core) else { continue };
            self.change_core(core, |config| config.follow_host_addresses = on)?;
        }
        self.refresh_open_port(port)
    }
}
