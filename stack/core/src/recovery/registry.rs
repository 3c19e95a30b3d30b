//! The registry: the mechanisms that are asked in a row, one line each: an [`Algorithm`] keeps something, a [`Rule`] answers from
//! the profile. Detectors of spurious losses have one of their own; what all of these ask (which streams are thin, the
//! budget, what is overdue) is no line but a field of `Recovery`.

use std::time::Duration;

use smallvec::SmallVec;

use super::bundling::Worth;
use super::bundling::fast_retransmit::BundleFastRetransmit;
use super::bundling::new_data::BundleNew;
use super::loss::early_retransmit_bytes::EarlyRetransmitBytes;
use super::loss::early_retransmit_packets::EarlyRetransmitPackets;
use super::loss::early_retransmit_switch_off::EarlyRetransmitSwitchOff;
use super::loss::fast_retransmit::FastRetransmit;
use super::loss::limited_transmit::LimitedTransmit;
use super::loss::rack::Rack;
use super::loss::thin_fast_retransmit::ThinFastRetransmit;
use super::silent_path::SilentPath;
use super::timer::dynamic_rto_min::DynamicRtoMin;
use super::timer::rto_restart::RtoRestart;
use super::timer::tail_loss_probe::TailLossProbe;
use super::timer::thin_no_backoff::ThinNoBackoff;
use super::timer::thin_rto_min::ThinRtoMin;
use super::{Algorithm, Early, NewData, Rule, Sent};
use crate::ids::LossCause;
use crate::profile::Profile;

/// Makes an enum of algorithms: what is told or asked for every packet is a match, everything else a call through [`Algorithm`].
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
            pub(super) fn all(profile: &Profile, retransmit_bit: bool) -> SmallVec<[AnyAlgorithm; 4]> {
                let mut all = SmallVec::new();
                $(all.extend($name::of(profile, retransmit_bit).map(|a| AnyAlgorithm::$name(a.into())));)*
                all
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

            fn keeps_rto(profile: &Profile, thin: bool, in_a_row: u32) -> bool {
                false $(|| $name::keeps_rto(profile, thin, in_a_row))*
            }

            fn makes_backoff_good(profile: &Profile) -> bool {
                false $(|| $name::makes_backoff_good(profile))*
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
    ThinNoBackoff,
    BundleFastRetransmit,
    BundleNew,
    SilentPath,
}
