//! Miss indications of a SACK (RFC 9260 §7.2.4).

use crate::ack::AnsweredPackets;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, Scoreboard};
use crate::time::Time;

/// Which chunks a SACK strikes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strikes {
    /// RFC 2960 §7.2.4: every TSN that it reports missing.
    Every,
    /// Those below the Highest TSN Newly Acknowledged.
    Newly {
        /// Some path was in Fast Recovery.
        in_recovery: bool,
    },
    /// Split Fast Retransmit: each path by what was acknowledged on it.
    Split {
        /// How many packets with DATA the SACK answers, as far as that counts; 0 if it does not say.
        packets: u8,
    },
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
            Strikes::Split { packets } => split(board, outcome, packets),
        }
    }
}

/// Split Fast Retransmit.
fn split(board: &mut Scoreboard, outcome: &AckOutcome, packets: u8) -> bool {
    let mut struck = false;
    let acked = outcome.paths.iter().filter(|ack| ack.chunks > 0).count();
    let twice = AnsweredPackets::strike_twice(packets, acked);
    for (i, ack) in outcome.paths.iter().enumerate() {
        if let Some(highest) = ack.highest_newly_acked {
            let path = PathId(i as u8);
            let latest = ack.latest.map_or(outcome.latest_sent, |latest| latest.sent);
            struck |= board.strike_on(path, highest, latest);
            if let Some(lowest) = ack.lowest_newly_acked.filter(|_| twice) {
                board.strike_on(path, lowest, latest);
            }
        }
    }
    struck
}
