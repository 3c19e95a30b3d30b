//! The verification tags of peers, as far as all shards of an endpoint know them ([`shard`](super::shard)).
//!
//! Calls that cross over unknown addresses ([`crossing`](super::crossing)) may reach two shards: one has called
//! the peer, the other is called by it. What tells them that it is one peer is its tag. So each shard notes the
//! tags of its peers in a list that all have; it is looked at during a handshake only.
//!
//! To ask ([`PeerTags::elsewhere`]) and to note ([`PeerTags::add`]) are two steps. Of two shards that take a COOKIE
//! ECHO and an INIT ACK of one peer at the same instant, both may ask before either has noted its tag: then both
//! open an association with it. Only the first is in the list, and when it ends, the tag of the second is in no list.
//! Each shard alone still knows its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Our port, the peer's, and the peer's verification tag.
pub(super) type PeerTag = (u16, u16, u32);

/// Whose peer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    shard: u32,
    /// The shard has called it, and not been called.
    called: bool,
}

/// The list of all shards, as one of them sees it.
#[derive(Clone, Debug)]
pub(super) struct PeerTags {
    shard: u32,
    all: Arc<Mutex<BTreeMap<PeerTag, Owner>>>,
}

impl PeerTags {
    /// One for each of `count` shards.
    pub(super) fn of_shards(count: u32) -> impl Iterator<Item = PeerTags> {
        let all = Arc::default();
        (0..count).map(move |shard| PeerTags { shard, all: Arc::clone(&all) })
    }

    /// Each change is a single one: nothing is half done where a shard has panicked.
    fn all(&self) -> MutexGuard<'_, BTreeMap<PeerTag, Owner>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This shard has an association with that peer. Who came first keeps it.
    pub(super) fn add(&self, tag: PeerTag, called: bool) {
        self.all().entry(tag).or_insert(Owner { shard: self.shard, called });
    }

    /// It has none any more.
    pub(super) fn remove(&self, tag: PeerTag) {
        let mut all = self.all();
        if all.get(&tag).is_some_and(|owner| owner.shard == self.shard) {
            all.remove(&tag);
        }
    }

    /// Whether another shard has an association with that peer; `Some(true)` if that shard has called it.
    pub(super) fn elsewhere(&self, tag: PeerTag) -> Option<bool> {
        let owner = self.all().get(&tag).copied();
        owner.filter(|owner| owner.shard != self.shard).map(|owner| owner.called)
    }
}
