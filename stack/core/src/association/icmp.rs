//! What ICMP changes: the path MTU, the error count of a path, or the end (RFC 9260 §10).

use std::net::IpAddr;

use super::{Association, State, path_mtu};
use crate::datagram::IcmpKind;
use crate::event::CloseReason;
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
            IcmpKind::TooBig { mtu } => {
                let (mut cx, parts) = self.parts(now);
                if path_mtu::lower(&mut cx, parts.halves.sender, path, mtu) {
                    self.after_giving_up(now);
                }
            }
            //= RFC 9260 10-7
            // ICMP8: "MUST treat this message as an abort with the T bit set if it does not contain
            // an INIT chunk. If it does contain an INIT chunk and the association is in the
            // COOKIE-WAIT state, handle the ICMP message like an ABORT chunk."
            // In SHUTDOWN-ACK-SENT such an abort is the end that was to come: the peer has our SHUTDOWN
            // ACK and has left, and its SHUTDOWN COMPLETE was lost or is late.
            // Nor does an address that has not shown to be the peer's say anything of the peer: whoever may list one (RFC 9260
            // §5.4) or add one (RFC 5061 §5.3) would have others end the association.
            IcmpKind::NoSctp if !self.paths[path].is_confirmed() => {
                let (mut cx, parts) = self.parts(now);
                parts.monitor.on_unreachable(&mut cx, path);
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
            IcmpKind::Unreachable => {
                let (mut cx, parts) = self.parts(now);
                parts.monitor.on_unreachable(&mut cx, path);
            }
        }
    }
}
