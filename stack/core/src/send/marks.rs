//! ECN in the sending half (RFC 3168, RFC 4960 Appendix A, draft-stewart-tsvwg-sctpecn): which packets are ECT, what
//! ECNE chunks mean, and what answers them.
//!
//! A mark is congestion as a loss is: the window of its path is cut, once per round trip, and nothing is sent again.

use tresse_wire::{Cwr, Ecne};

use super::context::Context;
use super::outbound::{MAX_TSNS, Outbound};
use crate::datagram::Ecn;
use crate::event::TraceEvent;
use crate::ids::{PathId, WindowCause};
use crate::scoreboard::{PathAck, Scoreboard};

impl Context<'_> {
    /// An ECNE chunk, which came over `arrival`: the CWR chunk that answers it, if one is due, and its path.
    pub(crate) fn on_ecne(
        &mut self,
        data: &Outbound,
        ecne: &Ecne,
        arrival: PathId,
    ) -> Option<(PathId, Cwr)> {
        let now = self.now;
        self.journal.stats.ecn_echoes_received += 1;
        let seq = data.board().unwrap(ecne.lowest_tsn);
        if seq >= data.board().next_seq() {
            // It was never sent.
            self.journal.stats.ecn_echoes_ignored += 1;
            return None;
        }
        let Some((path, certain)) = self.marked_path(data, seq, arrival) else {
            // As FreeBSD: what is long over is answered for any path, so that the peer does not tell it for ever.
            self.journal.stats.ecn_echoes_ignored += 1;
            let path = if self.paths.is_living(arrival) { arrival } else { self.paths.data_path() };
            return Some((
                path,
                Cwr { lowest_tsn: ecne.lowest_tsn, any_path: true, same_window: true },
            ));
        };
        let p = &mut self.paths[path];
        let round_trip = p.rtt.srtt().unwrap_or(p.rto());
        let fails = !p.reachability.is_usable();
        let marks = p.window.marks_mut();
        let packets = certain.then(|| ecne.packets.unwrap_or(1));
        let echo = marks.hear(now, seq, packets, round_trip);
        let cuts = !marks.is_cut_for(seq);
        p.counters.congestion_marks += u64::from(echo.packets());
        self.journal.stats.congestion_marks += u64::from(echo.packets());
        //= RFC 3168 5-2
        if cuts {
            self.journal.stats.cuts_by_marks += 1;
            self.cut_window(data, path, WindowCause::Mark);
        }
        let answer = Scoreboard::tsn(echo.answer()?);
        // Where nothing arrives the answer would not either; elsewhere it has to say that it is not about that path.
        let way = if fails { self.paths.data_path() } else { path };
        Some((way, Cwr { lowest_tsn: answer, any_path: way != path, same_window: !cuts }))
    }

    /// Where the marked packet went, and whether that is certain; `None` if it is not known any more.
    fn marked_path(&self, data: &Outbound, seq: u64, arrival: PathId) -> Option<(PathId, bool)> {
        // What was sent again elsewhere was marked when it was sent first: retransmissions are not ECT.
        let chunk = data.board().get(seq).filter(|chunk| chunk.one_path);
        let sent = chunk.map(|chunk| (chunk.path, true));
        let told = || self.paths.iter().find(|p| p.window.marks().has_heard(seq));
        // SACKs, which may have been faster, go back where DATA came from (RFC 9260 §6.4).
        let recent = seq + MAX_TSNS as u64 > data.board().cumulative();
        let guessed = || {
            let is_news = recent && self.paths[arrival].window.marks().is_news(seq);
            is_news.then_some((arrival, self.paths.len() == 1))
        };
        let path = sent.or_else(|| told().map(|p| (p.id, true))).or_else(guessed);
        path.filter(|(path, _)| self.paths.is_living(*path))
    }

    /// What a SACK acknowledged on `path` tells whether ECT packets arrive there.
    pub(super) fn watch_marks(&mut self, data: &Outbound, path: PathId, ack: &PathAck) {
        let Some(latest) = ack.latest.filter(|_| data.capabilities().chosen.ecn) else { return };
        if self.paths[path].window.marks_mut().on_ack(latest.seq, ack.ect) {
            self.journal.stats.ecn_given_up += 1;
            self.journal.trace(self.now, || TraceEvent::EcnGivenUp { path });
        }
    }

    //= RFC 3168 5-1 5.2-1 5.2-2 6.1.1-8 6.1.2-1 6.1.4-1 6.1.5-1 6.1.5-2 6.1.6-1
    /// A packet of nothing but new chunks leaves on `path`, the lowest of them `seq`: whether it is ECT.
    ///
    /// RFC 3168 §6.1.5: "ECN-capable TCP implementations MUST NOT set either ECT codepoint [...] for retransmitted data
    /// packets"; §6.1.6: nor for window probes.
    pub(super) fn mark_capable(&mut self, data: &mut Outbound, path: PathId, seq: u64) -> Ecn {
        let p = &mut self.paths[path];
        let capable = data.capabilities().chosen.ecn
            && self.state.may_send_data()
            && p.window.marks().may_leave();
        if !capable {
            return Ecn::NotEct;
        }
        p.window.marks_mut().on_sent(seq);
        data.board_mut().mark_ect(seq);
        p.counters.ect_packets_sent += 1;
        self.journal.stats.ect_packets_sent += 1;
        Ecn::Ect0
    }
}
