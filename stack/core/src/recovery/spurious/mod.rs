//! Spurious retransmissions: what was declared lost had arrived (Ladha et al. §4, §5).
//!
//! An [`Episode`] begins when loss recovery cuts a congestion window and ends when a detector has
//! decided. The detectors, in the order of evaluation; the first finding counts:
//! 1. [`f_rto`]: from what is acknowledged after a timeout,
//! 2. [`eifel_timestamp`], 3. [`eifel_retransmit_bit`]: from what the cover ack carries,
//! 4. [`dup_tsn`]: from duplicate reports, also of what Eifel has left undecided ([`combined`]).
//!
//! What follows from a finding is in [`response`].

mod combined;
mod cover_ack;
mod dup_tsn;
mod eifel_retransmit_bit;
mod eifel_timestamp;
mod f_rto;
mod spurious_response;

use std::time::Duration;

use smallvec::SmallVec;

use crate::event::SpuriousCause;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::ranges::RangeSet;
use crate::recovery::{Decisions, SackFacts};
use crate::time::Time;
use combined::Either;
use dup_tsn::DupTsn;
use eifel_retransmit_bit::EifelRetransmitBit;
use eifel_timestamp::EifelTimestamp;
pub(crate) use eifel_timestamp::ticks;
use f_rto::FRto;
use spurious_response::TimerAdaption;

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
    /// A detector has decided that it was not spurious, or cannot tell.
    decided: bool,
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

    /// This loss recovery goes on: nothing was decided, and not all of it is acknowledged.
    fn continues(&self, cumulative: u64) -> bool {
        let open = match self.trigger {
            Trigger::FastRetransmit => !cover_ack::is_cover_ack(cumulative, self),
            Trigger::Timeout => cumulative < self.highest,
        };
        open && !self.decided
    }
}

/// A detector's finding.
#[derive(Clone, Debug)]
pub(crate) struct SpuriousFinding {
    pub(crate) episode: Episode,
    pub(crate) by: SpuriousCause,
}

/// What the peer does for detectors: what they want of it, or what was agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerHelp {
    /// TIMESTAMP chunks.
    pub(crate) timestamps: bool,
    /// R bits of DATA and SACK.
    pub(crate) retransmit_bit: bool,
}

impl PeerHelp {
    const NOTHING: PeerHelp = PeerHelp { timestamps: false, retransmit_bit: false };

    const fn or(self, other: PeerHelp) -> PeerHelp {
        PeerHelp {
            timestamps: self.timestamps || other.timestamps,
            retransmit_bit: self.retransmit_bit || other.retransmit_bit,
        }
    }
}

/// What a detector makes of a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finding {
    /// It says nothing yet.
    Wait,
    /// Not spurious, or it cannot be told ("DONE").
    Done,
    /// Spurious.
    Spurious(SpuriousCause),
}

/// Finds out whether a loss was none. Every hook but `of` and `judge` does nothing by default.
trait Detector: Sized {
    /// What it wants of the peer, if the profile switches it on.
    fn wants(_profile: &Profile) -> PeerHelp {
        PeerHelp::NOTHING
    }
    /// It, if the profile switches it on and the peer plays along.
    fn of(profile: &Profile, agreed: PeerHelp) -> Option<Self>;
    /// A SACK was applied, while `episode` is open, if one is.
    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        decisions: &mut Decisions,
    ) -> Finding;
    /// Whether it may find something after another one has [decided](Finding::Done).
    fn keeps_open(&self) -> bool {
        false
    }
    /// T3-rtx expired, and the order of what arrives tells something; `recovering`: an earlier recovery was not over.
    fn on_timeout(&mut self, _cumulative: u64, _highest: u64, _recovering: bool) {}
    /// Whether lost chunks other than the first wait for its decision.
    fn holds(&self) -> bool {
        false
    }
    /// It was decided otherwise.
    fn stop(&mut self) {}
}

/// Makes a struct of detectors, which asks one after the other, at compile time.
macro_rules! detectors {
    ($($field:ident: $detector:ty,)*) => {
        /// Those that are switched on.
        #[derive(Debug)]
        struct Detectors {
            $($field: Option<$detector>,)*
        }

        impl Detectors {
            fn of(profile: &Profile, agreed: PeerHelp) -> Detectors {
                Detectors { $($field: Detector::of(profile, agreed),)* }
            }

            fn want(profile: &Profile) -> PeerHelp {
                PeerHelp::NOTHING $(.or(<$detector>::wants(profile)))*
            }

            fn are_off(&self) -> bool {
                true $(&& self.$field.is_none())*
            }

            /// Who finds that the loss was none.
            fn judge(
                &mut self,
                facts: &SackFacts<'_>,
                episode: &mut Option<Episode>,
                decisions: &mut Decisions,
            ) -> Option<SpuriousCause> {
                $(if let Some(detector) = &mut self.$field {
                    match (detector.judge(facts, episode.as_ref(), decisions), &mut *episode) {
                        (Finding::Spurious(by), _) => return Some(by),
                        (Finding::Done, Some(episode)) => episode.decided = true,
                        _ => {}
                    }
                })*
                None
            }

            fn keep_open(&self) -> bool {
                false $(|| self.$field.as_ref().is_some_and(Detector::keeps_open))*
            }

            fn hold(&self) -> bool {
                false $(|| self.$field.as_ref().is_some_and(Detector::holds))*
            }

            fn on_timeout(&mut self, cumulative: u64, highest: u64, recovering: bool) {
                $(if let Some(detector) = &mut self.$field {
                    Detector::on_timeout(detector, cumulative, highest, recovering);
                })*
            }

            fn stop(&mut self) {
                $(if let Some(detector) = &mut self.$field {
                    Detector::stop(detector);
                })*
            }
        }
    };
}

// The registry, in the order in which they are asked.
detectors! {
    f_rto: FRto,
    eifel: Either<EifelTimestamp, EifelRetransmitBit>,
    dup_tsn: DupTsn,
}

/// All detectors of one association.
#[derive(Debug)]
pub(crate) struct SpuriousDetection {
    detectors: Detectors,
    episode: Option<Episode>,
    /// What the next RTT sample does to the timer after a spurious timeout (RFC 4015 step 11).
    adaption: Option<TimerAdaption>,
}

impl SpuriousDetection {
    /// `timestamps` and `retransmit_bit` say what was agreed with the peer.
    pub(crate) fn new(profile: &Profile, timestamps: bool, retransmit_bit: bool) -> Self {
        let detectors = Detectors::of(profile, PeerHelp { timestamps, retransmit_bit });
        SpuriousDetection { detectors, episode: None, adaption: None }
    }

    /// What a profile wants of the peer for this.
    pub(crate) fn wants(profile: &Profile) -> PeerHelp {
        Detectors::want(profile)
    }

    /// Loss recovery begins. A further cut by SACKs before the last one was judged belongs to it.
    pub(crate) fn begin(
        &mut self,
        trigger: Trigger,
        cuts: SmallVec<[Cut; 2]>,
        cumulative: u64,
        highest: u64,
    ) {
        if self.detectors.are_off() || cuts.is_empty() {
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
            decided: false,
        });
    }

    /// T3-rtx expired; `recovering` says that an earlier loss recovery was not over.
    pub(crate) fn on_timeout(&mut self, cumulative: u64, highest: u64, recovering: bool) {
        self.detectors.on_timeout(cumulative, highest, recovering);
    }

    /// What a loss has cost that was none is given back.
    pub(crate) const fn gives_back(profile: &Profile) -> bool {
        profile.spurious_response.enabled
    }

    /// Not to the path of this cut.
    pub(crate) fn leaves_cut(
        profile: &Profile,
        cut: &Cut,
        is_standing: impl FnOnce(f64) -> bool,
    ) -> bool {
        spurious_response::leaves(&profile.spurious_response, cut, is_standing)
    }

    /// cwnd and ssthresh of a path to which it is.
    pub(crate) fn restored(
        profile: &Profile,
        cut: &Cut,
        now: (usize, usize),
        flight: usize,
        acked: usize,
        initial_window: usize,
    ) -> (usize, usize) {
        let parameters = &profile.spurious_response;
        spurious_response::windows(parameters, cut, now, flight, acked, initial_window)
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

    /// A detector wants what is lost to wait, except for one packet.
    pub(crate) fn holds_retransmissions(&self) -> bool {
        self.detectors.hold()
    }

    /// A lost chunk left again.
    pub(crate) fn on_retransmission(&mut self, now: Time, seq: u64) {
        let Some(episode) = &mut self.episode else { return };
        // What is sent for the first time after the beginning belongs to a later loss.
        if seq > episode.highest || episode.decided && !self.detectors.keep_open() {
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
    ) -> Option<SpuriousFinding> {
        let mut decided = false;
        if let Some(episode) = &mut self.episode {
            decided = episode.decided;
            for seq in facts.duplicates {
                episode.unreported.remove(*seq);
            }
        }
        if let Some(by) = self.detectors.judge(facts, &mut self.episode, decisions) {
            self.detectors.stop();
            return self.episode.take().map(|episode| SpuriousFinding { episode, by });
        }
        let episode = self.episode.as_mut()?;
        if !decided {
            episode.ack_rcvd |= !cover_ack::is_cover_ack(facts.board.cumulative(), episode);
        }
        if episode.decided && !self.detectors.keep_open() {
            self.episode = None;
        }
        None
    }
}
