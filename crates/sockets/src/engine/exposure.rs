//! What a program is told of the addresses of its peer (RFC 6458 §6.1.2), and SCTP_EXPOSE_POTENTIALLY_FAILED_STATE
//! (RFC 7829 §7.3), as Linux has them.

use tresse::PathState;

use super::options::at_least;
use super::{Engine, Fallible};
use crate::abi::{Fields, Struct, errno};

/// Whether the program hears of addresses that have potentially failed; the option's values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Exposure {
    /// No event tells of them; who asks for an address by SCTP_GET_PEER_ADDR_INFO gets its state.
    #[default]
    Unset = 0,
    /// Nor does that: EACCES.
    Disabled = 1,
    /// Events tell of them.
    Enabled = 2,
}

/// `spc_state` of SCTP_PEER_ADDR_CHANGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressState {
    Available = 0,
    Unreachable = 1,
    Confirmed = 5,
    PotentiallyFailed = 6,
}

impl Exposure {
    /// What is told of a change, if anything is.
    pub(super) fn tells(self, before: PathState, state: PathState) -> Option<AddressState> {
        let exposed = self == Exposure::Enabled;
        match (before, state) {
            (_, PathState::PotentiallyFailed) => exposed.then_some(AddressState::PotentiallyFailed),
            (PathState::PotentiallyFailed, PathState::Active) if !exposed => None,
            (PathState::Unconfirmed, PathState::Active) => Some(AddressState::Confirmed),
            (_, PathState::Active) => Some(AddressState::Available),
            // What was never known to be the peer's is not lost.
            (PathState::Unconfirmed, _) => None,
            _ => Some(AddressState::Unreachable),
        }
    }
}

impl Engine {
    /// `setsockopt`: of an association, or of those to come.
    pub(super) fn set_exposure(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let number = f.u32(0);
        let exposure = match f.u32(4) {
            0 => Exposure::Unset,
            1 => Exposure::Disabled,
            2 => Exposure::Enabled,
            _ => return Err(errno::EINVAL),
        };
        let one = self.association_of(id, number).map(|(number, _)| number);
        let socket = self.socket(id)?;
        match one {
            None if socket.many && number != 0 => return Err(errno::EINVAL),
            None => socket.options.exposure = exposure,
            Some(one) => {
                let association = self.associations.get_mut(&one).ok_or(errno::EINVAL)?;
                association.exposure = exposure;
            }
        }
        Ok(())
    }

    /// `getsockopt`.
    pub(super) fn exposure(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = Fields(at_least(given, 8)?.0).u32(0);
        let one = self.association_of(id, number).map(|(_, association)| association.exposure);
        let socket = self.socket(id)?;
        if one.is_none() && socket.many && number != 0 {
            return Err(errno::EINVAL);
        }
        let exposure = one.unwrap_or(socket.options.exposure);
        Ok(Struct::default().u32(number).u32(exposure as u32).0.clone())
    }
}

#[cfg(test)]
mod tests {
    use tresse::PathState::{Active, Inactive, PotentiallyFailed, Unconfirmed};

    use super::AddressState as To;
    use super::*;

    #[test]
    fn what_has_potentially_failed_is_told_to_who_asks_for_it() {
        let changes = [
            (Unconfirmed, Active),
            (Active, PotentiallyFailed),
            (PotentiallyFailed, Active),
            (PotentiallyFailed, Inactive),
            (Active, Inactive),
            (Inactive, Active),
            (Unconfirmed, Inactive),
        ];
        let told = |exposure: Exposure| changes.map(|(before, now)| exposure.tells(before, now));
        let unreachable = Some(To::Unreachable);
        let silent =
            [Some(To::Confirmed), None, None, unreachable, unreachable, Some(To::Available), None];
        assert_eq!(told(Exposure::Unset), silent);
        assert_eq!(told(Exposure::Disabled), silent);
        let mut all = silent;
        (all[1], all[2]) = (Some(To::PotentiallyFailed), Some(To::Available));
        assert_eq!(told(Exposure::Enabled), all);
    }
}
