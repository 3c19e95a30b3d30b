//! The registry: every algorithm that a profile can switch on, one line each.

use smallvec::SmallVec;

use super::loss::early_retransmit_bytes::EarlyRetransmitBytes;
use super::loss::early_retransmit_packets::EarlyRetransmitPackets;
use super::loss::fast_retransmit::FastRetransmit;
use super::loss::limited_transmit::LimitedTransmit;
use super::loss::rack::Rack;
use super::loss::thin_fast_retransmit::ThinFastRetransmit;
use super::{Algorithm, Sent};
use crate::profile::Profile;

/// Makes an enum of algorithms: what is told of every chunk is a match, everything else a call through [`Algorithm`].
macro_rules! registry {
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
        }
    };
}

// In the order in which they are asked. What is large is kept in a box.
registry! {
    FastRetransmit(FastRetransmit),
    ThinFastRetransmit(ThinFastRetransmit),
    EarlyRetransmitBytes(EarlyRetransmitBytes),
    EarlyRetransmitPackets(EarlyRetransmitPackets),
    Rack(Box<Rack>),
    LimitedTransmit(LimitedTransmit),
}
