//! What a program is told of the addresses of its peer (RFC 6458 §6.1.2), and SCTP_EXPOSE_POTENTIALLY_FAILED_STATE
//! (RFC 7829 §7.3), as Linux has them.

use tresse::PathState;

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
    Removed = 2,
    Added = 3,
    MadePrimary = 4,
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
