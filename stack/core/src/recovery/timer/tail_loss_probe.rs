//! Tail loss probes (RFC 8985 §7), for SCTP.
//!
//! Idea: when the last packets of a flight are lost nothing reports it, and T3-rtx collapses the
//! congestion window. After two round trips without an answer one packet is sent: new data if
//! there is any, otherwise the last chunk again. Its SACK shows what is missing.
//!
//! ```text
//! PTO = 2 SRTT, + the peer's SACK delay if one packet is in flight, unless that asked for the SACK
//!       at once ([`asked_sack`](super::asked_sack)); 1 s before the first sample;
//!       never later than T3-rtx would expire, which then starts again
//! ```
//! armed when new data is sent or a SACK advances the Cumulative TSN Ack Point, unless in recovery
//! or something is gap-acknowledged. One probe at a time, and one per RTT measurement.
//!
//! A probe that repeated a chunk, was acknowledged, and was not reported as a duplicate, has
//! repaired a loss: the congestion window is cut as for any loss (§7.4.2).
//!
//! Difference: T3-rtx may be due while the last chunks are younger than a round trip; their SACKs
//! are still to come, so the probe repeats the last chunk that is older. A probe at the moment of
//! T3-rtx backs RTO off like the expiration it stands for, unless [`thin_no_backoff`](super::thin_no_backoff)
//! spares that: the path is probed no more often than T3-rtx alone would do.
//!
//! Where partial reliability lets nothing in flight be sent again, a FORWARD TSN chunk that gives it up is the probe
//! (RFC 3758 §4.1 TR4). Whether anything of it had arrived nobody will tell; it counts as a loss that was repaired,
//! since it would have been marked for retransmission (§3.5 F5).
//!
//! The answer to a probe may be lost, too. With `in_a_row` above one more probes follow, each after twice the time of the
//! one before (RFC 9002 §6.2.1); RFC 8985 §7.3 leaves that to T3-rtx, which for most paths is due after RTO.Min, a
//! hundred round trips. Those that follow are beside T3-rtx: they neither take its place nor put it off.
//!
//! When the host loses the address that a path leaves from, answers under way to it are lost as well, and none has ever come to
//! the new one (RFC 9260 §7.2.5.2): it is probed at once, from the new one, whatever was probed before.
//!
//! Every SCTP receiver reports duplicates, so their absence is believed as soon as
//! something beyond the probe is acknowledged.

use std::time::Duration;

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::RoundTrip;
use crate::recovery::timer::asked_sack::{AskedSack, ProbeOutcome};
use crate::recovery::{Algorithm, Decisions, Early, NewData, SackFacts, TimerFacts};
use crate::scoreboard::Outstanding;
use crate::time::Time;

const CAUSE: LossCause = LossCause::TailLossProbe;

/// Before the first measurement (RFC 8985 §7.2).
const INITIAL: Duration = Duration::from_secs(1);
/// Between one probe and the next at least (RFC 9002 §6.1.2, kGranularity).
const GRANULARITY: Duration = Duration::from_millis(1);

/// A probe under way.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    /// The highest sequence number when it left.
    end: u64,
    /// It repeated this chunk.
    repeated: Option<u64>,
    /// How often, less the duplicates that were reported.
    unreported: u32,
    /// Which it is of those in a row, from 1.
    number: u32,
}

/// The probe timer of one association.
#[derive(Debug)]
pub(in crate::recovery) struct TailLossProbe {
    max_sack_delay: Duration,
    in_a_row: u32,
    deadline: Option<Time>,
    /// How long that was from when it was set.
    wait: Duration,
    /// It is beside T3-rtx.
    beside: bool,
    probe: Option<Probe>,
    measured: bool,
    asked: AskedSack,
}

impl TailLossProbe {
    /// T3-rtx expired, or fast recovery began: they take over (§7.1).
    fn reset(&mut self) {
        self.deadline = None;
        self.probe = None;
    }

    fn arm(&mut self, now: Time, packets: usize, round_trip: Option<RoundTrip>) {
        let wait = round_trip.map_or(INITIAL, |round_trip| {
            let two = 2 * round_trip.srtt;
            if packets > 1 {
                return two;
            }
            self.asked.wait(round_trip).unwrap_or(two + self.max_sack_delay)
        });
        self.deadline = Some(now + wait);
        (self.wait, self.beside) = (wait, false);
    }

    /// What a SACK says of the probe, and the chunk whose loss it has repaired.
    fn judge(&mut self, facts: &SackFacts<'_>) -> (ProbeOutcome, Option<u64>) {
        let Some(probe) = &mut self.probe else { return (ProbeOutcome::Acknowledged, None) };
        let cumulative = facts.board.cumulative();
        let Probe { end, repeated, .. } = *probe;
        let is_it = |seq: &&u64| repeated == Some(**seq);
        let reports = facts.duplicates.iter().filter(is_it).count();
        probe.unreported =
            probe.unreported.saturating_sub(u32::try_from(reports).unwrap_or(u32::MAX));
        let reported = repeated.is_some() && probe.unreported == 0;
        let answer = if reported { ProbeOutcome::SpuriousProbe } else { ProbeOutcome::Repaired };
        let mut repaired = None;
        if reported || (repeated.is_none() && cumulative >= end) {
            self.probe = None;
        } else if cumulative > end {
            self.probe = None;
            repaired = repeated;
        }
        (answer, repaired)
    }

    /// Decides what the probe sends.
    fn send(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) {
        self.deadline = None;
        let number = self.probe.map_or(0, |probe| probe.number);
        let is_due = if number == 0 { self.measured } else { number < self.in_a_row };
        if !is_due || facts.board.total_flight() == 0 {
            return;
        }
        let last = facts.board.next_seq() - 1;
        let repeated = if facts.new_data_ready { None } else { chunk_to_probe(facts) };
        if facts.new_data_ready {
            decisions.send_new += 1;
            decisions.new_early = Some(CAUSE);
            self.note_probe(last + 1, None);
        } else if let Some(seq) = repeated {
            decisions.repeat = Some((seq, CAUSE));
            self.note_probe(last, Some(seq));
        }
        self.measured = false;
        let sent = facts.new_data_ready || repeated.is_some();
        if sent && number + 1 < self.in_a_row {
            self.wait = (2 * self.wait).max(GRANULARITY);
            self.deadline = Some(facts.now + self.wait);
            self.beside = true;
        }
    }

    /// A probe leaves, perhaps after others that were not answered.
    fn note_probe(&mut self, end: u64, repeats: Option<u64>) {
        let Probe { repeated, unreported, number, .. } = self.probe.unwrap_or_default();
        let same = repeats.is_some() && repeated == repeats;
        let unreported = if same { unreported + 1 } else { u32::from(repeats.is_some()) };
        self.probe = Some(Probe { end, repeated: repeats, unreported, number: number + 1 });
    }
}

impl Algorithm for TailLossProbe {
    fn of(profile: &Profile, _retransmit_bit: bool) -> Option<TailLossProbe> {
        let parameters = &profile.tail_loss_probe;
        parameters.enabled.then(|| TailLossProbe {
            max_sack_delay: profile.sack.peer_delay(),
            in_a_row: parameters.in_a_row,
            deadline: None,
            wait: INITIAL,
            beside: false,
            probe: None,
            measured: true,
            asked: AskedSack::new(parameters.trust_immediate_sack),
        })
    }

    fn on_new_data(&mut self, sent: &NewData<'_>) {
        let NewData { now, board, round_trip, asks_for_sack, recovering } = *sent;
        let packets = board.packets_in_flight();
        self.asked.on_new_data(now, packets <= 1, asks_for_sack);
        // RFC 8985 §7.2: unless other mechanisms are at work.
        let quiet = !recovering && board.first_lost().is_none() && board.packets_gap_acked() == 0;
        if quiet && self.probe.is_none() {
            self.arm(now, packets, round_trip);
        }
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        let (answer, repaired) = self.judge(facts);
        decisions.repaired = decisions.repaired.or(repaired);
        let all_acked = facts.board.total_flight() == 0;
        if all_acked && let Some(round_trip) = facts.round_trip {
            self.asked.on_all_acked(facts.now, round_trip, answer);
        }
        if all_acked || facts.in_fast_recovery || facts.outcome.has_gaps {
            self.deadline = None;
        } else if facts.outcome.cumulative_advanced {
            self.arm(facts.now, facts.board.packets_in_flight(), facts.round_trip);
        }
    }

    fn on_rtt(&mut self, _sample: Duration, _srtt: Duration) {
        self.measured = true;
    }

    fn on_source_change(&mut self, now: Time) {
        self.reset();
        self.measured = true;
        self.deadline = Some(now);
        (self.wait, self.beside) = (INITIAL, true);
    }

    fn on_fast_recovery(&mut self) {
        self.reset();
    }

    fn on_timeout(&mut self) {
        self.reset();
    }

    fn early(&self) -> Option<Early> {
        self.deadline.map(|at| Early { at, beside: self.beside })
    }

    fn on_early(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) {
        match facts.guess_at {
            Some(at) if at <= facts.now => self.send(facts, decisions),
            // Later, or T3-rtx will do.
            at => self.deadline = at,
        }
    }
}

/// The last chunk in flight that was sent at least a round trip ago, or else the earliest; if none of them may be sent
/// again, one whose message is over.
fn chunk_to_probe(facts: &TimerFacts<'_>) -> Option<u64> {
    let in_flight = |seq: &u64| facts.board.get(*seq).filter(|chunk| chunk.is_repeatable());
    let old = |seq: &u64| {
        in_flight(seq).is_some_and(|chunk| facts.now.since(chunk.last_sent) >= facts.round_trip)
    };
    let (first, end) = (facts.board.cumulative() + 1, facts.board.next_seq());
    let last = (first..end).rev().find(old);
    let earliest = || (first..end).find(|seq| in_flight(seq).is_some());
    let over = || (first..end).find(|seq| facts.board.get(*seq).is_some_and(Outstanding::is_over));
    last.or_else(earliest).or_else(over)
}
