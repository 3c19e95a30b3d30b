//! The options for stream reconfiguration (RFC 6525 §6.3), with Linux' numbers and errors.

use tresse::{ReconfigurationError, ResetDirection, StreamId};

use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, Struct, errno};

/// Bits of SCTP_ENABLE_STREAM_RESET.
mod enable {
    pub(super) const RESET_STREAMS: u32 = 1;
    pub(super) const RESET_ASSOCIATION: u32 = 2;
    pub(super) const CHANGE_ASSOCIATION: u32 = 4;
}

/// Bits of `srs_flags`.
const RESET_INCOMING: u16 = 1;
const RESET_OUTGOING: u16 = 2;

/// What Linux says where the stack refuses.
fn number_of(error: &ReconfigurationError) -> i32 {
    match error {
        ReconfigurationError::NotSupported | ReconfigurationError::NotEstablished => {
            errno::ENOPROTOOPT
        }
        // RFC 6525 §6.3 has EALREADY.
        ReconfigurationError::InProgress => errno::EINPROGRESS,
        ReconfigurationError::TooSoon => errno::EAGAIN,
        _ => errno::EINVAL,
    }
}

impl Engine {
    /// SCTP_ENABLE_STREAM_RESET (RFC 6525 §6.3.1): what peers may ask for; as in Linux, the program may not ask for other
    /// things itself.
    pub(super) fn set_stream_reset(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let bits = f.u32(4);
        if bits & !(enable::RESET_STREAMS | enable::RESET_ASSOCIATION | enable::CHANGE_ASSOCIATION)
            != 0
        {
            return Err(errno::EINVAL);
        }
        self.reconfigure(id, f.u32(0), |config| {
            let policy = &mut config.reconfiguration;
            policy.reset_streams = bits & enable::RESET_STREAMS != 0;
            policy.reset_association = bits & enable::RESET_ASSOCIATION != 0;
            policy.add_streams = bits & enable::CHANGE_ASSOCIATION != 0;
        })
    }

    /// What was set.
    pub(super) fn stream_reset(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = at_least(given, 8)?.u32(0);
        self.check_number(id, number)?;
        let bits = self.enabled(id, number)?;
        Ok(Struct::default().u32(number).u32(bits).0.clone())
    }

    fn enabled(&mut self, id: u64, number: u32) -> Fallible<u32> {
        let core = self.association_of(id, number).map(|(_, association)| association.core);
        let of_core =
            |core| self.raw.act(|endpoint, _| Some(endpoint.config(core)?.reconfiguration));
        let policy = match core.and_then(of_core) {
            Some(policy) => policy,
            None => self.socket(id)?.options.config.reconfiguration,
        };
        let bits = [
            (policy.reset_streams, enable::RESET_STREAMS),
            (policy.reset_association, enable::RESET_ASSOCIATION),
            (policy.add_streams, enable::CHANGE_ASSOCIATION),
        ];
        Ok(bits.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum())
    }

    /// SCTP_RESET_STREAMS (RFC 6525 §6.3.2).
    pub(super) fn reset_streams(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let (number, flags, count) = (f.u32(0), f.u16(4), usize::from(f.u16(6)));
        let list = value.get(8..8 + 2 * count).ok_or(errno::EINVAL)?;
        let streams: Vec<StreamId> =
            (0..count).map(|at| StreamId(Fields(list).u16(2 * at))).collect();
        let direction = match (flags & RESET_OUTGOING != 0, flags & RESET_INCOMING != 0) {
            (true, true) => Ok(ResetDirection::Both),
            (true, false) => Ok(ResetDirection::Outgoing),
            (false, true) => Ok(ResetDirection::Incoming),
            (false, false) => Err(errno::EINVAL),
        };
        self.ask(id, number, enable::RESET_STREAMS, |engine, core| {
            let direction = direction?;
            engine
                .raw
                .act(|endpoint, now| endpoint.reset_streams(now, core, direction, &streams))
                .map_err(|error| number_of(&error))
        })
    }

    /// SCTP_RESET_ASSOC (RFC 6525 §6.3.3).
    pub(super) fn reset_association(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let number = at_least(value, 4)?.u32(0);
        self.ask(id, number, enable::RESET_ASSOCIATION, |engine, core| {
            engine
                .raw
                .act(|endpoint, now| endpoint.reset_association(now, core))
                .map_err(|error| number_of(&error))
        })
    }

    /// SCTP_ADD_STREAMS (RFC 6525 §6.3.4).
    pub(super) fn add_streams(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let (number, incoming, outgoing) = (f.u32(0), f.u16(4), f.u16(6));
        self.ask(id, number, enable::CHANGE_ASSOCIATION, |engine, core| {
            engine
                .raw
                .act(|endpoint, now| endpoint.add_streams(now, core, outgoing, incoming))
                .map_err(|error| number_of(&error))
        })
    }

    /// Asks the peer, if both have the extension and the program has switched it on.
    fn ask(
        &mut self,
        id: u64,
        number: u32,
        bit: u32,
        request: impl FnOnce(&Engine, tresse::AssociationId) -> Fallible<()>,
    ) -> Fallible<()> {
        let found = self.association_of(id, number).map(|(_, association)| association.core);
        let core = found.ok_or(errno::EINVAL)?;
        let supported = self
            .raw
            .act(|endpoint, _| endpoint.info(core))
            .is_some_and(|info| info.extensions.stream_reconfiguration);
        if !supported || self.enabled(id, number)? & bit == 0 {
            return Err(errno::ENOPROTOOPT);
        }
        request(self, core)
    }
}
