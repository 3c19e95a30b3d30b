//! ECNE and CWR chunks (RFC 4960 Appendix A; draft-stewart-tsvwg-sctpecn), where both ends are ECN-capable.

use tresse_wire::{Cwr, Ecne};

use super::incoming::PacketInHand;
use super::{Association, Control};
use crate::datagram::Ecn;
use crate::time::Time;

impl Association {
    /// A packet begins; whether it bears the mark of congestion.
    pub(super) fn note_ecn(&mut self, ecn: Ecn) -> bool {
        if !self.sender.data().has_ecn() {
            return false;
        }
        self.paths.iter_mut().for_each(|path| path.window.marks_mut().begin_packet());
        let marked = ecn == Ecn::Ce;
        self.journal.stats.ce_packets_received += u64::from(marked);
        marked
    }

    /// An ECNE chunk: the peer has received marked packets.
    pub(super) fn on_ecne(&mut self, now: Time, incoming: &PacketInHand<'_>, ecne: &Ecne) {
        if !self.state().may_send_data() {
            return;
        }
        let arrival = incoming.arrival();
        let (sender, mut cx) = self.sending(now);
        let Some((path, cwr)) = cx.on_ecne(sender.data(), ecne, arrival) else { return };
        if self.outbox.makes_way(path, &cwr) {
            self.outbox.push(&self.paths, path, Control::Cwr(cwr));
        }
    }

    /// A CWR chunk: the peer has reduced a window.
    pub(super) fn on_cwr(&mut self, incoming: &PacketInHand<'_>, cwr: &Cwr) {
        self.journal.stats.cwrs_received += 1;
        self.receiver.on_cwr(incoming.arrival(), cwr);
    }
}
