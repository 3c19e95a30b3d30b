//! What the shards of a sharded endpoint have in common: who has which peer, and the packets that
//! reached another one than theirs.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use tresse_carrier::{IcmpMessage, IncomingPacket};
use tresse_core::PeerKey;

/// Packets that wait for a shard at most: as in the buffer of a socket, what is more is lost.
const MAX_WAITING: usize = 4096;

/// One shard of an endpoint, as the others see it.
pub(crate) trait Member: Send + Sync {
    /// Takes what there is room for out of `mail`, counts in `lost` what there is none for, and has
    /// the driver see to it.
    fn accept(&self, mail: &mut Mail, lost: &AtomicU64);

    /// Has the driver look whether it is needed.
    fn wake(&self);
}

/// The shards of one endpoint.
#[derive(Debug)]
pub(crate) struct Team {
    members: OnceLock<Vec<Weak<dyn Member>>>,
    /// The shard that has an association with a peer. Its lock is never held while another is taken.
    peers: RwLock<HashMap<PeerKey, usize>>,
    /// Shards that need their driver no more.
    finished: AtomicUsize,
    pub(crate) forwarded: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// A shard's place among the others.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) team: Arc<Team>,
    pub(crate) index: usize,
    pub(crate) count: usize,
}

/// What one shard has for another.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) packets: Vec<IncomingPacket>,
    pub(crate) icmp: Vec<IcmpMessage>,
}

impl Team {
    pub(crate) fn new() -> Arc<Team> {
        Arc::new(Team {
            members: OnceLock::new(),
            peers: RwLock::default(),
            finished: AtomicUsize::new(0),
            forwarded: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        })
    }

    /// Once, before any driver runs.
    pub(crate) fn assemble(&self, members: Vec<Weak<dyn Member>>) {
        let _ = self.members.set(members);
    }

    fn member(&self, index: usize) -> Option<Arc<dyn Member>> {
        self.members.get()?.get(index)?.upgrade()
    }
}

impl Membership {
    /// The shard that a packet belongs to, if it is another one.
    pub(crate) fn addressee(
        &self,
        core: &tresse_core::Endpoint,
        incoming: &IncomingPacket,
    ) -> Option<usize> {
        let IncomingPacket { source, encapsulation, packet, .. } = incoming;
        let (peer, number) = core.elsewhere(*source, *encapsulation, packet)?;
        let peers = self.team.peers.read().unwrap_or_else(PoisonError::into_inner);
        let owner = peers.get(&peer).copied().unwrap_or(number);
        (owner != self.index).then_some(owner)
    }

    /// Tells the others which peers this shard has taken up or given up.
    pub(crate) fn publish(&self, core: &mut tresse_core::Endpoint) {
        let Some(first) = core.poll_peer() else { return };
        let mut peers = self.team.peers.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Some(first);
        while let Some((peer, known)) = next {
            if known {
                peers.entry(peer).or_insert(self.index);
            } else if peers.get(&peer) == Some(&self.index) {
                peers.remove(&peer);
            }
            next = core.poll_peer();
        }
    }

    /// Runs `connect` unless another shard has an association with one of these addresses, and keeps
    /// the others from opening one meanwhile.
    pub(crate) fn alone_with<T, E>(
        &self,
        remotes: &[IpAddr],
        key: impl Fn(IpAddr) -> PeerKey,
        connect: impl FnOnce() -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut peers = self.team.peers.write().unwrap_or_else(PoisonError::into_inner);
        let taken = |remote: &IpAddr| peers.get(&key(*remote)).is_some_and(|at| *at != self.index);
        if remotes.iter().any(taken) {
            return None;
        }
        let result = connect();
        if result.is_ok() {
            peers.extend(remotes.iter().map(|remote| (key(*remote), self.index)));
        }
        Some(result)
    }

    /// Takes mail to the other shards. Must not be called with this shard's state locked: two shards
    /// could wait for each other.
    pub(crate) fn deliver(&self, outbox: &mut [Mail]) {
        for (index, mail) in outbox.iter_mut().enumerate() {
            if mail.packets.is_empty() && mail.icmp.is_empty() {
                continue;
            }
            if let Some(member) = self.team.member(index) {
                self.team.forwarded.fetch_add(mail.packets.len() as u64, Ordering::Relaxed);
                member.accept(mail, &self.team.lost);
            }
            mail.packets.clear();
            mail.icmp.clear();
        }
    }

    /// Notes that this shard needs its driver no more; the others may still need its sockets.
    pub(crate) fn finish(&self) {
        if self.team.finished.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            for index in (0..self.count).filter(|index| *index != self.index) {
                if let Some(member) = self.team.member(index) {
                    member.wake();
                }
            }
        }
    }

    /// Whether no shard needs its driver any more.
    pub(crate) fn all_finished(&self) -> bool {
        self.team.finished.load(Ordering::Acquire) >= self.count
    }
}

impl Mail {
    /// Takes everything out of `from` that there is room for.
    pub(crate) fn accept(&mut self, from: &mut Mail, lost: &AtomicU64) {
        let room = MAX_WAITING.saturating_sub(self.packets.len()).min(from.packets.len());
        lost.fetch_add((from.packets.len() - room) as u64, Ordering::Relaxed);
        self.packets.extend(from.packets.drain(..room));
        let room = MAX_WAITING.saturating_sub(self.icmp.len()).min(from.icmp.len());
        self.icmp.extend(from.icmp.drain(..room));
    }
}
