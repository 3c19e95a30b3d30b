//! Miss indications of a SACK (RFC 9260 §7.2.4).

use crate::profile::Profile;
use crate::recovery::Misses;
use crate::scoreboard::{AckOutcome, Scoreboard};
use crate::time::Time;

/// Which chunks a SACK strikes.
#[derive(Clone, Debug)]
pub(crate) enum Strikes {
    /// RFC 2960 §7.2.4: every TSN that it reports missing.
    Every,
    /// Those below the Highest TSN Newly Acknowledged.
    Newly {
        /// Some path was in Fast Recovery.
        in_recovery: bool,
    },
    /// Each path by itself.
    Each(Misses),
}

impl Strikes {
    /// Those of a profile, whatever the path.
    pub(super) fn of(profile: &Profile, in_recovery: bool) -> Strikes {
        if profile.fast_retransmit.htna { Strikes::Newly { in_recovery } } else { Strikes::Every }
    }

    //= RFC 9260 7.2.4-3
    /// Adds the miss indications of one SACK; returns whether any chunk was struck.
    pub(super) fn apply(self, board: &mut Scoreboard, outcome: &AckOutcome) -> bool {
        match self {
            Strikes::Every => {
                outcome.has_gaps && board.strike(board.highest_acked(), Time::FAR_FUTURE)
            }
            Strikes::Newly { in_recovery } => {
                let Some(highest) = outcome.highest_newly_acked else { return false };
                if in_recovery && outcome.cumulative_advanced && outcome.has_gaps {
                    // In Fast Recovery, a SACK that advances the Cumulative TSN Ack Point strikes all TSNs
                    // reported missing.
                    return board.strike(board.highest_acked(), outcome.latest_sent);
                }
                // Highest TSN Newly Acknowledged.
                board.strike(highest, outcome.latest_sent)
            }
            // All of them: no short circuit.
            Strikes::Each(misses) => misses
                .iter()
                .fold(false, |any, miss| board.strike_on(miss.path, miss.below, miss.sent) | any),
        }
    }
}
