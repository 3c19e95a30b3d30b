//! The registry: the mechanisms that are asked in a row, one line each: an [`Algorithm`] keeps something while the profile
//! switches it on, a [`Rule`] answers from the profile, an [`Advisor`] keeps something that others ask for. Detectors of spurious
//! losses have one of their own.

use std::ops::Range;
use std::time::Duration;

use super::budget::Budget;
use super::bundling::Worth;
use super::bundling::bundle_fast_retransmit::BundleFastRetransmit;
use super::bundling::bundle_new::BundleNew;
use super::bundling::late_sacks::LateSacks;
use super::chunk_rescheduling::Rescheduling;
use super::immediate_sack::ImmediateSack;
use super::loss::early_retransmit_bytes::EarlyRetransmitBytes;
use super::loss::early_retransmit_packets::EarlyRetransmitPackets;
use super::loss::early_retransmit_switch_off::EarlyRetransmitSwitchOff;
use super::loss::fast_retransmit::{FastRetransmit, Repetition};
use super::loss::fast_retransmit_again::FastRetransmitAgain;
use super::loss::limited_transmit::LimitedTransmit;
use super::loss::rack::Rack;
use super::loss::smart_fast_retransmit::SmartFastRetransmit;
use super::loss::split_fast_retransmit::SplitFastRetransmit;
use super::loss::thin_fast_retransmit::ThinFastRetransmit;
use super::silent_path::SilentPath;
use super::thin_stream::ThinStream;
use super::timer::dynamic_rto_min::DynamicRtoMin;
use super::timer::rto_restart::RtoRestart;
use super::timer::tail_loss_probe::TailLossProbe;
use super::timer::thin_no_backoff::ThinNoBackoff;
use super::timer::thin_rto_min::ThinRtoMin;
use super::{Advisor, Algorithm, Buffers, Early, Guess, Misses, NewData, Rule, SackFacts, Sent};
use crate::ids::{LossCause, PathId};
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, Eligibility, Scoreboard};
use crate::time::Time;

/// Makes an enum of algorithms: what is told or asked for every packet, and the bound of RTO, is a match, everything else a call
/// through [`Algorithm`].
macro_rules! algorithms {
    ($($name:ident($held:ty),)*) => {
        /// An algorithm that is switched on.
        #[derive(Debug)]
        pub(super) enum AnyAlgorithm {
            $($name($held),)*
        }

        impl AnyAlgorithm {
            /// Those that a profile switches on, in the order of the registry. `retransmit_bit`: SACKs say whether they
            /// answer a retransmission.
            pub(super) fn all(profile: &Profile, retransmit_bit: bool) -> Box<[AnyAlgorithm]> {
                let mut all = Vec::new();
                $(all.extend($name::of(profile, retransmit_bit).map(|a| AnyAlgorithm::$name(a.into())));)*
                all.into()
            }

            pub(super) fn get(&self) -> &dyn Algorithm {
                match self {
                    $(AnyAlgorithm::$name(a) => a.as_algorithm(),)*
                }
            }

            pub(super) fn get_mut(&mut self) -> &mut dyn Algorithm {
                match self {
                    $(AnyAlgorithm::$name(a) => a.as_algorithm_mut(),)*
                }
            }

            #[inline]
            pub(super) fn on_sent(&mut self, sent: &Sent) {
                match self {
                    $(AnyAlgorithm::$name(a) => a.on_sent(sent),)*
                }
            }

            #[inline]
            pub(super) fn on_new_data(&mut self, sent: &NewData<'_>) {
                match self {
                    $(AnyAlgorithm::$name(a) => a.on_new_data(sent),)*
                }
            }

            #[inline]
            pub(super) fn rto_min(&self) -> Option<Duration> {
                match self {
                    $(AnyAlgorithm::$name(a) => a.rto_min(),)*
                }
            }

            #[inline]
            pub(super) fn deadline(&self) -> Option<Time> {
                match self {
                    $(AnyAlgorithm::$name(a) => a.deadline(),)*
                }
            }

            #[inline]
            pub(super) fn early(&self) -> Option<Early> {
                match self {
                    $(AnyAlgorithm::$name(a) => a.early(),)*
                }
            }
        }
    };
}

/// Makes all rules one: each question goes to one after the other, at compile time.
macro_rules! rules {
    ($($name:ident,)*) => {
        /// All rules, as one.
        pub(super) struct AllRules;

        impl Rule for AllRules {
            fn rto_min(profile: &Profile, bound: Duration, thin: bool) -> Duration {
                $(let bound = $name::rto_min(profile, bound, thin);)*
                bound
            }

            #[inline]
            fn restart(
                profile: &Profile,
                rto: Duration,
                outstanding: &impl Fn() -> (Duration, usize),
            ) -> Option<Duration> {
                None$(.or_else(|| $name::restart(profile, rto, outstanding)))*
            }

            fn beside_lost(profile: &Profile, thin: bool, cause: Option<LossCause>) -> Option<Worth> {
                None$(.or_else(|| $name::beside_lost(profile, thin, cause)))*
            }

            fn beside_repeated(profile: &Profile, thin: bool) -> Option<Worth> {
                None$(.or_else(|| $name::beside_repeated(profile, thin)))*
            }

            fn beside_new(
                profile: &Profile,
                thin: bool,
                left: usize,
                new: usize,
            ) -> Option<(usize, Worth)> {
                None$(.or_else(|| $name::beside_new(profile, thin, left, new)))*
            }

            fn watches_silence(profile: &Profile) -> bool {
                false $(|| $name::watches_silence(profile))*
            }

            fn misses(profile: &Profile, outcome: &AckOutcome, packets: u8) -> Option<Misses> {
                None$(.or_else(|| $name::misses(profile, outcome, packets)))*
            }

            fn eligibility(profile: &Profile, moved: Option<bool>) -> Option<Eligibility> {
                None$(.or_else(|| $name::eligibility(profile, moved)))*
            }
        }
    };
}

/// Makes all advisors one: each is told, and asked, one after the other, at compile time.
macro_rules! advisors {
    ($($field:ident: $name:ident,)*) => {
        /// All advisors, as one.
        #[derive(Debug)]
        pub(super) struct AllAdvisors {
            $($field: $name,)*
        }

        impl Advisor for AllAdvisors {
            fn of(profile: &Profile) -> AllAdvisors {
                AllAdvisors { $($field: $name::of(profile),)* }
            }

            #[inline]
            fn on_sent(&mut self, sent: &Sent) {
                $(self.$field.on_sent(sent);)*
            }

            #[inline]
            fn on_packet(&mut self, highest: u64) {
                $(self.$field.on_packet(highest);)*
            }

            #[inline]
            fn on_acked(&mut self, cumulative: u64, has_gaps: bool) {
                $(self.$field.on_acked(cumulative, has_gaps);)*
            }

            #[inline]
            fn on_sack(&mut self, facts: &SackFacts<'_>) {
                $(self.$field.on_sack(facts);)*
            }

            fn on_premature_timeout(&mut self, seq: u64) {
                $(self.$field.on_premature_timeout(seq);)*
            }

            fn on_rtt(&mut self, path: PathId) {
                $(self.$field.on_rtt(path);)*
            }

            fn on_path_gone(&mut self, path: PathId) {
                $(self.$field.on_path_gone(path);)*
            }

            fn keeps_rto(&self, profile: &Profile, thin: bool, in_a_row: u32) -> bool {
                false $(|| self.$field.keeps_rto(profile, thin, in_a_row))*
            }

            fn on_rto_kept(&mut self, path: PathId, highest: u64) {
                $(self.$field.on_rto_kept(path, highest);)*
            }

            fn late_backoffs(&mut self, profile: &Profile, duplicates: &[u64]) -> u32 {
                0 $(| self.$field.late_backoffs(profile, duplicates))*
            }

            #[inline]
            fn is_thin(&self, board: &Scoreboard) -> bool {
                false $(|| self.$field.is_thin(board))*
            }

            fn longest(&self, path: PathId) -> Option<Duration> {
                None$(.or_else(|| self.$field.longest(path)))*
            }

            fn late_from(
                &self,
                path: PathId,
                srtt: Option<Duration>,
                rttvar: Duration,
                spare: f64,
            ) -> Option<Duration> {
                None$(.or_else(|| self.$field.late_from(path, srtt, rttvar, spare)))*
            }

            #[inline]
            fn bounds_guesses(&self) -> bool {
                false $(|| self.$field.bounds_guesses())*
            }

            #[inline]
            fn guess_at(
                &self,
                guess: &Guess,
                longest: &impl Fn() -> Option<Duration>,
                round_trips: &impl Fn() -> Option<(Duration, Duration)>,
                answered_from: &impl Fn() -> Option<Time>,
            ) -> Option<Time> {
                let at = Some(guess.now);
                $(let at = at?.max(self.$field.guess_at(guess, longest, round_trips, answered_from)?);
                let at = Some(at);)*
                at
            }

            fn bounds_timer(&self, in_a_row: u32, proven: bool) -> bool {
                false $(|| self.$field.bounds_timer(in_a_row, proven))*
            }

            fn affords_detour(&self, own: Option<Duration>, other: Option<Duration>) -> bool {
                true $(&& self.$field.affords_detour(own, other))*
            }

            fn affords_reported(&self) -> bool {
                true $(&& self.$field.affords_reported())*
            }

            fn trusts_order(&self) -> bool {
                true $(&& self.$field.trusts_order())*
            }

            fn asked(&self, chunks: &Range<u64>) -> bool {
                false $(|| self.$field.asked(chunks))*
            }

            #[inline]
            fn asks(&mut self, profile: &Profile, thin: bool, alone: bool, calm: bool) -> bool {
                false $(|| self.$field.asks(profile, thin, alone, calm))*
            }

            fn asks_again(&self, profile: &Profile, cause: LossCause) -> bool {
                false $(|| self.$field.asks_again(profile, cause))*
            }

            fn detours(
                &mut self,
                now: Time,
                profile: &Profile,
                buffers: &Buffers,
                board: &Scoreboard,
                srtt: &impl Fn(PathId) -> Duration,
            ) -> Option<(Range<u64>, LossCause)> {
                None$(.or_else(|| self.$field.detours(now, profile, buffers, board, srtt)))*
            }
        }
    };
}

// In the order in which they are asked. What is large is kept in a box.
algorithms! {
    EarlyRetransmitSwitchOff(Box<EarlyRetransmitSwitchOff>),
    FastRetransmit(FastRetransmit),
    ThinFastRetransmit(ThinFastRetransmit),
    EarlyRetransmitBytes(EarlyRetransmitBytes),
    EarlyRetransmitPackets(EarlyRetransmitPackets),
    Rack(Box<Rack>),
    LimitedTransmit(LimitedTransmit),
    DynamicRtoMin(Box<DynamicRtoMin>),
    TailLossProbe(Box<TailLossProbe>),
}

// The same for those that keep nothing.
rules! {
    ThinRtoMin,
    RtoRestart,
    BundleFastRetransmit,
    BundleNew,
    SilentPath,
    SplitFastRetransmit,
    Repetition,
    SmartFastRetransmit,
    FastRetransmitAgain,
}

// The same for those that are there in any case.
advisors! {
    thin_stream: ThinStream,
    late_sacks: LateSacks,
    budget: Budget,
    immediate_sack: ImmediateSack,
    chunk_rescheduling: Rescheduling,
    thin_no_backoff: ThinNoBackoff,
}
