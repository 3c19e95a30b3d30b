//! Whether extensions are offered to peers, and whether an association has them, with Linux' numbers and errors.

use tresse::Extensions;

use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Struct, errno};

/// The extension of SCTP_PR_SUPPORTED and its like.
fn switch(extensions: &mut Extensions, option: i32) -> &mut bool {
    match option {
        name::PR_SUPPORTED => &mut extensions.partial_reliability,
        name::INTERLEAVING_SUPPORTED => &mut extensions.interleaving,
        name::AUTH_SUPPORTED => &mut extensions.authentication,
        name::ASCONF_SUPPORTED => &mut extensions.address_reconfiguration,
        name::ECN_SUPPORTED => &mut extensions.ecn,
        name::PKTDROP_SUPPORTED => &mut extensions.packet_drop_reports,
        _ => &mut extensions.stream_reconfiguration,
    }
}

impl Engine {
    /// RFC 7496 §4.5: "The special sctp_assoc_t SCTP_FUTURE_ASSOC can also be used; it is an error to use
    /// SCTP_{CURRENT|ALL}_ASSOC in assoc_id".
    pub(super) fn check_one_or_future(&self, id: u64, number: u32) -> Fallible<()> {
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        let none = socket.many && number != 0 && self.association_of(id, number).is_none();
        if none { Err(errno::EINVAL) } else { Ok(()) }
    }

    /// SCTP_PR_SUPPORTED and its like: whether associations to come offer it.
    pub(super) fn set_supported(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        self.check_one_or_future(id, f.u32(0))?;
        let socket = self.socket(id)?;
        // RFC 8260 §2.2.1: "the user MUST indicate to the SCTP implementation its support for receiving completely interleaved
        // messages"; as in Linux, SCTP_FRAGMENT_INTERLEAVE has to be set before.
        let indicated = socket.options.interleave.is_some_and(|level| level > 0);
        if option == name::INTERLEAVING_SUPPORTED && !indicated {
            return Err(errno::EPERM);
        }
        let on = f.u32(4) != 0;
        match option {
            name::ASCONF_SUPPORTED => socket.options.asconf = on,
            _ => *switch(&mut socket.options.config.extensions, option) = on,
        }
        let port = socket.port;
        self.refresh_open_port(port)
    }

    /// Whether the association has it, or those to come offer it.
    pub(super) fn supported(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = at_least(given, 8)?.u32(0);
        self.check_one_or_future(id, number)?;
        let core = self.association_of(id, number).map(|(_, association)| association.core);
        let info = core.and_then(|core| self.raw.act(|endpoint, _| endpoint.info(core)));
        let mut extensions = match info {
            Some(info) => info.extensions,
            None => {
                let options = &self.socket(id)?.options;
                let address_reconfiguration = options.asconf;
                Extensions { address_reconfiguration, ..options.config.extensions }
            }
        };
        let on = *switch(&mut extensions, option);
        Ok(Struct::default().u32(number).u32(u32::from(on)).0.clone())
    }
}
