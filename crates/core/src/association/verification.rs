//! Path verification: which unconfirmed addresses are probed when (RFC 9260 §5.4).

use smallvec::SmallVec;

use super::{Association, State};
use crate::path::{Path, PathId};
use crate::time::Time;

/// The probes of the RTO under way.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Until when more than HB.Max.Burst of them would be too many.
    until: Time,
    sent: u32,
}

impl Association {
    //= RFC 9260 5.4-1
    /// Sends the probes of unconfirmed addresses that are due, those first that were sent least.
    ///
    /// RFC 9260 §5.4: "The number of packets containing HEARTBEAT chunks sent at each RTO SHOULD be limited
    /// by the 'HB.Max.Burst' parameter." What a peer lists need not be its own.
    pub(super) fn probe_unconfirmed(&mut self, now: Time) {
        if !self.verifies() {
            return;
        }
        let due = |p: &&Path| {
            let beat = &p.heartbeat;
            !p.confirmed && beat.outstanding.is_none() && beat.next.is_some_and(|at| at <= now)
        };
        let mut waiting: SmallVec<[PathId; 4]> =
            self.paths.iter().filter(due).map(|p| p.id).collect();
        waiting.sort_by_key(|path| self.paths[*path].heartbeat.sent);
        let burst = self.profile().heartbeat.max_burst.max(1);
        for path in waiting {
            if now >= self.probes.until || self.probes.sent < burst {
                self.send_heartbeat(now, path);
            } else {
                self.paths[path].heartbeat.next = Some(self.probes.until);
            }
        }
    }

    /// §5.4: "These probing procedures [...] are ended when all paths are confirmed", and no chunk may be sent
    /// to an address before: in SHUTDOWN-SENT data may come from there alone, for which no SACK could leave, and
    /// in SHUTDOWN-ACK-SENT the peer's SHUTDOWN, for which no SHUTDOWN ACK could.
    pub(super) fn verifies(&self) -> bool {
        self.is_monitored() || matches!(self.state, State::ShutdownSent | State::ShutdownAckSent)
    }

    /// A heartbeat to an unconfirmed address leaves.
    pub(super) fn note_probe(&mut self, now: Time) {
        if now >= self.probes.until {
            let unconfirmed = self.paths.iter().filter(|p| !p.confirmed);
            let rto = unconfirmed.map(Path::rto).min().unwrap_or_default();
            self.probes = Probes { until: now + rto, sent: 0 };
        }
        self.probes.sent += 1;
    }
}
