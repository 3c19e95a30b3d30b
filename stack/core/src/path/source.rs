//! Which of our addresses can be told to a peer, and which one a path is used from.
//!
//! RFC 9260 §5.1.2: an endpoint lists the addresses that its peer may use as destinations and see as
//! sources. So every packet of an association leaves from an address that the peer knows of; a packet
//! from any other would be out of the blue there (§8.4).

use std::net::IpAddr;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::config::Families;

/// This many of our addresses are listed at most: others believe no more of them either (RFC 5062 §3).
const MAX_LISTED: usize = 16;

/// How far an address reaches (RFC 4007 §4, RFC 3927).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    /// Not the address of any one host.
    None,
    Loopback,
    LinkLocal,
    /// Global, or private: from there the world behind a NAT can be reached.
    Wide,
}

/// Whether it is the address of one host, and not of a group, of a whole network or of nobody.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(a) if a.is_broadcast());
    !(broadcast || address.is_multicast() || address.is_unspecified())
}

fn scope(address: IpAddr) -> Scope {
    let (mapped, link_local) = match address {
        IpAddr::V4(a) => (false, a.is_link_local()),
        // §3.3.2.1.2: an IPv4-mapped address MUST NOT be used.
        IpAddr::V6(a) => (a.to_ipv4_mapped().is_some(), a.is_unicast_link_local()),
    };
    match (mapped || !is_unicast(address), address.is_loopback(), link_local) {
        (true, ..) => Scope::None,
        (_, true, _) => Scope::Loopback,
        (_, _, true) => Scope::LinkLocal,
        _ => Scope::Wide,
    }
}

/// Whether an address means something else, or nothing, in other networks: private ones (RFC 1918), those
/// of a carrier's NAT (RFC 6598), and unique local ones (RFC 4193).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_private() || (a.octets()[0] == 100 && a.octets()[1] & 0xc0 == 64),
        IpAddr::V6(a) => a.is_unique_local(),
    }
}

//= RFC 6951 3.2-3 5.7-1
/// RFC 6951 §5.7: "IP addresses that might require translation MUST NOT be put into any SCTP packet."
/// A private one does where the peer is out in the world, as `remote` says.
fn needs_translation(local: IpAddr, remote: Option<&IpAddr>) -> bool {
    is_private(local) && remote.is_some_and(|r| scope(*r) == Scope::Wide && !is_private(*r))
}

/// Whether an address can be that of one host.
pub(crate) fn is_usable(address: IpAddr) -> bool {
    scope(address) != Scope::None
}

/// Whether a packet from `local` can reach `remote`, and an answer come back.
pub(crate) fn reaches(local: IpAddr, remote: IpAddr) -> bool {
    local.is_ipv4() == remote.is_ipv4()
        && match (scope(local), scope(remote)) {
            (Scope::None, _) | (_, Scope::None) => false,
            // A host elsewhere cannot be reached over our loopback interface (RFC 5062 §3).
            (Scope::Loopback, to) => to == Scope::Loopback,
            (Scope::LinkLocal, to) => to == Scope::LinkLocal,
            (Scope::Wide, to) => to != Scope::Loopback,
        }
}

/// Whether a peer at `remotes` may be told of `local`: it can reach it from one of them at least, if it
/// has an address of that family. What one cannot reach may not be ours there.
fn is_in_scope(local: IpAddr, remotes: &[IpAddr]) -> bool {
    remotes.iter().any(|remote| match (scope(local), scope(*remote)) {
        (Scope::None, _) | (_, Scope::None) => false,
        (from, Scope::Loopback) => from == Scope::Loopback,
        (Scope::Loopback, _) => false,
        (Scope::LinkLocal, _) => reaches(local, *remote),
        (Scope::Wide, _) => true,
    })
}

/// This many addresses that the host has lost are remembered at most.
const MAX_GONE: usize = 256;

/// The addresses of our host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    present: Vec<IpAddr>,
    /// Those that it had, and has no more. An address that was never listed may well be there: a host answers
    /// at all of 127.0.0.0/8, and at whatever its routes say.
    gone: Vec<IpAddr>,
}

impl Host {
    /// The host after its addresses have changed to `present`.
    pub(crate) fn changed(&self, present: &[IpAddr]) -> Host {
        let lost = self.gone.iter().chain(&self.present).filter(|a| !present.contains(a));
        let mut gone: Vec<IpAddr> = lost.copied().collect();
        gone.drain(..gone.len().saturating_sub(MAX_GONE));
        Host { present: present.to_vec(), gone }
    }

    /// Whether it is known to have lost the address.
    pub(crate) fn has_lost(&self, address: IpAddr) -> bool {
        self.gone.contains(&address)
    }

    /// What a peer at `remotes` is to be told by a socket that is bound to `bound`; if that is empty, to
    /// a wildcard, which means every address of the host (§5.1.2) that needs no translation on the way to
    /// the first of `remotes`.
    fn listed(&self, bound: &[IpAddr], remotes: &[IpAddr], families: Families) -> Vec<IpAddr> {
        let wildcard = bound.is_empty();
        let all = if wildcard { &self.present } else { bound };
        let mut listed: Vec<IpAddr> = Vec::new();
        for address in all {
            let fits = families.include(*address)
                && !self.has_lost(*address)
                && is_in_scope(*address, remotes)
                && !(wildcard && needs_translation(*address, remotes.first()));
            if fits && !listed.contains(address) {
                listed.push(*address);
            }
        }
        // Those that reach the peer are the first ones.
        listed.sort_by_key(|l| !remotes.iter().any(|r| reaches(*l, *r)));
        listed.truncate(MAX_LISTED);
        listed
    }
}

/// Puts an address behind those before it, of which the oldest are forgotten.
fn remember(list: &mut Vec<IpAddr>, address: IpAddr) {
    list.retain(|other| *other != address);
    list.drain(..(list.len() + 1).saturating_sub(MAX_KNOWN));
    list.push(address);
}

/// This many addresses of ours are known to one peer at most: those listed, and those that it has used.
const MAX_KNOWN: usize = 2 * MAX_LISTED;

/// Our addresses as one association sees them.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// What the peer was told, and where it sent packets of the handshake to.
    known: Vec<IpAddr>,
    /// This many of these, the first ones, are those to list.
    listed: usize,
    /// Bound to a wildcard.
    wildcard: bool,
    /// Those of addresses that the association has, on either side.
    families: Families,
    host: Arc<Host>,
    /// Those that the peer is asked to forget: nothing leaves from there any more.
    leaving: Vec<IpAddr>,
    /// Those that it has forgotten, the last ones.
    deleted: Vec<IpAddr>,
    /// Those that the user has deleted, the last ones.
    declined: Vec<IpAddr>,
}

impl Sources {
    /// Those of a socket that is bound to `bound`, or to a wildcard if that is empty, for a peer at
    /// `remotes`; the first of them is where it is called, or has called from.
    pub(crate) fn of(
        host: &Arc<Host>,
        bound: &[IpAddr],
        remotes: &[IpAddr],
        families: Families,
    ) -> Sources {
        let known = host.listed(bound, remotes, families);
        let (listed, wildcard) = (known.len(), bound.is_empty());
        Sources {
            known,
            listed,
            wildcard,
            families,
            host: Arc::clone(host),
            leaving: Vec::new(),
            deleted: Vec::new(),
            declined: Vec::new(),
        }
    }

    /// The addresses that the peer knows of; empty as long as the system chooses one unseen.
    pub(crate) fn known(&self) -> &[IpAddr] {
        &self.known
    }

    //= RFC 6951 3.2-1
    /// What INIT or INIT ACK to `remote` lists; nothing if there is a single one, which the source address
    /// shows: that is `from`, or what is chosen for `remote` if nothing gets there from `from`.
    pub(crate) fn told(&self, remote: IpAddr, from: Option<IpAddr>) -> Vec<IpAddr> {
        let from = from.filter(|from| reaches(*from, remote));
        let learned = self.known.iter().skip(self.listed);
        let learned = learned.filter(|l| !needs_translation(**l, Some(&remote)));
        let told: Vec<IpAddr> =
            self.known.iter().take(self.listed).chain(learned).copied().collect();
        match told[..] {
            [only] if from.map_or(self.ranked(remote).contains(&only), |from| from == only) => {
                Vec::new()
            }
            _ => told,
        }
    }

    /// The peer sent a packet of the handshake to this address.
    pub(crate) fn learn(&mut self, address: IpAddr) {
        if is_usable(address) && !self.knows(address) && self.known.len() < MAX_KNOWN {
            self.known.push(address);
            self.deleted.retain(|deleted| *deleted != address);
        }
    }

    /// The peer is asked to forget it: nothing leaves from there any more.
    pub(crate) fn leave(&mut self, address: IpAddr) {
        if !self.is_leaving(address) {
            self.leaving.push(address);
        }
    }

    /// The peer is asked to forget it.
    #[inline]
    pub(crate) fn is_leaving(&self, address: IpAddr) -> bool {
        self.leaving.contains(&address)
    }

    /// The peer does not forget it.
    pub(crate) fn keep(&mut self, address: IpAddr) {
        self.leaving.retain(|other| *other != address);
    }

    /// None of them is to be forgotten any more.
    pub(crate) fn stay(&mut self) {
        self.leaving.clear();
    }

    //= RFC 5061 5.3-28
    /// The peer has forgotten it.
    pub(crate) fn forget(&mut self, address: IpAddr) {
        self.keep(address);
        remember(&mut self.deleted, address);
        if let Some(at) = self.known.iter().position(|known| *known == address) {
            self.known.remove(at);
            self.listed -= usize::from(at < self.listed);
        }
    }

    /// The peer has forgotten it, and was not told of it again.
    pub(crate) fn is_deleted(&self, address: IpAddr) -> bool {
        self.deleted.contains(&address)
    }

    /// The user has deleted it: it is not told again because the host has it.
    pub(crate) fn decline(&mut self, address: IpAddr) {
        remember(&mut self.declined, address);
    }

    /// The user wants it.
    pub(crate) fn want(&mut self, address: IpAddr) {
        self.declined.retain(|declined| *declined != address);
    }

    /// Whether packets from `local` can reach `remote`, and the association has addresses of that family.
    pub(crate) fn matches(&self, local: IpAddr, remote: IpAddr) -> bool {
        self.families.include(local) && reaches(local, remote)
    }

    /// Whether a peer at `remote` would see another address instead, so that this one is not to be named (RFC 6951 §5.7).
    pub(crate) fn needs_wildcard(&self, local: IpAddr, remote: IpAddr) -> bool {
        needs_translation(local, Some(&remote))
    }

    /// What a peer at `remotes` would be told now. A socket that is bound to some addresses and not to a wildcard tells of those only
    /// that the peer was asked to forget since the host had lost them, and that are back.
    pub(crate) fn to_be_told(&self, remotes: &[IpAddr]) -> Vec<IpAddr> {
        let bound: Vec<IpAddr> = match self.wildcard {
            true => Vec::new(),
            false => self.leaving.iter().chain(&self.deleted).copied().collect(),
        };
        if bound.is_empty() && !self.wildcard {
            return Vec::new();
        }
        let mut told = self.host.listed(&bound, remotes, self.families);
        told.retain(|address| !self.declined.contains(address));
        told
    }

    /// Of those the one from which a peer at `remote` is asked if nothing that it knows is left: the nearest, and one that it is asked
    /// to forget only if there is no other.
    pub(crate) fn to_ask_from(&self, remote: IpAddr) -> Option<IpAddr> {
        let told = self.to_be_told(&[remote]).into_iter().filter(|l| reaches(*l, remote));
        told.min_by_key(|l| (self.is_leaving(*l), std::cmp::Reverse(common_prefix(*l, remote))))
    }

    /// An address that the peer is asked to forget, and now is to be told of again.
    pub(crate) fn back_again(&self, remote: IpAddr) -> Option<IpAddr> {
        let mut told = self.to_be_told(&[remote]).into_iter();
        told.find(|address| self.is_leaving(*address) && reaches(*address, remote))
    }

    /// Addresses of the host that a peer at `remotes` would not see, but those of a NAT instead.
    pub(crate) fn hidden(&self, remotes: &[IpAddr]) -> Vec<IpAddr> {
        let remote = remotes.first();
        let hidden = |l: &&IpAddr| {
            needs_translation(**l, remote)
                && remote.is_some_and(|r| self.matches(**l, *r))
                && !self.declined.contains(*l)
        };
        let all: &[IpAddr] = if self.wildcard { &self.host.present } else { &[] };
        all.iter().filter(hidden).copied().collect()
    }

    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        self.known.contains(&address)
    }

    /// The host has other addresses now.
    pub(crate) fn set_host(&mut self, host: Arc<Host>) {
        self.host = host;
    }

    pub(crate) fn has_lost(&self, address: IpAddr) -> bool {
        self.host.has_lost(address)
    }

    /// Whether there is a source for `remote`, now or when our host gets an address back.
    pub(crate) fn reach(&self, remote: IpAddr) -> bool {
        self.families.include(remote)
            && (self.known.is_empty() || self.known.iter().any(|l| reaches(*l, remote)))
    }

    /// Whether the system can choose a source for `remote` that cannot be listed: the peer will see another
    /// one instead, that of a NAT.
    pub(crate) fn reach_unseen(&self, remote: IpAddr) -> bool {
        let present = || self.host.present.iter().any(|l| reaches(*l, remote));
        self.families.include(remote)
            && (self.is_for_system(remote) || (self.wildcard && present()))
    }

    /// Whether only the system can choose well: RFC 6724 §5 rule 2 has a link-local address call a
    /// link-local one, and which one belongs to that link nobody knows here until the peer has answered.
    fn is_for_system(&self, remote: IpAddr) -> bool {
        let is = |a: &IpAddr| matches!(a, IpAddr::V6(a) if a.is_unicast_link_local());
        self.wildcard && is(&remote) && !self.known.iter().any(is)
    }

    /// Whether `remote` is an address of our own host, where a peer elsewhere cannot be: it listed one
    /// that many hosts have, such as that of a bridge between containers.
    pub(crate) fn is_own(&self, remote: IpAddr) -> bool {
        self.host.present.contains(&remote)
    }

    /// The sources for `remote`, the best ones first; those that the host has lost only if there is
    /// no other. What shares the longest prefix comes first (RFC 6724 §5 rule 8).
    ///
    /// Where none of them may be listed the peer sees the source of our INIT, or that of a NAT: any will do,
    /// and one that no packet gets away from is left for the next like any other.
    fn ranked(&self, remote: IpAddr) -> SmallVec<[IpAddr; 4]> {
        if self.is_for_system(remote) {
            return SmallVec::new();
        }
        let unseen = self.wildcard && !self.known.iter().any(|l| reaches(*l, remote));
        let from = if unseen { &self.host.present } else { &self.known };
        let all = || from.iter().copied().filter(|l| reaches(*l, remote) && !self.is_leaving(*l));
        let mut here: SmallVec<[IpAddr; 4]> = all().filter(|l| !self.has_lost(*l)).collect();
        if here.is_empty() {
            here = all().collect();
        }
        here.sort_by_key(|l| std::cmp::Reverse(common_prefix(*l, remote)));
        here
    }

    /// The source to begin with: of those that are equally near, the one that `used` counts least. `None`
    /// if there is no other than what the system chooses.
    pub(crate) fn best(&self, remote: IpAddr, used: impl Fn(IpAddr) -> usize) -> Option<IpAddr> {
        let ranked = self.ranked(remote);
        let nearest = common_prefix(*ranked.first()?, remote);
        let equal = ranked.into_iter().take_while(|l| common_prefix(*l, remote) == nearest);
        equal.min_by_key(|l| used(*l))
    }

    /// Whether `local` has more in common with `remote` than `other` has (RFC 6724 §5 rule 8).
    pub(crate) fn is_nearer(&self, local: IpAddr, other: IpAddr, remote: IpAddr) -> bool {
        common_prefix(local, remote) > common_prefix(other, remote)
    }

    /// The other sources, in the order in which to try them after `last` has failed.
    pub(crate) fn others(&self, remote: IpAddr, last: Option<IpAddr>) -> SmallVec<[IpAddr; 4]> {
        let mut others = self.ranked(remote);
        if let Some(at) = others.iter().position(|l| Some(*l) == last) {
            others.rotate_left(at);
            others.remove(0);
        }
        others
    }

    /// The source to try after `last` has failed; `None` if there is no other.
    pub(crate) fn next(&self, remote: IpAddr, last: Option<IpAddr>) -> Option<IpAddr> {
        self.others(remote, last).first().copied()
    }
}

/// How many bits two addresses of one family have in common from the beginning.
fn common_prefix(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        // The rest names an interface, which says nothing of the way there (RFC 6724 §2.2).
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros().min(64),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
