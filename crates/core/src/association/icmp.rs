//! What ICMP changes: the path MTU, the error count of a path, or the end (RFC 9260 §10); and how
//! packets leave on a path whose MTU has shrunk (§6.9, RFC 1191, RFC 8201).

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::COMMON_HEADER_LEN;

use super::{Association, State};
use crate::endpoint::{IcmpKind, Transmit};
use crate::event::{CloseReason, LossCause};
use crate::path::{PathId, max_packet};
use crate::time::Time;

/// A larger path MTU is tried again after so long (RFC 1191 §6.3, RFC 8201 §4: 10 minutes).
const RAISE_AFTER: Duration = Duration::from_secs(600);

/// Packets are never made for less: a cookie must fit ([`AssociationConfig::check`]). Over IPv4, routers
/// fragment them where the path MTU is smaller still.
///
/// [`AssociationConfig::check`]: crate::AssociationConfig::check
const SMALLEST: usize = 512;

/// The smallest MTU that a link can have (RFC 791 §3.2, RFC 8200 §5), for IPv4 and IPv6. Who reports
/// less is wrong (RFC 1191 §3, RFC 8201 §4).
const LEAST: (usize, usize) = (68, 1280);

/// MTUs of common links, tried in turn when a router did not name its own (RFC 1191 §7).
const PLATEAUS: [usize; 7] = [4352, 2002, 1492, 1006, 576, 296, 68];

impl Association {
    /// An ICMP message about a packet to `destination` that was found genuine.
    pub(crate) fn on_icmp(
        &mut self,
        now: Time,
        destination: IpAddr,
        kind: IcmpKind,
        is_init: bool,
    ) {
        let Some(path) = self.paths.find(destination).filter(|_| !self.is_closed()) else {
            return;
        };
        match kind {
            //= RFC 9260 10-6
            // ICMP7.
            IcmpKind::TooBig { mtu } => self.lower_path_mtu(now, path, mtu),
            //= RFC 9260 10-7
            // ICMP8: "MUST treat this message as an abort with the T bit set if it does not contain
            // an INIT chunk. If it does contain an INIT chunk and the association is in the
            // COOKIE-WAIT state, handle the ICMP message like an ABORT chunk."
            // In SHUTDOWN-ACK-SENT such an abort is the end that was to come: the peer has our SHUTDOWN
            // ACK and has left, and its SHUTDOWN COMPLETE was lost or is late.
            IcmpKind::NoSctp if !is_init && self.state == State::ShutdownAckSent => {
                self.close(CloseReason::Shutdown);
            }
            IcmpKind::NoSctp if !is_init || self.state == State::CookieWait => {
                self.close(CloseReason::NoSctp);
            }
            IcmpKind::NoSctp => {}
            // ICMP9: "MAY ... increment the path error counter": once per RTO, whatever the number of
            // packets that were lost.
            IcmpKind::Unreachable => {
                let rto = self.error_rto(path);
                let p = &mut self.paths[path];
                let recent = p.unreachable_at.is_some_and(|at| now.since(at) < rto);
                if !recent && !matches!(self.state, State::CookieWait | State::CookieEchoed) {
                    p.unreachable_at = Some(now);
                    if p.count_failure(true) {
                        self.path_changed(path);
                        self.probe_failed(now, path);
                    }
                    self.doubt_source(now, path, now);
                }
            }
        }
    }

    //= RFC 9260 7.3-1 7.3-2
    fn lower_path_mtu(&mut self, now: Time, path: PathId, mtu: usize) {
        let p = &mut self.paths[path];
        let mtu = match mtu {
            0 => PLATEAUS.into_iter().find(|plateau| *plateau < p.mtu).unwrap_or(0),
            mtu => mtu,
        };
        let least = if p.remote.is_ipv6() { LEAST.1 } else { LEAST.0 };
        // RFC 8201 §4: a message MUST NOT raise the path MTU. What routers fragment is told by no message.
        if mtu >= p.mtu || mtu < least || p.beneath_mtu {
            return;
        }
        p.beneath_mtu = mtu < SMALLEST;
        p.set_mtu(mtu.max(SMALLEST));
        p.raise_mtu_at = Some(now + RAISE_AFTER);
        // What cannot have arrived leaves again at once; RFC 8201 §5.4: that is no congestion.
        let room = max_packet(mtu, p.remote, p.encapsulation.is_some()) - COMMON_HEADER_LEN;
        let mut in_flight = Vec::new();
        self.sender.board.for_each_in_flight(path, |seq| in_flight.push(seq));
        for seq in in_flight {
            if self.sender.board.get(seq).is_some_and(|chunk| chunk.size() > room) {
                self.lose(now, seq, LossCause::PathFailure);
            }
        }
        self.opportunity();
    }

    /// Tries the configured MTU again: it is time.
    pub(super) fn raise_path_mtu(&mut self, path: PathId) {
        let p = &mut self.paths[path];
        p.raise_mtu_at = None;
        p.beneath_mtu = false;
        p.set_mtu(self.config.mtu);
    }

    /// Where a packet of so many bytes goes, and how; from the source of the path unless from another.
    pub(super) fn transmit_to(&self, path: PathId, source: Option<IpAddr>, len: usize) -> Transmit {
        let p = &self.paths[path];
        // From an address that has gone since, nothing can leave.
        let source = source.filter(|source| !self.sources().has_lost(*source));
        Transmit {
            destination: p.remote,
            source: source.or(p.local),
            encapsulation: p.encapsulation,
            path: Some(path),
            //= RFC 9260 6.9-6
            // RFC 9260 §6.9: what was fragmented for a larger PMTU MUST be left to IP fragmentation.
            // RFC 1191 §6.5 allows to clear DF where the path MTU is too small to be used.
            fragment: len > p.max_packet || p.beneath_mtu,
        }
    }
}
