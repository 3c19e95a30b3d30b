//! Paths that stop answering, as a mechanism of recovery sees them.

use std::time::Duration;

use smallvec::SmallVec;

use super::Sender;
use crate::config::AssociationConfig;
use crate::ids::PathId;
use crate::path::{Path, Paths};
use crate::profile::Profile;
use crate::recovery::SilenceFacts;
use crate::scoreboard::Scoreboard;
use crate::send::context::{self, Context};
use crate::state::State;
use crate::time::Time;

/// Paths that are to be asked by a heartbeat, and after how long by the next one.
pub(crate) type Silent = SmallVec<[(PathId, Duration); 4]>;

fn facts(board: &Scoreboard, p: &Path) -> SilenceFacts {
    let flight = board.flight(p.id);
    SilenceFacts {
        srtt: p.rtt.srtt(),
        rttvar: p.rtt.rttvar(),
        in_flight: flight > 0,
        sack_may_wait: flight <= p.mtu.max_packet() && board.first_gap_acked().is_none(),
        answered: p.reachability.answered(),
        silences: p.reachability.silences(),
    }
}

fn deadline_of(board: &Scoreboard, p: &Path, profile: &Profile) -> Option<Time> {
    let delay = profile.sack.peer_delay();
    // Only its HEARTBEAT can bring it back.
    if p.reachability.is_silent() || !p.settings.heartbeats {
        None
    } else {
        facts(board, p).deadline(delay)
    }
}

impl Sender {
    fn watches_silence(&self, paths: &Paths, config: &AssociationConfig, state: State) -> bool {
        // §8.3: no HEARTBEAT before the association is established, where T1-cookie is in charge. A peer
        // that keeps its window closed answers, and nothing can leave over another path.
        state.may_send_data()
            && context::chosen(paths, config).watches_silence(&config.profile)
            && !self.data.peer_room().is_closed()
    }

    /// When the next path will have been silent for too long.
    pub(super) fn silence_deadline(
        &self,
        paths: &Paths,
        config: &AssociationConfig,
        state: State,
    ) -> Option<Time> {
        if !self.watches_silence(paths, config, state) {
            return None;
        }
        paths.iter().filter_map(|p| deadline_of(self.data.board(), p, &config.profile)).min()
    }

    /// Takes what is in flight off the paths that have been silent for too long. Returns those that are to be
    /// asked whether they are alive.
    pub(super) fn leave_silent(&mut self, cx: &mut Context<'_>) -> Silent {
        let now = cx.now;
        let mut asked = Silent::new();
        for path in cx.paths.ids() {
            let p = &cx.paths[path];
            if deadline_of(self.data.board(), p, cx.profile()).is_none_or(|at| at > now) {
                continue;
            }
            let since = p.reachability.answered();
            let vouches = |p: &Path| {
                p.id != path && p.preferred() && facts(self.data.board(), p).vouches(since)
            };
            let alive = cx.paths.iter().any(vouches);
            if alive {
                let wait = facts(self.data.board(), p).wait().unwrap_or_default();
                cx.paths[path].reachability.fall_silent(now);
                for seq in self.data.in_flight(path) {
                    self.lose(cx, seq, SilenceFacts::CAUSE);
                }
                cx.paths.begin_opportunity(cx.profile());
                asked.push((path, wait));
            } else {
                // Looked at again if it stays silent: a peer that stops altogether is for T3-rtx.
                cx.paths[path].reachability.owes_from(now);
            }
        }
        asked
    }
}
