//! RACK loss detection (RFC 8985 §6), for SCTP.
//!
//! Idea: what was sent a little before something that has arrived is lost. Time decides, not the number of SACKs, so that the loss
//! of a retransmission and of the tail of a flight are found too, and reordering is allowed for.
//!
//! Per path, on every SACK, `latest` being the acknowledged chunk that was sent last:
//! ```text
//! lost(c) <=> sent(c) before latest  and  sent(c) + rtt(latest) + reo_wnd <= now
//! reo_wnd = 0                                     no reordering seen, and in recovery or three packets gap-acknowledged
//!         = min(mult * min_rtt / 4, SRTT)         otherwise
//! mult    grows by one per round trip with duplicates of what SACKs declared lost,
//!         for 16 recoveries
//! ```
//! A timer runs to the moment when the next chunk becomes lost. At a timeout only chunks that are old enough are lost (§6.3). Once
//! reordering was seen fast retransmit by miss indications is silent.
//!
//! Difference: an acknowledgement of a chunk that was sent again may answer an earlier transmission. If it is taken for an answer to
//! the last one, the RTT is too short, and all that was sent before that one is lost: everything in flight, after each timeout that
//! a long queue makes spurious. §6.2 step 2 has timestamps to tell, or the minimum RTT. Here the R bit tells, too, if it was agreed on,
//! and RACK.rtt is no shorter than that of the latest chunk sent once, which a queue makes long as well.
//!
//! Difference: a loss that was found to be spurious counts as reordering seen; RFC 8985 does not look at chunks that were
//! retransmitted. SCTP reports every duplicate TSN, which stands for DSACK; one of a probe, a timeout or a copy that rode along says
//! that a SACK was lost or late, and nothing about reordering ([`suspects`](super::suspects)). The order between paths says nothing.
//!
//! Difference: after mistakes (`budget.rs`) three packets must have overtaken a chunk: they may be later than SRTT. With
//! `count_while_app_limited` one path's miss indications count in spite of reordering while no new data waits to hide reo_wnd.

use std::collections::VecDeque;
use std::time::Duration;

use smallvec::SmallVec;

use super::suspects::Suspects;
use crate::ids::{LossCause, PathId};
use crate::profile::Profile;
use crate::recovery::{Algorithm, Decisions, Distrust, Evidence, SackFacts, Sent, TimerFacts};
use crate::scoreboard::{ChunkState, LatestAck, Scoreboard};
use crate::time::Time;
use crate::windowed::Windowed;

/// A larger reordering window lasts for this many recoveries without duplicates (§6.2 step 4).
const PERSIST: u32 = 16;
/// Gap-acknowledged packets that prove a loss while no reordering was seen (§6.2 step 4).
const DUP_THRESH: usize = 3;

/// Chunks `first..=last` sent at one moment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    sent: Time,
    first: u64,
    last: u64,
}

/// What RACK knows of one path.
#[derive(Debug, Default)]
struct RackPath {
    /// Transmissions that may still be outstanding, in the order of sending.
    log: VecDeque<Transmission>,
    latest: Option<(Time, u64)>,
    rtt: Duration,
    /// That of the latest chunk that was sent once.
    sure_rtt: Duration,
    min_rtt: Windowed,
    /// How much later than the one that overtook it a chunk may come, as of the last SACK.
    tolerance: Duration,
}

impl RackPath {
    fn min_rtt(&self) -> Duration {
        self.min_rtt.least().unwrap_or_default()
    }

    /// A clock that was put back makes what was sent before it look younger than anything new.
    fn check_clock(&mut self, now: Time) {
        if self.latest.is_some_and(|(sent, _)| sent > now) {
            self.latest = None;
        }
    }

    /// §6.2 steps 1 and 2; `sent_again` is false if what the SACK answers was not.
    fn update(&mut self, now: Time, ack: &LatestAck, sent_again: bool) {
        let rtt = now.since(ack.sent);
        if ack.sent > now {
            return; // The clock was put back: nothing can be learnt from it.
        }
        if ack.transmissions > 1 && (rtt < self.min_rtt() || !sent_again) {
            return; // The SACK answers an earlier transmission.
        }
        if ack.transmissions == 1 {
            self.sure_rtt = rtt;
            self.min_rtt.sample(now, rtt);
        }
        self.rtt = rtt.max(self.sure_rtt);
        if self.latest.is_none_or(|latest| (ack.sent, ack.seq) > latest) {
            self.latest = Some((ack.sent, ack.seq));
        }
    }
}

/// RACK of one association.
#[derive(Debug)]
pub(in crate::recovery) struct Rack {
    window: f64,
    /// SACKs say whether they answer a retransmission (the R bit).
    retransmit_bit: bool,
    count_while_app_limited: bool,
    paths: SmallVec<[RackPath; 4]>,
    reordering_seen: bool,
    /// What SACKs declared lost.
    declared: Suspects,
    multiplier: u32,
    persist: u32,
    /// Duplicates count once per round trip: until this is acknowledged.
    round_end: Option<u64>,
    was_in_recovery: bool,
    /// Less than [`DUP_THRESH`] packets that overtook a chunk are enough.
    trusts_order: bool,
    deadline: Option<Time>,
}

impl Rack {
    #[inline(always)]
    fn path(&mut self, path: PathId) -> &mut RackPath {
        if self.paths.len() <= usize::from(path.0) {
            self.paths.resize_with(usize::from(path.0) + 1, RackPath::default);
        }
        &mut self.paths[usize::from(path.0)]
    }

    /// §6.2 step 4.
    fn update_multiplier(&mut self, facts: &SackFacts<'_>) {
        let cumulative = facts.board.cumulative();
        if self.round_end.is_some_and(|end| cumulative >= end) {
            self.round_end = None;
        }
        let exits = self.was_in_recovery && !facts.in_fast_recovery;
        let wrong = self.declared.are_cleared(facts.duplicates, cumulative);
        if self.round_end.is_none() && wrong {
            self.round_end = Some(facts.board.next_seq() - 1);
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSIST;
        } else if exits && self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
        self.was_in_recovery = facts.in_fast_recovery;
    }

    fn reordering_window(&self, facts: &SackFacts<'_>, path: usize) -> Duration {
        let proof = facts.in_fast_recovery || facts.board.packets_gap_acked() >= DUP_THRESH;
        if !self.reordering_seen && proof {
            return Duration::ZERO;
        }
        let window = self.paths[path].min_rtt().mul_f64(self.window * f64::from(self.multiplier));
        facts.srtt.get(path).copied().flatten().map_or(window, |srtt| window.min(srtt))
    }

    /// §6.2 step 5; visits only what was sent before the latest acknowledged chunk.
    fn detect(&mut self, now: Time, board: &Scoreboard, path: usize, decisions: &mut Decisions) {
        if !self.trusts_order && board.packets_gap_acked() < DUP_THRESH {
            return;
        }
        let state = &mut self.paths[path];
        state.check_clock(now);
        let Some(latest) = state.latest else { return };
        while let Some(oldest) = state.log.front().copied() {
            let current = |seq: u64| {
                board.get(seq).is_some_and(|chunk| {
                    chunk.state == ChunkState::InFlight
                        && chunk.last_sent == oldest.sent
                        && usize::from(chunk.path.0) == path
                })
            };
            let open =
                (oldest.first.max(board.cumulative() + 1)..=oldest.last).find(|s| current(*s));
            let Some(first) = open else {
                state.log.pop_front();
                continue;
            };
            if (oldest.sent, first) >= latest {
                return;
            }
            let due = oldest.sent + state.rtt + state.tolerance;
            if due > now {
                self.deadline = Some(self.deadline.map_or(due, |d| d.min(due)));
                return;
            }
            let end = oldest.last.min(if oldest.sent == latest.0 { latest.1 } else { u64::MAX });
            for seq in (first..=end).filter(|seq| current(*seq)) {
                decisions.lost.push((seq, seq, LossCause::Rack));
            }
            if end < oldest.last {
                // The rest was sent together with the latest one, behind it.
                state.log[0].first = end + 1;
                return;
            }
            state.log.pop_front();
        }
    }
}

impl Algorithm for Rack {
    fn of(profile: &Profile, retransmit_bit: bool) -> Option<Rack> {
        let parameters = &profile.rack;
        parameters.enabled.then(|| Rack {
            window: parameters.reordering_window,
            retransmit_bit,
            count_while_app_limited: parameters.count_while_app_limited,
            paths: SmallVec::new(),
            reordering_seen: false,
            declared: Suspects::new(LossCause::is_found_by_sacks),
            multiplier: 1,
            persist: 0,
            round_end: None,
            was_in_recovery: false,
            trusts_order: true,
            deadline: None,
        })
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        if let Some(cause) = sent.again {
            self.declared.on_sent_again(sent.seq, cause);
        }
        let log = &mut self.path(sent.path).log;
        match log.back_mut() {
            Some(t) if t.sent == sent.now && t.last + 1 == sent.seq => t.last = sent.seq,
            _ => log.push_back(Transmission { sent: sent.now, first: sent.seq, last: sent.seq }),
        }
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        self.reordering_seen |= facts.outcome.reordered;
        self.update_multiplier(facts);
        self.deadline = None;
        let sent_again = facts.retransmit_bit || !self.retransmit_bit;
        let acks = facts.outcome.paths.iter().enumerate();
        for (i, ack) in acks.filter_map(|(i, ack)| Some((i, ack.latest.as_ref()?))) {
            self.path(PathId(i as u8)).update(facts.now, ack, sent_again);
        }
        for i in 0..self.paths.len() {
            self.paths[i].tolerance = self.reordering_window(facts, i);
            self.detect(facts.now, facts.board, i, decisions);
        }
    }

    fn on_timeout(&mut self) {
        self.deadline = None;
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn on_deadline(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) {
        if self.deadline.is_none_or(|at| at > facts.now) {
            return;
        }
        self.deadline = None;
        for i in 0..self.paths.len() {
            self.detect(facts.now, facts.board, i, decisions);
        }
    }

    /// §6.2 step 4: once reordering was seen, the number of SACKs proves nothing.
    fn distrusts(&mut self, facts: &SackFacts<'_>) -> Distrust {
        let limited = !facts.new_data_ready && facts.in_order && self.count_while_app_limited;
        Distrust::of(&[Evidence::Count]).when(self.reordering_seen && !limited)
    }

    fn trust_order(&mut self, trusted: bool) {
        self.trusts_order = trusted;
    }

    fn on_spurious_loss(&mut self) {
        self.reordering_seen = true;
    }

    /// A chunk that had been taken for lost is in flight again, as it was sent at `sent`.
    fn on_restored(&mut self, path: PathId, seq: u64, sent: Time) {
        let log = &mut self.path(path).log;
        let at = log.partition_point(|t| (t.sent, t.first) < (sent, seq));
        match at.checked_sub(1).and_then(|before| log.get_mut(before)) {
            Some(t) if t.sent == sent && seq <= t.last + 1 => t.last = t.last.max(seq),
            _ => log.insert(at, Transmission { sent, first: seq, last: seq }),
        }
    }

    /// §6.3: at a timeout, whether a chunk sent at `sent` on `path` is too young to be lost.
    fn spares(&self, now: Time, path: PathId, sent: Time) -> bool {
        let Some(state) = self.paths.get(usize::from(path.0)) else { return false };
        state.latest.is_some() && sent + state.rtt + state.tolerance > now
    }
}
