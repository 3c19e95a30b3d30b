//! Spurious retransmissions: what was declared lost had arrived (Ladha et al. §4, §5).
//!
//! An [`Episode`] begins when loss recovery cuts a congestion window and ends when a detector has
//! decided. The detectors, in the order of evaluation; the first verdict counts:
//! 1. [`f_rto`]: from what is acknowledged after a timeout,
//! 2. [`eifel_timestamp`], 3. [`eifel_retransmit_bit`]: from what the cover ack carries,
//! 4. [`dup_tsn`]: from duplicate reports, also of what Eifel has left undecided ([`combined`]).
//!
//! What follows from a verdict is in [`response`].

mod combined;
mod cover_ack;
mod dup_tsn;
mod eifel_retransmit_bit;
mod eifel_timestamp;
mod f_rto;
mod response;

use std::time::Duration;

use smallvec::SmallVec;

use crate::event::SpuriousCause;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::ranges::RangeSet;
use crate::recovery::{Decisions, SackFacts};
use crate::time::Time;
pub(crate) use eifel_timestamp::ticks;
use f_rto::FRto;
use response::TimerAdaption;
pub(crate) use response::windows;

/// What started loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trigger {
    FastRetransmit,
    Timeout,
}

/// A path whose congestion window was cut, and what it was before (RFC 4015 step 0).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) path: PathId,
    /// `max(FlightSize, ssthresh)`, of the flight no more than `most`.
    pub(crate) pipe_prev: usize,
    /// cwnd, if a mark had cut it below what was in flight: no more comes back (RFC 4015 §3.2, step 5).
    pub(crate) most: usize,
    /// How often the peer had told of marks (ECN) on the path.
    pub(crate) marks: u64,
    /// All of cwnd was in flight, and more than a thin stream's.
    pub(crate) full: bool,
    /// Timeouts in a row on the path, this one included; 0 after a fast retransmit.
    pub(crate) timeouts: u32,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rttvar: Duration,
}

/// One loss recovery, from its beginning until it is judged.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    trigger: Trigger,
    cuts: SmallVec<[Cut; 2]>,
    /// Highest sequence number sent when it began.
    highest: u64,
    /// `RetransmitTS`: when the first retransmission left.
    retransmit_ts: Option<Time>,
    /// `MaxRetransmit`: the highest sequence number retransmitted.
    max_retransmit: Option<u64>,
    /// Retransmitted, and not reported as duplicate so far.
    unreported: RangeSet,
    /// `AckRcvd`: a SACK came that is not a cover ack.
    ack_rcvd: bool,
    /// Eifel has decided that it was not spurious, or cannot tell.
    eifel_done: bool,
}

impl Episode {
    pub(crate) const fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// What it has taken from the windows.
    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// Highest sequence number sent when it began.
    pub(crate) const fn highest(&self) -> u64 {
        self.highest
    }

    /// The same loss recovery goes on: nothing was decided, and not all of it is acknowledged.
    fn continues(&self, cumulative: u64) -> bool {
        let open = match self.trigger {
            Trigger::FastRetransmit => !cover_ack::is_cover_ack(cumulative, self),
            Trigger::Timeout => cumulative < self.highest,
        };
        open && !self.eifel_done
    }
}

/// A detector's finding.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) episode: Episode,
    pub(crate) by: SpuriousCause,
}

/// All detectors of one association.
#[derive(Debug)]
pub(crate) struct SpuriousDetection {
    dup_tsn: bool,
    timestamp: Option<eifel_timestamp::EifelTimestamp>,
    retransmit_bit: Option<eifel_retransmit_bit::EifelRetransmitBit>,
    f_rto: Option<FRto>,
    episode: Option<Episode>,
    /// What the next RTT sample does to the timer after a spurious timeout (RFC 4015 step 11).
    adaption: Option<TimerAdaption>,
}

impl SpuriousDetection {
    /// `timestamps` and `retransmit_bit` say what was agreed with the peer.
    pub(crate) fn new(profile: &Profile, timestamps: bool, retransmit_bit: bool) -> Self {
        let eifel = &profile.eifel_timestamp;
        let bit = &profile.eifel_retransmit_bit;
        SpuriousDetection {
            dup_tsn: profile.dup_tsn.enabled,
            timestamp: (timestamps && eifel.enabled)
                .then(|| eifel_timestamp::EifelTimestamp::new(eifel)),
            retransmit_bit: (retransmit_bit && bit.enabled)
                .then(|| eifel_retransmit_bit::EifelRetransmitBit::new(bit)),
            f_rto: profile.f_rto.enabled.then(FRto::default),
            episode: None,
            adaption: None,
        }
    }

    fn is_off(&self) -> bool {
        !self.dup_tsn
            && self.timestamp.is_none()
            && self.retransmit_bit.is_none()
            && self.f_rto.is_none()
    }

    /// Loss recovery begins. A further cut by SACKs before the last one was judged belongs to it.
    pub(crate) fn begin(
        &mut self,
        trigger: Trigger,
        cuts: SmallVec<[Cut; 2]>,
        cumulative: u64,
        highest: u64,
    ) {
        if self.is_off() || cuts.is_empty() {
            return;
        }
        if let Some(episode) = &mut self.episode
            && episode.trigger == trigger
            && episode.continues(cumulative)
        {
            // RFC 4015 §3.1: "it may not be reinitiated upon subsequent timeouts for the same
            // segment". What timed out on another path were retransmissions: no window of that
            // path is given back.
            for cut in &mut episode.cuts {
                let again = cuts.iter().find(|c| c.path == cut.path);
                cut.timeouts = again.map_or(cut.timeouts, |c| c.timeouts);
            }
            if trigger == Trigger::FastRetransmit {
                episode.highest = highest;
            }
            return;
        }
        self.episode = Some(Episode {
            trigger,
            cuts,
            highest,
            retransmit_ts: None,
            max_retransmit: None,
            unreported: RangeSet::default(),
            ack_rcvd: false,
            eifel_done: false,
        });
    }

    /// T3-rtx expired; `recovering` says that an earlier loss recovery was not over.
    pub(crate) fn on_timeout(&mut self, cumulative: u64, highest: u64, recovering: bool) {
        if let Some(f_rto) = &mut self.f_rto {
            f_rto.on_timeout(cumulative, highest, recovering);
        }
    }

    /// A timeout of `episode` was none: what follows for the timer.
    pub(crate) fn adapt_timer(&mut self, episode: &Episode, granularity: Duration) {
        let cut = episode.cuts.first();
        self.adaption =
            cut.and_then(|cut| TimerAdaption::new(cut, episode.highest + 1, granularity));
    }

    /// The chunk `seq` took `rtt`: SRTT and RTTVAR if it is the first one that was unsent at a timeout which was none.
    pub(crate) fn adapted(&mut self, seq: u64, rtt: Duration) -> Option<(Duration, Duration)> {
        let adaption = self.adaption.take_if(|adaption| adaption.takes(seq))?;
        Some(adaption.estimate(rtt))
    }

    /// F-RTO wants what is lost to wait, except for one packet.
    pub(crate) fn holds_retransmissions(&self) -> bool {
        self.f_rto.as_ref().is_some_and(FRto::holds)
    }

    /// A lost chunk left again.
    pub(crate) fn on_retransmission(&mut self, now: Time, seq: u64) {
        let Some(episode) = &mut self.episode else { return };
        // What is sent for the first time after the beginning belongs to a later loss.
        if seq > episode.highest || episode.eifel_done && !self.dup_tsn {
            return;
        }
        episode.retransmit_ts.get_or_insert(now);
        episode.max_retransmit = episode.max_retransmit.max(Some(seq));
        episode.unreported.insert(seq);
    }

    /// A SACK was applied.
    pub(crate) fn on_sack(
        &mut self,
        facts: &SackFacts<'_>,
        decisions: &mut Decisions,
    ) -> Option<Verdict> {
        let f_rto = self.f_rto.as_mut().is_some_and(|f| f.on_sack(facts, decisions));
        let episode = self.episode.as_mut()?;
        for seq in facts.duplicates {
            episode.unreported.remove(*seq);
        }
        if f_rto && episode.trigger == Trigger::Timeout {
            return self.judge(SpuriousCause::FRto);
        }
        if !episode.eifel_done {
            let timestamp = self.timestamp.as_ref().map(|e| e.judge(facts, episode));
            let bit = self.retransmit_bit.as_ref().map(|e| e.judge(facts, episode));
            let outcome = combined::first(timestamp, bit);
            match outcome {
                Some(Finding::Spurious(by)) => return self.judge(by),
                Some(Finding::Done) => episode.eifel_done = true,
                Some(Finding::Wait) | None => {}
            }
            let covered = cover_ack::is_cover_ack(facts.board.cumulative(), episode);
            episode.ack_rcvd |= !covered;
        }
        if self.dup_tsn && dup_tsn::is_spurious(facts, episode) {
            return self.judge(SpuriousCause::DupTsn);
        }
        if episode.eifel_done && !self.dup_tsn {
            self.episode = None;
        }
        None
    }

    fn judge(&mut self, by: SpuriousCause) -> Option<Verdict> {
        if let Some(f_rto) = &mut self.f_rto {
            f_rto.stop();
        }
        self.episode.take().map(|episode| Verdict { episode, by })
    }
}

/// What an Eifel detector makes of a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finding {
    /// It says nothing yet.
    Wait,
    /// Not spurious, or it cannot be told ("DONE").
    Done,
    /// Spurious.
    Spurious(SpuriousCause),
}
