//! How the MTU of a path is found out, and what changed it.

/// The states of the search for the path MTU (RFC 8899 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MtuSearchState {
    /// Nobody searches: the peer is not reached, or packets were neither full nor lost for their size, as far as is known.
    Disabled,
    /// Whether packets of the base get through is not known.
    Base,
    /// They do not.
    Error,
    /// Larger ones are probed.
    Searching,
    /// The largest size is found, until larger ones are tried again.
    Complete,
}

impl MtuSearchState {
    /// Its name in lower case, such as `searching`.
    pub const fn name(self) -> &'static str {
        match self {
            MtuSearchState::Disabled => "disabled",
            MtuSearchState::Base => "base",
            MtuSearchState::Error => "error",
            MtuSearchState::Searching => "searching",
            MtuSearchState::Complete => "complete",
        }
    }
}

/// What changed a path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MtuCause {
    /// A probe was answered, or data acknowledged (RFC 8899).
    Probe,
    /// Probes of the base were not answered (RFC 8899 §5.2).
    Unanswered,
    /// A router, or the own system, said what is too large.
    Icmp,
    /// Packets larger than the base were lost again and again (RFC 8899 §4.3).
    BlackHole,
    /// A larger one is tried again, some time after ICMP has lowered it.
    Retry,
    /// Other settings hold.
    Configured,
    /// Packets leave from another address, and go another way.
    Source,
}

impl MtuCause {
    /// A short name for tables, such as `black-hole`.
    pub const fn name(self) -> &'static str {
        match self {
            MtuCause::Probe => "probe",
            MtuCause::Unanswered => "unanswered",
            MtuCause::Icmp => "icmp",
            MtuCause::BlackHole => "black-hole",
            MtuCause::Retry => "retry",
            MtuCause::Configured => "configured",
            MtuCause::Source => "source",
        }
    }
}
