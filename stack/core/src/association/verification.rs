//! Path verification: what may be sent to addresses that are not confirmed (RFC 9260 §5.4).

use tresse_wire::padded;

use crate::datagram::headers;
use crate::ids::PathId;
use crate::path::{HEARTBEAT_INFO_LEN, Path, Paths};
use crate::profile::Profile;
use crate::time::Time;

/// What may be sent to addresses that are not confirmed.
///
/// A peer may list addresses of others, to have them flooded. So heartbeats cost at most [`MOST_DRAWN`] times the
/// bytes that it has sent itself, IP and UDP headers counted, and one for each HB.interval, while the
/// association lasts: without answers of the peer it does not.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// Until when more than HB.Max.Burst of them would be too many.
    until: Time,
    /// Those of the RTO under way.
    sent: u32,
    /// Bytes that the peer's packets have paid for.
    credit: usize,
    /// When one may leave without credit.
    free_at: Time,
    /// One had to wait for that.
    starved: bool,
    /// Bytes of the AUTH chunk before a heartbeat.
    auth_len: usize,
}

/// Together with answers, which are no longer than what they answer, three times: see
/// `endpoint/reply.rs`.
const MOST_DRAWN: usize = 2;
/// Bytes of a packet with a heartbeat (RFC 9260 §3.3.5), without IP and UDP headers.
pub(super) const HEARTBEAT_LEN: usize = 12 + padded(8 + HEARTBEAT_INFO_LEN);

impl Verification {
    /// A heartbeat has an AUTH chunk of this many bytes before it.
    pub(super) fn set_auth_len(&mut self, bytes: usize) {
        self.auth_len = bytes;
    }

    /// Bytes of a heartbeat to it, IP and UDP headers included.
    pub(super) fn cost(&self, path: &Path) -> usize {
        let address = &path.address;
        HEARTBEAT_LEN + self.auth_len + headers(address.remote(), address.encapsulation())
    }

    /// Until when a heartbeat to the unconfirmed address of `path` has to wait; `None` if it may leave now.
    pub(super) fn waits(&mut self, now: Time, path: &Path, profile: &Profile) -> Option<Time> {
        let burst = profile.heartbeat.max_burst.max(1);
        if now < self.until && self.sent >= burst {
            return Some(self.until);
        }
        let starved = self.credit < self.cost(path) && now < self.free_at;
        self.starved |= starved;
        starved.then_some(self.free_at)
    }

    /// A heartbeat to the unconfirmed address of `path` leaves.
    pub(super) fn note(&mut self, now: Time, paths: &Paths, path: PathId, profile: &Profile) {
        let len = self.cost(&paths[path]);
        if now >= self.until {
            let unconfirmed = paths.iter().filter(|p| !p.is_confirmed());
            let rto = unconfirmed.map(Path::rto).min().unwrap_or_default();
            (self.until, self.sent) = (now + rto, 0);
        }
        self.sent += 1;
        self.credit = self.credit.saturating_sub(len);
        self.free_at = now + profile.heartbeat.interval();
    }

    /// Something else of this many bytes is to leave; `false` if that is not paid for.
    pub(super) fn draw(&mut self, bytes: usize) -> bool {
        let pays = bytes <= self.credit;
        self.credit -= if pays { bytes } else { 0 };
        pays
    }

    /// The peer has sent this many bytes, IP and UDP headers included. Tells whether that was waited for.
    #[inline]
    pub(super) fn pay(&mut self, bytes: usize) -> bool {
        self.credit = self.credit.saturating_add(MOST_DRAWN * bytes);
        std::mem::take(&mut self.starved)
    }
}
