//! Path verification: which unconfirmed addresses are asked when (RFC 9260 §5.4).

use bytes::Bytes;
use smallvec::SmallVec;
use tresse_wire::{ChunkType, padded};

use super::{Association, Control, Phase, State};
use crate::datagram::headers;
use crate::path::{HEARTBEAT_INFO_LEN, HeartbeatInfo, Path, PathId};
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
}

/// Together with answers, which are no longer than what they answer, three times: see
/// `endpoint/reply.rs`.
const MOST_DRAWN: usize = 2;
/// Bytes of a packet with a heartbeat (RFC 9260 §3.3.5), without IP and UDP headers.
const HEARTBEAT_LEN: usize = 12 + padded(8 + HEARTBEAT_INFO_LEN);
/// Headers and padding of COOKIE ECHO, and of the ERROR that may follow it, at most.
const COOKIE_ECHO_LEN: usize = 2 * (4 + 3);

impl Association {
    //= RFC 9260 5.4-1
    /// Sends the heartbeats to unconfirmed addresses that are due, those first that were sent least.
    ///
    /// RFC 9260 §5.4: "The number of packets containing HEARTBEAT chunks sent at each RTO SHOULD be limited
    /// by the 'HB.Max.Burst' parameter." What a peer lists need not be its own.
    pub(super) fn verify_unconfirmed(&mut self, now: Time) {
        if !self.verifies() {
            return;
        }
        let due = |p: &&Path| {
            let beat = &p.heartbeat;
            !p.is_confirmed() && !beat.is_awaited() && beat.deadline().is_some_and(|at| at <= now)
        };
        let mut waiting: SmallVec<[PathId; 4]> =
            self.paths.iter().filter(due).map(|p| p.id).collect();
        waiting.sort_by_key(|path| self.paths[*path].heartbeat.sent());
        let burst = self.profile().heartbeat.max_burst.max(1);
        for path in waiting {
            let Verification { until, sent, credit, free_at, .. } = self.addresses.verification;
            if now < until && sent >= burst {
                self.paths[path].heartbeat.plan(Some(until));
            } else if credit < self.verification_len(path) && now < free_at {
                self.addresses.verification.starved = true;
                self.paths[path].heartbeat.plan(Some(free_at));
            } else {
                self.send_heartbeat(now, path);
            }
        }
    }

    //= RFC 9260 5.4-5 5.4-6
    /// T1-cookie has expired more than once: COOKIE ECHO goes to the next address that is not confirmed, too. It may
    /// be that COOKIE ACK was lost, and the address that was called is gone since: then the peer, whose
    /// association is established, uses up Association.Max.Retrans before we would get through.
    ///
    /// RFC 9260 §5.4: "it MUST be bundled with a HEARTBEAT chunk including a nonce, and the size of the SCTP
    /// packet MUST NOT exceed the PMTU".
    pub(super) fn echo_unconfirmed(&mut self, now: Time) {
        let Phase::CookieEchoed(opening, echo) = &self.phase else { return };
        let len = COOKIE_ECHO_LEN + echo.memory() + HEARTBEAT_LEN;
        let unconfirmed = self.paths.iter().filter(|p| !p.is_confirmed() && opening.attempts > 1);
        let Some(path) = unconfirmed.min_by_key(|p| p.heartbeat.sent()).map(|p| p.id) else {
            return;
        };
        let cost = len - HEARTBEAT_LEN + self.verification_len(path);
        if len > self.paths[path].mtu.max_packet() || cost > self.addresses.verification.credit {
            return;
        }
        self.addresses.verification.credit -= cost;
        if self.paths[path].heartbeat.sent() > 0 {
            self.doubt_source(now, path, now);
        }
        let info = HeartbeatInfo { path, sent: now, nonce: self.rng.next_u64() };
        self.paths[path].heartbeat.on_sent_aside(info);
        let info = Bytes::copy_from_slice(&info.encode());
        self.outbox.push_first(path, Control::Heartbeat(info, None));
        self.outbox.push_first(path, Control::CookieEcho);
    }

    /// Bytes of a heartbeat to it, IP and UDP headers included.
    fn verification_len(&self, path: PathId) -> usize {
        let address = &self.paths[path].address;
        let auth = self.authentication_len(ChunkType::HEARTBEAT);
        HEARTBEAT_LEN + auth + headers(address.remote(), address.encapsulation())
    }

    /// The peer has sent this many bytes, IP and UDP headers included.
    pub(super) fn pay_for_verification(&mut self, now: Time, bytes: usize) {
        self.addresses.verification.credit =
            self.addresses.verification.credit.saturating_add(MOST_DRAWN * bytes);
        if std::mem::take(&mut self.addresses.verification.starved) {
            for path in self.paths.iter_mut().filter(|p| !p.is_confirmed()) {
                if !path.heartbeat.is_awaited() {
                    path.heartbeat.plan(Some(now));
                }
            }
        }
    }

    /// §5.4: "These probing procedures [...] are ended when all paths are confirmed", and no chunk may be sent
    /// to an address before: in SHUTDOWN-SENT data may come from there alone, for which no SACK could leave, and
    /// in SHUTDOWN-ACK-SENT the peer's SHUTDOWN, for which no SHUTDOWN ACK could.
    pub(super) fn verifies(&self) -> bool {
        self.is_monitored() || matches!(self.state(), State::ShutdownSent | State::ShutdownAckSent)
    }

    /// A heartbeat to the unconfirmed address of `path` leaves.
    pub(super) fn note_verification(&mut self, now: Time, path: PathId) {
        let len = self.verification_len(path);
        let interval = self.profile().heartbeat.interval();
        if now >= self.addresses.verification.until {
            let unconfirmed = self.paths.iter().filter(|p| !p.is_confirmed());
            let rto = unconfirmed.map(Path::rto).min().unwrap_or_default();
            (self.addresses.verification.until, self.addresses.verification.sent) = (now + rto, 0);
        }
        self.addresses.verification.sent += 1;
        self.addresses.verification.credit = self.addresses.verification.credit.saturating_sub(len);
        self.addresses.verification.free_at = now + interval;
    }
}
