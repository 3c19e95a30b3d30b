//! How a run fails: one line and an exit code.

use std::fmt;
use std::process::ExitCode;

use tresse::{CloseReason, Closed, Profile};

/// Why a run did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The request was wrong; nothing was done. Exit code 2.
    Usage(String),
    /// It went wrong on the way. Exit code 1.
    Failed(String),
    /// The user insisted on ending at once. Exit code 130, as shells have it.
    Interrupted,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => 2,
            Failure::Failed(_) => 1,
            Failure::Interrupted => 130,
        })
    }

    /// An association that ended too early, with the limit of `profile` that ended it.
    pub(crate) fn closed(closed: &Closed, profile: &Profile) -> Failure {
        let limits = &profile.limits;
        let limit = match closed {
            Closed::Association(CloseReason::Unreachable) => {
                format!("limits.association_max_retrans = {}", limits.association_max_retrans)
            }
            Closed::Association(CloseReason::SetupFailed) => {
                format!("limits.max_init_retransmits = {}", limits.max_init_retransmits)
            }
            Closed::Association(CloseReason::ShutdownTimeout) => {
                format!("limits.shutdown_guard_rto_max = {}", limits.shutdown_guard_rto_max)
            }
            Closed::Association(CloseReason::Shutdown) => {
                return Failure::Failed("the peer ended the association before the end".into());
            }
            other => return Failure::Failed(other.to_string()),
        };
        Failure::Failed(format!("{closed} ({limit}, profile {})", profile.name))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Failed(text) => f.write_str(text),
            Failure::Interrupted => f.write_str("interrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_fired_is_named() {
        let profile = Profile::standard();
        for (reason, limit) in [
            (CloseReason::Unreachable, "limits.association_max_retrans = 10"),
            (CloseReason::SetupFailed, "limits.max_init_retransmits = 8"),
            (CloseReason::ShutdownTimeout, "limits.shutdown_guard_rto_max = 5"),
        ] {
            let line = Failure::closed(&Closed::Association(reason), &profile).to_string();
            assert!(line.contains(limit) && line.contains("profile rfc9260"), "{line}");
            assert!(!line.contains('\n'));
        }
    }
}
