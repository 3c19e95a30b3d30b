//! What ICMP changes: the path MTU, the error count of a path, or the end (RFC 9260 §10); and how
//! packets leave on a path whose MTU has shrunk (§6.9, RFC 1191, RFC 8201).

use std::net::IpAddr;

use super::{Association, State};
use crate::datagram::{Ecn, IcmpKind, Transmit};
use crate::event::CloseReason;
use crate::path::PathId;
use crate::time::Time;

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
            // Nor does an address that has not shown to be the peer's say anything of the peer: whoever may list one (RFC 9260
            // §5.4) or add one (RFC 5061 §5.3) would have others end the association.
            IcmpKind::NoSctp if !self.paths[path].is_confirmed() => {
                self.note_unreachable(now, path);
            }
            IcmpKind::NoSctp if !is_init && self.state() == State::ShutdownAckSent => {
                self.close(CloseReason::Shutdown);
            }
            IcmpKind::NoSctp if !is_init || self.state() == State::CookieWait => {
                self.close(CloseReason::NoSctp);
            }
            IcmpKind::NoSctp => {}
            // ICMP9: "MAY ... increment the path error counter": once per RTO, whatever the number of
            // packets that were lost.
            IcmpKind::Unreachable => self.note_unreachable(now, path),
        }
    }

    fn note_unreachable(&mut self, now: Time, path: PathId) {
        let p = &mut self.paths[path];
        let rto = p.error_rto(&self.config.profile);
        if !matches!(self.phase.state(), State::CookieWait | State::CookieEchoed)
            && p.reachability.believes_unreachable(now, rto)
        {
            if self.count_failure(path, true) {
                self.ask_failed(now, path);
            }
            self.doubt_source(now, path, now);
        }
    }

    /// Where a packet of this many bytes goes, and how; from the source of the path unless from another.
    pub(super) fn transmit_to(&self, path: PathId, source: Option<IpAddr>, len: usize) -> Transmit {
        let p = &self.paths[path];
        // From an address that has gone since, nothing can leave.
        let source = source.filter(|source| !self.sources().has_lost(*source));
        let back = self.outbox.back();
        Transmit {
            destination: back.map_or(p.address.remote(), |back| back.address),
            source: source.or_else(|| p.address.local().filter(|_| back.is_none())),
            encapsulation: back.map_or(p.address.encapsulation(), |back| back.encapsulation),
            path: Some(path),
            fragment: p.mtu.needs_fragments(len) && !self.outbox.is_probe(),
            ecn: Ecn::NotEct,
        }
    }
}
