//! Associations that are over. A COOKIE ECHO that the network kept or doubled must not open one of
//! them again: RFC 9260 §5.3.1 wants new verification tags each time, on both sides.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::cookie::Cookie;
use crate::association::Identity;
use crate::stats::AssociationStats;
use crate::time::Time;

/// This many are remembered at most; of a larger crowd the oldest are forgotten. Each took its peer
/// a whole handshake.
const MAX_PAST: usize = 65_536;

/// The peer's port and tag.
type Key = (u16, u32);

/// What is left of associations that are over: the peers' tags, for the life of a cookie, and their figures.
#[derive(Debug, Default)]
pub(super) struct PastAssociations {
    ended: BTreeMap<Key, Time>,
    /// In the order of their ends.
    order: VecDeque<(Time, Key)>,
    /// The figures of all that have gone, together.
    stats: AssociationStats,
}

impl PastAssociations {
    /// An association ended, or the peer left its tag behind by a restart. No cookie is valid for
    /// longer than `life`.
    pub(super) fn add(&mut self, now: Time, identity: Identity, life: Duration) {
        while let Some(&(at, key)) = self.order.front()
            && (now.since(at) > life || self.order.len() >= MAX_PAST)
        {
            self.order.pop_front();
            if self.ended.get(&key) == Some(&at) {
                self.ended.remove(&key);
            }
        }
        // Without a tag of the peer it had not begun.
        if identity.peer_tag.0 != 0 {
            let key = (identity.remote_port, identity.peer_tag.0);
            self.ended.insert(key, now);
            self.order.push_back((now, key));
        }
    }

    /// An association has gone, with these figures.
    pub(super) fn count(&mut self, stats: &AssociationStats) {
        self.stats.add(stats);
    }

    /// The figures of all that have gone, together.
    pub(super) fn stats(&self) -> &AssociationStats {
        &self.stats
    }

    //= RFC 9260 5.3.1-3
    /// Whether a cookie stems from the setup of an association that is over: it was made before
    /// the end, for the same tag of the peer. So it was if it seems to be made later than now: the clock
    /// has been put back since, perhaps before the end.
    pub(super) fn include(&self, now: Time, cookie: &Cookie) -> bool {
        let ended = self.ended.get(&(cookie.remote_port, cookie.peer.tag.0));
        ended.is_some_and(|at| cookie.created <= *at || cookie.created > now)
    }
}
