//! What is asked of the peer about an address, and what became of it.

use std::fmt;

use tresse_wire::CauseCode;

/// A change of addresses that the peer is asked for (RFC 5061 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// One of ours is added (§4.2.1).
    Add,
    /// One of ours is deleted (§4.2.2).
    Delete,
    /// The peer sends to this one by default (§4.2.4).
    SetPrimary,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressOutcome {
    /// The peer has done it.
    Done,
    /// The peer has refused it.
    Refused {
        /// The first error cause that it gave (RFC 5061 §4.3), 0 if none.
        cause: u16,
    },
    /// The peer does not know such requests: it is asked no more.
    NotSupported,
    /// Another one of the same chunk was refused and this one with it, or the association ended or began again before the peer
    /// had answered.
    Failed,
}

/// A few words, with the peer's cause by its name.
impl fmt::Display for AddressOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressOutcome::Done => f.write_str("done"),
            AddressOutcome::Refused { cause: 0 } => f.write_str("refused without a reason"),
            AddressOutcome::Refused { cause } => write!(f, "refused: {}", CauseCode(*cause)),
            AddressOutcome::NotSupported => f.write_str("the peer knows no such requests"),
            AddressOutcome::Failed => f.write_str("failed with another one, or unanswered"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_names() {
        let refused = |cause| AddressOutcome::Refused { cause }.to_string();
        assert_eq!(refused(0xa2), "refused: Request to Delete Source IP Address");
        assert_eq!(refused(0), "refused without a reason");
    }
}
