//! Round-trip time samples, and RTO after them (RFC 9260 §6.3.1).

use std::time::Duration;

use super::Sender;
use crate::event::TraceEvent;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::recovery::RtoMin;
use crate::scoreboard::LatestAck;
use crate::send::context::Context;
use crate::time::Time;

impl Sender {
    //= RFC 9260 6.3.1-4
    /// RFC 9260 §6.3.1 C4, C5: one sample per round trip, never of a retransmitted chunk; nor of one that a SACK may have
    /// acknowledged before: one that came damaged and `repeats` what was sent by then, or that went to a source which was gone.
    pub(super) fn take_rtt_sample(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        latest: Option<LatestAck>,
        repeats: Option<Time>,
    ) {
        let now = cx.now;
        let board = self.data.board();
        if let Some(latest) = latest.filter(|latest| latest.once > 0)
            && cx.paths[path].mtu.is_searched()
        {
            cx.paths[path].on_sent_once(now, latest.sent, latest.once);
        }
        if let Some(timed) = cx.paths[path].timed.take_if(|seq| board.is_acked(seq)) {
            cx.paths[path].on_timed(now, timed);
            let from_lost = cx.paths[path].address.is_from_lost(timed.sent);
            if from_lost || repeats.is_some_and(|by| timed.sent <= by) {
                return;
            }
            let delay = cx.profile().sack.peer_delay();
            if timed.asked {
                cx.paths[path].rtt.spare_delay(delay);
            }
            let delay = if timed.asked { Duration::ZERO } else { delay };
            // A SACK that was lost makes the round trip of the timed chunk long, and not that of the latest one.
            // If that was sent again, nothing is known.
            if let Some(latest) = latest.filter(|latest| latest.transmissions == 1) {
                let sent = latest.sent.max(timed.sent);
                cx.paths[path].calm.sample(now, now.since(sent), delay);
            }
            self.sample_rtt(cx, path, timed.sent);
            // RFC 4015 step 11: the first sample from data that was unsent at the timeout.
            let rtt = now.since(timed.sent);
            if let Some((srtt, rttvar)) = self.recovery.adapted(timed.seq, rtt) {
                cx.paths[path].rtt.adapt(srtt, rttvar);
            }
        }
    }

    /// RTO.Min now, with this profile.
    pub(crate) fn rto_min(&self, profile: &Profile) -> Duration {
        self.recovery.rto_min(profile, self.is_thin())
    }

    /// Takes a round-trip time sample.
    pub(crate) fn sample_rtt(&mut self, cx: &mut Context<'_>, path: PathId, sent: Time) {
        let now = cx.now;
        let thin = self.is_thin();
        let profile = cx.profile();
        let rtt = &mut cx.paths[path].rtt;
        let sample = rtt.elapsed(sent, now);
        rtt.sample(sample);
        cx.paths[path].timed.on_rtt(now);
        let rtt = &mut cx.paths[path].rtt;
        let srtt = rtt.srtt().unwrap_or(sample);
        match self.recovery.on_rtt(profile, path, thin, sample, srtt) {
            RtoMin::Is(min) => rtt.set_min(min),
            RtoMin::Moved(min, rto_min) => {
                rtt.set_min(min);
                cx.journal.trace(now, || TraceEvent::RtoMin { rto_min });
            }
        }
        rtt.bound();
        let (srtt, rto) = (rtt.srtt().unwrap_or(sample), rtt.rto());
        cx.journal.trace(now, || TraceEvent::Rtt { path, sample, srtt, rto });
    }
}
